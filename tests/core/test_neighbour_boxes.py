"""Boxes of contexts: what is said about a whole box, held against the contexts in it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.blocks import seeds
from tests.core.neighbour_scene import Scene

from whence._core import Axis, AxisKind, BoxVerdict, NeighbourSearch
from whence.risk import CVaR, Expectation

SHAPES = ["c", "cc", "ccc", "cd", "ck", "gc", "kk", "dk", "cgdk"]


def _scene(seed: int, n: int = 9) -> Scene:
    k = 1 + seed % (n - 1)
    risk = CVaR(0.6) if seed % 3 == 0 else Expectation()
    return Scene(seed, SHAPES[seed % len(SHAPES)], n, k, 1 + seed % 2, risk)


@pytest.mark.parametrize("block", seeds(2, 6))
def test_what_is_settled_or_dropped_is_so_everywhere(block: int) -> None:
    """At every context of the box within the radius, settled ones are neighbours and neighbours are settled or open."""
    seen = 0
    for seed in range(60 * block, 60 * block + 60):
        scene = _scene(seed)
        low, high = scene.box()
        distance = scene.search.examine(low, high, np.inf).distance
        radius = distance + float(scene.rng.choice([0.05, 0.3, 2.0]))
        look = scene.search.examine(low, high, radius)
        settled, possible = set(look.settled.tolist()), {*look.settled.tolist(), *look.open.tolist()}
        assert len(settled) <= scene.k or look.verdict is BoxVerdict.PRUNED
        for context in scene.contexts(low, high):
            if scene.far(context) > radius:
                continue
            assert (look.low <= context + 1e-9).all()
            assert (context <= look.high + 1e-9).all()
            explains = scene.is_explanation(context)
            assert not (explains and look.verdict is BoxVerdict.PRUNED), seed
            distances = scene.distances(context)
            order = np.argsort(distances)
            if distances[order[scene.k]] - distances[order[scene.k - 1]] >= scene.separation:
                members = set(order[: scene.k].tolist())
                if look.verdict is not BoxVerdict.PRUNED:
                    assert settled <= members <= possible, seed
                    seen += 1
    assert seen > 500


@pytest.mark.parametrize("block", seeds(1, 4))
def test_a_feasible_box_has_an_explanation_at_its_nearest_context(block: int) -> None:
    """The distance is that of the nearest context of the box, no context in it is nearer, and it is an explanation."""
    verdicts = set()
    for seed in range(80 * block, 80 * block + 80):
        scene = _scene(seed)
        low, high = scene.box()
        look = scene.search.examine(low, high, 50.0)
        verdicts.add(look.verdict)
        assert look.distance == pytest.approx(scene.far(look.nearest), abs=1e-12)
        assert all(scene.far(context) >= look.distance - 1e-12 for context in scene.contexts(low, high, 60))
        if look.verdict is BoxVerdict.FEASIBLE:
            assert scene.is_explanation(look.nearest)
            assert scene.search.standing(look.nearest[None, :]).tolist() == [True]
    assert {BoxVerdict.PRUNED, BoxVerdict.FEASIBLE, BoxVerdict.SPLIT} <= verdicts


def test_a_box_beyond_the_radius_is_pruned() -> None:
    """Nothing is looked for where the box is farther than the radius."""
    scene = Scene(0, "cc")
    low, high = np.array([0.0, 0.0]), np.array([1e-3, 1e-3])
    distance = scene.search.examine(low, high, np.inf).distance
    assert scene.search.examine(low, high, 0.5 * distance).verdict is BoxVerdict.PRUNED


def test_a_box_is_cut_to_the_ball() -> None:
    """Along every axis a box ends where the radius is reached, at a value that is allowed."""
    scene = Scene(3, "cdkg")
    low = np.array([axis.lower for axis in scene.axes])
    high = np.array([axis.upper for axis in scene.axes])
    for radius in (0.02, 0.2, 0.5):
        look = scene.search.examine(low, high, radius)
        for j, axis in enumerate(scene.axes):
            ends = (float(look.low[j]), float(look.high[j]))
            if axis.kind is AxisKind.CATEGORY:
                assert ends == (0.0, float((axis.costs <= radius).sum() - 1))
            elif axis.kind is AxisKind.DISCRETE:
                inside = axis.levels[np.abs(axis.levels - axis.start) * axis.weight <= radius]
                assert ends == (inside[0], inside[-1])
            else:
                reach = radius / axis.weight
                upper = min(axis.upper, axis.start + reach)
                expected = next((first for first, last in axis.gaps if first < upper < last), upper)
                assert ends == pytest.approx((max(axis.lower, axis.start - reach), expected), abs=1e-9)


def _ranges(scene: Scene, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
    """Least and largest difference of the distances of any two past contexts in a box: the sums over its axes."""
    least = most = scene.base[:, None] - scene.base[None, :]
    for j in range(len(scene.axes)):
        x = scene.points[:, j]
        if scene.category[j]:
            ranks = np.arange(low[j], high[j] + 1.0)
            apart = (x[:, None] != ranks).astype(float)
        else:
            # Along an axis the difference is monotone between its kinks: the ends decide.
            apart = np.abs(x[:, None] - np.array([low[j], high[j]]))
        steps = apart[:, None, :] - apart[None, :, :]
        least, most = least + steps.min(axis=2), most + steps.max(axis=2)
    return least, most


@pytest.mark.parametrize("block", seeds(1, 4))
def test_pairs_are_compared_exactly(block: int) -> None:
    """Without a ball in the way, relations are those of the extreme differences over the box."""
    for seed in range(60 * block, 60 * block + 60):
        scene = _scene(seed, n=12)
        low, high = scene.box()
        nearer, farther, never_farther, never_nearer = scene.search.relations(low, high, 1e6)
        least, most = _ranges(scene, low, high)
        other = ~np.eye(scene.n, dtype=bool)
        slack = 1e-12
        # Differences are sums in another order: where one is within rounding of the bar, either count is right.
        for counts, sure, maybe in (
            (nearer, least >= scene.margin + slack, least >= scene.margin - slack),
            (farther, most <= -scene.margin - slack, most <= -scene.margin + slack),
            (never_farther, least > -scene.separation + slack, least > -scene.separation - slack),
            (never_nearer, most < scene.separation - slack, most < scene.separation + slack),
        ):
            assert ((sure & other).sum(axis=1) <= counts).all(), seed
            assert (counts <= (maybe & other).sum(axis=1)).all(), seed


def test_pairs_in_a_ball_hold_at_every_context_of_it() -> None:
    """What is counted as surely nearer or farther within a radius is so at every context within it."""
    counted = 0
    for seed in range(120):
        scene = _scene(seed, n=12)
        low, high = scene.box()
        distance = scene.search.examine(low, high, np.inf).distance
        radius = distance + 0.05
        nearer, farther, never_farther, never_nearer = scene.search.relations(low, high, radius)
        inside = [x for x in scene.contexts(low, high) if scene.far(x) <= radius]
        apart = np.array([np.subtract.outer(d, d) for d in map(scene.distances, inside)])
        other = ~np.eye(scene.n, dtype=bool)
        least, most = apart.min(axis=0), apart.max(axis=0)
        assert (nearer <= (other & (least >= scene.margin - 1e-12)).sum(axis=1)).all()
        assert (farther <= (other & (most <= -scene.margin + 1e-12)).sum(axis=1)).all()
        assert (never_farther <= (other & (least > -scene.separation - 1e-12)).sum(axis=1)).all()
        assert (never_nearer <= (other & (most < scene.separation + 1e-12)).sum(axis=1)).all()
        counted += int(nearer.sum())
    assert counted > 1000


@pytest.mark.parametrize("shape", SHAPES)
def test_contexts_stand_as_plain_arithmetic_says(shape: str) -> None:
    """Of 300 contexts a shape, those where the alternative stands are told from the others."""
    found = set()
    for seed in range(6):
        scene = Scene(seed, shape, n=11, k=1 + seed, rivals=2, risk=CVaR(0.5) if seed % 2 else Expectation())
        low = np.array([axis.lower for axis in scene.axes])
        high = np.array([axis.upper for axis in scene.axes])
        contexts = np.array(list(scene.contexts(low, high, 50)))
        expected = [scene.is_explanation(context) for context in contexts]
        assert scene.search.standing(contexts).tolist() == expected
        found.update(expected)
    assert found == {True, False}


def test_at_a_single_context_the_separation_itself_suffices() -> None:
    """The margin is for contexts that are placed; one that stands there already needs no more than the separation."""
    axes = [Axis(AxisKind.DISCRETE, 0.0, 1.0, 0.0, 1.0, levels=np.array([0.0, 1.0]))]
    points, base, at = np.array([[0.0], [0.0]]), np.array([0.0, 0.25]), np.zeros(1)
    for separation, verdict in ((0.25, BoxVerdict.FEASIBLE), (0.25 + 1e-9, BoxVerdict.PRUNED)):
        search = NeighbourSearch(axes, points, base, 1, separation, separation + 1e-3, np.zeros(2), 0.0)
        search.cut(np.ones(2))
        assert search.examine(at, at, 1.0).verdict is verdict
