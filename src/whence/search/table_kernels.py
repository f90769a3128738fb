"""Compiled rows of the CVaR tables: what a leaf says about a plan under every threshold eta."""

from __future__ import annotations

import numpy as np

from whence.search.compiling import inner, kernel
from whence.search.places import FIRST_ETA

__all__ = ["fill_rows", "row_of", "share_above", "tail_at", "value_of"]


@inner
def _fill(tables, plan, leaf, first, last, row):
    """(eta + mean excess over eta / share) / trees of a leaf for the etas first..last, from its samples.

    Costs are etas themselves: counted by their ranks, the excess grows from each eta down to the next one below it.
    """
    begin, n = tables.first[leaf], tables.size[leaf]
    etas, scale = tables.etas[plan], 1.0 / (tables.size[leaf] * tables.tail)
    for k in range(first, last + 1):
        row[k] = 0.0
    above, over = 0.0, 0.0
    for i in range(begin, begin + n):
        rank = tables.rank[plan, tables.samples[i]]
        if rank > last:
            above += 1.0
            over += etas[rank] - etas[last]
        elif rank > first:
            row[rank] += 1.0
    for k in range(last, first - 1, -1):
        count = row[k]
        row[k] = (etas[k] + over * scale) / tables.trees
        if k > first:
            above += count
            over += above * (etas[k] - etas[k - 1])


@inner
def _count(tables, plan, leaf, last, row):
    """How many samples of a leaf cost more than each eta up to `last`, into `row`, which holds zeros."""
    begin = tables.first[leaf]
    for i in range(begin, begin + tables.size[leaf]):
        row[tables.rank[plan, tables.samples[i]]] += 1
    above = row[0] - row[0]
    for k in range(last, -1, -1):
        own = row[k]
        row[k] = above
        above += own


@kernel
def fill_rows(tables, plan, table, above):
    """Rows of all leaves for one plan: values into `table`, counts into `above`, which holds zeros."""
    last = tables.sizes[plan] - 1
    for leaf in range(table.shape[0]):
        _fill(tables, plan, np.int32(leaf), FIRST_ETA, last, table[leaf])
        _count(tables, plan, np.int32(leaf), last, above[leaf])


@inner
def row_of(tables, plan, leaf, first, last, buffer):
    """Values of a leaf for the etas first..last: from the table, or from its samples where there is no table."""
    if tables.table.shape[1] > 0:
        return tables.table[plan, leaf]
    _fill(tables, plan, leaf, first, last, buffer)
    return buffer


@inner
def value_of(tables, plan, leaf, eta):
    """Value of a leaf for one eta."""
    if tables.table.shape[1] > 0:
        return tables.table[plan, leaf, eta]
    begin, n = tables.first[leaf], tables.size[leaf]
    etas = tables.etas[plan]
    over = 0.0
    for i in range(begin, begin + n):
        over += max(0.0, etas[tables.rank[plan, tables.samples[i]]] - etas[eta])
    return (etas[eta] + over / (n * tables.tail)) / tables.trees


@inner
def share_above(tables, plan, leaf, eta):
    """Share of a leaf's samples that cost more than an eta, from whole numbers."""
    if tables.table.shape[1] > 0:
        return tables.above[plan, leaf, eta] / tables.size[leaf]
    begin, n = tables.first[leaf], tables.size[leaf]
    count = n - n
    for i in range(begin, begin + n):
        if tables.rank[plan, tables.samples[i]] > eta:
            count += 1
    return count / n


@inner
def tail_at(tables, plan, leaves, first, last):
    """The smallest sum over the trees' `leaves` among the etas first..last, and where it is attained.

    The sum is convex in eta. It falls from an eta to the next as long as more than the tail lies above: that is asked
    of the counts, since a difference of two values is mere rounding where the etas are next to each other.
    """
    low, high = first, last
    tail = tables.tail * leaves.size
    while low < high:
        k = (low + high) // 2
        above = 0.0
        for t in range(leaves.size):
            above += share_above(tables, plan, leaves[t], k)
        if above > tail:
            low = k + 1
        else:
            high = k
    total = 0.0
    for t in range(leaves.size):
        total += value_of(tables, plan, leaves[t], low)
    return total, low
