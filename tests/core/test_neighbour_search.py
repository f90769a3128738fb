"""The search over boxes, driven through the bindings: candidates, bounds, balls, restarts."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest
from tests.blocks import seeds
from tests.core.neighbour_scene import Scene

from whence._core import NeighbourProgress
from whence.risk import CVaR, Expectation


def _run(scene: Scene, boxes: int, radius: float = 50.0) -> tuple[NeighbourProgress, int]:
    """Search in slices until there is a candidate or nothing left; the end, and the boxes examined."""
    bound = 0.0
    while (progress := scene.search.advance(boxes, radius)) is NeighbourProgress.SPENT:
        assert scene.search.bound >= bound
        bound = scene.search.bound
    return progress, scene.search.nodes


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_the_candidate_is_the_nearest_of_all_contexts(seed: int) -> None:
    """With discrete and category axes only, the candidate is the best of all contexts there are, or there is none."""
    scene = Scene(seed, "ddkd"[: 1 + seed % 4], n=10, k=1 + seed % 6, rivals=2, risk=CVaR(0.5) if seed % 2 else None)
    every = itertools.product(*(scene.allowed(j, axis.lower, axis.upper) for j, axis in enumerate(scene.axes)))
    standing = [scene.far(context) for context in map(np.array, every) if scene.is_explanation(context)]
    progress, _ = _run(scene, 1)
    if standing:
        assert progress is NeighbourProgress.CANDIDATE
        assert scene.far(scene.search.candidate) == pytest.approx(min(standing), abs=1e-12)
        assert scene.search.met_distance == pytest.approx(min(standing), abs=1e-12)
    else:
        assert progress is NeighbourProgress.EXHAUSTED
        assert scene.search.bound == np.inf
        assert scene.search.met_distance == np.inf


@pytest.mark.parametrize("shape", ["ccc", "ccd", "cck", "cgc"])
def test_a_candidate_is_handed_out_only_when_no_box_left_is_nearer(shape: str) -> None:
    """A box that is solved waits for its turn: at the candidate's distance, and not before, the bound stands."""
    candidates = 0
    for seed in range(10):
        scene = Scene(seed, shape, n=30, k=1 + seed % 5, rivals=1 + seed % 2, risk=CVaR(0.6) if seed % 3 else None)
        if _run(scene, 50)[0] is NeighbourProgress.CANDIDATE:
            assert scene.search.bound == pytest.approx(scene.far(scene.search.candidate), abs=1e-9)
            candidates += 1
    assert candidates > 3


