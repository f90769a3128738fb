"""What a solver is asked and what it answers: one protocol for all of them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import FrameType
from typing import Any, Literal, Protocol

import numpy as np

from whence.errors import MissingDependencyError
from whence.milp.model import Program, Row
from whence.util.aliases import Floats

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
    #: Result nodes, best value and bound; returns False to stop.
    on_progress: Callable[[int, float, float], bool] | None = None

    def limits(self, seconds: str, nodes: str, threads: str = "") -> dict[str, Any]:
        """Return the limits that are set, under a solver's own names for them."""
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


def imported(solver: str, package: str) -> Any:
    """Return the package of an optional solver, or an error that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingDependencyError(
            f"solver={solver!r} needs the package {package!r}, which is not installed: pip install whence[{solver}]"
        ) from None


class Interrupts:
    """What Ctrl-C raises while a solver runs, kept until the solver has ended."""

    def __init__(self) -> None:
        self.stopped = False
        #: Whatever else than the wish to stop the handler of the signal raised.
        self.failure: BaseException | None = None

    def keep(self, raised: BaseException) -> None:
        """Remember what was raised where a solver's code lies between here and the caller."""
        if isinstance(raised, KeyboardInterrupt):
            self.stopped = True
        else:
            self.failure = raised

    @property
    def wanted(self) -> bool:
        """Whether the solver has to end."""
        return self.stopped or self.failure is not None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Let the handler of Ctrl-C run as before, but keep what it raises; only the main thread has signals."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return
        handler = before

        def handle(signum: int, frame: FrameType | None) -> None:
            # Python calls this on its way into a solver's callback, where no "except" of ours is around it.
            try:
                handler(signum, frame)
            except BaseException as raised:
                self.keep(raised)

        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
