"""Compiled kernels: how they are declared, kept on disk, and announced when they are compiled for the first time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.core import event
from numba.extending import overload

__all__ = ["announced", "by_risk", "flow", "inner", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])


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


def by_risk(means: F, tails: F) -> F:
    """One name for two functions of kernels, for expected costs and for CVaR; types decide which one is compiled.

    So a search for one of them compiles nothing of the other. The first argument, or its `tables`, has a `tail` that is
    not None where the risk is a CVaR.
    """

    def chosen(*arguments: Any) -> Any:
        raise TypeError("only compiled kernels call this")

    options: Any = {"error_model": "numpy", "no_cfunc_wrapper": True}

    @overload(chosen, jit_options=options, strict=False)
    def choose(first: types.NamedTuple, *others: Any) -> F:
        of = dict(zip(first.fields, first.types, strict=True))
        if "tables" in of:
            of = dict(zip(of["tables"].fields, of["tables"].types, strict=True))
        return means if of.get("tail", types.none) is types.none else tails

    return cast(F, chosen)


class _Announcement(event.Listener):
    """Says once, on stderr, that the kernels of a search are being compiled."""

    def __init__(self, name: str, kernels: tuple[Callable[..., Any], ...]) -> None:
        self.name, self.kernels = name, kernels

    def on_start(self, event: event.Event) -> None:
        if self.kernels and event.data["dispatcher"] in self.kernels:
            self.kernels = ()
            print(f"whence: compiling the {self.name} search, once", file=sys.stderr, flush=True)

    def on_end(self, event: event.Event) -> None:
        """Nothing is said when it is done."""


@contextmanager
def announced(name: str, kernels: tuple[Callable[..., Any], ...]) -> Iterator[None]:
    """Within this, say so if one of the kernels is compiled; silent where they are all cached."""
    for function in kernels:
        _clear_unreadable(function)
    with event.install_listener("numba:compile", _Announcement(name, kernels)):
        yield


def _clear_unreadable(function: Callable[..., Any]) -> None:
    """Remove machine code on disk that an older version of whence left behind and that cannot be read any more."""
    store = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if store is None:
        return
    try:
        store._load_index()
    except Exception:
        Path(store._index_path).unlink(missing_ok=True)
