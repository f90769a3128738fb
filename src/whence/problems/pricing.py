"""A problem as a function of its prices: which parameters its costs have, and how costs follow them in one context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whence.errors import InputError, InternalError
from whence.util.aliases import Floats
from whence.util.json import finite

if TYPE_CHECKING:
    from whence.problems.base import DecisionProblem
    from whence.risk import Risk

#: Prices are looked for between today's over this and today's times this.
REACH = 100.0
#: Costs that differ by less than this share of the largest one follow a line.
STRAIGHT = 1e-7


@dataclass(frozen=True)
class Parameter:
    """A price, or another number that costs depend on."""

    name: str
    #: What it is one of, such as "backorder": a name for all of them together.
    group: str
    value: float
    #: What a change is measured by: a change by this much counts 1.
    scale: float
    low: float
    high: float
    #: How a sentence begins that says what it costs, such as "a unit short".
    words: str
    verb: str = "cost"
    #: What it stands for where it is one factor for several prices: their names and values today.
    members: tuple[tuple[str, float], ...] = ()
    #: Whether it carries the unit of the costs.
    money: bool = True

    @classmethod
    def of(cls, name: str, group: str, value: float, usual: float, words: str, **more: Any) -> Parameter:
        """Return a price that is looked for between a hundredth and a hundred times today's, on its side of zero.

        A change is measured by today's value, or where that is 0 by what a price is usually like.
        """
        scale = abs(value) or usual
        low, high = sorted((value / REACH, value * REACH)) if value else (0.0, scale * REACH)
        return cls(name, group, value, scale, low, high, words, **more)


@dataclass(frozen=True)
class Limit:
    """A budget or a capacity: what it is today, and what it would have to be for the plan."""

    name: str
    group: str
    value: float
    scale: float
    words: str
    to: float
    #: Whether the plan is not even feasible without the change.
    needed: bool


@dataclass(frozen=True)
class Terms:
    """What a plan costs as a linear function of the values of the parameters, by past observation.

    Observation i costs ``base[i] + slopes[i] @ values``, and besides, whatever comes, ``shift @ values``.
    """

    base: Floats
    shift: Floats
    slopes: Floats | None = None

    def costs(self, values: Floats) -> Floats:
        """Return costs by observation at these values."""
        found = self.base + float(self.shift @ values)
        return found if self.slopes is None else found + self.slopes @ values


@dataclass(frozen=True)
class Conditions:
    """What makes a plan the best: ``row_lower <= matrix @ (values, further) <= row_upper``.

    The further variables, such as multipliers, lie between `lower` and `upper`. The matrix is an array or a csr_array.
    """

    matrix: Any
    row_lower: Floats
    row_upper: Floats
    lower: Floats
    upper: Floats

    def in_changes(self, values: Floats, scale: Floats) -> Conditions:
        """Return the same for how far every price rises and falls, of about 1 in whatever units prices are."""
        prices, further = self.matrix[:, : values.size], self.matrix[:, values.size :]
        constant = prices @ values
        prices = prices * scale
        row = _inverse(prices, 1)[:, None]
        prices, further = prices * row, further * row
        column = _inverse(further, 0)
        joined = sparse.hstack if sparse.issparse(prices) else np.hstack
        matrix = joined([prices, -prices, further * column])
        lower, upper = (row.ravel() * (ends - constant) for ends in (self.row_lower, self.row_upper))
        return Conditions(matrix, lower, upper, self.lower / column, self.upper / column)


def _inverse(matrix: Any, axis: int) -> Floats:
    """Return one over the largest entry of every row or column; 1 where all of them are 0."""
    if not all(matrix.shape):
        return np.ones(matrix.shape[1 - axis])
    largest = abs(matrix).max(axis=axis)
    found = largest.toarray().ravel() if sparse.issparse(largest) else largest
    return np.asarray(1.0 / np.where(found > 1e-200, found, 1.0))


@dataclass(frozen=True)
class Moved:
    """Limits that are moved, and what that counts."""

    limits: tuple[Limit, ...] = ()
    distance: float = 0.0


class Priced:
    """A problem, and the outcomes and weights of one context, as a function of the parameters of its costs.

    This one is for problems that declare ``parameters()``, in which their costs are linear.
    """

    def __init__(
        self,
        problem: DecisionProblem,
        Y: Floats,
        weights: Floats,
        parameters: Sequence[Parameter],
        names: Sequence[str],
    ) -> None:
        speaking = np.flatnonzero(weights)
        self.problem = problem
        self.Y: Floats = np.ascontiguousarray(Y[speaking])
        self.weights: Floats = weights[speaking] / weights[speaking].sum()
        self.parameters = tuple(parameters)
        self.names = list(names)

    @property
    def values(self) -> Floats:
        """Today's values."""
        return np.array([one.value for one in self.parameters])

    #: Whether costs follow straight lines: otherwise `above` and `below` only bound them.
    straight = True

    def at(self, values: Floats, moved: Moved | None = None) -> tuple[DecisionProblem, Floats]:
        """Return the problem and the outcomes at these values."""
        given = {one.name: float(value) for one, value in zip(self.parameters, values, strict=True)}
        return self.problem.with_parameters(given), self.Y

    def solve(self, values: Floats, risk: Risk, moved: Moved | None = None) -> Any:
        """Return the best plan at these values, by the problem's own solve."""
        problem, outcomes = self.at(values, moved)
        return problem.solve(outcomes, self.weights, risk)

    def costs(self, plan: Any, values: Floats) -> Floats:
        """Return what a plan costs at these values, by observation."""
        problem, outcomes = self.at(values)
        return np.asarray(problem.costs(plan, outcomes), dtype=np.float64)

    def above(self, plan: Any, values: Floats) -> Terms:
        """Return lines that are nowhere below the costs of a plan, and meet them at these values."""
        return self.lines(plan)

    def below(self, plan: Any, low: Floats, high: Floats) -> Terms:
        """Return lines that are nowhere above the costs of a plan, where values lie between `low` and `high`."""
        return self.lines(plan)

    def lines(self, plan: Any) -> Terms:
        """Return the costs of a plan, which are linear in the parameters."""
        today = self.values
        here = self.costs(plan, today)
        slopes = np.empty((here.size, today.size))
        for j, one in enumerate(self.parameters):
            step = today.copy()
            step[j] += one.scale
            slopes[:, j] = (self.costs(plan, step) - here) / one.scale
        # What every observation pays alike is paid whatever comes.
        alike = np.ptp(slopes, axis=0) <= STRAIGHT * np.abs(slopes).max(axis=0, initial=0.0)
        shift = np.where(alike, slopes.mean(axis=0), 0.0)
        base = here - slopes @ today
        slopes = np.where(alike, 0.0, slopes)
        terms = Terms(base, shift, None if alike.all() else slopes)
        elsewhere = today + np.array([one.scale for one in self.parameters]) * (
            0.5 + 0.25 * np.cos(np.arange(today.size))
        )
        there = self.costs(plan, elsewhere)
        if np.abs(there - terms.costs(elsewhere)).max() > STRAIGHT * max(1e-300, float(np.abs(there).max())):
            raise InputError(
                f"The costs of {type(self.problem).__name__} must be linear in its 'parameters'. Got others."
            )
        return terms

    def conditions(self, plan: Any, risk: Risk, moved: Moved) -> Conditions | None:
        """Return what makes a plan the best, where that is known as linear rows; otherwise None."""
        return None

    def marks(self, plan: Any) -> tuple[Floats, Floats] | None:
        """Return by observation what decides whether a plan is best under a tail, for `between`; None if unknown."""
        return None

    def between(self, plan: Any, below: Floats, upto: Floats, moved: Moved) -> Conditions:
        """Return rows that prices keep where a plan is the best under a tail, of which marks have these shares."""
        raise InternalError(f"{type(self.problem).__name__} has marks, and does not say what lies between them.")

    def cheaper(self, plan: Any, values: Floats, tail: float, moved: Moved) -> Any:
        """Return a plan that costs less in the worst share `tail`, where one is found in no time; otherwise None."""
        return None

    def toward(self, plan: Any, other: Any, share: float) -> Any:
        """Return the plan a share of the way to another one, where all plans between two are plans; otherwise None."""
        return None

    def limits(self, plan: Any) -> list[Limit]:
        """Budgets and capacities that would touch the plan if they were moved; those that it breaks are needed."""
        return []

    def unlimited(self) -> DecisionProblem:
        """Return the problem without the limits that may be moved."""
        return self.problem

    def changed(self, values: Floats) -> Iterator[tuple[str, float, float]]:
        """Yield the prices that are not today's: name, from and to."""
        for one, value in zip(self.parameters, values, strict=True):
            if abs(value - one.value) > 1e-9 * max(one.scale, 1e-300):
                if one.members:
                    yield from ((name, today, today * value / one.value) for name, today in one.members if today)
                else:
                    yield one.name, one.value, float(value)


def declared(problem: DecisionProblem) -> list[Parameter]:
    """Return what a problem declares in ``parameters()``; an InputError where that is nothing, or no numbers."""
    kind = type(problem).__name__
    given = problem.parameters()
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            f"{kind} must declare 'parameters()', a dict from the names of its cost parameters to their values, to be "
            f"asked for prices. Got {given!r} instead."
        )
    values = {str(name): finite(value) for name, value in given.items()}
    for name, value in values.items():
        if value is None:
            raise InputError(f"'parameters()' of {kind} must hold finite numbers. Got {given[name]!r} for {name!r}.")
    known = {name: value for name, value in values.items() if value is not None}
    usual = usual_price(np.array(list(known.values())))
    return [Parameter.of(name, name, value, usual, name, verb="were", money=False) for name, value in known.items()]


def usual_price(values: Floats) -> float:
    """Return what a price is usually like, for one that is 0."""
    known = np.abs(values)[np.abs(values) > 0.0]
    return float(known.mean()) if known.size else 1.0
