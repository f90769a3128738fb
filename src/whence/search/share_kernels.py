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

from whence.search.compiling import kernel

__all__ = ["strong_bound"]

ZERO, ONE = np.uint64(0), np.uint64(1)


@kernel
def _paid(located, shares, t, cell):  # type: ignore[no-untyped-def]
    """Tree t's share of the way from the start to a cell."""
    b = shares.bucket[cell]
    return shares.before[b, t] + shares.part[b, t] * (located.distance[cell] - shares.edge[b])


@kernel
def _way(grid, located, shares, t, leaf, cells):  # type: ignore[no-untyped-def]
    """Tree t's share of the way from the projection to a leaf."""
    total = 0.0
    left = -1
    for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
        j = grid.path_column[i]
        base = grid.face_start[j] + j
        if cells[j] < grid.path_low[i]:
            target = located.up[base + grid.path_low[i]]
        elif cells[j] > grid.path_high[i]:
            target = located.down[base + grid.path_high[i]]
        else:
            continue
        g = located.group[j]
        if g < 0:
            total += _paid(located, shares, t, base + target) - _paid(located, shares, t, base + cells[j])
        elif left != g:
            # Whichever category is asked for, the price is that of leaving the initial one, paid once.
            home = shares.home[j]
            if cells[home] > 0:
                left = g
                total += _paid(located, shares, t, grid.face_start[home] + home)
    return total


@kernel
def _learn(grid, located, shares, arg, cells, rate):  # type: ignore[no-untyped-def]
    """Give more of the price of a step to the trees that take it."""
    trees = arg.size
    buckets = shares.edge.size
    touched = np.zeros(buckets, np.bool_)
    for t in range(trees):
        leaf = arg[t]
        for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
            j = grid.path_column[i]
            base = grid.face_start[j] + j
            if cells[j] < grid.path_low[i]:
                target = located.up[base + grid.path_low[i]]
            elif cells[j] > grid.path_high[i]:
                target = located.down[base + grid.path_high[i]]
            else:
                continue
            first, last = shares.bucket[base + cells[j]], shares.bucket[base + target]
            if located.group[j] >= 0:
                home = shares.home[j]
                if cells[home] == 0:
                    continue
                last = shares.bucket[grid.face_start[home] + home]
                first = last
            elif cells[j] == located.start[j]:
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


@kernel
def _once(grid, located, bits_of, tables, shares, reach, cells, r, eta, first, last, sums, part, arg, price):  # type: ignore[no-untyped-def]
    """Sum over trees of the cheapest multiplied value plus way; for CVaR one sum for every eta, in `sums`.

    The leaves chosen (at the eta with the smallest sum) go to `arg`; the sum of their values is returned.
    """
    lam = shares.multiplier[0]
    trees = arg.size
    if tables.tail:
        rival = tables.rival_of[r, eta]
        sums[first : last + 1] = 0.0
        for t in range(trees):
            fresh = True
            for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
                bits = reach[w]
                while bits != ZERO:
                    leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                    bits &= bits - ONE
                    row = tables.alternative[leaf]
                    b = _way(grid, located, shares, t, leaf, cells) - lam * rival[leaf]
                    if fresh:
                        for k in range(first, last + 1):
                            part[k] = lam * row[k] + b
                        fresh = False
                    else:
                        for k in range(first, last + 1):
                            x = lam * row[k] + b
                            part[k] = x if x < part[k] else part[k]
            for k in range(first, last + 1):
                sums[k] += part[k]
        best = first
        for k in range(first, last + 1):
            if sums[k] < sums[best]:
                best = k
    else:
        best = 0
        rival = tables.mean[r]
        sums[0] = 0.0
    slope = 0.0
    for t in range(trees):
        least = np.inf
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                value = tables.alternative[leaf, best] - rival[leaf] if tables.tail else rival[leaf]
                price[leaf] = lam * value + _way(grid, located, shares, t, leaf, cells)
                if price[leaf] < least:
                    least = price[leaf]
                    arg[t] = leaf
        value = tables.alternative[arg[t], best] - rival[arg[t]] if tables.tail else rival[arg[t]]
        slope += value
        if not tables.tail:
            sums[0] += least
    return slope


@kernel
def _drop_unaffordable(bits_of, reach, arg, price, room):  # type: ignore[no-untyped-def]
    """Drop from `reach` the leaves that would lift the bound by `room` or more."""
    for t in range(arg.size):
        most = price[arg[t]] + room
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                bit = bits & (ZERO - bits)
                bits ^= bit
                if price[bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]] >= most:
                    reach[w] ^= bit


@kernel
def strong_bound(
    grid, located, bits_of, tables, shares, reach, cells, r, eta, tau, first, last, nearest, cutoff, rounds, rate, sums, part,
    arg, price, keep,
):  # type: ignore[no-untyped-def]
    """Lower bound on the distance of the criterion over a box whose projection is `nearest` away.

    For CVaR, `keep` receives for every eta the best bound under that eta. Shares and multiplier learn on the way;
    leaves that no explanation nearer than `cutoff` can use are dropped from `reach`.
    """
    lam = shares.multiplier
    count = last if tables.tail else 0
    start = first if tables.tail else 0
    keep[start : count + 1] = -np.inf
    for i in range(rounds):
        slope = _once(grid, located, bits_of, tables, shares, reach, cells, r, eta, first, last, sums, part, arg, price)
        for k in range(start, count + 1):
            keep[k] = max(keep[k], nearest + sums[k] - lam[0] * tau)
        if not tables.tail and cutoff < np.inf and nearest + sums[0] - lam[0] * tau < cutoff:
            _drop_unaffordable(bits_of, reach, arg, price, cutoff - (nearest + sums[0] - lam[0] * tau) + 1e-9)
        if i == rounds - 1:
            break
        step = rate / (1.0 + 0.05 * i)
        _learn(grid, located, shares, arg, cells, step)
        lam[0] *= 1.0 + step if slope > tau else 1.0 / (1.0 + step)
    least = np.inf
    for k in range(start, count + 1):
        least = min(least, keep[k])
    return least
