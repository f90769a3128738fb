"""Prices of single products under CVaR: by outcomes in the tail, and how hard they can be."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.questions.price_cases import PROBLEMS, checked

import whence as wh
from whence.questions import nearest_prices
from whence.questions.prices import _Asking

#: Cases that a question of twenty products may take.
MOST = 400


@pytest.mark.parametrize("seed", [7, 15, 20, 25])
def test_best_plans_of_several_products_are_proved_under_cvar(seed: int) -> None:
    """Boxes of prices did not end; and no prices that are drawn are nearer."""
    assert checked(PROBLEMS["newsvendor"](seed, True, False), "absolute", seed) == "optimal"


def asking(policy: wh.Policy, context: Any, plan: Any) -> _Asking:
    asked = {"kind": "absolute", "fixed": (), "bounds": None, "weights": None, "common": False, "tolerance": 1e-6}
    return _Asking.of(policy, context, plan, asked)


def test_best_plans_of_twenty_products_are_proved_under_cvar() -> None:
    """A plan of a context that is alike, which boxes of prices found no answer for: few outcomes are left open."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 5))
    Y = 10 + 20 * X[:, :1] + 10 * rng.random((300, 20))
    problem = wh.Newsvendor(np.ones(20), np.full(20, 3.0), budget=550.0)
    policy = wh.Policy(problem, wh.ForestWeights(30, random_state=0), wh.CVaR(0.8)).fit(X, Y)
    question = asking(policy, X[0], policy.decide(np.append(X[0][0] + 0.02, X[0][1:]))).question
    found = nearest_prices.nearest_prices(question)
    assert found.status == "optimal"
    assert found.boxes < MOST
    # What the bound says is not told by the answer itself: prices with other tails nearby are no nearer.
    assert found.x is not None
    gap, _ = nearest_prices.best_gap(question, found.x, found.moved)
    assert gap <= question.tau
    shorter, _ = nearest_prices.best_gap(question, 0.98 * found.x, found.moved)
    assert shorter > question.tau


@pytest.mark.parametrize("seed", range(2))
def test_a_graph_is_cut_in_halves_by_the_nearest_prices(seed: int) -> None:
    """A product is a vertex, a pair of observations an edge: the nearest prices tell the largest cut into halves."""
    rng = np.random.default_rng(seed)
    vertices, half = 6, 3
    edges = [list(combinations(range(vertices), 2))[i] for i in rng.permutation(15)[:7]]
    cut = max(
        sum((j in part) != (k in part) for j, k in edges) for part in map(set, combinations(range(vertices), half))
    )
    rows = []
    for j, k in edges:
        step = np.zeros(vertices + 1)
        step[j], step[k] = 1.0, -1.0
        one = np.append(np.ones(vertices), 0.0)
        rows += [one + step, one - step]
    # Another observation, too far away to count.
    Y = np.array([*rows, np.ones(vertices + 1)])
    X = np.append(np.linspace(0.0, 0.1, len(rows)), 1.0)[:, None]
    problem = wh.Newsvendor(np.append(np.zeros(vertices), 1.0), np.ones(vertices + 1), budget=0.0)
    policy = wh.Policy(problem, wh.KNNWeights(k=len(rows)), wh.CVaR(0.5)).fit(X, Y)
    most = vertices + 2 * half + 2.0 * cut / len(edges)
    names = [f"backorder of {name}" for name in policy.outcome_names_[:-1]]
    found = policy.prices(
        X[0],
        np.append(np.full(vertices, 2.0), most),
        kind="relative",
        common=False,
        fixed=["holding", f"backorder of {policy.outcome_names_[-1]}"],
        bounds=dict.fromkeys(names, (1.0, 3.0)),
        weights={"budget": 0.0},
    )
    assert found.status == "optimal"
    assert found.distance == pytest.approx(2 * half, abs=1e-3)
    to = [price for name, price in zip(found.changes["parameter"], found.changes["to"], strict=True) if name in names]
    assert to == pytest.approx([3.0] * half, abs=1e-3)
