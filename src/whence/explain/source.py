"""What an explanation was computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pandas as pd

from whence.aliases import Floats
from whence.explain.usual import usual_in
from whence.features import Schema
from whence.problems.base import DecisionProblem
from whence.report.fingerprints import Writer, problem_digest
from whence.risk import Risk
from whence.weights.base import Weights

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """The parts of a policy that an explanation speaks of: references, not copies.

    Attributes
    ----------
    weights : Weights
        Fitted.
    risk : Risk
        What is minimised.
    schema : Schema
        Fitted to `X`.
    problem : DecisionProblem
        What is decided.
    X : DataFrame
        The past contexts.
    Y : ndarray
        The past outcomes.
    outcomes : sequence of str
        Names of the columns of `Y`.
    """

    weights: Weights
    risk: Risk
    schema: Schema
    problem: DecisionProblem
    X: pd.DataFrame
    Y: Floats
    outcomes: Sequence[str]

    @classmethod
    def of(cls, policy: Policy) -> Source:
        """What `policy` is made of now; fitting it again leaves this as it is."""
        return cls(
            policy.weights_,
            policy.risk_,
            policy.schema_,
            policy.problem,
            policy.X_,
            policy.Y_,
            list(policy.outcome_names_),
        )

    def inputs(self, row: pd.Series | None = None) -> Floats:
        """The past contexts, or one context, as the weights' estimator sees them."""
        schema, units = self.schema, self.weights.sees_units
        if row is None:
            return schema.numbers(self.X, "error") if units else schema.encode(self.X, "error")
        return schema.numbers_row(row, "error") if units else schema.encode_row(row, "error")

    def usual(self, context: pd.Series) -> float | None:
        """The share of the past contexts that are not more usual than `context`."""
        return usual_in(self.weights, self.schema, self.X).share(self.schema.encode_row(context))

    def fingerprints(self, afresh: bool = False) -> dict[str, Any]:
        """Fingerprints of model, history and problem; those of a fitted model are kept unless asked `afresh`."""
        known = _KNOWN.get(self.weights)
        if known is None or afresh:
            known = _KNOWN[self.weights] = {"model": self._model(), "history": self._history()}
        problem, left_out = problem_digest(self.problem)
        return {**known, "problem": problem, **({"not_covered": left_out} if left_out else {})}

    def _model(self) -> str:
        writer = Writer()
        for part in self.weights.state():
            writer.write(part)
        return writer.hexdigest()

    def _history(self) -> str:
        """Contexts, outcomes, and what the schema makes of them."""
        writer, schema = Writer(), self.schema
        writer.write(self.X)
        writer.write([list(map(str, self.outcomes)), list(self.Y.shape)])
        writer.write(self.Y.ravel())
        writer.write([[name, schema.kind(name)] for name in schema.names])
        for part in schema.affine():
            writer.write(part)
        return writer.hexdigest()


#: Fingerprints of fitted models and their histories: a policy explains many times.
_KNOWN: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()
