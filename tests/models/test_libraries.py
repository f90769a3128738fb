"""Models of other libraries: their leaves, how they compare, categories, missing values, and what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from tests.predictors import LIBRARIES, case, disagreement, on_turns, weights_by_leaves

from whence import Newsvendor, Policy
from whence.errors import InputError, InputTypeError, NotFittedError
from whence.models import read
from whence.models.fitted_forest import ReadForestWeights
from whence.weights import ForestWeights

READ = ("xgboost", "lightgbm", "catboost", "histogram")


def awkward_rows(library: str, seed: int, count: int) -> tuple[Any, pd.DataFrame]:
    """A policy on a small model, and rows that are drawn from past values, thresholds, numbers beside them and NaN."""
    asked = case(library, seed)
    how, X, rng = LIBRARIES[library], asked.policy.X_, np.random.default_rng(seed)
    columns = {}
    for j, name in enumerate(X.columns):
        values = list(X[name])
        if name[0] in "crz":
            cuts = how.splits(asked.model, j)
            near = np.nextafter(cuts.astype(np.float32), np.float32(np.inf)).astype(np.float64)
            values += [*cuts, *np.nextafter(cuts, np.inf), *np.nextafter(cuts, -np.inf), *near, 0.0]
            values += [np.nan] * (len(values) // 8) if how.missing else []
        columns[name] = pd.Series([values[i] for i in rng.integers(len(values), size=count)]).astype(X[name].dtype)
    return asked, pd.DataFrame(columns)


@pytest.mark.parametrize("library", LIBRARIES)
def test_weights_are_those_of_the_models_own_leaves(library: str) -> None:
    """On rows with values on thresholds, beside them, at 0 and missing, weights are shares in the model's leaves."""
    how = LIBRARIES[library]
    for seed in range(8):
        asked, rows = awkward_rows(library, seed, 250)
        past, here = how.leaves(asked.model, asked.policy.X_), how.leaves(asked.model, rows)
        found = asked.policy.weights_.weights(asked.policy._inputs(rows))
        wanted = np.array([weights_by_leaves(past, leaves, how.symmetric, asked.model) for leaves in here])
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("library", READ)
def test_the_arrays_that_are_searched_lead_to_the_models_own_leaves(library: str) -> None:
    """The same rows, where nothing is missing, reach by the arrays the leaves that the model names."""
    for seed in range(8):
        asked, rows = awkward_rows(library, seed, 250)
        weights = asked.policy.weights_
        inputs = asked.policy._inputs(rows)
        inputs = inputs[~np.isnan(inputs).any(axis=1)]
        leaves = weights._leaves(inputs)
        for t, tree in enumerate(weights.trees):
            np.testing.assert_array_equal(tree.leaf[tree.apply(inputs)], leaves[:, t])


@pytest.mark.parametrize("library", READ)
def test_splits_on_what_is_missing_are_decided(library: str) -> None:
    """With some columns missing, the arrays for that case lead to the leaves that the model names for NaN."""
    looked = 0
    for seed in range(20):
        asked, rows = awkward_rows(library, seed, 120)
        inputs = asked.policy._inputs(rows)
        for gone in np.unique(np.isnan(inputs), axis=0):
            own = inputs[(np.isnan(inputs) == gone).all(axis=1)]
            view = asked.policy.weights_.lacking(frozenset(np.flatnonzero(gone).tolist()))
            leaves = view._leaves(own)
            looked += len(own) * bool(gone.any())
            for t, tree in enumerate(view.trees):
                np.testing.assert_array_equal(tree.leaf[tree.apply(np.nan_to_num(own, nan=7.7))], leaves[:, t])
    assert looked > 50


def test_contexts_on_the_turn_of_a_threshold() -> None:
    """A context whose numbers lie next to thresholds is on the side that scikit-learn puts it, up to the last digit."""
    for seed in (94, 200, 250, 268, 305, 357, 397, *range(12)):
        asked = on_turns("forest", seed)
        assert asked is None or disagreement(asked) == "", f"on_turns('forest', {seed})"


