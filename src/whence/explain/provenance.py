"""What an explanation was computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pandas as pd

from whence.errors import SolverError
from whence.explain.plan_costs import sample_costs
from whence.features import Schema
from whence.problems.base import DecisionProblem
from whence.report.document import QualityEntry
from whence.report.fingerprint import digest, problem_digest
from whence.risk import Risk
from whence.util.aliases import Floats
from whence.weights.base import Weights
from whence.weights.plausibility import usual_in

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["Source"]


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
        """What `policy` is made of now; fitting it again leaves this as it is."""
        parts = policy.weights_, policy.risk_, policy.schema_, policy.problem, policy.X_, policy.Y_
        return cls(*parts, outcomes=list(policy.outcome_names_), quality=policy.quality_)

    def inputs(self, row: pd.Series | None = None) -> Floats:
        """The past contexts, or one context, as the weights' estimator sees them."""
        schema, units = self.schema, self.weights.capabilities.sees_units
        if self.weights.capabilities.sees_levels:
            return schema.levels_shown(self.X, "error") if row is None else schema.levels_row(row, "error")
        if row is None:
            return schema.numbers(self.X, "error") if units else schema.coordinates_shown(self.X, "error")
        return schema.numbers_row(row, "error") if units else schema.coordinates_row(row, "error")

    def usual(self, context: pd.Series) -> float | None:
        """The share of the past contexts that are not more usual than `context`; None where numbers are missing."""
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
        """Fingerprints of model, history and problem; those of a fitted model are kept unless asked `afresh`."""
        known = _KNOWN.get(self.weights)
        if known is None or afresh:
            known = _KNOWN[self.weights] = {"model": digest(*self.weights.state()), "history": self._history()}
        problem, left_out = problem_digest(self.problem)
        return {**known, "problem": problem, **({"not_covered": left_out} if left_out else {})}

    def _history(self) -> str:
        """Contexts, outcomes, and what the schema makes of them."""
        outcomes = [list(map(str, self.outcomes)), list(self.Y.shape)]
        kinds = [[name, self.schema.kind(name)] for name in self.schema.names]
        related = [*self.schema.relations, *self.schema.derived]
        return digest(self.X, outcomes, self.Y.ravel(), kinds, *self.schema.affine(), *([related] if related else []))


#: Fingerprints of fitted models and their histories: a policy explains many times.
_KNOWN: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()
