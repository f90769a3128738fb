"""Compiled Lagrangian bound on the distance of a box, for searches where the plain bound stalls.

Every step away from the start costs distance once, however many trees it moves to another leaf. Sharing that
price out among the trees makes them independent: with a multiplier on the criterion, each tree picks the leaf that
is cheapest in multiplied value plus its own share of the way, and the sum bounds the distance from below whatever
the shares. Good shares give the trees that cross a step most of its price; they are learned on the way and kept.

Steps are gathered in a few buckets a column and direction.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from whence.search.compiling import by_risk, flow, inner
from whence.search.criterion_kernels import worth
from whence.search.places import (
    ALTERNATIVE,
    ARG,
    CELLS,
    DOWN,
    GROUP,
    JOINT,
    PART,
    PATH_COLUMN,
    PATH_HIGH,
    PATH_LOW,
    ROW,
    START,
    SUMS,
    UP,
)
from whence.search.table_kernels import row_of, value_of

__all__ = ["strong_bound"]

ZERO, ONE = np.uint64(0), np.uint64(1)


@inner
def _paid(located, shares, t, cell):
    """Tree t's share of the way from the start to a cell."""
    b = shares.bucket[cell]
    return shares.before[b, t] + shares.part[b, t] * (located.distance[cell] - shares.edge[b])


@inner
def _left_before(grid, located, cells, begin, end, g):
    """Whether an entry of a path from `begin` to before `end` asks for another category of group `g`."""
    for i in range(begin, end):
        j = grid.path[PATH_COLUMN, i]
        if located.column[GROUP, j] == g and not grid.path[PATH_LOW, i] <= cells[j] <= grid.path[PATH_HIGH, i]:
            return True
    return False


@inner
def _way(grid, located, shares, t, leaf, cells):
    """Tree t's share of the way from the projection to a leaf."""
    total = 0.0
    begin = grid.path_start[leaf]
    for i in range(begin, grid.path_start[leaf + 1]):
        j = grid.path[PATH_COLUMN, i]
        base = grid.face_start[j] + j
        if cells[j] < grid.path[PATH_LOW, i]:
            target = located.step[UP, base + grid.path[PATH_LOW, i]]
        elif cells[j] > grid.path[PATH_HIGH, i]:
            target = located.step[DOWN, base + grid.path[PATH_HIGH, i]]
        else:
            continue
        g = located.column[GROUP, j]
        if g < 0:
            total += _paid(located, shares, t, base + target) - _paid(located, shares, t, base + cells[j])
        elif cells[shares.home[j]] > 0 and not _left_before(grid, located, cells, begin, i, g):
            # Whichever category is asked for, the price is that of leaving the initial one, paid once.
            home = shares.home[j]
            total += _paid(located, shares, t, grid.face_start[home] + home)
    return total


@inner
def _learn(grid, located, shares, arg, cells, rate):
    """Give more of the price of a step to the trees that take it."""
    trees = arg.size
    buckets = shares.edge.size
    touched = np.zeros(buckets, np.bool_)
    for t in range(trees):
        leaf = arg[t]
        for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
            j = grid.path[PATH_COLUMN, i]
            base = grid.face_start[j] + j
            if cells[j] < grid.path[PATH_LOW, i]:
                target = located.step[UP, base + grid.path[PATH_LOW, i]]
            elif cells[j] > grid.path[PATH_HIGH, i]:
                target = located.step[DOWN, base + grid.path[PATH_HIGH, i]]
            else:
                continue
            first, last = shares.bucket[base + cells[j]], shares.bucket[base + target]
            if located.column[GROUP, j] >= 0:
                home = shares.home[j]
                if cells[home] == 0:
                    continue
                last = shares.bucket[grid.face_start[home] + home]
                first = last
            elif cells[j] == located.column[START, j]:
                first = shares.begin[last]
            for b in range(first, last + 1):
                shares.part[b, t] *= 1.0 + rate
                touched[b] = True
    for b in range(buckets):
        if touched[b]:
            total = 0.0
            for t in range(trees):
                total += shares.part[b, t]
            for t in range(trees):
                shares.part[b, t] /= total
    # What was paid before a bucket begins follows from the buckets nearer to the start.
    b = 0
    while b < buckets:
        end = b + 1
        changed = touched[b]
        while end < buckets and shares.begin[end] == shares.begin[b]:
            changed |= touched[end]
            end += 1
        if changed:
            for i in range(b + 1, end):
                width = shares.edge[i] - shares.edge[i - 1]
                for t in range(trees):
                    shares.before[i, t] = shares.before[i - 1, t] + shares.part[i - 1, t] * width
        b = end


