"""The strong bound on the distance of a box, held against every cell of it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.forest_scene import scenes

from whence import _core


@pytest.mark.parametrize("tail", [False, True])
@pytest.mark.parametrize("rounds", [1, 20])
def test_the_strong_bound_never_exceeds_the_nearest_cell_that_holds(tail: bool, rounds: int) -> None:
    """Whatever the shares and the multiplier have learned."""
    rng = np.random.default_rng(rounds)
    above_projection = 0
    for scene in scenes(60, 0 if tail else 300, tail=tail):
        shares = scene.shares()
        for box in scene.random_boxes(rng, 5):
            open_ = _core.OpenBox(box, scene.criterion, scene.tau)
            if open_.holds:
                continue
            bound = open_.strong_bound(scene.criterion, scene.tau, shares, np.inf, rounds, 0.5)
            holding = scene.surely & scene.inside(box)
            nearest = scene.distance[holding].min() if holding.any() else np.inf
            assert bound <= nearest + 1e-9
            above_projection += bound > open_.near + 1e-6
    assert above_projection >= 20


def test_leaves_are_dropped_only_where_nothing_near_needs_them() -> None:
    """With a cutoff, the leaves of all cells nearer than it that hold stay in reach."""
    rng = np.random.default_rng(7)
    dropped = 0
    for scene in scenes(80, 600):
        shares = scene.shares()
        for box in scene.random_boxes(rng, 5):
            open_ = _core.OpenBox(box, scene.criterion, scene.tau)
            if open_.holds:
                continue
            before = set(open_.reach.leaves.tolist())
            cutoff = open_.near + float(rng.uniform(0.1, 1.0))
            open_.strong_bound(scene.criterion, scene.tau, shares, cutoff, 10, 0.5)
            left = set(open_.reach.leaves.tolist())
            near = scene.surely & scene.inside(box) & (scene.distance < cutoff)
            assert set(scene.leaves[near].ravel().tolist()) <= left
            dropped += len(before - left)
    assert dropped >= 50


def test_learning_lifts_the_bound_and_keeps_the_shares_whole() -> None:
    """Over many rounds the bound rises on most boxes; no step is paid for more than once."""
    better = worse = 0
    for scene in scenes(40, 900, tail=False):
        open_ = _core.OpenBox(scene.box(), scene.criterion, scene.tau)
        if open_.holds:
            continue
        shares = scene.shares()
        assert shares.part.sum(axis=1) == pytest.approx(1.0)
        first = open_.strong_bound(scene.criterion, scene.tau, shares, np.inf, 1, 0.0)
        learned = open_.strong_bound(scene.criterion, scene.tau, shares, np.inf, 60, 1.0)
        assert shares.part.sum(axis=1) == pytest.approx(1.0)
        assert (shares.part >= 0).all()
        assert shares.multiplier > 0
        better += learned > first + 1e-9
        worse += learned < first - 1e-9
    assert worse == 0, "the best bound of all rounds includes the first"
    assert better >= 15


def test_under_every_eta_the_bound_is_that_of_the_eta() -> None:
    """For CVaR each eta has a bound of its own; the bound of the box is the smallest of them."""
    for scene in scenes(20, 1200, tail=True):
        open_ = _core.OpenBox(scene.box(), scene.criterion, scene.tau)
        bound = open_.strong_bound(scene.criterion, scene.tau, scene.shares(), np.inf, 5, 0.5)
        first, last = open_.etas
        assert bound == open_.joint[first : last + 1].min()
