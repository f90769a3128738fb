"""Context to weights: which past observations speak in a given context."""

from whence.weights.base import InputMap, Weights
from whence.weights.forest import ForestWeights
from whence.weights.kernel import KernelWeights
from whence.weights.knn import KNNWeights
from whence.weights.trees import TreeWeights

__all__ = ["ForestWeights", "InputMap", "KNNWeights", "KernelWeights", "TreeWeights", "Weights"]
