"""Strips say along each feature which plan is best: held against the policy's own decisions, value by value."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.blocks import seeds
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError
from whence.search import verdict_strips
from whence.search.verdict_strips import NEAR, Strip, strips


def judged(policy: wh.Policy, context: pd.Series, plans: list[Any]) -> tuple[str, str]:
    """What the policy itself says in one context: the best of all plans, and the cheaper of two."""
    made, row = policy.decision(context), policy.schema_.row(context)
    paid = [policy.risk_.of(policy.problem.costs(plan, policy.outcomes_in(row)), made.weights) for plan in plans]
    ahead = "alternative" if paid[1] <= paid[0] * (1 + 1e-9) else "decision"
    return ("another" if made.cost < min(paid) * (1 - NEAR) else ahead), ahead


def stretch_at(strip: Strip, value: Any) -> Any:
    """The stretch that holds a value."""
    if not strip.ordered:
        return next(one for one in strip.stretches if one.begin == value)
    return next(one for one in reversed(strip.stretches) if one.begin <= value)


def history(seed: int, n: int = 90) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, whole numbers, a category and a switch that matter, and two demands."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"warm": rng.random(n).round(3), "dry": 20 * rng.random(n), "guests": rng.integers(0, 30, n)})
    X["day"] = rng.choice(["Mon", "Tue", "Sun"], n)
    X["fair"] = rng.random(n) < 0.4
    base = 10 + 20 * X["warm"] + X["guests"] + 9 * (X["day"] == "Sun") + 6 * X["fair"]
    return X, np.maximum(base.to_numpy()[:, None] * [1.0, 0.6] + rng.normal(0, 2, (n, 2)), 0.0)


WEIGHTS = {
    "forest": lambda: paper_forest(n_trees=12, random_state=0),
    "deep": lambda: wh.ForestWeights(n_trees=8, random_state=0),
    "neighbours": lambda: wh.KNNWeights(k=7),
    "kernel": lambda: wh.KernelWeights(0.4),
}


@pytest.mark.parametrize("risk", [wh.Expectation(), wh.CVaR(0.7)], ids=str)
@pytest.mark.parametrize("weights", list(WEIGHTS))
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_strips_say_what_the_policy_says(weights: str, risk: wh.Risk, seed: int) -> None:
    """At random values of every feature, the policy's own decision there agrees with the strip."""
    X, Y = history(seed)
    rng = np.random.default_rng(seed)
    policy = wh.Policy(wh.Newsvendor([1, 1], [3, 2]), WEIGHTS[weights](), risk).fit(X, Y)
    context, plan = X.iloc[0], policy.decide(X.iloc[int(rng.integers(1, 60))])
    plans = [policy.decide(context), plan]
    wrong = asked = 0
    for strip in strips(policy, policy.schema_.row(context), plan):
        assert strip.exact == (weights in ("forest", "deep") or strip.feature not in ("warm", "dry"))
        assert all(one.settled for one in strip.stretches)
        values = {"warm": rng.random(8), "dry": 20 * rng.random(8), "guests": range(0, 30, 4)}.get(
            strip.feature, X[strip.feature].unique()
        )
        for value in values:
            there = context.copy()
            there[strip.feature] = value
            if strip.ordered and not strip.stretches[0].begin <= value <= strip.stretches[-1].end:
                continue
            found = stretch_at(strip, value)
            asked += 1
            differs = (found.verdict, found.ahead) != judged(policy, there, plans)
            wrong += differs
            assert not strip.exact or not differs, (strip.feature, value)
    # What lies between two values that were asked may differ, but not often.
    assert wrong <= 0.1 * asked


def test_a_forest_turns_where_its_thresholds_are() -> None:
    """Just before a turn and just after it the policy's decisions are different ones, or other plans are best."""
    X, Y = history(3)
    policy = wh.Policy(wh.Newsvendor([1, 1], [3, 2]), paper_forest(n_trees=5, random_state=1)).fit(X, Y)
    context, plan = X.iloc[0], policy.decide(X.iloc[7])
    [strip] = strips(policy, policy.schema_.row(context), plan, features=["warm"])
    assert strip.turns
    plans = [policy.decide(context), plan]
    for before, after, turn in zip(strip.stretches, strip.stretches[1:], strip.turns, strict=False):
        found = []
        for value in (turn - 1e-5, turn + 1e-5):
            there = context.copy()
            there["warm"] = value
            found.append(judged(policy, there, plans))
        assert found == [(before.verdict, before.ahead), (after.verdict, after.ahead)]


