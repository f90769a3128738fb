"""How long something takes, on a machine that may be busy with other things."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Whatever computes inside takes no longer: by the clock, or by the processor where others are at work too."""
    began, worked = time.perf_counter(), time.process_time()
    yield
    taken = min(time.perf_counter() - began, time.process_time() - worked)
    assert taken <= seconds, f"{taken:.2f} s, where {seconds} s were allowed"
