"""The shares of the Lagrangian bound: who pays how much of which step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.grid import ForestGrid, Located
from whence.search.places import GROUP, NODE_COLUMN, START

__all__ = ["NO_SHARES", "Shares", "equal_shares"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

#: Buckets of steps a column and direction, where the number of columns leaves room for them.
BUCKETS = 12


class Shares(NamedTuple):
    """How the price of every step is shared out among the trees.

    Attributes
    ----------
    bucket : ndarray of shape (cells,)
        Bucket of each cell.
    edge : ndarray of shape (buckets,)
        Distance at which a bucket begins.
    begin : ndarray of shape (buckets,)
        First bucket of the same column and direction.
    part : ndarray of shape (buckets, trees)
        Share of each tree; at most 1 in all.
    before : ndarray of shape (buckets, trees)
        What each tree has paid where a bucket begins.
    home : ndarray of shape (d,)
        For a category's columns, the column of the initial category.
    multiplier : ndarray of shape (1,)
        Distance a unit of the criterion.
    """

    bucket: Ints
    edge: Floats
    begin: Ints
    part: Floats
    before: Floats
    home: Ints
    multiplier: Floats


_none = np.zeros(0, dtype=np.int32)
NO_SHARES = Shares(_none, np.zeros(0), _none, np.zeros((0, 0)), np.zeros((0, 0)), _none, np.zeros(1))


def equal_shares(grid: ForestGrid, located: Located, reach: float) -> Shares:
    """Equal shares among the trees that ask for a column, over steps up to the distance `reach`."""
    start, group = located.column[START], located.column[GROUP]
    d, trees = start.size, grid.root.size
    column = grid.node[NODE_COLUMN]
    bucket = np.zeros(located.distance.size, dtype=np.int32)
    edges: list[float] = []
    begins: list[int] = []
    columns: list[int] = []
    many = max(2, min(BUCKETS, 4000 // d))
    for j in range(d):
        first = grid.face_start[j] + j
        cells = np.arange(first, grid.face_start[j + 1] + j + 1)
        distance = located.distance[cells]
        below = np.arange(cells.size) < start[j]
        for side in (below, ~below):
            inside = side & np.isfinite(distance)
            steps = np.unique(distance[inside & (distance <= reach)])
            steps = steps[steps > 0]
            if steps.size > many:
                steps = np.quantile(steps, np.linspace(0, 1, many + 1)[:-1])
            # A bucket begins where the one before it ends; the first at the start itself.
            begin = len(edges)
            marks = np.concatenate([[0.0], steps[:-1]]) if steps.size else np.zeros(1)
            edges += marks.tolist()
            begins += [begin] * marks.size
            columns += [j] * marks.size
            within = np.searchsorted(marks, distance[inside], side="left") - 1
            bucket[cells[inside]] = begin + np.clip(within, 0, marks.size - 1)
    asks = np.zeros((d, trees))
    owner = np.repeat(np.arange(trees), np.diff(np.append(grid.root, column.size)))
    inner = column >= 0
    asks[column[inner], owner[inner]] = 1.0
    home = np.full(d, -1, dtype=np.int32)
    for g in np.unique(group[group >= 0]):
        members = np.flatnonzero(group == g)
        home[members] = members[np.argmax(start[members])]
        asks[members] = asks[members].max(axis=0)
    asks = (asks + 1e-9) / (asks + 1e-9).sum(axis=1, keepdims=True)
    part = np.ascontiguousarray(asks[columns])
    edge, begin_of = np.array(edges), np.array(begins, dtype=np.int32)
    before = np.zeros_like(part)
    for b in range(1, edge.size):
        if begin_of[b] == begin_of[b - 1]:
            before[b] = before[b - 1] + part[b - 1] * (edge[b] - edge[b - 1])
    return Shares(bucket, edge, begin_of, part, before, home, np.ones(1))
