"""Which engine answers what: one table of predictors and claims, from which refusals and a page of the docs are made.

Whatever names an engine reads the names here: ``explain(engine=...)``, the command, project files and the page. A new
engine is one module with a subclass of `Engine`, and one line in `ENGINES`; a new predictor or claim is a class and its
rows in `TABLE`. Modules are imported when they are needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from whence.checks import one_of
from whence.claims.plans import BY_ERRORS, Claim
from whence.errors import InputError, InputTypeError
from whence.question import Answer, Question
from whence.util.aliases import Floats
from whence.weights import KNNWeights, Weights
from whence.weights.plausibility import Isolation

#: Engines by name: the class, or the module and the class.
ENGINES: dict[str, str | type[Engine]] = {
    "search": "whence.search.search_engine:Search",
    "milp": "whence.milp.milp_engine:IntegerProgram",
}
#: Which engine answers where none is named.
AUTO = "search"

#: For each kind of predictor and of claim, and all that derive from them, what deals with it: a function from a
#: question to an answer for the search, one from a question and a point to the region around it, and a
#: :class:`whence.milp.weighting.Weighting` for the integer program.
TABLE: dict[tuple[str, str], dict[str, str]] = {
    ("whence.weights.trees.TreeWeights", "PlanBeats"): {
        "search": "whence.search.forest_search:explain",
        "milp": "whence.milp.tree_program:ForestWeighting",
        "region": "whence.search.regions:region",
    },
    ("whence.weights.trees.TreeWeights", "SetBeats"): {
        "search": "whence.search.set_search:explain",
        "milp": "whence.milp.tree_program:ForestWeighting",
        "region": "whence.search.regions:region",
    },
    ("whence.weights.neighbours.KNNWeights", "PlanBeats"): {
        "search": "whence.search.neighbour_search:explain",
        "milp": "whence.milp.neighbour_program:NeighbourWeighting",
        "region": "whence.search.neighbour_regions:region",
    },
    ("whence.weights.neighbours.KNNWeights", "SetBeats"): {
        "search": "whence.search.neighbour_search:explain_sets",
        "milp": "whence.milp.neighbour_program:NeighbourWeighting",
        "region": "whence.search.neighbour_regions:region",
    },
    # What ForecastWeights show to engines: a forecast stands in the place of weights.
    ("whence.weights.forecast_weights.ForecastTrees", "OrderBeats"): {
        "search": "whence.search.forecast_search:explain",
        "milp": "whence.milp.line_program:ForecastWeighting",
    },
    ("whence.weights.forecast_weights.ForecastLine", "OrderBeats"): {"search": "whence.milp.line_program:explain"},
    ("whence.weights.neighbours.KernelWeights", "PlanBeats"): {"search": "whence.search.kernel_search:explain"},
    ("whence.weights.neighbours.KernelWeights", "SetBeats"): {"search": "whence.search.kernel_search:explain_sets"},
    # What wh.Ensemble asks: the values of leaves, or a line, in the place of weights.
    ("whence.search.forecast_search.SummedTrees", "ForecastBetween"): {
        "search": "whence.search.forecast_search:crossing"
    },
    ("whence.models.lines.Line", "ForecastBetween"): {"search": "whence.milp.line_program:crossing"},
}

#: What the user calls the predictors that show themselves to engines by another name.
VIEWS = {
    "ForecastTrees": "ForecastWeights with trees",
    "ForecastLine": "ForecastWeights with a linear model",
    "SummedTrees": "trees of `Ensemble`",
    "Line": "a linear model of `Ensemble`",
}
#: What the user calls the claims, in the order in which the page of the docs shows them.
CLAIMS = {
    "PlanBeats": "one plan",
    "SetBeats": "a set of plans, or no plan",
    "OrderBeats": "one plan, by a forecast",
    "ForecastBetween": "a forecast between two numbers",
}
#: What the user calls the parts of a row.
PART_WORDS = {"search": "search", "milp": "milp", "region": "rule"}


class Engine(ABC):
    """What answers a question: one of the two ways to find the nearest context, or one of your own.

    An engine sees a :class:`~whence.question.Question`, which holds coordinates and costs, and nothing else. Whatever
    it answers is computed once more by the fitted estimator and the problem before anybody sees it.
    """

    #: What ``explain(engine=...)`` is given.
    name: ClassVar[str]
    #: What sentences call it.
    words: ClassVar[str]
    #: Names of the arguments that it takes beyond those of ``explain``.
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

    >>> engine_named("auto").name
    'search'
    """
    names = engine_names()
    if not isinstance(name, str) or name not in names:
        one_of(*names).check("engine", name)
    return _made(ENGINES[AUTO if name == "auto" else name])


