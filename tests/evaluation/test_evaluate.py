"""What decisions cost on rows not seen, against a naive loop that shares no code with the evaluation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit, TimeSeriesSplit
from tests.blocks import seeds
from tests.cases import OneOf
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError, InputTypeError, NotFittedError
from whence.evaluation import baselines, evaluating

matplotlib.use("Agg")


def data(rng: np.random.Generator, n: int, plans: int, unit: float = 1.0) -> tuple[pd.DataFrame, np.ndarray]:
    """Contexts of all kinds with ties and duplicates, and what each plan costs in them."""
    X = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "decimal": rng.integers(0, 5, n) / 10,
            "hour": rng.integers(0, 4, n),
            "on": rng.random(n) < 0.4,
            "colour": rng.choice(["blue", "green", "red"], n, p=[0.6, 0.35, 0.05]),
        }
    )
    pull = rng.normal(size=(plans, 3))
    drive = np.column_stack([X["number"], X["hour"], X["colour"] == "blue"])
    return X, unit * np.round(5 + drive @ pull.T + rng.normal(size=(n, plans)), 1)


def tail_mean(costs: np.ndarray, weights: np.ndarray, share: float) -> float:
    """The mean of the worst share of weighted costs, the last one split."""
    left, total = share, 0.0
    for cost, weight in sorted(zip(costs, weights, strict=True), reverse=True):
        total += min(weight, max(left, 0.0)) * cost
        left -= weight
    return total / share


def threshold(costs: np.ndarray, weights: np.ndarray, share: float) -> float:
    """The smallest cost with at least all but that share of the weight at or below it."""
    return min(c for c in costs if weights[costs <= c].sum() >= 1.0 - share - 1e-9)


Naive = dict[str, list[float]]


def naive(policy: wh.Policy, X: pd.DataFrame, Y: np.ndarray, folds: Any, share: float) -> tuple[Naive, Naive]:
    """Costs row by row, and what they count for: the policy's own `decide`, every plan tried for the baselines."""
    names = ("policy", "sample average", "foresight", "average per hour")
    paid: Naive = {name: [] for name in names}
    counted: Naive = {name: [] for name in names}
    # Which categories there are is known before; no outcome of a held-out row is.
    whole = wh.Schema.infer(X)
    hours = X["hour"].to_numpy()
    for train, test in folds:
        fitted = clone(policy).set_params(schema=wh.Schema(dict(whole.features))).fit(X.iloc[train], Y[train])
        for i in test:
            same = train[hours[train] == hours[i]]
            same = same if same.size else train
            weighings = {
                "policy": (train, fitted.weights_at(X.iloc[[i]])),
                "sample average": (train, np.full(len(train), 1.0 / len(train))),
                "average per hour": (same, np.full(len(same), 1.0 / len(same))),
                "foresight": (np.array([i]), np.ones(1)),
            }
            for name, (rows, weights) in weighings.items():
                risks = [tail_mean(Y[rows, plan], weights, share) for plan in range(Y.shape[1])]
                plan = fitted.decide(X.iloc[[i]]) if name == "policy" else int(np.argmin(risks))
                begins = threshold(Y[rows, plan], weights, share)
                paid[name].append(Y[i, plan])
                counted[name].append(begins + max(Y[i, plan] - begins, 0.0) / share)
    return paid, counted


SPLITTERS = [
    KFold(3),
    KFold(4, shuffle=True, random_state=1),
    TimeSeriesSplit(3),
    ShuffleSplit(2, test_size=0.3, random_state=0),
]


