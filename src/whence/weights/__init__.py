"""Context to weights: which past observations speak in a given context."""

from whence.weights.base import Capabilities, InputMap, Weights
from whence.weights.decision_forest import DecisionForest
from whence.weights.forecast_weights import ForecastWeights
from whence.weights.forest import ForestWeights
from whence.weights.neighbours import KernelWeights, KNNWeights
from whence.weights.trees import TreeWeights

__all__ = [
    "Capabilities",
    "DecisionForest",
    "ForecastWeights",
    "ForestWeights",
    "InputMap",
    "KNNWeights",
    "KernelWeights",
    "TreeWeights",
    "Weights",
]
