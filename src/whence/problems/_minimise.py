"""The program of a decision problem: arrays in, the optimal values out, or a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence import highs
from whence.aliases import Floats
from whence.errors import SolverError
from whence.problems._deadline import OutOfTime, check_time, seconds_left

__all__ = ["LinearProgram", "minimise"]

_REASONS = {
    "infeasible": "is infeasible: no plan satisfies its rows, bounds and integrality",
    "unbounded": "is unbounded: its cost can be lowered without end",
    "infeasible or unbounded": "is infeasible or unbounded",
}


@dataclass(frozen=True)
class LinearProgram:
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
    offset : float
        Constant part of the objective.
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
    offset: float = 0.0


def minimise(program: LinearProgram, caller: str) -> Floats:
    """Optimal values of the variables of `program`.

    Integer variables come back as whole numbers, with the continuous ones optimal for them.

    Parameters
    ----------
    program : LinearProgram
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


def _run(program: LinearProgram, integer: NDArray[np.bool_] | None, caller: str) -> Floats:
    options: dict[str, Any] = {
        # One thread of HiGHS: the same answer on every machine, and nothing to fight over in a parallel loop.
        "parallel": "off",
        "primal_feasibility_tolerance": program.tolerance,
        "dual_feasibility_tolerance": program.tolerance,
    }
    if not program.presolve:
        options["presolve"] = "off"
    if integer is not None:
        options |= {"mip_rel_gap": 0.0, "mip_abs_gap": 0.0, "mip_feasibility_tolerance": 1e-9}
    check_time()
    left = seconds_left()
    if np.isfinite(left):
        options["time_limit"] = left
    if not isinstance(program.rows, sparse.csr_array):
        program = replace(program, rows=sparse.csr_array(program.rows))
    ended = highs.run(program, integer, options)
    if ended.status == "infeasible or unbounded":
        # Presolve only knows that it is one of the two.
        ended = highs.run(program, integer, {**options, "presolve": "off"})
    if ended.status == "limit" and np.isfinite(left):
        raise OutOfTime(f"{caller} was not solved within the time limit.")
    if ended.status != "optimal" or ended.values is None:
        otherwise = f"was not solved to optimality: HiGHS ended with status {ended.status}"
        raise SolverError(f"{caller} {_REASONS.get(ended.status, otherwise)}.")
    # Adding zero turns -0.0 into 0.0, which reads better in a plan.
    return ended.values + 0.0
