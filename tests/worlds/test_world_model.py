"""The outcomes in any context, by the predictors that predict unseen rows best."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression

from whence.errors import InputError
from whence.worlds.bagging import Bagging
from whence.worlds.smoothers import KernelRidge, Ridge
from whence.worlds.world_model import WorldModel, candidates, drawn_rows, explained_share, local_share

RNG = np.random.default_rng(3)
X = RNG.random((120, 3))


@pytest.mark.parametrize(
    ("mean", "least"),
    [
        (lambda x: 40 + 20 * x[:, :1] - 10 * x[:, 1:2], 0.8),
        (lambda x: 40 + 20 * np.sin(5 * x[:, :1]), 0.8),
        (lambda x: 40 + 20 * (x[:, :1] > 0.5), 0.7),
    ],
)
def test_means_of_many_shapes_are_found(mean: object, least: float) -> None:
    """Lines, waves and steps are explained on rows that were left out, and the mean is near the true one."""
    truth = mean(X)  # type: ignore[operator]
    Y = truth + RNG.normal(size=truth.shape)
    model = WorldModel(X, Y, seed=0)
    assert model.explained > least
    assert model.shares.sum() == pytest.approx(1.0)
    new = RNG.random((200, 3))
    assert explained_share(mean(new), model.mean(new)) > least  # type: ignore[operator]


def test_the_same_seed_gives_the_same_world() -> None:
    """A model follows from data and seed alone."""
    Y = 5 * X[:, :2] + RNG.normal(size=(120, 2))
    first, second = (WorldModel(X, Y, seed=4) for _ in range(2))
    assert (first.mean(X[:5]) == second.mean(X[:5])).all()
    assert (first.errors == second.errors).all()


def test_outcomes_stay_what_they_can_be() -> None:
    """Counts stay whole and none falls below 0; amounts of both signs stay as they come."""
    counts = RNG.poisson(2.0, (120, 1)).astype(float)
    both = RNG.normal(size=(120, 1))
    model = WorldModel(X, np.hstack([counts, both]), seed=0)
    drawn = model.drawn(RNG)
    assert (drawn[:, 0] == np.rint(drawn[:, 0])).all()
    assert drawn[:, 0].min() == 0.0
    assert drawn[:, 1].min() < 0.0
    assert (drawn[:, 1] != np.rint(drawn[:, 1])).any()
    around, chances = next(model.around(X[:1], sparse.csr_matrix((1, 120))))
    assert chances == pytest.approx(1 / 120)
    assert around.shape == (120, 2)
    assert (around[:, 0] >= 0.0).all()


def test_errors_come_from_similar_contexts_as_far_as_their_size_follows_these() -> None:
    """Where errors are as large everywhere, what differs between neighbourhoods is luck: they come from all of them."""
    rng = np.random.default_rng(8)
    at = np.sort(rng.random(400))[:, None]
    near = np.abs(at - at.T) < 0.05
    similar = sparse.csr_matrix(near / near.sum(axis=1)[:, None])
    noise = rng.normal(size=(400, 12))
    assert local_share(similar, noise) < 0.2
    assert 0.7 < local_share(similar, noise * np.exp(2.0 * at)) < 1.0
    assert local_share(sparse.eye(400, format="csr"), noise) == 0.0  # nothing else is similar to any of them
    model = WorldModel(at, noise[:, :1] * np.exp(2.0 * at), 0, similar=similar)
    assert model.local == local_share(similar, model.errors) > 0.7
    model.local = 0.25
    chances = model._chances(similar).toarray()
    assert chances.sum(axis=1) == pytest.approx(1.0)
    anywhere = chances - 0.25 * similar.toarray()
    assert np.ptp(anywhere, axis=0) == pytest.approx(0.0, abs=1e-12)
    assert (anywhere[0] > 1e-6).sum() == 300


def test_errors_have_no_mean_of_their_own_anywhere() -> None:
    """What lucky errors of a few similar contexts add to the mean is no truth."""
    rng = np.random.default_rng(9)
    Y = 5.0 * X[:, :2] + rng.normal(size=(120, 2))
    similar = sparse.csr_matrix(np.repeat(np.eye(24), 5, axis=0) @ np.repeat(np.eye(24), 5, axis=1) / 5.0)
    model = WorldModel(X, Y, 0, similar=similar)
    for local in (1.0, 0.3):
        model.local = local
        model.low[:] = -np.inf
        for mean, (outcomes, chances) in zip(model.mean(X), model.around(X, similar), strict=True):
            assert chances @ outcomes == pytest.approx(mean)
    model._past = model._chances(similar)
    drawn = np.mean([model.drawn(rng) for _ in range(500)], axis=0)
    assert drawn == pytest.approx(model.mean_there, abs=0.25)


def test_errors_are_drawn_with_their_weights() -> None:
    """Of a row of weights, each column comes as often as it weighs."""
    weights = sparse.csr_matrix(np.tile([0.0, 0.7, 0.0, 0.3], (4000, 1)))
    drawn = drawn_rows(weights, np.random.default_rng(0))
    assert set(drawn.tolist()) == {1, 3}
    assert np.mean(drawn == 1) == pytest.approx(0.7, abs=0.03)


def test_the_users_own_model_is_tried() -> None:
    """It is one of the candidates, and one that predicts nothing finite is refused."""

    class Nothing(LinearRegression):
        def predict(self, X: object) -> object:
            return np.full(np.shape(X)[0], np.nan)

    Y = X[:, :1]
    assert "your LinearRegression" in [one.name for one in candidates(X, Y, LinearRegression())]
    with pytest.raises(InputError, match="'world' must predict finite numbers") as caught:
        WorldModel(X, Y, 0, Nothing())
    assert caught.value.parameter == "world"


def test_ridge_is_least_squares_where_nothing_is_to_be_gained_by_a_penalty() -> None:
    """Without noise the line, or the quadratic, is found."""
    line = 3 + X @ np.array([[1.0], [-2.0], [0.5]])
    assert Ridge().fit(X, line).predict(X) == pytest.approx(line, abs=1e-4)
    square = line + 4 * X[:, :1] * X[:, 1:2]
    assert Ridge(squares=True).fit(X, square).predict(X) == pytest.approx(square, abs=1e-3)


def test_a_kernel_finds_waves() -> None:
    """Between past contexts, too."""
    waves = np.sin(6 * X[:, :1]) + X[:, 1:2]
    new = RNG.random((50, 3)) * 0.8 + 0.1
    missed = KernelRidge().fit(X, waves).predict(new) - (np.sin(6 * new[:, :1]) + new[:, 1:2])
    assert np.abs(missed).mean() < 0.1


def test_a_forest_says_of_rows_what_trees_say_that_have_not_seen_them() -> None:
    """With noise alone, what is said of rows that were seen is near to them, and of unseen ones it is not."""
    noise = np.random.default_rng(5).normal(size=(120, 2))
    model = Bagging().fit(X, noise, seed=1)
    seen, unseen = (float(((noise - said) ** 2).mean()) for said in (model.predict(X), model.unseen))
    assert seen < 0.75 < 0.95 < unseen
    assert (Bagging().fit(X, noise, seed=1).predict(X) == model.predict(X)).all()
    assert (Bagging().fit(X, noise, seed=2).predict(X) != model.predict(X)).any()


def test_a_forest_predicts_where_numbers_are_missing() -> None:
    """A missing number goes to one side of a split, as others like it did."""
    gaps = X.copy()
    gaps[::3, 0] = np.nan
    outcomes = np.where(np.isnan(gaps[:, :1]), 50.0, 10.0)
    said = Bagging().fit(gaps, outcomes, seed=0).predict(gaps)
    assert np.abs(said - outcomes).mean() < 5.0