@cache
def _made(engine: str | type[Engine]) -> Engine:
    return (_loaded(engine) if isinstance(engine, str) else engine)()


def part_of(weights: Weights, part: str, claim: Claim | None = None) -> Any:
    """Return what deals with these weights and a claim, or with the nearest kinds they derive from.

    `part` is the column of the table; without a claim, it is whichever is known for the weights. An InputTypeError says
    where the table has no such row.
    """
    for row in _rows_of(weights, claim):
        if part in row:
            return _loaded(row[part])
    # Weights that are known for other claims are told who is known for this one.
    asked = _names(claim if has_part(weights, part) else None)
    names = dict.fromkeys(_short(kind) for (kind, about), row in TABLE.items() if part in row and about in asked)
    # Which forecasts it is matters only where an engine does not know all of them.
    every = {"ForecastTrees", "ForecastLine"} <= names.keys()
    shown = ("ForecastWeights" if every and name in VIEWS else VIEWS.get(name, name) for name in names)
    known = ", ".join(dict.fromkeys(shown))
    raise InputTypeError(
        f"'weights' must be {known}, or derive from one of them, for engine={part!r}. Got {_called(weights)} instead."
    )


def has_part(weights: Weights, part: str, claim: Claim | None = None) -> bool:
    """Return whether the table has a part for these weights, and for a claim where one is given.

    >>> from whence.weights import KNNWeights
    >>> has_part(KNNWeights(), "region"), has_part(KNNWeights(), "annealing")
    (True, False)
    """
    return any(part in row for row in _rows_of(weights, claim))


def _rows_of(weights: Weights, claim: Claim | None) -> Iterator[Mapping[str, str]]:
    """Yield the rows of the table for these weights, the nearest kinds first."""
    for kind in type(weights).__mro__:
        path = f"{kind.__module__}.{kind.__qualname__}"
        for about in _names(claim):
            if (path, about) in TABLE:
                yield TABLE[path, about]


def _names(claim: Claim | None) -> list[str]:
    """Return the kinds of claim that a row may be about: those that `claim` derives from, or all that plans have."""
    if claim is None:
        return list(dict.fromkeys(about for _, about in TABLE if about != "ForecastBetween"))
    return [kind.__name__ for kind in type(claim).__mro__]


def _short(path: str) -> str:
    return path.rpartition(".")[2]


def _called(weights: Weights) -> str:
    """Return what the user calls these weights."""
    name = type(weights).__name__
    return VIEWS.get(name, name)


@dataclass(frozen=True)
class Refusal:
    """What is refused before any work, although the table has a row for it."""

    #: What is asked for, and of which predictors it is refused, as the page of the docs shows it.
    asked: str
    of: str
    #: The argument that is to blame.
    parameter: str
    #: Whether a question is such a one.
    applies: Callable[[Question], bool]
    #: What is said about it.
    sentence: Callable[[Question], str]
    #: The engines that refuse it.
    engines: tuple[str, ...] = ("search", "milp")


def _needs_spread(question: Question) -> str:
    weights = question.weights
    if weights.counts is not None:
        what = "must be 0 for neighbours that were fitted with a 'sample_weight'"
    elif isinstance(weights, KNNWeights) and weights.by_distance:
        what = "must be 0 for neighbours that count by their distance"
    else:
        what = "needs weights made of trees or of neighbours"
    return f"'{BY_ERRORS}' {what}. Got {type(weights).__name__} instead."


