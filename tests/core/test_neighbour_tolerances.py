"""Neighbour questions with a wide separation and a wide tolerance, in which either decides."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.blocks import seeds
from tests.core.neighbour_scene import Scene

from whence._core import BoxVerdict, NeighbourProgress
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


@pytest.mark.parametrize("block", seeds(1, 3))
def test_with_a_wide_separation_boxes_are_settled_rightly(block: int) -> None:
    """Where neighbours are apart by it, settled ones are among them and none is dropped; others decide nothing."""
    seen = 0
    for seed in range(80 * block, 80 * block + 80):
        scene = _scene(seed)
        low, high = scene.box()
        distance = scene.search.examine(low, high, np.inf).distance
        radius = distance + float(scene.rng.choice([0.05, 0.3, 2.0]))
        look = scene.search.examine(low, high, radius)
        settled, possible = set(look.settled.tolist()), {*look.settled.tolist(), *look.open.tolist()}
        for context in scene.contexts(low, high, 60):
            if scene.far(context) > radius:
                continue
            distances = scene.distances(context)
            order = np.argsort(distances)
            if distances[order[scene.k]] - distances[order[scene.k - 1]] < WIDE:
                continue
            if look.verdict is BoxVerdict.PRUNED:
                assert not scene.is_explanation(context), seed
            else:
                members = set(order[: scene.k].tolist())
                assert settled <= members <= possible, seed
                seen += 1
    assert seen > 100


def test_members_are_settled_by_the_margin_and_no_sooner() -> None:
    """A member nearer than the others by a little less than the margin stays open; by a little more it is settled."""
    for gap, settled in ((WIDE - 1e-6, []), (WIDE + 1e-6, [0])):
        scene = Scene(0, "c", n=3, k=1, separation=WIDE)
        scene.points[:] = 0.0
        search = type(scene.search)(
            scene.axes,
            np.array([[0.2], [0.2], [0.2]]),
            np.array([0.0, gap, 0.5]),
            1,
            scene.separation,
            scene.margin,
            scene.alternative,
            10.0,
        )
        search.cut(scene.rivals[0])
        look = search.examine(np.array([0.4]), np.array([0.6]), 5.0)
        assert look.settled.tolist() == settled
        assert look.verdict is (BoxVerdict.FEASIBLE if settled else look.verdict)


@pytest.mark.parametrize("tau", [0.05, 0.2])
@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.5), CVaR(0.7)], ids=str)
def test_the_tolerance_is_one_of_means_and_tails(risk: Expectation | CVaR, tau: float) -> None:
    """Every set is judged with the tolerance as it is, however many neighbours; no partial set is given up."""
    within = 0
    for k in range(1, 7):
        scene = Scene(k, "c", n=7, k=k, rivals=2, risk=risk, tau=tau)
        strict = Scene(k, "c", n=7, k=k, rivals=2, risk=risk)
        for members in map(np.array, itertools.combinations(range(7), k)):
            assert scene.search.satisfied(members) == scene.holds(members)
            within += scene.holds(members) and not strict.holds(members)
            inside, undecided = members[:1], np.setdiff1d(np.arange(7), members[:1])
            more = itertools.combinations(undecided.tolist(), k - 1)
            if any(scene.holds(np.array([*inside, *rest])) for rest in more):
                assert not scene.search.hopeless(inside, undecided)
    assert within > 5


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
