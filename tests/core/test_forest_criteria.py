"""What leaves say about plans, and bounds over boxes, held against every cell there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.core.forest_cells import Floats, ForestScene, forest_scene, scenes

from whence._core import Box, OpenBox, TailCriterion
from whence.risk import CVaR

SCENES = 20


@pytest.mark.parametrize("table", [True, False])
def test_the_excess_at_a_cell_is_that_over_the_worst_rival(table: bool) -> None:
    """At every cell the criterion is the largest excess of the risk itself over all rivals, and names the rival."""
    seen = set()
    for scene, _ in scenes(SCENES, table=table):
        for leaves, excess in zip(scene.leaves[:200], scene.excess, strict=False):
            said = scene.criterion.excess(leaves)
            assert said.over == pytest.approx(excess.max(), abs=1e-9)
            assert excess[said.worst] == pytest.approx(excess.max(), abs=1e-9)
            seen.add(said.worst)
    assert seen == {0, 1, 2}


def test_the_newest_rival_is_asked_as_well() -> None:
    """However many rivals there are, one that comes later and is cheaper still is the worst."""
    for alpha in (None, 0.5):
        scene = ForestScene(2, alpha=alpha, rivals=1)
        leaves = scene.leaves[0]
        before = scene.criterion.excess(leaves).over
        cheap = scene.policy.Y_[:, 0] - 5.0
        if alpha is None:
            scene.criterion.add_rival(np.full(scene.grid.leaves, 5.0 / scene.grid.trees))  # type: ignore[attr-defined]
        else:
            etas, rank = np.unique(cheap, return_inverse=True)
            scene.criterion.add_plan(etas, rank.astype(np.int32), kept=True)  # type: ignore[attr-defined]
        said = scene.criterion.excess(leaves)
        assert before < 5.0
        assert (said.over, said.worst) == (pytest.approx(5.0), 1)


@pytest.mark.parametrize("table", [True, False])
def test_tables_of_tails_are_those_of_the_definition(table: bool) -> None:
    """For every plan, leaf and eta: eta plus the mean excess over it, and the share of samples that cost more."""
    for scene, _ in scenes(6, tails=True, table=table):
        assert isinstance(scene.criterion, TailCriterion)
        for plan in range(1 + scene.rivals):
            values, etas = scene.table(plan), scene.etas(plan)
            above = scene.members @ (scene.policy.Y_[:, plan, None] > etas + 1e-9)
            for leaf in range(0, scene.grid.leaves, 3):
                for eta in range(len(etas)):
                    assert scene.criterion.value(plan, leaf, eta) == pytest.approx(values[leaf, eta], abs=1e-12)
                    assert scene.criterion.share_above(plan, leaf, eta) == pytest.approx(above[leaf, eta], abs=1e-12)


@pytest.mark.parametrize("mass", [False, True])
def test_leaves_of_very_many_samples_are_counted_in_full(mass: bool) -> None:
    """With more samples in a leaf than 16 bits can count, shares are those of the definition, with and without mass."""
    size = np.array([70_000, 5, 40, 3_000, 9], dtype=np.int64)
    rng = np.random.default_rng(0)
    rank = rng.integers(0, 3, size.sum()).astype(np.int32)
    etas, first = np.array([1.0, 2.5, 4.0]), np.cumsum(size) - size
    weight = rng.random(size.sum()) + 0.5 if mass else np.ones(size.sum())
    samples = np.arange(size.sum(), dtype=np.int32)
    criterion = TailCriterion(samples, first, size, 0.2, 1, mass=weight if mass else None)
    criterion.add_plan(etas, rank, kept=True)
    for leaf, (begin, many) in enumerate(zip(first, size, strict=True)):
        own, mine = etas[rank[begin : begin + many]], weight[begin : begin + many]
        for k, eta in enumerate(etas):
            above = np.average(own > eta, weights=mine)
            over = np.average(np.maximum(own - eta, 0.0), weights=mine)
            assert criterion.share_above(0, leaf, k) == pytest.approx(above, abs=1e-12)
            assert criterion.value(0, leaf, k) == pytest.approx(eta + over / 0.2, abs=1e-9)


def _levels(scene: ForestScene, open_: OpenBox) -> list[int]:
    """The threshold of each rival that suits the projection: the first one with at most the tail above it."""
    if not isinstance(scene.risk, CVaR):
        return [0] * scene.rivals
    here = scene.members[open_.here].mean(axis=0)
    found = []
    for plan in range(1, 1 + scene.rivals):
        above = here @ (scene.policy.Y_[:, plan, None] > scene.etas(plan) + 1e-9)
        found.append(int(np.argmax(above <= 1.0 - scene.risk.alpha + 1e-12)))
    return found


def _sums(scene: ForestScene, box: Box, levels: list[int], eta: int) -> Floats:
    """Against every rival, the sum over trees of the smallest worth among the leaves that a box meets."""
    trees = scene.tree_of(scene.reach(box).leaves)
    worths = [scene.worth(r, eta, level) for r, level in enumerate(levels)]
    return np.array([sum(float(worth[leaves].min()) for leaves in trees) for worth in worths])


def _assert_keeps(scene: ForestScene, box: Box, open_: OpenBox) -> int:
    """No explanation in the box lost a leaf, nor all etas at which its tail is attained; how many there are."""
    standing = scene.inside(box) & scene.holds
    assert np.isin(scene.leaves[standing], open_.reach.leaves).all()
    if isinstance(scene.risk, CVaR):
        mine = scene.table(0)[scene.leaves[standing]].sum(axis=1)
        first, last = open_.etas
        rival = np.max(scene.excess[standing] - mine.min(axis=1)[:, None], axis=1, initial=-np.inf)
        assert (mine[:, first : last + 1].min(axis=1) + rival <= scene.tau + 1e-9).all()
    return int(standing.sum())


@pytest.mark.parametrize("table", [True, False])
def test_bounds_over_boxes(table: bool) -> None:
    """A box is given up only without an explanation in it; what is dropped, leaves or etas, none of them needs."""
    given_up = dropped = standing = 0
    for scene, rng in scenes(SCENES, table=table):
        assert scene.clear
        for _ in range(12):
            box = scene.box(rng, int(rng.integers(0, 5)))
            open_ = OpenBox(box, scene.criterion, scene.tau)
            before = open_.reach.leaves.size
            # The second time with fewer leaves and etas, the third time with another threshold for the worst rival.
            for bound in (open_.bound, open_.bound, open_.bound_again, open_.bound):
                if not bound(scene.criterion, scene.tau):
                    assert not (scene.inside(box) & scene.holds).any()
                    given_up += 1
                    break
                standing += _assert_keeps(scene, box, open_)
                dropped += before - open_.reach.leaves.size
    assert min(given_up, dropped, standing) > 50


@pytest.mark.parametrize("table", [True, False])
def test_the_first_bound_is_the_sum_of_the_best_leaves(table: bool) -> None:
    """It is the largest over the rivals, for every eta left; slack, best leaves and gains belong to the worst rival."""
    bounded = 0
    for scene, rng in scenes(SCENES, table=table):
        for _ in range(8):
            box = scene.box(rng, int(rng.integers(0, 5)))
            open_ = OpenBox(box, scene.criterion, scene.tau)
            levels = _levels(scene, open_)
            etas = range(scene.criterion.etas)
            joint = np.array([_sums(scene, box, levels, eta).max() for eta in etas])
            left = open_.bound(scene.criterion, scene.tau)
            # Expected costs ask each rival of the leaves that the one before has left.
            assert (joint <= scene.tau + 1e-9).any() >= left
            assert left or (joint > scene.tau - 1e-9).all() or (scene.rivals > 1 and scene.criterion.etas == 1)
            if not left:
                continue
            bounded += 1
            first, last = open_.etas
            assert (joint[:first] > scene.tau - 1e-9).all()
            assert (joint[last + 1 :] > scene.tau - 1e-9).all()
            if isinstance(scene.risk, CVaR):
                assert open_.joint[first : last + 1] == pytest.approx(joint[first : last + 1], abs=1e-12)
                assert joint[open_.eta] == pytest.approx(joint[first : last + 1].min(), abs=1e-12)
            worth = scene.worth(open_.worst, open_.eta, levels[open_.worst])
            least = sum(float(worth[leaves].min()) for leaves in scene.tree_of(scene.reach(box).leaves))
            assert open_.slack == pytest.approx(scene.tau - least, abs=1e-12)
            assert worth[open_.best].sum() == pytest.approx(least, abs=1e-12)
            assert open_.gains == pytest.approx(worth[open_.here] - worth[open_.best], abs=1e-12)
    assert bounded > 50


def test_only_leaves_that_no_eta_affords_are_dropped() -> None:
    """Against one rival a leaf stays exactly where, under some eta left, the others' best leaves leave room for it."""
    dropped = 0
    for seed in range(16):
        scene = forest_scene(seed, (None, 0.5)[seed % 2], 1, 0.3)
        rng = np.random.default_rng(seed)
        for _ in range(8):
            box = scene.box(rng, int(rng.integers(0, 4)))
            open_ = OpenBox(box, scene.criterion, scene.tau)
            level = _levels(scene, open_)[0]
            trees = scene.tree_of(scene.reach(box).leaves)
            if not open_.bound(scene.criterion, scene.tau):
                continue
            first, last = open_.etas
            needs = np.full(scene.grid.leaves, np.inf)
            for eta in range(first, last + 1):
                worth = scene.worth(0, eta, level)
                total = sum(float(worth[leaves].min()) for leaves in trees)
                for leaves in trees:
                    needs[leaves] = np.minimum(needs[leaves], total - worth[leaves].min() + worth[leaves])
            assert (np.abs(needs - scene.tau) > 1e-9).all()
            assert open_.reach.leaves.tolist() == np.flatnonzero(needs <= scene.tau).tolist()
            dropped += sum(map(len, trees)) - open_.reach.leaves.size
    assert dropped > 30