@pytest.mark.parametrize("seed", seeds(3, 12))
def test_slices_do_not_change_the_course(seed: int) -> None:
    """One box at a time or all at once: the same boxes, the same candidate, to the last bit."""
    risk = CVaR(0.7) if seed % 2 else Expectation()
    found = []
    for boxes in (1, 7, 100_000):
        scene = Scene(seed, "cccd", n=40, k=5, risk=risk)
        found.append((*_run(scene, boxes), scene.search.candidate.tobytes(), scene.search.met.tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_a_candidate_is_handed_out_only_once_it_is_proved(seed: int) -> None:
    """No box left is nearer; a ball that just holds the candidate leads to it, and a little smaller one to nothing."""
    scene = Scene(seed, ["cc", "ccc", "cdc", "gck"][seed % 4], n=30, k=1 + seed % 9, rivals=2)
    assert _run(scene, 1)[0] is NeighbourProgress.CANDIDATE
    distance = scene.far(scene.search.candidate)
    assert scene.search.bound >= distance - 1e-11
    if distance > 0.0:
        for radius, end in ((1.0 + 1e-6, NeighbourProgress.CANDIDATE), (1.0 - 1e-6, NeighbourProgress.EXHAUSTED)):
            scene.search.restart()
            assert _run(scene, 1000, radius * distance)[0] is end
        assert scene.search.bound >= (1.0 - 1e-6) * distance


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_threads_prove_the_same_distance(threads: int) -> None:
    """On 60 questions several threads end as one does, at the same distance and after not many more boxes."""
    ends = set()
    for seed in range(60):
        shape, risk = ["ccc", "cd", "ck", "gcc"][seed % 4], CVaR(0.7) if seed % 2 else Expectation()
        alone, together = (Scene(seed, shape, n=24, k=1 + seed % 9, rivals=2, risk=risk) for _ in range(2))
        radius = 50.0 if seed % 3 else 0.1
        progress, _ = _run(alone, 1000, radius)
        while (end := together.search.advance(40, radius, threads)) is NeighbourProgress.SPENT:
            assert together.search.bound <= alone.search.bound + 1e-12
        assert end is progress
        # A box that is solved waits for nearer ones under way; it is not solved again and again meanwhile.
        assert together.search.nodes <= 2 * alone.search.nodes + 10 * threads
        ends.add(end)
        if end is NeighbourProgress.CANDIDATE:
            found = together.search.candidate
            assert together.is_explanation(found, together.separation)
            assert together.far(found) == pytest.approx(alone.far(alone.search.candidate), abs=1e-11)
    assert ends == {NeighbourProgress.CANDIDATE, NeighbourProgress.EXHAUSTED}


def test_threads_keep_to_the_boxes_that_were_allowed() -> None:
    """However many threads there are, no more boxes are examined than one would have."""
    scene = Scene(1, "cccccccc", n=200, k=10, rivals=5)
    for boxes in (1, 3, 50):
        before = scene.search.nodes
        assert scene.search.advance(boxes, 5.0, 4) is NeighbourProgress.SPENT
        assert scene.search.nodes - before == boxes


def test_a_restart_begins_anew() -> None:
    """After a restart the same search takes the same boxes; within a smaller radius there may be nothing."""
    scene = Scene(5, "ccc", n=30, k=4)
    progress, nodes = _run(scene, 1000)
    assert progress is NeighbourProgress.CANDIDATE
    distance = scene.far(scene.search.candidate)
    scene.search.restart()
    assert (scene.search.nodes, scene.search.bound) == (0, 0.0)
    assert _run(scene, 1000) == (progress, nodes)
    scene.search.restart()
    assert _run(scene, 1000, 0.9 * distance)[0] is NeighbourProgress.EXHAUSTED
    scene.search.restart()
    assert _run(scene, 1000, distance + 1e-6)[0] is NeighbourProgress.CANDIDATE


def test_what_was_met_can_be_forgotten() -> None:
    """The nearest explanation met on the way is kept until it is forgotten."""
    scene = Scene(5, "ccc", n=30, k=4)
    _run(scene, 1000)
    assert scene.far(scene.search.met) == pytest.approx(scene.search.met_distance, abs=1e-12)
    scene.search.forget_met()
    assert scene.search.met_distance == np.inf


def test_other_threads_go_on_while_it_searches() -> None:
    """The interpreter's lock is not held: a thread that counts gets on during a search of some tenths of a second."""
    scene = Scene(1, "cccccccccc", n=200, k=10, rivals=5)
    counted = [0]
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.perf_counter()
    before = counted[0]
    while time.perf_counter() - began < 0.3:
        scene.search.restart()
        scene.search.advance(2000, 0.6)
    during = counted[0] - before
    stop.set()
    thread.join()
    assert during > 20


@pytest.mark.parametrize("shape", ["cc", "ccc", "ccd"])
def test_a_box_that_takes_too_long_is_halved(shape: str) -> None:
    """Linear programs that may look at hardly any number leave boxes undecided: more boxes, the same answer."""
    more = 0
    for seed in range(12):
        risk = CVaR(0.5) if seed % 2 else None
        patient, hasty = (Scene(seed, shape, n=12, k=1 + seed % 6, rivals=1 + seed % 2, risk=risk) for _ in range(2))
        end, boxes = _run(patient, 100)
        while (progress := hasty.search.advance(100, 50.0, numbers=300)) is NeighbourProgress.SPENT:
            assert hasty.search.bound <= patient.search.bound + 1e-9
            assert hasty.search.nodes < 20_000
        assert progress is end
        if end is NeighbourProgress.CANDIDATE:
            assert hasty.far(hasty.search.candidate) == pytest.approx(patient.far(patient.search.candidate), abs=1e-9)
        more += hasty.search.nodes > boxes
    assert more > 3


def test_time_that_is_over_leaves_one_box() -> None:
    """The box in which the time ends is the last, however many are asked for; slices of one box go on all the same."""
    at_once, one_by_one = (Scene(3, "ccc", n=30, k=4, rivals=2) for _ in range(2))
    end, boxes = _run(at_once, 10**6)
    while (progress := one_by_one.search.advance(10**6, 50.0, pause=0.0)) is NeighbourProgress.SPENT:
        pass
    assert (progress, one_by_one.search.nodes) == (end, boxes)
    assert one_by_one.search.bound == at_once.search.bound
    again = Scene(3, "ccc", n=30, k=4, rivals=2).search
    assert again.advance(10**6, 50.0, pause=0.0) is NeighbourProgress.SPENT
    assert again.nodes == 1
