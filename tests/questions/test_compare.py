"""Comparisons: Shapley values against their definition, sets of changes against enumeration, and how they are shown."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import policy as small_policy

import whence as wh
from whence.errors import InputError
from whence.questions import comparison as module
from whence.questions.comparison import shapley_of_table


def mixed(policy: wh.Policy, before: Any, after: Any, names: tuple[str, ...]) -> Any:
    """`before` with the values that `after` has of these features."""
    row = policy.schema_.row(before).copy()
    for name in names:
        column = policy.schema_.kind(name)
        for one in getattr(column, "columns", None) or (name,):
            row[one] = policy.schema_.row(after)[one]
    return row


def by_definition(worth: Any, names: list[str]) -> dict[str, float]:
    """Shapley values: the mean of what a player adds over all orders in which players come."""
    total = dict.fromkeys(names, 0.0)
    orders = list(permutations(names))
    for order in orders:
        for i, name in enumerate(order):
            total[name] += worth(order[: i + 1]) - worth(order[:i])
    return {name: value / len(orders) for name, value in total.items()}


@pytest.mark.parametrize("weights", ["forest", "frozen", "knn"])
def test_against_the_definition(weights: str) -> None:
    """Both risks, all features: the values are those of the definition, and add up; the smallest set is enumerated."""
    turned = 0
    for seed in range(60):
        policy = small_policy(seed, weights=weights, kinds=None)
        rng = np.random.default_rng(seed)
        first, second = (policy.X_.iloc[int(i)] for i in rng.choice(len(policy.X_), 2, replace=False))
        found = policy.compare(first, second)
        plans = policy.decide(first), policy.decide(second)
        costs = [policy.problem.costs(plan, policy.Y_) for plan in plans]

        def worth(
            names: tuple[str, ...],
            policy: Any = policy,
            a: Any = first,
            b: Any = second,
            costs: Any = costs,
            same: bool = found.same,
        ) -> float:
            at = policy.weights_at(mixed(policy, a, b, names))
            return float(policy.risk_.of(costs[0], at) - (0.0 if same else policy.risk_.of(costs[1], at)))

        names = found.contributions["feature"].tolist()
        scale = max(float(np.abs(policy.Y_).max()), 1.0)
        wanted = by_definition(worth, names)
        for name, amount in zip(names, found.contributions["contribution"], strict=True):
            assert amount == pytest.approx(wanted[name], abs=1e-9 * scale), (seed, name)
        assert found.contributions["contribution"].sum() == pytest.approx(found.turn, abs=1e-9 * scale)
        if found.same:
            assert found.turning is None
            continue
        tau = 1e-6 * float(np.abs(costs[1]).max())
        sizes = [k for k in range(len(names) + 1) if any(worth(s) >= -tau for s in combinations(names, k))]
        assert found.turning is not None
        assert found.proved
        assert len(found.turning) == min(sizes), seed
        assert worth(found.turning) >= -tau
        turned += len(found.turning) > 0
    assert turned > 10


def test_many_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests need no table of all combinations: one walk per tree and one search give the same."""
    for seed in range(60):
        policy = small_policy(seed, weights="forest")
        if policy.risk_.tail is not None:
            continue
        first, second = policy.X_.iloc[0], policy.X_.iloc[-1]
        with_table = policy.compare(first, second)
        with monkeypatch.context() as patch:
            patch.setattr(module, "MOST", 0)
            without = policy.compare(first, second)
        amounts = [
            dict(zip(f["feature"], f["contribution"], strict=True))
            for f in (with_table.contributions, without.contributions)
        ]
        assert amounts[0] == pytest.approx(amounts[1])
        assert with_table.turning is None or len(with_table.turning) == len(without.turning), seed
        assert without.proved or without.turning is None


def test_too_many_changes_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours and CVaR need all combinations: with too many there are no contributions, and a sentence says why."""
    policy = small_policy(3, weights="knn", kinds="cccd")
    monkeypatch.setattr(module, "MOST", 2)
    found = policy.compare(policy.X_.iloc[0], policy.X_.iloc[1])
    assert found.contributions is None
    assert "at most 2 features may differ" in str(found)
    json.loads(found.to_json())


def test_shapley_of_a_table() -> None:
    """The formula over coalitions is the mean over orders."""
    rng = np.random.default_rng(0)
    for players in range(1, 6):
        worth = rng.normal(size=2**players)
        names = [str(j) for j in range(players)]
        wanted = by_definition(lambda s, worth=worth: float(worth[sum(1 << int(j) for j in s)]), names)
        assert shapley_of_table(worth) == pytest.approx(list(wanted.values()))


# ---- a larger example ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bakery() -> wh.Policy:
    from whence.examples import bakery

    example = bakery.load()
    return example.policy.fit(example.X, example.Y)


def test_shown(bakery: wh.Policy, tmp_path: Path) -> None:
    """Sentence, table, JSON and report tell both plans, the contributions and the smallest set."""
    found = bakery.compare(bakery.X_.iloc[10], bakery.X_.iloc[190])
    document = json.loads(found.to_json())
    assert document["schema"] == "whence/comparison/1"
    assert sum(one["contribution"] for one in document["contributions"]) == pytest.approx(document["turn"])
    assert document["text"] == str(found)
    costs = found.costs.to_numpy()
    assert costs[0, 0] <= costs[1, 0] + 1e-9
    assert costs[1, 1] <= costs[0, 1] + 1e-9
    assert found.turn == pytest.approx((costs[0, 1] - costs[1, 1]) - (costs[0, 0] - costs[1, 0]))
    found.to_html(tmp_path / "since.html", title="Since January")
    page = (tmp_path / "since.html").read_text("utf-8")
    assert "Since January" in page
    assert "<svg" in page
    assert all(name in page for name in found.contributions["feature"])


def test_the_same_plan(bakery: wh.Policy) -> None:
    """Between two contexts with the same plan its cost is told apart; between equal ones there is nothing to tell."""
    today = bakery.X_.iloc[10]
    found = bakery.compare(today, today)
    assert (found.same, found.turn, len(found.contributions), found.turning) == (True, 0.0, 0, None)
    assert "Nothing differs" in str(found)


def test_limits_and_refusals(bakery: wh.Policy) -> None:
    """What is no number is refused; with no time left contributions of a CVaR are missing, and that is said."""
    for given in ({"tolerance": -1}, {"time_limit": 0}, {"time_limit": np.nan}):
        with pytest.raises(InputError) as error:
            bakery.compare(bakery.X_.iloc[10], bakery.X_.iloc[190], **given)  # type: ignore[arg-type]
        assert error.value.parameter == next(iter(given))
    today = bakery.X_.iloc[10].to_dict()
    short = {name: value for name, value in today.items() if name != "rain"}
    for wrong in (short, {**today, "moon": 1}, [1, 2]):
        with pytest.raises(InputError, match="The 'before' "):
            bakery.compare(wrong, today)
        with pytest.raises(InputError, match="The 'after' "):
            bakery.compare(today, wrong)
    risky = wh.Policy(bakery.problem, bakery.weights, wh.CVaR(0.8)).fit(bakery.X_, bakery.Y_)
    late = risky.compare(bakery.X_.iloc[10], bakery.X_.iloc[190], time_limit=1e-9)
    assert late.contributions is None
    assert "not computed within" in late.note
