"""What every predictor of weights offers, and what the defaults of the contract do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError, NotFittedError
from whence.report.fingerprint import digest
from whence.weights import InputMap, KNNWeights, TreeWeights, Weights
from whence.weights.base import as_matrix


class Kernel(Weights):
    """Weights that fall with the distance: the least that a predictor must write."""

    def __init__(self, width: float = 0.2) -> None:
        self.width = width

    def fit(self, X: Any, Y: Any = None) -> Kernel:
        """Remember the contexts."""
        self.points_ = as_matrix(X, self.dtype)
        self.n_samples_, self.n_features_in_ = self.points_.shape
        return self

    def rows(self, X: Any) -> Any:
        """Gaussian weights."""
        near = np.exp(-np.square((X[:, None, :] - self.points_) / self.width).sum(axis=2))
        return near / near.sum(axis=1, keepdims=True)


def points(n: int = 30, d: int = 2) -> np.ndarray:
    """Random contexts."""
    return np.random.default_rng(1).random((n, d))


def every() -> list[Weights]:
    """Fitted weights of all kinds."""
    X = points()
    Y = X[:, :1]
    frozen = wh.ForestWeights.of(RandomForestRegressor(4, max_depth=3, random_state=0).fit(X, Y[:, 0]))
    made = [paper_forest(5, random_state=0), frozen, KNNWeights(4), Kernel()]
    return [weights.fit(X, Y) for weights in made]


@pytest.mark.parametrize("weights", every(), ids=lambda weights: type(weights).__name__)
def test_weights_are_shares_in_every_form(weights: Weights) -> None:
    """Rows sum to one; dense, sparse and single rows agree; the estimator's own word is the same."""
    rows = points(7)[:, ::-1]
    found = weights.weights(rows)
    assert found.sum(axis=1) == pytest.approx(np.ones(7))
    assert np.array_equal(weights.weights(rows, as_sparse=True).toarray(), found)
    assert np.array_equal(weights.at(rows[3]), found[3])
    assert weights.confirmed(rows[3], separation=0.0) == pytest.approx(found[3])


@pytest.mark.parametrize("weights", every(), ids=lambda weights: type(weights).__name__)
def test_a_box_to_round_in_keeps_the_weights(weights: Weights) -> None:
    """Wherever a box is given, its corners have the weights of the point."""
    start, point = points()[0], points()[1] + 0.01
    box = weights.rounding_box(start, point, point, InputMap.identity(2), np.array([True, True]))
    if box is None:
        assert not isinstance(weights, TreeWeights)
        return
    inside = np.clip(np.array(box), point - 1.0, point + 1.0)
    for corner in inside:
        assert weights.at(corner) == pytest.approx(weights.at(point))


@pytest.mark.parametrize("weights", every(), ids=lambda weights: type(weights).__name__)
def test_the_state_tells_fitted_weights_apart(weights: Weights) -> None:
    """Fitted again to the same data the state has the same fingerprint, to other data another."""
    X = points()
    again = clone(weights).fit(X, X[:, :1])
    other = clone(weights).fit(X[::-1], X[::-1, :1])
    assert digest(list(weights.state())) == digest(list(again.state())) != digest(list(other.state()))


@pytest.mark.parametrize("weights", every(), ids=lambda weights: type(weights).__name__)
def test_a_trial_is_fitted_like_the_weights_themselves(weights: Weights) -> None:
    """Whatever is quick to fit is of the same kind, and the original stays as it is."""
    before = weights.get_params()
    trial = weights.for_trial()
    assert type(trial) is type(weights)
    assert trial.fit(points(), points()[:, :1]).n_samples_ == 30
    assert weights.get_params() == before
    assert weights.describe()


def test_columns_and_shapes_are_checked() -> None:
    """Rows before fit, of another width, or not finite are refused with a sentence."""
    with pytest.raises(NotFittedError, match="This Kernel is not fitted yet"):
        Kernel().weights([[0.0]])
    fitted = Kernel().fit(points())
    with pytest.raises(InputError, match=r"'X' must be of shape \(rows, 2\). Got shape \(1, 3\)") as caught:
        fitted.weights([[0.0, 1.0, 2.0]])
    assert caught.value.parameter == "X"
    with pytest.raises(InputError, match="'X' must be finite"):
        fitted.weights([[0.0, np.nan]])


def test_only_neighbours_need_a_separation() -> None:
    """A separation is kept, and named, where neighbours could be equally far."""
    assert [weights.capabilities.needs_separation for weights in every()] == [False, False, True, False]
    assert [weights.capabilities.sees_units for weights in every()] == [False, True, False, False]


def test_thresholds_are_those_of_the_splits() -> None:
    """Trees turn at their thresholds only; other weights anywhere."""
    forest, _, knn, kernel = every()
    assert isinstance(forest, TreeWeights)
    splits = {float(t) for tree in forest.trees for t, f in zip(tree.threshold, tree.feature, strict=True) if f == 1}
    assert set(forest.thresholds(1).tolist()) == splits
    assert knn.thresholds(1) is None
    assert kernel.thresholds(0) is None


def test_weights_of_ones_own_decide() -> None:
    """A policy takes any weights; what it decides is best under them."""
    X = points()
    policy = wh.Policy(wh.Newsvendor(1, 3), Kernel()).fit(X, 10 + 20 * X[:, :1])
    made = policy.decision(X[3])
    assert made.plan == pytest.approx(policy.decide(X[3]))
    assert made.weights == pytest.approx(policy.weights_at(X[3]))
    assert made.costs == pytest.approx(policy.problem.costs(made.plan, policy.Y_))
    assert made.cost == pytest.approx(made.weights @ made.costs)
    with pytest.raises(TypeError, match="'weights' must be TreeWeights, KNNWeights"):
        policy.explain(X[3], instead=[20.0])


def test_both_sides_of_a_turn_stay_apart() -> None:
    """Whatever scaling loses, coordinates lie on the side of their inputs, and no input of the other side on them."""
    rng = np.random.default_rng(6)
    size = 4000
    offset = rng.choice([0.0, 1.0, -3.5, 1000.0, 1.7e9], size) + rng.normal(size=size)
    scale = 10.0 ** rng.uniform(-9, 9, size)
    inputs = InputMap(np.arange(size), scale, offset)
    last = offset + scale * rng.uniform(-0.2, 1.2, size)
    first = np.nextafter(last, np.inf)
    below, beyond = inputs.sides(np.arange(size), last, first)
    assert (below * scale + offset <= last).all()
    assert (beyond * scale + offset >= first).all()
    assert ((first - offset) / scale > below).all()
    assert ((last - offset) / scale < beyond).all()
    # They are as near to the turn as the numbers on either side of it allow.
    wide = 8.0 * (np.spacing(np.abs(last) + np.abs(offset)) / scale + np.spacing(np.abs(below) + 1.0))
    assert (beyond - below <= wide).all()


def test_coordinates_that_are_inputs_are_left_alone() -> None:
    """Without scaling the sides of a turn are the inputs themselves."""
    last = np.array([0.5, -2.25, 1e-9])
    first = np.nextafter(last, np.inf)
    below, beyond = InputMap.identity(3).sides(np.arange(3), last, first)
    assert np.array_equal(below, last)
    assert np.array_equal(beyond, first)
