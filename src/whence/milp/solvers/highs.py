"""HiGHS, which comes with whence."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from whence.errors import SolverError
from whence.milp.model import Columns, Program
from whence.milp.solvers.base import Lazy, Outcome, SolverSettings
from whence.util import linear_program as highs
from whence.util.aliases import Floats

#: Feasibility and integrality tolerance. Criteria may differ by 1e-6 of a cost, so that the default 1e-6 is too loose.
TOLERANCE = 1e-9

#: Two optima that differ by no more than this are the same.
AGREEMENT = 1e-8

#: Ways to solve, in this order. HiGHS (1.7 to 1.15) now and then returns a wrong optimum of our CVaR programs, or
#: calls them infeasible: about twice in a thousand small ones, whatever its options, but different ones with each.
WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"presolve": "off", "random_seed": 1},
    {"mip_lp_solver": "ipm", "random_seed": 2},
    {"presolve": "off", "random_seed": 3},
    {"random_seed": 4},
)


class Highs:
    """HiGHS through ``highspy``; it has no lazy constraints.

    Where it must `confirm`, an optimum, or that there is none, is believed once two ways to solve agree on it.
    """

    name = "highs"
    takes_rows, takes_threads = False, True

    def __init__(self, confirm: bool = True) -> None:
        self.confirm = confirm

    def solve(self, program: Program, settings: SolverSettings, lazy: Lazy | None = None) -> Outcome:
        """Solve `program`; see :class:`whence.milp.solvers.base.Solver`. Nobody asks for `lazy` rows."""
        began = time.perf_counter()
        best = _solve_once(program, settings, WAYS[0], None)
        if not self.confirm or not program.integer.any():
            return best
        nodes = best.nodes
        for way in WAYS[1:]:
            if best.status not in ("optimal", "infeasible"):
                break
            left = replace(
                settings,
                time_limit=settings.time_limit - (time.perf_counter() - began),
                node_limit=None if settings.node_limit is None else max(settings.node_limit - nodes, 0),
            )
            known = None if best.values is None else (np.arange(program.cost.size), best.values)
            other = _solve_once(program, left, way, known)
            nodes += other.nodes
            if _agree(program, best, other, settings.mip_gap):
                return replace(best, nodes=nodes)
            best = _better(program, best, other)
        return replace(best, nodes=nodes)


def settled(program: Program, x: Floats) -> Floats:
    """Return `x` with whole binaries, and the rest as near as these allow."""
    whole = np.where(program.integer, np.round(x), x)
    lower = np.where(program.integer, whole, program.lower)
    upper = np.where(program.integer, whole, program.upper)
    outcome = Highs(confirm=False).solve(program.with_bounds(lower, upper, relaxed=True), SolverSettings())
    return whole if outcome.values is None else np.where(program.integer, whole, outcome.values)


def _solve_once(
    program: Program, settings: SolverSettings, way: dict[str, Any], start: tuple[Columns, Floats] | None
) -> Outcome:
    ended = highs.run(program, program.integer, {**_options(settings), **way}, start, settings.on_progress)
    if ended.status in ("infeasible", "infeasible or unbounded"):
        # The objective is a distance: nothing here is unbounded.
        return Outcome("infeasible", None, np.inf, ended.nodes)
    if ended.status == "optimal":
        return Outcome("optimal", ended.values, min(ended.bound, ended.value), ended.nodes)
    bound = ended.bound if program.integer.any() else -np.inf
    if ended.status in ("limit", "interrupted"):
        return Outcome("limit" if ended.status == "limit" else "interrupted", ended.values, bound, ended.nodes)
    raise SolverError(f"HiGHS ended without an answer: its status is {ended.status}.")


def _value(program: Program, outcome: Outcome) -> float:
    return np.inf if outcome.values is None else float(program.cost @ outcome.values) + program.offset


def _agree(program: Program, best: Outcome, other: Outcome, gap: float) -> bool:
    """Return whether both are final and name the same optimum, as far as the gap lets them."""
    if other.status not in ("optimal", "infeasible"):
        return False
    if best.status == other.status == "infeasible":
        return True
    first, second = _value(program, best), _value(program, other)
    return abs(first - second) <= AGREEMENT + gap * max(abs(first), abs(second))


def _better(program: Program, best: Outcome, other: Outcome) -> Outcome:
    """The better solution of two that disagree; no more is proved than what was proved where one was cut short."""
    values = min(best, other, key=lambda outcome: _value(program, outcome))
    if other.status in ("optimal", "infeasible"):
        return values
    return Outcome(other.status, values.values, other.bound, other.nodes)


def _options(settings: SolverSettings) -> dict[str, Any]:
    options: dict[str, Any] = {"output_flag": settings.log, "mip_rel_gap": settings.mip_gap, "mip_abs_gap": TOLERANCE}
    exact = [f"{kind}_feasibility_tolerance" for kind in ("mip", "primal", "dual")]
    options |= dict.fromkeys(exact, TOLERANCE)
    if settings.threads is not None:
        options["parallel"] = "off" if settings.threads == 1 else "on"
    return options | settings.limits("time_limit", "mip_max_nodes", "threads")
