"""Prices: against brute force over grids of parameters, and against linear programs that were written independently."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog
from tests.blocks import seeds

import whence as wh
from whence.errors import InputError, InputTypeError
from whence.problems.pricing import Moved
from whence.questions.prices import Prices
from whence.risk import Risk

RISKS = [wh.Expectation(), wh.CVaR(0.6)]
KINDS = ["relative", "absolute"]
#: Cases in a block; a full run has 100 blocks of them for every problem, kind and risk.
CASES = 5


def policy_of(problem: Any, Y: np.ndarray, risk: Risk, seed: int) -> tuple[wh.Policy, np.ndarray]:
    """A policy of neighbours, all of which count, so that the weights of a context are few and known."""
    X = np.random.default_rng(seed).random((len(Y), 2))
    policy = wh.Policy(problem, wh.KNNWeights(k=max(2, len(Y) // 2)), risk=risk).fit(X, Y)
    return policy, X[0]


def regret(problem: Any, plan: Any, Y: np.ndarray, weights: np.ndarray, risk: Risk, rival: Any = None) -> float:
    best = problem.solve(Y, weights, risk) if rival is None else rival
    return risk.of(problem.costs(plan, Y), weights) - risk.of(problem.costs(best, Y), weights)


def checked(found: Prices, distances: list[float], good: list[bool], step: float) -> None:
    """No point of a grid that would do is nearer than what was found, and there is none where none was found."""
    nearest = min((d for d, ok in zip(distances, good, strict=True) if ok), default=np.inf)
    assert found.bound <= nearest + step
    if found.status == "time_limit":
        # The last digits of a proof may take long; a bound far away is a defect all the same.
        assert found.bound >= 0.9 * found.distance
    elif found.status == "none":
        assert nearest == np.inf
    else:
        assert found.distance <= nearest + step


# ---- newsvendor --------------------------------------------------------------------------------------------------


def newsvendor_case(seed: int, risk: Risk) -> tuple[wh.Policy, np.ndarray, wh.Newsvendor, Any, tuple[float, float]]:
    rng = np.random.default_rng(seed)
    products = int(rng.integers(1, 4))
    Y = rng.integers(0, 9, (10, products)).astype(float)
    budget = None if rng.random() < 0.5 else float(rng.integers(2, 5 * products + 2))
    problem = wh.Newsvendor(
        rng.integers(1, 5, products).astype(float), rng.integers(1, 9, products).astype(float), budget
    )
    policy, context = policy_of(problem, Y, risk, seed)
    factors = np.exp(rng.normal(0.0, 1.0, 2))
    planted = wh.Newsvendor(problem.holding * factors[0], problem.backorder * factors[1], budget)
    weights = policy.weights_at(context)
    plan = planted.solve(Y, weights, risk)
    if rng.random() < 0.3:
        plan = np.maximum(plan + rng.integers(-1, 2, products), 0.0)
        if budget is not None and plan.sum() > budget:
            plan *= budget / plan.sum()
    return policy, context, problem, plan, (float(factors[0]), float(factors[1]))


@pytest.mark.parametrize("risk", RISKS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", seeds(2, 100))
def test_newsvendor_prices_in_common_against_a_grid(block: int, kind: Any, risk: Risk) -> None:
    """No factors of holding and backorder costs on a grid, nor those that the plan was made with, are nearer."""
    factors = np.exp(np.linspace(-2.0, 2.0, 9))
    for seed in range(CASES * block, CASES * (block + 1)):
        policy, context, problem, plan, planted = newsvendor_case(seed, risk)
        found = policy.prices(context, plan, kind=kind, fixed=["budget"])
        weights, Y = policy.weights_at(context), policy.Y_
        rival = policy.decide(context) if kind == "relative" else None
        points = [*product(factors, [1.0]), *product([1.0], factors), planted, (factors[1], factors[7])]
        distances, good = [], []
        for h, b in points:
            there = wh.Newsvendor(problem.holding * h, problem.backorder * b, problem.budget)
            distances.append(abs(h - 1.0) + abs(b - 1.0))
            good.append(regret(there, plan, Y, weights, risk, rival) <= 1e-12)
        checked(found, distances, good, 1e-5)
        if found.status == "optimal":
            to = dict(zip(found.changes["parameter"], found.changes["factor"], strict=True))
            h, b = (next((v for k, v in to.items() if k.startswith(name)), 1.0) for name in ("holding", "backorder"))
            there = wh.Newsvendor(problem.holding * h, problem.backorder * b, problem.budget)
            money = np.abs(problem.costs(plan, Y)).max() + 1e-9
            assert regret(there, plan, Y, weights, risk, rival) <= 2e-6 * money
            assert found.distance == pytest.approx(abs(h - 1) + abs(b - 1), abs=1e-6)


def test_prices_that_are_approached_step_by_step_are_reached() -> None:
    """The best plan follows the ratio of prices: each rival rules out a little less, and the steps must end."""
    policy, context, _, plan, _ = newsvendor_case(3544, wh.CVaR(0.6))
    found = policy.prices(context, plan, fixed=["budget"])
    assert found.status == "optimal"
    assert found.distance == pytest.approx(0.917365, abs=1e-5)


@pytest.mark.parametrize(("seed", "status"), [(3577, "none"), (3579, "optimal")])
def test_a_best_plan_that_comes_ever_nearer_is_passed_in_few_steps(seed: int, status: str) -> None:
    """Plans on the way to a rival rule out long stretches of prices: these took hundreds of solves, and did not end."""
    policy, context, _, plan, _ = newsvendor_case(seed, wh.CVaR(0.6))
    found = policy.prices(context, plan, fixed=["budget"])
    assert found.status == status
    assert found.solves < 100


@pytest.mark.parametrize("block", seeds(2, 100))
def test_what_is_cheaper_in_no_time_is_a_plan_that_costs_less(block: int) -> None:
    """It is feasible and costs less, wherever one is found; it is never found for the best plan."""
    found = 0
    for seed in range(CASES * block, CASES * (block + 1)):
        risk = wh.CVaR(0.6)
        policy, context, problem, plan, _ = newsvendor_case(seed, risk)
        weights, Y = policy.weights_at(context), policy.Y_
        priced = problem.priced(Y, weights, ["a", "b", "c"][: Y.shape[1]], True)
        other = priced.cheaper(plan, priced.values, 0.4, Moved())
        best = policy.decide(context)
        assert (
            priced.cheaper(best, priced.values, 0.4, Moved()) is None or regret(problem, best, Y, weights, risk) <= 1e-9
        )
        if other is not None:
            found += 1
            assert problem.check(other) is None
            assert regret(problem, plan, Y, weights, risk, other) > 0.0
            assert regret(problem, plan, Y, weights, risk) >= regret(problem, plan, Y, weights, risk, other) - 1e-9
    assert found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", seeds(2, 100))
def test_newsvendor_prices_by_product_against_all_plans(block: int, kind: Any) -> None:
    """Under expected cost the nearest prices of every product solve a linear program over all plans of demands."""
    for seed in range(CASES * block, CASES * (block + 1)):
        rng = np.random.default_rng(seed)
        products = int(rng.integers(1, 3))
        Y = rng.integers(0, 6, (6, products)).astype(float)
        problem = wh.Newsvendor(rng.integers(1, 5, products).astype(float), rng.integers(1, 9, products).astype(float))
        policy, context = policy_of(problem, Y, wh.Expectation(), seed)
        weights = policy.weights_at(context)
        plan = rng.integers(0, 6, products).astype(float)
        found = policy.prices(context, plan, kind=kind, common=False)
        rivals = [np.array(z, dtype=float) for z in product(range(6), repeat=products)]
        if kind == "relative":
            rivals = [policy.decide(context)]

        def units(z: np.ndarray, Y: np.ndarray = Y, weights: np.ndarray = weights) -> np.ndarray:
            return np.concatenate([weights @ np.maximum(z - Y, 0), weights @ np.maximum(Y - z, 0)])

        today = np.concatenate([problem.holding, problem.backorder])
        size = today.size
        rows = np.array([(units(plan) - units(z)) for z in rivals])
        # price = today * (1 + up - down)
        ends = [(0, 99.0)] * size + [(0, 0.99)] * size
        scaled = rows * today
        ended = linprog(np.ones(2 * size), np.hstack([scaled, -scaled]), -scaled.sum(axis=1), bounds=ends)
        if ended.status == 2:
            assert found.status == "none"
        else:
            assert found.distance == pytest.approx(ended.fun, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", seeds(1, 100))
def test_newsvendor_prices_by_product_under_cvar_against_a_grid(block: int, kind: Any) -> None:
    """No prices of single products on a grid are nearer than what was found, or proved where the time is up."""
    risk, factors = wh.CVaR(0.6), np.exp(np.linspace(-1.5, 1.5, 7))
    for seed in range(CASES * block, CASES * (block + 1)):
        policy, context, problem, plan, _ = newsvendor_case(seed, risk)
        products = policy.Y_.shape[1]
        if products == 3:
            continue
        weights, Y = policy.weights_at(context), policy.Y_
        found = policy.prices(context, plan, kind=kind, fixed=["budget"], common=False, time_limit=2)
        rival = policy.decide(context) if kind == "relative" else None
        near = found.bound if found.status == "time_limit" else found.distance
        today = np.concatenate([problem.holding, problem.backorder])
        for changed in ((j, k) for j in range(2 * products) for k in range(j)):
            for pair in product(factors, repeat=2):
                times = np.ones(2 * products)
                times[list(changed)] = pair
                there = wh.Newsvendor(*np.split(today * times, 2), problem.budget)
                if regret(there, plan, Y, weights, risk, rival) <= 1e-12:
                    assert near <= np.abs(times - 1.0).sum() + 1e-5
        if found.status == "optimal":
            to = dict(zip(found.changes["parameter"], found.changes["to"], strict=True))
            names = [f"{group} of {name}" for group in ("holding", "backorder") for name in policy.outcome_names_]
            prices = np.array([to.get(name, price) for name, price in zip(names, today, strict=True)])
            there = wh.Newsvendor(*np.split(prices, 2), problem.budget)
            assert regret(there, plan, Y, weights, risk, rival) <= 2e-6 * (np.abs(problem.costs(plan, Y)).max() + 1e-9)


@pytest.mark.parametrize("risk", RISKS, ids=str)
def test_a_budget_is_moved_where_that_is_nearer(risk: Risk) -> None:
    """A plan over the budget asks for a larger one, and one that leaves some of it unused may ask for a smaller one."""
    Y = np.tile(np.arange(10.0)[:, None], (1, 2))
    policy, context = policy_of(wh.Newsvendor([1, 1], [3, 3], budget=10.0), Y, risk, 1)
    more = policy.prices(context, [6.0, 6.0], kind="absolute", time_limit=20)
    assert dict(zip(more.changes["parameter"], more.changes["to"], strict=True))["budget"] == 12.0
    assert policy.prices(context, [6.0, 6.0], fixed=["budget"]).status == "none"
    bound = policy.prices(context, [6.0, 6.0], bounds={"budget": (9.0, 11.0)})
    assert "it breaks the budget, 10, which may not be 12" in bound.text
    assert policy.prices(context, [6.0, 6.0], bounds={"budget": (9.0, 12.0)}, time_limit=20).distance == more.distance
    tight = wh.Policy(wh.Newsvendor([1, 1], [90, 90], budget=10.0), wh.KNNWeights(k=5), risk=risk).fit(policy.X_, Y)
    less = tight.prices(context, [4.5, 4.5], time_limit=20)
    assert less.status == "optimal"
    assert less.changes["parameter"].tolist() == ["budget"]
    assert less.distance == pytest.approx(0.1)


@pytest.mark.parametrize("seed", range(4))
def test_a_budget_that_need_not_be_moved_is_not_in_the_bound(seed: int) -> None:
    """Where the time is up at once nothing is proved: the bound once held what moving the budget counts."""
    rng = np.random.default_rng(seed)
    X, Y = rng.random((30, 2)), rng.integers(0, 20, (30, 3)).astype(float)
    problem = wh.Newsvendor([1, 2, 1], [4, 5, 6], budget=1000.0)
    policy = wh.Policy(problem, wh.KNNWeights(k=12), wh.CVaR(0.5)).fit(X, Y)
    plan = wh.Newsvendor([1, 2, 1], [5, 6.25, 7.5]).solve(policy.Y_, policy.weights_at(X[0]), policy.risk_)
    assert plan.sum() < 100.0
    ended = policy.prices(X[0], plan, common=False, time_limit=1e-6)
    assert ended.status == "time_limit"
    assert ended.bound <= 0.75


# ---- shipment ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("risk", RISKS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", seeds(1, 100))
def test_shipment_prices_against_a_grid(block: int, kind: Any, risk: Risk) -> None:
    """No production, spot and shipping costs on a grid, nor those the plan was made with, are nearer."""
    for seed in range(CASES * block, CASES * (block + 1)):
        rng = np.random.default_rng(seed)
        Y = rng.integers(0, 9, (8, 3)).astype(float)
        prices = np.array([5.0, 20.0, 4.0])
        distances = rng.random((2, 3))
        problem = wh.Shipment(*prices, distances=distances)
        policy, context = policy_of(problem, Y, risk, seed)
        weights = policy.weights_at(context)
        planted = np.exp(rng.normal(0.0, 1.5, 3))
        plan = wh.Shipment(*(prices * planted), distances=distances).solve(Y, weights, risk)
        found = policy.prices(context, plan, kind=kind, time_limit=20)
        rival = policy.decide(context) if kind == "relative" else None
        grid = [*product([0.5, 1.0, 2.0], repeat=3), tuple(planted)]
        away, good = [], []
        for point in grid:
            there = wh.Shipment(*(prices * np.array(point)), distances=distances)
            away.append(float(np.abs(np.array(point) - 1.0).sum()))
            good.append(regret(there, plan, Y, weights, risk, rival) <= 1e-12)
        checked(found, away, good, 1e-4)
        if found.status == "optimal":
            to = dict(zip(found.changes["parameter"], found.changes["to"], strict=True))
            named = dict(zip(("production_cost", "spot_cost", "shipping_cost"), prices, strict=True))
            there = wh.Shipment(**{**named, **to}, distances=distances)
            assert regret(there, plan, Y, weights, risk, rival) <= 1e-5 * np.abs(problem.costs(plan, Y)).max()


# ---- routes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("risk", RISKS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", seeds(2, 100))
def test_tolls_against_a_program_over_all_routes(block: int, kind: Any, risk: Risk) -> None:
    """The nearest tolls solve a linear program with a row for every route."""
    problem = wh.ShortestPath.grid(3)
    routes = problem.plans(100)
    assert routes is not None
    for seed in range(CASES * block, CASES * (block + 1)):
        rng = np.random.default_rng(seed)
        Y = rng.integers(1, 20, (8, 12)).astype(float)
        policy, context = policy_of(problem, Y, risk, seed)
        weights = policy.weights_at(context)
        plan = routes[int(rng.integers(len(routes)))]
        found = policy.prices(context, plan, kind=kind)
        mean = weights @ Y
        own, cost = problem.vector(plan), risk.of(problem.costs(plan, Y), weights)
        rivals = routes if kind == "absolute" else [policy.decide(context)]
        rows = np.array([(own - problem.vector(r)) * mean for r in rivals])
        limits = np.array([risk.of(problem.costs(r, Y), weights) - cost for r in rivals])
        ended = linprog(np.ones(24), np.hstack([rows, -rows]), limits, bounds=[(0, 99.0)] * 12 + [(0, 0.99)] * 12)
        assert ended.status == 0
        assert found.distance == pytest.approx(ended.fun, abs=1e-4)
        assert found.status == ("already" if ended.fun < 1e-9 else "optimal")


def test_streets_have_one_price() -> None:
    """The edges of a named street share a price, unless every edge is asked for by itself."""
    graph = nx.DiGraph()
    for u, v, name in [("a", "b", "Ring"), ("b", "d", "Ring"), ("a", "c", "Lane"), ("c", "d", "")]:
        graph.add_edge(u, v, name=name)
    problem = wh.ShortestPath(graph, "a", "d", cost_unit="min")
    Y = np.tile([4.0, 5.0, 4.0, 5.0], (6, 1))
    policy, context = policy_of(problem, Y, wh.Expectation(), 0)
    found = policy.prices(context, ["a", "c", "d"])
    assert found.changes["parameter"].tolist() == ["Ring"]
    assert found.changes["to"].tolist() == pytest.approx([10.0])
    assert "if Ring cost 10 min, not 8 min" in found.text
    assert policy.prices(context, ["a", "c", "d"], common=False).distance == pytest.approx(0.4)


# ---- linear problems ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("risk", RISKS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", seeds(2, 100))
def test_costs_of_a_linear_problem_against_another_program(block: int, kind: Any, risk: Risk) -> None:
    """The nearest costs solve a program in which a tail is chosen among all observations."""
    for seed in range(CASES * block, CASES * (block + 1)):
        rng = np.random.default_rng(seed)
        size, n = int(rng.integers(2, 5)), 8
        Y = rng.integers(1, 15, (n, size)).astype(float)
        limit = float(rng.uniform(0.4, 0.9))
        problem = wh.LinearProblem(A_eq=np.ones((1, size)), b_eq=[1.0], bounds=(0, limit + 0.2))
        policy, context = policy_of(problem, Y, risk, seed)
        weights = policy.weights_at(context)
        plan = problem.solve(rng.integers(1, 15, (3, size)).astype(float), np.full(3, 1 / 3), risk)
        found = policy.prices(context, plan, kind=kind, fixed=["limit"])
        mean = weights @ Y
        tail = risk.tail or 1.0
        cost = risk.of(Y @ plan, weights)
        if kind == "relative":
            other = policy.decide(context)
            row = (plan - other) * mean
            ended = linprog(
                np.ones(2 * size),
                [np.concatenate([row, -row])],
                [risk.of(Y @ other, weights) - cost],
                bounds=[(0, 99.0)] * size + [(0, 0.99)] * size,
            )
        else:
            # up, down, q over all observations, and one multiplier of the row; x = up - down
            q_high = weights / tail
            equal = np.zeros((2, 2 * size + n + 1))
            equal[0, 2 * size : -1] = 1.0
            equal[1, 2 * size : -1] = Y @ plan
            reduced = np.zeros((size, 2 * size + n + 1))
            reduced[:, :size], reduced[:, size : 2 * size] = np.diag(mean), -np.diag(mean)
            reduced[:, 2 * size : -1] = Y.T
            reduced[:, -1] = -1.0
            at_low, at_high = plan <= 1e-9, plan >= limit + 0.2 - 1e-9
            inner = ~(at_low | at_high)
            ended = linprog(
                np.concatenate([np.ones(2 * size), np.zeros(n + 1)]),
                np.vstack([-reduced[at_low & ~at_high], reduced[at_high & ~at_low]]),
                np.zeros(int((at_low ^ at_high).sum())),
                np.vstack([equal, reduced[inner]]),
                np.concatenate([[1.0, cost], np.zeros(int(inner.sum()))]),
                bounds=[(0, 99.0)] * size + [(0, 0.99)] * size + [(0, q) for q in q_high] + [(None, None)],
            )
        if ended.status == 2:
            assert found.status == "none"
        else:
            assert found.distance == pytest.approx(ended.fun, abs=1e-4)


def test_a_right_hand_side_that_is_moved_makes_a_plan_the_best() -> None:
    """A capacity down to what the plan uses is nearer than other costs; a plan over it asks for more of it."""
    problem = wh.LinearProblem(A_ub=[[-1.0, -1.0], [1.0, 0.0]], b_ub=[-10.0, 8.0], bounds=(0, None))
    Y = np.tile([1.0, 4.0], (6, 1))
    policy, context = policy_of(problem, Y, wh.Expectation(), 0)
    assert policy.decide(context).tolist() == [8.0, 2.0]
    less = policy.prices(context, [7.0, 3.0])
    assert less.changes["parameter"].tolist() == ["limit of row 1 of A_ub"]
    assert less.changes["to"].tolist() == [7.0]
    more = policy.prices(context, [10.0, 0.0])
    assert more.changes["to"].tolist() == [10.0]
    assert "limit of row 1 of A_ub were 10, not 8" in more.text


# ---- problems of one's own ---------------------------------------------------------------------------------------


class Shifts(wh.DecisionProblem):
    """Few plans, whose costs are linear in two prices."""

    def __init__(self, day: float = 2.0, night: float = 3.0, power: float = 1.0) -> None:
        self.day, self.night, self.power = day, night, power

    def parameters(self) -> dict[str, float]:
        return {"day": self.day, "night": self.night}

    def costs(self, decision: Any, Y: np.ndarray) -> np.ndarray:
        day, night = decision
        return self.day * day + self.night**self.power * night + 4.0 * np.maximum(Y[:, 0] - day - night, 0.0)

    def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Risk) -> tuple[float, float]:
        plans = [(float(a), float(b)) for a in range(5) for b in range(3)]
        return min(plans, key=lambda plan: risk.of(self.costs(plan, Y), weights))


@pytest.mark.parametrize("risk", RISKS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", seeds(2, 100))
def test_a_problem_that_declares_its_parameters(block: int, kind: Any, risk: Risk) -> None:
    """Prices of a problem of one's own, against a program over its few plans."""
    for seed in range(CASES * block, CASES * (block + 1)):
        rng = np.random.default_rng(seed)
        Y = rng.integers(0, 7, (8, 1)).astype(float)
        policy, context = policy_of(Shifts(), Y, risk, seed)
        weights = policy.weights_at(context)
        plan = (float(rng.integers(5)), float(rng.integers(3)))
        found = policy.prices(context, plan, kind=kind)
        rivals = [(float(a), float(b)) for a in range(5) for b in range(3)]
        if kind == "relative":
            rivals = [policy.decide(context)]
        # What is bought is paid whatever comes: a line of the prices under both risks.
        rows = np.array([[2.0 * (plan[0] - r[0]), 3.0 * (plan[1] - r[1])] for r in rivals])
        problem = Shifts()
        cost = risk.of(problem.costs(plan, Y), weights)
        limits = np.array([risk.of(problem.costs(r, Y), weights) - cost for r in rivals])
        ended = linprog(np.ones(4), np.hstack([rows, -rows]), limits, bounds=[(0, 99.0)] * 2 + [(0, 0.99)] * 2)
        if ended.status == 2:
            assert found.status == "none"
        else:
            assert found.distance == pytest.approx(ended.fun, abs=1e-4)


