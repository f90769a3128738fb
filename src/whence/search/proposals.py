"""Good explanations found without proof: past contexts that satisfy the criterion, pulled towards the start."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from whence.search.grid import KeptGrid
from whence.search.proposal_kernels import best_on_lines, climb, pull_back
from whence.search.scratch import Field, Scratch
from whence.search.tables import TailTables
from whence.weights import ForestWeights

__all__ = ["climbed", "looks", "past_cells", "pulled"]

Ints = NDArray[np.int32]

#: Past contexts that are tried, nearest first, and how many of those that satisfy the criterion are improved.
TRIED, IMPROVED = 4000, 6
#: Seconds that one proposal may take, about.
SECONDS = 0.1
#: Contexts that are looked at to see how long one takes.
SAMPLE = 8


def past_cells(kept: KeptGrid, weights: ForestWeights) -> Ints:
    """Cells of every past context."""
    inputs, start = weights.inputs_, kept.grid.face_start
    cells = np.empty(inputs.shape, dtype=np.int32)
    for c in range(inputs.shape[1]):
        cells[:, c] = np.searchsorted(kept.cut[start[c] : start[c + 1]], inputs[:, c], side="left")
    return cells


def looks(field: Field, scratch: Scratch, seconds: float) -> NDArray[np.int64]:
    """How many contexts can be looked at in about so many seconds (or in `SECONDS`)."""
    trees, tables = field.grid.root.size, field.tables
    depth = np.log2(max(2, field.bits.leaf_at.size / trees))
    values = int(tables.sizes.sum()) if isinstance(tables, TailTables) else tables.mean.shape[0]
    one = trees * (10e-9 * depth + 1e-9 * values) + 1e-7
    if np.isfinite(seconds):
        # A time limit is kept by what looks really take; without one the search does not depend on the clock.
        few, began = np.array([SAMPLE], dtype=np.int64), time.perf_counter()
        best_on_lines(field, scratch, np.inf, few, np.empty(field.located.column.shape[1], dtype=np.int32))
        spent = time.perf_counter() - began
        seconds = (seconds - spent) * one * (SAMPLE - few[0]) / max(spent, 1e-9) if few[0] < SAMPLE else seconds
    return np.array([max(1, min(SECONDS, seconds) / one)]).astype(np.int64)


def pulled(field: Field, scratch: Scratch, past: Ints, cutoff: float, left: NDArray[np.int64]) -> Ints | None:
    """Cells of a context nearer than `cutoff` that satisfies the criterion, from single changes and past contexts."""
    located = field.located
    start, low, high, group = located.column
    base = field.grid.face_start[:-1] + np.arange(start.size)
    inside = np.clip(past, low, high)
    allowed = np.isfinite(located.distance[base + inside])
    # A value that may not be taken stays as it is today; so does a category as a whole.
    for g in np.unique(group[group >= 0]):
        members = group == g
        allowed[:, members] &= (allowed[:, members] & (inside[:, members] == past[:, members])).all(axis=1)[:, None]
    cells = np.where(allowed, inside, start).astype(np.int32)
    distance = located.distance[base + cells].sum(axis=1)
    order = np.argsort(distance, kind="stable")[:TRIED]
    best = np.empty(start.size, dtype=np.int32)
    found = best_on_lines(field, scratch, cutoff, left, best)
    found = pull_back(field, scratch, np.ascontiguousarray(cells[order]), IMPROVED, found, left, best)
    return best if found < cutoff else None


def climbed(field: Field, scratch: Scratch, cutoff: float, left: NDArray[np.int64]) -> Ints | None:
    """Cells of a context reached from the start by the steps that gain most, then pulled back, or None."""
    top = np.empty(field.located.column.shape[1], dtype=np.int32)
    half = left // 2
    left -= half
    if not climb(field, scratch, 2.0 * cutoff, left, top):
        return None
    best = np.empty_like(top)
    left += half
    found = pull_back(field, scratch, top[None, :], 1, cutoff, left, best)
    return best if found < cutoff else None
