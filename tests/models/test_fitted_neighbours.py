"""Neighbours that are already fitted, and kernels: weights as the models' own, copies, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import whence as wh
from whence.errors import InputError, WhenceError
from whence.weights import InputMap, KernelWeights, KNNWeights


def _data(seed: int = 0, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 40.0, 0.01] + [0.0, 1000.0, 3.0]
    return X, X[:, 0] + rng.normal(size=n)


METRICS: dict[str, dict[str, Any]] = {
    "euclidean": {},
    "manhattan": {"metric": "manhattan"},
    "p1": {"p": 1, "algorithm": "ball_tree"},
    "seuclidean": {"metric": "seuclidean", "metric_params": {"V": np.array([1.0, 1600.0, 1e-4])}, "algorithm": "brute"},
    "mahalanobis": {"metric": "mahalanobis", "metric_params": {"VI": np.diag([1.0, 1e-3, 1e4])}, "algorithm": "brute"},
    "covariance": {"metric": "mahalanobis", "metric_params": {"V": np.diag([1.0, 9.0, 2.0])}, "algorithm": "ball_tree"},
    "weighted": {"metric": "minkowski", "p": 2, "metric_params": {"w": np.array([1.0, 1e-3, 1e4])}},
}


@pytest.mark.parametrize("name", METRICS)
def test_weights_are_those_of_the_models_own_neighbours(name: str) -> None:
    """In 1,000 contexts the same observations speak as the model itself finds."""
    X, y = _data()
    model = KNeighborsRegressor(7, **METRICS[name]).fit(X, y)
    weights = KNNWeights.of(model).fit(X)
    rows = _data(1, 1000)[0]
    own = model.kneighbors(rows, return_distance=False)
    found = weights.weights(rows)
    assert [set(np.flatnonzero(row)) for row in found] == [set(row) for row in own.tolist()]
    np.testing.assert_allclose(found @ y, model.predict(rows), rtol=1e-9)


@pytest.mark.parametrize("name", ["euclidean", "manhattan", "mahalanobis"])
def test_policies_around_fitted_neighbours_survive_copies(name: str) -> None:
    """Clones keep the model, and a pickled policy gives the same certified answer."""
    X, y = _data()
    table, outcomes = pd.DataFrame(X, columns=list("abc")), pd.DataFrame({"demand": 50 + 10 * y})
    model = KNeighborsRegressor(7, **METRICS[name]).fit(table, y)
    policy = wh.Policy(wh.Newsvendor(1, 3), KNNWeights.of(model)).fit(table, outcomes)
    assert clone(policy).weights.frozen is model
    assert not policy.weights_.capabilities.can_refit
    today = table.iloc[0]
    why = policy.explain(today, instead=policy.decide(today) + 8)
    assert why.status == "optimal"
    assert why.verify(policy)
    again = pickle.loads(pickle.dumps(policy)).explain(today, instead=policy.decide(today) + 8)
    assert (again.distance, again.context.tolist()) == (why.distance, why.context.tolist())
    own = model.kneighbors(why.context.to_frame().T.astype(float), return_distance=False)[0]
    assert set(np.flatnonzero(why.weights_after)) == set(own.tolist())


def _fitted(**how: Any) -> Any:
    X, y = _data()
    return KNeighborsRegressor(5, **how).fit(X, y)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: _fitted(metric="cosine"), "'fitted' must measure distances by .* Got metric='cosine'"),
        (lambda: _fitted(p=3), "Got metric='minkowski' and p=3"),
        (lambda: _fitted(weights=np.exp), "'fitted' must weigh neighbours alike or by their distance"),
        (lambda: KNeighborsRegressor(3), "must be fitted. Got an unfitted KNeighborsRegressor"),
        (lambda: wh.Newsvendor(1, 1), "must be a fitted KNeighborsRegressor or KNeighborsClassifier"),
        (lambda: KNeighborsClassifier(2).fit(sparse.eye(6, format="csr"), [0, 1] * 3), "dense table"),
    ],
)
def test_models_without_an_exact_search_are_refused(make: Any, words: str) -> None:
    """In one sentence each."""
    with pytest.raises(WhenceError, match=words):
        KNNWeights.of(make())


def test_other_rows_and_columns_are_refused() -> None:
    """A model that is already fitted remembers rows of its own, and the order of its columns."""
    X, y = _data()
    with pytest.raises(InputError, match="'X' must be the 120 rows and 3 columns that the fitted neighbours remember"):
        KNNWeights.of(_fitted()).fit(X[:-1])
    table = pd.DataFrame(X, columns=list("abc"))
    model = KNeighborsRegressor(5).fit(table, y)
    with pytest.raises(InputError, match="'X' must have the columns that the fitted neighbours have seen"):
        wh.Policy(wh.Newsvendor(1, 1), KNNWeights.of(model)).fit(table[list("bac")], y[:, None])


def test_brute_force_in_large_numbers_is_refused() -> None:
    """A model that subtracts squares of seconds since 1970 cannot tell its own neighbours apart."""
    X = 1.7e9 + np.random.default_rng(0).random((60, 2)) * 1000
    model = KNeighborsRegressor(5, algorithm="brute").fit(X, X[:, 0])
    policy = wh.Policy(wh.Newsvendor(1, 3), KNNWeights.of(model)).fit(X, X[:, :1] - 1.7e9)
    with pytest.raises(InputError, match=r"'separation' must be at least .* for the fitted neighbours"):
        policy.explain(X[0], instead=policy.decide(X[0]) + 100)


def test_rounding_boxes_keep_the_neighbours() -> None:
    """In the whole box that numbers may be rounded in, the same observations speak, by every metric."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        X = rng.random((30, 3))
        metric: Any = ["euclidean", np.diag([1.0, 5.0, 0.2]), "l1"][seed % 3]
        weights = KNNWeights(4, metric, scaled=seed % 3 < 2).fit(X)
        start, point = rng.random(3), rng.random(3)
        box = weights.rounding_box(start, point, point, InputMap.identity(3), np.ones(3, dtype=bool))
        if box is None:
            continue
        own = set(weights.neighbours(point).tolist())
        for inside in rng.uniform(*box, (50, 3)):
            assert set(weights.neighbours(inside).tolist()) == own


