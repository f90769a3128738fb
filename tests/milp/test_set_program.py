"""Sets of plans in the integer program: rows of linear problems, large networks, neighbours, and time limits."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from tests.forests import paper_forest

import whence as wh


def linear_policy(seed: int, weights: Any, risk: Any = None, whole: bool = False) -> wh.Policy:
    """Shares of four suppliers whose prices follow the context; of one of them there may be but little."""
    rng = np.random.default_rng(seed)
    X = rng.random((14, 2)).round(2)
    Y = 5.0 + (X @ rng.normal(size=(2, 4)) * 5.0 + rng.normal(0, 0.3, (14, 4))).round(2)
    problem = wh.LinearProblem(
        A_eq=[[1, 1, 1, 1]], b_eq=[3], A_ub=[[1, 0, 1, 0]], b_ub=[2], bounds=(0, 2), integrality=1 if whole else None
    )
    return wh.Policy(problem, weights, risk).fit(X, Y)


FOREST, NEIGHBOURS = paper_forest(3, 2, random_state=0), wh.KNNWeights(3)


@pytest.mark.parametrize(
    ("weights", "seed"), [*((FOREST, seed) for seed in range(8)), *((NEIGHBOURS, seed) for seed in (1, 4))]
)
def test_rows_of_a_linear_problem(weights: Any, seed: int) -> None:
    """Some plan that keeps a further row: the same distance by both engines, for both kinds and both risks."""
    kind = "absolute" if seed // 2 % 2 else "relative"
    policy = linear_policy(seed, weights, wh.CVaR(0.6) if seed % 2 else None, whole=seed > 3)
    today = policy.X_.iloc[seed]
    decided = policy.decide(today)
    # At least one more of what is bought least of.
    row = -np.eye(4)[[int(np.argmin(decided))]]
    plans = policy.problem.with_rows(row, row @ decided - 1.0)
    found = [policy.explain(today, plans, kind=kind, engine=engine, time_limit=30) for engine in ("search", "milp")]
    assert found[0].status == found[1].status
    assert found[0].status in ("optimal", "none")
    assert found[0].distance == pytest.approx(found[1].distance, abs=1e-6)


def test_a_network_with_too_many_routes_to_list() -> None:
    """Routes of a larger grid as flows of binaries: the same distance by both engines."""
    rng = np.random.default_rng(1)
    problem = wh.ShortestPath.grid(7)
    X = rng.random((40, 2))
    Y = np.abs(3.0 + 4.0 * (X - 0.5) @ rng.normal(size=(2, len(problem.parts()))) + rng.normal(0, 0.3, (40, 84)))
    policy = wh.Policy(problem, paper_forest(3, 3, random_state=0)).fit(X, Y)
    plans = problem.avoiding(policy.decide(X[0])[3])
    assert plans.plans(399) is None
    for kind in ("relative", "absolute"):
        found = [policy.explain(X[0], plans, kind=kind, engine=one, time_limit=60) for one in ("search", "milp")]
        assert found[0].status == found[1].status == "optimal"
        assert found[0].distance == pytest.approx(found[1].distance, abs=1e-6)


def test_a_time_limit_holds_while_leaves_are_solved() -> None:
    """What is solved for before there is a model counts, too."""

    solved = [0]

    class Slow(wh.DecisionProblem):
        def costs(self, decision: Any, Y: np.ndarray) -> np.ndarray:
            return np.asarray(Y)[:, int(decision)]

        def solve(self, Y: np.ndarray, weights: np.ndarray, risk: Any) -> int:
            solved[0] += 1
            time.sleep(0.01)
            return int(np.argmin([risk.of(column, weights) for column in Y.T]))

    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    policy = wh.Policy(Slow(), paper_forest(20, 4, random_state=0)).fit(X, 5 + X @ rng.normal(size=(2, 3)))
    solved[0] = 0
    why = policy.explain(X[0], engine="milp", time_limit=0.3)
    assert solved[0] <= 0.3 / 0.01 + 5, "no more than fit into the limit, and those before and after"
    assert (why.status, why.bound) == ("time_limit", 0.0)