def test_dates_and_columns_of_a_category() -> None:
    """A date has a strip of its year; a category that stands in several columns one of its values."""
    rng = np.random.default_rng(0)
    n = 200
    days = pd.date_range("2024-01-01", periods=n)
    X = pd.DataFrame({"when": days, "is_a": (rng.random(n) < 0.5).astype(int)})
    X["is_b"] = 1 - X["is_a"]
    Y = (10 + 8 * (days.day_of_week.to_numpy() >= 5) + 5 * X["is_a"].to_numpy())[:, None].astype(float)
    schema = wh.Schema({"when": wh.Date(), "kind": wh.Categorical(["a", "b"], columns=["is_a", "is_b"])})
    policy = wh.Policy(wh.Newsvendor(1, 1), paper_forest(n_trees=20, random_state=0), schema=schema).fit(X, Y)
    row = policy.schema_.row(X.iloc[0])
    when, kind = strips(policy, row, np.array([18.0]))
    assert (when.stretches[0].begin, when.stretches[-1].end) == (date(2024, 1, 1), date(2024, 12, 31))
    assert when.ordered
    assert len(when.stretches) > 10
    assert [one.begin for one in kind.stretches] == ["a", "b"]
    assert not kind.turns


def test_forecasts_move_the_outcomes() -> None:
    """Where a context moves a forecast and not the weights, the strip follows the forecast."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"load": rng.random(80)})
    problem = wh.LinearProblem(A_eq=np.ones((1, 2)), b_eq=[1.0], bounds=(0, 1))
    Y = np.stack([1 + 4 * X["load"], np.full(80, 3.0)], axis=1) + 0.01 * rng.random((80, 2))
    policy = wh.Policy(problem, wh.ForecastWeights("linear")).fit(X, Y)
    [strip] = strips(policy, policy.schema_.row([0.1]), np.array([0.0, 1.0]))
    assert [one.verdict for one in strip.stretches] == ["decision", "alternative"]
    assert strip.turns[0] == pytest.approx(0.5, abs=0.1)


class Opaque(wh.Newsvendor):
    """A newsvendor of which nothing but costs and solutions is known."""

    def structure(self, Y: Any) -> None:
        return None


def solves_counted(policy: wh.Policy, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by one with every solve."""
    solved: list[int] = []
    solve = policy.problem.solve
    monkeypatch.setattr(policy.problem, "solve", lambda *given: solved.append(0) or solve(*given))
    return solved


def cells_of(policy: wh.Policy, row: pd.Series) -> int:
    """How many cells all strips have together."""
    turns = verdict_strips._Turns(policy, row)
    return sum(len(verdict_strips._cells(turns, name).values) for name in policy.schema_.names)


def test_without_time_it_is_said_that_others_may_be_better() -> None:
    """Where problems cannot be solved in time, verdicts are between the two plans and not settled."""
    X, Y = history(1)
    policy = wh.Policy(Opaque([1, 1], [3, 2]), paper_forest(n_trees=5, random_state=0)).fit(X, Y)
    hurried = strips(policy, policy.schema_.row(X.iloc[0]), seconds=-1.0)
    assert {one.verdict for strip in hurried for one in strip.stretches} == {"decision"}
    assert not any(one.settled for strip in hurried for one in strip.stretches)


def test_a_plan_that_is_known_to_be_better_saves_solving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer problems are solved than there are cells, and none of the verdicts changes."""
    X, Y = history(2, 150)
    policy = wh.Policy(Opaque([1, 1], [3, 2]), wh.ForestWeights(n_trees=20, random_state=0)).fit(X, Y)
    row, solved = policy.schema_.row(X.iloc[0]), solves_counted(policy, monkeypatch)
    first = strips(policy, row)
    few = len(solved)
    monkeypatch.setattr(verdict_strips, "KEPT", 0)
    assert strips(policy, row) == first
    assert few < 0.8 * cells_of(policy, row)


@pytest.mark.parametrize("risk", [wh.Expectation(), wh.CVaR(0.8), wh.CVaR(0.5)], ids=str)
@pytest.mark.parametrize("budget", [None, 30.0], ids=["free", "budget"])
@pytest.mark.parametrize("seed", seeds(2, 8))
def test_bounds_change_no_verdict(
    budget: float | None, risk: wh.Risk, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where bounds settle most cells, few problems are solved and all verdicts are those of solving in each."""
    X, Y = history(seed, 120)
    found, solved = [], []
    for problem in (wh.Newsvendor, Opaque):
        weights = wh.ForestWeights(n_trees=25, random_state=0)
        policy = wh.Policy(problem([1, 2], [3, 2], budget), weights, risk).fit(X, Y)
        row, plan = policy.schema_.row(X.iloc[0]), policy.decide(X.iloc[1])
        solves = solves_counted(policy, monkeypatch)
        if problem is Opaque:
            monkeypatch.setattr(verdict_strips, "KEPT", 0)
        found.append(strips(policy, row, plan))
        solved.append(len(solves))
    assert found[0] == found[1]
    assert solved[0] < 0.75 * solved[1]