@pytest.mark.parametrize("library", READ)
def test_the_integer_program_agrees_with_brute_force(library: str) -> None:
    """A second judge that shares no search gives the same answers."""
    for seed in range(4):
        assert disagreement(case(library, seed), engine="milp") == "", f"case({library!r}, {seed})"


def table(seed: int = 0, n: int = 80) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"heat": rng.normal(size=n).round(1), "rain": rng.random(n).round(2)})
    X["day"] = pd.Categorical(rng.choice(["mon", "tue", "sun"], n), categories=["mon", "tue", "sun", "never"])
    return X, pd.DataFrame({"sold": 20 + 4 * X["heat"] + 6 * (X["day"] == "sun")})


MODELS = {
    "xgboost": lambda: xgboost.XGBRegressor(n_estimators=4, max_depth=3, n_jobs=1, enable_categorical=True),
    "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=4, min_child_samples=3, verbose=-1, n_jobs=1),
    "histogram": lambda: HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=3),
}


@pytest.mark.parametrize("library", MODELS)
def test_a_category_that_the_model_never_saw_goes_where_the_model_sends_it(library: str) -> None:
    """A level that no past row has is none that an explanation suggests, yet a context may have it."""
    X, Y = table()
    model = MODELS[library]().fit(X, Y["sold"])
    policy = Policy(Newsvendor(holding=1, backorder=3), ForestWeights.of(model)).fit(X, Y)
    row = X.iloc[0].copy()
    row["day"] = "never"
    given = pd.DataFrame([row]).astype({"heat": float, "rain": float})
    given["day"] = pd.Categorical(given["day"], categories=X["day"].cat.categories)
    leaves = LIBRARIES[library].leaves
    wanted = weights_by_leaves(leaves(model, X), leaves(model, given)[0])
    np.testing.assert_allclose(policy.weights_at(row), wanted, atol=1e-12)
    why = policy.explain(row, instead=policy.decide(row) + 5.0)
    assert why.context is None or why.context["day"] in ("never", "mon", "tue", "sun")


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost", "histogram"])
def test_clone_pickle_and_refit_keep_the_model(library: str) -> None:
    """Neither `clone` nor `fit` trains the model again, and a pickled policy gives the same weights and answers."""
    asked = case(library, 3)
    weights = asked.policy.weights_
    copied = clone(weights)
    assert isinstance(copied, ReadForestWeights)
    assert copied.frozen is asked.model
    assert not hasattr(copied, "members_")
    again = pickle.loads(pickle.dumps(asked.policy))
    inputs = asked.policy._inputs(asked.policy.X_)
    np.testing.assert_array_equal(again.weights_.weights(inputs), weights.weights(inputs))
    why = asked.explained()
    asked.policy = again
    assert asked.explained().distance == why.distance
    assert why.verify(again)


