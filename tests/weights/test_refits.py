"""Refits: other fits of the same weights, reproducible, kept, and counted on the past observations."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from tests.forests import paper_forest

from whence.errors import InputError
from whence.weights import ForestWeights, KNNWeights
from whence.weights.refits import Refits, refits_of


def history(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, 10 * X[:, :1] + rng.random((n, 2))


@pytest.fixture
def forest():
    X, Y = history()
    return paper_forest(n_trees=10, random_state=3).fit(X, Y), X, Y


@pytest.mark.parametrize("kind", ["seed", "bootstrap"])
def test_weights_of_a_refit_are_weights_of_the_past_observations(forest, kind):
    weights, X, Y = forest
    refits = Refits(weights, X, Y, kind)
    for number in range(3):
        found = refits.weights_at(number, X[7])
        assert found.shape == (60,)
        assert found.min() >= 0.0
        assert found.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", ["seed", "bootstrap"])
def test_refits_follow_from_the_random_state_alone(kind):
    X, Y = history()
    rows = []
    for _ in range(2):
        weights = paper_forest(n_trees=10, random_state=3).fit(X, Y)
        rows.append([Refits(weights, X, Y, kind).weights_at(i, X[5]) for i in (0, 1, 2)])
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0][0], rows[0][1])
    other = paper_forest(n_trees=10, random_state=4).fit(X, Y)
    assert not np.array_equal(Refits(other, X, Y, kind).weights_at(0, X[5]), rows[0][0])


def test_the_order_in_which_refits_are_asked_for_does_not_matter(forest):
    weights, X, Y = forest
    late = Refits(weights, X, Y, "seed").weights_at(4, X[1])
    again = paper_forest(n_trees=10, random_state=3).fit(X, Y)
    early = [Refits(again, X, Y, "seed").weights_at(i, X[1]) for i in range(5)]
    assert np.array_equal(late, early[4])


def test_refits_are_kept_with_the_weights_and_saved_with_them(forest, monkeypatch):
    weights, X, Y = forest
    before = Refits(weights, X, Y, "seed").weights_at(0, X[2])
    again = pickle.loads(pickle.dumps(weights))
    monkeypatch.setattr(ForestWeights, "fit", None)  # a refit that was not kept would call it
    assert np.array_equal(Refits(again, X, Y, "seed").weights_at(0, X[2]), before)


def test_a_bootstrap_refit_of_neighbours_is_that_of_the_rows_drawn():
    X, Y = history(n=30, d=1)
    weights = KNNWeights(k=4).fit(X, Y)
    found = Refits(weights, X, Y, "bootstrap").weights_at(0, X[3])
    # Rows drawn several times count several times among the four nearest.
    order = np.argsort(np.abs(X[:, 0] - X[3, 0]))
    assert np.allclose(found * 4, np.round(found * 4))
    far = np.abs(X[:, 0] - X[3, 0])
    assert far[found > 0].max() <= far[order[12]]


def test_what_cannot_be_refitted_is_refused_in_a_sentence():
    X, Y = history()
    frozen = ForestWeights.of(RandomForestRegressor(5, random_state=0).fit(X, Y)).fit(X, Y)
    with pytest.raises(InputError, match="given fitted cannot be fitted again"):
        refits_of(frozen, X, Y)
    with pytest.raises(InputError, match="no random numbers"):
        Refits(KNNWeights(k=2).fit(X, Y), X, Y, "seed")
    with pytest.raises(InputError, match="'refits' must be 'seed' or 'bootstrap'"):
        Refits(KNNWeights(k=2).fit(X, Y), X, Y, "none")  # type: ignore[arg-type]


def test_without_a_kind_what_is_random_is_drawn_anew(forest):
    weights, X, Y = forest
    assert refits_of(weights, X, Y).kind == "seed"
    assert refits_of(KNNWeights(k=2).fit(X, Y), X, Y).kind == "bootstrap"
