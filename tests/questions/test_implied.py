"""Implied prices: planted ones are found again, and nothing explains plans better."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.blocks import seeds

import whence as wh
from whence.questions.implied import Implied


def planted(seed: int, products: int = 2, risk: Any = None) -> tuple[wh.Policy, np.ndarray, Any, float]:
    """A policy, contexts, and what planners do there whose backorder costs are some multiple of the model's."""
    rng = np.random.default_rng(seed)
    X = rng.random((120, 2))
    Y = rng.uniform(0, 20, (120, products)) + 10 * X[:, :1]
    factor = float(np.exp(rng.normal(0.0, 0.8)))
    costs = rng.uniform(1, 3, products), rng.uniform(2, 6, products)
    policy, planners = (
        wh.Policy(wh.Newsvendor(costs[0], f * costs[1]), wh.KNNWeights(k=60), risk=risk).fit(X, Y)
        for f in (1.0, factor)
    )
    return policy, X, planners.predict(X), factor


@pytest.mark.parametrize("seed", seeds(4, 100))
def test_planted_prices_are_found_again(seed: int) -> None:
    """Backorder costs that planners had in mind are found where holding costs are known."""
    policy, X, plans, factor = planted(seed)
    found = policy.implied(X[:60], plans[:60], fixed=["holding"])
    implied = found.frame[found.frame["parameter"].str.startswith("backorder")]
    assert implied["factor"].to_numpy() == pytest.approx(np.full(2, factor), rel=0.1)
    assert found.regret_implied == pytest.approx(0.0, abs=1e-5)
    assert found.regret_implied <= found.regret_today
    assert found.proved


@pytest.mark.parametrize("seed", seeds(2, 20))
def test_without_a_fixed_price_ratios_are_found(seed: int) -> None:
    """The ratio of backorder to holding costs is found, where the plans cost in all what they cost today."""
    policy, X, plans, factor = planted(seed)
    frame = policy.implied(X[:60], plans[:60]).frame.set_index("parameter")
    holding, backorder = frame["factor"].iloc[0], frame["factor"].iloc[-1]
    assert backorder / holding == pytest.approx(factor, rel=0.1)
    now, then = (
        sum(policy.weights_at(x) @ there.costs(z, policy.Y_) for x, z in zip(X[:60], plans[:60], strict=True))
        for there in (
            policy.problem,
            wh.Newsvendor(holding * policy.problem.holding, backorder * policy.problem.backorder),
        )
    )
    assert then == pytest.approx(now)


@pytest.mark.parametrize("risk", [None, wh.CVaR(0.5)], ids=["mean", "cvar"])
def test_plans_that_no_prices_explain_are_no_further_from_the_best_ones(risk: Any) -> None:
    """A tenth more of everything: prices at which all costs are small would leave little above a best plan of none."""
    policy, X, _, _ = planted(1, 2, risk)
    found = policy.implied(X[:8], 1.1 * policy.predict(X[:8]))
    assert 0.0 < found.regret_implied <= found.regret_today


@pytest.mark.parametrize("seed", seeds(1, 10))
def test_planted_prices_under_cvar(seed: int) -> None:
    """Under a risk that looks at a tail they explain the plans as well as the planted ones do, without a proof."""
    policy, X, plans, factor = planted(seed, 1, wh.CVaR(0.5))
    found = policy.implied(X[:15], plans[:15], fixed=["holding"])
    assert found.frame["factor"].iloc[-1] == pytest.approx(factor, rel=0.2)
    assert found.regret_implied <= 0.01
    assert not found.proved


@pytest.mark.parametrize("risk", [None, wh.CVaR(0.5)], ids=["mean", "cvar"])
def test_planners_who_differ_leave_prices_uncertain(risk: Any) -> None:
    """Where some plan by one price and some by another, histories that are drawn from them imply different ones."""
    policy, X, plans, _ = planted(2, 1, risk)
    mixed = [*plans[:6], *policy.predict(X[6:12])]
    low, implied, high = policy.implied(X[:12], mixed, fixed=["holding"]).frame[["low", "implied", "high"]].iloc[-1]
    assert low <= implied <= high
    assert high > 1.1 * low


def test_tolls_that_planners_seem_to_see() -> None:
    """Planners who avoid an edge imply that it costs more."""
    problem = wh.ShortestPath.grid(3)
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    Y = rng.uniform(1, 3, (40, 12))
    policy = wh.Policy(problem, wh.KNNWeights(k=10)).fit(X, Y)
    dearer = Y.copy()
    dearer[:, 0] += 3.0
    plans = [wh.Policy(problem, wh.KNNWeights(k=10)).fit(X, dearer).decide(x) for x in X]
    found = policy.implied(X, plans)
    assert found.regret_implied < 0.2 * found.regret_today
    assert found.frame["factor"].idxmax() == 0


def test_today_explains_the_policys_own_plans() -> None:
    """The policy's own plans imply today's prices."""
    policy, X, _, _ = planted(0)
    found = policy.implied(X[:10], policy.predict(X[:10]))
    assert found.text.startswith("The 10 plans are explained best by today's prices.")
    assert (found.frame["factor"] == 1.0).all()


def test_documents_travel_and_are_verified() -> None:
    """An answer that was written and read is the same, and is verified by its policy."""
    policy, X, plans, _ = planted(3)
    found = policy.implied(X[:12], plans[:12])
    again = Implied.from_json(json.dumps(found.to_dict()))
    assert again.text == found.text
    assert again.to_dict() == found.to_dict()
    assert again.verify(policy, prove=True).agrees
    document = found.to_dict()
    document["regret_implied"] = 0.5
    assert not Implied.from_dict(document).verify(policy).agrees
    assert "Which prices do the plans imply?" in found.page()


@pytest.mark.parametrize(
    ("plans", "sentence"),
    [([[1.0, 1.0]], "'plans' must hold one plan per context \\(2\\)"), ([[1.0, 1.0], [-1.0, 2.0]], "Plan 2 is not")],
)
def test_plans_are_refused_in_a_sentence(plans: Any, sentence: str) -> None:
    """Too few plans, and plans that cannot be carried out."""
    policy, X, _, _ = planted(0)
    with pytest.raises(wh.WhenceError, match=sentence):
        policy.implied(X[:2], plans)
    with pytest.raises(wh.WhenceError, match="'contexts' must be a table with a row per context"):
        policy.implied(X[:0], [])
