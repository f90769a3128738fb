"""Sets of plans and forests: the nearest context in which some plan of a set is better, by the same search over cells.

Plans that can be listed, and quantities that are chosen one by one, have a criterion of their own in the core; any
other set is bounded by what its restricted `solve` says about leaves (:mod:`whence.search.solved_boxes`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from whence import _core
from whence.aliases import Floats
from whence.problems._deadline import check_time, until
from whence.question import Answer, Question
from whence.question.plans import Plans, Routes, Stock
from whence.search import driver
from whence.search.criteria import distinct
from whence.search.forest import ForestFrontier
from whence.search.grid import KeptGrid, grid_of, leaf_means, leaf_sums, locate
from whence.search.solved_boxes import SolvedBoxes

__all__ = ["PlanFrontier", "explain", "list_criterion", "row_of_plans"]

#: Numbers in the table of a list of plans, or of the breakpoints of quantities (8 bytes a number), at most.
TABLE_LIMIT = 12_000_000
#: Plans that are listed at most; with thresholds under CVaR.
LISTED, LISTED_TAIL = 4_000, 400


def explain(question: Question) -> Answer:
    """Answer a question about a set of plans and a forest policy."""
    kept = grid_of(question)
    if kept is None:
        return Answer("time_limit", None, np.inf, 0.0)
    plans = question.plans
    assert plans is not None
    # Rivals of an absolute question are part of the criterion: for the driver it is a relative one.
    relative = replace(question, kind="relative")
    if plans.routes is not None and question.risk.tail is None:
        relative = replace(relative, threads=1)  # boxes add to the list of routes
    criterion = _criterion(question, kept, plans)
    if criterion is None:
        return driver.run(relative, SolvedBoxes(question, kept))
    if isinstance(criterion, _core.PlanList) and plans.routes is None and criterion.plans == 0:
        return Answer("none", None, np.inf, np.inf)  # no plan under any threshold
    relaxed = (
        isinstance(criterion, _core.StockCriterion) and plans.stock is not None and np.isfinite(plans.stock.budget)
    )
    return driver.run(relative, PlanFrontier(relative, kept, criterion, relaxed))


class PlanFrontier(ForestFrontier):
    """Boxes of cells in the order of their distance, judged by a criterion that knows the set and its rivals.

    Where the criterion is `relaxed`, it leaves out a constraint, and the set's own best plan judges its candidates.
    """

    def __init__(self, question: Question, kept: KeptGrid, criterion: _core.Criterion, relaxed: bool = False) -> None:
        super().__init__(question, kept, criterion=criterion)
        self.relaxed = relaxed

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Search on; the nearest candidate left, if it was reached and stands."""
        point = super().advance(nodes, cutoff)
        if point is None or self._stands(point):
            return point
        self.exclude(point)
        return None

    def propose(self, cutoff: float) -> Floats | None:
        """A context that stands, found without proof."""
        point = super().propose(cutoff)
        return point if point is not None and self._stands(point) else None

    def _stands(self, point: Floats) -> bool:
        plans, question = self.question.plans, self.question
        if not self.relaxed or plans is None:
            return True
        weights = self.weights(point)
        with until(question.limits.started + question.limits.seconds + question.limits.remaining):
            check_time()
            limit = question.risk.of(question.rival_decision, weights)
            if plans.rival is not None:
                limit = min(limit, question.risk.of(plans.rival(weights), weights))
            return question.risk.of(plans.best(weights), weights) <= limit + question.tau

    def cut(self, rival: Floats) -> None:
        """The rivals are part of the criterion."""


