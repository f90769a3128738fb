"""What a solver is asked and what it answers: one protocol for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from whence.aliases import Floats
from whence.milp.model import Columns, Linear, Program

__all__ = ["Abilities", "Lazy", "Outcome", "Row", "Solver", "SolverSettings"]


@dataclass(frozen=True)
class Abilities:
    """What a solver can do beyond solving a program.

    Attributes
    ----------
    lazy : bool
        Takes rows while it solves, each time it finds a solution.
    warm_start : bool
        Takes (some of) the values of a known solution.
    time_limit : bool
        Stops in time, with the bound it has proved.
    threads : bool
        Can be told how many threads to use.
    """

    lazy: bool
    warm_start: bool
    time_limit: bool
    threads: bool


@dataclass(frozen=True)
class Row:
    """``lower <= expression <= upper``."""

    expression: Linear
    lower: float
    upper: float


#: Given the values of a solution, the rows it breaks; none where it may stand.
Lazy = Callable[[Floats], Sequence[Row]]


@dataclass(frozen=True)
class SolverSettings:
    """How to solve.

    Attributes
    ----------
    time_limit : float
        Seconds, infinite for no limit.
    node_limit : int or None
        Branch-and-bound nodes.
    mip_gap : float
        Relative gap at which a solution counts as optimal.
    threads : int or None
        Threads; None leaves it to the solver.
    log : bool
        Whether the solver prints its log.
    on_progress : callable, optional
        Told nodes, best value and bound; returns False to stop.
    """

    time_limit: float = np.inf
    node_limit: int | None = None
    mip_gap: float = 0.0
    threads: int | None = None
    log: bool = False
    on_progress: Callable[[int, float, float], bool] | None = None


@dataclass(frozen=True)
class Outcome:
    """How a solver ended.

    Attributes
    ----------
    status : {"optimal", "infeasible", "limit", "interrupted"}
        "limit" stands for time and nodes.
    values : ndarray or None
        The best solution found.
    bound : float
        No solution is better than this.
    nodes : int
        Branch-and-bound nodes.
    """

    status: Literal["optimal", "infeasible", "limit", "interrupted"]
    values: Floats | None
    bound: float
    nodes: int


class Solver(Protocol):
    """A solver of integer programs."""

    name: str
    abilities: Abilities

    def solve(
        self,
        program: Program,
        settings: SolverSettings,
        start: tuple[Columns, Floats] | None = None,
        lazy: Lazy | None = None,
    ) -> Outcome:
        """Solve `program`.

        Parameters
        ----------
        program : Program
            What to solve.
        settings : SolverSettings
            Limits, gap, threads.
        start : pair of ndarray, optional
            Columns and their values in a known solution.
        lazy : callable, optional
            Called with every solution found; the rows it returns are added. Only for solvers with that ability.
        """
        ...
