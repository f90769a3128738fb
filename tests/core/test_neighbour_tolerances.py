"""Neighbour questions with a wide separation and a wide tolerance, in which either decides."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.blocks import seeds
from tests.core.neighbour_scene import Scene

from whence._core import NeighbourProgress
from whence.risk import CVaR, Expectation

SHAPES = ["c", "cc", "cd", "ck", "gc", "kk", "dk", "ccc"]
WIDE = 0.08


def _scene(seed: int, n: int = 9) -> Scene:
    risk = CVaR(0.6) if seed % 3 == 0 else Expectation()
    return Scene(
        seed,
        SHAPES[seed % len(SHAPES)],
        n,
        1 + seed % (n - 2),
        1 + seed % 2,
        risk,
        separation=WIDE,
        tau=0.1 * (seed % 2),
    )


@pytest.mark.parametrize("seed", seeds(6, 24))
def test_the_search_keeps_separation_and_tolerance(seed: int) -> None:
    """Over discrete and category axes the candidate is the best of all contexts that keep both, or there is none."""
    shape = ["d", "dd", "dk", "kd", "kk", "ddk"][seed % 6]
    risk = CVaR(0.5) if seed % 2 else Expectation()
    scene = Scene(seed, shape, n=8, k=1 + seed % 5, rivals=2, risk=risk, separation=WIDE, tau=0.05)
    every = itertools.product(*(scene.allowed(j, axis.lower, axis.upper) for j, axis in enumerate(scene.axes)))
    contexts = np.array(list(every))
    standing = [scene.far(context) for context in contexts if scene.is_explanation(context, WIDE)]
    progress = scene.search.advance(100_000, 50.0)
    assert progress is (NeighbourProgress.CANDIDATE if standing else NeighbourProgress.EXHAUSTED)
    if standing:
        assert scene.far(scene.search.candidate) == pytest.approx(min(standing), abs=1e-12)
    assert scene.search.standing(contexts).tolist() == [scene.is_explanation(context) for context in contexts]


@pytest.mark.parametrize("block", seeds(1, 3))
def test_no_random_context_within_the_answer_keeps_both(block: int) -> None:
    """In spaces with continuous axes none of the contexts nearer than the candidate is an explanation."""
    found = 0
    for seed in range(10 * block, 10 * block + 10):
        shape = ["cc", "cd", "ck", "gc", "ccc"][seed % 5]
        scene = Scene(seed, shape, n=12, k=1 + seed % 4, rivals=1, separation=WIDE, tau=0.05 * (seed % 2))
        progress = scene.search.advance(1_000_000, 50.0)
        distance = scene.far(scene.search.candidate) if progress is NeighbourProgress.CANDIDATE else np.inf
        if distance < np.inf:
            assert scene.is_explanation(scene.search.candidate, WIDE)
            assert scene.search.bound == pytest.approx(distance, abs=1e-9)
            found += 1
        low = np.array([axis.lower for axis in scene.axes])
        high = np.array([axis.upper for axis in scene.axes])
        for _ in range(4):
            for context in scene.contexts(low, high):
                assert not (scene.far(context) < distance - 1e-9 and scene.is_explanation(context)), seed
    assert found > 3
