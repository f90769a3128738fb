"""Small forest questions as the core sees them, with every allowed cell laid out by the definition."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.asking import varied
from tests.cases import cases
from tests.oracle import estimator_rows

from whence import _core
from whence.question import Question
from whence.search.forest_search import add_rival, criterion_of, equal_shares
from whence.search.grid import grid_of, locate

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

#: More cells than this are left out: looking at all of them would take too long.
MOST_CELLS = 4000


class Scene:
    """A question with one or two rivals, and what looking at every cell says about it."""

    def __init__(self, question: Question, rivals: list[Floats]) -> None:
        kept = grid_of(question)
        assert kept is not None
        self.question, self.kept, self.rivals = question, kept, rivals
        self.grid = kept.grid
        self.located = locate(question, kept)
        self.tau = float(question.claim.tau)
        self.criterion = self.new_criterion()

    def new_criterion(self, **settings: Any) -> _core.Criterion:
        """The criterion against all rivals, made with other settings where some are given."""
        question = varied(self.question, **settings)
        criterion = criterion_of(question, self.kept)
        for rival in self.rivals:
            add_rival(criterion, question, self.kept, rival)
        return criterion

    def shares(self, reach: float = 2.0) -> _core.Shares:
        """Equal shares of the price of every step."""
        return equal_shares(self.kept, self.located, reach)

    @cached_property
    def allowed(self) -> list[NDArray[np.int64]]:
        """The allowed cells of every column."""
        start, distance = self.kept.face_start, self.located.distance
        ends = [(start[j] + j, start[j + 1] + j + 1) for j in range(self.grid.columns)]
        return [np.flatnonzero(np.isfinite(distance[first:last])) for first, last in ends]

    @cached_property
    def cells(self) -> Ints:
        """Every allowed cell, one per row: of each category's columns exactly one is on."""
        picks = np.stack(np.meshgrid(*self.allowed, indexing="ij"), axis=-1).reshape(-1, self.grid.columns)
        group = self.located.group
        for g in np.unique(group[group >= 0]):
            picks = picks[(picks[:, group == g] > 0).sum(axis=1) == 1]
        return np.ascontiguousarray(picks, dtype=np.int32)

    @cached_property
    def points(self) -> Floats:
        """The nearest context of every cell, in coordinates."""
        points = np.empty(self.cells.shape)
        points[:, self.question.inputs.coordinate] = self.located.value[self.kept.places(self.cells)]
        return points

    @cached_property
    def distance(self) -> Floats:
        """Distance of every cell from the start."""
        found: Floats = self.located.distance[self.kept.places(self.cells)].sum(axis=1)
        return found

    @cached_property
    def leaves(self) -> Ints:
        """Leaf of every tree at every cell, by scikit-learn's own walk."""
        rows = estimator_rows(self.question, self.points).astype(np.float32)
        found, before = [], 0
        for tree in self.question.weights.trees:
            number = np.cumsum(tree.children_left < 0) - 1
            found.append(before + number[tree.apply(rows)])
            before += int(number[-1]) + 1
        return np.ascontiguousarray(np.stack(found, axis=1), dtype=np.int32)

    @cached_property
    def excess(self) -> Floats:
        """By how much the alternative's risk exceeds the lowest of the rivals', at every cell."""
        weights = self.question.weights.weights(estimator_rows(self.question, self.points))
        of = self.question.claim.risk.of
        return np.array([of(self.question.claim.alternative, w) - min(of(r, w) for r in self.rivals) for w in weights])


def scenes(count: int, first: int = 0, *, tail: bool | None = None) -> Iterator[Scene]:
    """Small questions: of a CVaR (`tail` True), of an expected cost (False), or of both."""
    seed = first
    while count > 0:
        case = cases(seed, 1)[0]
        seed += 1
        question = case.question()
        if tail is not None and tail == (1.0 - getattr(question.claim.risk, "alpha", 0.0) == 1.0):
            continue
        costs = case.policy.Y_.T
        rivals = [question.claim.decision] + ([np.ascontiguousarray(costs[-1])] if seed % 2 else [])
        scene = Scene(question, rivals)
        if np.prod([float(len(a)) for a in scene.allowed]) <= MOST_CELLS:
            count -= 1
            yield scene
