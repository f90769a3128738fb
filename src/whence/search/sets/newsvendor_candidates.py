"""Which quantities can be the best ones somewhere in a box of cells.

Without a budget every product is decided by itself, by how much of its demand lies above a quantity: between the least
and the most that the leaves of a box leave above it lie all demands that may be the best quantity in the box.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.problems.base import Stock
from whence.search.forest.grid import KeptGrid, alive_leaves
from whence.util.aliases import Floats

__all__ = ["likely_stock"]

#: Shares that differ by no more are equal, up to rounding.
EQUAL = 1e-9


def likely_stock(stock: Stock, kept: KeptGrid, part: _core.Located, limit: int, table: int) -> Floats | None:
    """Sample costs of all plans that may be the best ones at some cell of a box, where there are at most this many.

    Parameters
    ----------
    stock : Stock
        The quantities, which no budget may join.
    kept : KeptGrid
        The grid of the forest.
    part : _core.Located
        The cells of the box.
    limit : int
        How many plans are listed at most; None is the answer where there are more.
    table : int
        Numbers in the table of the leaves of the box and all samples, at most.
    """
    leaves, tree = alive_leaves(part, kept, np.inf)
    samples = stock.demand.shape[0]
    if np.isfinite(stock.budget) or leaves.size * samples > table:
        return None
    shares = np.array([_shares(kept, leaf, samples) for leaf in leaves.tolist()])
    first = np.flatnonzero(np.diff(tree, prepend=-1))
    choices = [_between(stock, j, shares, first) for j in range(stock.demand.shape[1])]
    if np.prod([float(one.size) for one in choices]) > limit:
        return None
    return np.array([_costs(stock, np.array(plan)) for plan in product(*choices)])


def _shares(kept: KeptGrid, leaf: int, samples: int) -> Floats:
    """The weight of every sample in a leaf."""
    own = kept.samples.ravel()[kept.first[leaf] : kept.first[leaf] + kept.size[leaf]]
    mass = None if kept.mass is None else kept.mass[own]
    counted = np.bincount(own, mass, samples)
    return np.asarray(counted / counted.sum())


def _between(stock: Stock, j: int, shares: Floats, first: NDArray[np.int64]) -> Floats:
    """Quantities of one product: best is the smallest with no more above it than holding costs allow for."""
    demand = np.clip(stock.demand[:, j], stock.lower[j], stock.upper[j])
    order = np.argsort(demand, kind="stable")
    up_to = np.cumsum(shares[:, order], axis=1)
    quantities, last = np.unique(demand[order][::-1], return_index=True)
    above = 1.0 - up_to[:, demand.size - 1 - last]
    if quantities[0] > stock.lower[j]:
        quantities = np.append(stock.lower[j], quantities)
        above = np.column_stack([np.ones(len(above)), above])
    allowed = stock.holding[j] / (stock.holding[j] + stock.backorder[j])
    least = np.minimum.reduceat(above, first, axis=0).mean(axis=0) <= allowed + EQUAL
    most = np.maximum.reduceat(above, first, axis=0).mean(axis=0) <= allowed - EQUAL
    ends = [int(one.argmax()) if one.any() else quantities.size - 1 for one in (least, most)]
    found: Floats = quantities[ends[0] : ends[1] + 1]
    return found


def _costs(stock: Stock, plan: Floats) -> Floats:
    over = plan - stock.demand
    costs: Floats = np.sum(np.where(over > 0.0, stock.holding * over, -stock.backorder * over), axis=1)
    return costs
