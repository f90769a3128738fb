"""The search over boxes, by itself: candidates in order of distance, whatever the slices."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from tests.core.forest_scene import Scene, scenes
from tests.search.test_forest_search import hard_case

from whence import _core
from whence.search.forest_search import add_rival, criterion_of
from whence.search.grid import grid_of, locate

#: Strong bound, sharp splits.
WAYS = [(False, False), (False, True), (True, False), (True, True)]


def search(scene: Scene) -> _core.ForestSearch:
    """A search that has not begun."""
    return _core.ForestSearch(scene.located, scene.criterion, scene.tau)


@pytest.mark.parametrize(("strong", "sharp"), WAYS)
def test_the_first_candidate_is_the_nearest_cell_that_holds(strong: bool, sharp: bool) -> None:
    """With every bound and split, and nothing is left where no cell holds."""
    none = 0
    for scene in scenes(60, 100 * strong + 50 * sharp):
        holds = scene.excess <= scene.tau
        reached, bound = search(scene).advance(10**6, np.inf, scene.shares() if strong else None, sharp)
        assert reached == holds.any()
        none += not reached
        if reached:
            assert bound == pytest.approx(scene.distance[holds].min(), abs=1e-9)
        else:
            assert bound == np.inf
    assert none >= 3


def test_excluded_cells_are_passed_over_in_order_of_distance() -> None:
    """One after the other, candidates leave out the regions excluded before, never nearer than those."""
    for scene in scenes(25, 300):
        running = search(scene)
        holds = scene.excess <= scene.tau
        left = holds.copy()
        before = 0.0
        for _ in range(6):
            reached, bound = running.advance(10**6, np.inf)
            assert reached == left.any()
            if not reached:
                break
            assert bound == pytest.approx(scene.distance[left].min(), abs=1e-9)
            assert bound >= before - 1e-12
            before = bound
            running.exclude(running.cells)
            left &= (scene.leaves != scene.grid.leaves_at(running.cells)).any(axis=1)


@pytest.mark.parametrize("sharp", [False, True])
def test_where_a_slice_ends_changes_nothing(sharp: bool) -> None:
    """One box at a time the search takes the same course as in one go, and its bound never falls or lies above."""
    for scene in scenes(40, 400):
        whole, sliced = search(scene), search(scene)
        reached, end = whole.advance(10**6, np.inf, None, sharp)
        bound = 0.0
        for _ in range(10**5):
            found, now = sliced.advance(1, np.inf, None, sharp)
            assert now <= end + 1e-12
            assert now >= bound - 1e-12
            bound = now
            if found or now == np.inf:
                break
        assert (found, bound, sliced.examined) == (reached, end, whole.examined)
        assert sliced.cells.tolist() == whole.cells.tolist()


def test_nothing_at_the_cutoff_or_beyond_is_handed_out() -> None:
    """A cutoff below the optimum ends the search with a bound of at least that, one above leaves it as it is."""
    some = 0
    for scene in scenes(40, 500):
        holds = scene.excess <= scene.tau
        nearest = scene.distance[holds].min(initial=np.inf)
        if not 0 < nearest < np.inf:
            continue
        some += 1
        reached, bound = search(scene).advance(10**6, 0.5 * nearest)
        assert not reached
        assert 0.5 * nearest <= bound
        reached, bound = search(scene).advance(10**6, 1.5 * nearest)
        assert reached
        assert bound == pytest.approx(nearest, abs=1e-9)
    assert some >= 15


def test_a_box_under_way_is_judged_again_when_a_rival_or_a_cutoff_comes_in() -> None:
    """Between slices of one box, rivals come in and the cutoff falls: the end is that of a search with all of them."""
    for scene in scenes(60, 600):
        if len(scene.rivals) < 2:
            continue
        criterion = criterion_of(scene.question, scene.kept)
        add_rival(criterion, scene.question, scene.kept, scene.rivals[0])
        running = _core.ForestSearch(scene.located, criterion, scene.tau)
        for cutoff in (np.inf, 50.0, 20.0):
            running.advance(1, cutoff)
        add_rival(criterion, scene.question, scene.kept, scene.rivals[1])
        reached, bound = running.advance(10**6, 20.0)
        holds = (scene.excess <= scene.tau) & (scene.distance < 20.0)
        assert reached == holds.any()
        if reached:
            assert bound == pytest.approx(scene.distance[holds].min(), abs=1e-9)


def test_other_threads_go_on_while_it_searches() -> None:
    """The interpreter's lock is not held: a thread that counts gets on during one long slice."""
    question = hard_case().question()
    kept = grid_of(question)
    assert kept is not None
    criterion = criterion_of(question, kept)
    add_rival(criterion, question, kept, question.claim.decision)
    located = locate(question, kept)
    running = _core.ForestSearch(located, criterion, float(question.claim.tau))
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    running.advance(2000, np.inf)
    seen = counted[0]
    stop.set()
    thread.join()
    assert running.examined >= 2000
    assert seen >= 5
