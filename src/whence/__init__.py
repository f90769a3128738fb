"""whence: in what context would my plan have been better than yours?

A policy learns from history, decides, and explains its decisions by the nearest context in which the
planner's own plan would have been the better one, with a proof that no nearer context exists.
"""

from whence import plot
from whence.errors import WhenceError
from whence.explain.explanation import Explanation
from whence.explain.explanations import Explanations
from whence.explain.question import Progress
from whence.features import Binary, Categorical, Continuous, Discrete, Schema
from whence.policy import Policy
from whence.problems import DecisionProblem, LinearProblem, Newsvendor, Shipment, ShortestPath
from whence.risk import CVaR, Expectation
from whence.weights import ForestWeights, KNNWeights

__version__ = "0.1.0"

__all__ = [
    "Binary",
    "CVaR",
    "Categorical",
    "Continuous",
    "DecisionProblem",
    "Discrete",
    "Expectation",
    "Explanation",
    "Explanations",
    "ForestWeights",
    "KNNWeights",
    "LinearProblem",
    "Newsvendor",
    "Policy",
    "Progress",
    "Schema",
    "Shipment",
    "ShortestPath",
    "WhenceError",
    "__version__",
    "plot",
]
