"""The space of a nearest-neighbour question as axes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.search.test_neighbour_search import random_case

from whence._core import AxisKind
from whence.search.neighbour_axes import Layout, Seeds
from whence.settings import SearchSettings

Floats = NDArray[np.float64]


def test_axes_measure_what_coordinates_do() -> None:
    """Distances to past contexts and to the start are the same along axes and coordinates, category or not."""
    categories = 0
    for seed in range(60):
        question, _ = random_case(seed, ["ck", "kk", "dkf", "cob"][seed % 4])
        points = question.weights.points_  # type: ignore[union-attr]
        layout = Layout.of(question.space, points, 1, 1e-6)
        axes, rng = layout.axes, np.random.default_rng(seed)
        for _ in range(10):
            at = np.array(
                [
                    float(rng.integers(axis.upper + 1)) if axis.kind is AxisKind.CATEGORY
                    else rng.choice(axis.levels) if axis.kind is AxisKind.DISCRETE
                    else rng.uniform(axis.lower, axis.upper)
                    for axis in axes.each
                ]
            )  # fmt: skip
            context = layout.to_coordinates(at)
            apart = np.abs(axes.points - at)
            whole = np.array([axis.kind is AxisKind.CATEGORY for axis in axes.each], dtype=bool)
            along = axes.base + np.where(whole, apart > 0.0, apart).sum(axis=1)
            assert along == pytest.approx(np.abs(points - context).sum(axis=1), abs=1e-12)
            far = Seeds(axes, None, SearchSettings())._distance(at[None, :])  # type: ignore[arg-type]
            assert far == pytest.approx([question.space.distance(context)], abs=1e-12)
            categories += int(whole.sum())
    assert categories > 200
