"""The one door to HiGHS: linear and integer programs as arrays, how a run ended, and the clock that may end it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence.errors import SolverError
from whence.util.aliases import Floats

_ROWWISE, _MINIMISE = 2, 1
_KIND: Any = highspy.HighsModelStatus
#: How a run ended; for anything else, the name that HiGHS has for it.
_WORDS = {
    _KIND.kOptimal: "optimal",
    _KIND.kModelEmpty: "optimal",
    _KIND.kInfeasible: "infeasible",
    _KIND.kUnbounded: "unbounded",
    _KIND.kUnboundedOrInfeasible: "infeasible or unbounded",
    _KIND.kTimeLimit: "limit",
    _KIND.kSolutionLimit: "limit",
    _KIND.kIterationLimit: "limit",
    _KIND.kInterrupt: "interrupted",
    _KIND.kHighsInterrupt: "interrupted",
}


class Run(NamedTuple):
    """How a run of HiGHS ended: the best solution, its value, and what is proved of every other one."""

    status: str
    values: Floats | None
    value: float
    bound: float
    nodes: int


def run(
    program: Any,
    integer: NDArray[np.bool_] | None,
    options: Mapping[str, Any],
    start: tuple[NDArray[np.int64], Floats] | None = None,
    on_progress: Callable[[int, float, float], bool] | None = None,
) -> Run:
    """Minimise ``cost @ x + offset`` over ``row_lower <= rows @ x <= row_upper`` and ``lower <= x <= upper``.

    These are attributes of `program`: `rows` is a csr_array, and limits may be infinite. `start` names some variables
    by their numbers and gives their values in a known solution; `on_progress` is told nodes, best value and bound, and
    returns False to stop.
    """
    highs = highspy.Highs()
    for name, value in {"output_flag": False, **options}.items():
        highs.setOptionValue(name, value)
    rows: sparse.csr_array = program.rows
    size = program.cost.size
    kinds = np.zeros(size, dtype=np.int32) if integer is None else integer.astype(np.int32)
    highs.passModel(
        size,
        rows.shape[0],
        rows.nnz,
        _ROWWISE,
        _MINIMISE,
        program.offset,
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
    if start is not None:
        highs.setSolution(start[0].size, start[0].astype(np.int32), start[1])
    if on_progress is not None:

        def tell(event: Any) -> None:
            data = event.data_out
            if not on_progress(int(data.mip_node_count), float(data.mip_primal_bound), float(data.mip_dual_bound)):
                event.interrupt()

        highs.cbMipInterrupt += tell
    if highs.run() == highspy.HighsStatus.kError and "threads" in options:
        # HiGHS keeps the threads of its first run; another number needs a new pool.
        highspy.Highs.resetGlobalScheduler(True)
        highs.run()
    info = highs.getInfo()
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    values = np.array(highs.getSolution().col_value, dtype=np.float64) if feasible else None
    value = float(info.objective_function_value)
    bound = float(info.mip_dual_bound) if integer is not None and integer.any() else value
    status = highs.getModelStatus()
    return Run(_WORDS.get(status, status.name), values, value, bound, max(int(info.mip_node_count), 0))


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
    ended = run(program, integer, options)
    if ended.status == "infeasible or unbounded":
        # Presolve only knows that it is one of the two.
        ended = run(program, integer, {**options, "presolve": "off"})
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
    """Return seconds that a solve may take, infinite where nothing limits it."""
    moment = _moment.get()
    return moment if moment == float("inf") else moment - time.perf_counter()


def check_time() -> None:
    """Raise `OutOfTime` where the moment has passed."""
    if seconds_left() <= 0:
        raise OutOfTime("The time limit passed before the decision problem was solved.")
