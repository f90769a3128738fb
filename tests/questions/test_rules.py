"""Rules: their worst cases against a look at every cell, what simplicity costs, and what they say."""

from __future__ import annotations

import json
import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.blocks import seeds

import whence as wh
from whence.questions.rule_folds import Crossed
from whence.questions.rule_tree import CONTEXTS, Condition, PlanCosts, holds_in, round_between
from whence.questions.rules import Rules
from whence.questions.worst_case import over_best
from whence.risk import Risk

CASES = 3
#: A seed with which a past context that rules were not grown on shows the worst.
SHOWN_BY_ANOTHER = 7


def small_case(seed: int) -> wh.Policy:
    """A policy of a few shallow trees over two numbers, so that all of its cells can be looked at."""
    rng = np.random.default_rng(seed)
    n = 40
    X = pd.DataFrame({"a": rng.uniform(0, 10, n).round(2), "b": rng.uniform(-1, 1, n).round(3)})
    risk = wh.CVaR(0.5) if seed % 5 == 2 else wh.Expectation()
    weights = wh.ForestWeights(4, max_depth=3, min_samples_leaf=2, random_state=seed)
    if seed % 3 == 0:
        problem: Any = wh.ShortestPath.grid(3)
        Y = rng.uniform(1, 5, (n, 12)) + X["a"].to_numpy()[:, None] * rng.random(12) * 0.3
    else:
        problem = wh.Newsvendor([1.0, 2.0], [3.0, 4.0], budget=None if seed % 4 else 25.0)
        Y = (5 + X[["a"]].to_numpy() * [1.0, 0.5] + rng.uniform(0, 6, (n, 2))).round(1)
    # Any number may occur: between two thresholds there may be none that is recorded in the step of a table.
    schema = wh.Schema({"a": wh.Continuous(), "b": wh.Continuous()})
    return wh.Policy(problem, weights, risk=risk, schema=schema).fit(X, Y)


def cells_of(policy: wh.Policy, conditions: Any) -> list[pd.Series]:
    """A context of every cell of the forest where conditions hold."""
    axes = []
    for j, name in enumerate(policy.schema_.names):
        low, high = policy.schema_.training_range(name)
        one = conditions.get(name, Condition(name))
        first, last = max(low, one.low), min(high, one.high)
        trees = policy.weights_.forest_.estimators_
        cuts = np.concatenate([tree.tree_.threshold[tree.tree_.feature == j] for tree in trees])
        inner = [cut for cut in low + (high - low) * np.unique(cuts) if first < cut < last]
        ends = [first, *inner, last]
        # A forest sees numbers rounded to 32 bits: next to an end, contexts may fall to the cell beyond it.
        edges = [min(float(np.nextafter(first, np.inf)), last), last]
        axes.append([*(0.5 * (a + b) for a, b in pairwise(ends)), *edges])
    return [pd.Series(dict(zip(policy.schema_.names, point, strict=True))) for point in product(*axes)]


@pytest.mark.parametrize("block", seeds(2, 100))
def test_worst_cases_against_all_cells(block: int) -> None:
    """What is proved of a rule holds in every cell of its contexts, and what is shown is there."""
    for seed in range(CASES * block, CASES * (block + 1)):
        policy = small_case(seed)
        rules = policy.rules(up_to=3, min_share=0.1, time_limit=None)
        rows = [policy.schema_.row(policy.X_.iloc[i]) for i in range(len(policy.X_))]
        for rule in rules:
            worst = max(over_best(policy, rule.plan, cell) for cell in cells_of(policy, rule.conditions))
            past = max(over_best(policy, rule.plan, row) for row in rows if holds_in(rule.conditions, row))
            assert rule.worst.at_least >= past - 1e-9
            assert rule.worst.at_most >= worst - 1e-5
            assert rule.worst.at_least <= worst + 1e-5
            assert rule.worst.at_most - rule.worst.at_least <= max(0.003, 0.03 * worst)
            assert rule.worst.context is not None
            shown = over_best(policy, rule.plan, policy.schema_.row(dict(rule.worst.context)))
            assert shown == pytest.approx(rule.worst.at_least, abs=1e-9)


class Sizes(wh.DecisionProblem):
    """One of a few sizes."""

    def costs(self, decision: Any, Y: np.ndarray) -> np.ndarray:
        found: np.ndarray = 1.0 + np.abs(Y[:, 0] - decision)
        return found

    def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Any) -> float:
        return min(np.arange(10.0, 40.0, 5.0), key=lambda size: risk.of(self.costs(size, Y), weights))


class Largest(Risk):
    """The largest cost that may come: no mean of anything, so that nothing is proved of worst cases."""

    def of(self, costs: Any, weights: Any) -> float:
        return float(np.asarray(costs)[np.asarray(weights) > 0.0].max())


