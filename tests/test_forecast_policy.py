"""Policies that forecast: nearest contexts against brute force with the models' own forecasts, and all that is told."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict
from tests.timing import at_most

import whence as wh
from whence.errors import InputError, InputTypeError, NotFittedError


def days(n: int = 120, outcomes: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"heat": rng.uniform(0, 30, n).round(1), "rain": rng.uniform(0, 9, n).round(1)})
    X["day"] = rng.choice(["Mon", "Sat", "Sun"], n)
    base = 40 + X["heat"] - 2 * X["rain"] + 12 * (X["day"] == "Sat")
    Y = pd.DataFrame({f"y{k}": base * (1 + 0.3 * k) + rng.normal(0, 4, n) for k in range(outcomes)})
    return X, Y


def test_scenarios_are_the_forecast_plus_residuals() -> None:
    """Out of bag as scikit-learn has it, cross-fitted as cross_val_predict has it, or in sample."""
    X, Y = days()
    numbers, y = X[["heat", "rain"]], Y["y0"]
    forest = RandomForestRegressor(60, random_state=0, oob_score=True).fit(numbers, y)
    outside = wh.ForecastWeights.of(forest).fit(numbers.to_numpy(), Y.to_numpy())
    np.testing.assert_allclose(outside.residuals_[:, 0], y - forest.oob_prediction_, atol=1e-9)
    assert outside.describe() == "forecasts by 60 trees of scikit-learn, with 120 out-of-bag residuals"
    line = wh.ForecastWeights(LinearRegression(), cv=4).fit(numbers.to_numpy(), Y.to_numpy())
    folds = KFold(4, shuffle=True, random_state=0)
    left_out = cross_val_predict(LinearRegression(), numbers.to_numpy(), y.to_numpy(), cv=folds)
    np.testing.assert_allclose(line.residuals_[:, 0], y - left_out, atol=1e-9)
    own = wh.ForecastWeights.of(forest, residuals="in-sample").fit(numbers.to_numpy(), Y.to_numpy())
    np.testing.assert_allclose(own.residuals_[:, 0], y - forest.predict(numbers), atol=1e-9)
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForecastWeights.of(forest)).fit(numbers, Y)
    today = numbers.iloc[3]
    scenarios = forest.predict(numbers.iloc[[3]])[0] + outside.residuals_[:, 0]
    assert policy.decide(today)[0] == pytest.approx(np.sort(scenarios)[int(np.ceil(0.75 * 120)) - 1])
    assert policy.weights_at(today) == pytest.approx(np.full(120, 1 / 120))


def test_one_model_or_one_per_outcome() -> None:
    """A forest forecasts all outcomes at once, boosted trees have a copy for each; both may be given fitted."""
    X, Y = days(outcomes=2)
    numbers = X[["heat", "rain"]]
    for weights in (
        wh.ForecastWeights(RandomForestRegressor(30, random_state=0)),
        wh.ForecastWeights(GradientBoostingRegressor(n_estimators=10)),
        wh.ForecastWeights.of(RandomForestRegressor(30, random_state=0).fit(numbers, Y)),
        wh.ForecastWeights.of([LinearRegression().fit(numbers, Y[name]) for name in Y.columns]),
    ):
        policy = wh.Policy(wh.LinearProblem(A_eq=[[1, 1]], b_eq=[1], bounds=(0, 1)), weights).fit(numbers, Y)
        assert policy.weights_.residuals_.shape == (120, 2)
        why = policy.explain(numbers.iloc[0], instead=[0.0, 1.0])
        assert why.status in ("optimal", "none")
    with pytest.raises(InputError, match=r"'model' must forecast the 2 columns of 'Y'.* Got 1."):
        wh.Policy(wh.LinearProblem(), wh.ForecastWeights.of(LinearRegression().fit(numbers, Y["y0"]))).fit(numbers, Y)


def bakery(model: Any = "forest", **how: Any) -> tuple[wh.Policy, pd.DataFrame]:
    X, Y = days()
    return wh.Policy(wh.Newsvendor(1, 3), wh.ForecastWeights(model), **how).fit(X, Y), X


@pytest.mark.parametrize("model", ["forest", "boosted", "linear"])
def test_all_that_is_told(model: str, tmp_path: Path) -> None:
    """Sentences, a document that is read again, a check of it, a report, plots, a pickle: all know of the forecast."""
    policy, X = bakery(model)
    today = X.iloc[5]
    why = policy.explain(today, instead=policy.decide(today) + 8.0)
    assert why.status == "optimal"
    assert why.cost_after.alternative <= why.cost_after.decision + why.tolerance
    assert why.forecast.after[0] > why.forecast.before[0]
    assert "Forecast there: y0 " in str(why)
    assert why.verify(policy, prove=True)
    again = wh.Explanation.from_json(why.to_json())
    assert str(again) == str(why)
    assert again.verify(policy)
    assert again.forecast.decision_after == pytest.approx(why.forecast.decision_after)
    why.to_html(tmp_path / "why.html")
    page = (tmp_path / "why.html").read_text("utf-8")
    assert "off by what it missed" in page
    assert "counts alike in every context" in page
    assert why.plot() is not None
    kept = pickle.loads(pickle.dumps(policy))
    assert kept.explain(today, instead=why.alternative).distance == why.distance
    assert kept.decide(today) == policy.decide(today)


def test_other_questions() -> None:
    """Batches, fronts, menus, reasons, usual contexts and relations; what is not known is refused with a sentence."""
    policy, X = bakery("boosted")
    today, more = X.iloc[5], policy.decide(X.iloc[5]) + 8.0
    nearest = policy.explain(today, instead=more)
    assert policy.explain_many(X.iloc[[5, 6]], instead=more)[0].distance == nearest.distance
    assert policy.front(today, instead=more)[-1].distance == pytest.approx(nearest.distance)
    assert policy.menu(today, instead=more, up_to=2)[0].distance == pytest.approx(nearest.distance)
    assert policy.reasons(today, instead=more).facts
    assert policy.explain(today, instead=more, plausible=0.3).distance >= nearest.distance
    held = policy.explain(today, instead=more, relations=["heat <= 3 * rain + 20"])
    assert held.context is None or float(held.context["heat"]) <= 3 * float(held.context["rain"]) + 20 + 1e-6
    assert policy.explain(today, instead=more, engine="search", max_changes=1).distance >= nearest.distance
    for asked, parameter in (({"confidence": 1.0}, "confidence"), ({"holds": 0.9}, "holds")):
        with pytest.raises(InputError, match="ForecastWeights") as error:
            policy.explain(today, instead=more, **asked)
        assert error.value.parameter == parameter
    with pytest.raises(InputError, match="'instead' must be one plan where the policy forecasts"):
        policy.explain(today)
    with pytest.raises(InputError, match="'engine' must be 'search' for orders that follow a forecast"):
        policy.explain(today, instead=more, engine="milp")


@pytest.mark.parametrize("model", ["boosted", "linear"])
def test_two_contexts_are_compared(model: str) -> None:
    """Plans, costs and Shapley values from formulas: every order in which the features may change counts alike."""
    policy, X = bakery(model)
    before, after = X.iloc[5], X.iloc[int(np.argmax(policy.weights_.forecast(policy.weights_.inputs_)))]
    found = policy.compare(before, after)
    assert not found.same
    plans = [float(policy.decide(row)[0]) for row in (before, after)]
    names = ["heat", "rain", "day"]

    def worth(changed: tuple[str, ...]) -> float:
        row = pd.DataFrame([{name: (after if name in changed else before)[name] for name in names}])
        forecast = policy.weights_.models_[0].predict(np.column_stack([*(row[n] for n in names[:2]), *_days(row)]))
        demand = np.ravel(forecast)[0] + policy.weights_.residuals_[:, 0]
        first, second = (np.maximum(order - demand, 3 * (demand - order)).mean() for order in plans)
        return float(first - second)

    shares = dict.fromkeys(names, 0.0)
    for order in itertools.permutations(names):
        for i, name in enumerate(order):
            shares[name] += (worth(order[: i + 1]) - worth(order[:i])) / 6
    assert found.turn == pytest.approx(worth(tuple(names)) - worth(()))
    for name, share in zip(found.contributions["feature"], found.contributions["contribution"], strict=True):
        assert share == pytest.approx(shares[name], abs=1e-9), name
    enough = [len(some) for k in range(4) for some in itertools.combinations(names, k) if worth(some) >= -1e-9]
    assert found.proved
    assert len(found.turning) == min(enough)
    assert found.verify(policy)
    assert wh.Comparison.from_json(found.to_json()).verify(policy)
    again = policy.compare(before, before)
    assert again.same
    assert again.turn == 0.0


def _days(row: pd.DataFrame) -> list[np.ndarray]:
    return [(row["day"] == day).astype(float).to_numpy() for day in ("Mon", "Sat", "Sun")]


def test_routes_by_search_and_by_integer_program() -> None:
    """Costs that are linear in the outcomes: both engines give the same distance, for expected cost and for CVaR."""
    X, Y = days(outcomes=4)
    graph = nx.DiGraph([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    Y["y1"] = Y["y1"].to_numpy() - X["heat"].to_numpy()
    for risk in (wh.Expectation(), wh.CVaR(0.7)):
        weights = wh.ForecastWeights(RandomForestRegressor(8, max_depth=3, random_state=0), residuals="cross")
        policy = wh.Policy(wh.ShortestPath(graph, "a", "d"), weights, risk).fit(X[["heat", "rain"]], Y)
        for row in range(6):
            today = X[["heat", "rain"]].iloc[row]
            for kind in ("relative", "absolute"):
                found = [
                    policy.explain(today, instead=plan, kind=kind, engine=engine).distance
                    for plan in (["a", "b", "d"], ["a", "c", "d"])
                    for engine in ("search", "milp")
                ]
                assert found[0] == pytest.approx(found[1], abs=1e-6)
                assert found[2] == pytest.approx(found[3], abs=1e-6)


def test_limits_hold() -> None:
    """A search that is stopped says how far it came."""
    X, Y = days(400, outcomes=3)
    policy = wh.Policy(wh.Newsvendor([1, 2, 1], [3, 3, 5]), wh.ForecastWeights(RandomForestRegressor(50))).fit(X, Y)
    more = policy.decide(X.iloc[0]) * [1.3, 0.8, 1.2]
    stopped = policy.explain(X.iloc[0], instead=more, node_limit=2)
    assert stopped.status in ("time_limit", "optimal", "none")
    assert stopped.bound <= stopped.distance
    with at_most(3.0):
        policy.explain(X.iloc[0], instead=more, time_limit=0.2)


def test_refusals() -> None:
    """Models, problems and parameters that do not fit, a sentence each."""
    X, Y = days()
    numbers = X[["heat", "rain"]]
    newsvendor = wh.Newsvendor(1, 3)
    with pytest.raises(InputError, match=r"The 'residuals' parameter of ForecastWeights must be one of 'oob'"):
        wh.ForecastWeights("linear", residuals="none").fit(numbers, Y)
    with pytest.raises(InputError, match=r"The 'cv' parameter of ForecastWeights must be an int >= 2. Got 1 instead."):
        wh.ForecastWeights("linear", cv=1).fit(numbers, Y)
    with pytest.raises(InputError, match=r"must be 'cross' or 'in-sample' for a model that is no forest"):
        wh.ForecastWeights("linear", residuals="oob").fit(numbers, Y)
    with pytest.raises(InputTypeError, match=r"The 'model' parameter of ForecastWeights must be a regressor"):
        wh.ForecastWeights(3).fit(numbers, Y)
    with pytest.raises(NotFittedError, match=r"'fitted' must be fitted. Got an unfitted LinearRegression."):
        wh.ForecastWeights.of(LinearRegression())
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.svm import SVR

    for model in (KNeighborsRegressor(), SVR()):
        with pytest.raises(InputTypeError, match=r"'model' must be a tree ensemble"):
            wh.ForecastWeights(model).fit(numbers, Y)
    forest = RandomForestRegressor(20, random_state=0).fit(numbers, Y["y0"])
    with pytest.raises(InputError, match=r"Out-of-bag residuals need the rows that the forest was fitted to"):
        wh.ForecastWeights.of(forest).fit(numbers.to_numpy()[::-1], Y.to_numpy()[::-1])
    with pytest.raises(InputError, match=r"The forest must have more trees: \d+ rows? of 'X' (is|are) in the bag"):
        wh.ForecastWeights(RandomForestRegressor(2, random_state=0)).fit(numbers, Y)
    shipment = wh.Policy(wh.Shipment(distances=[[1.0]]), wh.ForecastWeights("linear")).fit(numbers, Y)
    with pytest.raises(InputError, match=r"'problem' must be a Newsvendor, or have costs that are linear"):
        shipment.explain(numbers.iloc[0], instead=[40.0])
    two, Y2 = wh.Newsvendor([1, 1], [3, 3]), days(outcomes=2)[1]
    with pytest.raises(InputError, match=r"'risk' must be an Expectation for orders of several products"):
        wh.Policy(two, wh.ForecastWeights("forest"), wh.CVaR(0.5)).fit(numbers, Y2).explain(numbers.iloc[0], [50, 60])
    tail = wh.Policy(newsvendor, wh.ForecastWeights("linear"), wh.CVaR(0.5)).fit(numbers, Y)
    with pytest.raises(InputError, match=r"'margin' must be left out for orders that follow a forecast under CVaR"):
        tail.explain(numbers.iloc[0], instead=[60.0], margin=0.1)