@pytest.mark.parametrize("seed", seeds(6, 12))
def test_costs_are_those_of_a_naive_loop(seed: int) -> None:
    """Every cost, of every row and fold, is what deciding row by row with a policy fitted to the others gives."""
    rng = np.random.default_rng(seed)
    X, Y = data(rng, int(rng.integers(24, 50)), 3, unit=[1.0, 1e-9, 1e9][seed % 3])
    weights = wh.KNNWeights(k=4) if seed % 2 else paper_forest(n_trees=5, max_depth=3, random_state=seed)
    alpha = [0.0, 0.5, 0.8][seed % 3]
    policy = wh.Policy(OneOf(), weights, wh.CVaR(alpha) if alpha else None)
    cv = SPLITTERS[seed % len(SPLITTERS)]
    found = wh.evaluate(policy, X, Y, cv=cv)
    paid, counted = naive(policy, X, Y, cv.split(X), 1.0 - alpha)
    # Without a tail every cost counts for itself.
    counted = counted if alpha else paid
    for name, costs in paid.items():
        np.testing.assert_allclose(found.costs[name].to_numpy(), costs, rtol=1e-12)
        np.testing.assert_allclose(found.frame.loc[name, "cost"], np.mean(counted[name]), rtol=1e-9)
        np.testing.assert_allclose(found.frame.loc[name, "mean"], np.mean(costs), rtol=1e-9)
        every = np.full(len(costs), 1.0 / len(costs))
        np.testing.assert_allclose(found.frame.loc[name, "pooled"], tail_mean(costs, every, 1.0 - alpha), rtol=1e-9)
    average, foresight, own = (np.mean(counted[name]) for name in ("sample average", "foresight", "policy"))
    placed = (average - own) / (average - foresight)
    assert found.frame.loc["policy", "prescriptiveness"] == pytest.approx(placed, abs=1e-4)
    assert found.frame.loc["foresight", "prescriptiveness"] == 1.0
    assert found.frame.loc["sample average", "prescriptiveness"] == 0.0


def test_point_forecast_optimises_for_the_mean() -> None:
    """The point forecast orders what the weights expect, and not the quantile that the policy orders."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"x": rng.random(60)})
    Y = 10 + 5 * X[["x"]].to_numpy() + rng.exponential(4, (60, 1))
    policy = wh.Policy(wh.Newsvendor(holding=1, backorder=9), wh.KNNWeights(k=6))
    cv = KFold(3)
    found = wh.evaluate({"knn": policy}, X, Y, cv=cv)
    costs = []
    for train, test in cv.split(X):
        fitted = clone(policy).fit(X.iloc[train], Y[train])
        for i in test:
            mean = fitted.weights_at(X.iloc[[i]]) @ Y[train]
            costs.append(float(np.where(mean > Y[i], mean - Y[i], 9 * (Y[i] - mean))[0]))
    np.testing.assert_allclose(found.costs["point forecast (knn)"].to_numpy(), costs, rtol=1e-9)
    assert found.frame.loc["knn", "cost"] < found.frame.loc["point forecast (knn)", "cost"]


def test_frame_and_folds_have_the_spread() -> None:
    """The spread is the standard deviation over the folds, and the order is policies first, cheapest first."""
    rng = np.random.default_rng(0)
    X, Y = data(rng, 60, 3)
    good = {f"k{k}": wh.Policy(OneOf(), wh.KNNWeights(k=k)) for k in (1, 10)}
    found = wh.evaluate(good, X, Y, cv=4, against=[])
    assert found.frame.index.tolist()[2:] == ["foresight", "sample average"]
    assert set(found.frame.index[:2]) == {"k1", "k10"}
    assert found.frame["cost"].iloc[0] <= found.frame["cost"].iloc[1]
    each = found.costs.groupby(level="fold").mean()
    placed = (each["sample average"] - each["k10"]) / (each["sample average"] - each["foresight"])
    assert found.frame.loc["k10", "spread"] == pytest.approx(placed.std(ddof=1), abs=1e-4)
    pd.testing.assert_frame_equal(found.folds, each, check_names=False)
    assert found.costs.index.names == ["fold", "row"]


def test_verdicts_are_right_and_fair() -> None:
    """A policy that sees the driver is better; one that sees noise is not called so in more than a few of 24 cases."""
    better = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        noise = rng.random((60, 1))
        Y = rng.normal(20, 4, (60, 1))
        policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=3))
        better += wh.evaluate(policy, noise, Y, cv=4, against=[]).frame.loc["policy", "verdict"] == "better"
        if seed < 4:
            seen = wh.evaluate(policy, Y + rng.normal(0, 1, Y.shape), Y, cv=4, against=[])
            assert seen.frame.loc["policy", "verdict"] == "better"
    assert better <= 2


def test_worse_than_average_is_said() -> None:
    """One neighbour of pure noise is worse than the sample average, and the sentence warns."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((200, 1)), rng.normal(20, 4, (200, 1))
    found = wh.evaluate(wh.Policy(wh.Newsvendor(1, 3, cost_unit="€"), wh.KNNWeights(k=1)), X, Y)
    assert found.frame.loc["policy", "verdict"] == "worse"
    assert "Warning: the policy does not beat the sample average" in str(found)
    assert "€" in str(found)