def test_past_contexts_that_rules_were_not_grown_on_are_looked_at() -> None:
    """Rules are grown on a thousand of them; what is shown is the most that any past context shows, by the own risk."""
    rng = np.random.default_rng(SHOWN_BY_ANOTHER)
    X = np.sort(rng.random(1_200))[:, None]
    policy = wh.Policy(Sizes(), wh.KNNWeights(k=4), Largest()).fit(X, 10.0 + rng.exponential(4.0, (1_200, 1)))
    known = PlanCosts(policy, CONTEXTS, math.inf).rows
    assert known.size == CONTEXTS
    (rule,) = policy.rules(up_to=1, time_limit=None)
    past = [over_best(policy, rule.plan, policy.schema_.row(policy.X_.iloc[i])) for i in range(len(X))]
    assert math.isinf(rule.worst.at_most)
    assert rule.worst.at_least == max(past)
    assert max(past) > max(past[i] for i in known)


def test_a_category_that_was_declared_and_never_seen_keeps_a_rule() -> None:
    """It keeps that of the categories which are left over after a split, and the rule says so."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"day": rng.choice(["Mon", "Sat"], 80)})
    schema = wh.Schema({"day": wh.Categorical(["Mon", "Sat", "Sun"])})
    Y = 10.0 + 20.0 * (X[["day"]] == "Sat").to_numpy() + rng.random((80, 1))
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(5, random_state=0), schema=schema).fit(X, Y)
    rules = policy.rules(up_to=2, time_limit=None)
    assert len(rules) == 2
    among = [level for rule in rules for level in rule.conditions["day"].among or ()]
    assert sorted(among) == ["Mon", "Sat", "Sun"]
    assert rules.decide({"day": "Sun"}) is not None
    assert all(math.isfinite(rule.worst.at_most) for rule in rules)


@pytest.mark.parametrize("block", seeds(2, 100))
def test_more_rules_never_cost_more_on_the_rows_they_were_grown_on(block: int) -> None:
    """Every split keeps the plan of its leaf among the candidates."""
    for seed in range(CASES * block, CASES * (block + 1)):
        rules = small_case(seed).rules(up_to=5, min_share=0.05, time_limit=1)
        grown = rules.curve["grown on"].dropna().tolist()
        assert all(second <= first + 1e-12 for first, second in pairwise(grown))


@pytest.fixture(scope="module")
def bakery() -> wh.Policy:
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame(
        {
            "temp": rng.uniform(0, 30, n).round(1),
            "day": rng.choice(["Mon", "Sat", "Sun"], n),
            "promo": rng.random(n) < 0.3,
        }
    )
    Y = pd.DataFrame(
        {"rolls": (40 + 40 * (X["day"] != "Mon") + rng.normal(0, 4, n)).round(), "rye": 10.0 + 20 * X["promo"]}
    )
    problem = wh.Newsvendor([1, 1], [3, 5], names=["rolls", "rye"], cost_unit="€")
    schema = wh.Schema({"temp": wh.Continuous(unit="°C")})
    return wh.Policy(problem, wh.ForestWeights(20, max_depth=4, random_state=0), schema=schema).fit(X, Y)


@pytest.fixture(scope="module")
def found(bakery: wh.Policy) -> Rules:
    return bakery.rules(up_to=4, time_limit=20)


def test_every_past_context_keeps_one_rule(bakery: wh.Policy, found: Rules) -> None:
    """The rules part the contexts, and their shares add up to the history."""
    for i in range(len(bakery.X_)):
        row = bakery.schema_.row(bakery.X_.iloc[i])
        assert sum(holds_in(rule.conditions, row) for rule in found) == 1
    assert sum(rule.share for rule in found) == pytest.approx(1.0)
    assert all(rule.share >= 0.02 for rule in found)
    monday = found.decide({"temp": 10.0, "day": "Mon", "promo": False})
    assert monday[1] == 10.0
    assert monday[0] < found.decide({"temp": 10.0, "day": "Sun", "promo": False})[0]


def test_rules_in_words(found: Rules) -> None:
    """Conditions, plans, shares and costs are told, in sentences and in a table."""
    assert len(found) == 4
    assert "day is Sat or Sun" in found.text or "day is Sun or Sat" in found.text
    assert "promo is on" in found.text
    assert "rolls" in found.text
    assert "On rows not seen they cost" in found.text
    assert list(found.frame.columns[:3]) == ["condition", "plan", "share"]
    assert found.curve["rules"].tolist() == ["average", "1", "2", "3", "4"]
    extra = found.curve["extra"].tolist()
    assert extra[1] > extra[4]
    assert "What does the policy do in general?" in found.page()
    assert found.plot().get_title(loc="left") == "The price of simplicity"


def test_rules_travel_and_are_verified(bakery: wh.Policy, found: Rules) -> None:
    """Rules that were written and read are the same, and are verified by their policy, not by another one."""
    again = Rules.from_json(json.dumps(found.to_dict()))
    assert again.text == found.text
    assert again.to_dict() == found.to_dict()
    assert again.intact
    checked = again.verify(bakery, prove=True, time_limit=20)
    assert checked.agrees, checked.differences
    other = wh.Policy(wh.Newsvendor([3, 1], [1, 1]), wh.KNNWeights(k=30)).fit(bakery.X_, bakery.Y_)
    assert not again.verify(other).agrees
    document = found.to_dict()
    document["rules"][0]["share"] = 0.5
    assert not Rules.from_dict(document).verify(bakery).agrees


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"up_to": 0}, "'up_to' must be"), ({"min_share": 2}, "'min_share' must be"), ({"time_limit": 0}, "'time_limit'")],
)
def test_arguments_are_refused_in_a_sentence(bakery: wh.Policy, options: Any, sentence: str) -> None:
    """Each names the argument, what it must be, and what came."""
    with pytest.raises(wh.WhenceError, match=sentence):
        bakery.rules(**options)


@pytest.mark.parametrize("weights", [wh.KNNWeights(k=8), wh.KernelWeights()], ids=str)
def test_rules_of_other_predictors(weights: Any) -> None:
    """Every predictor has rules; where worst cases cannot be proved, that is said."""
    X = np.random.default_rng(0).random((60, 2))
    Y = 10 + 20 * (X[:, :1] > 0.5) + np.random.default_rng(1).random((60, 1))
    rules = wh.Policy(wh.Newsvendor(1, 3), weights).fit(X, Y).rules(up_to=2, time_limit=5)
    assert len(rules) == 2
    for rule in rules:
        assert rule.worst.at_least <= rule.worst.at_most
        assert math.isfinite(rule.worst.at_least)


@pytest.mark.parametrize("weights", [wh.KNNWeights(k=8), wh.ForecastWeights("linear")], ids=str)
def test_rules_end_when_the_time_is_up(weights: Any) -> None:
    """With no time at all, few plans are looked at in few contexts, and no rows are left out."""
    seen = []

    class Counted(wh.Newsvendor):
        def costs(self, decision: Any, Y: Any) -> Any:
            seen.append(decision)
            return super().costs(decision, Y)

    X = np.random.default_rng(0).random((60, 2))
    policy = wh.Policy(Counted(1, 3), weights).fit(X, 10 + 20 * X[:, :1])
    rules = policy.rules(time_limit=1e-9)
    assert len(rules) == 1
    assert rules.overall is None
    assert len(seen) < 40
    assert math.isinf(rules[0].worst.at_most)


def test_a_leaf_is_planned_for_what_forecasts_say_of_all_its_contexts() -> None:
    """One plan for all contexts covers forecasts from 10 to 30, not only that of one context."""
    X = np.linspace(0.0, 1.0, 80)[:, None]
    policy = wh.Policy(wh.Newsvendor(1, 1), wh.ForecastWeights("linear")).fit(X, 10 + 20 * X)
    assert policy.rules(up_to=1, time_limit=20)[0].plan == pytest.approx([20.0], abs=1.0)


def test_a_policy_that_costs_nothing_somewhere_has_no_share_of_it() -> None:
    """Where a resample costs the policy nothing, shares of it are left out; the document has finite numbers only."""
    X = np.random.default_rng(0).random((60, 2))
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(9)).fit(X, 10 + 20 * (X[:, :1] > 0.5))
    found = policy.rules(up_to=2, time_limit=None)
    extras = [rule.extra for rule in found]
    assert all(one is not None and np.isfinite([one.share, one.error]).all() for one in extras)
    assert Rules.from_json(found.to_json()).to_dict() == found.to_dict()
    free = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(1)).fit(X, np.full((60, 1), 7.0))
    assert [rule.extra for rule in free.rules(up_to=1, time_limit=None)] == [None]


def test_thresholds_are_round() -> None:
    """A threshold lies where the rows are parted, and reads well."""
    for low, high in [(1.23, 4.56), (0.1234, 0.1235), (-3.0, -2.0), (99.5, 100.5), (5.0, math.nextafter(5.0, 6.0))]:
        assert low <= round_between(low, high) < high


def test_under_cvar_rows_not_seen_count_by_the_tail_of_their_own_context() -> None:
    """Bad days alone make up the tail of all rows together; a plan that is bad on good days costs more all the same."""
    rng = np.random.default_rng(0)
    bad = rng.random(150) < 0.5
    Y = np.where(bad, rng.uniform(0, 200, 150), rng.uniform(149, 151, 150))[:, None]
    X = pd.DataFrame({"bad": bad})
    policy = wh.Policy(wh.Newsvendor(holding=1, backorder=20), wh.KNNWeights(k=40), wh.CVaR(0.8)).fit(X, Y)
    crossed = Crossed.of(policy, 2, 0.02, math.inf, lambda: True)
    one, two = crossed.extra("1"), crossed.extra("2")
    assert one is not None
    assert two is not None
    assert one.share > 0.15
    assert abs(two.share) < 0.02
