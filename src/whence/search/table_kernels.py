"""Compiled rows of the CVaR tables: what a leaf says about a plan under every threshold eta."""

from __future__ import annotations

import numpy as np

from whence.search.compiling import inner, kernel
from whence.search.places import FIRST_ETA

__all__ = ["fill_rows", "row_of", "tail_at", "value_of"]


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


@kernel
def fill_rows(tables, plan, table):
    """Rows of all leaves for one plan, into `table`."""
    last = tables.sizes[plan] - 1
    for leaf in range(table.shape[0]):
        _fill(tables, plan, np.int32(leaf), FIRST_ETA, last, table[leaf])


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
def tail_at(tables, plan, leaves, first, last):
    """The smallest sum over the trees' `leaves` among the etas first..last, and where it is attained.

    The sum is convex in eta: its slope changes sign once.
    """
    low, high = first, last
    while low < high:
        k = (low + high) // 2
        slope = 0.0
        for t in range(leaves.size):
            slope += value_of(tables, plan, leaves[t], k + 1) - value_of(tables, plan, leaves[t], k)
        if slope < 0.0:
            low = k + 1
        else:
            high = k
    total = 0.0
    for t in range(leaves.size):
        total += value_of(tables, plan, leaves[t], low)
    return total, low
