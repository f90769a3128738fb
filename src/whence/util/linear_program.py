"""The one door to HiGHS: a linear or integer program as arrays in, how the run ended out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence.util.aliases import Floats

__all__ = ["Run", "run"]

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