def test_nobody_is_imported_who_is_not_used() -> None:
    """A forest of scikit-learn's own needs none of the other libraries."""
    code = (
        "import sys, whence as wh; from sklearn.ensemble import RandomForestRegressor as F;"
        "wh.ForestWeights.of(F(2).fit([[0.0], [1.0]], [0, 1])).fit([[0.0], [1.0]], [[0], [1]]);"
        "print({'xgboost', 'lightgbm', 'catboost', 'quantile_forest', 'econml'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
def test_catboost_splits_categories_one_by_one(policy: str) -> None:
    """With one-hot categories, weights are those of the model's leaves and explanations those of brute force."""
    moved = 0
    for seed in range(6):
        X, Y = table(seed, n=40)
        X["code"] = pd.Categorical(np.random.default_rng(seed).integers(3, 6, 40), categories=[3, 4, 5])
        X["day"] = X["day"].astype(str)
        options = {"iterations": 3, "depth": 3, "verbose": 0, "allow_writing_files": False, "random_seed": seed}
        cats = catboost.CatBoostRegressor(**options, one_hot_max_size=9, grow_policy=policy, thread_count=1)
        model = cats.fit(X, Y["sold"] + 5 * X["code"].astype(int), cat_features=["day", "code"])
        fitted = Policy(Newsvendor(holding=1, backorder=3), ForestWeights.of(model)).fit(X, Y)
        past = model.calc_leaf_indexes(X)
        symmetric = policy == "SymmetricTree"
        for i in range(10):
            row = X.iloc[i].copy()
            row["day"] = ["mon", "tue", "sun"][i % 3]
            leaves = model.calc_leaf_indexes(pd.DataFrame([row]).astype(X.dtypes))[0]
            if symmetric or all((past[:, t] == leaves[t]).any() for t in range(3)):
                wanted = weights_by_leaves(past, leaves, symmetric, model)
                np.testing.assert_allclose(fitted.weights_at(row), wanted, atol=1e-12)
        start, plan = X.iloc[0], fitted.decide(X.iloc[0]) + 4.0
        why = fitted.explain(start, instead=plan, fixed=["heat", "rain"])
        known = []
        for day in ("mon", "tue", "sun"):
            for code in (3, 4, 5):
                row = start.copy()
                row["day"], row["code"] = day, code
                weights = fitted.weights_at(row)
                gap = weights @ (
                    fitted.problem.costs(plan, fitted.Y_) - fitted.problem.costs(fitted.decide(start), fitted.Y_)
                )
                if gap <= 1e-6 * fitted.problem.costs(plan, fitted.Y_).max():
                    known.append(float((day != start["day"]) + (code != start["code"])))
        assert why.distance == min(known, default=np.inf)
        moved += bool(known)
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.weights_at(start), fitted.weights_at(start))
    assert moved > 1


def test_columns_must_be_those_of_the_model() -> None:
    """Other names, another order, another number of columns, or a number for a category are refused."""
    X, Y = table()
    weights = ForestWeights.of(MODELS["lightgbm"]().fit(X, Y["sold"]))
    problem = Newsvendor(holding=1, backorder=3)
    with pytest.raises(
        InputError, match=r"'X' must have the columns that the fitted LightGBM model has seen, in their"
    ):
        Policy(problem, weights).fit(X[["rain", "heat", "day"]], Y)
    numbers = X.assign(day=X["day"].cat.codes)
    with pytest.raises(InputError, match=r"The column 'day' must be a category, as the fitted LightGBM model"):
        Policy(problem, weights).fit(numbers, Y)
    plain = ForestWeights.of(HistGradientBoostingRegressor(max_iter=2).fit(X[["heat", "rain"]].to_numpy(), Y["sold"]))
    with pytest.raises(InputError, match=r"'X' must have the 2 columns that the fitted HistGradientBoosting model"):
        plain.fit(np.zeros((4, 3)), np.zeros(4))


def test_what_cannot_be_read_is_refused() -> None:
    """Linear boosters, zero as a missing value and statistics of categories have no splits to search."""
    X, Y = table()
    numbers = X[["heat", "rain"]]
    with pytest.raises(InputError, match=r"booster='gbtree'. Got 'gblinear' instead"):
        ForestWeights.of(xgboost.XGBRegressor(n_estimators=2, booster="gblinear").fit(numbers, Y["sold"]))
    zero = lightgbm.LGBMRegressor(n_estimators=2, min_child_samples=2, verbose=-1, zero_as_missing=True)
    with pytest.raises(InputError, match=r"must not take 0 for a missing value"):
        ForestWeights.of(zero.fit(numbers, Y["sold"]))
    cats = catboost.CatBoostRegressor(iterations=2, verbose=0, cat_features=["day"], allow_writing_files=False)
    with pytest.raises(InputError, match=r"must split categories themselves, not by statistics"):
        ForestWeights.of(cats.fit(X.astype({"day": str}), Y["sold"]))


@pytest.mark.parametrize(
    "model",
    [
        xgboost.XGBRegressor(),
        lightgbm.LGBMRegressor(),
        catboost.CatBoostRegressor(),
        HistGradientBoostingRegressor(),
    ],
)
def test_an_unfitted_model_is_refused(model: Any) -> None:
    """An estimator that was not fitted has no trees."""
    with pytest.raises(NotFittedError, match=f"'fitted' must be fitted. Got an unfitted {type(model).__name__}"):
        ForestWeights.of(model)