@pytest.mark.parametrize("risk", [wh.Expectation(), wh.CVaR(0.8)], ids=str)
@pytest.mark.parametrize("products", [1, 5])
def test_hardly_any_cell_of_a_large_history_is_solved(
    products: int, risk: wh.Risk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 3,000 rows and ten features, what takes long is done for few of some thousand cells."""
    rng = np.random.default_rng(0)
    X = rng.random((3000, 10))
    Y = np.maximum(50 + 40 * X[:, rng.integers(0, 10, products)] + rng.normal(0, 8, (3000, products)), 0.0)
    policy = wh.Policy(wh.Newsvendor(np.ones(products), np.full(products, 3.0)), wh.ForestWeights(random_state=0), risk)
    policy.fit(X, Y)
    row, plan = policy.schema_.row(X[1]), policy.decide(X[101])
    solved = solves_counted(policy, monkeypatch)
    found = strips(policy, row, plan)
    assert all(one.settled for strip in found for one in strip.stretches)
    assert cells_of(policy, row) > 500
    assert len(solved) <= 1 + 0.02 * cells_of(policy, row)


@pytest.mark.parametrize("risk", [wh.Expectation(), wh.CVaR(0.8)], ids=str)
def test_bounds_on_routes_change_no_verdict(risk: wh.Risk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of routes too, the cells that bounds settle are those that solving settles in the same way."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.random((150, 3)), columns=["rain", "wind", "day"])
    problem = wh.ShortestPath.grid(4)
    Y = 2 + 6 * X.to_numpy() @ rng.random((3, problem.outcome_columns())) * rng.gamma(4, 0.25, (150, 24))
    policy = wh.Policy(problem, wh.ForestWeights(n_trees=20, random_state=0), risk).fit(X, Y)
    row, plan = policy.schema_.row(X.iloc[0]), policy.decide(X.iloc[int(np.argmax(Y.sum(axis=1)))])
    solved = solves_counted(policy, monkeypatch)
    first, few = strips(policy, row, plan), len(solved)
    monkeypatch.setattr(verdict_strips, "KEPT", 0)
    monkeypatch.setattr(wh.ShortestPath, "structure", lambda *_: None)
    assert strips(policy, row, plan) == first
    assert few < 0.5 * len(solved)


def test_unknown_features_are_refused() -> None:
    """A feature that the schema does not know is named."""
    X, Y = history(0, 30)
    policy = wh.Policy(wh.Newsvendor([1, 1], [3, 2]), wh.KNNWeights(k=3)).fit(X, Y)
    with pytest.raises(InputError, match=r"'features' must be among 'warm', .* Got 'wet' instead"):
        strips(policy, policy.schema_.row(X.iloc[0]), features=["wet"])


def test_weekdays_come_in_their_order() -> None:
    """Names of weekdays lie side by side as in the calendar, whichever the history has first."""
    X, Y = history(1)
    policy = wh.Policy(wh.Newsvendor([1, 2], [3, 2]), wh.ForestWeights(4, random_state=0)).fit(X, Y)
    assert list(policy.schema_.levels("day")) != ["Mon", "Tue", "Sun"]
    (strip,) = [one for one in strips(policy, X.iloc[0]) if one.feature == "day"]
    assert [one.begin for one in strip.stretches] == ["Mon", "Tue", "Sun"]


@pytest.mark.parametrize("kind", [None, wh.Cyclic(24), wh.Discrete(step=1), wh.Continuous(step=2)], ids=repr)
def test_whole_numbers_turn_between_two(kind: Any) -> None:
    """Where a feature takes whole numbers only, the last one before a turn and the first one after it are told."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"hour": 2 * rng.integers(0, 12, 120), "warm": rng.random(120)})
    Y = np.where(X[["hour"]] < 9, 10.0, 20.0) + rng.random((120, 1))
    schema = wh.Schema({} if kind is None else {"hour": kind})
    policy = wh.Policy(wh.Newsvendor(1, 1), paper_forest(n_trees=9, random_state=0), schema=schema).fit(X, Y)
    context = X.iloc[0]
    hour, warm = strips(policy, policy.schema_.row(context), policy.decide(X.iloc[1]))
    assert len(hour.stretches) > 1
    plans, places = [policy.decide(context), policy.decide(X.iloc[1])], hour.numbers(0.0)
    taken = [entry for _, entry in places if isinstance(entry, tuple)]
    assert taken
    whole = set(np.arange(0, 23, 1 if isinstance(kind, wh.Discrete | wh.Cyclic) else 2))
    for before, after in zip(hour.stretches, hour.stretches[1:], strict=False):
        assert {before.last, after.first} <= whole
        assert not any(before.last < one < after.first for one in whole)
        for one, value in ((before, before.last), (after, after.first)):
            there = context.copy()
            there["hour"] = value
            assert judged(policy, there, plans) == (one.verdict, one.ahead)
    assert all(one.first is None and one.last is None for one in warm.stretches)
