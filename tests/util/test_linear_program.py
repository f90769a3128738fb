"""The one door to HiGHS: how runs end, and what comes out of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from whence.util import linear_program as highs


def program(rows: Any, limits: Any, **changes: Any) -> SimpleNamespace:
    """Minimise minus the sum of variables between 0 and 10 whose rows are at most the limits."""
    matrix = sparse.csr_array(np.array(rows, dtype=np.float64))
    size = matrix.shape[1]
    arrays = {
        "cost": np.full(size, -1.0),
        "lower": np.zeros(size),
        "upper": np.full(size, 10.0),
        "rows": matrix,
        "row_lower": np.full(matrix.shape[0], -np.inf),
        "row_upper": np.array(limits, dtype=np.float64),
        "offset": 100.0,
    }
    return SimpleNamespace(**{**arrays, **changes})


def test_linear_and_integer_optima() -> None:
    """The optimum comes with its value, the constant part included, and with the bound that proves it."""
    asked = program([[2.0, 2.0]], [5.0])
    ended = highs.run(asked, None, {})
    assert (ended.status, ended.value, ended.bound) == ("optimal", 97.5, 97.5)
    assert ended.values is not None
    assert ended.values.sum() == pytest.approx(2.5)
    whole = highs.run(asked, np.array([True, True]), {"mip_rel_gap": 0.0})
    assert whole.status == "optimal"
    assert (whole.value, whole.bound) == (pytest.approx(98.0), pytest.approx(98.0))


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"row_upper": np.array([-1.0])}, "infeasible"),
        ({"row_upper": np.array([np.inf]), "upper": np.full(2, np.inf)}, "unbounded"),
    ],
)
def test_programs_without_an_optimum(changes: dict[str, Any], status: str) -> None:
    """Without presolve it is known whether a program has no solution or no end; there are no values then."""
    ended = highs.run(program([[1.0, 1.0]], [1.0], **changes), None, {"presolve": "off"})
    assert ended.status == status
    assert ended.status == "unbounded" or ended.values is None


def test_a_known_solution_and_a_limit() -> None:
    """With no nodes left, a solution that was known is what comes back, and no more is proved than that."""
    rng = np.random.default_rng(0)
    asked = program(rng.integers(1, 20, (30, 30)), rng.integers(60, 90, 30))
    known = (np.arange(30), np.zeros(30))
    ended = highs.run(asked, np.ones(30, dtype=bool), {"mip_max_nodes": 0, "presolve": "off"}, known)
    assert ended.status == "limit"
    assert ended.values is not None
    assert ended.bound <= ended.value


def test_progress_may_stop_a_run() -> None:
    """What `on_progress` says is heeded."""
    rng = np.random.default_rng(1)
    asked = program(rng.integers(1, 40, (40, 60)), rng.integers(100, 120, 40))
    told: list[float] = []

    def stop(nodes: int, best: float, bound: float) -> bool:
        told.append(bound)
        return False

    ended = highs.run(asked, np.ones(60, dtype=bool), {"time_limit": 20.0}, on_progress=stop)
    assert told
    assert ended.status == "interrupted"
