"""The program of a decision problem: arrays in, the optimal values out, or a sentence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence.errors import SolverError
from whence.util import linear_program as highs
from whence.util.aliases import Floats

__all__ = ["LinearProgram", "OutOfTime", "check_time", "minimise", "seconds_left", "until", "with_tail"]


_REASONS = {
    "infeasible": "is infeasible: no plan satisfies its rows, bounds and integrality",
    "unbounded": "is unbounded: its cost can be lowered without end",
    "infeasible or unbounded": "is infeasible or unbounded",
}


@dataclass(frozen=True)
class LinearProgram:
    """Minimise ``cost @ x`` over ``row_lower <= rows @ x <= row_upper`` and ``lower <= x <= upper``.

    Limits may be infinite; no variable is integer where `integer` is left out.
    """

    cost: Floats
    lower: Floats
    upper: Floats
    rows: Any
    row_lower: Floats
    row_upper: Floats
    integer: NDArray[np.bool_] | None = None
    #: Small dense programs are quicker without.
    presolve: bool = True
    #: Of rows and of reduced costs, absolute; well scaled programs bear 1e-10.
    tolerance: float = 1e-7
    offset: float = 0.0


def with_tail(program: LinearProgram, costs: Any, share: Floats) -> LinearProgram:
    """`program` and Rockafellar and Uryasev's rows: what is minimised besides its cost is the CVaR of ``costs @ x``.

    After its variables come the value-at-risk and each sample's excess over it, whose prices `share` are the weights
    over ``1 - alpha``.
    """
    samples = share.size
    excess = sparse.hstack([costs, np.full((samples, 1), -1.0), -sparse.eye_array(samples)])
    rows = sparse.hstack([program.rows, sparse.csr_array((program.rows.shape[0], samples + 1))])
    return replace(
        program,
        cost=np.concatenate((program.cost, [1.0], share)),
        lower=np.concatenate((program.lower, [-np.inf], np.zeros(samples))),
        upper=np.concatenate((program.upper, np.full(samples + 1, np.inf))),
        rows=sparse.vstack([rows, excess], format="csr"),
        row_lower=np.concatenate((program.row_lower, np.full(samples, -np.inf))),
        row_upper=np.concatenate((program.row_upper, np.zeros(samples))),
        integer=None if program.integer is None else np.pad(program.integer, (0, samples + 1)),
    )


def minimise(program: LinearProgram, caller: str) -> Floats:
    """Optimal values of the variables of `program`; a SolverError, or OutOfTime, names its `caller` otherwise.

    Integer variables come back as whole numbers, with the continuous ones optimal for them.
    """
    integer = program.integer
    values = _run(program, integer, caller)
    if integer is None or not integer.any():
        return values
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
    if integer is not None and integer.any():
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


_moment: ContextVar[float] = ContextVar("moment", default=float("inf"))


class OutOfTime(SolverError):
    """The time limit passed before the decision problem was solved."""


@contextmanager
def until(moment: float) -> Iterator[None]:
    """Within this, solves that can be interrupted end at `moment` (of ``time.perf_counter``) with `OutOfTime`."""
    token = _moment.set(moment)
    try:
        yield
    finally:
        _moment.reset(token)


def seconds_left() -> float:
    """Seconds that a solve may take, infinite where nothing limits it."""
    moment = _moment.get()
    return moment if moment == float("inf") else moment - time.perf_counter()


def check_time() -> None:
    """Raise `OutOfTime` where the moment has passed."""
    if seconds_left() <= 0:
        raise OutOfTime("The time limit passed before the decision problem was solved.")
