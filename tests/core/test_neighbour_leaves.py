"""Boxes solved by linear programs, held against one program for every set of neighbours."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from tests.core.neighbour_scene import Scene

from whence._core import BoxVerdict, NeighbourSearch
from whence.risk import CVaR, Expectation

Floats = NDArray[np.float64]
PATIENT = 1_000_000


def _cell(scene: Scene) -> tuple[Floats, Floats]:
    """A box between neighbouring coordinates of the past contexts, in which all distances are linear."""
    low, high = [], []
    for j in range(len(scene.axes)):
        marks = np.unique(np.concatenate([scene.points[:, j], [0.0, 1.0]]))
        at = int(scene.rng.integers(len(marks) - 1))
        low.append(marks[at])
        high.append(marks[at + 1])
    return np.array(low), np.array(high)


def _nearest(scene: Scene, low: Floats, high: Floats) -> float:
    """Distance of the nearest explanation in a cell: a program over context and changes for every set that stands."""
    q = len(scene.axes)
    sign = np.where(scene.points <= low, 1.0, -1.0)
    constant = scene.base - (sign * scene.points).sum(axis=1)
    start = np.array([axis.start for axis in scene.axes])
    weight = np.array([axis.weight for axis in scene.axes])
    absolute = np.vstack([np.hstack([np.eye(q), -np.eye(q)]), np.hstack([-np.eye(q), -np.eye(q)])])
    best = np.inf
    for members in map(list, itertools.combinations(range(scene.n), scene.k)):
        if not scene.holds(np.array(members)):
            continue
        others = [i for i in range(scene.n) if i not in members]
        rows = [np.append(sign[a] - sign[b], np.zeros(q)) for a in members for b in others]
        limits = [constant[b] - constant[a] - scene.margin for a in members for b in others]
        if np.isfinite(scene.widest):
            rows += [np.append(sign[a], np.zeros(q)) for a in members]
            limits += [scene.widest - constant[a] for a in members]
        found = linprog(
            np.append(np.zeros(q), weight),
            np.vstack([absolute, *rows]),
            np.concatenate([start, -start, limits]),
            bounds=[*zip(low, high, strict=True), *[(0.0, None)] * q],
        )
        if found.status == 0:
            best = min(best, float(found.fun))
    return best


@pytest.mark.parametrize("shape", ["c", "cc", "ccc"])
@pytest.mark.parametrize("risk", [Expectation(), CVaR(0.5)], ids=str)
def test_a_leaf_is_solved_exactly(shape: str, risk: Expectation | CVaR) -> None:
    """In cells where distances are linear the best explanation is that of the best program, or there is none."""
    solved = 0
    for seed in range(60):
        scene = Scene(seed, shape, n=6, k=1 + seed % 4, rivals=1 + seed % 2, risk=risk)
        low, high = _cell(scene)
        look = scene.search.examine(low, high, 10.0)
        expected = _nearest(scene, low, high)
        if look.verdict is BoxVerdict.PRUNED:
            assert expected == np.inf
        elif look.verdict is BoxVerdict.FEASIBLE:
            assert expected == pytest.approx(look.distance, abs=1e-7)
        else:
            assert look.verdict is BoxVerdict.LEAF
            answer = scene.search.solve_box(low, high, 10.0, PATIENT)
            assert answer is not None
            best, left, found = answer
            assert left == np.inf
            assert look.distance + best == pytest.approx(expected, abs=1e-7), seed
            if best < np.inf:
                assert scene.far(found) == pytest.approx(expected, abs=1e-7)
                assert scene.is_explanation(found, scene.separation)
                solved += 1
    assert solved > 5


@pytest.mark.parametrize("patience", [1, 3, 20, PATIENT])
def test_whatever_the_patience_nothing_nearer_is_missed(patience: int) -> None:
    """No context of a larger box that is an explanation is nearer than what was found or left undecided."""
    tried = 0
    for seed in range(80):
        scene = Scene(seed, ["cc", "cd", "gc", "ccc"][seed % 4], n=7, k=1 + seed % 5, rivals=1)
        low = np.array([axis.lower for axis in scene.axes])
        high = np.array([axis.upper for axis in scene.axes])
        look = scene.search.examine(low, high, 10.0)
        answer = scene.search.solve_box(low, high, 10.0, patience)
        if answer is None:
            continue
        tried += 1
        best, left, found = answer
        bound = look.distance + min(best, left)
        for context in scene.contexts(low, high):
            assert not (scene.far(context) < bound - 1e-9 and scene.is_explanation(context)), seed
        if best < np.inf:
            assert scene.far(found) == pytest.approx(look.distance + best, abs=1e-9)
            assert scene.is_explanation(found, scene.separation)
    assert tried > 20


def test_a_small_radius_leaves_out_what_lies_beyond() -> None:
    """Nothing farther than the radius is found, and nothing within it is lost."""
    for seed in range(40):
        scene = Scene(seed, "cc", n=6, k=2)
        low, high = _cell(scene)
        expected = _nearest(scene, low, high)
        if expected == np.inf:
            continue
        distance = scene.search.examine(low, high, 10.0).distance
        for radius in (0.5 * (distance + expected), expected + 1e-3):
            answer = scene.search.solve_box(low, high, radius, PATIENT)
            if answer is not None:
                best = distance + answer[0]
                assert best == np.inf if radius < expected else best == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("shape", ["cc", "ccc"])
def test_with_many_members_nothing_nearer_is_missed(shape: str) -> None:
    """Where several pairs of members bind at once, no random context of a cell is a nearer explanation."""
    tried = hit = 0
    for seed in range(400):
        scene = Scene(seed, shape, n=16, k=3 + seed % 8)
        low, high = np.zeros(len(shape)), np.ones(len(shape))
        # A cell without a coordinate of a past context inside: half of them lie on either side of it, far out.
        side = scene.rng.random(scene.points.shape) < 0.5
        points = np.where(side, low - scene.rng.random(side.shape), high + scene.rng.random(side.shape))
        search = NeighbourSearch(
            scene.axes, points, scene.base, scene.k, scene.separation, scene.margin, scene.alternative, scene.tau
        )
        search.cut(scene.rivals[0])
        scene.points = points
        answer = search.solve_box(low, high, 10.0, PATIENT)
        if answer is None:
            continue
        best, left, found = answer
        assert left == np.inf
        tried += 1
        if best < np.inf:
            assert scene.is_explanation(found, scene.separation)
        for context in scene.rng.random((40, len(shape))):
            if scene.is_explanation(context):
                hit += 1
                assert scene.far(context) >= best - 1e-9, seed
    assert tried > 100
    assert hit > 100
