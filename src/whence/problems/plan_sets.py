"""Sets of plans: a decision problem with more constraints, in which one may look for some plan that is better."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.checks import Rule, refused
from whence.errors import InputError, InputTypeError
from whence.problems.base import DecisionProblem, Routes, Stock
from whence.risk import Risk
from whence.util.aliases import Floats
from whence.util.json import quoted, to_plain

if TYPE_CHECKING:
    import pandas as pd

    from whence.problems.linear import Polytope
    from whence.problems.plan_text import PlanEditor, QuantityLimits, ShownPlans

#: What a set is called in files where it is all plans.
ANY = "any"
#: The methods that restrict a problem, as files and the command write them.
BY_NAME = ("through", "using", "avoiding", "at_least", "at_most", "between")


class PlanSet(DecisionProblem):
    """Some of the plans of a problem: the problem that it came from, with more constraints.

    It costs, reads and shows plans as that problem does; only what it allows is less. Sets are made by the methods
    of a problem, such as ``problem.through("A").avoiding("B")``, and go to ``policy.explain(context, instead=...)``.

    Attributes
    ----------
    problem : DecisionProblem
        The problem whose plans these are.
    """

    def __init__(self, problem: DecisionProblem) -> None:
        self.problem = problem

    @property
    @abstractmethod
    def words(self) -> str:
        """What one plan of the set is called in a sentence, such as "a route through Ring Road"."""

    def as_plain(self) -> Any:
        """The set in plain values, from which :func:`set_from_plain` makes it again; None where that cannot be."""
        return None

    def named(self, outcomes: Sequence[str]) -> PlanSet:
        """Return the set for a policy whose outcomes have these names, after which parts may be named."""
        return self

    def share_below(self, share: float) -> float:
        """Return by which share of the decision's cost some plan must be cheaper, where `share` was asked for.

        Examples
        --------
        >>> import whence as wh
        >>> wh.Newsvendor(1, 2).at_least(0, 5.0).share_below(0.25), AnyPlan(wh.Newsvendor(1, 2)).share_below(0.25)
        (0.25, 0.2)
        """
        return share

    @abstractmethod
    def refusal(self, decision: Any) -> str | None:
        """None where a feasible plan of the problem belongs to the set, otherwise one sentence that says why not."""

    def plans(self, limit: int) -> Sequence[Any] | None:
        return None

    # ---- as a problem: what the problem itself says, for fewer plans -------------------------------------------

    def check(self, decision: Any) -> str | None:
        return self.problem.check(decision) or self.refusal(decision)

    def costs(self, decision: Any, Y: Floats) -> Floats:
        return self.problem.costs(decision, Y)

    def outcome_columns(self) -> int | None:
        return self.problem.outcome_columns()

    def vector(self, decision: Any) -> Floats:
        return self.problem.vector(decision)

    def parts(self, outcomes: Sequence[str] = ()) -> list[str] | None:
        return self.problem.parts(outcomes)

    def describe(self, decision: Any, outcomes: Sequence[str] = ()) -> str:
        return self.problem.describe(decision, outcomes)

    def to_plain(self, plan: Any) -> Any:
        return self.problem.to_plain(plan)

    def shown(self, decision: Any, alternative: Any, outcomes: Sequence[str] = ()) -> ShownPlans:
        return self.problem.shown(decision, alternative, outcomes)

    def editor(self, Y: Floats, outcomes: Sequence[str], plans: Sequence[Any]) -> PlanEditor:
        return self.problem.editor(Y, outcomes, plans)

    def quantity_limits(self, Y: Floats) -> QuantityLimits:
        return self.problem.quantity_limits(Y)

    def plain_from_text(self, text: str, number: Callable[[str], float]) -> Any:
        return self.problem.plain_from_text(text, number)

    def plain_from_cells(self, cells: pd.DataFrame, number: Callable[[str], float]) -> Any:
        return self.problem.plain_from_cells(cells, number)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {type(self.problem).__name__}: {self.words}>"


class AnyPlan(PlanSet):
    """All plans of a problem: what would change the plan, whatever takes over.

    >>> import whence as wh
    >>> AnyPlan(wh.Newsvendor(1, 3)).words
    'another plan'
    """

    @property
    def words(self) -> str:
        return "another plan"

    def as_plain(self) -> str:
        return ANY

    def share_below(self, share: float) -> float:
        """Return `share` of the best plan's cost as one of the decision's, where the decision is so much above it."""
        return share / (1.0 + share)

    def refusal(self, decision: Any) -> str | None:
        return None

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> Any:
        return self.problem.solve(Y, weights, risk)

    def solve_many(self, Y: Floats, weights: Floats, risk: Risk) -> Sequence[Any] | None:
        return self.problem.solve_many(Y, weights, risk)

    def plans(self, limit: int) -> Sequence[Any] | None:
        return self.problem.plans(limit)

    def polytope(self) -> Polytope | None:
        return self.problem.polytope_of_plans()

    def structure(self, Y: Floats) -> Stock | Routes | None:
        return self.problem.structure(Y)


class ListedPlans(PlanSet):
    """Some plans, one by one.

    >>> import numpy as np, whence as wh
    >>> few = wh.Newsvendor(1, 3).only([[10.0], [20.0]])
    >>> few.solve(np.array([[12.0], [21.0]]), np.array([0.5, 0.5]), wh.Expectation())
    array([20.])
    """

    def __init__(self, problem: DecisionProblem, allowed: Sequence[Any], words: str = "") -> None:
        super().__init__(problem)
        if not len(allowed):
            raise InputError("'allowed' must hold at least one plan. Got none.")
        self.allowed = list(allowed)
        for number, plan in enumerate(self.allowed):
            reason = problem.check(plan)
            if reason:
                raise InputError(f"Plan {number + 1} of 'allowed' is not feasible: {reason}", parameter="allowed")
        self._words = words

    @property
    def words(self) -> str:
        return self._words or (f"one of {len(self.allowed)} plans" if len(self.allowed) > 1 else "the given plan")

    def as_plain(self) -> dict[str, Any]:
        # A plan that is a bare number, such as which of some plans, stays one.
        plans = [to_plain(plan) if _is_number(plan) else self.problem.to_plain(plan) for plan in self.allowed]
        return {"only": plans, "words": self._words}

    def refusal(self, decision: Any) -> str | None:
        if any(_same(self.problem, decision, plan) for plan in self.allowed):
            return None
        return f"The plan is not {self.words}."

    def plans(self, limit: int) -> Sequence[Any] | None:
        return self.allowed if len(self.allowed) <= limit else None

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> Any:
        """Return the plan of least risk; the first one of a tie."""
        values = [risk.of(self.problem.costs(plan, Y), weights) for plan in self.allowed]
        best = self.allowed[int(np.argmin(values))]
        return np.asarray(best, dtype=np.float64) if _is_vector(best) else best


class AllowedPlans(PlanSet):
    """The plans of a problem of one's own that a rule allows, found by its own restricted `solve`."""

    def __init__(
        self,
        problem: DecisionProblem,
        allowed: Callable[[Any], Any],
        solve: Callable[[Floats, Floats, Risk], Any] | None = None,
        words: str = "",
    ) -> None:
        super().__init__(problem)
        self.allowed = allowed
        self._solve = solve
        self._words = words
        if solve is None and "allowed" not in inspect.signature(problem.solve).parameters:
            raise InputTypeError(
                "'allowed' can be a rule where 'solve' is given, or where the problem's own 'solve' takes 'allowed'. "
                f"Got a rule for {type(problem).__name__}, whose 'solve' knows nothing of it.",
                parameter="allowed",
            )

    @property
    def words(self) -> str:
        return self._words or "an allowed plan"

    def refusal(self, decision: Any) -> str | None:
        said = self.allowed(decision)
        if isinstance(said, str):
            return said
        return None if said else f"The plan is not {self.words}."

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> Any:
        if self._solve is not None:
            return self._solve(Y, weights, risk)
        solve: Callable[..., Any] = self.problem.solve
        return solve(Y, weights, risk, allowed=self.allowed)