def _counts_in_own_units(question: Question) -> bool:
    weights = question.weights
    own = isinstance(weights, KNNWeights) and not weights.plain and not weights.metric_.squared
    return own and question.space.rules is not None


def _counts_several_axes(question: Question) -> bool:
    weights, space = question.weights, question.space
    known = weights.capabilities.made_of_trees or isinstance(weights, KNNWeights)
    return not known and space.few is not None and bool(space.several)


#: What is refused beyond the table, in the order in which it is said.
REFUSALS = (
    Refusal(
        f"`{BY_ERRORS}`, `holds`", "any predictor", BY_ERRORS,
        lambda question: question.claim.kappa > 0.0,
        lambda _: f"'{BY_ERRORS}' and 'holds' are for the search: the integer program cannot express them.",
        ("milp",),
    ),
    Refusal(
        f"`{BY_ERRORS}`, `holds`",
        "kernels, forecasts, neighbours with a `sample_weight` or by distance",
        BY_ERRORS,
        lambda question: question.claim.kappa > 0.0 and not question.weights.capabilities.knows_spread,
        _needs_spread,
    ),
    Refusal(
        "CVaR", "neighbours with a `sample_weight`", "sample_weight",
        lambda question: (
            question.weights.counts is not None
            and question.claim.risk.tail is not None
            and not question.weights.capabilities.made_of_trees
        ),
        lambda _: (
            "'sample_weight' must be left out in 'fit' to explain decisions under CVaR by neighbours: no search knows "
            "the tail of neighbours that do not count alike."
        ),
    ),
    Refusal(
        "`plausible`", "all but trees, and neighbours by scaled L1 distances", "plausible",
        lambda question: (
            isinstance(question.space.plausibility, Isolation) and not question.weights.capabilities.made_of_trees
        ),
        lambda question: (
            "'plausible' needs weights made of trees, or of neighbours in the L1 norm of the coordinates. "
            f"Got {_called(question.weights)} instead."
        ),
    ),
    Refusal(
        "`relations`", "neighbours by L1 distances in units of their own", "relations",
        _counts_in_own_units,
        lambda question: (
            "'relations', and features that follow from others, need 'scaled' neighbours, or engine='milp', where "
            f"'metric' is 'l1'. Got neighbours in your units and "
            f"{'' if question.space.rules is None else question.space.rules.words}."
        ),
        ("search",),
    ),
    Refusal(
        "`max_changes`, `front`, `menu`, `reasons` with a date of several parts", "kernels and linear models",
        "max_changes",
        _counts_several_axes,
        lambda question: (
            "'max_changes', 'front', 'menu' and 'reasons' need a date with one part, or weights made of trees or of "
            f"neighbours. Got {type(question.weights).__name__} and a date with several parts."
        ),
        ("search",),
    ),
)  # fmt: skip


def refuse(question: Question, engine: str) -> None:
    """Refuse, with one sentence, what an engine cannot be asked of the question's predictor."""
    part_of(question.weights, engine, question.claim)
    for one in REFUSALS:
        if engine in one.engines and one.applies(question):
            raise InputError(one.sentence(question), parameter=one.parameter)


def what_goes_with_what() -> str:
    """Return the table and the refusals in Markdown: a page of the docs.

    >>> print(what_goes_with_what().splitlines()[2])
    | `TreeWeights` | search, milp, rule | search, milp, rule | | |
    """
    rows = [["predictor", *CLAIMS.values()]]
    for kind in dict.fromkeys(kind for kind, _ in TABLE):
        parts = (TABLE.get((kind, about), {}) for about in CLAIMS)
        name = _short(kind)
        rows.append([VIEWS.get(name, f"`{name}`"), *(", ".join(PART_WORDS[part] for part in row) for row in parts)])
    refused = [["asked for", "refused for", "by"]]
    refused += [[one.asked, one.of, " and ".join(one.engines)] for one in REFUSALS]
    return f"{_markdown(rows)}\n{_markdown(refused)}"


def _markdown(rows: list[list[str]]) -> str:
    """Return rows, of which the first is the head, as a table."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |").replace("|  |", "| |") for line in lines)


def _loaded(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
