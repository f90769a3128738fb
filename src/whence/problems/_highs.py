"""One linear or integer program handed to HiGHS: arrays in, the optimal values out, or a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence.aliases import Floats
from whence.errors import SolverError
from whence.problems._deadline import OutOfTime, check_time, seconds_left

__all__ = ["Program", "minimise"]


_ROWWISE = 2
_MINIMISE = 1


@dataclass(frozen=True)
class Program:
    """Minimise ``cost @ x`` over ``row_lower <= rows @ x <= row_upper`` and ``lower <= x <= upper``.

    Parameters
    ----------
    cost, lower, upper : array of shape (variables,)
        Objective and bounds; infinite bounds are allowed.
    rows : array or sparse array of shape (rows, variables)
        Coefficients.
    row_lower, row_upper : array of shape (rows,)
        Limits of the rows; infinite limits are allowed.
    integer : array of bool, optional
        Which variables are integer; none where left out.
    presolve : bool
        Whether HiGHS presolves; small dense programs are quicker without.
    tolerance : float
        Feasibility of rows and of reduced costs, absolute; well scaled programs bear 1e-10.
    """

    cost: Floats
    lower: Floats
    upper: Floats
    rows: Any
    row_lower: Floats
    row_upper: Floats
    integer: NDArray[np.bool_] | None = None
    presolve: bool = True
    tolerance: float = 1e-7


def minimise(program: Program, caller: str) -> Floats:
    """Optimal values of the variables of `program`.

    Integer variables come back as whole numbers, with the continuous ones optimal for them.

    Parameters
    ----------
    program : Program
        What is to be solved.
    caller : str
        Whose problem it is, for the error message.

    Raises
    ------
    SolverError
        Where the program is infeasible or unbounded, or HiGHS gives up.
    OutOfTime
        Where the search that asks has a time limit, and it passes.
    """
    integer = program.integer
    if integer is None or not integer.any():
        return _run(program, None, caller)
    values = _run(program, integer, caller)
    whole = np.round(values[integer])
    if integer.all() or np.array_equal(whole, values[integer]):
        values[integer] = whole
        return values
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[integer] = upper[integer] = whole
    try:
        return _run(replace(program, lower=lower, upper=upper), None, caller)
    except OutOfTime:
        raise
    except SolverError:
        raise SolverError(f"{caller} was not solved: HiGHS left integer variables that cannot be rounded.") from None


def _run(program: Program, integer: NDArray[np.bool_] | None, caller: str) -> Floats:
    rows = program.rows if isinstance(program.rows, sparse.csr_array) else sparse.csr_array(program.rows)
    kinds = np.zeros(program.cost.size, dtype=np.int32) if integer is None else integer.astype(np.int32)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    # One thread of HiGHS: the same answer on every machine, and nothing to fight over in a parallel loop.
    highs.setOptionValue("parallel", "off")
    highs.setOptionValue("primal_feasibility_tolerance", program.tolerance)
    highs.setOptionValue("dual_feasibility_tolerance", program.tolerance)
    if not program.presolve:
        highs.setOptionValue("presolve", "off")
    if integer is not None:
        highs.setOptionValue("mip_rel_gap", 0.0)
        highs.setOptionValue("mip_abs_gap", 0.0)
        highs.setOptionValue("mip_feasibility_tolerance", 1e-9)
    highs.passModel(
        program.cost.size,
        rows.shape[0],
        rows.nnz,
        _ROWWISE,
        _MINIMISE,
        0.0,
        program.cost,
        program.lower,
        program.upper,
        program.row_lower,
        program.row_upper,
        rows.indptr[:-1].astype(np.int32),
        rows.indices.astype(np.int32),
        rows.data.astype(np.float64),
        kinds,
    )
    check_time()
    left = seconds_left()
    if np.isfinite(left):
        highs.setOptionValue("time_limit", left)
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kUnboundedOrInfeasible:
        status = _settle(highs)
    if status == highspy.HighsModelStatus.kTimeLimit and np.isfinite(left):
        raise OutOfTime(f"{caller} was not solved within the time limit.")
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverError(f"{caller} {_reason(status)}.")
    # Adding zero turns -0.0 into 0.0, which reads better in a plan.
    return np.array(highs.getSolution().col_value, dtype=np.float64) + 0.0


def _settle(highs: Any) -> Any:
    """Which of the two it is, when presolve only knows that it is one of them."""
    highs.setOptionValue("presolve", "off")
    highs.clearSolver()
    highs.run()
    return highs.getModelStatus()


def _reason(status: Any) -> str:
    kinds = highspy.HighsModelStatus
    if status == kinds.kInfeasible:
        return "is infeasible: no plan satisfies its rows, bounds and integrality"
    if status == kinds.kUnbounded:
        return "is unbounded: its cost can be lowered without end"
    if status == kinds.kUnboundedOrInfeasible:
        return "is infeasible or unbounded"
    return f"was not solved to optimality: HiGHS ended with status {status.name}"
