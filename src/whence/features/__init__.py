"""Features of a context: what kind they are, what may change, and how the user's units become coordinates."""

from whence.features.columns import Unknown
from whence.features.derived import Derived
from whence.features.kinds import Binary, Categorical, Continuous, Discrete, Feature
from whence.features.relations import Observed, observed
from whence.features.schema import Schema

__all__ = [
    "Binary",
    "Categorical",
    "Continuous",
    "Derived",
    "Discrete",
    "Feature",
    "Observed",
    "Schema",
    "Unknown",
    "observed",
]
