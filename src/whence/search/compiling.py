"""Compiled kernels: how they are declared, and a word to the user when they are compiled for the first time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["announce", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_announced: set[str] = set()


def kernel(function: F) -> F:
    """Compile `function` on its first call, and keep the machine code on disk for the next process."""
    return cast(F, njit(cache=True, error_model="numpy")(function))


def announce(name: str, *kernels: Callable[..., Any]) -> None:
    """Say once, on stderr, that the kernels of a search are being compiled; silent where they are cached."""
    if name in _announced:
        return
    _announced.add(name)
    if not all(map(_cached, kernels)):
        print(f"whence: compiling the {name} search, once", file=sys.stderr, flush=True)


def _cached(function: Callable[..., Any]) -> bool:
    """Whether machine code of `function` lies on disk (a best effort: numba offers no public way to ask)."""
    try:
        return Path(function._cache._cache_file._index_path).exists()  # type: ignore[attr-defined]
    except AttributeError:
        return True
