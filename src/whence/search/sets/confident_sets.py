"""Sets of plans with confidence: some plan must be better by this many standard errors.

Each plan of a list has a spread of its own, and a search. Of other sets the plan that is best in a context has to be
sure. More standard errors never make a plan better, so that the search without them hands out every context that may
do, nearest first, and each is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from whence.claims.confidence import APART, rivals_there, worst_rival
from whence.question import Answer, Question
from whence.search import driver
from whence.search.driver import Frontier
from whence.search.frontier import Around
from whence.search.sets.per_plan import OneByOne
from whence.util.aliases import Floats
from whence.util.linear_program import OutOfTime, check_time, until

__all__ = ["Nowhere", "confidently"]


class Nowhere:
    """In place of a frontier: no plan of the set is good enough anywhere, under any threshold of its tail."""


def confidently(
    question: Question,
    alone: Callable[[Question], Frontier],
    together: Callable[[Question], Frontier | Nowhere | None],
) -> Answer:
    """Answer a question about a set with confidence.

    Parameters
    ----------
    question : Question
        About a set, with a confidence.
    alone : callable
        The frontier of a relative question about one plan.
    together : callable
        The frontier of a question about a set without confidence; None where the time is up before there is one.
    """
    assert question.claim.plans is not None
    try:
        with until(_moment(question)):
            rows, others = question.claim.plans.every(APART), question.claim.plans.others
            listed = others is None or others.every() is not None
            if rows is not None and listed:
                return driver.run(*_one_by_one(question, rows, alone))
            inner = together(question.claiming(confidence=0.0))
    except OutOfTime:
        inner = None
    if inner is None:
        return Answer("time_limit", None, np.inf, 0.0)
    if isinstance(inner, Nowhere):
        return Answer("none", None, np.inf, np.inf)
    # Whatever stands against its rivals is part of that search; for the driver the question is a relative one.
    return driver.run(question.relative(), _Standing(question, inner, rows, apart=False))


def _one_by_one(question: Question, rows: Floats, alone: Callable[[Question], Frontier]) -> tuple[Question, Frontier]:
    """A frontier for every plan, and the question that the driver is to ask."""
    if question.claim.kind == "relative":
        each = [alone(replace(question, claim=question.claim.of_plan(row), memo={})) for row in rows]
        return question, OneByOne(question, each)
    first = rivals_there(question.claim, question.weights.at(question.inputs.row(question.space.start)))[0]
    # The rivals are sample costs as they are to be compared; the first one stands in the place of the decision.
    against = question.relative().claiming(within=0.0, margin=(0.0, 0.0), decision=first)
    standing = [
        _Standing(
            question, alone(replace(against, claim=against.claim.of_plan(row), memo={})), row[None, :], apart=True
        )
        for row in rows
    ]
    return against, OneByOne(against, standing)


class _Standing(Around):
    """A frontier (see :class:`whence.search.driver.Frontier`) of which only contexts count in which a plan is sure.

    It is one of the plans with these sample costs, or the best one of the set where there are none. A frontier that is
    about one plan `apart` from others takes notice of the rivals that it does not stand against.
    """

    def __init__(self, question: Question, inner: Frontier, rows: Floats | None, apart: bool) -> None:
        super().__init__(inner)
        self.question, self.rows, self.apart = question, rows, apart
        self.refused: Floats | None = None

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """The nearest context left, if it was reached and a plan is sure there."""
        point = self.inner.advance(nodes, cutoff)
        if point is None:
            return None
        rival = self._refuting(point)
        if rival is None:
            return point
        again = self.refused is not None and np.array_equal(point, self.refused)
        self.refused = point
        if self.apart and not again:
            self.inner.cut(rival)
        else:
            self.inner.exclude(point)
        return None

    def propose(self, cutoff: float) -> Floats | None:
        """A context in which a plan is sure, found without proof."""
        point = self.inner.propose(cutoff)
        return point if point is not None and self._refuting(point) is None else None

    def _refuting(self, point: Floats) -> Floats | None:
        """The rival that the plan is not sure to beat at the point handed out last, if there is one."""
        question, plans = self.question, self.question.claim.plans
        assert plans is not None
        trees = question.weights.per_tree(question.inputs.row(point))
        assert trees is not None
        with until(_moment(question)):
            check_time()
            weights = self.inner.weights(point)
            rivals = rivals_there(question.claim, weights)
            found = None
            for costs in [plans.best(weights)] if self.rows is None else self.rows:
                found = worst_rival(question.claim, costs, rivals, trees)[1]
                if found is None:
                    break
            return found


def _moment(question: Question) -> float:
    return question.limits.started + question.limits.seconds + question.limits.remaining
