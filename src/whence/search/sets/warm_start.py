"""A first explanation for a set of plans, before any table is made: what lies farther away is left out of it.

The best plan of a past context in which the set is good enough is searched for by itself, which takes far less than the
set. The nearest context of that plan is an explanation for the set, and often the nearest one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.question import Answer, Limits, Question
from whence.search import driver
from whence.search.forest.forest_search import ForestFrontier
from whence.search.forest.grid import KeptGrid, locate, weights_at
from whence.search.forest.proposals import allowed_cells, past_cells
from whence.util.aliases import Floats
from whence.util.linear_program import OutOfTime, until
from whence.weights import TreeWeights

__all__ = ["ListedBest", "first_known"]


Ints = NDArray[np.int32]


def first_known(
    question: Question, kept: KeptGrid, plausibility: _core.Plausibility | None, rows: Floats | None = None
) -> Answer | None:
    """An explanation with its cell, found without proof that it is the nearest; None where none was met in time.

    Parameters
    ----------
    rows : ndarray of shape (plans, n), optional
        Sample costs of all plans of the set, where they are listed; otherwise its best plans are solved for.
    """
    plans = question.claim.plans
    assert plans is not None
    limits = Limits(question.settings.warm_share * question.limits.remaining, question.settings.warm_boxes)
    limits.reserve = question.limits.reserve
    try:
        with until(limits.started + limits.remaining):
            plan = _good_plan(question, kept, limits, rows)
    except OutOfTime:
        return None
    if plan is None or limits.remaining <= 0:
        return None
    settings = replace(question.settings, threads=1)
    alone = replace(question, claim=question.claim.of_plan(plan), limits=limits, memo={}, settings=settings)
    if question.claim.kind == "absolute":
        assert plans.rival is not None
        alone = alone.refuted_by(_beaten(question, plan, plans.rival))
    answer = driver.run(alone, ForestFrontier(alone, kept, plausibility))
    return None if answer.point is None else answer


def _beaten(question: Question, plan: Floats, rival: Callable[[Floats], Floats]) -> Callable[[Floats], Floats | None]:
    """What `Question.better` is for one plan of the set."""

    def better(weights: Floats) -> Floats | None:
        best = rival(weights)
        return (
            best
            if question.claim.risk.of(plan, weights) - question.claim.risk.of(best, weights) > question.claim.tau
            else None
        )

    return better


def _good_plan(question: Question, kept: KeptGrid, limits: Limits, rows: Floats | None) -> Floats | None:
    """Sample costs of the set's best plan in the nearest past context in which that is as good as is asked for."""
    plans = question.claim.plans
    assert plans is not None
    if kept.past is None:
        seen = question.weights
        assert isinstance(seen, TreeWeights)
        kept.past = past_cells(kept, seen.inputs_, question.inputs)
    located = locate(question, kept)
    cells = allowed_cells(kept, located, kept.past)
    distance = located.distance[kept.places(cells)].sum(axis=1)
    order = np.argsort(distance, kind="stable")[:: 1 + (distance.size - 1) // question.settings.warm_looks]
    costs = None if rows is None else _Listed(question, rows)
    together = 1 if costs is None else question.settings.warm_together
    for first in range(0, order.size, together):
        if limits.remaining <= 0:
            return None
        some = order[first : first + together]
        weights = np.array([_weights(question, kept, cells[i]) for i in some])
        for i, best in enumerate([plans.best(weights[0])] if costs is None else costs.best(weights)):
            limit = question.claim.risk.of(question.claim.rival_decision, weights[i])
            if plans.rival is not None:
                limit = min(limit, question.claim.risk.of(plans.rival(weights[i]), weights[i]))
            if question.claim.risk.of(best, weights[i]) <= limit + question.claim.tau:
                return best
    return None


def _weights(question: Question, kept: KeptGrid, cells: Ints) -> Floats:
    leaves = kept.grid.leaves_at(np.ascontiguousarray(cells))[: kept.trees]
    return weights_at(kept, leaves, question.claim.alternative.size)


class _Listed:
    """The best of some plans under several weights at once."""

    def __init__(self, question: Question, rows: Floats) -> None:
        self.rows, self.tail = rows, question.claim.risk.tail
        # The worst observations of every plan come first.
        self.order = np.argsort(-rows, axis=1, kind="stable") if self.tail is not None else None

    def best(self, weights: Floats) -> list[Floats]:
        """Sample costs of the best plan under each row of weights."""
        if self.tail is None or self.order is None:
            return list(self.rows[np.argmin(weights @ self.rows.T, axis=1)])
        values = np.empty((len(weights), len(self.rows)))
        for z, (row, order) in enumerate(zip(self.rows, self.order, strict=True)):
            mass = weights[:, order]
            before = np.cumsum(mass, axis=1) - mass
            values[:, z] = np.minimum(mass, np.maximum(self.tail - before, 0.0)) @ row[order]
        return list(self.rows[np.argmin(values, axis=1)])


#: Up to this share of the observations that count, their costs are sorted anew: a leaf holds few of them.
FEW = 0.25


class ListedBest:
    """Given weights, the sample costs of the best of some plans; the first of a tie.

    Parameters
    ----------
    rows : ndarray of shape (plans, n)
        What the plans cost under each past observation.
    tail : float, optional
        The worst share of which the mean is taken; the mean of all where there is none.

    Examples
    --------
    >>> best = ListedBest(np.array([[1.0, 9.0], [4.0, 4.0]]), tail=0.5)
    >>> best(np.array([0.5, 0.5]))
    array([4., 4.])
    """

    def __init__(self, rows: Floats, tail: float | None) -> None:
        self.rows, self.tail = rows, tail
        # The worst observations of every plan come first.
        self.order = None if tail is None else np.argsort(-rows, axis=1, kind="stable")
        self.sorted = None if self.order is None else np.take_along_axis(rows, self.order, axis=1)

    def __call__(self, weights: Floats) -> Floats:
        """The sample costs of the best plan."""
        best: Floats = self.rows[int(np.argmin(self.values(weights)))]
        return best

    def values(self, weights: Floats) -> Floats:
        """The risk of every plan, in proportion."""
        if self.tail is None or self.order is None or self.sorted is None:
            return np.asarray(self.rows @ weights)
        some = np.flatnonzero(weights)
        if some.size <= FEW * weights.size:
            rows = self.rows[:, some]
            order = np.argsort(-rows, axis=1, kind="stable")
            costs, mass = np.take_along_axis(rows, order, axis=1), weights[some][order]
        else:
            costs, mass = self.sorted, weights[self.order]
        before = np.cumsum(mass, axis=1) - mass
        return np.asarray((np.minimum(mass, np.maximum(self.tail - before, 0.0)) * costs).sum(axis=1))
