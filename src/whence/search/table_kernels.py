"""Compiled helpers on what leaves say about plans: rows of the CVaR tables, and the criterion at given leaves."""

from __future__ import annotations

import numpy as np

from whence.search.compiling import inner, kernel
from whence.search.places import ROW, SUMS

__all__ = ["excess_at", "fill_rows", "row_of", "value_of"]


@inner
def _fill(tables, plan, leaf, first, last, row):
    """(eta + mean excess over eta / share) / trees of a leaf for the etas first..last, from its samples."""
    begin, n = tables.first[leaf], tables.size[leaf]
    for k in range(first, last + 1):
        row[k] = tables.etas[plan, k]
    for i in range(begin, begin + n):
        cost = tables.costs[plan, tables.samples[i]]
        scale = 1.0 / (n * tables.share)
        for k in range(first, last + 1):
            over = cost - tables.etas[plan, k]
            row[k] += over * scale if over > 0.0 else 0.0
    for k in range(first, last + 1):
        row[k] /= tables.trees


@kernel
def fill_rows(tables, plan, table):
    """Rows of all leaves for one plan, into `table`."""
    last = tables.sizes[plan] - 1
    for leaf in range(table.shape[0]):
        _fill(tables, plan, leaf, 0, last, table[leaf])


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
    level = tables.etas[plan, eta]
    over = 0.0
    for i in range(begin, begin + n):
        over += max(0.0, tables.costs[plan, tables.samples[i]] - level)
    return (level + over / (n * tables.share)) / tables.trees


@inner
def excess_at(tables, leaves, first, last, s):
    """By how much the alternative's risk exceeds that of the rival it does worst against, and which rival that is.

    For CVaR only the alternative's etas first..last count, and the rivals' own best etas go to ``s.threshold``.
    """
    worst, over = 0, -np.inf
    if not tables.tail:
        for r in range(tables.mean.shape[0]):
            total = 0.0
            for t in range(leaves.size):
                total += tables.mean[r, leaves[t]]
            if total > over:
                worst, over = r, total
        return over, worst
    mine = 0.0
    for plan in range(tables.sizes.size):
        low, high = (first, last) if plan == 0 else (0, tables.sizes[plan] - 1)
        for k in range(low, high + 1):
            s.etas[SUMS, k] = 0.0
        for t in range(leaves.size):
            row = row_of(tables, plan, leaves[t], low, high, s.etas[ROW])
            for k in range(low, high + 1):
                s.etas[SUMS, k] += row[k]
        least, at = np.inf, low
        for k in range(low, high + 1):
            if s.etas[SUMS, k] < least:
                least, at = s.etas[SUMS, k], k
        if plan == 0:
            mine = least
            continue
        s.threshold[plan - 1] = at
        if mine - least > over:
            worst, over = plan - 1, mine - least
    return over, worst
