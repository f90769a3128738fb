"""Whether an explanation is true in a world: what the plans cost in the context found, by the world's own outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.problems.base import DecisionProblem
from whence.risk import Risk
from whence.util.aliases import Floats

__all__ = ["NEARLY", "excess_there"]

#: An absolute explanation is true where the alternative costs at most this share more than the best plan there, or
#: what was asked for: the very best plan is another one in every world.
NEARLY = 0.01


def excess_there(explanation: Any, problem: DecisionProblem, risk: Risk, outcomes: Floats, weights: Floats) -> float:
    """By how much the alternative costs more than the explanation says, where these outcomes come with these weights.

    Parameters
    ----------
    explanation : Explanation
        With a context, in which outcomes are what follows.
    problem, risk : DecisionProblem, Risk
        What is decided, and what is minimised.
    outcomes, weights : ndarray
        What may come in that context, one row each, and how likely.
    """
    decision, plans = np.asarray(problem.costs(explanation.decision, outcomes)), explanation.plans
    share, amount = explanation.saving
    if plans is None:
        cost = _cost(problem, risk, explanation.alternative, outcomes, weights)
    else:
        # Of a set, some plan has to do: the best one there.
        cost = _cost(problem, risk, plans.solve(outcomes, weights, risk), outcomes, weights)
    over = -np.inf
    if explanation.kind == "absolute":
        best = _cost(problem, risk, problem.solve(outcomes, weights, risk), outcomes, weights)
        nearly = max(NEARLY, explanation.within)
        # A share of costs that may be negative is one of their mean size.
        size = best if decision.min() >= 0.0 and best >= 0.0 else float(np.abs(decision).mean())
        over = cost - best - max(explanation.allowance, nearly * size)
    if explanation.kind == "relative" or share or amount:
        over = max(over, cost - (1.0 - share) * risk.of(decision, weights) + amount)
    return float(over)


def _cost(problem: DecisionProblem, risk: Risk, plan: Any, outcomes: Floats, weights: Floats) -> float:
    return risk.of(np.asarray(problem.costs(plan, outcomes), dtype=np.float64), weights)
