"""Plans whose quantities are at least or at most so much: bounds on the parts of a plan, and further rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from whence.checks import refused
from whence.errors import InputError, InputTypeError
from whence.problems.base import Routes, Stock
from whence.problems.plan_sets import PlanSet
from whence.risk import Risk
from whence.util.aliases import Floats
from whence.util.json import finite, quoted, some
from whence.util.text import listed

if TYPE_CHECKING:
    from whence.problems.base import DecisionProblem
    from whence.problems.linear import Polytope

#: Quantities may miss a limit by this much, as solvers return them.
SLACK = 1e-6


@dataclass(frozen=True)
class Limit:
    """A part of a plan, by number or by name, and between what its quantity must lie."""

    part: int | str
    low: float
    high: float


class Quantities:
    """A problem whose plans are quantities, of which some plans can be asked for.

    The problem solves for bounds on its quantities with `solve_between`.
    """

    def at_least(self, part: int | str, quantity: float) -> QuantitySet:
        """Return the plans with at least this quantity of a part, given by name or by number.

        Examples
        --------
        >>> import whence as wh
        >>> wh.Newsvendor(1, [2, 3], names=["rolls", "croissants"]).at_least("croissants", 80).words
        'a plan with at least 80 croissants'
        """
        return limited(self, part, _number("at_least", quantity), np.inf)

    def at_most(self, part: int | str, quantity: float) -> QuantitySet:
        """Return the plans with at most this quantity of a part, given by name or by number."""
        return limited(self, part, -np.inf, _number("at_most", quantity))

    def between(self, part: int | str, low: float, high: float) -> QuantitySet:
        """Return the plans whose quantity of a part, given by name or by number, lies between these two."""
        first, last = _number("low", low), _number("high", high)
        if first > last:
            raise InputError(f"'high' must be at least 'low', which is {first:g}. Got {last:g}.")
        return limited(self, part, first, last)


def limited(plans: Any, part: int | str, low: float, high: float) -> QuantitySet:
    """Return the plans of a problem, or of a set, with one more limit."""
    if isinstance(part, bool) or not isinstance(part, int | np.integer | str):
        raise refused("part", "the name or the number of a part", part, InputTypeError)
    part = part if isinstance(part, str) else int(part)
    problem, before, rows = plans, (), ()
    if isinstance(plans, QuantitySet):
        problem, before, rows = plans.problem, plans.limits, plans.rows  # type: ignore[assignment]
    return QuantitySet(problem, (*before, Limit(part, low, high)), rows)


class QuantitySet(PlanSet, Quantities):
    """Plans whose quantities keep some limits, and further rows where the problem is linear.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> problem = wh.Newsvendor(1, [2, 3], budget=100, names=["rolls", "croissants"])
    >>> plans = problem.at_least("croissants", 80).at_most("rolls", 15)
    >>> plans.words
    'a plan with at least 80 croissants and at most 15 rolls'
    >>> plans.check([20.0, 80.0])
    'The plan has 20 rolls, more than 15.'
    >>> plans.at_least("rolls", 30)
    Traceback (most recent call last):
    ...
    whence.errors.InputError: No plan has at least 30 and at most 15 of rolls.
    """

    def __init__(
        self,
        problem: DecisionProblem,
        limits: Sequence[Limit] = (),
        rows: Sequence[tuple[Any, Any]] = (),
        outcomes: Sequence[str] = (),
    ) -> None:
        super().__init__(problem)
        self.limits = tuple(limits)
        self.rows = tuple(rows)
        self._outcomes = tuple(outcomes)
        if problem.parts(self._outcomes) is not None or all(isinstance(limit.part, int) for limit in limits):
            self._check_feasible()

    def named(self, outcomes: Sequence[str]) -> QuantitySet:
        return QuantitySet(self.problem, self.limits, self.rows, outcomes)

    def with_rows(self, A_ub: Any, b_ub: Any) -> QuantitySet:
        """Return those that keep further rows ``A_ub @ z <= b_ub`` too; of linear problems only."""
        check = getattr(self.problem, "check_rows", None)
        if check is None:
            raise InputTypeError(f"'with_rows' needs a LinearProblem. Got {type(self.problem).__name__} instead.")
        check(A_ub, b_ub)
        return QuantitySet(self.problem, self.limits, (*self.rows, (A_ub, b_ub)), self._outcomes)

    @property
    def words(self) -> str:
        said = [_said(self._label(limit.part), limit.low, limit.high) for limit in self._merged()]
        if self.rows:
            said.append(f"{len(self.rows)} further condition{'s' * (len(self.rows) > 1)}")
        return f"a plan with {listed(said)}"

    def as_plain(self) -> dict[str, Any] | None:
        """Return the limits by name; further rows cannot be written."""
        if self.rows:
            return None
        found: dict[str, dict[str, Any]] = {}
        for limit in self._merged():
            name = self._label(limit.part)
            if limit.low == -np.inf:
                found.setdefault("at_most", {})[name] = limit.high
            elif limit.high == np.inf:
                found.setdefault("at_least", {})[name] = limit.low
            else:
                found.setdefault("between", {})[name] = [limit.low, limit.high]
        return found

    def refusal(self, decision: Any) -> str | None:
        vector = self.problem.vector(decision)
        for limit in self._merged():
            value, name = float(vector[self._number(limit.part, vector.size)]), self._label(limit.part)
            slack = SLACK * max(1.0, abs(value))
            if value < limit.low - slack:
                return f"The plan has {value:g} {name}, less than {limit.low:g}."
            if value > limit.high + slack:
                return f"The plan has {value:g} {name}, more than {limit.high:g}."
        for number, (A, b) in enumerate(self.rows):
            over = np.asarray(A @ vector, dtype=np.float64) - np.asarray(b, dtype=np.float64)
            if (over > SLACK * np.maximum(1.0, np.abs(b))).any():
                return f"The plan breaks condition {number + 1} by {float(over.max()):g}."
        return None

    def between_limits(self, size: int) -> tuple[Floats, Floats]:
        """Return the least and the largest quantity of each of this many parts."""
        lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
        for limit in self.limits:
            j = self._number(limit.part, size)
            lower[j], upper[j] = max(lower[j], limit.low), min(upper[j], limit.high)
        return lower, upper

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> Any:
        problem: Any = self.problem
        if self.rows:
            problem = problem.with_further_rows(self.rows)
        return problem.solve_between(Y, weights, risk, *self._bounds(Y))

    def structure(self, Y: Floats) -> Stock | Routes | None:
        """Return the quantities that are chosen one by one, between the limits of the set."""
        found = self.problem.structure(Y)
        if not isinstance(found, Stock):
            return None
        least, most = self.between_limits(Y.shape[1])
        return replace(found, lower=np.maximum(found.lower, least), upper=np.minimum(found.upper, most))

    def polytope(self) -> Polytope | None:
        space = self.problem.polytope()
        if space is None:
            return None
        return replace(space, **with_bounds(space, *self.between_limits(space.variables), self.rows))

    def _bounds(self, Y: Floats) -> tuple[Floats, Floats]:
        problem: Any = self.problem
        return self.between_limits(problem.quantities(np.asarray(Y).shape[1]))

    def _merged(self) -> list[Limit]:
        """Return one limit a part."""
        found: dict[int | str, Limit] = {}
        for limit in self.limits:
            key = self._known(limit.part)
            before = found.get(key, Limit(key, -np.inf, np.inf))
            found[key] = Limit(key, max(before.low, limit.low), min(before.high, limit.high))
        return list(found.values())

    def _known(self, part: int | str) -> int | str:
        """Return the number of a part, or its name as long as the parts have no names."""
        names = self.problem.parts(self._outcomes)
        if isinstance(part, str) and self._still_unknown(part):
            return part
        return self._number(part, None if names is None else len(names))

    def _still_unknown(self, part: str) -> bool:
        """Whether this may be the name of an outcome, after which parts are called as soon as a policy is asked."""
        names = self.problem.parts(self._outcomes)
        if names is None:
            return True
        if self._outcomes or any(name.casefold() == part.strip().casefold() for name in names):
            return False
        others = [f"{name}'" for name in names]
        return self.problem.parts(others) == others

    def _number(self, part: int | str, size: int | None) -> int:
        names = self.problem.parts(self._outcomes)
        if isinstance(part, str):
            found = [j for j, name in enumerate(names or ()) if name.casefold() == part.strip().casefold()]
            if len(found) != 1:
                among = "the parts of this problem, which have no names" if names is None else some(names)
                raise InputError(f"'part' must be among {among}. Got {quoted(part)} instead.")
            return found[0]
        if part < 0 or (size is not None and part >= size):
            most = "" if size is None else f" below {size}"
            raise InputError(f"'part' must be a number from 0{most}. Got {part} instead.")
        return part

    def _label(self, part: int | str) -> str:
        names = self.problem.parts(self._outcomes)
        if isinstance(part, str):
            return part if names is None or self._still_unknown(part) else names[self._number(part, None)]
        return f"part {part}" if names is None or part >= len(names) else names[part]

    def _check_feasible(self) -> None:
        for limit in self._merged():
            if limit.low > limit.high or limit.high < 0.0 <= self._least():
                name = self._label(limit.part)
                said = (
                    f"at least {limit.low:g} and at most {limit.high:g}"
                    if np.isfinite(limit.low)
                    else f"at most {limit.high:g}"
                )
                raise InputError(f"No plan has {said} of {name}.", parameter="instead")
        total = sum(max(limit.low, 0.0) for limit in self._merged() if isinstance(limit.part, int))
        budget = getattr(self.problem, "budget", None)
        if budget is not None and total > float(budget) + SLACK * max(1.0, abs(float(budget))):
            raise InputError(
                f"'instead' must hold at least one plan. Got {self.words}, but the budget is {float(budget):g}."
            )

    def _least(self) -> float:
        """Return the least that a quantity can be."""
        limits = self.problem.quantity_limits(np.zeros((1, 1)))
        return 0.0 if np.ndim(limits.lower) == 0 and limits.lower == 0.0 else -np.inf


def with_bounds(space: Any, lower: Floats, upper: Floats, rows: Sequence[tuple[Any, Any]] = ()) -> Mapping[str, Any]:
    """Return what changes in a polytope that is narrowed to these bounds and rows."""
    more = [
        sparse.csr_array(np.atleast_2d(np.asarray(A.todense() if sparse.issparse(A) else A, float))) for A, _ in rows
    ]
    return {
        "lower": np.maximum(space.lower, lower),
        "upper": np.minimum(space.upper, upper),
        "A_ub": sparse.vstack([space.A_ub, *more], format="csr") if more else space.A_ub,
        "b_ub": np.concatenate([space.b_ub, *(np.atleast_1d(np.asarray(b, float)) for _, b in rows)]),
    }


def _said(name: str, low: float, high: float) -> str:
    if low == high:
        return f"exactly {low:g} {name}"
    if high == np.inf:
        return f"at least {low:g} {name}"
    return f"at most {high:g} {name}" if low == -np.inf else f"between {low:g} and {high:g} {name}"


def _number(name: str, value: Any) -> float:
    number = finite(value)
    if number is None:
        raise InputTypeError(
            f"The quantity of {name!r} must be a finite number. Got {value!r} instead.", parameter=name
        )
    return number
