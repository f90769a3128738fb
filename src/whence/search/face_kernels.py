"""Compiled choice of the face at which a box is split.

Near the initial context a box is split next to its nearest point, so that what is near is settled first. Where no
explanation is known, as when there is none, nearly everything must be ruled out, and a box is split where both halves
gain most: in Los Angeles that settles in hundreds of boxes what was open after 79,000 and more.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from whence.search.compiling import inner
from whence.search.criterion_kernels import worth
from whence.search.places import (
    ARG,
    BEST,
    CELLS,
    DOWN,
    HERE,
    HIGH,
    LOW,
    PATH_COLUMN,
    PATH_HIGH,
    PATH_LOW,
    SEEN,
    SLACK,
    UP,
    WORST,
)

__all__ = ["face_around", "pulling_face", "sharpest_face"]

ZERO, ONE = np.uint64(0), np.uint64(1)
#: What the half that gains more counts for, beside the one that gains less.
LARGER_HALF = 0.1
#: Leaves of a tree above which only the first step of each of its gains is followed.
MANY = 64


@inner
def pulling_face(grid, located, s):
    """The face that separates the projection from the leaves that pull hardest, or -1: (column, cut)."""
    n_touched = 0
    for t in range(s.per_tree.shape[1]):
        gain, leaf = s.gains[t], s.per_tree[ARG, t]
        if gain <= 0.0:
            continue
        for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
            j = grid.path[PATH_COLUMN, i]
            base = grid.face_start[j] + j
            if s.columns[CELLS, j] < grid.path[PATH_LOW, i]:
                cut, target = grid.path[PATH_LOW, i] - 1, located.step[UP, base + grid.path[PATH_LOW, i]]
            elif s.columns[CELLS, j] > grid.path[PATH_HIGH, i]:
                cut, target = grid.path[PATH_HIGH, i], located.step[DOWN, base + grid.path[PATH_HIGH, i]]
            else:
                continue
            extra = max(0.0, located.distance[base + target] - located.distance[base + s.columns[CELLS, j]])
            f = grid.face_start[j] + cut
            if s.score[f] == 0.0:
                s.touched[n_touched, 0], s.touched[n_touched, 1] = j, cut
                n_touched += 1
            s.score[f] += gain * (extra + 1e-4)
    column, cut, best = -1, -1, 0.0
    for i in range(n_touched):
        f = grid.face_start[s.touched[i, 0]] + s.touched[i, 1]
        if s.score[f] > best:
            column, cut, best = s.touched[i, 0], s.touched[i, 1], s.score[f]
        s.score[f] = 0.0
    return column, cut


@inner
def face_around(grid, s):
    """A face inside the box that bounds the region with the same leaves as the projection, or -1."""
    for t in range(s.per_tree.shape[1]):
        leaf = s.per_tree[HERE, t]
        for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
            j = grid.path[PATH_COLUMN, i]
            if grid.path[PATH_LOW, i] > s.columns[LOW, j]:
                return j, grid.path[PATH_LOW, i] - 1
            if grid.path[PATH_HIGH, i] < s.columns[HIGH, j]:
                return j, grid.path[PATH_HIGH, i]
    return -1, -1


@inner
def _listed(tables, bits_of, s, price, t):
    """The reachable leaves of tree `t` into ``s.stack``, their values into `price`; how many they are."""
    worst = s.box[WORST]
    count = 0
    for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
        bits = s.reach[w]
        while bits != ZERO:
            leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
            bits &= bits - ONE
            price[leaf] = worth(tables, worst, leaf, s.box[BEST], s.threshold[worst])
            s.stack[count] = leaf
            count += 1
    return count


@inner
def _next_step(grid, s, price, count, j, edge, side):
    """The smallest value among the listed leaves that reach beyond `edge` in column `j`, and how far it reaches.

    Towards the first cell (side -1) or towards the last one (1).
    """
    value, to = np.inf, edge
    for k in range(count):
        leaf = s.stack[k]
        if price[leaf] > value:
            continue
        end = s.columns[LOW, j] if side < 0 else s.columns[HIGH, j]
        for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
            if grid.path[PATH_COLUMN, i] == j:
                end = max(end, grid.path[PATH_LOW, i]) if side < 0 else min(end, grid.path[PATH_HIGH, i])
                break
        if side * (end - edge) > 0 and (price[leaf] < value or side * (end - to) > 0):
            value, to = price[leaf], end
    return value, to


@inner
def _lift(field, s, price, lift, t):
    """Add up by how much tree `t` lifts the bound of either half, for every face: differences, into `lift`.

    Only a half that keeps the tree from its best leaf gains: that with the cells before the leaf's first one, or
    after its last one. The farther the cut lies from the leaf, the dearer are the leaves that the half is left with.
    """
    grid, need = field.grid, s.far[SLACK]
    chosen = s.per_tree[ARG, t]
    count = _listed(field.tables, field.bits, s, price, t)
    for i in range(grid.path_start[chosen], grid.path_start[chosen + 1]):
        j = grid.path[PATH_COLUMN, i]
        base = grid.face_start[j] + j
        s.columns[SEEN, j] = 1
        for half in range(2):
            side = 2 * half - 1
            end = s.columns[HIGH, j] if half else s.columns[LOW, j]
            edge = min(end, grid.path[PATH_HIGH, i]) if half else max(end, grid.path[PATH_LOW, i])
            while edge != end:
                value, to = _next_step(grid, s, price, count, j, edge, side)
                gain = value - price[chosen]
                if gain >= need or count > MANY:
                    gain, to = min(gain, need), end
                lift[half, base + min(edge, to)] += gain
                lift[half, base + max(edge, to)] -= gain
                edge = to


@inner
def sharpest_face(field, s, price, lift):
    """The face that lifts the bounds of both halves most, or -1: (column, cut)."""
    need = s.far[SLACK]
    for t in range(s.per_tree.shape[1]):
        _lift(field, s, price, lift, t)
    column, cut, best = -1, -1, 0.0
    for j in range(s.columns.shape[1]):
        if s.columns[SEEN, j] == 0:
            continue
        s.columns[SEEN, j] = 0
        base = field.grid.face_start[j] + j
        before, after = 0.0, 0.0
        for c in range(s.columns[LOW, j], s.columns[HIGH, j] + 1):
            before += lift[0, base + c]
            after += lift[1, base + c]
            lift[0, base + c], lift[1, base + c] = 0.0, 0.0
            less, more = min(before, after, need), min(max(before, after), need)
            # Differences add up to zero but for rounding: a score must exceed what that can amount to.
            score = less + LARGER_HALF * more
            if c < s.columns[HIGH, j] and score > best + 1e-9 * need:
                column, cut, best = j, c, score
    return column, cut
