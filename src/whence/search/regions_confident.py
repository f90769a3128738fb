"""Whether any plan refutes an alternative, standard errors included, somewhere in a box of cells.

At every context the alternative is held against the best plan there. A plan is the best one only where it costs no more
than any other that is known. So each plan that may be the best one gets a search of its own for a cell at which that is
so, and at which the alternative does not stand against it by its standard errors. Where no plan has such a cell, the
alternative stands in all of the box: the plan that is best at a context would have had it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.claims.sets import Plans
from whence.problems.base import Stock
from whence.question import Question
from whence.search.forest_search import add_plan, confident_excess
from whence.search.grid import KeptGrid, alive_leaves, leaf_means, weights_at
from whence.util.aliases import Floats
from whence.util.linear_program import OutOfTime

Ints = NDArray[np.int32]

#: Costs count as equal where they differ by less than this share of the largest one, however small the tolerance is;
#: shares of demand where they differ by no more.
EQUAL = 1e-9


def looked_through(search: _core.ForestSearch, question: Question, nodes: int) -> tuple[bool, float]:
    """Search on to the first cell or to the end: whether one was reached, and the bound, infinite where none is left.

    A finite bound without a cell says that the limits stopped it; `nodes` were examined before it began.
    """
    limits, settings = question.limits, question.settings
    bound, reached = 0.0, False
    while not reached and bound < np.inf:
        if limits.reached(nodes + search.examined, np.inf, 0.0, search.bytes) is not None:
            break
        sharp = search.examined >= settings.region_patience
        boxes = settings.region_slice if sharp else settings.region_patience
        if limits.node_limit is not None:
            boxes = min(boxes, limits.node_limit - nodes - search.examined)
        reached, bound = search.advance(boxes, np.inf, None, sharp, min(settings.region_clock, limits.remaining))
    return reached, bound


class Refuting:
    """All plans there are as rivals of an alternative, for many boxes and one absolute question.

    Its `better` names the best plan at any weights.
    """

    def __init__(self, question: Question, kept: KeptGrid, anything: Plans) -> None:
        self.question, self.kept, self.anything = question, kept, anything
        self.kappa = question.claim.kappa
        self.limit = question.settings.region_listed[question.claim.risk.tail is not None]
        self.every = anything.every(self.limit)
        self.nodes = 0
        # Broken means more than tau; it costs no more than another plan, up to tau.
        self.tau = float(np.nextafter(-question.claim.tau, -np.inf))
        self.raised = question.claim.tau + max(question.claim.tau, EQUAL * question.claim.size)
        factor = 1.0 + question.claim.within
        self.others: list[Floats] = []
        self.tables: list[_core.TailCriterion] = []
        self.alternative = None if question.claim.risk.tail is None else self._table(question.claim.alternative)
        for plan in (factor * question.claim.alternative, factor * question.claim.decision):
            self._meet(plan)

    def refuted(
        self, part: _core.Located, known: Sequence[Floats], anchor: Ints, nodes: int
    ) -> tuple[Floats | None, bool] | None:
        """A plan that refutes the alternative in some cell of a box, if there is one, and whether there is surely none.

        None where the plans that may be the best ones in the box cannot be listed, or are too many. Those that are
        `known` refute it nowhere in the box, and nothing does at the `anchor`; ``self.nodes`` counts on from `nodes`.
        """
        self.nodes = nodes
        rows, stock = self.every, self.anything.stock
        if rows is None and stock is not None:
            rows = likely_stock(stock, self.kept, part, self.limit, self.question.settings.region_table)
        if rows is None:
            return None
        at_anchor = self.kept.leaves_at(anchor)
        for row in (1.0 + self.question.claim.within) * rows:
            if any(np.array_equal(row, one) for one in known) or np.array_equal(row, self.question.claim.alternative):
                continue
            rival = self._refuted_by(part, row, anchor, at_anchor)
            if rival is not None:
                return rival, False
        return None, True

    def _refuted_by(self, part: _core.Located, row: Floats, anchor: Ints, at_anchor: Ints) -> Floats | None:
        """The same by one plan, or by a better one that is met where it seems to."""
        question, before = self.question, self.nodes
        search = self._search(part, row)
        while True:
            reached, bound = looked_through(search, question, before)
            self.nodes = before + search.examined
            if not reached and bound < np.inf:
                raise OutOfTime
            if not reached:
                return None
            leaves = self.kept.leaves_at(search.cells)
            best = question.rival(weights_at(self.kept, leaves, question.claim.alternative.size))
            if best is not None and confident_excess(question, self.kept, leaves, best) > question.claim.tau:
                return best
            if best is not None and self._meet(best):
                # Where the plan may be the best one is known better now.
                search, before = self._search(part, row), self.nodes
            elif not np.array_equal(leaves, at_anchor):
                return row  # it is as good as the best one
            else:
                search.exclude(anchor, False)

    def _search(self, part: _core.Located, row: Floats) -> _core.ForestSearch:
        return _core.ForestSearch(part, self._breach(row), self.tau)

    def _breach(self, row: Floats) -> _core.Criterion:
        """What holds where a plan costs no more than any other known one, and the alternative is refuted by it."""
        question, kept = self.question, self.kept
        if self.alternative is None:
            mean = _core.MeanBreach(kept.leaves, self.kappa)
            mean.add_rival(leaf_means(kept, question.claim.alternative - row))
            for other in self.others:
                mean.add_rival(leaf_means(kept, other + self.raised - row))
            return mean
        breach = self._tails()
        add_plan(breach, question, kept, row)
        for table in (self.alternative, *self.tables):
            breach.share_plan(table, 0)
        return breach

    def _tails(self) -> _core.TailBreach:
        tail = self.question.claim.risk.tail
        assert tail is not None
        return _core.TailBreach(self.kept.leaf_samples, tail, self.kappa)

    def _table(self, costs: Floats) -> _core.TailCriterion:
        """The table of one plan, which the breaches of all others share."""
        table = self._tails()
        add_plan(table, self.question, self.kept, costs)
        return table

    def _meet(self, costs: Floats) -> bool:
        """Take a plan for one that the best plan of a context costs no more than; False where it is one already."""
        if any(np.array_equal(costs, other) for other in self.others):
            return False
        self.others.append(costs)
        if self.alternative is not None:
            self.tables.append(self._table(costs + self.raised))
        return True


def likely_stock(stock: Stock, kept: KeptGrid, part: _core.Located, limit: int, table: int) -> Floats | None:
    """Sample costs of all plans that may be the best ones at some cell of a box, where there are at most this many.

    None where a budget joins the quantities, or the leaves of the box and all samples make too large a table.
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
