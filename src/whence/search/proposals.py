"""Good explanations found without proof: past contexts that satisfy the criterion, pulled towards the start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.search.grid import ForestGrid, Located
from whence.search.proposal_kernels import best_on_lines, climb, pull
from whence.search.tables import Tables
from whence.weights import ForestWeights

__all__ = ["climbed", "propose", "sample_cells"]

Ints = NDArray[np.int32]

#: Past contexts that are tried, nearest first, and how many of those that satisfy the criterion are improved.
TRIED, IMPROVED = 4000, 6


def sample_cells(grid: ForestGrid, weights: ForestWeights) -> Ints:
    """Cells of every past context."""
    inputs = weights.inputs_
    cells = np.empty(inputs.shape, dtype=np.int32)
    for c in range(inputs.shape[1]):
        cuts = grid.cut[grid.face_start[c] : grid.face_start[c + 1]]
        cells[:, c] = np.searchsorted(cuts, inputs[:, c], side="left")
    return cells


def propose(grid: ForestGrid, located: Located, tables: Tables, tau: float, past: Ints, cutoff: float) -> Ints | None:
    """Cells of a context nearer than `cutoff` that satisfies the criterion, or None."""
    base = grid.face_start[:-1] + np.arange(located.start.size)
    inside = np.clip(past, located.low, located.high)
    allowed = np.isfinite(located.distance[base + inside])
    # A value that may not be taken stays as it is today; so does a category as a whole.
    for g in np.unique(located.group[located.group >= 0]):
        members = located.group == g
        allowed[:, members] &= (allowed[:, members] & (inside[:, members] == past[:, members])).all(axis=1)[:, None]
    cells = np.where(allowed, inside, located.start).astype(np.int32)
    distance = located.distance[base + cells].sum(axis=1)
    order = np.argsort(distance, kind="stable")[:TRIED]
    order = order[distance[order] < np.inf]
    starts = np.ascontiguousarray(cells[order])
    best = np.empty(located.start.size, dtype=np.int32)
    found = best_on_lines(grid, located, tables, tau, cutoff, best)
    found = pull(grid, located, tables, tau, starts, IMPROVED, found, best)
    return best if found < cutoff else None


def climbed(grid: ForestGrid, located: Located, tables: Tables, tau: float, cutoff: float) -> Ints | None:
    """Cells of a context reached from the start by the steps that gain most, then pulled back, or None."""
    top = np.empty(located.start.size, dtype=np.int32)
    if not climb(grid, located, tables, tau, 2.0 * cutoff, top):
        return None
    best = np.empty_like(top)
    found = pull(grid, located, tables, tau, top[None, :], 1, cutoff, best)
    return best if found < cutoff else None