def test_costs_that_bend_and_problems_without_parameters_are_refused() -> None:
    """Both in one sentence."""
    Y = np.arange(6.0)[:, None]
    policy, context = policy_of(Shifts(power=2.0), Y, wh.Expectation(), 0)
    with pytest.raises(InputError, match="must be linear in its 'parameters'"):
        policy.prices(context, (4.0, 2.0))

    class Silent(Shifts):
        def parameters(self) -> dict[str, float]:
            return {}

    policy, context = policy_of(Silent(), Y, wh.Expectation(), 0)
    with pytest.raises(InputError, match="must declare 'parameters\\(\\)'"):
        policy.prices(context, (4.0, 2.0))


# ---- arguments, words and documents ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bakery() -> tuple[wh.Policy, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    problem = wh.Newsvendor([1.0, 1.0], [3.0, 6.0], names=["rolls", "rye"], cost_unit="€")
    return wh.Policy(problem, wh.KNNWeights(k=20)).fit(X, rng.integers(5, 30, (60, 2)).astype(float)), X[0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kind": "best"}, "'kind' must be"),
        ({"fixed": ["holdin"]}, "'fixed' must name parameters among .* Did you mean 'holding'"),
        ({"fixed": "holding"}, "'fixed' must be a list"),
        ({"bounds": {"backorder": (3, 1)}}, "'bounds' of 'backorder' must be a pair"),
        ({"bounds": [1, 2]}, "'bounds' must be a mapping"),
        ({"weights": {"backorder": -1}}, "'weights' of 'backorder' must be a number >= 0"),
        ({"common": 1}, "'common' must be"),
        ({"time_limit": 0}, "'time_limit' must be"),
    ],
)
def test_arguments_are_refused_in_a_sentence(bakery: Any, options: Any, sentence: str) -> None:
    """Each names the argument, what it must be, and what came."""
    policy, context = bakery
    with pytest.raises(wh.WhenceError, match=sentence):
        policy.prices(context, [10.0, 20.0], **options)


