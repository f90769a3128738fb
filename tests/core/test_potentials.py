"""The bound by potentials, held against every cell of a box, and the search that takes it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.forest_scene import Floats, Scene, scenes

from whence import _core
from whence.search.grid import leaf_means


def worth_of(scene: Scene) -> Floats:
    """What every leaf adds to the excess of the alternative over the decision."""
    return leaf_means(scene.kept, scene.question.claim.alternative) - leaf_means(
        scene.kept, scene.question.claim.decision
    )


def sums(scene: Scene, worth: Floats) -> Floats:
    """The excess at every cell."""
    total: Floats = worth[scene.leaves].sum(axis=1)
    return total


def by_definition(scene: Scene, box: _core.Box, worth: Floats, potentials: Floats, multiplier: float) -> float:
    """The bound, as the formula says, from the potential of every stretch that a box divides."""
    rows, left = _core.Stretches(scene.grid).rows, {}
    charge: dict[tuple[int, int], Floats] = {}
    for j in range(scene.grid.columns):
        start = scene.kept.face_start[j] + j
        left[j] = scene.located.distance[start : scene.kept.face_start[j + 1] + j + 1].copy()
    for (tree, j, first, last), potential in zip(rows.tolist(), potentials.tolist(), strict=True):
        charge.setdefault((tree, j), np.zeros(left[j].size))[first : last + 1] = potential
    for (tree, j), own in list(charge.items()):
        whole = [r for r in rows.tolist() if r[:2] == [tree, j] and r[2] <= box.low[j] and r[3] >= box.high[j]]
        if whole:  # the tree tells no cells of the box apart
            del charge[tree, j]
        else:
            left[j] = np.where(np.isinf(own), np.inf, left[j] - np.where(np.isinf(own), 0.0, own))
    total = sum(float(left[j][box.low[j] : box.high[j] + 1].min()) for j in left) - multiplier * scene.tau
    reach = _core.Reach(scene.located)
    reach.gather(box)
    ends = scene.grid.first_leaf
    for t in range(scene.grid.trees):
        prices = []
        for leaf in [x for x in reach.leaves.tolist() if ends[t] <= x < ends[t + 1]]:
            spans = {int(j): (int(low), int(high)) for j, low, high in scene.grid.path(leaf)}
            price = multiplier * worth[leaf]
            for (tree, j), own in charge.items():
                low, high = spans.get(j, (0, own.size))
                if tree == t:
                    price += own[max(low, int(box.low[j])) : min(high, int(box.high[j])) + 1].min()
            prices.append(price)
        total += min(prices)
    return float(total)


def test_the_bound_never_exceeds_the_nearest_cell_that_counts() -> None:
    """Whatever the multiplier, after any number of sweeps; and it is what the formula says of its potentials."""
    rng = np.random.default_rng(0)
    above = checked = 0
    for scene in scenes(50, 300, tail=False):
        worth, stretches = worth_of(scene), _core.Stretches(scene.grid)
        counts = sums(scene, worth) <= scene.tau
        for box in scene.random_boxes(rng, 3):
            reach = _core.Reach(scene.located)
            reach.gather(box)
            potentials = _core.Potentials(stretches, scene.located)
            inside = counts & scene.inside(box)
            nearest = scene.distance[inside].min() if inside.any() else np.inf
            if not potentials.turn_to(box, reach, worth, scene.tau):
                assert nearest == np.inf
                continue
            largest = start = float(10.0 ** rng.uniform(-1, 3))
            potentials.begin_with(start)
            for i in range(int(rng.integers(1, 8))):
                potentials.sweep(i % 2 == 0)
                potentials.search_multiplier(0.01, 1.5, 1e9)
                largest = max(largest, potentials.multiplier)
                assert potentials.bound <= nearest
            if np.isfinite(potentials.bound):
                expected = by_definition(scene, box, worth, potentials.potentials, potentials.multiplier)
                # Lowered by what rounding might have added, which grows with the numbers that it is made of.
                assert 0.0 <= expected - potentials.bound <= 1e-8 * (1.0 + largest * np.abs(worth).sum())
                checked += 1
            above += potentials.bound > box.project()[0] + 1e-6
    assert checked >= 60
    assert above >= 30


def test_only_what_is_too_dear_is_dropped() -> None:
    """Every cell nearer than a cutoff that counts is left in the box, and its leaves in reach."""
    rng = np.random.default_rng(1)
    dropped = 0
    for scene in scenes(50, 600, tail=False):
        worth, stretches = worth_of(scene), _core.Stretches(scene.grid)
        counts = sums(scene, worth) <= scene.tau
        for box in scene.random_boxes(rng, 3):
            reach = _core.Reach(scene.located)
            reach.gather(box)
            potentials = _core.Potentials(stretches, scene.located)
            if not potentials.turn_to(box, reach, worth, scene.tau):
                continue
            cutoff = box.project()[0] + float(rng.uniform(0.1, 1.0))
            near = counts & scene.inside(box) & (scene.distance < cutoff)
            potentials.begin_with(float(10.0 ** rng.uniform(-1, 3)))
            before = int((box.high - box.low).sum()) + reach.leaves.size
            for i in range(4):
                potentials.sweep(i % 2 == 0)
                potentials.evaluate(0.01)
                if potentials.bound >= cutoff:
                    break
                potentials.drop_dear(cutoff - potentials.bound)
                potentials.adjust(0.1)
            if potentials.bound >= cutoff or not potentials.narrow(box, reach):
                assert not near.any()
                continue
            assert scene.inside(box)[near].all()
            assert set(scene.leaves[near].ravel().tolist()) <= set(reach.leaves.tolist())
            dropped += before - int((box.high - box.low).sum()) - reach.leaves.size
    assert dropped >= 120


def test_no_sweep_lowers_the_bound() -> None:
    """Under one multiplier, up to half the digits, also where cells were dropped: no tree takes those for free."""
    rng = np.random.default_rng(4)
    risen = 0
    for scene in scenes(150, 1_500, tail=False):
        worth, stretches = worth_of(scene), _core.Stretches(scene.grid)
        box = _core.Box(scene.located)
        reach = _core.Reach(scene.located)
        reach.gather(box)
        potentials = _core.Potentials(stretches, scene.located)
        if not potentials.turn_to(box, reach, worth, scene.tau):
            continue
        potentials.count_distance(bool(rng.integers(2)))
        potentials.begin_with(float(10.0 ** rng.uniform(-1, 1)))
        potentials.evaluate(0.01)
        before = potentials.bound
        for i in range(12):
            potentials.sweep(i % 2 == 0)
            potentials.evaluate(0.01)
            assert potentials.bound >= before - 1e-5 * (1.0 + abs(before))
            risen += potentials.bound > before + 1e-6
            before = potentials.bound
            if before == np.inf:
                break
            # More than what is known allows for: then no bound is proved, but sweeps have to cope with what is left.
            potentials.drop_dear(float(rng.uniform(0.2, 1.0)))
    assert risen >= 80


def test_without_distances_the_bound_never_exceeds_the_least_excess() -> None:
    """What it rules out counts nowhere in the box, and what it drops nowhere either."""
    rng = np.random.default_rng(3)
    ruled_out = dropped = 0
    for scene in scenes(100, 900, tail=False):
        worth, stretches = worth_of(scene), _core.Stretches(scene.grid)
        excess = sums(scene, worth)
        for box in scene.random_boxes(rng, 3):
            reach = _core.Reach(scene.located)
            reach.gather(box)
            potentials = _core.Potentials(stretches, scene.located)
            inside = scene.inside(box) & np.isfinite(scene.distance)
            least = excess[inside].min() if inside.any() else np.inf
            # A tau at which plain bounds often say nothing.
            shift = float(rng.choice([-0.05, -0.02, -0.01, 0.0, 0.1])) * np.ptp(excess)
            tau = scene.tau if least == np.inf else least + shift
            counts = inside & (excess <= tau)
            if not potentials.turn_to(box, reach, worth, tau):
                assert not counts.any()
                continue
            potentials.count_distance(False)
            multiplier = float(10.0 ** rng.uniform(-1, 3))
            potentials.begin_with(multiplier)
            before = int((box.high - box.low).sum()) + reach.leaves.size
            for i in range(6):
                potentials.sweep(i % 2 == 0)
                potentials.evaluate(0.01)
                # What does not count may have been dropped after the first sweep.
                assert potentials.bound <= multiplier * (least - tau) or (i > 0 and not counts.any())
                if potentials.bound > 0.0:
                    break
                potentials.drop_dear(-potentials.bound)
            if potentials.bound > 0.0 or not potentials.narrow(box, reach):
                assert not counts.any()
                ruled_out += 1
                continue
            assert scene.inside(box)[counts].all()
            assert set(scene.leaves[counts].ravel().tolist()) <= set(reach.leaves.tolist())
            dropped += before - int((box.high - box.low).sum()) - reach.leaves.size
    assert ruled_out >= 20
    assert dropped >= 120


def test_the_search_finds_the_nearest_cell_of_any_plan() -> None:
    """However small the slices are, whether or not a bound is known before, and however near it must be."""
    rng = np.random.default_rng(2)
    found = nothing = 0
    for scene in scenes(80, 117_000, tail=False):
        rows = np.stack([worth_of(scene), *rng.normal(0.3, 1.0, (2, scene.grid.leaves)) / scene.grid.trees])
        counts = np.any([sums(scene, row) <= scene.tau for row in rows], axis=0)
        nearest = scene.distance[counts].min() if counts.any() else np.inf
        for known, cutoff in ((0.0, 1.01), (0.3, 1e9), (0.3, np.inf), (0.9, 1.2), (0.0, 0.9)):
            limit = cutoff if cutoff == np.inf else cutoff * min(nearest, 2.0) + 1e-6 * (cutoff > 1.0)
            search = _core.PotentialSearch(scene.located, rows, scene.tau, known * min(nearest, 1.0))
            ended, bound = False, -1.0
            while not ended and bound < limit:
                ended, bound = search.advance(int(rng.integers(1, 9)), limit)
                assert bound <= nearest + 1e-12 or bound >= limit
                assert search.distance >= nearest - 1e-12
            assert ended == (nearest < limit)
            nothing += not ended
            if ended:
                assert search.distance == pytest.approx(nearest, abs=1e-12)
                assert counts[(scene.cells == search.cells).all(axis=1)].all()
                found += 1
    assert found >= 160
    assert nothing >= 80


def test_wrong_rows_are_refused() -> None:
    """A plan has a finite number for every leaf."""
    scene = next(scenes(1, 300, tail=False))
    with pytest.raises(ValueError, match="one number a leaf"):
        _core.PotentialSearch(scene.located, np.zeros((1, scene.grid.leaves + 1)), 0.0)
    with pytest.raises(ValueError, match="must be finite"):
        _core.PotentialSearch(scene.located, np.full((1, scene.grid.leaves), np.nan), 0.0)
