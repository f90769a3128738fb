"""Compiled helper that fills the CVaR tables of leaves."""

from __future__ import annotations

import numpy as np

from whence.search.compiling import kernel

__all__ = ["tail_table"]


@kernel
def tail_table(samples, first, size, rank, etas, share, trees):  # type: ignore[no-untyped-def]
    """(eta + mean excess over eta / share) / trees for every leaf and every eta, etas in ascending order."""
    leaves, count = first.size, etas.size
    table = np.empty((leaves, count))
    here = np.zeros(count + 1)
    for leaf in range(leaves):
        begin, n = first[leaf], int(size[leaf])
        for i in range(begin, begin + n):
            here[rank[samples[i]]] += 1.0
        above, weight = 0.0, 0.0
        for k in range(count - 1, -1, -1):
            eta = etas[k]
            table[leaf, k] = (eta + (above - weight * eta) / (n * share)) / trees
            above += here[k] * eta
            weight += here[k]
        for i in range(begin, begin + n):
            here[rank[samples[i]]] = 0.0
    return table
