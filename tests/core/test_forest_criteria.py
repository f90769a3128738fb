"""What leaves say about plans, and bounds over boxes, held against every cell there is."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.forest_cells import ForestScene, scenes

from whence._core import LeafSamples, TailCriterion

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


@pytest.mark.parametrize("mass", [False, True])
def test_leaves_of_very_many_samples_are_counted_in_full(mass: bool) -> None:
    """With more samples in a leaf than 16 bits can count, its CVaR is that of the definition, with and without mass."""
    size = np.array([70_000, 5, 40, 3_000, 9], dtype=np.int64)
    rng = np.random.default_rng(0)
    rank = rng.integers(0, 3, size.sum()).astype(np.int32)
    etas, first = np.array([1.0, 2.5, 4.0]), np.cumsum(size) - size
    weight = rng.random(size.sum()) + 0.5 if mass else np.ones(size.sum())
    samples = np.arange(size.sum(), dtype=np.int32)
    criterion = TailCriterion(LeafSamples(samples, first, size, 1, weight if mass else None), 0.2)
    criterion.add_plan(etas, rank, kept=True)
    criterion.add_plan(np.zeros(1), np.zeros_like(rank), kept=True)
    for leaf, (begin, many) in enumerate(zip(first, size, strict=True)):
        own, mine = etas[rank[begin : begin + many]], weight[begin : begin + many]
        tail = [eta + np.average(np.maximum(own - eta, 0.0), weights=mine) / 0.2 for eta in etas]
        assert criterion.excess(np.array([leaf], dtype=np.int32)).over == pytest.approx(min(tail), abs=1e-9)


@pytest.mark.parametrize("table", [True, False])
def test_bounds_over_boxes(table: bool) -> None:
    """A box is given up only without an explanation in it; what is dropped, none of them needs."""
    seen = np.zeros(3, dtype=np.int64)
    for scene, rng in scenes(SCENES, table=table):
        seen += scene.bounded(scene.criterion, scene.tau, scene.excess.max(axis=1) <= scene.tau - 1e-9, rng)
    assert seen.min() > 50
