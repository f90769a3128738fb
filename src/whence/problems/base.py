"""What a decision problem must offer to be learned, solved and explained."""

from __future__ import annotations

import copy
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence._core import Network
from whence.errors import InputError, argument_error, parameter_error
from whence.problems.plan_text import PlanEditor, QuantityLimits, ShownPlans, check_feasible, finite_quantity
from whence.risk import SAME_SHARE, Risk
from whence.util.aliases import Floats
from whence.util.json import quoted, some, to_plain
from whence.util.text import pairs

if TYPE_CHECKING:
    from whence._core import LeastCosts
    from whence.problems.linear import Polytope
    from whence.problems.plan_sets import PlanSet
    from whence.problems.pricing import Priced

#: Where all quantities are 0, up to this many are named.
FEW_PARTS = 8
#: Room above the largest quantity on record.
HEADROOM = 1.25
#: More parts than this are a table, not bars.
MOST_BARS = 24


@dataclass(frozen=True)
class Stock:
    """Quantities that are chosen one by one, each at convex cost: what a newsvendor decides."""

    #: Past demands, of shape (n, products).
    demand: Floats
    #: Cost of a unit left over, and of a unit short, of shape (products,).
    holding: Floats
    backorder: Floats
    #: Between what every quantity must lie, of shape (products,).
    lower: Floats
    upper: Floats
    #: What all of them together must not exceed; infinite where there is none.
    budget: float = np.inf

    def costing(self, factor: float) -> Stock:
        """Return the same at this many times the cost; a budget that no plan of use can exceed is left out."""
        largest = np.minimum(np.maximum(self.demand.max(axis=0), self.lower), self.upper)
        budget = self.budget if float(largest.sum()) > self.budget else np.inf
        return replace(self, holding=factor * self.holding, backorder=factor * self.backorder, budget=budget)

    def limit_beside(self, everything: Stock) -> tuple[int, float, bool] | None:
        """Return the product, the quantity and whether it is the least, where that limit is all that sets it apart."""
        alike = self.budget == everything.budget and all(
            np.array_equal(getattr(self, name), getattr(everything, name)) for name in ("holding", "backorder")
        )
        lower, upper = (np.flatnonzero(getattr(self, one) != getattr(everything, one)) for one in ("lower", "upper"))
        if not alike or lower.size + upper.size != 1:
            return None
        if lower.size:
            return int(lower[0]), float(self.lower[lower[0]]), True
        return int(upper[0]), float(self.upper[upper[0]]), False


@dataclass(frozen=True)
class Routes:
    """All routes of an acyclic network."""

    #: Tail, edge and head of every arc, from the target backwards, of shape (arcs, 3).
    arcs: NDArray[np.int32]
    #: How many nodes there are, and which are the ends.
    nodes: int
    source: int
    target: int
    #: What every edge costs in every past observation, of shape (n, edges).
    costs: Floats

    def network(self) -> Network:
        """Return the network, as the core takes it."""
        return Network(self.arcs, self.nodes, self.source, self.target)

    def costing(self, factor: float) -> Routes:
        """Return the same at this many times the cost."""
        return replace(self, costs=factor * self.costs)


