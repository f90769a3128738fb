"""Absolute explanations of linear problems: the dual in one program, and the loop of cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests import oracle
from tests.asking import asking, varied
from tests.forests import paper_forest
from tests.milp.asked import answered

from whence.errors import InputError
from whence.policy import Policy
from whence.problems.linear import LinearProblem
from whence.question import Limits, Question
from whence.risk import CVaR, Expectation
from whence.weights import ForestWeights, KNNWeights

VARIABLES = 4
#: Equalities, inequalities with bounds, everything at once with a free variable, inequalities alone.
SHAPES = ("simplex", "bounded", "mixed", "free")


def problem(rng: np.random.Generator, shape: str) -> LinearProblem:
    """A bounded polytope of four variables."""
    if shape == "simplex":
        return LinearProblem(A_eq=[[1] * VARIABLES], b_eq=[1])
    if shape == "bounded":
        return LinearProblem(A_ub=[[1] * VARIABLES, [1, -1, 0, 0]], b_ub=[2, 0.5], bounds=(0, 1))
    if shape == "mixed":
        bounds = [(-1, 1), (0, 2), (-2, 0), (None, None)]
        return LinearProblem(rng.normal(size=(3, VARIABLES)), [1, 1, 1], [[1] * VARIABLES], [0.3], bounds)
    both = np.vstack([np.eye(VARIABLES), -np.eye(VARIABLES)])
    return LinearProblem(A_ub=both, b_ub=np.ones(2 * VARIABLES), bounds=(None, None))


def question(seed: int, shape: str, weights: Any) -> Question:
    """Could the plan of some past context be optimal elsewhere? The options hold what the dual needs."""
    rng = np.random.default_rng(seed)
    n = 12 if isinstance(weights, ForestWeights) else 7
    X = rng.normal(size=(n, 2))
    Y = 5.0 * rng.random((n, VARIABLES)) - rng.choice([0.0, 2.0]) + 2.0 * X @ rng.normal(size=(2, VARIABLES))
    solved = problem(rng, shape)
    policy = Policy(solved, weights).fit(X, Y)
    context = policy.schema_.row(rng.normal(size=2))
    plan = policy.decide(X[rng.integers(n)])
    alternative, decision = solved.costs(plan, Y), solved.costs(policy.decide(context), Y)
    tau = 1e-6 * float(np.abs(alternative).max())

    def better(w: np.ndarray) -> np.ndarray | None:
        costs = solved.costs(solved.solve(Y, w, Expectation()), Y)
        return costs if w @ (alternative - costs) > tau else None

    return asking(
        policy.schema_.space(context), policy.weights_, policy.input_map_, alternative, decision, Expectation(),
        "absolute", tau, 1e-6, better, Limits(), {"linear": (solved.polytope(), solved.cost_rows(Y), plan)},
    )  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_forest_dual_is_the_brute_force_optimum(shape: str) -> None:
    """On every solver, the certificate admits exactly the cells in which the alternative is optimal."""
    found = 0
    for seed in range(8):
        asked = question(seed, shape, paper_forest(n_trees=4, max_depth=2, random_state=seed))
        nearest = oracle.nearest(asked)
        for solver in ("highs", "scip", "gurobi"):
            answer = answered(asked, method="dual", solver=solver, **asked.settings.options)
            assert (answer.status == "none") == (nearest is None)
            if nearest is not None:
                found += 1
                assert abs(answer.distance - nearest.distance) < 1e-6
                assert answer.cuts == 0
    assert found > 0


@pytest.mark.parametrize("shape", SHAPES)
def test_neighbour_dual_is_the_loop_of_cuts(shape: str) -> None:
    """For neighbours too, one program with the dual finds what the loop finds, and so do lazy rows."""
    for seed in range(4):
        asked = question(seed, shape, KNNWeights(3))
        loop = answered(asked)
        for options in (
            {"method": "dual", **asked.settings.options},
            {"method": "dual", "solver": "gurobi", **asked.settings.options},
            {"method": "lazy", "solver": "gurobi"},
            {"method": "lazy", "solver": "scip"},
        ):
            answer = answered(asked, **options)
            assert answer.status == loop.status
            assert answer.distance == loop.distance or abs(answer.distance - loop.distance) < 1e-6


def test_what_no_dual_can_certify_is_refused() -> None:
    """Whole-number variables, CVaR and problems that are not linear: one sentence each."""
    asked = question(0, "simplex", KNNWeights(3))
    polytope, costs, plan = asked.settings.options["linear"]
    whole = varied(polytope, integrality=np.ones(VARIABLES, dtype=bool))
    with pytest.raises(InputError, match="whole-number variables"):
        answered(asked, method="dual", linear=(whole, costs, plan))
    with pytest.raises(InputError, match="expected cost"):
        answered(varied(asked, risk=CVaR(0.5)), method="dual", linear=(polytope, costs, plan))
    with pytest.raises(InputError, match="linear decision problem"):
        answered(asked, method="dual")