def test_a_simple_rule_that_is_cheaper_is_named() -> None:
    """Where the average per category beats the policy, the sentence says which and at what cost."""
    rng = np.random.default_rng(1)
    hour = rng.integers(0, 12, 600)
    X = pd.DataFrame({"hour": hour, "a": rng.random(600), "b": rng.random(600)})
    Y = 50.0 * (hour % 4)[:, None] + rng.normal(0, 1, (600, 1))
    shallow = paper_forest(n_trees=10, max_depth=1, random_state=0)
    found = wh.evaluate(wh.Policy(wh.Newsvendor(1, 3), shallow), X, Y + 10)
    assert "the average per hour costs less" in str(found)
    assert found.quality("policy").simple.verdict == "worse"


def test_the_history_of_a_fitted_policy_is_used_and_the_result_kept() -> None:
    """Without X and Y a fitted policy is judged on its history; its explanations say so, until it is fitted again."""
    X = np.linspace(0, 1, 60)[:, None]
    Y = 10 + 20 * X
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=5)).fit(X, Y)
    assert policy.explain([0.2], instead=[20.0]).report.quality is None
    found = wh.evaluate(policy)
    pd.testing.assert_frame_equal(found.costs, wh.evaluate(policy, X, Y).costs)
    why = policy.explain([0.2], instead=[20.0])
    assert why.report.quality == found.quality("policy")
    assert "on 60 rows it had not seen" in str(why)
    assert wh.Explanation.from_json(why.to_json()).report.quality == why.report.quality
    assert policy.fit(X, Y).explain([0.2], instead=[20.0]).report.quality is None


def test_workers_change_nothing() -> None:
    """Two processes give what one gives, and progress counts every part."""
    rng = np.random.default_rng(0)
    X, Y = data(rng, 40, 3)
    policies = {"a": wh.Policy(OneOf(), wh.KNNWeights(k=3)), "b": wh.Policy(OneOf(), wh.KNNWeights(k=9))}
    told: list[tuple[int, int]] = []
    one = wh.evaluate(policies, X, Y, cv=3, on_progress=lambda *done: told.append(done))
    assert told == [(i, 9) for i in range(1, 10)]
    pd.testing.assert_frame_equal(one.costs, wh.evaluate(policies, X, Y, cv=3, n_jobs=2).costs)


def test_categories_of_held_out_rows_need_not_be_learned() -> None:
    """A category that only held-out rows have does not stop an evaluation, in blocks of sorted rows."""
    X = pd.DataFrame({"colour": np.repeat(["a", "b", "c"], 10), "x": np.arange(30.0)})
    found = wh.evaluate(wh.Policy(OneOf(), wh.KNNWeights(k=2)), X, np.tile([[1.0, 2.0]], (30, 1)), cv=KFold(3))
    np.testing.assert_allclose(found.frame["cost"], 1.0)
    assert np.isnan(found.frame.loc["policy", "prescriptiveness"])
    assert found.frame.loc["policy", "verdict"] == "unclear"


def test_relations_and_derived_features_change_no_cost() -> None:
    """What is said of contexts that can exist is for explanations: the costs are those without it."""
    rng = np.random.default_rng(0)
    X, Y = data(rng, 60, 3)
    X["late"] = X["hour"] >= 2
    told = wh.Schema({"late": wh.Derived("hour", lambda hour: hour >= 2)}, relations=["decimal <= 0.5"])
    costs = [
        wh.evaluate(wh.Policy(OneOf(), wh.KNNWeights(k=3), schema=schema), X, Y, cv=TimeSeriesSplit(4)).costs
        for schema in (None, told)
    ]
    pd.testing.assert_frame_equal(*costs)


