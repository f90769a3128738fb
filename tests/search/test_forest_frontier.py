"""The forest's frontier, candidate by candidate."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.core.forest_cells import ForestScene

from whence.question import Question
from whence.search.forest_search import ForestFrontier

Floats = NDArray[np.float64]


def _frontier(scene: ForestScene) -> ForestFrontier:
    frontier = ForestFrontier(scene.question, scene.kept)
    frontier.cut(scene.question.claim.decision)
    return frontier


def _candidate(frontier: ForestFrontier) -> Floats | None:
    for _ in range(1000):
        point = frontier.advance(1000, np.inf)
        if point is not None or frontier.bound == np.inf:
            return point
        frontier.propose(np.inf)
    raise AssertionError("the search does not end")


def test_weights_and_cell_around_a_candidate() -> None:
    """The frontier's weights are the policy's there, and stay so to the end of the cell, but not beyond it."""
    cells_ended = 0
    for scene in (ForestScene(seed, "cc", plain=True, depth=4) for seed in range(24)):
        frontier = _frontier(scene)
        point = _candidate(frontier)
        if point is None:
            continue
        question = scene.question

        def weights(at: Floats, question: Question = question) -> Floats:
            rows = at[None, question.inputs.coordinate] * question.inputs.scale + question.inputs.offset
            return np.asarray(question.weights.weights(rows)[0])

        assert frontier.weights(point) == pytest.approx(weights(point), abs=1e-12)
        low, high = frontier.cell(point) or (point, point)
        for corner in itertools.product(*zip(low, high, strict=True)):
            assert weights(np.array(corner)) == pytest.approx(weights(point), abs=1e-12)
        for q in range(len(point)):
            start, step = question.space.start[q], np.zeros(len(point))
            for end, sign in ((low, -1.0), (high, 1.0)):
                # Towards the far side of what moved the cell ends where the weights, or the bounds, do.
                if (end[q] - start) * sign > 0.0 and end[q] != point[q]:
                    step[q] = sign * 1e-6
                    beyond = point.copy()
                    beyond[q] = end[q] + step[q]
                    outside = not question.space.lower[q] <= beyond[q] <= question.space.upper[q]
                    cells = scene.kept.cut[scene.kept.face_start[q] : scene.kept.face_start[q + 1]].astype(float)
                    inputs = question.inputs
                    ends = (cells - inputs.offset[q]) / inputs.scale[q]
                    assert outside or np.abs(ends - end[q]).min() < 1e-5
                    cells_ended += 1
    assert cells_ended > 10
