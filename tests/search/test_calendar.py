"""Numbers that go round: lines that never end, forecasts, limits; against brute force, see tests/agreement."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError


@pytest.mark.parametrize("whole", [False, True])
def test_a_cycle_that_never_ends_is_a_line(whole: bool) -> None:
    """With a period far beyond the history, answers are those of a plain number, bit for bit."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {"a": rng.integers(0, 30, 60) if whole else rng.normal(0, 9, 60).round(2), "b": rng.normal(size=60)}
    )
    Y = np.column_stack([20 + X["a"], 15 + 3 * np.abs(X["b"])])
    line = wh.Discrete(step=1, scale=7) if whole else wh.Continuous(scale=7)
    policies = [
        wh.Policy(wh.Newsvendor(1, 3), paper_forest(20, random_state=0), schema=wh.Schema({"a": kind})).fit(X, Y)
        for kind in (line, wh.Cyclic(1e6, -1e3, scale=7))
    ]
    for i in range(8):
        plan = policies[0].decide(X.iloc[(i + 17) % 60])
        plain, turned = (policy.explain(X.iloc[i], instead=plan) for policy in policies)
        assert (plain.status, plain.distance, plain.nodes) == (turned.status, turned.distance, turned.nodes)
        assert plain.context is None or plain.context.equals(turned.context)


def test_forecasts_that_cross_a_value_go_the_short_way_round() -> None:
    """An Ensemble is asked about every hour and every load at which its forest turns; missing loads stay missing."""
    rng = np.random.default_rng(8)
    X = pd.DataFrame({"hour": rng.integers(0, 24, 80), "load": rng.random(80).round(2)})
    model = RandomForestRegressor(10, max_depth=4, random_state=0).fit(X, np.cos(X["hour"] * np.pi / 12) + X["load"])
    asked = wh.Ensemble(model, wh.Schema({"hour": wh.Cyclic(24), "load": wh.Continuous(change="fixed")})).fit(X)
    for hour in (1, 11, 22):
        context = {"hour": hour, "load": 0.5}
        for least in (0.2, 1.0, 1.3):
            forecasts = {h: asked.predict(pd.DataFrame([{**context, "hour": h}]))[0] for h in range(24)}
            far = [min(abs(h - hour), 24 - abs(h - hour)) / 12 for h in range(24) if forecasts[h] >= least]
            found = asked.explain(context, at_least=least)
            assert found.distance == pytest.approx(min(far, default=np.inf)), (hour, least)


def test_limits_hold_round_the_circle() -> None:
    """A limit on boxes, and progress, count both sides; what was found before a stop is returned with its bound."""
    rng = np.random.default_rng(9)
    X = pd.DataFrame({f"x{j}": rng.random(200) for j in range(6)} | {"hour": np.arange(200) % 24})
    Y = np.column_stack([np.cos(X["hour"] * np.pi / 12) * 5 + 10 * X[f"x{j}"] * X[f"x{j + 1}"] for j in range(3)]) + 20
    schema = wh.Schema({"hour": wh.Cyclic(24)})
    policy = wh.Policy(wh.Newsvendor(1, 3), paper_forest(40, max_depth=8, random_state=0), schema=schema).fit(X, Y)
    plan = policy.decide(X.iloc[60])
    whole = policy.explain(X.iloc[22], instead=plan)
    assert whole.status == "optimal"
    seen: list[wh.Progress] = []
    stopped = policy.explain(X.iloc[22], instead=plan, node_limit=max(2, whole.nodes // 3), on_progress=seen.append)
    assert stopped.status == "time_limit"
    assert stopped.nodes <= max(2, whole.nodes // 3) + 1
    assert stopped.bound <= whole.distance + 1e-9 <= stopped.distance + 2e-9
    assert all(one.bound <= one.distance for one in seen)
    assert all(one.bound <= whole.distance + 1e-9 for one in seen)
    assert policy.explain(X.iloc[22], instead=plan, on_progress=lambda progress: False).status == "interrupted"


def test_going_round_is_a_change_even_to_the_end_of_the_line() -> None:
    """From 23 h to 0 h is one change, beside a switch and beside a number that is filled in."""
    rows = [(hour, switch, gap) for hour in range(24) for switch in (0, 1) for gap in (1.0, 9.0, np.nan)]
    X = pd.DataFrame(rows, columns=["hour", "switch", "gap"])
    wanted = {"switch": (X["hour"] < 1) & (X["switch"] == 1), "gap": (X["hour"] < 1) & (X["gap"] > 5)}
    today = {"hour": 23, "switch": 0, "gap": np.nan}
    for name, peak in wanted.items():
        weights = paper_forest(1, None, max_features=None, random_state=0, missing=True)
        schema = wh.Schema({"hour": wh.Cyclic(24, step=1), "switch": wh.Binary()})
        policy = wh.Policy(wh.Newsvendor(1, 9), weights, schema=schema)
        # Every row is in the tree often enough to be told apart.
        policy = policy.fit(pd.concat([X] * 8), pd.concat([pd.DataFrame({"demand": np.where(peak, 90.0, 10.0)})] * 8))
        asked = {"instead": [90.0], "fill": ["gap"]}
        assert policy.explain(today, max_changes=1, **asked).status == "none"
        why = policy.explain(today, max_changes=2, **asked)
        assert why.status == "optimal"
        assert set(why.changes["feature"]) == {"hour", name}
        assert why.context["hour"] == 0


def test_what_cannot_be_filled_in_is_refused() -> None:
    """A missing number whose steps leave no value in its range."""
    X = pd.DataFrame({"heat": [11.0, 13.0, np.nan, 19.0, 12.0, np.nan], "load": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    schema = wh.Schema({"heat": wh.Continuous(step=10)})
    policy = wh.Policy(wh.Newsvendor(1, 3), paper_forest(3, 2, random_state=0, missing=True), schema=schema)
    policy.fit(X, X[["load"]])
    with pytest.raises(InputError, match=r"Got 'heat', whose steps leave none\."):
        policy.explain({"heat": np.nan, "load": 2.0}, instead=[5.0], fill=["heat"])
