"""Honest forests of econml: which rows weigh in which tree, where it splits, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from econml.dml import CausalForestDML
from econml.grf import CausalForest, CausalIVForest, MultiOutputGRF, RegressionForest
from econml.orf import DMLOrthoForest
from econml.policy import PolicyForest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from tests.econml_cases import counted_rows, splits
from tests.predictors import case, disagreement, library_of, on_turns, weights_by_leaves

from whence import Ensemble, Newsvendor, Policy
from whence.errors import InputError, InputTypeError, NotFittedError
from whence.weights import ForestWeights


def table(seed: int = 0, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    return X, 20 + 4 * X[:, 0] + 2 * (X[:, 1] > 0) + rng.normal(size=n)


def forest(**options: Any) -> RegressionForest:
    return RegressionForest(n_estimators=24, n_jobs=1, random_state=3, **options)


def test_weights_are_what_econml_forecasts_with() -> None:
    """The weighted mean of the past outcomes is the forecast of econml itself, also on thresholds and beside them."""
    for options in ({}, {"inference": False, "max_samples": 0.9}, {"honest": False}, {"subforest_size": 2}):
        X, y = table(len(options))
        both = np.column_stack([y, np.sin(5 * y)])
        model = forest(**options).fit(X, both)
        weights = ForestWeights.of(model).fit(X, both)
        rows = np.random.default_rng(0).normal(size=(300, 3)).round(1)
        for j in range(3):
            cuts = splits(model, j)
            near = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])
            rows[:200, j] = np.random.default_rng(j).choice(near, 200)
        found = weights.weights(rows)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        np.testing.assert_allclose(found @ both, model.predict(rows), rtol=1e-9, atol=1e-9)
        # Of a leaf with few rows, not half of them weigh in a tree.
        assert (found > 0.0).mean() < 0.9


def test_effects_are_solved_with_the_same_weights() -> None:
    """The effect that a causal forest reports solves the moment of its paper, weighted by ours."""
    X, y = table(1)
    rng = np.random.default_rng(1)
    T = rng.normal(size=(len(X), 1))
    Z = T + 0.1 * rng.normal(size=T.shape)
    options = {"n_estimators": 8, "n_jobs": 1, "random_state": 0}
    for model, by in (
        (CausalForest(**options).fit(X, T, y), T),
        (CausalIVForest(**options).fit(X, T, y, Z=Z), Z),
    ):
        found = ForestWeights.of(model).fit(X, y).weights(X[:20] + 0.05)
        effects = np.ravel(model.predict(X[:20] + 0.05))
        for w, effect in zip(found, effects, strict=True):
            left, right = np.column_stack([by, np.ones(len(X))]), np.column_stack([T, np.ones(len(X))])
            solved = np.linalg.solve(left.T @ (w[:, None] * right), left.T @ (w * y))
            assert solved[0] == pytest.approx(effect, rel=1e-6)


def test_nearest_explanations_agree_with_brute_force() -> None:
    """Random questions are answered as by looking at every cell, with econml's own leaves and rows."""
    for seed in range(24):
        assert disagreement(case("econml", seed)) == "", f"case('econml', {seed})"


def test_contexts_on_thresholds_agree_with_brute_force() -> None:
    """A context next to thresholds is on the side that econml puts it."""
    for seed in range(12):
        asked = on_turns("econml", seed)
        assert asked is None or disagreement(asked) == "", f"on_turns('econml', {seed})"


def test_the_integer_program_agrees_with_brute_force() -> None:
    """A second judge that shares no search gives the same answers."""
    for seed in range(4):
        assert disagreement(case("econml", seed), engine="milp") == "", f"case('econml', {seed})"


def test_leaves_of_the_arrays_are_those_of_econml() -> None:
    """Weights on random rows are shares in the leaves that `apply` names, of the rows that weigh there."""
    for seed in range(12):
        asked = case("econml", seed)
        how, X = library_of("econml"), asked.policy.X_
        rows = X.sample(100, replace=True, random_state=seed).reset_index(drop=True)
        past, here, counted = how.leaves(asked.model, X), how.leaves(asked.model, rows), counted_rows(asked.model)
        wanted = [weights_by_leaves(past, leaves, counted=counted) for leaves in here]
        np.testing.assert_allclose(asked.policy.weights_.weights(asked.policy._inputs(rows)), wanted, atol=1e-12)


def test_other_rows_than_those_of_the_training_are_refused() -> None:
    """Fewer rows, or the same ones in another order, would weigh where the forest does not let them."""
    X, y = table()
    weights = ForestWeights.of(forest().fit(X, y))
    with pytest.raises(InputError, match=r"'X' must have the 200 rows that the fitted econml forest was trained on"):
        clone(weights).fit(X[:150], y[:150])
    with pytest.raises(InputError, match="was trained on, in their order and with the same rows"):
        clone(weights).fit(X[::-1], y)
    with pytest.raises(InputError, match=r"must be finite"):
        weights.fit(np.where(X > 1.0, np.nan, X), y)
    # Whoever says which rows count may give others.
    given = ForestWeights.of(weights.frozen, counted=np.ones((24, 150), dtype=bool)).fit(X[:150], y[:150])
    assert given.weights(X[:1]).shape == (1, 150)