def test_rows_may_be_fewer_and_folds_given() -> None:
    """`most_rows` holds out that many in all; folds may be given as row numbers, by group, or one row at a time."""
    rng = np.random.default_rng(0)
    X, Y = data(rng, 50, 2)
    policy = wh.Policy(OneOf(), wh.KNNWeights(k=3))
    assert len(wh.evaluate(policy, X, Y, cv=5, most_rows=20, against=[]).costs) == 20
    by_group = GroupKFold(3).split(X, groups=np.arange(50) // 7)
    assert len(wh.evaluate(policy, X, Y, cv=list(by_group), against=[]).costs) == 50
    assert len(wh.evaluate(policy, X, Y, cv=LeaveOneOut(), most_rows=50, against=[]).folds) == 50


def test_a_model_fitted_elsewhere_is_refused() -> None:
    """A frozen forest may have seen the rows and is not fitted anew: there is nothing to tell of rows not seen."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((60, 2)), rng.random((60, 1))
    forest = RandomForestRegressor(5, max_depth=2, random_state=0).fit(X, Y.ravel())
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights.of(forest)).fit(X, Y)
    with pytest.raises(InputError, match="'policy' cannot be evaluated: its model was fitted elsewhere"):
        wh.evaluate(policy)


def test_time_limit_ends_with_whole_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the time is up, the folds that are known count and the others are said to be missing."""
    now = [0.0]
    for module in (evaluating, baselines):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    class Slow(OneOf):
        def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Any) -> int:
            now[0] += 0.004
            return super().solve(Y, weights, risk)

    X, Y = data(np.random.default_rng(0), 60, 2)
    policy = wh.Policy(Slow(), wh.KNNWeights(k=3))
    found = wh.evaluate(policy, X, Y, cv=6, against=[], time_limit=0.35)
    assert 1 <= len(found.folds) < 6
    assert f"after {len(found.folds)} of 6 folds" in str(found)
    with pytest.raises(InputError, match="'time_limit' must leave time for at least one fold"):
        wh.evaluate(policy, X, Y, cv=2, time_limit=0.01)


class Halves(wh.risk.Risk):
    """A risk that is no mean over rows: half of the largest cost and half of the smallest."""

    name = "middle of the extremes"

    def of(self, costs: Any, weights: Any) -> float:
        c = np.asarray(costs)[np.asarray(weights) > 0]
        return float((c.min() + c.max()) / 2)


def test_any_risk_may_judge() -> None:
    """Another risk than the policy's own judges its costs, also one that is compared fold by fold."""
    X, Y = data(np.random.default_rng(0), 60, 2)
    policy = wh.Policy(OneOf(), wh.KNNWeights(k=3))
    found = wh.evaluate(policy, X, Y, cv=3, risk=Halves(), against=[])
    costs = found.costs["policy"]
    assert found.frame.loc["policy", "cost"] == (costs.min() + costs.max()) / 2
    assert found.frame.loc["policy", "verdict"] in ("better", "unclear", "worse")
    tail = wh.evaluate(policy, X, Y, cv=3, risk=wh.CVaR(0.9), against=[])
    np.testing.assert_allclose(tail.frame["pooled"], tail.frame["worst_tenth"])


def test_cvar_is_judged_in_every_context() -> None:
    """Where the context drives the spread, a CVaR policy that sees it is better than one plan for all contexts.

    Over all rows together its tail is no better: the contexts that are bad anyway make it up.
    """
    rng = np.random.default_rng(0)
    wild = rng.random(600) < 0.5
    Y = np.where(wild, rng.exponential(40, 600), rng.exponential(4, 600))[:, None]
    policy = wh.Policy(wh.Newsvendor(1, 4), wh.KNNWeights(k=60), wh.CVaR(0.8))
    found = wh.evaluate(policy, pd.DataFrame({"wild": wild}), Y, against=[])
    assert found.frame.loc["policy", "verdict"] == "better"
    assert found.frame.loc["policy", "prescriptiveness"] > 0.1


def test_plot_draws_a_bar_and_dots_each() -> None:
    """One bar for everything that was tried, as long as its cost, on the Axes given."""
    from matplotlib import pyplot

    X, Y = data(np.random.default_rng(0), 60, 2)
    found = wh.evaluate({"a $": wh.Policy(OneOf(), wh.KNNWeights(k=3))}, X, Y, cv=3)
    _, ax = pyplot.subplots()
    assert found.plot(ax=ax) is ax
    drawn = sorted(bar.get_width() for bar in ax.patches)
    np.testing.assert_allclose(drawn, sorted(found.frame["cost"]))
    assert len(ax.lines) == len(found.frame) + 1
    pyplot.close("all")
    with pytest.raises(InputTypeError, match="'ax' must be a matplotlib Axes"):
        found.plot(ax=3)  # type: ignore[arg-type]


