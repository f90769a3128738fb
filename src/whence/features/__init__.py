"""Features of a context: what kind they are, what may change, and how the user's units become coordinates."""

from whence.features.columns import Unknown
from whence.features.dates import Date
from whence.features.kinds import Binary, Categorical, Continuous, Cyclic, Discrete, Feature, Ordered
from whence.features.relations import Derived, Observed, observed
from whence.features.schema import Schema

__all__ = [
    "Binary",
    "Categorical",
    "Continuous",
    "Cyclic",
    "Date",
    "Derived",
    "Discrete",
    "Feature",
    "Observed",
    "Ordered",
    "Schema",
    "Unknown",
    "observed",
]
