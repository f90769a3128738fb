"""Neighbours that count by the inverse of their distance, against a fine grid of contexts and scikit-learn itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from tests.cases import OneOf

import whence as wh
from whence.errors import WhenceError
from whence.risk import CVaR
from whence.weights import KNNWeights


def _history(n: int = 200, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = np.round(rng.random((n, d)) * np.array([1.0, 50.0, 9.0, 3.0])[:d], 3)
    Z = X / np.array([1.0, 50.0, 9.0, 3.0])[:d]
    return X, np.column_stack([Z[:, 0] + 0.1 * rng.normal(size=n), Z[:, 1] + 0.1 * rng.normal(size=n)])


@pytest.mark.parametrize(
    "how",
    [
        {"p": 2, "algorithm": "kd_tree"},
        {"p": 1, "algorithm": "kd_tree"},
        {"metric": "seuclidean", "metric_params": {"V": np.array([0.1, 200.0, 8.0])}, "algorithm": "brute"},
    ],
)
def test_weights_and_answers_are_those_of_scikit_learn(how: dict[str, Any]) -> None:
    """A fitted model's own predictions are the weighted means, also at past contexts; and its answers are verified."""
    X, Y = _history()
    model = KNeighborsRegressor(8, weights="distance", **how).fit(X, Y)
    policy = wh.Policy(OneOf(), wh.KNNWeights.of(model)).fit(X, Y)
    rows = np.vstack([X[:20], np.random.default_rng(2).random((50, 3)) * [1.0, 50.0, 9.0]])
    assert np.allclose(policy.weights_.weights(rows) @ Y, model.predict(rows), rtol=1e-9)
    for kind in ("relative", "absolute"):
        why = policy.explain([0.1, 45.0, 5.0], 1, kind=kind, time_limit=30)
        assert why.status == "optimal"
        assert 0.0 <= why.distance - why.bound <= 0.01 * why.distance + 1e-9
        before, after = model.predict(np.array([[0.1, 45.0, 5.0], why.context.to_numpy(float)]))
        assert before[0] < before[1]
        assert after[1] <= after[0] + why.tolerance
        assert "gap that was allowed" in why.report.text
        assert why.verify(policy, prove=True)
    assert KNNWeights.of(KNeighborsClassifier(3, weights="distance").fit(X, Y.argmin(axis=1))).by_distance


def test_what_else_can_be_asked() -> None:
    """Few changes, relations, usual contexts and sets of plans; the tail of costs; and parameters by name."""
    X, Y = _history()
    weights = wh.KNNWeights(8, weights="distance", gap=0.05)
    policy = wh.Policy(OneOf(), weights, CVaR(0.7)).fit(X, Y)
    plain = policy.explain([0.1, 45.0, 5.0], 1, time_limit=30)
    few = policy.explain([0.1, 45.0, 5.0], 1, max_changes=1, time_limit=30)
    usual = policy.explain([0.1, 45.0, 5.0], 1, plausible=0.2, time_limit=30)
    related = policy.explain([0.1, 45.0, 5.0], 1, relations=["x2 >= 60 * x0"], time_limit=30)
    assert len(few.changes) == 1
    assert all(one.status == "optimal" and one.distance >= plain.bound - 1e-9 for one in (few, usual, related))
    assert related.context["x2"] >= 60 * related.context["x0"] - 1e-6
    assert weights.get_params() == {"k": 8, "metric": "l1", "scaled": True, "weights": "distance", "gap": 0.05}
    assert weights.set_params(weights="uniform").capabilities.proof_gap == 0.0
    assert policy.get_params()["weights__weights"] == "uniform"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"confidence": 1.0}, "'confidence' must be 0 for neighbours that count by their distance"),
        ({"engine": "milp"}, "'engine' must be 'search' for neighbours that count by their distance"),
    ],
)
def test_what_no_bound_is_made_for_is_refused(how: dict[str, Any], words: str) -> None:
    """In one sentence, before any search; and so are parameters that make no sense."""
    X, Y = _history()
    with pytest.raises(WhenceError, match=words):
        wh.Policy(OneOf(), wh.KNNWeights(5, weights="distance")).fit(X, Y).explain([0.1, 45.0, 5.0], 1, **how)
    with pytest.raises(WhenceError, match="'weights' parameter of KNNWeights must be 'uniform' or 'distance'"):
        wh.KNNWeights(5, weights="near").fit(X)
    with pytest.raises(WhenceError, match="'gap' parameter of KNNWeights must be a float above 0 and below 1"):
        wh.KNNWeights(5, weights="distance", gap=0).fit(X)
    with pytest.raises(WhenceError, match="'fitted' must weigh neighbours alike or by their distance"):
        KNNWeights.of(KNeighborsRegressor(5, weights=lambda far: far).fit(X, Y))


def test_where_nothing_may_change_there_is_none() -> None:
    """By Euclidean distance too, for one plan and for a set."""
    X, Y = _history(40)
    policy = wh.Policy(OneOf(), wh.KNNWeights(5, "euclidean", weights="distance")).fit(X, Y)
    today = X[int(np.argmin(X[:, 0]))]
    for instead in (1 - policy.decide(today), OneOf().only([1 - policy.decide(today)])):
        assert policy.explain(today, instead, fixed=["x0", "x1", "x2"]).status == "none"
