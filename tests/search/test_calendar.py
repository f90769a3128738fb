"""Hours that go round, ordered levels and dates: both engines against brute force."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from tests import date_cases
from tests.blocks import count, seeds
from tests.calendar_cases import KINDS, MISSING_KINDS, calendar_case, disagreement
from tests.context_cases import TooMany
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError

EACH, DATES = 4, count(12, 24)


@pytest.mark.parametrize("kinds", [*KINDS, *MISSING_KINDS])
def test_search_against_brute_force(kinds: str) -> None:
    """The nearest context by the definition of the distance, alone and with rows, tables, steps, gaps, few changes."""
    looked = 0
    for seed in range(EACH):
        case = calendar_case(seed, kinds)
        try:
            # The search knows relations or a limit on changes, one at a time.
            wrong = disagreement(case)
        except TooMany:
            continue
        assert not wrong, (kinds, seed, wrong)
        looked += 1
    assert looked >= EACH // 3


@pytest.mark.parametrize("kinds", ["c", "o", "co", "cr", "ct", "cs", "cf", "of", "mr", "md", "cd"])
def test_search_and_integer_program_agree(kinds: str) -> None:
    """The integer program knows of no parts: it takes a circle as it is."""
    for seed in seeds(1, 3):
        case = calendar_case(1000 + seed, kinds)
        found, solved = case.explain(), case.explain(engine="milp", time_limit=20.0)
        assert found.status == solved.status, (kinds, seed)
        assert found.distance == pytest.approx(solved.distance, rel=2e-6, abs=2e-6), (kinds, seed)


def test_dates_against_every_day() -> None:
    """Parts move together to a day that exists, in the years of the history or in the range that is given."""
    for seed in range(DATES):
        wrong = date_cases.disagreement(date_cases.date_case(seed))
        assert not wrong, (seed, wrong)


def test_dates_among_neighbours_against_every_day() -> None:
    """The same for weekdays, holidays, years and days of the month where weights are those of neighbours."""
    for seed in range(DATES // 4):
        wrong = date_cases.disagreement(date_cases.date_case(seed, neighbours=True))
        assert not wrong, (seed, wrong)


def test_dates_by_the_integer_program() -> None:
    """The same answers by the other engine."""
    for seed in range(100, 106):
        case = date_cases.date_case(seed)
        found, solved = case.explain(), case.explain(engine="milp", time_limit=20.0)
        assert (found.status, found.distance) == (solved.status, pytest.approx(solved.distance, rel=2e-6, abs=2e-6)), (
            seed
        )


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


def test_a_date_is_one_change() -> None:
    """With one change left, the nearest context changes the date alone, whatever its parts, or something else."""
    for seed in range(600, 608):
        case = date_cases.date_case(seed)
        alone = [case.explain(fixed=[name]).distance for name in ("heat", "date")]
        assert case.explain(max_changes=1).distance == pytest.approx(min(alone), rel=1e-6, abs=1e-6), seed


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
    """A missing number whose steps leave no value in its range: brute force, too, has nothing to fill in."""
    case = calendar_case(5008, "ms")
    with pytest.raises(InputError, match=r"Got 'heat', whose steps leave none\."):
        case.explain()
    assert disagreement(case) == ""
