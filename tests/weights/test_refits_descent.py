"""All trees of several forests at one context: bit for bit what each forest says by itself."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from tests.blocks import seeds
from tests.forests import paper_forest

from whence.problems import Newsvendor
from whence.weights import DecisionForest, ForestWeights, KNNWeights
from whence.weights.refits import Descent, Refits


def contexts_of(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Decimals, ties and duplicates, in units from billionths to billions."""
    return np.round(rng.random((n, d)), int(rng.integers(1, 9))) * 10.0 ** rng.integers(-9, 10, d)


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_weights_are_those_of_the_forests(seed: int) -> None:
    """Stumps, single trees, deep and shallow ones, at past contexts, at thresholds, and far outside."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 60)), int(rng.integers(1, 5))
    X, Y = contexts_of(rng, n, d), rng.random((n, 2))
    forests = []
    for _ in range(int(rng.integers(1, 5))):
        trees, depth = int(rng.integers(1, 12)), [None, 1, 2, 5][int(rng.integers(4))]
        leaf = n if rng.random() < 0.1 else 1
        forests.append(paper_forest(trees, depth, random_state=int(rng.integers(99)), min_samples_leaf=leaf).fit(X, Y))
    frozen = ExtraTreesRegressor(4, random_state=0).fit(X, Y)
    forests.append(ForestWeights.of(frozen).fit(X, Y))
    descent = Descent([forest.members_ for forest in forests])
    edges = X[0].copy()
    tree = forests[0].trees[0]
    if tree.feature[0] >= 0:
        edges[tree.feature[0]] = tree.threshold[0]
    for row in (*X[:5], edges, 1e6 * X.max(axis=0), -X[0], np.nextafter(edges, np.inf)):
        for forest, found in zip(forests, descent.weights(row), strict=True):
            assert np.array_equal(found, forest.at(row))


@pytest.mark.parametrize("kind", [ForestWeights, DecisionForest])
def test_missing_numbers_go_where_each_tree_sends_them(kind: type[ForestWeights] | type[DecisionForest]) -> None:
    """A context in which a number is missing comes to the leaves that the forest itself finds."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, Y = rng.random((40, 3)).round(2), rng.random((40, 1))
        X[rng.random(X.shape) < 0.2] = np.nan
        weights = kind(n_trees=6, missing=True, random_state=seed)
        if isinstance(weights, DecisionForest):
            weights.problem = Newsvendor(1, 3)
        weights.fit(X, Y)
        descent = Descent([weights.members_])
        for row in (*X[:8], np.full(3, np.nan)):
            assert np.array_equal(descent.weights(row)[0], weights.at(row))


@pytest.mark.parametrize("kind", ["seed", "bootstrap"])
@pytest.mark.parametrize("weights", [paper_forest(8, 3, random_state=1), KNNWeights(4)], ids=["forest", "neighbours"])
def test_several_refits_at_once(kind: str, weights: ForestWeights | KNNWeights) -> None:
    """The weights of each are those that it has by itself, also after more of them were made."""
    if kind == "seed" and isinstance(weights, KNNWeights):
        kind = "bootstrap"
    rng = np.random.default_rng(3)
    X, Y = rng.random((40, 3)).round(2), rng.random((40, 1))
    refits = Refits(weights.fit(X, Y), lambda: X, Y, kind)  # type: ignore[arg-type]
    assert refits.weights_of((), X[0]) == []
    for numbers in ((0, 1, 2), (2, 0), range(5)):
        for row in X[:6]:
            together = refits.weights_of(numbers, row)
            assert len(together) == len(numbers)
            for number, found in zip(numbers, together, strict=True):
                assert np.array_equal(found, refits.weights_at(number, row))
