"""Planes above the risk of a plan in a box of prices: they lie above it at all prices of the box that are in reach."""

from __future__ import annotations

import numpy as np
import pytest
from tests.blocks import seeds

import whence as wh
from whence.questions.nearest_prices import PricesQuestion
from whence.questions.possible_tails import PossibleTails

#: Prices of a box at which a plane is compared with the risk.
DRAWN = 60


def box_of(seed: int) -> tuple[PricesQuestion, PossibleTails, np.random.Generator]:
    """A plan of up to four products with prices of their own, in a box of prices within a reach."""
    rng = np.random.default_rng(seed)
    products, n = int(rng.integers(2, 5)), int(rng.integers(4, 30))
    Y = rng.integers(0, 9, (n, products)).astype(float)
    problem = wh.Newsvendor(rng.integers(1, 5, products).astype(float), rng.integers(1, 9, products).astype(float))
    weights = rng.random(n) * (rng.random(n) < 0.8) + 1e-9
    priced = problem.priced(Y, weights / weights.sum(), [f"p{j}" for j in range(products)], False)
    size, risk = 2 * products, wh.CVaR(float(rng.choice([0.5, 0.8, 0.9])))
    plan = rng.integers(0, 9, products).astype(float)
    weight = rng.choice([0.5, 1.0, 1.0, 2.0], size)
    weight[0] *= rng.random() < 0.8
    low, high = np.full(size, -0.99), np.full(size, 99.0)
    asked = PricesQuestion(priced, plan, None, risk, weight, low, high, 0.0)
    begins = np.clip(rng.normal(0.0, 0.5, size) * (rng.random(size) < 0.5), -0.9, 5.0)
    ends = np.minimum(begins + rng.exponential(0.5, size) * (rng.random(size) < 0.8), high)
    near = float(weight @ np.abs(np.clip(0.0, begins, ends)))
    reach = np.inf if rng.random() < 0.2 else near + float(rng.exponential(1.0))
    return asked, PossibleTails(priced.lines(plan), asked, 1.0 - risk.alpha, begins, ends, reach), rng


def drawn(asked: PricesQuestion, tails: PossibleTails, rng: np.random.Generator) -> np.ndarray:
    """Prices of the box that are in reach; many of them at its ends, and as far away as they may be."""
    near = np.clip(0.0, tails.low, tails.high)
    ends = np.where(rng.random(near.size) < 0.5, tails.low, tails.high)
    x = np.where(rng.random(near.size) < 0.4, near, near + (ends - near) * rng.choice([1.0, rng.random()]))
    spare, more = tails.reach - asked.weight @ np.abs(near), asked.weight @ np.abs(x - near)
    return x if more <= spare else near + (x - near) * (spare / more)


@pytest.mark.parametrize("seed", seeds(60, 500))
def test_planes_lie_above_the_risk_in_their_box(seed: int) -> None:
    """From every anchor, at random prices in reach; and at the anchor no higher than the possible tails ask."""
    asked, tails, rng = box_of(seed)
    anchors = [np.clip(0.0, tails.low, tails.high), tails.low, tails.high]
    anchors.append(np.where(rng.random(tails.low.size) < 0.5, tails.low, tails.high))
    planes = [tails.plane(anchor) for anchor in anchors]
    if tails.corner_plane is not None:
        planes.append(tails.corner_plane)
        anchors.append(anchors[0])
    for _ in range(DRAWN):
        x = drawn(asked, tails, rng)
        risk = asked.risk.of(asked.priced.costs(asked.plan, asked.values(x)), asked.priced.weights)
        for plane in planes:
            assert plane.at(x) >= risk - 1e-9 * max(1.0, risk)
    # Units left over and short are never negative, so that no price that falls raises a risk.
    assert (tails.fall <= 0.0).all()
    if np.isinf(tails.reach):
        for anchor, plane in zip(anchors, planes, strict=True):
            risk = asked.risk.of(asked.priced.costs(asked.plan, asked.values(anchor)), asked.priced.weights)
            assert plane.at(anchor) == pytest.approx(risk, abs=1e-9 * max(1.0, risk))


@pytest.mark.parametrize("seed", seeds(60, 500))
def test_tails_of_prices_in_reach_are_possible(seed: int) -> None:
    """What is in for certain is in the tail at all prices in reach, and nothing that is out of it ever is."""
    asked, tails, rng = box_of(seed)
    weights, share = asked.priced.weights, 1.0 - asked.risk.alpha
    sure = tails.sure > 0.0
    out = np.ones(weights.size, dtype=bool)
    out[tails.open] = False
    out &= ~sure
    least, most = tails.ends()
    for _ in range(DRAWN):
        costs = asked.priced.costs(asked.plan, asked.values(drawn(asked, tails, rng)))
        slack = 1e-9 * max(1.0, float(costs.max()))
        assert (least - slack <= costs).all()
        assert (costs <= most + slack).all()
        for i in np.flatnonzero(sure):
            assert weights[costs > costs[i] + slack].sum() + weights[i] <= share + 1e-9
        for i in np.flatnonzero(out):
            assert weights[costs >= costs[i] - slack].sum() - weights[i] >= share - 1e-9


def test_prices_of_twenty_products_under_cvar_are_proved() -> None:
    """Planes that meet the risk at corners end what did not end without them."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    problem = wh.Newsvendor(np.ones(20), np.full(20, 3.0), budget=550.0)
    Y = 10 + 20 * X[:, :1] + 10 * rng.random((400, 20))
    policy = wh.Policy(problem, wh.KNNWeights(k=100), wh.CVaR(0.8)).fit(X, Y)
    plan = policy.decide(X[1])
    plan[[2, 5]] += [-2.0, 2.0]
    found = policy.prices(X[1], plan, kind="relative", common=False, time_limit=60)
    assert found.status == "optimal"
    assert found.solves < 150
