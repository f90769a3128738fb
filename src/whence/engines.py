"""The engines that answer questions, by name, and the parts of them that belong to each kind of weights.

Whatever names an engine reads the names here: ``explain(engine=...)``, the command, project files and the page. A new
engine is one module with a subclass of `Engine`, and one line in `ENGINES`. Modules are imported when they are needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from whence.checks import one_of
from whence.errors import InputError, InputTypeError
from whence.question import Answer, Question
from whence.util.aliases import Floats
from whence.weights import KNNWeights, Weights
from whence.weights.plausibility import Isolation

__all__ = [
    "AUTO",
    "ENGINES",
    "PARTS",
    "Engine",
    "check_related_units",
    "check_reliance",
    "engine_named",
    "engine_names",
    "has_part",
    "part_of",
    "what_goes_with_what",
]

#: Engines by name: the class, or the module and the class.
ENGINES: dict[str, str | type[Engine]] = {
    "search": "whence.search.search_engine:Search",
    "milp": "whence.milp.milp_engine:IntegerProgram",
}
#: Which engine answers where none is named.
AUTO = "search"

#: For each kind of weights, and all that derive from it, its part of every engine that can deal with it: a function
#: from a question to an answer for the search ("sets" where some plan of a set must be better), one from a question and
#: an explanation to the region around it, and a :class:`whence.milp.weighting.Weighting` for the integer program.
PARTS: dict[str, dict[str, str]] = {
    "whence.weights.trees.TreeWeights": {
        "search": "whence.search.forest_search:explain",
        "sets": "whence.search.set_search:explain",
        "region": "whence.search.regions:region",
        "milp": "whence.milp.tree_program:ForestWeighting",
    },
    "whence.weights.neighbours.KNNWeights": {
        "search": "whence.search.neighbour_search:explain",
        "sets": "whence.search.neighbour_search:explain_sets",
        "region": "whence.search.neighbour_regions:region",
        "milp": "whence.milp.neighbour_program:NeighbourWeighting",
    },
    # What ForecastWeights show to engines: a forecast stands in the place of weights.
    "whence.weights.forecast_weights.ForecastTrees": {
        "search": "whence.search.forecast_search:explain",
        "milp": "whence.milp.line_program:ForecastWeighting",
    },
    "whence.weights.forecast_weights.ForecastLine": {"search": "whence.milp.line_program:explain"},
    "whence.weights.kernel.KernelWeights": {
        "search": "whence.search.kernel_search:explain",
        "sets": "whence.search.kernel_search:explain_sets",
    },
}

#: What the user calls the weights that show themselves to engines by another name.
VIEWS = {"ForecastTrees": "ForecastWeights with trees", "ForecastLine": "ForecastWeights with a linear model"}


#: What the parts are for, in the order in which the page of the docs shows them.
COLUMNS = {"search": "one plan", "sets": "a set of plans", "region": "a rule", "milp": '`engine="milp"`'}


class Engine(ABC):
    """What answers a question: one of the two ways to find the nearest context, or one of your own.

    An engine sees a :class:`~whence.question.Question`, which holds coordinates and costs, and nothing else. Whatever
    it answers is computed once more by the fitted estimator and the problem before anybody sees it.

    Attributes
    ----------
    name : str
        What ``explain(engine=...)`` is given.
    words : str
        What sentences call it.
    options : tuple of str
        Names of the arguments that it takes beyond those of ``explain``.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def label(self, weights: Weights, options: Mapping[str, Any]) -> str:
        """What an explanation says that it was found by, such as "search (forest)"."""

    @abstractmethod
    def answer(self, question: Question) -> Answer:
        """The nearest context, or the proof that there is none, or what is known when a limit is reached."""

    @abstractmethod
    def check(self, question: Question) -> None:
        """Refuse, with one sentence and before any work, a question that the engine cannot answer."""

    def accepts(self, question: Question, point: Floats) -> bool:
        """Whether a context that was found keeps what the engine's own options ask of it, judged afresh."""
        return True


def engine_names() -> tuple[str, ...]:
    """The names that ``engine`` can have."""
    return ("auto", *ENGINES)


