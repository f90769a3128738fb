"""Compiled bounds over the reachable leaves of a box, and the leaves that a bound rules out.

Expected cost: with a(leaf) the mean cost difference over a leaf's samples, divided by the number of trees, the
criterion at a context is the sum over trees of a(its leaf) <= tau, and the sum of the trees' smallest reachable
values bounds it from below over a box.

CVaR: the alternative's is the smallest, over thresholds eta among its sample costs, of a sum over trees of
A(leaf, eta); any single threshold gives an upper bound on the rival's. For a pair of thresholds the criterion is
again a sum over trees. A box carries the range of eta that is still possible; it is empty when none is left.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from whence.search.compiling import flow, inner
from whence.search.places import (
    ARG,
    CELLS,
    DOWN,
    GROUP,
    HERE,
    HIGH,
    HIGH2,
    JOINT,
    LEAST,
    LISTED,
    LOW,
    LOW2,
    MOST,
    PART,
    PATH_COLUMN,
    PATH_HIGH,
    PATH_LOW,
    ROW,
    SEEN,
    SUMS,
    UP,
    WORST_SUMS,
)
from whence.search.table_kernels import row_of, value_of

__all__ = [
    "drop_dear_leaves",
    "drop_dear_tails",
    "drop_far_leaves",
    "hull",
    "least_sum",
    "pull",
    "quantiles",
    "tail_range",
]

ZERO, ONE = np.uint64(0), np.uint64(1)


@inner
def least_sum(bits_of, reach, values, arg):
    """Sum over trees of the smallest value among reachable leaves; the leaves that attain it go to `arg`."""
    total = 0.0
    for t in range(arg.size):
        best = np.inf
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                if values[leaf] < best:
                    best = values[leaf]
                    arg[t] = leaf
        total += best
    return total


@inner
def drop_dear_leaves(bits_of, reach, values, arg, slack):
    """Drop from `reach` the leaves that would use up more than the slack if all other trees took their best."""
    for t in range(arg.size):
        most = values[arg[t]] + slack
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                bit = bits & (ZERO - bits)
                bits ^= bit
                if values[bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]] > most:
                    reach[w] ^= bit


@inner
def pull(field, s, eta, r):
    """For one eta, every tree's leaf with the smallest A - B, and how much smaller it is than at the projection."""
    tables, bits_of = field.tables, field.bits
    level = s.threshold[r]
    for t in range(s.per_tree.shape[1]):
        best = np.inf
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = s.reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                value = value_of(tables, 0, leaf, eta) - value_of(tables, r + 1, leaf, level)
                if value < best:
                    best = value
                    s.per_tree[ARG, t] = leaf
        here = s.per_tree[HERE, t]
        s.gains[t] = value_of(tables, 0, here, eta) - value_of(tables, r + 1, here, level) - best


@inner
def _least_rows(field, s, t, r, first, last):
    """For every eta, tree t's smallest A(leaf, eta) - B(leaf) in reach, into ``s.etas[PART]``; the number of leaves."""
    tables, bits_of, part = field.tables, field.bits, s.etas[PART]
    level = s.threshold[r]
    count = 0
    for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
        bits = s.reach[w]
        while bits != ZERO:
            leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
            bits &= bits - ONE
            row = row_of(tables, 0, leaf, first, last, s.etas[ROW])
            b = value_of(tables, r + 1, leaf, level)
            count += 1
            if count == 1:
                for k in range(first, last + 1):
                    part[k] = row[k] - b
            else:
                for k in range(first, last + 1):
                    x = row[k] - b
                    part[k] = x if x < part[k] else part[k]
    return count


@inner
def _steepest(field, s, k, sign):
    """The largest slope (sign 1), or minus the smallest (-1), that the alternative's sum can have above eta `k`."""
    tables, bits_of = field.tables, field.bits
    total = 0.0
    for t in range(s.per_tree.shape[1]):
        most = -np.inf
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = s.reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                slope = sign * (value_of(tables, 0, leaf, k + 1) - value_of(tables, 0, leaf, k))
                most = slope if slope > most else most
        total += most
    return total


