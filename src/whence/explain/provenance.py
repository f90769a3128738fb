"""What an explanation was computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from whence.errors import InputError, SolverError
from whence.features import Schema
from whence.problems.base import DecisionProblem
from whence.problems.plan_sets import AnyPlan, PlanSet
from whence.report.document import QualityEntry
from whence.report.fingerprint import digest, problem_digest
from whence.risk import Risk
from whence.util.aliases import Floats
from whence.util.frames import as_pandas
from whence.weights.base import Weights
from whence.weights.plausibility import usual_in

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["Source", "in_order", "sample_costs", "share_below"]


def in_order(problem: DecisionProblem, plan: Any, outcomes: Sequence[str]) -> Any:
    """Return a Series, a one-row DataFrame or a mapping with the names of the parts as the problem's plan.

    Any other plan, and every plan of a problem whose parts have no names, is left as it is.

    Examples
    --------
    >>> import whence as wh
    >>> in_order(wh.Newsvendor(1, 2), pd.Series({"rye": 55.0, "rolls": 100.0}), ["rolls", "rye"])
    array([100.,  55.])
    """
    if isinstance(plan, np.ndarray | list):
        return plan
    plan = as_pandas(plan)
    if isinstance(plan, pd.DataFrame) and len(plan) == 1:
        plan = plan.iloc[0]
    if isinstance(plan, pd.Series):
        named = {name: value for name, value in plan.items() if isinstance(name, str)}
        if len(named) < len(plan):
            return plan.to_numpy()
    elif isinstance(plan, Mapping):
        named = dict(plan)
    else:
        return plan
    return plan if problem.parts(outcomes) is None else problem.from_plain(named, outcomes)


def sample_costs(problem: DecisionProblem, plan: Any, outcomes: Floats, name: str = "decision") -> Floats:
    """Return one finite cost per row of `outcomes`; whatever else a problem returns is refused, naming the plan `name`.

    Examples
    --------
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


def share_below(plans: PlanSet, share: float) -> float:
    """Return by which share of the decision's cost some plan of the set must be cheaper, where `share` was asked for.

    Where it is any plan, the decision must be more than so much above the best, which then is less than
    ``1 / (1 + share)`` of it.

    Examples
    --------
    >>> import whence as wh
    >>> share_below(wh.Newsvendor(1, 2).at_least(0, 5.0), 0.25), share_below(AnyPlan(wh.Newsvendor(1, 2)), 0.25)
    (0.25, 0.2)
    """
    return share / (1.0 + share) if isinstance(plans, AnyPlan) else share


@dataclass(frozen=True)
class Source:
    """The parts of a policy that an explanation speaks of: references, not copies."""

    weights: Weights
    risk: Risk
    schema: Schema
    problem: DecisionProblem
    X: pd.DataFrame
    Y: Floats
    #: Names of the columns of `Y`.
    outcomes: Sequence[str]
    #: How good the policy is, where that was found out.
    quality: QualityEntry | None = None

    @classmethod
    def of(cls, policy: Policy) -> Source:
        """Return what `policy` is made of now; fitting it again leaves this as it is."""
        parts = policy.weights_, policy.risk_, policy.schema_, policy.problem, policy.X_, policy.Y_
        return cls(*parts, outcomes=list(policy.outcome_names_), quality=policy.quality_)

    def inputs(self, row: pd.Series | None = None) -> Floats:
        """Return the past contexts, or one context, as the weights' estimator sees them."""
        schema, units = self.schema, self.weights.capabilities.sees_units
        if self.weights.capabilities.sees_levels:
            return schema.levels_shown(self.X, "error") if row is None else schema.levels_row(row, "error")
        if row is None:
            return schema.numbers(self.X, "error") if units else schema.coordinates_shown(self.X, "error")
        return schema.numbers_row(row, "error") if units else schema.coordinates_row(row, "error")

    def usual(self, context: pd.Series) -> float | None:
        """Return the share of past contexts that are not more usual than this one; None where numbers are missing."""
        if self.schema.lacks(self.X):
            return None
        return usual_in(self.weights, self.schema, self.X).share(self.schema.encode_row(context))

    def decided(self, context: pd.Series, weights: Floats) -> tuple[Any, float | None]:
        """Return what the policy itself plans in a context where observations have these weights, and its cost.

        Both are None where the solver finds no plan.
        """
        outcomes = (
            self.weights.outcomes(self.inputs(context), self.Y) if self.weights.capabilities.forecasts else self.Y
        )
        try:
            plan = self.problem.solve(outcomes, weights, self.risk)
        except SolverError:
            return None, None
        return plan, float(self.risk.of(sample_costs(self.problem, plan, outcomes), weights))

    def fingerprints(self, afresh: bool = False) -> dict[str, Any]:
        """Return fingerprints of model, history and problem; those of a fitted model are kept unless asked `afresh`."""
        known = _KNOWN.get(self.weights)
        if known is None or afresh:
            known = _KNOWN[self.weights] = {"model": digest(*self.weights.state()), "history": self._history()}
        problem, left_out = problem_digest(self.problem)
        return {**known, "problem": problem, **({"not_covered": left_out} if left_out else {})}

    def _history(self) -> str:
        """Return contexts, outcomes, and what the schema makes of them."""
        outcomes = [list(map(str, self.outcomes)), list(self.Y.shape)]
        kinds = [[name, self.schema.kind(name)] for name in self.schema.names]
        related = [*self.schema.relations, *self.schema.derived]
        return digest(self.X, outcomes, self.Y.ravel(), kinds, *self.schema.affine(), *([related] if related else []))


#: Fingerprints of fitted models and their histories: a policy explains many times.
_KNOWN: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()
