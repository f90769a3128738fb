"""Bounds on what any plan costs, for many weights at once: held against the problems' own solves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.blocks import seeds

import whence as wh
from whence.search.least_means import Rows, least_means, least_tails, own_costs, worst_tails


def drawn(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    """Weights with ties and zeros, and a row in which one observation has it all."""
    weights = rng.integers(0, 4, (rows, n)) * rng.random((rows, 1))
    weights[np.arange(rows), rng.integers(0, n, rows)] += 0.1
    weights[0] = np.eye(n)[0]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def stock(rng: np.random.Generator, n: int) -> tuple[wh.Newsvendor, np.ndarray]:
    """Some products with ties among their demands, some below 0, rates of 0, a budget or none, in any units."""
    products, units = int(rng.integers(1, 5)), float(rng.choice([1e-9, 1.0, 1e9]))
    Y = np.round(rng.normal(4, 3, (n, products)), int(rng.integers(0, 3)))
    holding, backorder = rng.integers(0, 3, products) * 0.5, 0.5 + rng.integers(0, 4, products)
    budget = [None, 0.0, 2.5 * products, 50.0 * products][int(rng.integers(4))]
    return wh.Newsvendor(holding, backorder, None if budget is None else budget * units), units * Y


@pytest.mark.parametrize("tail", [0.05, 0.3, 0.999])
def test_worst_tails_are_what_the_risk_says(tail: float) -> None:
    """CVaR of one plan by many weights, and weights of the envelope under which it is the mean."""
    rng = np.random.default_rng(int(1000 * tail))
    for _ in range(50):
        weights, costs = drawn(rng, 6, 9), np.round(rng.normal(size=9), 1)
        rows = Rows.of(weights)
        found, worst = worst_tails(costs[rows.sample], rows, tail)
        np.testing.assert_allclose(found, wh.CVaR(1 - tail).of_each(costs, list(weights)), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(rows.sums(worst * costs[rows.sample]), found, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(rows.sums(worst), 1.0)
        assert (worst <= rows.weight / tail * (1 + 1e-12)).all()


@pytest.mark.parametrize("block", seeds(2, 10))
def test_least_means_are_those_of_the_best_plans(block: int) -> None:
    """What the plan costs that the problem's own solve finds, with a budget or without, and such plans."""
    for seed in range(100 * block, 100 * (block + 1)):
        rng = np.random.default_rng(seed)
        problem, Y = stock(rng, 8)
        weights = drawn(rng, 5, 8)
        structure = problem.structure(Y)
        assert structure is not None
        rows, size = Rows.of(weights), float(np.abs(Y).max())
        found, plans = least_means(structure, rows)
        assert plans is not None
        for row, least, plan in zip(weights, found, plans, strict=True):
            paid = float(row @ problem.costs(problem.solve(Y, row, wh.Expectation()), Y))
            assert least == pytest.approx(paid, rel=1e-11, abs=1e-11 * size), seed
            assert problem.check(plan) is None
            assert row @ problem.costs(plan, Y) == pytest.approx(paid, rel=1e-11, abs=1e-11 * size)
        wanted = [problem.costs(plan, Y)[row > 0] for plan, row in zip(plans, weights, strict=True)]
        np.testing.assert_allclose(
            own_costs(structure, plans, rows), np.concatenate(wanted), rtol=1e-12, atol=1e-12 * size
        )


def test_least_means_of_routes_are_shortest_distances() -> None:
    """In a network without cycles, what the cheapest route costs under each row of weights."""
    rng = np.random.default_rng(0)
    problem = wh.ShortestPath.grid(4)
    Y = rng.normal(3, 2, (12, problem.outcome_columns()))
    weights = drawn(rng, 30, 12)
    structure = problem.structure(Y)
    assert structure is not None
    found, _ = least_means(structure, Rows.of(weights))
    paid = [row @ problem.costs(problem.solve(Y, row, wh.Expectation()), Y) for row in weights]
    np.testing.assert_allclose(found, paid, rtol=1e-12)


@pytest.mark.parametrize("block", seeds(1, 10))
def test_no_plan_has_less_cvar_than_the_bound(block: int) -> None:
    """Under the worst weights of any plan, the least mean is at most the least CVaR."""
    for seed in range(40 * block, 40 * (block + 1)):
        rng = np.random.default_rng(seed)
        problem, Y = stock(rng, 30) if seed % 2 else (wh.ShortestPath.grid(3), rng.gamma(2, 2, (30, 12)))
        weights, tail = drawn(rng, 4, 30), float(rng.choice([0.1, 0.3, 0.6]))
        risk, structure = wh.CVaR(1 - tail), problem.structure(Y)
        assert structure is not None
        plans = [problem.solve(Y, row, risk) for row in weights]
        best = np.array([risk.of(problem.costs(plan, Y), row) for plan, row in zip(plans, weights, strict=True)])
        size = 1e-9 * float(np.abs(Y).max())
        for plan in [*plans, problem.solve(Y, weights[1], wh.Expectation())]:
            rows = Rows.of(weights)
            _, worst = worst_tails(problem.costs(plan, Y)[rows.sample], rows, tail)
            bound, _ = least_means(structure, rows.weighed(worst))
            assert (bound <= best * (1 + 1e-9) + size).all(), seed


@pytest.mark.parametrize("block", seeds(1, 10))
def test_quantities_of_one_product_are_those_of_its_solve(block: int) -> None:
    """In many rows at once, the least CVaR of one product is what its own solve finds in each."""
    for seed in range(60 * block, 60 * (block + 1)):
        rng = np.random.default_rng(seed)
        problem, Y = stock(rng, 9)
        problem = wh.Newsvendor(problem.holding[:1], problem.backorder[:1], problem.budget)
        weights, risk = drawn(rng, 5, 9), wh.CVaR(float(rng.choice([0.2, 0.5, 0.9])))
        structure = problem.structure(Y[:, :1])
        assert structure is not None
        assert risk.tail is not None
        for row, plan in zip(weights, least_tails(structure, Rows.of(weights), risk.tail), strict=True):
            paid = [risk.of(problem.costs(one, Y[:, :1]), row) for one in (plan, problem.solve(Y[:, :1], row, risk))]
            assert paid[0] == pytest.approx(paid[1], rel=1e-11, abs=1e-11 * float(np.abs(Y).max())), seed
