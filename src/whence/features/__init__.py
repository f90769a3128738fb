"""Features of a context: what kind they are, what may change, and how the user's units become coordinates."""

from whence.features.column import Unknown
from whence.features.kinds import Binary, Categorical, Continuous, Discrete, Feature
from whence.features.schema import Schema

__all__ = ["Binary", "Categorical", "Continuous", "Discrete", "Feature", "Schema", "Unknown"]
