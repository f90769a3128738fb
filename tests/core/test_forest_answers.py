"""The search over the boxes of a forest, driven through the bindings, held against every cell there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.core.forest_cells import ForestScene, Ints, scenes

from whence._core import ForestSearch
from whence.search import forest_search as criteria
from whence.search.forest_search import equal_shares

SCENES = 20
WAYS = ["plain", "sharp", "strong", "both"]


def _how(scene: ForestScene, way: str) -> dict[str, Any]:
    """What `advance` needs to search this way."""
    strong = way in ("strong", "both")
    shares = equal_shares(scene.kept, scene.located, 2.0) if strong else None
    return {"shares": shares, "sharp": way in ("sharp", "both")}


def _run(search: ForestSearch, budget: int, cutoff: float, how: dict[str, Any]) -> tuple[bool, float]:
    """Search in slices until a candidate is reached or nothing is left nearer than the cutoff."""
    before = 0.0
    for _ in range(100_000):
        reached, bound = search.advance(budget, cutoff, **how)
        assert bound >= before - 1e-12, "the bound fell"
        before = bound
        if reached or bound >= cutoff:
            return reached, bound
    raise AssertionError("the search does not end")


def _at(scene: ForestScene, cells: Ints) -> int:
    """Which of all cells these are."""
    (found,) = np.flatnonzero((scene.cells == cells).all(axis=1))
    return int(found)


@pytest.mark.parametrize("way", WAYS)
def test_the_candidate_is_the_nearest_of_all_cells(way: str) -> None:
    """In slices of any length the first candidate is the nearest explanation, at its own distance, or there is none."""
    found = none = 0
    for scene, rng in [*scenes(SCENES), *scenes(SCENES, tails=True, table=False)]:
        search = ForestSearch(scene.located, scene.criterion, scene.tau)
        reached, bound = _run(search, int(rng.choice([1, 3, 10_000])), np.inf, _how(scene, way))
        assert reached == (scene.optimum < np.inf)
        assert bound == pytest.approx(scene.optimum, abs=1e-9)
        if reached:
            at = _at(scene, search.cells)
            assert scene.holds[at]
            assert scene.distance[at] == pytest.approx(scene.optimum, abs=1e-12)
        found, none = found + reached, none + (not reached)
    assert min(found, none) > 5


@pytest.mark.parametrize("way", WAYS)
def test_tails_that_begin_at_the_least_cost(way: str) -> None:
    """With few different costs the first threshold decides in many cells, and the nearest explanation is among them."""
    first = 0
    for scene, _ in scenes(16, tails=True, coarse=True, depth=4):
        search = ForestSearch(scene.located, scene.criterion, scene.tau)
        reached, bound = _run(search, 10_000, np.inf, _how(scene, way))
        assert (reached, bound) == (scene.optimum < np.inf, pytest.approx(scene.optimum, abs=1e-9))
        sums = scene.table(0)[scene.leaves[scene.holds]].sum(axis=1)
        first += int((sums.argmin(axis=1) == 0).sum())
    assert first > 50


@pytest.mark.parametrize("tails", [False, True])
def test_where_plans_tie_the_strong_bound_does_not_overshoot(tails: bool) -> None:
    """An alternative that is nowhere cheaper stands where it ties, and the bound that is proved is that distance."""
    away = 0
    for scene, _ in scenes(30, tails=tails, coarse=True, never_cheaper=True, trees=2, depth=4, plain=True):
        search = ForestSearch(scene.located, scene.criterion, scene.tau)
        reached, bound = _run(search, 1, np.inf, _how(scene, "strong"))
        assert (reached, bound) == (scene.optimum < np.inf, pytest.approx(scene.optimum, abs=1e-9))
        away += 0.0 < scene.optimum < np.inf
    assert away > 5


@pytest.mark.parametrize("way", WAYS)
def test_nothing_within_a_cutoff_is_lost(way: str) -> None:
    """With the cutoff just beyond the optimum it is found; just before it, the search ends without."""
    for scene, rng in scenes(SCENES):
        if not 0.0 < scene.optimum < np.inf:
            continue
        for cutoff in (scene.optimum + 1e-6, scene.optimum * 1.05, scene.optimum - 1e-6):
            search = ForestSearch(scene.located, scene.criterion, scene.tau)
            reached, bound = _run(search, int(rng.choice([1, 10_000])), cutoff, _how(scene, way))
            assert reached == (cutoff > scene.optimum)
            assert bound == pytest.approx(scene.optimum, abs=1e-9) if reached else bound >= cutoff


@pytest.mark.parametrize("way", WAYS)
def test_what_is_left_out_uncovers_the_next_nearest(way: str) -> None:
    """Candidate after candidate is left out with its leaves, and only those cells go: each time the next comes."""
    excluded = 0
    for scene, _ in scenes(SCENES):
        search = ForestSearch(scene.located, scene.criterion, scene.tau)
        how, left = _how(scene, way), scene.holds.copy()
        for _ in range(12):
            expected = float(scene.distance[left].min(initial=np.inf))
            reached, bound = _run(search, 10_000, np.inf, how)
            assert (reached, bound) == (expected < np.inf, pytest.approx(expected, abs=1e-9))
            if not reached:
                break
            at = _at(scene, search.cells)
            assert left[at]
            again, _ = search.advance(10_000, np.inf, **how)
            assert again
            assert np.array_equal(search.cells, scene.cells[at])
            search.exclude(search.cells)
            left &= (scene.leaves != scene.leaves[at]).any(axis=1)
            excluded += 1
    assert excluded > 50


@pytest.mark.parametrize("alpha", [None, 0.5])
def test_the_search_goes_on_when_a_rival_comes_in(alpha: float | None) -> None:
    """A rival that is added after the first candidate counts from then on, in the search that is under way."""
    moved = 0
    for seed in range(16):
        scene = ForestScene(seed, alpha=alpha, rivals=2)
        criterion = criteria.criterion_of(scene.question, scene.kept)
        search = ForestSearch(scene.located, criterion, scene.tau)
        distances = []
        for plan in (1, 2):
            rival = np.ascontiguousarray(scene.policy.Y_[:, plan])
            criteria.add_rival(criterion, scene.question, scene.kept, rival)
            standing = (scene.excess[:, :plan] <= scene.tau).all(axis=1)
            expected = float(scene.distance[standing].min(initial=np.inf))
            reached, bound = _run(search, 5, np.inf, {})
            assert (reached, bound) == (expected < np.inf, pytest.approx(expected, abs=1e-9))
            distances.append(expected)
        moved += distances[0] < distances[1]
    assert moved > 3


def test_a_search_needs_a_rival_and_a_thread() -> None:
    """Without a rival there is nothing to search for; less than one thread is refused."""
    scene = ForestScene(0)
    criterion = criteria.criterion_of(scene.question, scene.kept)
    with pytest.raises(ValueError, match="rival"):
        ForestSearch(scene.located, criterion, scene.tau).advance(1, np.inf)
    with pytest.raises(ValueError, match="threads"):
        ForestSearch(scene.located, scene.criterion, scene.tau, threads=0)