def test_what_is_wrong_is_said() -> None:
    """One sentence for each argument that cannot be used, with its name."""
    X, Y = data(np.random.default_rng(0), 30, 2)
    policy = wh.Policy(OneOf(), wh.KNNWeights(k=3))
    other = wh.Policy(wh.Newsvendor(1, 3))
    wrong: list[tuple[Any, dict[str, Any], str, str]] = [
        ([policy], {}, "policies", "must be a Policy or a mapping"),
        ({}, {}, "policies", "at least one Policy"),
        ({"a": 3}, {}, "policies", "must map names to policies. Got 'a': int"),
        ({"a": policy, "b": other}, {}, "policies", "Got Newsvendor and OneOf instead"),
        ({"foresight": policy}, {}, "policies", "must not name a policy like a baseline"),
        ({"average per day": policy}, {}, "policies", "must not name a policy like a baseline"),
        (policy, {"cv": 1}, "cv", "'cv' must be an int >= 2"),
        (policy, {"cv": 31}, "cv", "at most the 30 rows. Got 31"),
        (policy, {"cv": True}, "cv", "Got True"),
        (policy, {"cv": "5"}, "cv", "Got '5'"),
        (policy, {"cv": 2.5}, "cv", "Got 2.5"),
        (policy, {"cv": []}, "cv", "Got no fold"),
        (policy, {"cv": TimeSeriesSplit(40)}, "cv", "fits the 30 rows"),
        (policy, {"cv": [([0, 1, 2], [2, 3])]}, "cv", "No fold of 'cv' may hold out rows that it learns from"),
        (policy, {"cv": [([0, 1, 2], [30])]}, "cv", "row numbers must lie in"),
        (policy, {"cv": [([0, 1, 2], [0.5])]}, "cv", "row numbers must be whole numbers"),
        (policy, {"cv": [([0, 1, 2], [])]}, "cv", "Got 3 and 0 in fold 1"),
        (policy, {"risk": 0.9}, "risk", "'risk' must be an Expectation"),
        (policy, {"against": ["foresight"]}, "against", "Got 'foresight'"),
        (policy, {"against": "point forecast"}, "against", "must be a collection"),
        (policy, {"most_rows": 0}, "most_rows", "must be an int >= 1"),
        (policy, {"time_limit": 0}, "time_limit", "must be a positive number"),
        (
            wh.Policy(OneOf(), wh.KNNWeights(k=25)),
            {"cv": 5},
            "policies",
            "'policy' cannot be evaluated in fold 1: The 'k'",
        ),
    ]
    for policies, options, parameter, said in wrong:
        with pytest.raises(wh.WhenceError) as caught:
            wh.evaluate(policies, X, Y, **options)
        assert said in str(caught.value)
        assert caught.value.parameter == parameter, said
    with pytest.raises(NotFittedError, match="may be left out for a fitted Policy only"):
        wh.evaluate(policy)
    with pytest.raises(InputError, match="only for a single fitted Policy"):
        wh.evaluate({"a": policy})
    with pytest.raises(InputError, match="'name' must be one of"):
        wh.evaluate(policy, X, Y, cv=2).compared("policy", "average")


def test_parts_of_a_date_are_rivals() -> None:
    """Where a date is a feature, the average per weekday and per month of it stand beside the policy."""
    days = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=120)})
    sold = 10.0 + 5.0 * (days["date"].dt.dayofweek > 4)
    policy = wh.Policy(
        wh.Newsvendor(1, 3), wh.KNNWeights(k=5), schema=wh.Schema({"date": wh.Date(parts=("weekday", "month"))})
    )
    found = wh.evaluate(policy, days, sold.to_frame("sold"), cv=3).frame
    assert found.loc["average per weekday of date", "cost"] == 0.0
    assert found.loc["average per month of date", "cost"] > 0.0
