"""Costs that follow forecasts: what curves say at a cell, and bounds over random boxes against every cell of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.core.forest_cells import Floats, ForestScene, scenes

from whence import _core


class Curved:
    """Random curves over the cells of a scene: convex, monotone or with any corners."""

    def __init__(self, scene: ForestScene, rng: np.random.Generator) -> None:
        outcomes = int(rng.integers(1, 4))
        self.adds = np.ascontiguousarray(rng.normal(size=(scene.kept.leaves, outcomes)).round(int(rng.integers(1, 9))))
        self.offsets = rng.normal(size=outcomes)
        self.criterion = _core.CurveCriterion(self.adds, self.offsets)
        self.curves: list[list[tuple[Floats, Floats, float, float]]] = []
        for _ in range(int(rng.integers(1, 3))):
            self.curves.append([_curve(rng) for _ in range(outcomes)])
            last = self.curves[-1]
            self.criterion.add_curves(
                np.cumsum([0] + [one[0].size for one in last]).astype(np.int64),
                np.concatenate([one[0] for one in last]),
                np.concatenate([one[1] for one in last]),
                np.array([slope for one in last for slope in one[2:]]),
            )
        forecast = self.offsets + self.adds[scene.leaves].sum(axis=1)
        each = [sum(_at(one, forecast[:, k]) for k, one in enumerate(own)) for own in self.curves]
        self.over = np.max(each, axis=0)
        #: So that some cells hold, and some do not.
        self.tau = float(np.quantile(self.over, rng.uniform(0.05, 0.6)))


def _curve(rng: np.random.Generator) -> tuple[Floats, Floats, float, float]:
    at = np.unique(rng.normal(size=int(rng.integers(1, 8))).round(2) * 2.0)
    shape = int(rng.integers(3))
    value = np.cumsum(rng.normal(size=at.size))
    before, after = float(rng.normal()), float(rng.normal())
    if shape == 0:
        value, before, after = np.abs(at), -1.0, 1.0
    elif shape == 1:
        value, before, after = -np.sort(np.abs(value)), 0.0, -0.3
    return at, np.ascontiguousarray(value), before, after


def _at(curve: tuple[Floats, Floats, float, float], x: Floats) -> Any:
    at, value, before, after = curve
    found = np.interp(x, at, value)
    found = np.where(x < at[0], value[0] + before * (x - at[0]), found)
    return np.where(x > at[-1], value[-1] + after * (x - at[-1]), found)


def asked(count: int) -> Iterator[tuple[ForestScene, np.random.Generator, Curved]]:
    for scene, rng in scenes(count, tails=False):
        yield scene, rng, Curved(scene, rng)


def test_at_a_cell() -> None:
    """The excess is the largest sum of curves at what the leaves add up to."""
    for scene, _, curved in asked(20):
        for i in range(0, len(scene.cells), 5):
            assert curved.criterion.excess(scene.leaves[i]).over == pytest.approx(curved.over[i], abs=1e-10)


def test_bounds_over_boxes() -> None:
    """A box is given up only where no cell of it holds, and no leaf is dropped that such a cell has."""
    seen = np.zeros(3, dtype=np.int64)
    for scene, rng, curved in asked(60):
        seen += scene.bounded(curved.criterion, curved.tau, curved.over <= curved.tau - 1e-9, rng)
    assert seen.min() > 40


def test_refusals() -> None:
    """Curves whose corners do not ascend, or of another number than there are outcomes."""
    criterion = _core.CurveCriterion(np.zeros((3, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="ascending"):
        criterion.add_curves(np.array([0, 2, 3]), np.array([1.0, 1.0, 0.0]), np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError, match="first"):
        criterion.add_curves(np.array([0, 1]), np.zeros(1), np.zeros(1), np.zeros(4))
    with pytest.raises(ValueError, match="offsets"):
        _core.CurveCriterion(np.zeros((3, 2)), np.zeros(3))
