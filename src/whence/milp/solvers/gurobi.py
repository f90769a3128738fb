"""Gurobi, where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.errors import SolverError
from whence.milp.model import Program
from whence.milp.solvers.base import Lazy, Outcome, SolverSettings, imported

TOLERANCE = 1e-9
_SIZE_LIMIT = 10010


class Gurobi:
    """Gurobi through ``gurobipy``; without a licence it takes 2,000 variables and 2,000 rows."""

    name = "gurobi"
    takes_rows = takes_threads = True

    def __init__(self) -> None:
        self._gurobi = imported("gurobi", "gurobipy")

    def solve(self, program: Program, settings: SolverSettings, lazy: Lazy | None = None) -> Outcome:
        """Solve `program`; see :class:`whence.milp.solvers.base.Solver`."""
        try:
            with (
                self._gurobi.Env(params={"OutputFlag": int(settings.log)}) as env,
                self._gurobi.Model(env=env) as model,
            ):
                x = self._build(model, program)
                for name, value in _parameters(settings, lazy is not None).items():
                    model.setParam(name, value)
                failures: list[BaseException] = []
                model.optimize(self._callback(x, settings, lazy, failures))
                if failures:
                    raise failures[0]
                return self._outcome(model, x, program)
        except self._gurobi.GurobiError as error:
            if error.errno == _SIZE_LIMIT:
                raise SolverError(
                    f"Gurobi's free licence ends at 2,000 variables and 2,000 rows, and this program has "
                    f"{program.cost.size} and {program.row_lower.size}: use solver='highs' or a full licence."
                ) from None
            raise SolverError(f"Gurobi ended without an answer: {error}.") from None

    def _build(self, model: Any, program: Program) -> list[Any]:
        kinds = np.where(program.integer, "I", "C")
        x = model.addMVar(program.cost.size, program.lower, program.upper, program.cost, kinds)
        model.ObjCon = program.offset
        low, high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
        same = low & high & (program.row_lower == program.row_upper)
        for at, sense, limit in (
            (same, "=", program.row_lower),
            (low & ~same, ">", program.row_lower),
            (high & ~same, "<", program.row_upper),
        ):
            if at.any():
                model.addMConstr(program.rows[np.flatnonzero(at)], x, sense, limit[at])
        model.update()
        return list(x.tolist())

    def _callback(
        self, x: list[Any], settings: SolverSettings, lazy: Lazy | None, failures: list[BaseException]
    ) -> Any:
        codes = self._gurobi.GRB.Callback

        def called(model: Any, where: int) -> None:
            try:
                act(model, where)
            except BaseException as failure:  # Gurobi's own code lies between here and the caller.
                failures.append(failure)
                model.terminate()

        def act(model: Any, where: int) -> None:
            if where == codes.MIPSOL and lazy is not None:
                for row in lazy(np.array(model.cbGetSolution(x))):
                    terms = self._gurobi.LinExpr(
                        row.expression.coefficients.tolist(), [x[j] for j in row.expression.columns]
                    )
                    if np.isfinite(row.upper):
                        model.cbLazy(terms <= row.upper - row.expression.constant)
                    if np.isfinite(row.lower):
                        model.cbLazy(terms >= row.lower - row.expression.constant)
            elif where == codes.MIP and settings.on_progress is not None:
                nodes, best = model.cbGet(codes.MIP_NODCNT), model.cbGet(codes.MIP_OBJBST)
                if not settings.on_progress(int(nodes), float(best), float(model.cbGet(codes.MIP_OBJBND))):
                    model.terminate()

        return called

    def _outcome(self, model: Any, x: list[Any], program: Program) -> Outcome:
        codes = self._gurobi.GRB
        nodes = int(model.NodeCount)
        if model.Status in (codes.INFEASIBLE, codes.INF_OR_UNBD):
            # The objective is a distance: nothing here is unbounded.
            return Outcome("infeasible", None, np.inf, nodes)
        words: dict[int, Any] = {codes.OPTIMAL: "optimal", codes.INTERRUPTED: "interrupted"}
        words |= {codes.TIME_LIMIT: "limit", codes.NODE_LIMIT: "limit"}
        if model.Status not in words:
            raise SolverError(f"Gurobi ended without an answer: its status is {model.Status}.")
        values = np.array([v.X for v in x]) if model.SolCount else None
        bound = float(model.ObjBound) if program.integer.any() else float(model.ObjVal)
        return Outcome(words[model.Status], values, bound, nodes)


def _parameters(settings: SolverSettings, lazy: bool) -> dict[str, Any]:
    exact = dict.fromkeys(("MIPGapAbs", "FeasibilityTol", "IntFeasTol", "OptimalityTol"), TOLERANCE)
    limits = settings.limits("TimeLimit", "NodeLimit", "Threads")
    return {"MIPGap": settings.mip_gap, "LazyConstraints": int(lazy), **exact, **limits}
