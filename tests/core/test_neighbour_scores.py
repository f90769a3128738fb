"""Neighbours by scores that stand for squared distances: what is said of a box, against many contexts in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.blocks import seeds

from whence._core import Axis, AxisKind, NeighbourSearch

CATEGORIES = 3


class _Scene:
    """Past contexts along two numbers, and a category now and then, with random scores."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.n, self.k = 12, int(rng.integers(1, 8))
        weights = rng.uniform(0.3, 2.0, 2)
        self.axes = [Axis(AxisKind.CONTINUOUS, float(rng.random()), float(w), 0.0, 1.0) for w in weights]
        self.category = seed % 2 == 0
        if self.category:
            costs = np.array([0.0, *np.sort(rng.random(CATEGORIES - 1))])
            self.axes.append(Axis(AxisKind.CATEGORY, 0.0, 1.0, 0.0, CATEGORIES - 1.0, costs=costs))
        q = len(self.axes)
        self.points = np.zeros((self.n, q))
        self.base, self.slopes = rng.normal(size=self.n), rng.normal(size=(self.n, q))
        self.slopes[:, 2:] = 0.0
        self.entries = rng.normal(size=(self.n, CATEGORIES)) if self.category else None
        self.alternative, self.rival = rng.random(self.n), rng.random(self.n)
        self.search = self.made()

    def made(self, **changes: Any) -> NeighbourSearch:
        given = {"slopes": self.slopes, "entries": self.entries, **changes}
        search = NeighbourSearch(
            self.axes, self.points, self.base, self.k, 1e-6, 1.1e-6, self.alternative, 1e-9, **given
        )
        search.cut(self.rival)
        return search

    def scores(self, context: np.ndarray) -> np.ndarray:
        total = self.base + self.slopes[:, :2] @ context[:2]
        return total if self.entries is None else total + self.entries[:, int(context[2])]

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        ends = np.sort(self.rng.random((2, 2)), axis=0)
        low, high = ends[0], ends[0] + (ends[1] - ends[0]) * self.rng.choice([0.05, 0.3, 1.0])
        if self.category:
            first, last = np.sort(self.rng.integers(0, CATEGORIES, 2))
            low, high = np.append(low, first), np.append(high, last)
        return low, high

    def contexts(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        found = self.rng.uniform(low, high, (300, low.size))
        if self.category:
            found[:, 2] = self.rng.integers(int(low[2]), int(high[2]) + 1, 300)
        return found

    def distance(self, context: np.ndarray) -> float:
        total = sum(axis.weight * abs(x - axis.start) for axis, x in zip(self.axes[:2], context, strict=False))
        return float(total + (self.axes[2].costs[int(context[2])] if self.category else 0.0))

    def stands(self, context: np.ndarray) -> bool:
        order = np.argsort(self.scores(context))
        ranked = self.scores(context)[order]
        gap = ranked[self.k] - ranked[self.k - 1]
        members = order[: self.k]
        return bool(gap >= 1.1e-6 and (self.alternative - self.rival)[members].mean() <= 1e-9)


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_contexts_stand_as_sorting_says(seed: int) -> None:
    """Whether a context is an explanation is told by the k least scores."""
    scene = _Scene(seed)
    contexts = scene.contexts(*scene.box())
    np.testing.assert_array_equal(scene.search.standing(contexts), [scene.stands(one) for one in contexts])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"slopes": np.zeros((3, 3))}, "'slopes' must have the shape of 'points'"),
        ({"entries": np.zeros((12, 2))}, "'entries' must have a row for every point"),
        ({"slopes": np.full((12, 3), np.nan)}, "'slopes' array must be finite"),
        ({"widest": 1.0}, "'widest' is for plain distances"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], words: str) -> None:
    """Arrays that do not belong to the points are refused, not read beyond their end."""
    with pytest.raises(ValueError, match=words):
        _Scene(0).made(**changes)
