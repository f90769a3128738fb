"""What a solver is asked and what it answers: one protocol for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol

import numpy as np

from whence.aliases import Floats
from whence.errors import MissingDependencyError
from whence.milp.model import Program, Row

__all__ = ["Lazy", "Outcome", "Solver", "SolverSettings", "imported"]

#: Given the values of a solution, the rows it breaks; none where it may stand.
Lazy = Callable[[Floats], Sequence[Row]]


@dataclass(frozen=True)
class SolverSettings:
    """How to solve: limits in seconds and nodes, the relative gap that counts as optimal, threads, and who is told."""

    time_limit: float = np.inf
    node_limit: int | None = None
    mip_gap: float = 0.0
    threads: int | None = None
    log: bool = False
    #: Told nodes, best value and bound; returns False to stop.
    on_progress: Callable[[int, float, float], bool] | None = None

    def limits(self, seconds: str, nodes: str, threads: str = "") -> dict[str, Any]:
        """The limits that are set, under a solver's own names for them."""
        given: dict[str, Any] = {nodes: self.node_limit, threads: self.threads}
        if np.isfinite(self.time_limit):
            given |= {seconds: max(self.time_limit, 0.0)}
        return {name: limit for name, limit in given.items() if name and limit is not None}


@dataclass(frozen=True)
class Outcome:
    """How a solver ended: the best solution, if any, and the bound that none can beat; "limit" is time or nodes."""

    status: Literal["optimal", "infeasible", "limit", "interrupted"]
    values: Floats | None
    bound: float
    nodes: int


class Solver(Protocol):
    """A solver of integer programs: whether it takes rows while it solves, and can be told how many threads to use."""

    name: str
    takes_rows: bool
    takes_threads: bool

    def solve(self, program: Program, settings: SolverSettings, lazy: Lazy | None = None) -> Outcome:
        """Solve `program`; `lazy` is called with every solution found, and the rows it returns are added."""
        ...


def imported(solver: str, package: str) -> Any:
    """The package of an optional solver, or an error that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingDependencyError(
            f"solver={solver!r} needs the package {package!r}, which is not installed: pip install whence[{solver}]"
        ) from None