# ---- kernels -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "biweight", "tricube"])
def test_kernel_weights_follow_their_definition(kernel: str) -> None:
    """Each weight is the kernel's value at its distance in bandwidths, over the sum of all."""
    rng = np.random.default_rng(2)
    X, rows = rng.random((25, 2)), rng.random((9, 2))
    found = KernelWeights(0.7, kernel).fit(X).weights(rows)
    for row, weights in zip(rows, found, strict=True):
        u = [float(np.hypot(*(x - row))) / 0.7 for x in X]
        value = {
            "gaussian": lambda v: float(np.exp(-v * v / 2)),
            "epanechnikov": lambda v: max(0.0, 1 - v * v),
            "biweight": lambda v: max(0.0, 1 - v * v) ** 2,
            "tricube": lambda v: max(0.0, 1 - v**3) ** 3,
        }[kernel]
        values = np.array([value(v) for v in u])
        np.testing.assert_allclose(weights, values / values.sum(), atol=1e-12)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"bandwidth": 0.0}, "'bandwidth' parameter of KernelWeights must be a positive float. Got 0.0"),
        ({"kernel": "box"}, "'kernel' parameter of KernelWeights must be one of 'gaussian'"),
        ({"gap": 1.0}, "'gap' parameter of KernelWeights must be a float above 0 and below 1. Got 1.0"),
        ({"metric": "cosine"}, "'metric' parameter of KernelWeights must be 'l1', 'euclidean'"),
        ({"metric": np.eye(2), "kernel": "tricube"}, "must be 'gaussian' where 'metric' is a matrix"),
        ({"scaled": 1}, "'scaled' parameter of KernelWeights must be True or False"),
    ],
)
def test_parameters_of_kernels_are_checked(how: dict[str, Any], words: str) -> None:
    """What is none is refused by name."""
    with pytest.raises(InputError, match=words):
        KernelWeights(**how).fit(np.eye(2))


def test_copies_of_kernels_are_equal() -> None:
    """Clones and pickles give the same weights, and fingerprints tell kernels apart."""
    X = np.random.default_rng(0).random((20, 2))
    weights = KernelWeights(0.3, "biweight", "l1").fit(X)
    for other in (clone(weights).fit(X), pickle.loads(pickle.dumps(weights))):
        np.testing.assert_array_equal(other.weights(X), weights.weights(X))
    assert repr(list(weights.state())) != repr(list(KernelWeights(0.31, "biweight", "l1").fit(X).state()))
    assert weights.describe() == "a biweight kernel of bandwidth 0.3"
