"""The policy: scikit-learn's estimator rules, and decisions that agree however they are asked for."""

from __future__ import annotations

import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import SkipTest

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.forests import paper_forest

from whence import (
    Binary,
    Categorical,
    CVaR,
    DecisionProblem,
    Discrete,
    Expectation,
    Explanation,
    ForestWeights,
    KNNWeights,
    Newsvendor,
    Ordered,
    Policy,
    Schema,
    ShortestPath,
)
from whence.errors import InputError, InputTypeError, NotFittedError

EXPECTED_FAILURES = {
    "check_n_features_in_after_fitting": "the check hands outcomes to score by the name y; a policy calls them Y",
    "check_sample_weight_equivalence_on_dense_data": "bootstraps draw rows, not what they count for; k rows are k rows",
}


@parametrize_with_checks(
    [
        Policy(Newsvendor(holding=1, backorder=3), paper_forest(n_trees=5, random_state=0)),
        Policy(Newsvendor(holding=1, backorder=3), KNNWeights(k=2), CVaR(0.5)),
    ],
    expected_failed_checks=lambda policy: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    """A policy keeps scikit-learn's rules for estimators, but for the failures listed with their reasons."""
    if check.func.__name__ == "check_array_api_input":
        # Concerns arrays other than numpy's, which a policy does not take; scikit-learn skips it by itself.
        with suppress(SkipTest):
            check(estimator)
    else:
        check(estimator)


def test_score_checks_the_number_of_features() -> None:
    """What scikit-learn's check cannot ask of `score` because of the name Y holds all the same."""
    policy, X, Y = bakery()
    with pytest.raises(InputError, match=r"X has 1 features, but Policy is expecting 4 features as input"):
        policy.score(np.zeros((len(X), 1)), Y)


def bakery(weights: Any = None, risk: Any = None, schema: Any = None) -> tuple[Policy, pd.DataFrame, pd.DataFrame]:
    """A fitted policy for two products, with its history."""
    rng = np.random.default_rng(0)
    n = 60
    X = pd.DataFrame(
        {
            "temp": rng.uniform(0, 30, n).round(1),
            "weekday": rng.integers(0, 7, n),
            "period": rng.choice(["AM", "PM"], n),
            "holiday": rng.random(n) < 0.2,
        },
        index=pd.RangeIndex(100, 100 + n),
    )
    Y = pd.DataFrame({"rye": 20 + X["temp"] + 5 * (X["period"] == "PM"), "wheat": 40 - X["weekday"]})
    Y += rng.normal(size=Y.shape)
    weights = paper_forest(n_trees=20, max_depth=3, random_state=0) if weights is None else weights
    return Policy(Newsvendor(holding=1, backorder=4), weights, risk, schema).fit(X, Y), X, Y


@pytest.mark.parametrize("risk", [None, CVaR(0.7)])
@pytest.mark.parametrize("weights", [paper_forest(n_trees=10, random_state=0), KNNWeights(k=7)])
def test_decide_predict_score_and_weights_agree(weights: Any, risk: Any) -> None:
    """One context at a time or many at once, the plans, their weights and their costs are the same."""
    policy, X, Y = bakery(weights, risk)
    plans = policy.predict(X)
    costs = []
    for i in range(0, len(X), 7):
        context = X.iloc[i]
        w = policy.weights_at(context)
        assert w.shape == (len(X),)
        assert w.sum() == pytest.approx(1.0)
        plan = policy.problem.solve(Y.to_numpy(), w, risk or Expectation())
        np.testing.assert_array_equal(policy.decide(context), plan)
        np.testing.assert_array_equal(plans.iloc[i], plan)
    for i in range(len(X)):
        costs.append(policy.problem.costs(plans.iloc[i].to_numpy(), Y.to_numpy()[[i]])[0])
    tail = (risk or Expectation()).of(costs, np.full(len(X), 1 / len(X)))
    assert policy.score(X, Y) == pytest.approx(-tail)
    assert policy.score(X, Y[["wheat", "rye"]]) == pytest.approx(-tail)
    assert policy.score(X, Y, risk=Expectation()) == pytest.approx(-np.mean(costs))
    with pytest.raises(InputTypeError, match="'risk' must be an Expectation, CVaR or other Risk"):
        policy.score(X, Y, risk="mean")


def test_pandas_in_gives_pandas_out() -> None:
    """A DataFrame of contexts gives a DataFrame of plans with its index and the products' names; an array an array."""
    policy, X, _ = bakery()
    plans = policy.predict(X)
    assert plans.index.equals(X.index)
    assert plans.columns.tolist() == ["rye", "wheat"]
    array = policy.predict(X.to_numpy())
    assert isinstance(array, np.ndarray)
    np.testing.assert_array_equal(array, plans)
    np.testing.assert_array_equal(policy.predict(X[X.columns[::-1]]), plans)
    assert policy.feature_names_in_.tolist() == X.columns.tolist()


def test_routes_are_lists_of_nodes_and_vectors_of_edges() -> None:
    """`decide` gives a plan in its natural form, `predict` one column per edge."""
    rng = np.random.default_rng(1)
    X, Y = rng.random((30, 2)), rng.random((30, 12))
    policy = Policy(ShortestPath.grid(3), KNNWeights(5)).fit(X, Y)
    route = policy.decide(X[0])
    assert route[0] == (0, 0)
    assert route[-1] == (2, 2)
    plans = policy.predict(pd.DataFrame(X[:2], columns=["x0", "x1"]))
    assert plans.columns[0] == "(0, 0) -> (0, 1)"
    np.testing.assert_array_equal(plans.iloc[0], policy.problem.vector(route))


def test_defaults() -> None:
    """Without weights, risk or schema a policy is a forest on inferred features that minimises the expected cost."""
    _, X, Y = bakery()
    policy = Policy(Newsvendor(holding=1, backorder=4)).fit(X, Y)
    assert isinstance(policy.weights_, ForestWeights)
    assert policy.risk_ == Expectation()
    assert policy.schema_.kind("weekday") == Discrete(range(7))
    assert policy.schema_.kind("holiday") == Binary()
    assert policy.weights is policy.risk is policy.schema is None


@pytest.mark.parametrize("weights", [paper_forest(n_trees=5, random_state=0), KNNWeights(k=3)])
def test_pickle_joblib_and_clone(weights: Any, tmp_path: Path) -> None:
    """A fitted policy survives pickle and joblib with its decisions; a clone is unfitted and has its parameters."""
    policy, X, _ = bakery(weights, CVaR(0.3), Schema({"temp": Discrete()}))
    joblib.dump(policy, tmp_path / "policy.joblib")
    for loaded in (pickle.loads(pickle.dumps(policy)), joblib.load(tmp_path / "policy.joblib")):
        pd.testing.assert_frame_equal(loaded.predict(X), policy.predict(X))
    copied = clone(policy)
    assert not hasattr(copied, "weights_")
    assert copied.risk == CVaR(0.3)
    assert copied.schema == policy.schema
    assert copied.weights.get_params() == weights.get_params()


@pytest.mark.parametrize(
    ("weights", "grid"),
    [
        (paper_forest(n_trees=5, random_state=0), {"weights__max_depth": [1, 4]}),
        (KNNWeights(), {"weights__k": [1, 5], "risk": [Expectation(), CVaR(0.5)]}),
    ],
)
def test_grid_search(weights: Any, grid: dict[str, list[Any]]) -> None:
    """`GridSearchCV` finds the parameters with the lowest cost on held-out days."""
    policy, X, Y = bakery(weights)
    search = GridSearchCV(policy, grid, cv=3, error_score="raise").fit(X, Y)
    assert set(search.best_params_) == set(grid)
    means = search.cv_results_["mean_test_score"]
    assert len(set(means)) > 1
    by_hand = [cross_val_score(clone(policy).set_params(**p), X, Y, cv=3).mean() for p in search.cv_results_["params"]]
    np.testing.assert_allclose(means, by_hand)
    assert search.best_score_ == max(by_hand)
    assert isinstance(search.predict(X), pd.DataFrame)


def test_in_a_pipeline() -> None:
    """A policy can stand at the end of a pipeline."""
    rng = np.random.default_rng(2)
    X, Y = rng.random((20, 2)), rng.random(20)
    steps = make_pipeline(MinMaxScaler(), Policy(Newsvendor(holding=1, backorder=1), KNNWeights(3))).fit(X, Y)
    assert steps.predict(X).shape == (20, 1)
    assert steps.score(X, Y) <= 0


def test_fitting_again_forgets() -> None:
    """A second fit, on other columns and without names, leaves nothing of the first."""
    policy, _, _ = bakery()
    rng = np.random.default_rng(3)
    policy.fit(rng.random((10, 2)), rng.random((10, 1)))
    assert policy.n_features_in_ == 2
    assert not hasattr(policy, "feature_names_in_")
    assert policy.schema_.names == ["x0", "x1"]
    assert policy.decide([0.1, 0.2]).shape == (1,)


# ---- forests that were fitted elsewhere ----------------------------------------------------------------


def one_hot_history() -> tuple[pd.DataFrame, np.ndarray, Schema]:
    """Numbers in their own units and a category spread over 0/1 columns, with the schema that declares it."""
    rng = np.random.default_rng(4)
    n = 50
    period = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "year": rng.integers(2015, 2025, n),
            "am": (period == 0).astype(int),
            "pm": (period == 1).astype(int),
            "temp": rng.normal(12, 9, n),
            "night": (period == 2).astype(int),
        }
    )
    Y = (10 + X["temp"] + 8 * X["pm"] + 0.5 * (X["year"] - 2015) + rng.normal(size=n)).to_numpy()
    return X, Y, Schema({"period": Categorical(["AM", "PM", "night"], columns=["am", "pm", "night"])})


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestRegressor(10, max_depth=4, random_state=0),
        ExtraTreesRegressor(10, random_state=0),
        DecisionTreeRegressor(random_state=0),
        RandomForestClassifier(5, random_state=0),
    ],
)
def test_frozen_forests_see_the_users_units(forest: Any) -> None:
    """The weights of a frozen forest are those of the forest on the user's own table, one-hot columns included."""
    X, Y, schema = one_hot_history()
    forest.fit(X, (Y > 20).astype(int) if isinstance(forest, RandomForestClassifier) else Y)
    policy = Policy(Newsvendor(holding=1, backorder=2), ForestWeights.of(forest), schema=schema).fit(X, Y)
    assert policy.weights_.forest_ is forest
    assert policy.schema_.names == ["year", "period", "temp"]
    trees = [tree.tree_ for tree in getattr(forest, "estimators_", [forest])]
    inputs = X.to_numpy(dtype=np.float32)
    for i in range(0, len(X), 9):
        same = [tree.apply(inputs) == tree.apply(inputs[[i]]) for tree in trees]
        np.testing.assert_allclose(policy.weights_at(X.iloc[[i]]), np.mean([s / s.sum() for s in same], axis=0))
    map_ = policy.input_map_
    seen = policy.schema_.encode(X)[:, map_.coordinate] * map_.scale + map_.offset
    np.testing.assert_allclose(seen, X.to_numpy(dtype=float), rtol=1e-12)