class DecisionProblem(ABC):
    """A decision under uncertainty: what a plan costs, and which plan is best for weighted samples.

    A problem of your own needs the two methods :meth:`costs` and :meth:`solve`. The others have
    defaults that fit plans which are arrays of quantities; a problem with another kind of plan says with them how its
    plans are written, read, drawn and edited.

    Attributes
    ----------
    cost_unit : str
        Unit of the costs, such as "€" or "min", as texts, charts and files show it; "" for none. A problem of your own
        may set it in its class, and any problem on an object.

    Examples
    --------
    >>> import numpy as np
    >>> class Median(DecisionProblem):
    ...     def costs(self, decision, Y):
    ...         return np.abs(Y[:, 0] - decision[0])
    ...     def solve(self, Y, weights, risk):
    ...         order = np.argsort(Y[:, 0])
    ...         half = np.searchsorted(np.cumsum(weights[order]), 0.5)
    ...         return Y[order[half], :1]
    """

    cost_unit: str = ""

    @abstractmethod
    def costs(self, decision: Any, Y: Floats) -> Floats:
        """Return the cost of `decision` under every row of `Y` (recourse included), as a 1-D array."""

    @abstractmethod
    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> Any:
        """Return a plan that minimises `risk` of the costs when row i of `Y` has weight ``weights[i]``."""

    def solve_many(self, Y: Floats, weights: Floats, risk: Risk) -> Sequence[Any] | None:
        """Return a plan as :meth:`solve` does for each row of `weights`, where many at once are found sooner.

        None, unless a problem of your own knows better: then they are solved for one by one.
        """
        return None

    @property
    def continuous(self) -> bool:
        """Whether plans are quantities that may take any value: of these, hardly ever is one exactly the best."""
        return False

    def outcome_columns(self) -> int | None:
        """Return how many columns the outcomes must have; None where any number will do."""
        return None

    def check(self, decision: Any) -> str | None:
        """Return None where `decision` is feasible, otherwise one sentence that says why it is not."""
        return None

    def vector(self, decision: Any) -> Floats:
        """Return `decision` as a flat array of numbers, one per part."""
        return np.asarray(decision, dtype=np.float64).ravel()

    def parts(self, outcomes: Sequence[str] = ()) -> list[str] | None:
        """Return names of the entries of :meth:`vector`, where the problem knows them.

        Here and below, `outcomes` are the names of the columns of Y, after which some problems name their parts.
        """
        return None

    def describe(self, decision: Any, outcomes: Sequence[str] = ()) -> str:
        """`decision` as short readable text: its quantities, or its own text where it does not consist of numbers."""
        try:
            values = self.vector(decision)
        except (TypeError, ValueError, OverflowError):
            return str(decision)
        names = self._names(values.size, outcomes)
        shown = [f"{name} {value:g}" for name, value in zip(names, values, strict=True) if abs(value) > 1e-9]
        if not shown and len(names) > FEW_PARTS:
            return f"0 of each of {len(names)} parts"
        return ", ".join(shown or [f"{name} 0" for name in names])

    # ---- plans outside of the problem: as plain data, as typed text, on paper and on the page -------------------

    def to_plain(self, plan: Any) -> Any:
        """Return `plan` as lists, numbers and texts, which JSON can hold.

        Examples
        --------
        >>> from whence.problems import Newsvendor
        >>> Newsvendor(1, 2).to_plain(np.array([3.0, 4.5]))
        [3.0, 4.5]
        """
        try:
            return to_plain(self.vector(plan))
        except (TypeError, ValueError, OverflowError):
            return to_plain(plan)

    def from_plain(self, value: Any, outcomes: Sequence[str] = ()) -> Any:
        """The feasible plan that `value`, as read from JSON, stands for; an InputError says why where it is none.

        It is a list of numbers, or a dict from the names of the parts to numbers, where those left out are 0.

        Examples
        --------
        >>> from whence.problems import Newsvendor
        >>> Newsvendor(holding=[1, 1], backorder=[2, 3], names=["rolls", "rye bread"]).from_plain({"rye bread": 40})
        array([ 0., 40.])
        """
        names = self.parts(outcomes)
        if isinstance(value, Mapping):
            if names is None:
                raise InputError("The plan must be a list of numbers, since the parts of this problem have no names.")
            unknown = [name for name in value if name not in names]
            if unknown:
                raise InputError(f"The plan must name parts among {some(names)}. Got {quoted(unknown[0])} instead.")
            value = [value.get(name, 0.0) for name in names]
        elif isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
            also = "" if names is None else f", or quantities by name among {some(names)}"
            raise InputError(f"The plan must be a list of numbers{also}. Got {quoted(value)} instead.")
        elif names is not None and len(value) != len(names):
            raise InputError(f"The plan must hold {len(names)} numbers, for {some(names)}. Got {len(value)} instead.")
        labels = names or [f"entry {j + 1}" for j in range(len(value))]
        plan = np.array([finite_quantity(entry, name) for entry, name in zip(value, labels, strict=True)], dtype=float)
        check_feasible(self, plan)
        return plan

    def plain_from_text(self, text: str, number: Callable[[str], float]) -> Any:
        """Return what :meth:`from_plain` takes, from a plan as people type it; `number` reads a number in it.

        Quantities are `part=value` pairs, or numbers with spaces, commas or semicolons between them.
        """
        if "=" in text:
            return {name: number(entry) for name, entry in pairs(text, "The plan").items()}
        return [number(entry) for entry in re.split(r"[;\s]+|,\s*", text)]

    def plain_from_cells(self, cells: pd.DataFrame, number: Callable[[str], float]) -> Any:
        """Return what :meth:`from_plain` takes, from the texts of a table that holds one plan.

        Quantities are one row with a column per part, or two columns, part and value.
        """
        if len(cells) == 1:
            return {name: number(cells[name].iloc[0]) for name in cells.columns}
        if cells.shape[1] == 2:
            return {name: number(entry) for name, entry in cells.itertuples(index=False)}
        raise InputError(
            "A table must hold one row with a column per part of the plan, or two columns, part and value. "
            f"Got {len(cells)} rows of {cells.shape[1]} columns instead."
        )

    def shown(self, decision: Any, alternative: Any, outcomes: Sequence[str] = ()) -> ShownPlans:
        """Two plans in a form that reports and charts can draw; by their text alone where none of the forms fits."""
        try:
            first, second = self.vector(decision), self.vector(alternative)
        except (TypeError, ValueError, OverflowError):
            return ShownPlans("other", decision, alternative)
        names = self._names(first.size, outcomes)
        if first.size != second.size or not first.size or len(names) != first.size:
            return ShownPlans("other", decision, alternative)
        return ShownPlans("quantities", first, second, names)

    def editor(self, Y: Floats, outcomes: Sequence[str], plans: Sequence[Any]) -> PlanEditor:
        """What the page offers to see and change of a plan, with axes that suit `Y` and hold `plans`, at least one."""
        try:
            vectors = np.array([self.vector(plan) for plan in plans])
            flat = all(np.ndim(plan) == 1 and len(plan) == vectors.shape[1] for plan in plans)
        except (TypeError, ValueError, OverflowError):
            return PlanEditor("table")
        size, limits = vectors.shape[1], self.quantity_limits(Y)
        parts = self._names(size, outcomes)
        if not flat or not size or len(parts) != size:
            return PlanEditor("table")
        largest = np.maximum(np.abs(vectors).max(axis=0), np.abs(vectors).max() / 10)
        if limits.reach is not None and limits.reach.size == size:
            largest = np.maximum(largest, limits.reach / HEADROOM)
        return PlanEditor(
            form="quantities" if size <= MOST_BARS else "table",
            parts=parts,
            lower=_one_each(limits.lower, size),
            upper=_one_each(limits.upper, size),
            whole=np.broadcast_to(limits.whole, size).tolist(),
            scale=[float(f"{value:.2g}") if value > 0 else 1.0 for value in HEADROOM * largest],
            budget=None if limits.budget is None else float(limits.budget),
        )

    def _names(self, size: int, outcomes: Sequence[str]) -> list[str]:
        """Return names of the entries of a vector, made up where the problem has none."""
        return [str(name) for name in self.parts(outcomes) or (f"z{i}" for i in range(size))]

    def quantity_limits(self, Y: Floats) -> QuantityLimits:
        """Return what the quantities of a plan may be, for the page: no limits unless the problem knows better."""
        return QuantityLimits()

    # ---- sets of plans --------------------------------------------------------------------------------------------

    def plans(self, limit: int) -> Sequence[Any] | None:
        """Return every plan, where there are at most `limit` and they can be listed; otherwise None.

        A problem of your own with few plans that lists them has questions about sets of plans answered much faster.
        """
        return None

    def only(
        self,
        allowed: Sequence[Any] | Callable[[Any], Any],
        solve: Callable[[Floats, Floats, Risk], Any] | None = None,
        words: str = "",
    ) -> PlanSet:
        """Return some of the plans, as a set to be asked for: ``policy.explain(context, instead=problem.only(...))``.

        Parameters
        ----------
        allowed : list of plans, or callable
            The plans, or a rule: given a plan, whether it is allowed (or a text that says why not).
        solve : callable, optional
            For a rule: as :meth:`solve`, but among the allowed plans alone. A problem whose own `solve` takes `allowed`
            needs none.
        words : str
            What one such plan is called in a sentence, such as "a plan without night shifts".

        Examples
        --------
        >>> from whence.problems import Newsvendor
        >>> Newsvendor(1, 2).only([[10.0], [20.0]], words="a full tray").check([15.0])
        'The plan is not a full tray.'
        """
        from whence.problems.plan_sets import only

        return only(self, allowed, solve, words)

    def linear_costs(self, decision: Any) -> tuple[Floats, float] | None:
        """Return coefficients and constant where `decision` costs ``coefficients @ y + constant``; otherwise None.

        Explanations of a policy that forecasts (:class:`~whence.ForecastWeights`) need it.
        """
        return None

    def structure(self, Y: Floats) -> Stock | Routes | None:
        """Return how plans are made up and cost under the rows of `Y`, where an engine can make use of it."""
        return None

    # ---- prices -----------------------------------------------------------------------------------------------------

    def parameters(self) -> Mapping[str, float]:
        """The cost parameters by their names, in which costs must be linear; none unless a problem declares them.

        With them a problem of your own can be asked at which prices a plan would be right
        (:meth:`whence.Policy.prices`).
        """
        return {}

    def with_parameters(self, values: Mapping[str, float]) -> DecisionProblem:
        """The problem with other values of its :meth:`parameters`: a copy whose attributes of these names are set."""
        other = copy.copy(self)
        for name, value in values.items():
            if not hasattr(other, name):
                raise InputError(
                    f"{type(self).__name__} must define 'with_parameters', or have an attribute for every one of its "
                    f"'parameters'. Got none for {name!r}."
                )
            setattr(other, name, value)
        return other

    def priced(self, Y: Floats, weights: Floats, outcomes: Sequence[str], common: bool) -> Priced:
        """Return the problem in one context as a function of its prices; `common`: one factor for prices of a kind."""
        from whence.problems.priced_problems import priced

        return priced(self, Y, weights, outcomes, common)

    # ---- decision-aware forests -----------------------------------------------------------------------------------

    def least_costs(self, Y: Floats, risk: Risk) -> LeastCosts | None:
        """What the core needs to compute the least cost of any rows of `Y`; None where plans are to be tried instead.

        :class:`whence.DecisionForest` chooses its splits by it.
        """
        return None

    # ---- problems that are linear programs ----------------------------------------------------------------------

    def polytope(self) -> Polytope | None:
        """What :meth:`vector` of a plan must satisfy, where the best plans are corners of a polytope; otherwise None.

        Absolute explanations of such a problem may use ``engine="milp", method="dual"`` under expected cost.
        """
        return None

    def polytope_of_plans(self) -> Polytope | None:
        """Return the polytope, with what must be whole, in which every point is a plan."""
        return self.polytope()

    def cost_rows(self, Y: Floats) -> Floats:
        """Cost of one unit of every entry of :meth:`vector`, one row per row of `Y`; goes with :meth:`polytope`."""
        raise InputError(f"A problem with a polytope must define 'cost_rows'. Got {type(self).__name__} without it.")


