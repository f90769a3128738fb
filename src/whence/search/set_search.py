"""Sets of plans and forests: the nearest context in which some plan of a set is better, by the same search over cells.

Plans that can be listed, and quantities that are chosen one by one, have a criterion of their own in the core; any
other set is bounded by what its restricted `solve` says about leaves (:mod:`whence.search.oracle_bounds`).
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from whence import _core
from whence.problems.base import Routes, Stock
from whence.question import Answer, Question
from whence.search import driver
from whence.search.forest_search import ForestFrontier, distinct, hurried, prepared, rival_row, starts_of
from whence.search.frontiers import Nowhere, PlanByPlan, confidently
from whence.search.grid import KeptGrid, alive_leaves, cell_beyond, leaf_means, leaf_sums, locate, weights_at
from whence.search.linear_sets import linear_criterion
from whence.search.oracle_bounds import SolvedBoxes
from whence.search.proposals import cells_of_past, pulled
from whence.util.aliases import Floats
from whence.util.linear_program import check_time, until

Ints = NDArray[np.int32]


def explain(question: Question) -> Answer:
    """Answer a question about a set of plans and a forest policy."""
    kept, plausibility = prepared(question)
    if kept is None:
        return Answer("time_limit", None, np.inf, 0.0)
    question = hurried(question, kept)
    plans = question.claim.plans
    assert plans is not None
    if question.claim.kappa:
        return confidently(
            question,
            alone=lambda one: ForestFrontier(one, kept, plausibility),
            together=lambda plain: _frontier(plain, _Making(plain, kept, plausibility, look=False)),
        )
    made = _Making(question, kept, plausibility)
    frontier = _frontier(question, made)
    if frontier is None:
        return made.stopped()
    if isinstance(frontier, Nowhere):
        if made.known is None:
            return Answer("none", None, np.inf, np.inf)  # no plan under any threshold
        # No plan under any threshold is better nearer than what is known.
        distance = question.space.distance(made.known)
        return Answer("optimal", made.known, distance, distance, cell=made.known_cell)
    # Rivals of an absolute question are part of the criterion: for the driver it is a relative one.
    relative = question.relative()
    if isinstance(frontier, PlanFrontier) and question.claim.kind == "relative" and frontier.may_go_plan_by_plan:
        return driver.run(relative, PlanByPlan(frontier, lambda most: _worth(question, kept, most)))
    return driver.run(relative, frontier)


def _frontier(question: Question, made: _Making) -> PlanFrontier | SolvedBoxes | Nowhere | None:
    """The boxes of a set, whose rivals are part of the criterion; None where the time is up before there are any."""
    criterion = made.criterion()
    plans = made.plans
    if criterion is None:
        if question.limits.remaining <= 0:
            return None
        if made.known is None and question.known.recall is not None:
            # Every leaf is priced before the first box.
            made.known = question.known.recall(question.known.nearer_than)
        return SolvedBoxes(question.claiming(plans=made.plans), made.kept, made.plausibility, made.known)
    if isinstance(criterion, _core.PlanList) and plans.routes is None and criterion.plans == 0:
        return Nowhere()
    relaxed = isinstance(criterion, _core.LinearPlans) or (
        isinstance(criterion, _core.StockCriterion) and plans.stock is not None and np.isfinite(plans.stock.budget)
    )
    relative = question.relative()
    kind = MeetingFrontier if made.meets else PlanFrontier
    frontier = kind(relative, made.kept, criterion, relaxed, made.plausibility, made.known)
    if made.looked:
        frontier.proposed = 1  # past contexts were looked at before
    return frontier


class PlanFrontier(ForestFrontier):
    """Boxes of cells in the order of their distance, judged by a criterion that knows the set and its rivals.

    Where the criterion is `relaxed`, it leaves out a constraint, and the set's own best plan judges its candidates. An
    explanation that is `known` comes first: the criterion need not be about anything that lies farther away.
    """

    def __init__(
        self,
        question: Question,
        kept: KeptGrid,
        criterion: _core.Criterion,
        relaxed: bool = False,
        plausibility: _core.Plausibility | None = None,
        known: Floats | None = None,
    ) -> None:
        super().__init__(question, kept, plausibility, criterion)
        self.relaxed, self.known = relaxed, known
        #: Whether a few of very many routes stand for all in the next proposal.
        self.rough = False
        if isinstance(criterion, _core.PlanList) and criterion.many:
            self.rough = question.claim.plans is not None and question.claim.plans.all_routes is None
            self.stages = (0 if self.rough else self.settings.route_early, *self.stages[1:])

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        if self.known is not None:
            return None
        point = super().advance(nodes, cutoff)
        if point is None or self._stands(point):
            return point
        self.exclude(point)
        return None

    def propose(self, cutoff: float) -> Floats | None:
        if self.known is not None:
            known, self.known = self.known, None
            return known
        point = super().propose(cutoff)
        return point if point is not None and self._stands(point) else None

    def _proposal(self, stage: int, cutoff: float) -> Ints | None:
        """The first one by a few routes, where there are very many: the best one of each context takes long to find."""
        if not self.rough:
            return super()._proposal(stage, cutoff)
        self.rough = False
        question, criterion = self.question, self.criterion
        seconds = 0.25 * question.limits.remaining
        assert isinstance(criterion, _core.PlanList)
        past = starts_of(question, self.kept, self.located)
        some, near, found = past[:: 1 + (len(past) - 1) // self.settings.route_pool], None, cutoff
        for _ in range(self.settings.route_turns):
            leaves = np.array([self.kept.leaves_at(cells) for cells in some])
            proposals = self._proposals(criterion.best_at(leaves), seconds)
            nearer = pulled(proposals, past, found, self.settings.improved[0], self.settings.exchange_passing)
            if nearer is None:
                break
            # The best route there may be good enough nearer by.
            near, found, some = nearer, proposals.found, nearer[None, :]
        if near is None:
            self.proposed -= 1  # that one is still to come
            self.stages = (self.settings.route_all_after, *self.stages[1:])
            return None
        proposals = self._proposals(criterion, seconds)
        proposals.pull_back(near[None, :], 1)
        return proposals.best if proposals.found < cutoff else None

    def _stands(self, point: Floats) -> bool:
        plans, question = self.question.claim.plans, self.question
        if not self.relaxed or plans is None:
            return True
        weights = self.weights(point)
        with until(question.limits.ends):
            check_time()
            limit = plans.limit(question.claim, weights)
            return question.claim.risk.of(plans.best(weights), weights) <= limit + question.claim.tau

    def cut(self, rival: Floats) -> None:
        """The rivals are part of the criterion."""


class MeetingFrontier(PlanFrontier):
    """Boxes that are judged by a list of plans and by the best plans of all that were met, at candidates."""

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        if self.known is not None:
            return None
        point = ForestFrontier.advance(self, nodes, cutoff)
        if point is None or self._stands(point):
            return point
        if self.refused is not None and np.array_equal(point, self.refused):
            self.exclude(point)  # by rounding, a rival that was met does not refute the set here
        self.refused = point
        return None

    #: The candidate that was refuted last.
    refused: Floats | None = None

    def _stands(self, point: Floats) -> bool:
        plans, question, weights = self.question.claim.plans, self.question, self.weights(point)
        assert plans is not None
        assert plans.rival is not None
        assert isinstance(self.criterion, _core.PlanList)
        with until(question.limits.ends):
            check_time()
            rival = plans.rival(weights)
            over = question.claim.risk.of(plans.best(weights), weights) - question.claim.risk.of(rival, weights)
        if over <= question.claim.tau:
            return True
        if question.claim.risk.tail is None:
            row = leaf_means(self.kept, rival)
        else:
            row = -rival_row(question, self.kept, rival, weights)
        self.criterion.add_rivals(row[None, :])
        return False


class _Making:
    """A criterion for a set in the making: large tables are about contexts nearer than an explanation that is known."""

    def __init__(
        self, question: Question, kept: KeptGrid, plausibility: _core.Plausibility | None, look: bool = True
    ) -> None:
        assert question.claim.plans is not None
        self.question, self.kept, self.plausibility, self.plans = question, kept, plausibility, question.claim.plans
        self.known: Floats | None = None
        self.looked, self.look = False, look
        #: Whether the plans of the set are listed, but not those that it has to beat.
        self.meets = False

    def criterion(self) -> _core.Criterion | None:
        """The criterion; None where there is none of its kind, or its table would be too large."""
        plans, question, kept = self.plans, self.question, self.kept
        if plans.stock is not None:
            found = self._stock(plans.stock, plans.all_stock)
            if found is not None or question.limits.remaining <= 0:
                return found
        if plans.routes is not None and question.claim.risk.tail is None:
            return _route_criterion(question, kept, plans.routes, plans.all_routes)
        limit = question.settings.set_listed[question.claim.risk.tail is not None]
        rows, rivals = self._listed(min(limit, max(1, question.settings.set_table // kept.leaves)))
        if rows is None:
            return linear_criterion(question, kept, self.plans)
        self.meets = plans.rivals is not None and rivals is None
        decided = question.claim.rival_decision[None, :]
        alive = None
        if question.claim.risk.tail is not None and rows.size * kept.leaves > question.settings.set_large:
            alive, _ = self._alive()
        return list_criterion(question, kept, rows, decided if rivals is None else np.vstack([rivals, decided]), alive)

    def _listed(self, most: int) -> tuple[Floats | None, Floats | None]:
        """The sample costs of all plans of the set, and of all plans there are, where there are at most this many."""
        plans, memo = self.plans, self.question.memo
        if memo.get("listed", (0,))[0] != most:
            memo["listed"] = most, plans.every(most), None if plans.rivals is None else plans.rivals(most)
        _, rows, rivals = memo["listed"]
        # Whoever has a list need not solve the problem to know the best of it.
        best = plans.best if rows is None else ListedBest(rows, self.question.claim.risk.tail)
        rival = plans.rival if rivals is None else ListedBest(rivals, self.question.claim.risk.tail)
        self.plans = replace(plans, best=best, rival=rival)
        return rows, rivals

    def _alive(self) -> tuple[Ints, Ints]:
        """The leaves that hold an allowed context nearer than what is known, and the tree of each."""
        question = self.question
        if self.look and not self.looked and question.limits.node_limit is None:
            self.looked = True
            if question.known.recall is not None:
                self.known = question.known.recall(question.known.nearer_than)
            if self.known is not None and question.limits.on_progress is not None:
                # Tables take a while; whoever wants to stop says so again before the first box.
                question.limits.reached(0, question.space.distance(self.known), 0.0)
        cutoff = np.inf if self.known is None else question.space.distance(self.known)
        return alive_leaves(locate(question, self.kept), self.kept, cutoff)

    def _stock(self, stock: Stock, everything: Stock | None) -> _core.StockCriterion | None:
        if stock.demand.size * self.kept.leaves > self.question.settings.set_large:
            self._alive()  # a context that is known makes all boxes smaller
        made = [_stock_table(self.question, self.kept, one) for one in (stock, everything) if one is not None]
        if not all(one.whole for one in made):
            return None
        rival = leaf_means(self.kept, self.question.claim.rival_decision)
        limit = None if everything is None else stock.limit_beside(everything)
        return _core.StockCriterion(made[0], rival, made[1] if len(made) > 1 else None, stock.budget, limit)

    def stopped(self) -> Answer:
        """What is known where the time is up before the search begins."""
        distance = np.inf if self.known is None else self.question.space.distance(self.known)
        return Answer("time_limit", self.known, distance, 0.0, cell=self.known_cell)

    @property
    def known_cell(self) -> tuple[Floats, Floats] | None:
        """Where what is known may be rounded: beside a threshold, only the grid knows its side."""
        rules = self.question.space.rules
        rows = rules if rules is not None and len(rules.rows) else None
        return None if self.known is None else cell_beyond(self.question, self.kept, rows, self.known)


def _stock_table(question: Question, kept: KeptGrid, stock: Stock) -> _core.StockTable:
    """Return the table of quantities, which is made once for all questions about the same forest and quantities."""
    arrays = (stock.demand, stock.holding, stock.backorder, stock.lower, stock.upper, np.array([stock.budget]))
    key = b"".join(blake2b(np.ascontiguousarray(one).tobytes()).digest() for one in arrays)
    made = kept.tables.pop(key, None)
    if made is None:
        tree = np.repeat(np.arange(kept.trees, dtype=np.int32), np.diff(kept.grid.first_leaf[: kept.trees + 1]))
        made = _core.StockTable(
            kept.leaf_samples, np.ascontiguousarray(stock.demand), stock.holding, stock.backorder,
            stock.lower, stock.upper, np.arange(kept.leaves, dtype=np.int32), tree,
            _dearest(question, kept, stock), question.limits.remaining,
        )  # fmt: skip
    if made.whole:
        kept.tables[key] = made  # the latest one comes last
    while len(kept.tables) > question.settings.stock_tables:
        kept.tables.pop(next(iter(kept.tables)))
    return made


def _dearest(question: Question, kept: KeptGrid, stock: Stock) -> float:
    """Return the most that a unit of the budget is taken to be worth: more than in the past contexts looked at.

    Whatever it is, prices up to it bound the cost of quantities that keep the budget; with this one they nearly always
    bound it as well as can be.
    """
    if not np.isfinite(stock.budget):
        return 0.0
    past = cells_of_past(question, kept)
    some = past[:: 1 + (len(past) - 1) // question.settings.budget_looks]
    return question.settings.budget_margin * max(_unit_worth(stock, _weights(question, kept, one)) for one in some)


def _unit_worth(stock: Stock, weights: Floats) -> float:
    """Return what a further unit of the budget gains under these weights, at the quantities that use it up."""
    some = np.flatnonzero(weights)
    demand = np.clip(stock.demand[some].T, stock.lower[:, None], stock.upper[:, None])
    order = np.argsort(demand, axis=1)
    demand = np.take_along_axis(demand, order, axis=1)
    mass = weights[some][order]
    rates = (stock.holding + stock.backorder)[:, None]
    gain = (stock.backorder[:, None] - rates * (np.cumsum(mass, axis=1) - mass)).ravel()
    width = np.diff(demand, axis=1, prepend=stock.lower[:, None]).ravel()
    best = np.argsort(-gain, kind="stable")
    last = int(np.searchsorted(np.cumsum(width[best]), stock.budget - stock.lower.sum()))
    return max(0.0, float(gain[best[last]])) if last < best.size else 0.0


def list_criterion(
    question: Question, kept: KeptGrid, plans: Floats, rivals: Floats, alive: Ints | None = None
) -> _core.PlanList | None:
    """The criterion that some plan must not cost more than any rival, both given by sample costs, one row a plan.

    None where its table would be too large. Under CVaR it is about contexts with `alive` leaves, which are those of all
    allowed contexts where none are given.
    """
    criterion, tail = _plan_list(question, kept), question.claim.risk.tail
    if tail is None:
        criterion.add_rivals(row_of_plans(kept, rivals))
        criterion.add_plans(row_of_plans(kept, plans))
        return criterion
    if alive is None:
        alive, _ = alive_leaves(locate(question, kept), kept, np.inf)
    for costs in rivals:
        criterion.add_tail_rival(kept.grid, kept.leaf_samples, tail, *distinct(costs), alive)
        if criterion.rival_rows * kept.leaves > question.settings.set_table or question.limits.remaining <= 0:
            return None
    for costs in plans:
        tau = float(question.claim.tau)
        criterion.add_tail_plan(kept.grid, kept.leaf_samples, tail, *distinct(costs), alive, tau)
        if criterion.plans * kept.leaves > question.settings.set_table or question.limits.remaining <= 0:
            return None
    return criterion


def _plan_list(question: Question, kept: KeptGrid) -> _core.PlanList:
    """Return a list without plans yet, whose rows keep to the memory that the question may take."""
    made = _core.PlanList(kept.leaves)
    made.limit_memory(question.limits.memory)
    return made


def _worth(question: Question, kept: KeptGrid, most: int) -> Floats | None:
    """What each leaf adds to the excess of every plan of a set over the decision; None where there are more plans."""
    assert question.claim.plans is not None
    costs = question.claim.plans.every(most)
    return None if costs is None else row_of_plans(kept, costs) - leaf_means(kept, question.claim.rival_decision)


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
    networks = [one for one in (routes, everything) if one is not None]
    if max(max(one.costs.shape[1], one.nodes) for one in networks) * kept.leaves > question.settings.set_table:
        return None
    tables = [_route_table(kept, one) for one in networks]
    criterion = _plan_list(question, kept)
    criterion.add_rivals(leaf_means(kept, question.claim.rival_decision)[None, :])
    criterion.set_routes(tables[0], tables[1] if len(tables) > 1 else None)
    return criterion


def _route_table(kept: KeptGrid, routes: Routes) -> _core.RouteTable:
    costs = routes.costs if kept.mass is None else routes.costs * kept.mass[:, None]
    divisor = kept.total * kept.trees
    return _core.RouteTable(np.ascontiguousarray(costs), kept.leaf_samples, divisor, routes.network())


def _weights(question: Question, kept: KeptGrid, cells: Ints) -> Floats:
    return weights_at(kept, kept.leaves_at(cells), question.claim.alternative.size)


#: Up to this share of the observations that count, their costs are sorted anew: a leaf holds few of them.
FEW = 0.25


class ListedBest:
    """Given weights, the sample costs of the best of some plans; the first of a tie.

    Parameters
    ----------
    rows : ndarray of shape (plans, n)
        What the plans cost under each past observation.
    tail : float, optional
        The worst share of which the mean is taken; the mean of all where there is none.

    Examples
    --------
    >>> best = ListedBest(np.array([[1.0, 9.0], [4.0, 4.0]]), tail=0.5)
    >>> best(np.array([0.5, 0.5]))
    array([4., 4.])
    """

    def __init__(self, rows: Floats, tail: float | None) -> None:
        self.rows, self.tail = rows, tail
        # The worst observations of every plan come first.
        self.order = None if tail is None else np.argsort(-rows, axis=1, kind="stable")
        self.sorted = None if self.order is None else np.take_along_axis(rows, self.order, axis=1)

    def __call__(self, weights: Floats) -> Floats:
        """The sample costs of the best plan."""
        best: Floats = self.rows[int(np.argmin(self.values(weights)))]
        return best

    def values(self, weights: Floats) -> Floats:
        """The risk of every plan, in proportion."""
        if self.tail is None or self.order is None or self.sorted is None:
            return np.asarray(self.rows @ weights)
        some = np.flatnonzero(weights)
        if some.size <= FEW * weights.size:
            rows = self.rows[:, some]
            order = np.argsort(-rows, axis=1, kind="stable")
            costs, mass = np.take_along_axis(rows, order, axis=1), weights[some][order]
        else:
            costs, mass = self.sorted, weights[self.order]
        before = np.cumsum(mass, axis=1) - mass
        return np.asarray((np.minimum(mass, np.maximum(self.tail - before, 0.0)) * costs).sum(axis=1))