def _criterion(question: Question, kept: KeptGrid, plans: Plans) -> _core.Criterion | None:
    if plans.stock is not None:
        found = _stock_criterion(question, kept, plans.stock, plans.all_stock)
        if found is not None:
            return found
    if plans.routes is not None and question.risk.tail is None:
        return _route_criterion(question, kept, plans.routes, plans.all_routes)
    limit = LISTED if question.risk.tail is None else LISTED_TAIL
    most = min(limit, max(1, TABLE_LIMIT // kept.leaves))
    rows = plans.every(most)
    rivals = None if plans.rivals is None else plans.rivals(most)
    if rows is None or (plans.rivals is not None and rivals is None):
        return None
    decided = question.rival_decision[None, :]
    return list_criterion(question, kept, rows, decided if rivals is None else np.vstack([rivals, decided]))


def list_criterion(question: Question, kept: KeptGrid, plans: Floats, rivals: Floats) -> _core.PlanList | None:
    """The criterion that some plan must not cost more than any rival, both given by sample costs, one row a plan.

    None where its table would be too large.
    """
    criterion, tail = _core.PlanList(kept.leaves), question.risk.tail
    if tail is None:
        criterion.add_rivals(row_of_plans(kept, rivals))
        criterion.add_plans(row_of_plans(kept, plans))
        return criterion
    leaves = (kept.samples.ravel(), kept.first, kept.size)
    numbers = 0
    for costs in rivals:
        etas, rank = distinct(costs)
        numbers += etas.size * kept.leaves
        if numbers > TABLE_LIMIT:
            return None
        criterion.add_tail_rival(*leaves, tail, kept.trees, etas, rank, kept.mass)
    alive = _alive(question, kept)
    for costs in plans:
        etas, rank = distinct(costs)
        tau = float(question.tau)
        criterion.add_tail_plan(kept.grid, *leaves, tail, kept.trees, etas, rank, alive, tau, kept.mass)
        if criterion.plans * kept.leaves > TABLE_LIMIT or question.limits.remaining <= 0:
            return None
    return criterion


def row_of_plans(kept: KeptGrid, costs: Floats) -> Floats:
    """Mean of the costs of every plan, one row each, over the samples of every leaf, divided by the number of trees."""
    return np.ascontiguousarray(_means(kept, costs.T).T)


def _means(kept: KeptGrid, values: Floats) -> Floats:
    """Mean of every column of `values` over the samples of each leaf, one row a leaf, over the number of trees."""
    counted = (kept.total * kept.trees)[:, None]
    if kept.mass is not None:
        values = values * kept.mass[:, None]
    if not kept.regular:
        return np.asarray(leaf_sums(kept, np.ascontiguousarray(values)) / counted)
    samples = kept.samples.ravel()
    ends = np.append(kept.first, samples.size)
    members = csr_array((np.ones(samples.size), samples, ends), shape=(kept.leaves, kept.samples.shape[1]))
    means: Floats = (members @ np.ascontiguousarray(values)) / counted
    return means


def _route_criterion(
    question: Question, kept: KeptGrid, routes: Routes, everything: Routes | None
) -> _core.PlanList | None:
    if routes.costs.shape[1] * kept.leaves > TABLE_LIMIT:
        return None
    tables = [_route_table(kept, one) for one in (routes, everything) if one is not None]
    criterion = _core.PlanList(kept.leaves)
    criterion.add_rivals(leaf_means(kept, question.rival_decision)[None, :])
    criterion.set_routes(tables[0], tables[1] if len(tables) > 1 else None)
    return criterion


def _route_table(kept: KeptGrid, routes: Routes) -> _core.RouteTable:
    return _core.RouteTable(_means(kept, routes.costs), routes.arcs, routes.nodes, routes.source, routes.target)


def _alive(question: Question, kept: KeptGrid) -> Any:
    """The leaves that hold an allowed context."""
    located = locate(question, kept)
    reach = _core.Reach(located)
    reach.gather(_core.Box(located))
    return np.sort(reach.leaves)


def _stock_criterion(
    question: Question, kept: KeptGrid, stock: Stock, everything: Stock | None
) -> _core.StockCriterion | None:
    own = _stock_table(kept, stock)
    every = None if everything is None else _stock_table(kept, everything)
    if own is None or (every is None and everything is not None):
        return None
    return _core.StockCriterion(own, leaf_means(kept, question.rival_decision), every, stock.budget)


def _stock_table(kept: KeptGrid, stock: Stock) -> _core.StockTable | None:
    demand = np.clip(stock.demand, stock.lower, stock.upper)
    breakpoints = sum(np.unique(column).size for column in demand.T)
    if breakpoints * kept.leaves > TABLE_LIMIT:
        return None
    return _core.StockTable(
        kept.samples.ravel(), kept.first, kept.size, kept.trees,
        np.ascontiguousarray(stock.demand), stock.holding, stock.backorder, stock.lower, stock.upper, kept.mass,
    )  # fmt: skip