def test_plans_are_refused_in_a_sentence(bakery: Any) -> None:
    """No plan, a set of plans and negative quantities."""
    policy, context = bakery
    with pytest.raises(InputTypeError, match="'instead' must be a plan"):
        policy.prices(context, policy.problem.at_least("rye", 5))
    with pytest.raises(InputError, match="must not be negative"):
        policy.prices(context, [-1.0, 5.0])


def test_weights_bounds_and_fixed_prices_steer_the_answer(bakery: Any) -> None:
    """A price that stays, counts much, or may not go so far leaves the change to another one."""
    policy, context = bakery
    plan = policy.decide(context) + np.array([4.0, 0.0])
    first = policy.prices(context, plan, kind="relative")
    assert first.changes["parameter"].str.startswith("holding").all()
    for options in ({"fixed": ["holding"]}, {"weights": {"holding": 100}}, {"bounds": {"holding": (0.99, 1.01)}}):
        other = policy.prices(context, plan, kind="relative", **options)
        assert other.changes["parameter"].str.startswith("backorder").any()
        assert other.distance >= first.distance
    assert policy.prices(context, plan, fixed=["holding", "backorder"]).status == "none"


def test_a_dominated_plan_is_told_so(bakery: Any) -> None:
    """More than the largest demand costs more than the largest demand, at all prices above 0."""
    policy, context = bakery
    found = policy.prices(context, [100.0, 100.0])
    assert found.status == "none"
    assert "costs less at all of them" in found.text
    assert found.distance == float("inf")


def test_documents_travel_and_are_verified(bakery: Any) -> None:
    """An answer that was written and read is the same, is verified by its policy, and not by another one."""
    policy, context = bakery
    found = policy.prices(context, policy.decide(context) + np.array([4.0, 0.0]), kind="relative", fixed=["holding"])
    again = Prices.from_json(json.dumps(found.to_dict()))
    assert again.text == found.text
    assert again.intact
    assert again.to_dict() == found.to_dict()
    checked = again.verify(policy, prove=True)
    assert checked.agrees, checked.differences
    assert checked.proved
    other = wh.Policy(wh.Newsvendor([5.0, 1.0], [1.0, 1.0]), wh.KNNWeights(k=20)).fit(policy.X_, policy.Y_)
    assert not again.verify(other).agrees
    document = found.to_dict()
    document["distance"] = 0.001
    assert not Prices.from_dict(document).verify(policy).agrees
    assert "At which prices?" in found.page()
    none = policy.prices(context, [100.0, 100.0])
    assert Prices.from_dict(none.to_dict()).verify(policy, prove=True).agrees
    assert policy.prices(context, policy.decide(context)).status == "already"
