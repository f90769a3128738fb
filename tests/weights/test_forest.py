"""Forest weights, held against the definition of the paper written out with loops."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor
from tests.blocks import seeds
from tests.forests import paper_forest

from whence.errors import InputError, InputTypeError, NotFittedError
from whence.weights import ForestWeights
from whence.weights import base as module

ESTIMATORS = [
    lambda seed: RandomForestRegressor(7, max_depth=3, random_state=seed),
    lambda seed: RandomForestRegressor(5, random_state=seed),
    lambda seed: RandomForestClassifier(6, max_depth=4, random_state=seed),
    lambda seed: ExtraTreesRegressor(6, max_depth=4, random_state=seed),
    lambda seed: ExtraTreesClassifier(4, random_state=seed),
    lambda seed: DecisionTreeRegressor(max_depth=3, random_state=seed),
    lambda seed: DecisionTreeClassifier(random_state=seed),
    lambda seed: ExtraTreeRegressor(max_depth=2, random_state=seed),
]


def definition(estimator: Any, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Weights as the paper defines them: in every tree, the share of a sample in the context's leaf."""
    trees = getattr(estimator, "estimators_", [estimator])
    out = np.zeros((len(rows), len(X)))
    for r, row in enumerate(rows):
        for tree in trees:
            leaf = tree.apply(row[None, :])[0]
            leaves = tree.apply(X)
            for i in range(len(X)):
                if leaves[i] == leaf:
                    out[r, i] += 1.0 / sum(other == leaf for other in leaves) / len(trees)
    return out


