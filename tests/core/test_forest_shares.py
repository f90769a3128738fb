"""The strong bound, held against every cell there is, and at its first round against the formula itself."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.forest_cells import Floats, ForestScene, scenes

from whence._core import OpenBox, TailCriterion
from whence.search.forest_search import equal_shares

SCENES = 20


def _parts(scene: ForestScene) -> Floats:
    """Equal shares of the trees that ask for a column, or for any category of its feature; by column and tree."""
    asks, group = scene.grid.asks.copy(), scene.located.group
    for g in np.unique(group[group >= 0]):
        asks[group == g] = asks[group == g].max(axis=0)
    return np.asarray((asks + 1e-9) / (asks + 1e-9).sum(axis=1, keepdims=True))


def _ways(scene: ForestScene, open_: OpenBox) -> Floats:
    """Every leaf's way from the projection, as far as its tree has to pay for it."""
    parts, group, cells = _parts(scene), scene.located.group, open_.cells
    trees = scene.tree_of(np.arange(scene.grid.leaves, dtype=np.int32))
    ways = np.zeros(scene.grid.leaves)
    for tree, leaves in enumerate(trees):
        for leaf in leaves.tolist():
            ways[leaf] = sum(parts[j, tree] * way for j, way in scene.extra(leaf, cells).items())
            for g in np.unique(group[group >= 0]):
                members = np.flatnonzero(group == g)
                home = members[scene.located.start[members] > 0]
                asked = [
                    j for j, (low, high) in scene.spans(leaf).items() if group[j] == g and not low <= cells[j] <= high
                ]
                # Another category costs its price once, however many columns of the feature the path asks about.
                if asked and home.size and cells[home[0]] > 0:
                    ways[leaf] += parts[home[0], tree] * scene.columns[home[0]][0]
    return ways


def test_the_first_round_shares_the_way_out_among_the_trees() -> None:
    """With the multiplier 1 it is, under every eta, the sum of the smallest worth plus way, for any buckets."""
    tried = moved = 0
    for scene, rng in scenes(SCENES, plain=True):
        for reach in (0.3, 2.0):
            box = scene.box(rng, int(rng.integers(0, 3)))
            open_ = OpenBox(box, scene.criterion, scene.tau)
            if not open_.bound(scene.criterion, scene.tau):
                continue
            shares = equal_shares(scene.kept, scene.located, reach)
            ways, trees = _ways(scene, open_), scene.tree_of(open_.reach.leaves)
            first, last = open_.etas
            level = _level(scene, open_)
            least = open_.strong_bound(scene.criterion, scene.tau, shares, np.inf, 1, 0.0)
            expected = [
                open_.near
                - scene.tau
                + sum(float((scene.worth(open_.worst, eta, level) + ways)[x].min()) for x in trees)
                for eta in range(first, last + 1)
            ]
            assert open_.joint[first : last + 1] == pytest.approx(expected, abs=1e-8)
            assert least == pytest.approx(min(expected), abs=1e-8)
            tried += 1
            moved += ways.max() > 0.0
    assert tried > 15
    assert moved > 10


def _level(scene: ForestScene, open_: OpenBox) -> int:
    """The worst rival's threshold at the projection; that of the bound is the same as long as it was not moved."""
    if not isinstance(scene.criterion, TailCriterion):
        return 0
    here = scene.members[open_.here].mean(axis=0)
    plan = 1 + open_.worst
    above = here @ (scene.policy.Y_[:, plan, None] > scene.etas(plan) + 1e-9)
    return int(np.argmax(above <= 1.0 - scene.risk.alpha + 1e-12))  # type: ignore[union-attr]


@pytest.mark.parametrize("table", [True, False])
def test_the_bound_exceeds_no_explanation_whatever_it_learned(table: bool) -> None:
    """Over many boxes and lessons no explanation in a box is nearer than its bound, nor than that of its own eta."""
    lifted = 0
    for scene, rng in scenes(SCENES, table=table):
        shares = equal_shares(scene.kept, scene.located, 2.0)
        for round_ in range(12):
            box = scene.box(rng, int(rng.integers(0, 4)))
            open_ = OpenBox(box, scene.criterion, scene.tau)
            rounds, rate = (40, 1.0) if round_ == 0 else (3, 0.1)
            least = open_.strong_bound(scene.criterion, scene.tau, shares, np.inf, rounds, rate)
            standing = scene.inside(box) & scene.holds
            assert least <= scene.distance[standing].min(initial=np.inf) + 1e-9
            lifted += least > open_.near + 1e-6
            if isinstance(scene.criterion, TailCriterion) and standing.any():
                mine = scene.table(0)[scene.leaves[standing]].sum(axis=1)
                over = mine - mine.min(axis=1, keepdims=True) + scene.excess[standing].max(axis=1)[:, None]
                under = np.where(over <= scene.tau, scene.distance[standing][:, None], np.inf).min(axis=0)
                assert (open_.joint <= under + 1e-9).all()
    assert lifted > 30


def test_no_leaf_of_an_explanation_within_the_cutoff_is_dropped() -> None:
    """With the cutoff just beyond the nearest explanation of a box, leaves are dropped but none of its."""
    dropped = kept = 0
    for scene, rng in scenes(SCENES):
        shares = equal_shares(scene.kept, scene.located, 2.0)
        for _ in range(12):
            box = scene.box(rng, int(rng.integers(0, 4)))
            open_ = OpenBox(box, scene.criterion, scene.tau)
            standing = scene.inside(box) & scene.holds
            nearest = float(scene.distance[standing].min(initial=np.inf))
            if nearest == np.inf or not open_.bound(scene.criterion, scene.tau):
                continue
            before = open_.reach.leaves.size
            cutoff = nearest + 1e-6
            open_.strong_bound(scene.criterion, scene.tau, shares, cutoff, 20, 0.5)
            near = standing & (scene.distance < cutoff)
            assert np.isin(scene.leaves[near], open_.reach.leaves).all()
            dropped += before - open_.reach.leaves.size
            kept += 1
    assert min(dropped, kept) > 20


def test_the_shares_of_a_step_are_one_in_all() -> None:
    """Before and after lessons, though the trees that take a step are given more of its price."""
    changed = 0
    for scene, rng in scenes(SCENES):
        shares = equal_shares(scene.kept, scene.located, 2.0)
        before = shares.part
        assert before.sum(axis=1) == pytest.approx(1.0)
        for _ in range(4):
            open_ = OpenBox(scene.box(rng), scene.criterion, scene.tau)
            open_.strong_bound(scene.criterion, scene.tau, shares, np.inf, 5, 1.0)
        assert shares.part.sum(axis=1) == pytest.approx(1.0)
        assert (shares.part >= 0.0).all()
        changed += not np.array_equal(before, shares.part)
    assert changed > 10
