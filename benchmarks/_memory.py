"""Peak memory of a stretch of code, where the system tells."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class Peak:
    """Bytes beyond what was in use at the start; NaN where the system does not tell."""

    bytes: float = float("nan")


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure the peak of resident memory inside the ``with`` block, beyond that at its start (Linux only)."""
    peak = Peak()
    # What was freed but not given back would be used again without showing.
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    try:
        CLEAR.write_text("5", "utf-8")
        before = _field("VmRSS")
    except OSError:
        yield peak
        return
    yield peak
    peak.bytes = _field("VmHWM") - before


def _field(name: str) -> float:
    lines = STATUS.read_text("utf-8").splitlines()
    return 1024.0 * int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))
