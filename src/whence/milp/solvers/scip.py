"""SCIP, where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whence.errors import SolverError
from whence.milp.model import Linear, Program, Row
from whence.milp.solvers.base import Lazy, Outcome, SolverSettings, imported

TOLERANCE = 1e-9


class Scip:
    """SCIP through ``pyscipopt``; it solves on one thread."""

    name = "scip"
    takes_rows, takes_threads = True, False

    def __init__(self) -> None:
        self._scip = imported("scip", "pyscipopt")

    def solve(self, program: Program, settings: SolverSettings, lazy: Lazy | None = None) -> Outcome:
        """Solve `program`; see :class:`whence.milp.solvers.base.Solver`."""
        model = self._scip.Model()
        if not settings.log:
            model.hideOutput()
        for name, value in _parameters(settings, lazy is not None).items():
            model.setParam(name, value)
        x = _build(self._scip, model, program)
        guard = None if lazy is None else _guard(self._scip, model, x, program, lazy)
        reporter = None if settings.on_progress is None else _reporter(self._scip, model, settings.on_progress)
        model.optimize()
        if guard is not None and guard.failure is not None:
            raise guard.failure
        del reporter
        return _outcome(model, x)


def _parameters(settings: SolverSettings, lazy: bool) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "limits/gap": settings.mip_gap,
        "limits/absgap": 0.0,
        "numerics/feastol": TOLERANCE,
        "numerics/dualfeastol": TOLERANCE,
        **settings.limits("limits/time", "limits/nodes"),
    }
    if lazy:
        # Reductions that keep one optimum may keep one that a later row forbids.
        parameters |= {"misc/allowstrongdualreds": False, "misc/allowweakdualreds": False, "misc/usesymmetry": 0}
    return parameters


def _build(scip: Any, model: Any, program: Program) -> list[Any]:
    # Told that a variable is continuous which rows tie to a binary one, SCIP 10 returns fractional binaries.
    kinds = np.where(program.integer | program.implied, "I", "C")
    columns = (part.tolist() for part in (kinds, program.lower, program.upper, program.cost))
    x = [
        model.addVar(vtype=kind, lb=None if low == -np.inf else low, ub=None if high == np.inf else high, obj=cost)
        for kind, low, high, cost in zip(*columns, strict=True)
    ]
    model.addObjoffset(program.offset)
    rows = program.rows
    for r, (low, high) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)):
        part = slice(rows.indptr[r], rows.indptr[r + 1])
        _add_row(scip, model, x, Row(Linear(rows.indices[part], rows.data[part]), low, high))
    return x


def _add_row(scip: Any, model: Any, x: Sequence[Any], row: Row) -> None:
    low, high = row.lower - row.expression.constant, row.upper - row.expression.constant
    if row.expression.columns.size == 0:
        if low > TOLERANCE or high < -TOLERANCE:
            model.addCons(x[0] - x[0] >= 1.0)
        return
    terms = scip.quicksum(
        float(a) * x[int(j)] for j, a in zip(row.expression.columns, row.expression.coefficients, strict=True)
    )
    if low == high:
        model.addCons(terms == low)
        return
    if np.isfinite(high):
        model.addCons(terms <= high)
    if np.isfinite(low):
        model.addCons(terms >= low)


def _guard(scip: Any, model: Any, x: Sequence[Any], program: Program, lazy: Lazy) -> Any:
    """The lazy rows as a constraint handler of SCIP: it refuses solutions, and adds the rows that forbid them."""
    results = scip.SCIP_RESULT

    class Guard(scip.Conshdlr):  # type: ignore[misc]
        def __init__(self) -> None:
            self.pending: list[Row] = []
            self.failure: BaseException | None = None

        def _refused(self, solution: Any) -> bool:
            values = np.array([self.model.getSolVal(solution, v) for v in x])
            if self.failure is not None or not program.allows(values):
                return True
            try:
                rows = lazy(values)
            except BaseException as failure:  # SCIP's own code lies between here and the caller.
                self.failure = failure
                self.model.interruptSolve()
                return True
            self.pending += rows
            return bool(rows)

        def consenfolp(self, *arguments: Any) -> dict[str, Any]:
            if not self._refused(None):
                return {"result": results.FEASIBLE}
            if not self.pending:
                return {"result": results.INFEASIBLE}
            for row in self.pending:
                _add_row(scip, self.model, x, row)
            self.pending = []
            return {"result": results.CONSADDED}

        consenfops = consenfolp

        def conscheck(self, constraints: Any, solution: Any, *flags: Any) -> dict[str, Any]:
            return {"result": results.INFEASIBLE if self._refused(solution) else results.FEASIBLE}

        def conslock(self, constraint: Any, locktype: Any, nlockspos: int, nlocksneg: int) -> None:
            for v in x:
                self.model.addVarLocks(v, nlockspos + nlocksneg, nlockspos + nlocksneg)

    guard = Guard()
    model.includeConshdlr(
        guard, "whence", "absolute criterion", enfopriority=-2_000_000, chckpriority=-2_000_000, needscons=False
    )
    return guard


def _reporter(scip: Any, model: Any, report: Callable[[int, float, float], bool]) -> Any:
    kinds = scip.SCIP_EVENTTYPE
    # The first node may take long: its linear programs, and the rounds before it, are occasions to stop as well.
    occasions = (kinds.PRESOLVEROUND, kinds.FIRSTLPSOLVED, kinds.LPSOLVED, kinds.NODESOLVED)

    class Reporter(scip.Eventhdlr):  # type: ignore[misc]
        def eventinit(self) -> None:
            for occasion in occasions:
                self.model.catchEvent(occasion, self)

        def eventexit(self) -> None:
            for occasion in occasions:
                self.model.dropEvent(occasion, self)

        def eventexec(self, event: Any) -> None:
            best, bound = float(self.model.getPrimalbound()), float(self.model.getDualbound())
            if not report(int(self.model.getNNodes()), best, bound):
                self.model.interruptSolve()

    reporter = Reporter()
    model.includeEventhdlr(reporter, "whence-progress", "tells how far the search has come")
    return reporter


def _outcome(model: Any, x: Sequence[Any]) -> Outcome:
    status = model.getStatus()
    nodes = int(model.getNTotalNodes())
    if status in ("infeasible", "inforunbd"):
        # The objective is a distance: nothing here is unbounded.
        return Outcome("infeasible", None, np.inf, nodes)
    words: dict[str, Any] = {"optimal": "optimal", "gaplimit": "optimal", "userinterrupt": "interrupted"}
    words |= dict.fromkeys(("timelimit", "nodelimit", "totalnodelimit"), "limit")
    if status not in words:
        raise SolverError(f"SCIP ended without an answer: its status is {status!r}.")
    best = model.getBestSol()
    values = np.array([model.getSolVal(best, v) for v in x]) if model.getNSols() > 0 else None
    return Outcome(words[status], values, float(model.getDualbound()), nodes)