@inner
def quantiles(field, s, first, last):
    """The etas among first..last at which the alternative's CVaR can be attained somewhere in the box: an interval.

    At any context its sum over trees is convex in eta: where even the largest slope falls the minimum lies
    beyond, where even the smallest rises it lies before; and every leaf's slopes grow with eta.
    """
    low, high = first, last
    while low < high:
        k = (low + high) // 2
        if _steepest(field, s, k, 1.0) < 0.0:
            low = k + 1
        else:
            high = k
    first, high = low, last
    while low < high:
        k = (low + high + 1) // 2
        if _steepest(field, s, k - 1, -1.0) < 0.0:
            high = k - 1
        else:
            low = k
    return first, low


@flow
def _against(field, s, first, last, r):
    """Raise ``s.etas[JOINT]`` to the bound against rival `r`; the range of eta left, empty where there is none."""
    for k in range(first, last + 1):
        s.etas[SUMS, k] = 0.0
    for t in range(field.grid.root.size):
        if _least_rows(field, s, t, r, first, last) == 0:
            return 1, 0
        for k in range(first, last + 1):
            s.etas[SUMS, k] += s.etas[PART, k]
    for k in range(first, last + 1):
        s.etas[JOINT, k] = max(s.etas[JOINT, k], s.etas[SUMS, k])
    while first <= last and s.etas[JOINT, first] > field.tau:
        first += 1
    while first <= last and s.etas[JOINT, last] > field.tau:
        last -= 1
    return first, last


@inner
def tail_range(field, s, first, last, worst):
    """The range of eta that no rival rules out, and the eta with the smallest bound: (first, last, best).

    The bound under each eta, the largest over the rivals, goes to ``s.etas[JOINT]``, the worst rival's to WORST_SUMS.
    """
    for k in range(first, last + 1):
        s.etas[JOINT, k] = -np.inf
    for i in range(field.tables.sizes.size - 1):
        r = worst if i == 0 else (i - 1 if i <= worst else i)
        first, last = _against(field, s, first, last, r)
        if first > last:
            return first, last, -1
        if i == 0:
            for k in range(first, last + 1):
                s.etas[WORST_SUMS, k] = s.etas[SUMS, k]
    best = first
    for k in range(first, last + 1):
        if s.etas[JOINT, k] < s.etas[JOINT, best]:
            best = k
    return first, last, best


@inner
def drop_dear_tails(field, s, first, last, best, r):
    """Drop the leaves that leave no eta possible against rival `r` if all other trees take their best."""
    tables, bits_of, reach = field.tables, field.bits, s.reach
    for t in range(field.grid.root.size):
        if _least_rows(field, s, t, r, first, last) < 2:
            continue
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                bit = bits & (ZERO - bits)
                bits ^= bit
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]
                row = row_of(tables, 0, leaf, first, last, s.etas[ROW])
                b = value_of(tables, r + 1, leaf, s.threshold[r])
                possible = s.etas[WORST_SUMS, best] - s.etas[PART, best] + row[best] - b <= field.tau
                k = first
                while not possible and k <= last:
                    possible = s.etas[WORST_SUMS, k] - s.etas[PART, k] + row[k] - b <= field.tau
                    k += 1
                if not possible:
                    reach[w] ^= bit


@inner
def drop_far_leaves(field, s, room):
    """Drop the leaves that are `room` or more away from the projection."""
    grid, located = field.grid, field.located
    for w in range(s.reach.size):
        bits = s.reach[w]
        while bits != ZERO:
            bit = bits & (ZERO - bits)
            bits ^= bit
            leaf = field.bits.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]
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
def hull(field, s):
    """The cells that the reachable leaves of every tree leave, into the second box; True where that is less."""
    grid, bits_of = field.grid, field.bits
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