def test_rows_without_weight_are_in_no_leaf() -> None:
    """A forest that was trained with weights of 0 takes the same weights; rows of weight 0 do not speak."""
    X, y = table(2)
    mass = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    weights = ForestWeights.of(forest().fit(X, y, sample_weight=mass)).fit(X, y, sample_weight=mass)
    found = weights.weights(X[:30])
    np.testing.assert_allclose(found @ y, weights.frozen.predict(X[:30])[:, 0], rtol=1e-9)
    assert (found[:, mass == 0.0] == 0.0).all()
    with pytest.raises(InputError, match="with the same rows of 'sample_weight' 0"):
        clone(weights).fit(X, y)
    # A forest of the same rows without weights is also taken with weights, and with other ones.
    assert ForestWeights.of(forest().fit(X, y)).fit(X, y, sample_weight=mass).weights(X[:1]).sum() == pytest.approx(1)


def test_forests_in_other_models_are_found() -> None:
    """Double machine learning holds a forest for its one outcome, and a policy forest is one like the others."""
    X, y = table(4)
    T = np.random.default_rng(4).normal(size=len(X))
    nuisance = {"model_y": LinearRegression(), "model_t": LinearRegression()}
    model = CausalForestDML(n_estimators=8, n_jobs=1, random_state=0, **nuisance).fit(y, T, X=X)
    inner = model.model_cate.estimators_[0]
    found = [ForestWeights.of(one).fit(X, y).weights(X[:9]) for one in (model, model.model_cate, inner)]
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[2])
    chosen = PolicyForest(n_estimators=6, n_jobs=1, random_state=0).fit(X, np.column_stack([y, 20 + X[:, 1]]))
    assert ForestWeights.of(chosen).fit(X, y).weights(X[:2]).sum() == pytest.approx(2.0)


def test_what_cannot_be_read_is_refused() -> None:
    """A model that is not fitted, one with a featurizer, and one that does not say which rows weigh."""
    X, y = table(5)
    with pytest.raises(NotFittedError, match=r"'fitted' must be fitted. Got an unfitted RegressionForest instead"):
        ForestWeights.of(RegressionForest())
    with pytest.raises(InputTypeError, match=r"or a forest of econml. Got DMLOrthoForest instead"):
        ForestWeights.of(DMLOrthoForest())
    T = np.random.default_rng(5).normal(size=len(X))
    two = MultiOutputGRF(CausalForest(n_estimators=4, n_jobs=1)).fit(X, T, np.column_stack([y, y]))
    with pytest.raises(InputError, match=r"'fitted' must have one outcome. Got 2, with a forest for each"):
        ForestWeights.of(two)


def test_forecasts_are_asked_directly_where_they_are_sums() -> None:
    """The forecast of a regression forest crosses a value where econml says so; an effect is no sum over trees."""
    X, y = table(6)
    model = forest().fit(X, y)
    forecasts = model.predict(X)[:, 0]
    wanted = float(np.quantile(forecasts, 0.8))
    why = Ensemble(model).fit(X).explain(X[int(np.argmin(forecasts))], at_least=wanted)
    assert why.status == "optimal"
    assert model.predict(why.context.to_numpy(dtype=float)[None, :])[0, 0] >= wanted - why.tolerance
    with pytest.raises(InputError, match="'model' must forecast a sum over its trees, as a RegressionForest"):
        Ensemble(CausalForest(n_estimators=4, n_jobs=1).fit(X, y, y))
    with pytest.raises(InputError, match="Input X contains NaN"):
        Ensemble(model).fit(np.where(X > 1.0, np.nan, X))


def test_clone_pickle_and_engines() -> None:
    """Neither `clone` nor saving loses which rows weigh; both engines find the same context."""
    X, y = table(7, n=60)
    policy = Policy(Newsvendor(holding=1, backorder=3), ForestWeights.of(forest(max_depth=2).fit(X, y))).fit(X, y)
    again = pickle.loads(pickle.dumps(policy))
    np.testing.assert_array_equal(clone(policy.weights_).fit(X, y).weights(X), policy.weights_.weights(X))
    np.testing.assert_array_equal(again.weights_.weights(X), policy.weights_.weights(X))
    plan = policy.decide(X[0]) + 1.0
    answers = [policy.explain(X[0], instead=plan, engine=engine) for engine in ("search", "milp")]
    assert answers[0].status == answers[1].status
    assert answers[0].distance == pytest.approx(answers[1].distance, abs=1e-9)
    assert answers[0].verify(again)
    assert "econml" in policy.weights_.describe()
