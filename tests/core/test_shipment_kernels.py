"""The shipment kernels, held against linear programs in HiGHS."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.blocks import seeds

from whence._core import best_recourse, cutting_planes
from whence.problems.shipment import first_stage, recourse_costs
from whence.risk import CVaR, Expectation, Risk

Floats = NDArray[np.float64]


def _case(seed: int, samples: int = 12) -> tuple[Floats, float, float, Floats, Floats]:
    """Shipping, spot and production costs, demands and weights in units of about one; whole numbers make ties."""
    rng = np.random.default_rng(seed)
    warehouses, locations = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    ship = rng.integers(0, 4, (warehouses, locations)) / 4.0 if seed % 2 else rng.random((warehouses, locations))
    demands = rng.integers(-1, 4, (samples, locations)) / 8.0 if seed % 3 else rng.random((samples, locations)) / 5.0
    return (
        ship,
        float(rng.choice([0.0, 0.6, 1.0])),
        float(rng.choice([0.0, 0.1, 0.4])),
        demands,
        rng.dirichlet(np.ones(samples)),
    )


def _costs(ship: Floats, spot: float, plan: Floats, demands: Floats) -> Floats:
    costs = np.empty(len(demands))
    best_recourse(ship, spot, plan, demands, costs)
    return costs


@pytest.mark.parametrize("block", seeds(1, 4))
def test_recourse_is_the_cheapest(block: int) -> None:
    """On 100 networks, at no plan and at random ones, the recourse of every sample costs what its program costs."""
    for seed in range(25 * block, 25 * block + 25):
        ship, spot, _, demands, _ = _case(seed)
        rng = np.random.default_rng(seed)
        for plan in (np.zeros(len(ship)), rng.random(len(ship)), rng.integers(0, 4, len(ship)) / 8.0):
            expected = recourse_costs(ship, spot, plan, np.maximum(demands, 0.0))
            np.testing.assert_allclose(_costs(ship, spot, plan, demands), expected, atol=1e-8, err_msg=str(seed))


@pytest.mark.parametrize("block", seeds(1, 4))
def test_the_first_stage_is_optimal(block: int) -> None:
    """From any plan, for the expected cost and for tails, the plan costs what that of the whole program costs."""
    for seed in range(20 * block, 20 * block + 20):
        ship, spot, production, demands, weights = _case(seed)
        for tail in (1.0, 0.5, 0.15):
            risk: Risk = Expectation() if tail == 1.0 else CVaR(1.0 - tail)
            values = []
            for begin in (0.0, 0.7):
                plan = np.full(len(ship), begin)
                assert cutting_planes(ship, spot, production, demands, weights, tail, 1000, plan) is not None
                assert (plan >= 0.0).all()
                values.append(production * plan.sum() + risk.of(_costs(ship, spot, plan, demands), weights))
            whole = first_stage(ship, spot, production, np.maximum(demands, 0.0), weights, tail)
            whole = np.maximum(whole, 0.0)
            expected = production * whole.sum() + risk.of(_costs(ship, spot, whole, demands), weights)
            assert values == pytest.approx([expected, expected], abs=1e-7), (seed, tail)


def test_of_equally_good_plans_it_is_the_one_that_produces_least() -> None:
    """Where producing beforehand is free of charge, no more is produced than shipping gains from."""
    ship, demands, weights = np.array([[0.0, 0.5], [0.5, 0.0]]), np.array([[0.2, 0.3], [0.4, 0.1]]), np.full(2, 0.5)
    plan = np.ones(2)
    assert cutting_planes(ship, 1.0, 0.0, demands, weights, 1.0, 1000, plan) is not None
    assert plan == pytest.approx([0.4, 0.3], abs=1e-9)


def test_equal_warehouses_give_the_first_one_the_work() -> None:
    """Of plans that cost and produce the same it is the one with more at earlier warehouses, whatever the start."""
    ship, demands, weights = np.full((3, 2), 0.2), np.array([[0.2, 0.3], [0.1, 0.1]]), np.array([0.5, 0.5])
    for begin in itertools.product((0.0, 0.4), repeat=3):
        plan = np.array(begin)
        assert cutting_planes(ship, 1.0, 0.1, demands, weights, 1.0, 1000, plan) is not None
        assert plan == pytest.approx([0.5, 0.0, 0.0], abs=1e-9)


def test_too_few_cuts_are_reported() -> None:
    """Where it stops before the optimum it says so."""
    ship, spot, production, demands, weights = _case(3)
    assert cutting_planes(ship, 1.0, 0.1, demands, weights, 1.0, 1, np.ones(len(ship))) is None
    assert cutting_planes(ship, spot, production, demands, weights, 1.0, 0, np.ones(len(ship))) is None