def only(
    problem: DecisionProblem,
    allowed: Sequence[Any] | Callable[[Any], Any],
    solve: Callable[[Floats, Floats, Risk], Any] | None = None,
    words: str = "",
) -> PlanSet:
    """Return the plans that `allowed` lists or allows; see :meth:`DecisionProblem.only`."""
    Rule("a str", lambda value: isinstance(value, str)).check("words", words, kind=InputTypeError)
    if callable(allowed):
        return AllowedPlans(problem, allowed, solve, words)
    if isinstance(allowed, str | bytes | Mapping) or not isinstance(allowed, Sequence | np.ndarray):
        raise refused("allowed", "a list of plans, or a function of a plan", allowed, InputTypeError)
    return ListedPlans(problem, allowed, words)


def set_from_plain(problem: DecisionProblem, value: Any, outcomes: Sequence[str] = ()) -> PlanSet:
    """Return the set of plans that `value`, as read from JSON, stands for.

    It is "any", or a mapping from "through", "using" and "avoiding" to lists of places, from "at_least" and "at_most"
    to quantities by name, from "between" to pairs of quantities by name, or from "only" to a list of plans.

    >>> import whence as wh
    >>> set_from_plain(wh.Newsvendor(1, [2, 3], names=["rolls", "rye"]), {"at_least": {"rye": 80}}).words
    'a plan with at least 80 rye'
    """
    if value == ANY:
        return AnyPlan(problem)
    if not isinstance(value, Mapping) or not value:
        raise InputError(f"A set of plans must be 'any', or say what is asked of a plan. Got {quoted(value)} instead.")
    if "only" in value:
        plans = [plan if _is_number(plan) else problem.from_plain(plan, outcomes) for plan in value["only"]]
        return only(problem, plans, words=str(value.get("words", "")))
    found: Any = problem
    for name, items in value.items():
        method = getattr(found, name, None) if name in BY_NAME else None
        if method is None:
            known = [one for one in BY_NAME if hasattr(problem, one)]
            among = f" one of {', '.join(known)}, or" if known else ""
            raise InputError(
                f"A set of plans of {type(problem).__name__} must be{among} 'any'. Got {quoted(name)} instead."
            )
        if isinstance(items, Mapping):
            for part, limit in items.items():
                found = method(part, *limit) if isinstance(limit, list | tuple) else method(part, limit)
                method = getattr(found, name)
        else:
            found = method(*(items if isinstance(items, list | tuple) else [items]))
    return found.named(outcomes) if isinstance(found, PlanSet) else AnyPlan(problem)


def _is_number(plan: Any) -> bool:
    return isinstance(plan, int | float | np.number)


def _is_vector(plan: Any) -> bool:
    return isinstance(plan, list | tuple) and bool(plan) and all(isinstance(v, int | float | np.number) for v in plan)


def _same(problem: DecisionProblem, one: Any, other: Any) -> bool:
    try:
        first, second = problem.vector(one), problem.vector(other)
    except (TypeError, ValueError, OverflowError):
        return bool(one == other)
    return first.shape == second.shape and bool(np.allclose(first, second, rtol=1e-9, atol=1e-9))