@pytest.mark.parametrize("table", [True, False])
def test_quantiles_hold_the_threshold_of_every_cell(table: bool) -> None:
    """Some eta at which the alternative's CVaR is attained is left, at each cell of the box, but not all of them."""
    cut = 0
    for scene, rng in scenes(12, tails=True, table=table):
        assert isinstance(scene.criterion, TailCriterion)
        sums = scene.table(0)[scene.leaves].sum(axis=1)
        for _ in range(12):
            box = scene.box(rng, int(rng.integers(0, 6)))
            first, last = OpenBox(box, scene.criterion, scene.tau).quantiles(scene.criterion)
            here = sums[scene.inside(box)]
            assert here[:, first : last + 1].min(axis=1) == pytest.approx(here.min(axis=1), abs=1e-12)
            cut += scene.criterion.etas - (last - first + 1)
    assert cut > 200


def test_with_and_without_a_table_bounds_are_the_same() -> None:
    """Rows that are computed when they are needed, for fewer and fewer etas, are those of the table."""
    for seed in range(12):
        how: dict[str, Any] = {"alpha": (0.3, 0.6, 0.9)[seed % 3], "rivals": 1 + seed % 2, "tau": 0.3, "n": 40}
        one, other = forest_scene(seed, table=True, **how), forest_scene(seed, table=False, **how)
        for block in range(6):
            opened = []
            for scene in (one, other):
                box = scene.box(np.random.default_rng([seed, block]), block)
                open_ = OpenBox(box, scene.criterion, scene.tau)
                ends = [bound(scene.criterion, scene.tau) for bound in (open_.bound, open_.bound, open_.bound_again)]
                opened.append((ends, open_.etas, open_.reach.leaves.tolist(), open_.best.tolist()))
            assert opened[0] == opened[1]
