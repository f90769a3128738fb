"""A fitted forest as a grid of cells."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor
from tests.cases import Case, OneOf
from tests.core.forest_cells import scenes

from whence import Expectation, ForestWeights, Policy
from whence.search.grid import grid_of, leaf_means

Floats = NDArray[np.float64]


def test_a_cut_is_the_last_float32_at_or_below_its_threshold() -> None:
    """Trees compare float32 values with double thresholds: a value at the cut goes left, the next one goes right."""
    checked = 0
    for scene, _ in scenes(12):
        start = scene.kept.face_start
        for tree in scene.policy.weights_.trees:
            for column, threshold in zip(tree.feature, tree.threshold, strict=True):
                if column < 0:
                    continue
                cuts = scene.kept.cut[start[column] : start[column + 1]]
                above = np.nextafter(cuts, np.float32(np.inf))
                at = np.flatnonzero((cuts.astype(float) <= threshold) & (above.astype(float) > threshold))
                assert at.size == 1
                checked += 1
    assert checked > 100


def test_a_threshold_that_rounds_up_to_the_next_float32_is_cut_below_it() -> None:
    """Values of the float32 above such a threshold go right, as in the tree."""
    threshold = float(np.nextafter(np.float32(0.3), np.float32(1.0))) - 1e-12
    assert float(np.float32(threshold)) > threshold
    tree = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0])
    state = tree.tree_.__getstate__()
    state["nodes"]["threshold"][0] = threshold
    tree.tree_.__setstate__(state)
    policy = Policy(OneOf(), ForestWeights.of(tree), Expectation()).fit(np.array([[0.0], [1.0]]), np.eye(2))
    question = Case(0, policy, policy.schema_.row(np.array([0.0])), 0, 1).question()
    kept = grid_of(question)
    assert kept is not None
    assert kept.cut.tolist() == [float(np.nextafter(np.float32(threshold), np.float32(-1.0)))]


def test_leaf_means_are_those_of_the_members() -> None:
    """The mean over every leaf's samples, divided by the number of trees."""
    for scene, rng in scenes(8):
        values = rng.normal(size=len(scene.policy.Y_))
        assert leaf_means(scene.kept, values) == pytest.approx(scene.members @ values / scene.grid.trees, abs=1e-12)
