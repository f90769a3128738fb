"""By when a decision problem must be solved: what a time limit means for solvers that know nothing of the search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from whence.errors import SolverError

__all__ = ["OutOfTime", "check_time", "seconds_left", "until"]

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