def engine_named(name: str) -> Engine:
    """The engine called `name`; "auto" is the search.

    Examples
    --------
    >>> engine_named("auto").name
    'search'
    """
    names = engine_names()
    one_of(*names).check("engine", name)
    return _made(ENGINES[AUTO if name == "auto" else name])


@cache
def _made(engine: str | type[Engine]) -> Engine:
    made: Engine = (_loaded(engine) if isinstance(engine, str) else engine)()
    return made


def part_of(weights: Weights, engine: str) -> Any:
    """The part of an engine that belongs to these weights, or to the nearest class they derive from."""
    for kind in type(weights).__mro__:
        parts = PARTS.get(f"{kind.__module__}.{kind.__qualname__}", {})
        if engine in parts:
            return _loaded(parts[engine])
    names = [path.rpartition(".")[2] for path, parts in PARTS.items() if engine in parts]
    # Which forecasts it is matters only where an engine does not know all of them.
    every = VIEWS.keys() <= set(names)
    shown = ("ForecastWeights" if every and name in VIEWS else VIEWS.get(name, name) for name in names)
    known = ", ".join(dict.fromkeys(shown))
    raise InputTypeError(
        f"'weights' must be {known}, or derive from one of them, for engine={engine!r}. "
        f"Got {_called(weights)} instead.",
        parameter="weights",
    )


def _called(weights: Weights) -> str:
    """What the user calls these weights."""
    name = type(weights).__name__
    return VIEWS.get(name, name)


def has_part(weights: Weights, engine: str) -> bool:
    """Whether there is a part of an engine for these weights.

    Examples
    --------
    >>> from whence.weights import KNNWeights
    >>> has_part(KNNWeights(), "region"), has_part(KNNWeights(), "annealing")
    (True, False)
    """
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(weights).__mro__)
    return any(engine in PARTS.get(name, {}) for name in names)


def what_goes_with_what() -> str:
    """Return the table of predictors and what can be asked of them, in Markdown: a page of the docs.

    Examples
    --------
    >>> print(what_goes_with_what().splitlines()[2])
    | `TreeWeights` | yes | yes | yes | yes |
    """
    rows = [["predictor", *COLUMNS.values()], ["---"] * (1 + len(COLUMNS))]
    for path, parts in PARTS.items():
        name = path.rpartition(".")[2]
        rows.append([VIEWS.get(name, f"`{name}`"), *("yes" if column in parts else "no" for column in COLUMNS)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def check_reliance(question: Question) -> None:
    """Refuse to ask weights by how much they agree, or for usual contexts, where no search knows that of them."""
    weights = question.weights
    if question.claim.confidence and not weights.capabilities.knows_spread:
        if weights.counts is not None:
            what = "must be 0 for neighbours that were fitted with a 'sample_weight'"
        elif isinstance(weights, KNNWeights) and weights.by_distance:
            what = "must be 0 for neighbours that count by their distance"
        else:
            what = "needs weights made of trees or of neighbours"
        raise InputError(f"'confidence' {what}. Got {type(weights).__name__} instead.", parameter="confidence")
    if weights.counts is not None and question.claim.risk.tail is not None and not weights.capabilities.made_of_trees:
        raise InputError(
            "'sample_weight' must be left out in 'fit' to explain decisions under CVaR by neighbours: no search knows "
            "the tail of neighbours that do not count alike.",
            parameter="sample_weight",
        )
    if isinstance(question.space.plausibility, Isolation) and not weights.capabilities.made_of_trees:
        raise InputError(
            "'plausible' needs weights made of trees, or of neighbours in the L1 norm of the coordinates. "
            f"Got {_called(weights)} instead.",
            parameter="plausible",
        )


def check_related_units(question: Question) -> None:
    """Refuse relations where neighbours are near by sums of differences in units of their own."""
    weights, relations = question.weights, question.space.rules
    if relations is not None and isinstance(weights, KNNWeights) and not weights.plain and not weights.metric_.squared:
        raise InputError(
            "'relations', and features that follow from others, need 'scaled' neighbours, or engine='milp', where "
            f"'metric' is 'l1'. Got neighbours in your units and {relations.words}.",
            parameter="relations",
        )


def _loaded(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
