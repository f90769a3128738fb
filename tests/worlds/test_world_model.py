"""The outcomes in any context, by the predictors that predict unseen rows best."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from whence.errors import InputError
from whence.worlds.bagging import Bagging
from whence.worlds.smoothers import KernelRidge, Ridge
from whence.worlds.world_model import WorldModel, candidates, explained_share

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
    drawn = model.drawn(RNG.integers(120, size=120))
    assert (drawn[:, 0] == np.rint(drawn[:, 0])).all()
    assert drawn[:, 0].min() == 0.0
    assert drawn[:, 1].min() < 0.0
    assert (drawn[:, 1] != np.rint(drawn[:, 1])).any()
    around = model.around(model.mean(X[:1])[0], [3, 4])
    assert around.shape == (2, 2)
    assert (around[:, 0] >= 0.0).all()


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