def _no_tail(field, shares, s, r, first, last):
    """Expected cost: there is no eta to choose, and the sum is taken by `_once`."""
    return first


def _best_tail(field, shares, s, r, first, last):
    """CVaR: for every eta the sum over trees of the cheapest multiplied value plus way, into SUMS; the best eta."""
    tables, bits_of = field.tables, field.bits
    lam, level = shares.multiplier[0], s.threshold[r]
    for k in range(first, last + 1):
        s.etas[SUMS, k] = 0.0
    for t in range(s.per_tree.shape[1]):
        fresh = True
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = s.reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                row = row_of(tables, ALTERNATIVE, leaf, first, last, s.etas[ROW])
                b = _way(field.grid, field.located, shares, t, leaf, s.columns[CELLS])
                b -= lam * value_of(tables, r + 1, leaf, level)
                for k in range(first, last + 1):
                    x = lam * row[k] + b
                    s.etas[PART, k] = x if fresh or x < s.etas[PART, k] else s.etas[PART, k]
                fresh = False
        for k in range(first, last + 1):
            s.etas[SUMS, k] += s.etas[PART, k]
    best = first
    for k in range(first, last + 1):
        if s.etas[SUMS, k] < s.etas[SUMS, best]:
            best = k
    return best


_best_eta = by_risk(_no_tail, _best_tail)


@flow
def _once(field, shares, s, price, r, first, last):
    """Sum over trees of the cheapest multiplied value plus way, in SUMS; the value of the leaves chosen.

    The leaves go to ARG (for CVaR those at the eta with the smallest sum), the price of each to `price`.
    """
    tables, bits_of = field.tables, field.bits
    lam, best, level = shares.multiplier[0], _best_eta(field, shares, s, r, first, last), s.threshold[r]
    total, slope = 0.0, 0.0
    for t in range(s.per_tree.shape[1]):
        least, chosen = np.inf, 0.0
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = s.reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                value = worth(tables, r, leaf, best, level)
                price[leaf] = lam * value + _way(field.grid, field.located, shares, t, leaf, s.columns[CELLS])
                if price[leaf] < least:
                    least, chosen, s.per_tree[ARG, t] = price[leaf], value, leaf
        total += least
        slope += chosen
    s.etas[SUMS, best] = total
    return slope


@flow
def _drop_unaffordable(bits_of, s, price, room):
    """Drop the leaves that would lift the bound by `room` or more."""
    for t in range(s.per_tree.shape[1]):
        most = price[s.per_tree[ARG, t]] + room
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = s.reach[w]
            while bits != ZERO:
                bit = bits & (ZERO - bits)
                bits ^= bit
                if price[bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]] >= most:
                    s.reach[w] ^= bit


@inner
def strong_bound(field, shares, s, price, first, last, r, nearest, cutoff, rounds, rate):
    """Lower bound on the distance of the criterion over a box whose projection is `nearest` away.

    For CVaR, ``s.etas[JOINT]`` receives for every eta the best bound under that eta. Shares and multiplier learn on the
    way; leaves that no explanation nearer than `cutoff` can use are dropped.
    """
    tau, lam = field.tau, shares.multiplier
    for k in range(first, last + 1):
        s.etas[JOINT, k] = -np.inf
    for i in range(rounds):
        slope = _once(field, shares, s, price, r, first, last)
        for k in range(first, last + 1):
            s.etas[JOINT, k] = max(s.etas[JOINT, k], nearest + s.etas[SUMS, k] - lam[0] * tau)
        now = nearest + s.etas[SUMS, first] - lam[0] * tau
        # With several etas left the prices are those of one of them, and say nothing about the others.
        if first == last and now < cutoff < np.inf:
            _drop_unaffordable(field.bits, s, price, cutoff - now + 1e-9 * max(1.0, cutoff))
        if i == rounds - 1:
            break
        step = rate / (1.0 + 0.05 * i)
        _learn(field.grid, field.located, shares, s.per_tree[ARG], s.columns[CELLS], step)
        lam[0] *= 1.0 + step if slope > tau else 1.0 / (1.0 + step)
    least = np.inf
    for k in range(first, last + 1):
        least = min(least, s.etas[JOINT, k])
    return least
