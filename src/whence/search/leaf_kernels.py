"""Compiled helpers on the leaves that a box meets: those too far away, and the cells that the others leave."""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from whence.search.compiling import inner
from whence.search.places import (
    CELLS,
    DOWN,
    GROUP,
    HIGH,
    HIGH2,
    LEAST,
    LISTED,
    LOW,
    LOW2,
    MOST,
    PATH_COLUMN,
    PATH_HIGH,
    PATH_LOW,
    SEEN,
    UP,
)

__all__ = ["drop_far_leaves", "hull"]

ZERO, ONE = np.uint64(0), np.uint64(1)


@inner
def drop_far_leaves(grid, located, bits_of, s, room):
    """Drop the leaves that are `room` or more away from the projection."""
    for w in range(s.reach.size):
        bits = s.reach[w]
        while bits != ZERO:
            bit = bits & (ZERO - bits)
            bits ^= bit
            leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]
            extra = 0.0
            for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
                j = grid.path[PATH_COLUMN, i]
                base = grid.face_start[j] + j
                if located.column[GROUP, j] >= 0:
                    continue
                if s.columns[CELLS, j] < grid.path[PATH_LOW, i]:
                    target = located.step[UP, base + grid.path[PATH_LOW, i]]
                elif s.columns[CELLS, j] > grid.path[PATH_HIGH, i]:
                    target = located.step[DOWN, base + grid.path[PATH_HIGH, i]]
                else:
                    continue
                extra += located.distance[base + target] - located.distance[base + s.columns[CELLS, j]]
            if extra >= room:
                s.reach[w] ^= bit


@inner
def hull(grid, bits_of, s):
    """The cells that the reachable leaves of every tree leave, into the second box; True where that is less."""
    for j in range(s.columns.shape[1]):
        s.columns[LOW2, j], s.columns[HIGH2, j] = s.columns[LOW, j], s.columns[HIGH, j]
    smaller = False
    for t in range(grid.root.size):
        leaves, columns = 0, 0
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = s.reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
                    j = grid.path[PATH_COLUMN, i]
                    if leaves == 0:
                        s.columns[LISTED, columns] = j
                        columns += 1
                        s.columns[SEEN, j] = 1
                        s.columns[LEAST, j], s.columns[MOST, j] = grid.path[PATH_LOW, i], grid.path[PATH_HIGH, i]
                    elif s.columns[SEEN, j] > 0:
                        s.columns[SEEN, j] += 1
                        s.columns[LEAST, j] = min(s.columns[LEAST, j], grid.path[PATH_LOW, i])
                        s.columns[MOST, j] = max(s.columns[MOST, j], grid.path[PATH_HIGH, i])
                leaves += 1
        for i in range(columns):
            j = s.columns[LISTED, i]
            # Only a column on the path of every leaf narrows the box.
            if s.columns[SEEN, j] == leaves:
                if s.columns[LEAST, j] > s.columns[LOW2, j]:
                    s.columns[LOW2, j] = s.columns[LEAST, j]
                    smaller = True
                if s.columns[MOST, j] < s.columns[HIGH2, j]:
                    s.columns[HIGH2, j] = s.columns[MOST, j]
                    smaller = True
            s.columns[SEEN, j] = 0
    return smaller
