"""Sets of plans with confidence, each held against every cell, every plan and every tree, by the definition.

Of a set that lists its plans, some plan has to be better than its rivals by so many standard errors; of any other, the
plan that is best in the cell. The rivals of a relative question are the decision, those of an absolute one every plan
outside the set or, where these cannot be listed, what is decided in past contexts and what is best in the cell.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np
from tests.agreement.reference import TooMany
from tests.asking import varied
from tests.oracle import MOST_CELLS
from tests.search.holding import Cells, all_cells, excess, nearest_between
from tests.set_soaking import SetCase, question_of
from tests.soaking import EXACT

from whence.errors import WhenceError
from whence.explain import build_question as plan_sets
from whence.question import Question
from whence.search import frontiers as sure_sets
from whence.weights import KNNWeights

#: Costs that differ by no more, as a share of the largest, may tie.
TIE = 1e-9
#: Plans that a set or a problem lists, at most, for each of them to be looked at.
LISTED = 400


#: Standard errors that are asked for.
KAPPAS = (0.5, 1.0, 2.0, 4.0)


def sure_disagreement(case: SetCase, kappa: float, every: bool = True, **how: Any) -> str:
    """In what the answer with so many standard errors differs from brute force; empty where it does not.

    Unless `every` plan of a list counts by itself, lists are taken for sets that cannot be listed.
    """
    with ExitStack() as stack:
        if not every:
            for module in (sure_sets, plan_sets, sys.modules[__name__]):
                stack.enter_context(mock.patch.object(module, "LISTED" if module.__name__ == __name__ else "APART", 0))
        return _disagreement(case, kappa, **how)


def _disagreement(case: SetCase, kappa: float, **how: Any) -> str:
    question = question_of(case)
    assert not isinstance(question.weights, KNNWeights)
    at = _small(question)
    maybe, surely = _between(case, question, at, kappa)
    try:
        why = case.policy.explain(case.context, case.instead, **case.asked, confidence=kappa, **how)
    except WhenceError as error:
        return f"{type(error).__name__}: {error} (brute force: {maybe!r})"
    if why.status not in ("optimal", "already", "none"):
        return f"status {why.status}"
    allowed = EXACT[0] * float(question.space.weight.sum()) * (1.0 + (0.0 if np.isinf(surely) else surely))
    offset, scale = case.policy.schema_.affine()
    values = np.abs(offset) + np.abs(scale * question.space.start)
    allowed += 2.0 * float((question.space.weight * np.spacing(values) / scale).sum())
    if not maybe - allowed <= why.distance <= surely + allowed:
        return f"{why.status} at {why.distance!r}, brute force {maybe!r} to {surely!r}"
    if why.found and case.instead is not None and case.instead.named(case.policy.outcome_names_).check(why.alternative):
        return "what takes over is not in the set"
    return ""


def _small(question: Question) -> Cells:
    try:
        at = all_cells(question)
    except AssertionError as error:
        raise TooMany from error
    if len(at.points) > MOST_CELLS // 20:
        raise TooMany
    return at


def _between(case: SetCase, question: Question, at: Cells, kappa: float) -> tuple[float, float]:
    """The nearest distance, from below and from above where ties and rounding decide."""
    risk, policy = question.claim.risk, case.policy
    among = policy.problem if case.instead is None else case.instead.named(policy.outcome_names_)
    weights = at.members.mean(axis=1)
    largest = float(max(np.abs(case.rows).max(), np.abs(case.everything).max()))
    hair = TIE * largest * (1.0 + kappa)

    def over(row: np.ndarray, rival: np.ndarray, cells: Cells = at) -> np.ndarray:
        one = excess(_about(question, row), cells, kappa, rival)
        return np.asarray(one)

    def costs(plan: Any) -> np.ndarray:
        return np.asarray(policy.problem.costs(plan, policy.Y_), dtype=float)

    outside = _outside(case, costs)
    listed = among.plans(LISTED)
    low = np.full(len(weights), np.inf)
    high = np.full(len(weights), np.inf)
    if listed is not None:
        for row in map(costs, listed):
            worst = np.max([over(row, rival) for rival in outside], axis=0)
            low, high = np.minimum(low, worst), np.minimum(high, worst)
    for i, own in enumerate(weights):
        if listed is not None and (case.kind == "relative" or policy.problem.plans(LISTED) is not None):
            break
        cell = Cells(at.points[i : i + 1], at.distance[i : i + 1], at.members[i : i + 1])
        rivals = list(outside)
        if case.kind == "absolute":
            best = policy.problem.solve(policy.Y_, own, risk)
            if among.check(best):
                rivals.append((1.0 + case.within) * costs(best))
        if not rivals:
            rivals.append((1.0 + case.within) * policy.decision(case.context).costs)
        chosen = [costs(among.solve(policy.Y_, own, risk))] if listed is None else [costs(plan) for plan in listed]
        worst = [max(float(over(row, rival, cell)[0]) for rival in rivals) for row in chosen]
        low[i] = high[i] = min(worst)
    maybe, _ = nearest_between(at.distance, low, question.claim.tau, hair)
    _, surely = nearest_between(at.distance, high, question.claim.tau, hair)
    return maybe, surely


def _about(question: Question, row: np.ndarray) -> Question:
    return varied(question, alternative=row)


def _outside(case: SetCase, costs: Any) -> list[np.ndarray]:
    """The rivals that are the same in every cell."""
    policy, factor = case.policy, 1.0 + case.within
    decision = policy.decision(case.context)
    decided = decision.costs
    if case.kind == "relative":
        if case.instead is None:
            tau = question_of(case).claim.tau
            strictly = max(2.0 * tau, 1e-9 * float(np.abs(decided).max()))
            return [decided / (1.0 + case.margin) - strictly]
        return [(1.0 - case.margin) * decided]
    assert case.instead is not None
    among = case.instead.named(policy.outcome_names_)
    listed = policy.problem.plans(LISTED)
    if listed is None:
        listed = [policy.decide(row) for _, row in policy.X_.iterrows()]
    found = [factor * costs(plan) for plan in listed if among.check(plan)]
    if among.check(decision.plan) or (not found and policy.problem.plans(LISTED) is not None):
        found.append(factor * decided)
    return found