def _one_each(limit: Any, size: int) -> list[float | None]:
    values = np.broadcast_to(math.nan if limit is None else limit, size).tolist()
    return [value if math.isfinite(value) else None for value in values]


def sample_costs(problem: DecisionProblem, plan: Any, outcomes: Floats, name: str = "decision") -> Floats:
    """Return one finite cost per row of `outcomes`; whatever else a problem returns is refused, naming the plan `name`.

    >>> import whence as wh
    >>> sample_costs(wh.Newsvendor(1, 3), [10.0], np.array([[8.0], [11.0]]))
    array([2., 3.])
    """
    try:
        costs = np.asarray(problem.costs(plan, outcomes), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"The plan given as {name!r} does not fit the problem: {error}", parameter=name) from error
    if costs.shape != (outcomes.shape[0],) or not np.isfinite(costs).all():
        raise InputError(
            f"The problem's 'costs' must return one finite number per row of Y ({outcomes.shape[0]}) for the plan "
            f"given as {name!r}. Got shape {costs.shape}.",
            parameter=name,
        )
    return costs


def cost_unit_of(problem: Any) -> str:
    """Return the unit of the costs of `problem`, "" where it has none."""
    unit = getattr(problem, "cost_unit", "")
    if not isinstance(unit, str):
        raise parameter_error(type(problem).__name__, "cost_unit", "be a str", repr(unit))
    return unit.strip()


