"""The re-check: no answer leaves the package before the fitted estimator and the problem confirm it.

What an explanation is held against, here and whenever it is verified, is its `Source`: the parts of a fitted policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from whence.claims.sets import excess, rivals_there
from whence.errors import InternalError, SolverError
from whence.features import Schema
from whence.features.space import Refusal, Space
from whence.problems.base import DecisionProblem, sample_costs
from whence.question import Answer, Question
from whence.report.document import QualityEntry
from whence.report.fingerprint import digest, problem_digest
from whence.risk import Risk
from whence.util.aliases import Floats
from whence.weights.base import Weights
from whence.weights.plausibility import usual_in

if TYPE_CHECKING:
    from whence.policy import Policy

#: Coordinates may differ by this much between an engine and the context it leads to (by this share where they are
#: larger than 1), and distances by as much times the largest weight of a feature.
COORDINATE_SLACK, DISTANCE_SLACK = 1e-7, 1e-6
#: Costs may differ by this share of the largest cost: rounding of sums, far below the tolerance.
COST_SLACK = 1e-9
#: What is wrong with a context that is not allowed.
REFUSED: dict[Refusal, str] = {
    "outside": "The context found lies outside the allowed contexts",
    "less usual": "The context found is less usual than was asked for",
    "more changes": "More features change than was asked for",
}


class Confirmed(NamedTuple):
    """A context that was found, in the user's units, and what was computed afresh for it."""

    context: pd.Series
    weights: Floats
    distance: float
    #: What the alternative costs there, and what it must not cost more than: see `Question.rival_decision`.
    alternative: float
    rival: float


def confirmed(question: Question, answer: Answer, schema: Schema, initial: pd.Series, inputs_of: Any) -> Confirmed:
    """Return the context of `answer`, once everything about it is computed afresh and is as it should be."""
    context = context_found(question, answer, schema, initial)
    distance = distance_of(question.space, answer, schema.encode_row(context), context)
    row = inputs_of(context)
    weights = question.weights.confirmed(row, question.settings.separation)
    slack = COST_SLACK * max(1e-300, question.claim.size)
    cost, allowed = (
        question.claim.risk.of(c, weights) for c in (question.claim.alternative, question.claim.rival_decision)
    )
    gap = cost - allowed
    # By standard errors, a plan of a set must beat those outside it; the decision may be in the set.
    outside = bool(question.claim.kappa) and question.claim.plans is not None and question.claim.kind == "absolute"
    if gap > question.claim.tau + slack and not outside:
        raise InternalError(f"The alternative costs {gap:.6g} more than the decision in the context found.")
    rival = None if outside else question.claim.rival(weights)
    if outside:
        _check_confidence(question, row, rivals_there(question.claim, weights), slack)
    elif question.claim.kappa:
        rivals = [question.claim.rival_decision, *([] if rival is None else [rival])]
        _check_confidence(question, row, rivals, slack)
    elif rival is not None:
        regret = cost - question.claim.risk.of(rival, weights)
        if regret > question.claim.tau + slack:
            raise InternalError(f"The alternative is {regret:.6g} from optimal in the context found.")
    return Confirmed(context, weights, distance, cost, allowed)


def distance_of(
    space: Space, answer: Answer, point: Floats, context: pd.Series, slack: float = COORDINATE_SLACK
) -> float:
    """Return how far a context lies, which must be allowed and as far away as was found."""
    size = max(1.0, float(np.abs(space.start).max()))
    wrong = space.refusal(point, slack=slack * size)
    if wrong is not None:
        raise InternalError(f"{REFUSED[wrong]}: {context.to_dict()}.")
    distance = space.distance(point)
    if abs(distance - answer.distance) > DISTANCE_SLACK * size * max(1.0, float(space.weight.max())):
        raise InternalError(f"The explanation lies at distance {distance:.9g}, not at {answer.distance:.9g} as found.")
    return distance


def context_found(question: Question, answer: Answer, schema: Schema, initial: pd.Series) -> pd.Series:
    """Return the context of `answer` in the user's units."""
    assert answer.point is not None
    space = question.space
    cell = answer.cell or _cell(question, answer.point)
    context = schema.decode(answer.point, initial, cell, space.ends, space.days)
    if space.rules is None:
        return context
    return _to_the_last_digit(question, answer.point, schema, initial, context)


def _to_the_last_digit(
    question: Question, found: Floats, schema: Schema, initial: pd.Series, context: pd.Series
) -> pd.Series:
    """Return the context with numbers moved by what rounding costs, so that rules hold in the user's own units."""
    space, weights, inputs = question.space, question.weights, question.inputs
    assert space.rules is not None
    assert space.ends is not None

    def room() -> tuple[Floats, Floats]:
        cell = weights.cell(found, inputs.row(found), inputs)
        low, high = (np.full(found.size, -np.inf), np.full(found.size, np.inf)) if cell is None else cell
        # What is fixed stays as it is.
        held = space.lower == space.upper
        return np.where(held, space.start, low), np.where(held, space.start, high)

    return schema.exactly_related(context, initial, space.rules, room, space.ends)


def _check_confidence(question: Question, row: Floats, rivals: Sequence[Floats], slack: float) -> None:
    """By how many standard errors the alternative is better, from the fitted trees or the neighbours themselves."""
    trees, claim = question.weights.per_tree(row), question.claim
    assert trees is not None
    for rival in rivals:
        over = excess(claim, claim.alternative, rival, trees)
        if over > claim.tau + slack * (1.0 + claim.kappa):
            raise InternalError(
                f"The alternative is not better by {claim.kappa:g} standard errors in the context found: "
                f"{over:.6g} is missing."
            )


def _cell(question: Question, point: Floats) -> tuple[Floats, Floats] | None:
    """Where an engine names none, the allowed part of the cell around `point`, which may lie on its edge."""
    inputs, space = question.inputs, question.space
    cell = question.weights.cell(point, inputs.row(point), inputs)
    if cell is None:
        return None
    return np.maximum(cell[0], np.minimum(space.lower, point)), np.minimum(cell[1], np.maximum(space.upper, point))


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
        sees = self.weights.capabilities
        return self.schema.shown(self.X, sees) if row is None else self.schema.row_shown(row, sees)

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
