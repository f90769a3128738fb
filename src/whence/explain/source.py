"""What an explanation was computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pandas as pd

from whence.aliases import Floats
from whence.features import Schema
from whence.problems.base import DecisionProblem
from whence.report.fingerprints import Writer, problem_digest
from whence.risk import Risk
from whence.weights import KNNWeights

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """The parts of a policy that an explanation speaks of: references, not copies.

    Attributes
    ----------
    weights : ForestWeights or KNNWeights
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

    weights: Any
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

    def fingerprints(self, afresh: bool = False) -> dict[str, Any]:
        """Fingerprints of model, history and problem; those of a fitted model are kept unless asked `afresh`."""
        known = _KNOWN.get(self.weights)
        if known is None or afresh:
            known = _KNOWN[self.weights] = {"model": self._model(), "history": self._history()}
        problem, left_out = problem_digest(self.problem)
        return {**known, "problem": problem, **({"not_covered": left_out} if left_out else {})}

    def _model(self) -> str:
        """The fitted weights: the trees and who stands in their leaves, or the points and the number of neighbours."""
        weights, writer = self.weights, Writer()
        if isinstance(weights, KNNWeights):
            writer.write({"kind": "neighbours", "k": int(weights.k), "shape": list(weights.points_.shape)})
            writer.write(weights.points_.ravel())
            return writer.hexdigest()
        writer.write({"kind": "forest", "trees": len(weights.trees), "frozen": weights.frozen is not None})
        for tree in weights.trees:
            for name in ("children_left", "children_right", "feature", "threshold"):
                writer.write(getattr(tree, name))
        writer.write(weights.members_.order.ravel())
        for size in weights.members_.size:
            writer.write(size)
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
