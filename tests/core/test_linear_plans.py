"""Plans of a linear problem: the excess at a cell, and bounds over boxes, against solving at every cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.blocks import seeds
from tests.core.forest_cells import Floats, ForestScene

import whence as wh
from whence._core import ForestSearch, LinearPlans
from whence.risk import Risk
from whence.search.linear_sets import corners_of

TAU = 1e-6


def least_risk(problem: wh.LinearProblem, Y: Floats, weights: Floats, risk: Risk) -> Floats:
    """The least risk of any plan for each row of weights, by HiGHS."""
    rows, place = np.unique(weights, axis=0, return_inverse=True)
    found = [risk.of(problem.costs(problem.solve(Y, row, risk), Y), row) for row in rows]
    return np.array(found)[place.ravel()]


def asked(seed: int, alpha: float | None) -> tuple[ForestScene, Any, Any, np.random.Generator]:
    """A small forest, and a linear problem with a set of its plans."""
    rng = np.random.default_rng([seed, 71])
    scene = ForestScene(seed, alpha=alpha, rivals=int(rng.integers(1, 4)), n=int(rng.choice([12, 24])))
    size = scene.policy.Y_.shape[1]
    whole: dict[str, Any] = {"A_eq": np.ones((1, size)), "b_eq": [1.0], "bounds": (0.0, 0.6 + 0.1 * (size < 3))}
    if seed % 3 == 1:
        whole = {"A_ub": rng.random((2, size)), "b_ub": [0.5, 0.7], "bounds": (-0.3, 1.0)}
    if seed % 3 == 2:
        row = rng.normal(size=(1, size))
        # Equal shares are a plan whatever is drawn.
        whole |= {"A_ub": row, "b_ub": [max(0.9, float(row.mean()))]}
    problem = wh.LinearProblem(**whole)
    plan = problem.solve(scene.policy.Y_, np.full(len(scene.policy.Y_), 1.0 / len(scene.policy.Y_)), scene.risk)
    j = int(rng.integers(size))
    part = problem.at_least(j, float(plan[j])) if seed % 2 else problem.at_most(j, float(plan[j]))
    return scene, problem, part, rng


@pytest.mark.parametrize("alpha", [None, 0.3, 0.8, 0.95])
@pytest.mark.parametrize("absolute", [False, True])
def test_against_solving_at_every_cell(alpha: float | None, absolute: bool) -> None:
    """Some plan of a set against the decision, and against the best plan of all."""
    for seed in seeds(6, 60):
        scene, problem, part, rng = asked(seed, alpha)
        Y, weights = scene.policy.Y_, scene.weights
        if len(np.unique(weights, axis=0)) > 400:
            continue
        decision = (0.9 if seed % 2 else 1.0) * problem.costs(problem.solve(Y, weights[0], scene.risk), Y)
        corners, every = corners_of(part.polytope()), corners_of(problem.polytope())
        assert corners is not None
        assert every is not None
        factor, allowance = (1.0, 0.05) if seed % 4 == 3 else (1.0, 0.0)
        criterion = LinearPlans(
            scene.kept.leaf_samples, np.ascontiguousarray(Y), corners, every if absolute else None, factor, allowance,
            decision, 1.0 if alpha is None else 1.0 - alpha,
        )  # fmt: skip
        own = least_risk(part, Y, weights, scene.risk)
        limit = np.array([scene.risk.of(decision, row) for row in weights])
        if absolute:
            limit = np.minimum(limit, factor * least_risk(problem, Y, weights, scene.risk))
        excess = own - allowance - limit
        spare = 2e-6 * (1.0 + np.abs(Y).max())
        for leaves, over in list(zip(scene.leaves, excess, strict=True))[:: 1 + len(excess) // 60]:
            said = criterion.excess(leaves).over
            # Where it holds, or is far from it, no more is asked for.
            assert said <= max(over, 0.0) + 1e-7 * (1.0 + np.abs(Y).max())
            assert (said <= TAU) == (over <= TAU) or abs(over - TAU) <= spare
        sure = excess <= TAU - 1e-9
        scene.bounded(criterion, TAU, sure, rng)
        near, far = (float(scene.distance[excess <= TAU + way].min(initial=np.inf)) for way in (spare, -spare))
        for how in ({}, {"sharp": True}, {"shares": scene_shares(scene)}):
            reached, bound = ForestSearch(scene.located, criterion, TAU).advance(10**6, np.inf, **how)
            assert near - 1e-9 <= bound <= far + 1e-9
            assert reached or bound == np.inf


def scene_shares(scene: ForestScene) -> Any:
    """Equal shares of the price of every step."""
    from whence.search.forest_search import equal_shares

    return equal_shares(scene.kept, scene.located, 2.0)


@pytest.mark.parametrize("seed", seeds(8, 80))
def test_corners_hold_every_plan(seed: int) -> None:
    """The best corner for any prices costs what the best plan does."""
    rng = np.random.default_rng([seed, 72])
    size = int(rng.integers(1, 6))
    problem = wh.LinearProblem(
        A_ub=rng.normal(size=(2, size)), b_ub=rng.random(2) + 0.1, A_eq=np.ones((1, size)) if seed % 2 else None,
        b_eq=[1.0] if seed % 2 else None, bounds=(0.0, 0.8 if seed % 4 else 1.0),
    )  # fmt: skip
    corners = corners_of(problem.polytope())
    for _ in range(40):
        prices = rng.normal(size=(1, size))
        try:
            plan = problem.solve(prices, np.ones(1), wh.Expectation())
        except wh.WhenceError:
            assert corners is None
            break
        assert corners is not None
        assert (corners @ prices[0]).min() == pytest.approx(float(prices[0] @ plan), abs=1e-7)


def test_polytopes_without_end_or_with_many_corners() -> None:
    """They are left to other bounds."""
    assert corners_of(wh.LinearProblem(A_ub=[[-1.0, -1.0]], b_ub=[-1.0]).polytope()) is None
    assert corners_of(wh.LinearProblem(bounds=[(0, 1)] * 12).polytope()) is None
    assert corners_of(wh.LinearProblem(A_eq=[[1.0, 1.0]], b_eq=[1.0]).polytope()) is not None
