"""What no plan costs less than, in many contexts at once and without solving the problem in any.

The CVaR of a plan is its mean cost under the worst weights of the risk envelope: those that take from every observation
at most its weight over the tail. So under any weights of the envelope, the least mean cost of all plans is nowhere
above the least CVaR. Least means are quantiles, or distances in a network. Where plans are quantities, weights and
plans that answer each other in turn, each averaged over the turns, come as near to the least CVaR as one likes
(fictitious play): from above by the plans, from below by the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence.problems.base import Routes, Stock
from whence.util.aliases import Floats

Ints = NDArray[np.int64]

#: Shares of the weight that differ by less are one share.
TIE = 1e-12


@dataclass(frozen=True)
class Rows:
    """Weights of past observations in several contexts, which sum to one in each: an entry for all that are not 0.

    >>> rows = Rows.of(sparse.csr_array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]))
    >>> rows.sums(rows.weight * [1.0, 3.0, 1.0, 3.0, 2.0]).tolist(), rows.part(np.array([1])).sample.tolist()
    ([2.0, 2.0], [0, 1, 2])
    """

    #: Which observation an entry is about, and its weight.
    sample: Ints
    weight: Floats
    #: The first entry of every row; none is empty.
    starts: Ints

    @classmethod
    def of(cls, matrix: Any) -> Rows:
        """Return the rows of a sparse matrix."""
        found = sparse.csr_array(matrix)
        return cls(found.indices, found.data, found.indptr[:-1].astype(np.int64))

    def __len__(self) -> int:
        return self.starts.size

    @cached_property
    def sizes(self) -> Ints:
        """How many entries every row has."""
        return np.diff(self.starts, append=self.sample.size)

    @cached_property
    def owner(self) -> Ints:
        """The row of every entry."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the values of each row's entries."""
        found: Floats = np.add.reduceat(values, self.starts)
        return found

    def means(self, values: Floats) -> Floats:
        """Return the weighted means of every column of `values`, which have a row for every observation."""
        ends = np.append(self.starts, self.sample.size)
        matrix = sparse.csr_array((self.weight, self.sample, ends), shape=(len(self), len(values)))
        return np.asarray(matrix @ values)

    def running(self, values: Floats) -> Floats:
        """Return running sums of the entries' values, begun anew in every row."""
        upto = np.concatenate(([0.0], np.cumsum(values)))
        return np.asarray(upto[1:] - np.repeat(upto[self.starts], self.sizes))

    def ascending(self, values: Floats) -> NDArray[np.intp]:
        """Return the order in which the values of each row's entries ascend, one row after the other."""
        low, high = float(values.min()), float(values.max())
        # One sort for all rows: the values are the part behind the point.
        return np.argsort(self.owner + (values - low) * (0.999 / (high - low or 1.0)))

    def weighed(self, weight: Floats) -> Rows:
        """Return the same with other weights; entries of weight 0 are left out."""
        some = weight > 0.0
        starts = np.concatenate(([0], np.cumsum(some)))[self.starts]
        return Rows(self.sample[some], weight[some], starts)

    def entries(self, rows: NDArray[np.intp]) -> Ints:
        """Return the places of the entries of some rows."""
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        found: Ints = np.arange(ends[-1] if ends.size else 0) + np.repeat(self.starts[rows] - (ends - sizes), sizes)
        return found

    def part(self, rows: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        some, sizes = self.entries(rows), self.sizes[rows]
        return Rows(self.sample[some], self.weight[some], np.cumsum(sizes) - sizes)

    def whole(self, row: int, size: int) -> Floats:
        """Return the weights of all of so many observations in one row."""
        found, here = np.zeros(size), slice(self.starts[row], self.starts[row] + self.sizes[row])
        found[self.sample[here]] = self.weight[here]
        return found


def worst_tails(values: Floats, rows: Rows, tail: float) -> tuple[Floats, Floats]:
    """Return by row the mean of the worst share `tail` of the entries' values, and the weights under which it is one.

    >>> rows = Rows.of(sparse.csr_array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]))
    >>> found, worst = worst_tails(np.array([1.0, 3.0, 1.0, 3.0, 2.0]), rows, 0.5)
    >>> found.tolist(), worst.tolist()
    ([3.0, 2.5], [0.0, 1.0, 0.0, 0.5, 0.5])
    """
    order = rows.ascending(-values)
    weight = rows.weight[order]
    flow = np.minimum(np.maximum(tail - (rows.running(weight) - weight), 0.0), weight)
    worst = np.empty(values.size)
    worst[order] = flow / np.repeat(rows.sums(flow), rows.sizes)
    return rows.sums(worst * values), worst


def least_means(structure: Stock | Routes, rows: Rows) -> tuple[Floats, Floats | None]:
    """Return by row what the best plan costs in the mean; and these plans, where they are quantities.

    >>> stock = Stock(np.array([[1.0], [2.0], [4.0]]), *np.array([[1.0], [1.0], [0.0], [np.inf]]))
    >>> found, plans = least_means(stock, Rows.of(sparse.csr_array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])))
    >>> found.tolist(), plans.tolist()
    ([0.5, 1.0], [[1.0], [4.0]])
    """
    if isinstance(structure, Routes):
        return _shortest(structure, rows), None
    products = _products(structure, rows)
    plans = np.stack([one.best() for one in products], axis=1)
    if (plans.sum(axis=1) > structure.budget).any():
        plans = _within_budget(structure, rows, products)
    return np.sum([one.cost(plans[:, j]) for j, one in enumerate(products)], axis=0), plans


def least_tails(stock: Stock, rows: Rows, tail: float) -> Floats:
    """Return by row the quantity of the only product whose mean cost in the worst share `tail` is least.

    What makes it so is said where a newsvendor of one product is solved.
    """
    [product] = _products(stock, rows)
    both = product.holding + product.backorder
    low = product.quantile(tail * product.backorder / both)
    high = product.quantile(1.0 - tail * product.holding / both)
    best = low + (high - low) * (product.backorder / both)
    return np.clip(best, product.lower, min(product.upper, stock.budget))[:, None]


def _within_budget(stock: Stock, rows: Rows, products: list[_Product]) -> Floats:
    """Return the best quantities of every row within the budget.

    From one demand to the next, a further unit gains ever less: the steps of largest gain are taken.
    """
    steps = [one.steps() for one in products]
    count = len(steps)
    gain, width = (np.concatenate([step[k] for step in steps]) for k in (0, 1))
    owner = np.concatenate([rows.owner] * count)
    product = np.repeat(np.arange(count), rows.sample.size)
    some = np.flatnonzero((gain > 0.0) & (width > 0.0))
    owner, gain, width, product = owner[some], gain[some], width[some], product[some]
    size = float(gain.max())
    order = np.argsort(owner + (1.0 - gain / size) * 0.999)
    owner, width, product = owner[order], width[order], product[order]
    used = np.concatenate(([0.0], np.cumsum(width)))
    first = used[np.searchsorted(owner, np.arange(len(rows)))]
    left = stock.budget - float(stock.lower.sum()) - (used[:-1] - first[owner])
    taken = np.bincount(owner * count + product, np.clip(left, 0.0, width), minlength=count * len(rows))
    return np.asarray(stock.lower + taken.reshape(-1, count))


class _Product:
    """One product of a stock, its demands in ascending order in every row."""

    def __init__(self, stock: Stock, product: int, rows: Rows) -> None:
        demand = stock.demand[rows.sample, product]
        order = rows.ascending(demand)
        self.rows, self.demand = replace(rows, sample=rows.sample[order], weight=rows.weight[order]), demand[order]
        self.holding, self.backorder = float(stock.holding[product]), float(stock.backorder[product])
        self.lower, self.upper = float(stock.lower[product]), float(stock.upper[product])
        self.upto = self.rows.running(self.rows.weight)

    def quantile(self, share: float) -> Floats:
        """Return the smallest demand of every row that covers a share of its weight."""
        short = np.add.reduceat(self.upto < share - TIE, self.rows.starts, dtype=np.int64)
        found: Floats = self.demand[self.rows.starts + np.minimum(short, self.rows.sizes - 1)]
        return found

    def best(self) -> Floats:
        """Return the best quantity of every row."""
        share = self.backorder / (self.holding + self.backorder)
        found = self.quantile(share) if share > 0.0 else np.zeros(len(self.rows))
        return np.clip(found, self.lower, self.upper)

    def steps(self) -> tuple[Floats, Floats]:
        """Return what a unit gains from the demand before each entry's on, and how many there are up to its own."""
        demand = np.clip(self.demand, self.lower, self.upper)
        width = np.diff(demand, prepend=0.0)
        width[self.rows.starts] = demand[self.rows.starts] - self.lower
        both = self.holding + self.backorder
        gain = self.backorder - both * (self.upto - self.rows.weight)
        return np.where(gain > TIE * both, gain, 0.0), width

    def cost(self, quantity: Floats) -> Floats:
        """Return what a quantity for each row costs there in the mean."""
        over = np.repeat(quantity, self.rows.sizes) - self.demand
        return self.rows.sums(self.rows.weight * np.maximum(self.holding * over, -self.backorder * over))


def _products(stock: Stock, rows: Rows) -> list[_Product]:
    return [_Product(stock, j, rows) for j in range(stock.demand.shape[1])]


def own_costs(stock: Stock, plans: Floats, rows: Rows) -> Floats:
    """Return what a plan for each row costs in every entry of its row."""
    total = np.zeros(rows.sample.size)
    for j, (holding, backorder) in enumerate(zip(stock.holding, stock.backorder, strict=True)):
        over = np.repeat(plans[:, j], rows.sizes) - stock.demand[rows.sample, j]
        total += np.maximum(holding * over, -backorder * over)
    return total


def _shortest(routes: Routes, rows: Rows) -> Floats:
    """Return what the cheapest route costs in the mean, by row."""
    costs = rows.means(routes.costs).T
    distance = np.full((routes.nodes, len(rows)), np.inf)
    distance[routes.target] = 0.0
    for start, edge, end in routes.arcs:
        np.minimum(distance[start], costs[edge] + distance[end], out=distance[start])
    return np.asarray(distance[routes.source])
