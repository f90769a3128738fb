"""The integer programs find what enumeration finds: every kind of weights, criterion, risk, feature and solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.blocks import count, seeds
from tests.milp.asked import agree, answered, asked, expected, forests, neighbours

from whence.risk import CVaR

LAZY = {"method": "lazy"}


@pytest.mark.parametrize("block", seeds(1, 4))
def test_forests_with_highs(block: int) -> None:
    """Forests trained here or frozen, all features, both kinds, both risks: the same optimum, or none alike."""
    for case in forests(range(60 * block, 60 * block + 60)):
        question = asked(case)
        agree(answered(question), expected(case, question), case)


@pytest.mark.parametrize("block", seeds(1, 2))
def test_neighbours_with_highs(block: int) -> None:
    """Neighbours, all features, both kinds, both risks: the same optimum, or none alike."""
    for case in neighbours(range(200 * block, 200 * block + 200)):
        question = asked(case)
        agree(answered(question), expected(case, question), case)


@pytest.mark.parametrize("options", [{}, LAZY], ids=["iterative", "lazy"])
@pytest.mark.parametrize("solver", ["scip", "gurobi"])
def test_forests_with_other_solvers(solver: str, options: dict[str, Any]) -> None:
    """SCIP and Gurobi agree, with rows added between solves or within one."""
    for case in forests(range(500, 500 + count(20, 60)), samples=12):
        if options:
            case = case.but(kind="absolute")
        question = asked(case)
        agree(answered(question, solver=solver, **options), expected(case, question), case)


@pytest.mark.parametrize("options", [{}, LAZY], ids=["iterative", "lazy"])
@pytest.mark.parametrize("solver", ["scip", "gurobi"])
def test_neighbours_with_other_solvers(solver: str, options: dict[str, Any]) -> None:
    """SCIP and Gurobi agree about neighbours too."""
    for case in neighbours(range(400, 400 + count(30, 80)), samples=8):
        if options:
            case = case.but(kind="absolute")
        question = asked(case)
        agree(answered(question, solver=solver, **options), expected(case, question), case)


@pytest.mark.parametrize(
    "options", [{"w_max": "unit"}, {"w_max": "path"}, {"w_max": "mean"}, {"valid_inequality": False}]
)
def test_refinements_change_no_optimum(options: dict[str, Any]) -> None:
    """Looser bounds on weights, and no valid inequality: slower perhaps, but the same answer."""
    for case in forests(range(600, 600 + count(15, 40)), samples=12, kind="absolute"):
        question = asked(case)
        if "w_max" in options and not isinstance(question.claim.risk, CVaR):
            continue
        agree(answered(question, **options), expected(case, question), case)


def test_a_wrong_verdict_of_highs_is_noticed() -> None:
    """HiGHS 1.15 calls this program infeasible when asked once; asked in two ways, it finds the optimum."""
    case = next(forests(range(1958, 1959)))
    question = asked(case)
    distance = expected(case, question)
    assert distance < np.inf
    agree(answered(question), distance, case)