def test_boosters_themselves_are_read() -> None:
    """A Booster of XGBoost or LightGBM gives the weights of the estimator that it belongs to."""
    X, Y = table()
    X = X[["heat", "rain"]]
    for model, booster in (
        (xgboost.XGBRegressor(n_estimators=3, n_jobs=1), lambda m: m.get_booster()),
        (lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1), lambda m: m.booster_),
    ):
        model.fit(X, Y["sold"])
        both = [ForestWeights.of(one).fit(X, Y).weights(X) for one in (model, booster(model))]
        np.testing.assert_array_equal(*both)


def test_a_model_that_stopped_early_is_read_up_to_its_best_round() -> None:
    """What XGBoost no longer uses for its forecasts does not weigh."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), rng.normal(size=120)
    model = xgboost.XGBRegressor(n_estimators=40, early_stopping_rounds=2, n_jobs=1)
    model.fit(X[:80], y[:80], eval_set=[(X[80:], y[80:])], verbose=False)
    found = read(model)
    assert found is not None
    assert len(found.trees) == model.best_iteration + 1 < model.get_booster().num_boosted_rounds()


def test_trees_that_are_not_symmetric_are_read() -> None:
    """CatBoost numbers the leaves of such trees in an order of its own, which the arrays follow."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)).round(1)
    y = X[:, 0] + X[:, 1] ** 2
    for policy in ("Lossguide", "Depthwise"):
        model = catboost.CatBoostRegressor(
            iterations=25, depth=5, grow_policy=policy, verbose=0, allow_writing_files=False, thread_count=1
        ).fit(X, y)
        found = ForestWeights.of(model).fit(X, y).weights(X[:20])
        past = np.asarray(model.calc_leaf_indexes(X))
        np.testing.assert_allclose(found, [weights_by_leaves(past, row) for row in past[:20]], atol=1e-12)


def test_observations_that_count_in_a_tree_are_its_own() -> None:
    """An honest forest: each tree weighs only the half that it was not grown on, and an empty leaf its branch."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    forest = RandomForestRegressor(6, max_depth=3, random_state=0).fit(X, y)
    counted = rng.random((6, 40)) < 0.5
    weights = ForestWeights.of(forest, counted=counted).fit(X, y)
    past, here = forest.apply(X), forest.apply(X[:10])
    for i, found in enumerate(weights.weights(X[:10])):
        wanted = np.zeros(40)
        for t, one in enumerate(forest.estimators_):
            same = _branch(one.tree_, past[:, t], int(here[i, t]), counted[t])
            wanted[same] += 1.0 / same.sum() / 6
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    policy = Policy(Newsvendor(holding=1, backorder=3), ForestWeights.of(forest, counted=counted)).fit(X, y)
    plan = policy.decide(X[0])
    answers = [policy.explain(X[0], instead=plan + 0.5, engine=engine).distance for engine in ("search", "milp")]
    assert answers[0] == pytest.approx(answers[1], abs=1e-9)
    with pytest.raises(InputError, match=r"'counted' must be an array of bools of shape \(6, 40\)"):
        ForestWeights.of(forest, counted=counted[:, :5]).fit(X, y)


def _branch(tree: Any, leaves: np.ndarray, leaf: int, counted: np.ndarray) -> np.ndarray:
    """Those that count in the smallest branch around a leaf that holds any of them."""
    above = {int(child): v for v in range(tree.node_count) for child in (tree.children_left[v], tree.children_right[v])}
    node = leaf
    while True:
        below, todo = set(), [node]
        while todo:
            v = todo.pop()
            below.add(v)
            if tree.children_left[v] >= 0:
                todo += [int(tree.children_left[v]), int(tree.children_right[v])]
        same = np.isin(leaves, list(below)) & counted
        if same.any():
            return same
        node = above[node]


@pytest.mark.parametrize("other", [None, 3, "model", object()])
def test_no_model_is_refused(other: Any) -> None:
    """What is no estimator at all gets a sentence that lists what could be given."""
    with pytest.raises(InputTypeError, match=r"LightGBM or CatBoost, a quantile forest, or a forest of econml. Got"):
        ForestWeights.of(other)
