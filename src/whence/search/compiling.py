"""Compiled kernels: how they are declared, kept on disk, and announced when they are compiled for the first time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["announce", "flow", "inner", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_announced: set[str] = set()


def _stamp() -> tuple[tuple[str, float, int], ...]:
    """Name, time and size of every source file of this folder."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return tuple((f.name, f.stat().st_mtime, f.stat().st_size) for f in files)


try:
    STAMP: Any = _stamp()
except OSError:  # sources that are not plain files, as in a zip archive
    STAMP = None


def kernel(function: F) -> F:
    """Compile `function` on its first call, and keep the machine code on disk for the next process.

    Kernels call kernels of other files, whose code becomes part of their own; so what is kept on disk is only as
    good as all of these files together, while numba by itself looks at the one that holds `function`.
    """
    compiled = njit(cache=True, error_model="numpy")(function)
    store = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if STAMP is not None and hasattr(store, "_source_stamp"):
        store._source_stamp = STAMP  # type: ignore[union-attr]
    return cast(F, compiled)


def inner(function: F) -> F:
    """Compile a function that only kernels call: it becomes part of them, and needs no way in from Python."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, njit(error_model="numpy", **options)(function))


def flow(function: F) -> F:
    """Compile a function that one kernel calls once, as if it stood there.

    Every level of calls is optimised again with all that lies below it; a kernel cut into steps for the reader
    would take several times as long to compile.
    """
    return cast(F, njit(error_model="numpy", inline="always")(function))


def announce(name: str, *kernels: Callable[..., Any]) -> None:
    """Say once, on stderr, that the kernels of a search are being compiled; silent where they are cached."""
    if name in _announced:
        return
    _announced.add(name)
    cached = [_cached(function) for function in kernels]  # asked of all: each clears away what it cannot read
    if not all(cached):
        print(f"whence: compiling the {name} search, once", file=sys.stderr, flush=True)


def _cached(function: Callable[..., Any]) -> bool:
    """Whether machine code of `function` lies on disk (a best effort: numba offers no public way to ask).

    What an older version of whence left behind, and cannot be read any more, is removed.
    """
    try:
        store = function._cache._cache_file  # type: ignore[attr-defined]
        path = Path(store._index_path)
    except AttributeError:
        return True
    try:
        return bool(store._load_index())
    except Exception:
        path.unlink(missing_ok=True)
        return False
