"""Context to weights: which past observations speak in a given context."""

from whence.weights.forest import ForestWeights
from whence.weights.knn import KNNWeights

__all__ = ["ForestWeights", "KNNWeights"]
