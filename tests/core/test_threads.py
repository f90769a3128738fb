"""Several threads at one search: the same answers as one, and nothing handed out before it is proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.blocks import seeds
from tests.core.forest_cells import ForestScene, forest_scene, scenes
from tests.core.neighbour_scene import Scene

from whence._core import ForestSearch, NeighbourProgress
from whence.risk import CVaR
from whence.search.forest_search import equal_shares

#: More threads than cores are put aside with a box in hand while others go on, which is what can go wrong.
THREADS = [1, 2, 4, 16]
WAYS: dict[str, tuple[bool, bool]] = {"plain": (False, False), "sharp": (False, True), "strong": (True, False)}


def _forest_answer(scene: ForestScene, way: str, threads: int, cutoff: float) -> tuple[bool, float]:
    """Whether there is an explanation and its distance, which nothing left in the queue may undercut."""
    strong, sharp = WAYS[way]
    shares = equal_shares(scene.kept, scene.located, 2.0) if strong else None
    how: dict[str, Any] = {"shares": shares, "sharp": sharp}
    search = ForestSearch(scene.located, scene.criterion, scene.tau, threads=threads)
    before = 0.0
    while True:
        reached, bound = search.advance(50, cutoff, **how)
        assert bound >= before - 1e-12
        before = bound
        if reached:
            # Without any budget the distance of the nearest box left is told: that of the candidate's own.
            assert search.advance(0, cutoff, **how) == (False, bound)
            distance = float(scene.located.distance[scene.kept.places(search.cells)].sum())
            assert bound == pytest.approx(distance, abs=1e-9)
            return True, distance
        if bound >= cutoff:
            return False, np.inf


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threads", THREADS)
def test_forests_are_searched_alike_by_any_number_of_threads(way: str, threads: int) -> None:
    """Plain, sharp and strong: whether there is an explanation and how far it is does not depend on the threads."""
    for scene, _ in scenes(20):
        reached, distance = _forest_answer(scene, way, threads, np.inf)
        assert reached == (scene.optimum < np.inf)
        assert distance == pytest.approx(scene.optimum, abs=1e-9)
        if 0.0 < scene.optimum < np.inf:
            assert not _forest_answer(scene, way, threads, scene.optimum - 1e-6)[0]


@pytest.mark.parametrize("way", WAYS)
def test_larger_forests_are_searched_alike_by_any_number_of_threads(way: str) -> None:
    """With hundreds of boxes, which threads take from each other, the distance is that of one thread."""
    for seed in range(12):
        alpha = 0.5 if seed % 3 == 0 else None
        scene = forest_scene(seed, alpha, 1, 1e-6, shape="ccccc", trees=12, depth=5, n=120, plain=True)
        expected = _forest_answer(scene, way, 1, np.inf)
        for threads in (2, 4, 16, 16, 16):
            reached, distance = _forest_answer(scene, way, threads, np.inf)
            assert (reached, distance) == (expected[0], pytest.approx(expected[1], abs=1e-9))


def _neighbour_answer(scene: Scene, radius: float, threads: int) -> tuple[NeighbourProgress, float]:
    """How a search in slices ends, and the candidate's distance, which no box left may undercut."""
    search, before = scene.search, 0.0
    while (progress := search.advance(20, radius, threads)) is NeighbourProgress.SPENT:
        assert search.bound >= before - 1e-12
        before = search.bound
    if progress is not NeighbourProgress.CANDIDATE:
        return progress, np.inf
    distance = scene.far(search.candidate)
    assert search.bound == pytest.approx(distance, abs=1e-9)
    assert scene.is_explanation(search.candidate, scene.separation)
    return progress, distance


@pytest.mark.parametrize("block", seeds(1, 4))
def test_neighbours_are_searched_alike_by_any_number_of_threads(block: int) -> None:
    """Status and distance are those of one thread, in every kind of space, for the mean and for tails."""
    ends = set()
    for seed in range(5 * block, 5 * block + 5):
        how: dict[str, Any] = {
            "n": 40,
            "k": 1 + seed % 6,
            "rivals": 1 + seed % 3,
            "risk": CVaR(0.6) if seed % 2 else None,
        }
        shape = ["ccc", "ccd", "cck", "cgc", "cccc"][seed % 5]
        answers = [_neighbour_answer(Scene(seed, shape, **how), 50.0, threads) for threads in THREADS]
        ends.add(answers[0][0])
        for progress, distance in answers[1:]:
            assert progress is answers[0][0]
            assert distance == pytest.approx(answers[0][1], abs=1e-9)
    assert NeighbourProgress.CANDIDATE in ends
