"""Contexts from which neighbours are proposed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tests.search.test_neighbour_search import random_case

from whence._core import AxisKind
from whence.search.neighbour_axes import Layout, Seeds
from whence.settings import SearchSettings

Floats = NDArray[np.float64]


def test_seeds_are_allowed() -> None:
    """Past contexts moved to where contexts are allowed: a category that is not becomes the cheapest one."""
    moved = 0
    for seed in range(60):
        question, _ = random_case(seed, ["k", "ck", "kk", "dk"][seed % 4])
        layout = Layout.of(question.space, question.weights.points_, 1, 1e-6)  # type: ignore[union-attr]
        axes = layout.axes
        seeds = Seeds(axes, None, SearchSettings())  # type: ignore[arg-type]
        rows = seeds._allowed(axes.points)
        for row, past in zip(rows, axes.points, strict=True):
            assert question.space.allows(layout.to_coordinates(row)).all()
            for j, axis in enumerate(axes.each):
                if axis.kind is AxisKind.CATEGORY:
                    assert row[j] == (past[j] if past[j] <= axis.upper else 0.0)
                    moved += past[j] > axis.upper
    assert moved > 10