def check_outcomes(Y: Any, columns: int | None, problem: str) -> Floats:
    """Return `Y` as a 2-D float array with this many columns; an error says what is wrong."""
    y = np.asarray(Y, dtype=np.float64)
    if y.ndim != 2 or (columns is not None and y.shape[1] != columns):
        wanted = "columns" if columns is None else f"{columns} columns"
        raise argument_error(problem, "Y", f"be 2-D with {wanted}", f"shape {y.shape}")
    return y


def plan_numbers(plan: Any, size: int | None, what: str, name: Callable[[int], str]) -> Floats | str:
    """Return the finite numbers of a plan, or one sentence that says what is wrong with them.

    `what` they are reads like "quantities, one per product", and `name` gives that of each of them.
    """
    try:
        numbers = np.asarray(plan, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return f"The plan must be an array of numbers, but it is {plan!r}."
    if numbers.ndim != 1 or (size is not None and numbers.size != size):
        return f"The plan must hold {f'{size} ' if size is not None else ''}{what}, but its shape is {numbers.shape}."
    for j in np.flatnonzero(~np.isfinite(numbers)).tolist():
        return f"{name(j)} must be a finite number, but it is {numbers[j]:g}."
    return numbers


def check_samples(Y: Any, weights: Any, columns: int | None, problem: str) -> tuple[Floats, Floats]:
    """Return `Y` and `weights` as float arrays of matching shapes; an error says what is wrong."""
    y = check_outcomes(Y, columns, problem)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (y.shape[0],):
        raise argument_error(problem, "weights", f"hold one weight per row of Y ({y.shape[0]})", f"shape {w.shape}")
    if not np.isfinite(y).all():
        raise argument_error(problem, "Y", "be finite", "NaN or infinity")
    if not np.isfinite(w).all() or (w < 0).any() or abs(w.sum() - 1.0) > 1e-6:
        raise argument_error(problem, "weights", "be non-negative and sum to 1", f"sum {w.sum():g}")
    return y, w


def tail_begins(problem: DecisionProblem, risk: Risk, plan: Any, Y: Floats, weights: Floats) -> float:
    """From which value on the worst share of what `plan` costs begins, where row i of `Y` has weight ``weights[i]``.

    >>> from whence.problems import Newsvendor
    >>> from whence.risk import CVaR
    >>> demands = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> tail_begins(Newsvendor(1, 1), CVaR(0.75), [0.0], demands, np.full(4, 0.25))
    3.0
    """
    if risk.tail is None:
        return np.nan
    speaking = np.flatnonzero(weights)
    values = risk.values(np.asarray(problem.costs(plan, Y[speaking]), dtype=np.float64))
    assert values is not None
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[speaking][order])
    return float(values[order[int(np.argmax(upto >= (1.0 - risk.tail) * upto[-1] - SAME_SHARE))]])


def losses(risk: Risk, costs: Floats, begins: Floats) -> Floats | None:
    """Return what each row counts for, whose tail was seen to begin at `begins`; None for a risk that is no mean.

    For a tail it is the loss of Rockafellar and Uryasev, with the threshold of whoever decided: its mean is least for
    the plans of least CVaR, and thresholds that are right.

    >>> from whence.risk import CVaR
    >>> losses(CVaR(0.5), np.array([1.0, 5.0]), np.array([2.0, 2.0])).tolist()
    [2.0, 8.0]
    """
    values, tail = risk.values(costs), risk.tail
    if values is None or tail is None:
        return values
    return np.asarray(begins + np.maximum(values - begins, 0.0) / tail)
