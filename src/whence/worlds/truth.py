"""Whether an explanation is true in a world: what the plans cost in the context found, by the world's own outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.problems.base import DecisionProblem
from whence.risk import Risk
from whence.util.aliases import Floats

__all__ = ["NEARLY", "excess_there", "times_there"]

#: An absolute explanation is true where the alternative costs at most this share more than the best plan there, or
#: what was asked for: the very best plan is another one in every world.
NEARLY = 0.01


def excess_there(explanation: Any, problem: DecisionProblem, risk: Risk, outcomes: Floats, weights: Floats) -> float:
    """By how much the alternative costs more than the explanation says, where these outcomes come with these weights.

    Of a set of plans, or of all plans, it is the plan that the explanation names: that one would be carried out.
    """
    above, allowed, behind = _there(explanation, problem, risk, outcomes, weights)
    return max(above - allowed, behind)


def times_there(explanation: Any, problem: DecisionProblem, risk: Risk, outcomes: Floats, weights: Floats) -> float:
    """How many times as much must be allowed for the explanation to be true there: 1 where it is, as it stands.

    Only the distance from the best plan may be allowed; what is not better than the decision stays untrue (infinite).
    """
    above, allowed, behind = _there(explanation, problem, risk, outcomes, weights)
    if max(above - allowed, behind) <= explanation.tolerance:
        return 1.0
    return above / allowed if allowed > 0.0 and behind <= explanation.tolerance else np.inf


def _there(
    explanation: Any, problem: DecisionProblem, risk: Risk, outcomes: Floats, weights: Floats
) -> tuple[float, float, float]:
    """By how much the alternative costs more than the best plan, by how much it may, and how far it is behind."""
    decision = np.asarray(problem.costs(explanation.decision, outcomes))
    cost = _cost(problem, risk, explanation.alternative, outcomes, weights)
    share, amount = explanation.saving
    above, allowed, behind = -np.inf, 0.0, -np.inf
    if explanation.kind == "absolute":
        best = _cost(problem, risk, problem.solve(outcomes, weights, risk), outcomes, weights)
        # A share of costs that may be negative is one of their mean size.
        size = best if decision.min() >= 0.0 and best >= 0.0 else float(np.abs(decision).mean())
        above, allowed = cost - best, max(explanation.allowance, max(NEARLY, explanation.within) * size)
    if explanation.kind == "relative" or share or amount:
        behind = float(cost - (1.0 - share) * risk.of(decision, weights) + amount)
    return above, allowed, behind


def _cost(problem: DecisionProblem, risk: Risk, plan: Any, outcomes: Floats, weights: Floats) -> float:
    return risk.of(np.asarray(problem.costs(plan, outcomes), dtype=np.float64), weights)
