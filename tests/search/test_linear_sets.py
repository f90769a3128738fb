"""Sets of plans of linear problems and of problems of one's own: the same answers by every way to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.blocks import seeds

import whence as wh
from whence.search.grid import grid_of
from whence.search.past_contexts import risk_at_leaves
from whence.util.aliases import Floats


def history(seed: int, outcomes: int) -> tuple[Floats, Floats]:
    """Contexts of two features, and outcomes that follow them."""
    rng = np.random.default_rng([seed, 81])
    X = rng.random((30, 2)).round(2)
    return X, (X @ rng.normal(size=(2, outcomes)) + 0.3 * rng.normal(size=(30, outcomes))).round(2)


def forest(seed: int) -> wh.ForestWeights:
    """A few small trees."""
    return wh.ForestWeights(n_trees=4, max_depth=3, min_samples_leaf=3, random_state=seed)


class Costs:
    """What plans of a policy cost under some weights."""

    def __init__(self, policy: wh.Policy) -> None:
        self.policy = policy

    def of(self, plan: Any, weights: Floats) -> float:
        """The risk of one plan."""
        return self.policy.risk_.of(self.policy.problem.costs(plan, self.policy.Y_), weights)

    def least(self, among: wh.DecisionProblem, weights: Floats) -> float:
        """That of the best plan."""
        return self.of(among.solve(self.policy.Y_, weights, self.policy.risk_), weights)


@pytest.mark.parametrize("risk", [wh.Expectation(), wh.CVaR(0.7)])
def test_no_past_context_is_nearer(risk: wh.Risk) -> None:
    """Of a set, and of a plan that must be as good as any up to an amount."""
    for seed in seeds(2, 20):
        X, Y = history(seed, 3)
        problem = wh.LinearProblem(A_eq=[[1, 1, 1]], b_eq=[1], bounds=(0, 0.6))
        policy = wh.Policy(problem, forest(seed), risk).fit(X, Y)
        costs, plan = Costs(policy), policy.decide(X[5])
        part = problem.at_least(int(np.argmax(plan)), float(plan.max()))
        weights = [policy.weights_at(row) for row in X]
        way = (np.abs(X - X[0]) / np.ptp(X, axis=0)).sum(axis=1)
        least = np.array([costs.least(problem, w) for w in weights])
        for asked, own in (
            ({"instead": part}, np.array([costs.least(part, w) for w in weights])),
            ({"instead": plan, "within": (0.05, "cost")}, np.array([costs.of(plan, w) - 0.05 for w in weights])),
        ):
            why = policy.explain(X[0], **asked, kind="absolute", time_limit=20)
            assert why.distance <= way[own <= least - 1e-6].min(initial=np.inf) + 1e-9
            if why.context is not None:
                there = policy.weights_at(why.context.to_numpy(dtype=float))
                cost = costs.least(part, there) if asked["instead"] is part else costs.of(plan, there) - 0.05
                assert cost <= costs.least(problem, there) + 1e-5


class Supplier(wh.DecisionProblem):
    """One of some suppliers, each with a price of its own."""

    def costs(self, decision: Any, Y: Floats) -> Floats:
        """The price."""
        return np.asarray(Y[:, int(decision)])

    def solve(self, Y: Floats, weights: Floats, risk: wh.Risk) -> int:
        """The cheapest."""
        return int(np.argmin([risk.of(self.costs(j, Y), weights) for j in range(Y.shape[1])]))


class Listing(Supplier):
    """The same, which lists them."""

    def plans(self, limit: int) -> Sequence[int]:
        """All six."""
        return range(6)


class Together(Supplier):
    """The same, which solves for many contexts at once."""

    batches = 0

    def solve_many(self, Y: Floats, weights: Floats, risk: wh.Risk) -> Sequence[int]:
        """The cheapest for every row."""
        self.batches += 1
        return [self.solve(Y, row, risk) for row in weights]


@pytest.mark.parametrize("risk", [wh.Expectation(), wh.CVaR(0.6)])
def test_problems_that_list_their_plans_that_do_not_and_that_solve_for_many(risk: wh.Risk) -> None:
    """All of them give the same answers."""
    for seed in seeds(3, 30):
        X, Y = history(seed, 6)
        for question in ({}, {"instead": [1, 2], "kind": "absolute"}, {"instead": [0], "kind": "absolute"}):
            said = []
            for kind in (Listing, Supplier, Together):
                policy = wh.Policy(kind(), forest(seed), risk).fit(X, Y)
                asked: dict[str, Any] = dict(question)
                if "instead" in asked:
                    asked["instead"] = policy.problem.only(asked["instead"])
                why = policy.explain(X[0], **asked, margin=0.02 if not question else None)
                said.append((why.status, pytest.approx(why.distance)))
                if kind is Together and not question and why.nodes > 1:
                    assert policy.problem.batches > 0
            assert said[0] == said[1] == said[2]


def test_tails_in_many_contexts_at_once() -> None:
    """What a plan costs in all past contexts is what it costs in each."""
    X, Y = history(0, 1)
    policy = wh.Policy(wh.LinearProblem(bounds=(0, 1)), forest(0), wh.CVaR(0.7)).fit(X, Y)
    question = policy.explain(X[0], instead=[0.0]).question
    assert question is not None
    kept = grid_of(question)
    assert kept is not None
    leaves = np.array([kept.leaves_at(kept.cells_at(policy.schema_.encode(policy.X_.iloc[[i]])[0], question.inputs))
                       for i in range(len(X))])  # fmt: skip
    for tail in (0.1, 0.3, 1.0):
        found = risk_at_leaves(kept, leaves, Y[:, 0], tail)
        each = [wh.CVaR(1.0 - tail).of(Y[:, 0], policy.weights_at(row)) for row in policy.X_.to_numpy()]
        np.testing.assert_allclose(found, each, atol=1e-12)
