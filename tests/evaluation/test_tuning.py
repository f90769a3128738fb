"""The search for weights: what it chooses, and that it changes nothing without evidence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import TimeSeriesSplit
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError
from whence.evaluation.tuning import AS_IT_IS, candidates, tune


def hourly(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A demand that jumps with the hour and the day, which trees of depth 1 cannot follow."""
    X = pd.DataFrame({"hour": rng.integers(0, 8, n), "day": rng.integers(0, 7, n), "noise": rng.random(n)})
    return X, 40.0 + 30.0 * (X["hour"] % 2).to_numpy()[:, None] * (X["day"] < 5).to_numpy()[:, None] + rng.normal(
        0, 1, (n, 1)
    )


def test_deeper_trees_are_found_where_they_pay() -> None:
    """From stumps, something deeper is chosen, its cost is less, and the evidence says by how much."""
    X, Y = hourly(np.random.default_rng(0), 160)
    stumps = paper_forest(n_trees=3, max_depth=1, random_state=0)
    policy = wh.Policy(wh.Newsvendor(1, 3, cost_unit="€"), stumps)
    found = tune(policy, X, Y, cv=3, only="forest")
    assert found.changed
    assert found.afresh
    assert isinstance(found.weights, wh.ForestWeights)
    assert found.weights.max_depth is None or found.weights.max_depth > 1
    assert found.weights.n_trees == 3
    table = found.judged.frame["cost"]
    assert table[found.name] < table[AS_IT_IS]
    assert "in folds that had no say in the choice" in found.evidence[1]
    assert "€" in found.evidence[1]
    # The simplest within a standard error of the best: nothing as good has shallower trees.
    difference, error = found.tried.difference(found.name, found.tried.best)
    assert difference <= error


def test_nothing_is_changed_without_evidence() -> None:
    """On pure noise the weights stay as they are, whichever is ahead by chance, in 5 cases of 5."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=20))
        found = tune(policy, rng.random((120, 2)), rng.normal(20, 4, (120, 1)), cv=3, only="knn")
        assert not found.changed
        assert found.weights is policy.weights
        assert found.evidence[0].startswith("None of ")


def test_time_is_judged_in_the_folds_that_chose() -> None:
    """With a splitter there are no other folds, which the evidence says."""
    X, Y = hourly(np.random.default_rng(1), 200)
    found = tune(wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=40)), X, Y, cv=TimeSeriesSplit(3), only="knn")
    assert not found.afresh
    assert "in the folds that chose" in " ".join(found.evidence)


def test_candidates_fit_the_data() -> None:
    """No leaf and no number of neighbours takes more than a fifth of the rows; one column has no choice of features."""
    policy = wh.Policy(wh.Newsvendor(1, 3))
    few = candidates(policy, 20, 1)
    assert max(found.min_samples_leaf for found in few.values() if isinstance(found, wh.ForestWeights)) <= 4
    assert max(found.k for found in few.values() if isinstance(found, wh.KNNWeights)) <= 4
    assert all("features all" in name for name in few if name.startswith("forest"))
    assert len(candidates(policy, 1000, 5)) == 5 * 3 * 3 + 6
    with pytest.raises(InputError, match="'only' must be 'forest', 'knn' or None"):
        tune(policy, np.zeros((9, 1)), np.zeros((9, 1)), only="tree")