def data(seed: int, n: int = 30, d: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contexts with ties and duplicates, outcomes, and rows to ask for."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    X[:, 0] = X[:, 0].round(1)
    X[n // 2] = X[0]
    return X, rng.random((n, 2)), np.vstack([rng.random((5, d)), X[:2], X[:1] - 3, X[:1] + 3])


@pytest.mark.parametrize("seed", seeds(2, 4))
def test_trained_here(seed: int) -> None:
    """The weights of a forest trained by `fit` are those of the definition."""
    X, Y, rows = data(seed)
    weights = paper_forest(n_trees=8, max_depth=None if seed % 2 else 3, random_state=seed).fit(X, Y)
    np.testing.assert_allclose(weights.weights(rows), definition(weights.forest_, X, rows), atol=1e-15)


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("seed", seeds(1, 2))
def test_frozen(make: Any, seed: int) -> None:
    """The weights of a fitted forest, extra-trees or tree, regressor or classifier, are those of the definition."""
    X, Y, rows = data(seed)
    fitted = make(seed)
    fitted.fit(X, (Y[:, 0] > 0.5).astype(int) if "Classifier" in type(fitted).__name__ else Y)
    weights = ForestWeights.of(fitted).fit(X, Y)
    np.testing.assert_allclose(weights.weights(rows), definition(fitted, X, rows), atol=1e-15)


def test_a_frozen_forest_weighs_other_samples() -> None:
    """A frozen forest counts the samples that `fit` gets, not those it was trained on."""
    X, Y, rows = data(5)
    fitted = RandomForestRegressor(5, max_depth=2, random_state=0).fit(X[:25], Y[:25])
    weights = ForestWeights.of(fitted).fit(X, Y)
    np.testing.assert_allclose(weights.weights(rows), definition(fitted, X, rows), atol=1e-15)


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_weights_are_shares(seed: int) -> None:
    """Weights are not negative and sum to one."""
    X, Y, rows = data(seed)
    found = paper_forest(n_trees=30, random_state=seed).fit(X, Y).weights(rows)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


def test_sparse_is_dense_and_batches_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row, a batch, a batch in parts and the sparse form agree to the last bit."""
    X, Y, rows = data(1)
    weights = paper_forest(n_trees=9, max_depth=3, random_state=1).fit(X, Y)
    found = weights.weights(rows)
    assert np.array_equal(weights.weights(rows, as_sparse=True).toarray(), found)
    assert np.array_equal([weights.at(row) for row in rows], found)
    monkeypatch.setattr(module, "BATCH", 70)
    assert np.array_equal(weights.weights(rows), found)


def test_thresholds_are_compared_in_float32() -> None:
    """A context that float32 cannot tell from a threshold falls to its left, as in scikit-learn."""
    X = np.array([[0.0], [0.25], [0.5], [1.0]])
    fitted = DecisionTreeRegressor(max_depth=1).fit(X, [0.0, 0.0, 1.0, 1.0])
    threshold = float(fitted.tree_.threshold[0])
    weights = ForestWeights.of(fitted).fit(X, X)
    above = float(np.nextafter(np.float32(threshold), np.float32(1)))
    np.testing.assert_array_equal(
        weights.weights([[threshold], [threshold + 1e-12], [above]]),
        [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]],
    )


def test_fit_clone_and_pickle_keep_a_frozen_forest() -> None:
    """Neither `fit` on other outcomes nor `clone` trains a frozen forest again; a pickle gives the same weights."""
    X, Y, rows = data(2)
    fitted = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, Y)
    weights = ForestWeights.of(fitted).fit(X, 100 - Y)
    assert weights.forest_ is fitted
    copied = clone(weights)
    assert copied.frozen is fitted
    assert not hasattr(copied, "forest_")
    np.testing.assert_array_equal(copied.fit(X, Y).weights(rows), weights.weights(rows))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(weights)).weights(rows), weights.weights(rows))


def test_clone_copies_parameters_and_random_state() -> None:
    """A clone has the same parameters but a random state of its own."""
    state = np.random.RandomState(3)
    weights = paper_forest(n_trees=3, max_depth=2, random_state=state)
    copied = clone(weights)
    assert {**copied.get_params(), "random_state": None} == {**weights.get_params(), "random_state": None}
    assert copied.random_state is not state


def test_an_empty_leaf_is_refused() -> None:
    """Where a leaf holds none of the given samples its weights are undefined, and `fit` says so."""
    X, Y, _ = data(3)
    fitted = RandomForestRegressor(5, random_state=0).fit(X, Y)
    with pytest.raises(InputError, match=r"Every leaf of the fitted forest must hold at least one row of 'X'"):
        ForestWeights.of(fitted).fit(X[:3], Y[:3])


@pytest.mark.parametrize("estimator", [RandomForestRegressor(), DecisionTreeClassifier(), ExtraTreesRegressor()])
def test_an_unfitted_forest_is_refused(estimator: Any) -> None:
    """An estimator that was not fitted cannot be frozen."""
    with pytest.raises(NotFittedError, match=f"'fitted' must be fitted. Got an unfitted {type(estimator).__name__}"):
        ForestWeights.of(estimator)


@pytest.mark.parametrize("estimator", [AdaBoostRegressor, BaggingRegressor, IsolationForest])
def test_other_ensembles_are_refused(estimator: Any) -> None:
    """Ensembles whose trees do not count alike, or do not see all columns, are no forests."""
    X, Y, _ = data(4)
    with pytest.raises(InputTypeError, match=f"random forest, extra-trees or decision tree.* Got {estimator.__name__}"):
        ForestWeights.of(estimator().fit(X, Y[:, 0]))


@pytest.mark.parametrize("other", [None, 3, "forest", [RandomForestRegressor()]])
def test_no_estimator_is_refused(other: Any) -> None:
    """What is no estimator at all gets the same sentence."""
    with pytest.raises(InputTypeError, match=r"'fitted' must be a fitted scikit-learn random forest"):
        ForestWeights.of(other)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_trees": 0}, "The 'n_trees' parameter of ForestWeights must be an int >= 1. Got 0 instead."),
        ({"n_trees": 2.5}, "The 'n_trees' parameter of ForestWeights must be an int >= 1. Got 2.5 instead."),
        ({"n_trees": True}, "The 'n_trees' parameter of ForestWeights must be an int >= 1. Got True instead."),
        ({"max_depth": 0}, "The 'max_depth' parameter of ForestWeights must be an int >= 1 or None. Got 0 instead."),
        ({"min_samples_leaf": -1}, "The 'min_samples_leaf' parameter of ForestWeights must be an int >= 1."),
        ({"max_features": "many"}, "The 'max_features' parameter of ForestWeights"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    """A wrong parameter is named, with what was expected and what came."""
    X, Y, _ = data(0)
    with pytest.raises(InputError) as error:
        ForestWeights(**parameters).fit(X, Y)
    assert message in str(error.value)


def test_rows_are_checked() -> None:
    """Rows of the wrong width, or that are not finite, are refused; so are weights before `fit`."""
    X, Y, _ = data(0)
    with pytest.raises(NotFittedError, match="not fitted"):
        ForestWeights().weights(X)
    weights = paper_forest(n_trees=2).fit(X, Y)
    with pytest.raises(InputError, match=r"'X' must be of shape \(rows, 3\). Got shape \(1, 2\)"):
        weights.weights([[0.0, 1.0]])
    with pytest.raises(InputError, match="finite"):
        weights.weights([[0.0, 1.0, np.nan]])
    frozen = ForestWeights.of(weights.forest_)
    with pytest.raises(InputError, match=r"'X' must have the 3 columns that the fitted forest has seen. Got 2"):
        frozen.fit(X[:, :2], Y)


def test_a_forest_is_the_same_whatever_the_number_of_threads() -> None:
    """Seeds are drawn before trees are grown; 0 threads are none."""
    X, Y = np.random.default_rng(0).random((80, 3)), np.random.default_rng(1).random((80, 2))
    one, two = (ForestWeights(8, random_state=3, n_jobs=jobs).fit(X, Y).weights(X) for jobs in (None, 2))
    assert (one == two).all()
    with pytest.raises(InputError, match="'n_jobs' parameter of ForestWeights"):
        ForestWeights(n_jobs=0).fit(X, Y)