def test_frozen_forests_refuse_what_they_cannot_see() -> None:
    """Names instead of numbers, or columns in another order, are refused with a sentence."""
    X, Y, schema = one_hot_history()
    frozen = ForestWeights.of(RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, Y))
    problem = Newsvendor(holding=1, backorder=2)
    with pytest.raises(InputError, match=r"'X' must have the columns that the fitted forest has seen, in their order"):
        Policy(problem, frozen, schema=schema).fit(X[X.columns[::-1]], Y)
    with pytest.raises(InputError, match=r"'X' must have the columns that the fitted forest has seen"):
        Policy(problem, frozen).fit(X.rename(columns={"temp": "heat"}), Y)
    with pytest.raises(InputError, match=r"A fitted forest sees numbers only: declare the category 'temp'"):
        Policy(problem, frozen, schema=schema).fit(X.assign(temp="warm"), Y)


# ---- errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"problem": "newsvendor"}, InputTypeError, "'problem' must be a DecisionProblem. Got 'newsvendor' instead."),
        (
            {"weights": 3},
            InputTypeError,
            "'weights' must be a ForestWeights, KNNWeights or other Weights. Got 3 instead.",
        ),
        ({"risk": 0.5}, InputTypeError, "'risk' must be an Expectation, CVaR or other Risk. Got 0.5 instead."),
        ({"schema": {}}, InputTypeError, "'schema' must be a Schema or None. Got {} instead."),
        ({"weights": KNNWeights(60)}, InputError, "The 'k' parameter of KNNWeights must be an int in [1, n_samples)"),
        ({"schema": Schema({"tmp": Binary()})}, InputError, "The schema names the column 'tmp', which 'X' does not"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    """A wrong parameter is named by `fit`."""
    policy, X, Y = bakery()
    with pytest.raises(error) as found:
        clone(policy).set_params(**parameters).fit(X, Y)
    assert message in str(found.value)


def test_contexts_and_outcomes_are_checked() -> None:
    """Rows that do not match, columns that are missing and unseen categories are named."""
    policy, X, Y = bakery()
    with pytest.raises(InputError, match=r"'Y' must have one row per row of 'X' \(60\)"):
        clone(policy).fit(X, Y.iloc[:-1])
    products = Newsvendor(holding=[1, 2, 3], backorder=[2, 3, 4])
    with pytest.raises(InputError, match=r"'Y' must have 3 columns, as the Newsvendor problem asks. Got 2 instead."):
        clone(policy).set_params(problem=products).fit(X, Y)
    with pytest.raises(InputError, match=r"'Y' must have the 2 columns seen in fit. Got 1"):
        policy.score(X, Y[["rye"]])
    with pytest.raises(InputError, match=r"The 'context' must give 'period'"):
        policy.decide({"temp": 1.0, "weekday": 3, "holiday": False})
    with pytest.raises(InputError, match=r"The column 'period' must hold one of 'AM', 'PM'. Got 'noon'"):
        policy.decide({"temp": 1.0, "weekday": 3, "period": "noon", "holiday": False})
    with pytest.raises(InputError, match=r"The column 'period' is missing from 'X'"):
        policy.predict(X.drop(columns="period"))


@pytest.mark.parametrize(
    "call",
    [
        lambda policy, X, Y: policy.decide(X.iloc[0]),
        lambda policy, X, Y: policy.predict(X),
        lambda policy, X, Y: policy.score(X, Y),
        lambda policy, X, Y: policy.weights_at(X.iloc[0]),
        lambda policy, X, Y: policy.explain(X.iloc[0], instead=[1.0, 1.0]),
    ],
)
def test_unfitted(call: Any) -> None:
    """Nothing can be asked of a policy before `fit`."""
    policy, X, Y = bakery()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(clone(policy), X, Y)


# ---- what real tables hold ---------------------------------------------------------------------------------


def seasons(unknown: Any = "error", weights: Any = None) -> tuple[Policy, pd.DataFrame, pd.DataFrame]:
    """A policy, and a history sorted by time in which a category occurs only late."""
    rng = np.random.default_rng(5)
    n = 80
    X = pd.DataFrame({"season": np.repeat(["winter", "spring", "summer", "autumn"], n // 4), "temp": rng.random(n)})
    Y = pd.DataFrame({"rye": 20 + 10 * X["temp"] + rng.normal(size=n)})
    weights = paper_forest(n_trees=10, random_state=0) if weights is None else weights
    return Policy(Newsvendor(holding=1, backorder=4), weights, unknown=unknown), X, Y


@pytest.mark.parametrize("weights", [paper_forest(n_trees=10, random_state=0), KNNWeights(k=5)])
def test_grid_search_over_time(weights: Any) -> None:
    """Unknown categories are refused, or ignored: then every setting of a search over time has a score."""
    policy, X, Y = seasons(weights=weights)
    name = "weights__max_depth" if isinstance(weights, ForestWeights) else "weights__k"
    search = GridSearchCV(policy, {name: [1, 4]}, cv=TimeSeriesSplit(3), error_score="raise")
    with pytest.raises(InputError, match="'season' must hold one of 'winter'"):
        search.fit(X, Y)
    search.set_params(estimator__unknown="ignore").fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_unknown_categories_are_none_of_those_known() -> None:
    """An ignored category weighs as a context whose 0/1 columns are all 0; no explanation starts there."""
    policy, X, Y = seasons("ignore", KNNWeights(k=5))
    policy.fit(X[:40], Y[:40])
    context = {"season": "summer", "temp": 0.5}
    at = policy.schema_.encode_row(pd.Series(context), "ignore")
    assert at[:2].tolist() == [0.0, 0.0]
    gaps = np.abs(policy.schema_.encode(X[:40]) - at)
    nearest = np.argsort(gaps.sum(axis=1), kind="stable")[:5]
    assert set(np.flatnonzero(policy.weights_at(context))) == set(nearest)
    assert policy.decide(context).shape == (1,)
    assert np.isfinite(policy.score(X[40:], Y[40:]))
    with pytest.raises(InputError, match=r"No explanation starts from an unknown category\. The column 'season' must"):
        policy.explain(context, instead=[25.0])
    assert policy.explain(X.iloc[0], instead=policy.decide(X.iloc[0])).status == "already"
    with pytest.raises(InputError, match="'unknown' must be 'error' or 'ignore'"):
        policy.set_params(unknown="skip").fit(X, Y)


def test_unknown_categories_in_their_own_columns() -> None:
    """0/1 columns of which none is on are an unknown category, too."""
    X, Y, schema = one_hot_history()
    forest = ForestWeights.of(RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, Y))
    policy = Policy(Newsvendor(holding=1, backorder=2), forest, schema=schema, unknown="ignore").fit(X, Y)
    none = X.iloc[[0]].assign(am=0, pm=0, night=0)
    assert policy.predict(none).shape == (1, 1)
    with pytest.raises(InputError, match="must hold a single 1 and otherwise 0"):
        policy.set_params(unknown="error").predict(none)


class Menu(DecisionProblem):
    """A plan is the name of a dish."""

    def costs(self, decision: str, Y: np.ndarray) -> np.ndarray:
        return np.abs(Y[:, 0] - len(decision))

    def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Any) -> str:
        return min(("soup", "noodles", "cauliflower"), key=lambda dish: risk.of(self.costs(dish, Y), weights))


def test_plans_of_text() -> None:
    """`predict` returns plans that are no numbers as they are."""
    X, Y = np.linspace(0, 1, 20)[:, None], np.linspace(3, 12, 20)[:, None]
    policy = Policy(Menu(), KNNWeights(k=3)).fit(X, Y)
    plans = policy.predict(X)
    assert plans.shape == (20,)
    assert list(plans) == [policy.decide(row) for row in X]
    named = policy.predict(pd.DataFrame(X, columns=["x0"], index=range(5, 25)))
    assert named["plan"].tolist() == list(plans)
    assert named.index[0] == 5
    assert policy.score(X, Y) <= 0
    why = policy.explain(X[0], instead="noodles")
    assert str(why).startswith("Decision: soup.\nYour plan: noodles.\nYour plan would have been")
    assert str(Explanation.from_json(why.to_json())) == str(why)
    assert policy.explain_many(X[:3], instead="noodles").frame["status"].tolist() == ["optimal"] * 3


def test_polars_frames_keep_their_names() -> None:
    """Contexts, outcomes and plans may be tables of polars; an Enum goes in steps."""
    _, X, Y = bakery()
    sizes = ["small", "large"] * 30
    frame = pl.DataFrame(X.to_dict("list")).with_columns(pl.Series("size", sizes, dtype=pl.Enum(["small", "large"])))
    outcomes = pl.DataFrame(Y.to_dict("list"))
    policy = Policy(Newsvendor(holding=1, backorder=4), KNNWeights(k=5)).fit(frame, outcomes)
    table = X.assign(size=pd.Categorical(sizes, ["small", "large"], ordered=True))
    same = Policy(Newsvendor(holding=1, backorder=4), KNNWeights(k=5)).fit(table, Y)
    assert policy.schema_ == same.schema_
    assert policy.schema_.kind("size") == Ordered(["small", "large"])
    assert policy.feature_names_in_.tolist() == list(table.columns)
    assert policy.outcome_names_ == ["rye", "wheat"]
    predicted = policy.predict(frame[:, ::-1])
    assert isinstance(predicted, pl.DataFrame)
    np.testing.assert_array_equal(predicted, same.predict(table))
    assert policy.score(frame, outcomes[:, ::-1]) == pytest.approx(same.score(table, Y))
    np.testing.assert_array_equal(policy.decide(frame[3]), same.decide(table.iloc[3]))
    plan = outcomes[:1]
    assert (
        str(policy.explain(frame[3], instead=plan)).split("\n")[:4]
        == (str(same.explain(table.iloc[3], instead=Y.iloc[0])).split("\n")[:4])
    )
    assert len(policy.explain_many(frame[:2], instead=outcomes[:2])) == 2
    assert isinstance(policy.explain_many(table[:2], instead=Y[:2]).frame, pd.DataFrame)
    series = Policy(Newsvendor(holding=1, backorder=4), KNNWeights(k=5)).fit(frame, outcomes["rye"])
    assert series.outcome_names_ == ["rye"]
    with pytest.raises(InputTypeError, match="call 'collect' first"):
        policy.predict(frame.lazy())


def test_tables_come_back_in_the_kind_that_came_in() -> None:
    """Who asks with polars gets polars: batches, the contexts found with their types, fronts, menus and reasons."""
    _, X, Y = bakery()
    sizes = pl.Series("size", ["small", "large"] * 30, dtype=pl.Enum(["small", "large"]))
    frame = pl.DataFrame(X.to_dict("list")).with_columns(sizes)
    policy = Policy(Newsvendor(holding=1, backorder=4), paper_forest(20, 4, random_state=0))
    policy.fit(frame, pl.DataFrame(Y.to_dict("list")))
    plan = policy.decide(frame[30])
    whys = policy.explain_many(frame[:3], instead=plan)
    assert isinstance(whys.frame, pl.DataFrame)
    assert whys.frame["status"].to_list() == [why.status for why in whys]
    found = whys.contexts
    assert found.columns == frame.columns
    assert [found.schema[name] == frame.schema[name] for name in frame.columns] == [True] * len(frame.columns)
    assert found["size"].to_list() == [why.context["size"] for why in whys]
    # Contexts that are no table leave it at what the policy was fitted to; tables of pandas ask for their own kind.
    rows = [frame.row(i) for i in range(2)]
    assert isinstance(policy.explain_many(rows, instead=plan).frame, pl.DataFrame)
    assert isinstance(policy.explain_many(policy.X_[:2], instead=plan).frame, pd.DataFrame)
    for answer in (policy.front(frame[0], plan), policy.menu(frame[0], plan, up_to=1), policy.reasons(frame[0], plan)):
        assert isinstance(answer.frame, pl.DataFrame)
        assert len(answer.frame) == len(answer)
        assert answer._repr_html_()


@pytest.mark.parametrize("span", [3_000, 400_000, 2_000_000_000])
@pytest.mark.parametrize("frozen", [False, True])
def test_whole_numbers_beside_thresholds_are_enough(span: int, frozen: bool) -> None:
    """For a forest, looking beside its thresholds finds the very whole number that looking at all of them would."""
    rng = np.random.default_rng(span)
    X = pd.DataFrame({"n": rng.integers(0, span, 150), "t": rng.random(150)})
    Y = 30 + 20 * np.sin(9 * X[["n"]].to_numpy() / span) + rng.normal(size=(150, 1))
    weights = paper_forest(n_trees=20, max_depth=4, random_state=0)
    if frozen:
        weights = ForestWeights.of(RandomForestRegressor(20, max_depth=4, random_state=0).fit(X, Y.ravel()))
    policy = Policy(Newsvendor(holding=1, backorder=3), weights).fit(X, Y)
    assert policy.schema_.kind("n") == Discrete(step=1)
    for i in range(4):
        start, plan = X.iloc[[i]], policy.decide(X.iloc[i + 4])
        why = policy.explain(start, instead=plan, fixed=["t"])
        if why.status != "optimal":
            continue
        assert isinstance(why.context["n"], int)
        costs = policy.problem.costs(plan, Y) - policy.problem.costs(policy.decide(start), Y)
        # One step nearer, it no longer holds; with every whole number listed, nothing nearer is found either.
        away = np.sign(why.context["n"] - X["n"][i])
        nearer = start.assign(n=why.context["n"] - away)
        assert policy.weights_at(nearer) @ costs > why.tolerance
        if span == 3_000:
            listed = clone(policy).set_params(schema=Schema({"n": Discrete(range(span))})).fit(X, Y)
            assert listed.explain(start, instead=plan, fixed=["t"]).distance == pytest.approx(why.distance, abs=1e-12)
