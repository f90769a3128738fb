"""whence: in what context would my plan have been better than yours?

A policy learns from history, decides, and explains its decisions by the nearest context in which the
planner's own plan would have been the better one, with a proof that no nearer context exists.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whence import plot
    from whence.batch import Explanations
    from whence.errors import WhenceError
    from whence.evaluation import Evaluation, Tuning, evaluate, tune
    from whence.explain.explanation import Explanation
    from whence.features import (
        Binary,
        Categorical,
        Continuous,
        Cyclic,
        Date,
        Derived,
        Discrete,
        Ordered,
        Schema,
        observed,
    )
    from whence.forecasts.crossing import Crossing
    from whence.forecasts.explainer import Ensemble
    from whence.policy import Policy
    from whence.problems import DecisionProblem, LinearProblem, Newsvendor, Shipment, ShortestPath
    from whence.question import Progress
    from whence.questions.comparison import Comparison
    from whence.questions.implied import Implied
    from whence.questions.menu import Front, Menu
    from whence.questions.prices import Prices
    from whence.questions.reasons import Reasons
    from whence.questions.rules import Rules
    from whence.risk import CVaR, Expectation
    from whence.weights import DecisionForest, ForecastWeights, ForestWeights, KernelWeights, KNNWeights

__version__ = "0.1.0"

__all__ = [
    "Binary",
    "CVaR",
    "Categorical",
    "Comparison",
    "Continuous",
    "Crossing",
    "Cyclic",
    "Date",
    "DecisionForest",
    "DecisionProblem",
    "Derived",
    "Discrete",
    "Ensemble",
    "Evaluation",
    "Expectation",
    "Explanation",
    "Explanations",
    "ForecastWeights",
    "ForestWeights",
    "Front",
    "Implied",
    "KNNWeights",
    "KernelWeights",
    "LinearProblem",
    "Menu",
    "Newsvendor",
    "Ordered",
    "Policy",
    "Prices",
    "Progress",
    "Reasons",
    "Rules",
    "Schema",
    "Shipment",
    "ShortestPath",
    "Tuning",
    "WhenceError",
    "__version__",
    "evaluate",
    "load",
    "observed",
    "plot",
    "tune",
]

#: Where the public names are defined. They are imported when they are first used: the command `whence` has to be
#: able to answer Ctrl-C before the seconds that scikit-learn takes.
_HOMES = {
    "forecasts.explainer": ("Ensemble",),
    "errors": ("WhenceError",),
    "evaluation": ("Evaluation", "Tuning", "evaluate", "tune"),
    "questions.comparison": ("Comparison",),
    "forecasts.crossing": ("Crossing",),
    "explain.explanation": ("Explanation",),
    "batch": ("Explanations",),
    "questions.implied": ("Implied",),
    "questions.menu": ("Front", "Menu"),
    "questions.prices": ("Prices",),
    "questions.reasons": ("Reasons",),
    "questions.rules": ("Rules",),
    "question": ("Progress",),
    "features": (
        "Binary",
        "Categorical",
        "Continuous",
        "Cyclic",
        "Date",
        "Derived",
        "Discrete",
        "Ordered",
        "Schema",
        "observed",
    ),
    "policy": ("Policy", "load"),
    "problems": ("DecisionProblem", "LinearProblem", "Newsvendor", "Shipment", "ShortestPath"),
    "risk": ("CVaR", "Expectation"),
    "weights": ("DecisionForest", "ForecastWeights", "ForestWeights", "KNNWeights", "KernelWeights"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = frozenset(
    {"errors", "evaluation", "explain", "features", "plot", "policy", "problems", "question", "risk", "weights"}
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"whence.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'whence' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"whence.{_HOME_OF[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
