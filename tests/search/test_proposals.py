"""Explanations proposed without proof."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor
from tests.cases import Case, OneOf

from whence import Expectation, ForestWeights, Policy
from whence.search.grid import grid_of
from whence.search.proposals import past_cells

Floats = NDArray[np.float64]


def test_past_contexts_at_a_cut_lie_below_it() -> None:
    """A past context whose value is the threshold itself goes left, in the tree and in its cell."""
    X = np.array([[0.25], [0.5], [0.75]])
    tree = DecisionTreeRegressor(max_depth=1).fit(X, [0.0, 0.0, 1.0])
    state = tree.tree_.__getstate__()
    state["nodes"]["threshold"][0] = 0.5
    tree.tree_.__setstate__(state)
    policy = Policy(OneOf(), ForestWeights.of(tree), Expectation()).fit(X, np.eye(3)[:, :2])
    question = Case(0, policy, policy.schema_.row(X[0]), 0, 1).question()
    kept = grid_of(question)
    assert kept is not None
    cells = past_cells(kept, policy.weights_.inputs_)
    assert cells.tolist() == [[0], [0], [1]]
    leaves = [kept.grid.leaves_at(row).item() for row in cells]
    assert leaves[0] == leaves[1] != leaves[2]
    assert policy.weights_at(X[1]) == pytest.approx(policy.weights_at(X[0]))
