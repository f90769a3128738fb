"""The adapters: one small program through each solver, and what happens without one."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tests.milp.asked import answered, asked, forests

from whence.errors import MissingDependencyError, SolverError
from whence.milp.model import Linear, Model, Row
from whence.milp.solvers import solver_named
from whence.milp.solvers.base import SolverSettings
from whence.milp.solvers.highs import Highs
from whence.util import linear_program as highs

SOLVERS = ("highs", "scip", "gurobi")


def knapsack(at_least: float = 5.0) -> Model:
    """Cheapest choice among six items that weighs at least so much, and a continuous filler; the optimum is 5.25."""
    model = Model()
    items = model.variables(6, integer=True)
    filler = model.variables(1, 0.0, 1.0)
    model.minimise(Linear(items, np.array([1.5, 2.0, 2.75, 3.0, 4.0, 5.0]), 0.25))
    model.minimise(Linear(filler, np.array([3.0])))
    weights = Linear(items, np.array([1.0, 2.0, 2.5, 3.0, 3.5, 4.0])) + Linear(filler, np.ones(1))
    model.row(weights, at_least)
    model.row(Linear(items[:2], np.ones(2)), 1.0, 1.0)
    return model


@pytest.mark.parametrize("name", SOLVERS)
def test_optimum(name: str) -> None:
    """Objective, constant, rows of every sense and whole variables arrive as they were meant."""
    program = knapsack().program()
    outcome = solver_named(name).solve(program, SolverSettings())
    assert outcome.status == "optimal"
    assert outcome.values is not None
    assert program.allows(outcome.values)
    assert np.isclose(program.cost @ outcome.values + program.offset, 5.25)
    assert np.isclose(outcome.bound, 5.25)


@pytest.mark.parametrize("name", SOLVERS)
def test_infeasible(name: str) -> None:
    """No choice weighs that much."""
    outcome = solver_named(name).solve(knapsack(50.0).program(), SolverSettings())
    assert outcome.status == "infeasible"
    assert outcome.values is None


def test_a_known_solution_is_taken() -> None:
    """A start, complete or not, does no harm and leads to the same optimum."""
    start = (np.arange(6), np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.0]))
    program = knapsack().program()
    assert np.isclose(highs.run(program, program.integer, {}, start=start).bound, 5.25)


@pytest.mark.parametrize("name", ["scip", "gurobi"])
def test_lazy_rows(name: str) -> None:
    """Rows that come with the solutions lead where the same rows would have led from the beginning."""
    solver = solver_named(name)
    assert solver.takes_rows
    calls = 0

    def never_the_fourth(x: np.ndarray) -> list[Row]:
        nonlocal calls
        calls += 1
        return [Row(Linear(np.array([3]), np.ones(1)), -np.inf, 0.0)] if x[3] > 0.5 else []

    outcome = solver.solve(knapsack().program(), SolverSettings(), lazy=never_the_fourth)
    model = knapsack()
    model.row(Linear(np.array([3]), np.ones(1)), -np.inf, 0.0)
    assert outcome.values is not None
    assert calls > 0
    assert outcome.values[3] < 0.5
    assert np.isclose(outcome.bound, Highs().solve(model.program(), SolverSettings()).bound)


def test_highs_settles_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two ways to solve disagree, a third decides, and the better solution stands."""
    from whence.milp.solvers import highs as adapter

    program = knapsack().program()
    once = adapter._solve_once
    calls: list[dict[str, Any]] = []

    def wrong_at_first(program: Any, settings: Any, way: dict[str, Any], start: Any) -> Any:
        calls.append(way)
        return once(knapsack(50.0).program() if len(calls) == 1 else program, settings, way, start)

    monkeypatch.setattr(adapter, "_solve_once", wrong_at_first)
    outcome = Highs().solve(program, SolverSettings())
    assert outcome.status == "optimal"
    assert np.isclose(outcome.bound, 5.25)
    assert len(calls) == 3


@pytest.mark.parametrize(("name", "package"), [("scip", "pyscipopt"), ("gurobi", "gurobipy")])
def test_a_missing_solver_says_how_to_install_it(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for, not found: the message names the package and the extra."""
    monkeypatch.setitem(sys.modules, package, None)
    question = asked(next(forests(range(1))))
    with pytest.raises(MissingDependencyError, match=rf"'{package}'.*pip install whence\[{name}\]"):
        answered(question, solver=name)


def test_gurobi_without_a_licence_names_its_limit() -> None:
    """A program above 2,000 variables is refused with a sentence."""
    model = Model()
    columns = model.variables(2500, integer=True)
    model.row(Linear(columns, np.ones(2500)), 3.0)
    model.minimise(Linear(columns, np.ones(2500)))
    with pytest.raises(SolverError, match="2,000 variables and 2,000 rows"):
        solver_named("gurobi").solve(model.program(), SolverSettings())


def test_importing_the_engine_imports_no_optional_solver() -> None:
    """whence and its engine load without SCIP and Gurobi."""
    code = "import sys, whence, whence.milp.milp_engine; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pyscipopt", "gurobipy"} & set(found.stdout.split())
