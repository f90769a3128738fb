"""Cells of trees: boxes of contexts that share all their leaves."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from tests.forests import paper_forest

import whence as wh
from whence.models.tree_arrays import Place, RawTree, laid, single_turns


@pytest.mark.parametrize("frozen", [False, True])
def test_leaves_stay_the_same_in_the_whole_cell(frozen: bool) -> None:
    """In the corners of its cell the weights are those of the context, and just beyond they are mostly not."""
    beyond = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(100.0, 7.0, (50, 3))
        Y = X[:, :1] + rng.random((50, 1))
        forest = ExtraTreesRegressor(8, max_depth=3, bootstrap=False, random_state=seed).fit(X, Y[:, 0])
        weights = wh.ForestWeights.of(forest) if frozen else paper_forest(n_trees=8, random_state=seed)
        policy = wh.Policy(wh.Newsvendor(1, 1), weights).fit(X, Y)
        row = policy.schema_.row(X[0] + rng.normal(0, 1, 3))
        point = policy.schema_.encode_row(row)
        low, high = policy.weights_.cell(point, policy.inputs_of(row), policy.input_map_)
        assert ((low <= point) & (point <= high)).all()
        offset, scale = policy.schema_.affine()
        inside = np.clip(np.array([low, high]), -0.5, 1.5)
        expected = policy.weights_at(row)
        for _ in range(30):
            corner = np.where(rng.random(3) < 0.5, inside[0] + 1e-9, inside[1] - 1e-9)
            assert np.array_equal(policy.weights_at(offset + scale * corner), expected)
        ends = np.where(np.isfinite([low, high]), [low, high], point)
        for j, end in product(range(3), ends):
            at = np.where(np.arange(3) == j, end, point)
            seen = at * policy.input_map_.scale + policy.input_map_.offset
            assert np.array_equal(policy.weights_.at(seen), expected)
        for j in range(3):
            outside = point.copy()
            outside[j] = high[j] + 1e-5
            if np.isfinite(outside[j]):
                beyond += not np.array_equal(policy.weights_at(offset + scale * outside), expected)
    assert beyond > 12


def test_contexts_turn_half_way_between_two_float32() -> None:
    """The last number that goes left of a threshold and the first that goes right are neighbouring doubles."""
    rng = np.random.default_rng(4)
    numbers = np.concatenate([rng.normal(size=300), 1.7e9 + 1e5 * rng.random(300), 1e-9 * rng.normal(size=300), [0.0]])
    thresholds = np.concatenate([numbers, numbers.astype(np.float32).astype(np.float64)])
    last, first = single_turns(thresholds)
    assert (last.astype(np.float32) <= thresholds).all()
    assert (first.astype(np.float32) > thresholds).all()
    assert (np.nextafter(last, np.inf) == first).all()
    odd = np.float32(0.5) + np.float32(2.0**-24)
    assert single_turns(np.array([float(odd)]))[1][0] == 0.5 + 3 * 2.0**-25


def test_thresholds_between_neighbouring_single_numbers_are_one() -> None:
    """Where numbers are compared as float32, no number lies between two such thresholds, so that no leaf does."""
    below = np.float32(2.0e12)
    middle = 0.5 * (float(below) + float(np.nextafter(below, np.float32(np.inf))))
    raw = RawTree(
        feature=np.array([0, -1, 0, -1, -1]),
        threshold=np.array([float(below), 0.0, middle, 0.0, 0.0]),
        left=np.array([1, -1, 3, -1, -1]),
        right=np.array([2, -1, 4, -1, -1]),
        missing_left=np.zeros(5, dtype=np.bool_),
        value=np.zeros(5),
    )
    tree = laid(raw, [Place(0)], single=True)
    assert tree.threshold[tree.feature >= 0].tolist() == [float(below)]
    assert sorted(tree.leaf[tree.leaf >= 0].tolist()) == [1, 4]
    apart = laid(raw, [Place(0)], single=False)
    assert sorted(apart.leaf[apart.leaf >= 0].tolist()) == [1, 3, 4]


def test_a_context_is_put_down_the_trees_once() -> None:
    """Weights and those of every tree come from the same leaves; another context, or a policy read again, is asked."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((40, 2)), rng.random((40, 1))
    weights = paper_forest(n_trees=5, random_state=0).fit(X, Y)

    class Counting:
        asked = 0

        def __init__(self, tree: Any) -> None:
            self.tree = tree

        def apply(self, rows: np.ndarray) -> np.ndarray:
            Counting.asked += 1
            return np.asarray(self.tree.apply(rows))

    wanted = weights.weights(X[:2])
    weights.members_.trees = [Counting(tree) for tree in weights.members_.trees]
    for i, calls in ((0, 5), (0, 5), (1, 10), (0, 15)):
        apart = weights.per_tree(X[i])
        assert apart is not None
        np.testing.assert_array_equal(weights.at(X[i]), wanted[i])
        np.testing.assert_allclose(apart.mean(axis=0), wanted[i], atol=1e-15)
        assert Counting.asked == calls
