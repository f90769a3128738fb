"""Nearest explanations of forest policies: best-first search over the cells of the forest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.features.space import Space
from whence.question import Answer, Question, earlier, remember
from whence.search import driver
from whence.search.extend_grid import extended, nearest_under_rows
from whence.search.frontiers import PlanByPlan
from whence.search.grid import KeptGrid, cell_beyond, few_changes, grid_of, leaf_means, locate, weights_at
from whence.search.linear_sets import best_criterion
from whence.search.proposals import (
    cells_of_past,
    climbed,
    contexts_in_time,
    descended,
    exchanged,
    nearest_first,
    pulled,
)
from whence.settings import SearchSettings
from whence.util.aliases import Floats
from whence.weights.plausibility import Isolation

Ints = NDArray[np.int32]


class ForestFrontier:
    """Boxes of cells in the order of their distance."""

    def __init__(
        self,
        question: Question,
        kept: KeptGrid,
        plausibility: _core.Plausibility | None = None,
        criterion: _core.Criterion | None = None,
    ) -> None:
        self.question, self.settings = question, question.settings
        self.kept = kept
        self.located = _located(question, kept)
        self.plausibility = plausibility
        claim = question.claim
        self.tail, self.sure = claim.risk.tail is not None, claim.kappa > 0.0
        self.absolute = claim.kind == "absolute"
        patience = (self.settings.patience_confident if self.sure else self.settings.patience)[self.tail]
        self.deep = kept.grid.leaves > self.settings.many_leaves * kept.grid.trees
        #: Boxes to examine before each proposal.
        self.stages: tuple[int, ...] = (patience, self.settings.stalled)
        if self.deep and claim.plans is not None:
            self.stages += (self.settings.exchange_from,)
        # The spread of a CVaR over the trees is known from whole tables only: all boxes share the rivals.
        self.in_common = self.tail and self.sure
        self.given = criterion is None and (self.in_common or (self.tail and not self.absolute))
        self.criterion: _core.Criterion
        if criterion is not None:
            self.criterion = criterion
        elif self.in_common:
            self.criterion = _core.ConfidentTailCriterion(_plans(question, kept), claim.kappa)
        elif self.given:
            self.criterion = _plans(question, kept)
        else:
            self.criterion = criterion_of(question, kept)
        self.few = few_changes(question)
        self.search = self._new_search()
        self.columns = kept.grid.columns
        self.shown = self.located.start
        self.excluded: list[tuple[Ints, bool]] = []
        rules = question.space.rules
        self.related = rules is not None
        self.rows = rules if rules is not None and len(rules.rows) else None
        #: A point that keeps the rows, and its cells, where the nearest one of its region does not.
        self.pending: tuple[Floats, Ints] | None = None
        self.examined_before = 0
        self.bound = 0.0
        self.proposed = 0
        self.asking = False
        self.eager = False
        self.proposing = False
        self.refuted = 0
        #: Cells of the latest proposal.
        self.near: Ints | None = None
        self.shares: _core.Shares | None = None

    @property
    def nodes(self) -> int:
        return self.examined_before + self.search.examined

    @property
    def memory(self) -> int:
        return self.search.bytes

    def cut(self, rival: Floats) -> None:
        if self.given:
            self.given = False  # the decision is one of the plans that were given
            return
        if self.in_common or not (self.asking or self.proposing):
            self.refuted += self.proposing
            add_rival(self.criterion, self.question, self.kept, rival)
            return
        row = rival_row(self.question, self.kept, rival, self._weights() if self.tail else None)
        if self.proposing:
            self.search.meet(row)
            self.refuted += 1
        else:
            self.search.answer(row)

    def exclude(self, point: Floats) -> None:
        self._leave_out(self.shown, False)

    def _leave_out(self, cells: Ints, every_tree: bool) -> None:
        self.excluded.append((cells, every_tree))
        self.search.exclude(cells, every_tree)

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        if self._due() or self.pending is not None:
            return None
        self.proposing = False
        dear = self.tail or self.sure
        # Of a set, as long as no explanation is known, there may be none: the plain bound proves that sooner.
        worth = self.question.claim.plans is None or cutoff < np.inf
        # On deep trees parts of quantities bound more than the one sum that the strong bound would be about.
        worth = worth and not (self.deep and isinstance(self.criterion, _core.StockCriterion))
        if (
            self.shares is None
            and worth
            and self.nodes >= self.settings.stalled
            and self.columns >= self.settings.strong_from[dear]
        ):
            self.shares = equal_shares(self.kept, self.located, min(cutoff, 2.0), self.settings.buckets)
        sharp = self._is_sharp(dear)
        if self.absolute:
            self._ask_in_boxes()
            # Boxes that ask for the best plan settle nothing next to the start alone.
            sharp = sharp or self.eager
        # Slices follow the clock; they end where the course of the search is decided, so that it does not.
        for milestone in (
            self.settings.first_look,
            self.settings.eager_from,
            *self.stages,
            self.settings.sharp_from[self.tail],
            self.settings.sharper_from,
        ):
            if self.nodes < milestone:
                nodes = min(nodes, milestone - self.nodes)
        seconds = self.question.limits.remaining
        reached, bound = self.search.advance(nodes, cutoff, self.shares, sharp, seconds)
        self.bound = max(self.bound, bound)
        return self._keeping_rows(self.search.cells) if reached else None

    def _is_sharp(self, dear: bool) -> bool:
        """Whether boxes are split where both halves come nearest to being settled."""
        if self.shares is None:
            one = self.question.claim.plans is None
            begun = self.nodes >= self.settings.sharp_from[self.tail] or one == self.deep
            return begun and (self.columns <= self.settings.sharp_to or not one)
        return self.deep or (not dear and not self.absolute and self.nodes >= self.settings.sharper_from)

    def _keeping_rows(self, cells: Ints) -> Floats | None:
        """The point of cells that were reached; None, with a proposal that waits, where it breaks a row."""
        point = self.point_of(cells)
        if self.rows is None or self.rows.keeps_rows(point):
            return point
        # The region is done with, whatever its nearest point is; where the criterion is about plans that are still to
        # be met, the driver asks for them there.
        self.pending = self._nearest_kept(cells)
        self._leave_out(cells, True)
        return None

    def _nearest_kept(self, cells: Ints) -> tuple[Floats, Ints] | None:
        """The nearest point that keeps the rows, where all trees have the leaves of these cells, and the cells."""
        assert self.rows is not None
        point = nearest_under_rows(self.question, self.kept, self.located, cells, self.rows)
        return None if point is None else (point, cells)

    def _ask_in_boxes(self) -> None:
        """Where a few rivals for all boxes did not settle an absolute question, give every box its own."""
        # Boxes that ask at once do so at points that rules may rule out.
        eager = self.nodes >= self.settings.eager_from and not self.in_common and not self.related
        many = self.criterion.rivals > self.settings.common_rivals
        if (eager or many) and not self.in_common and (not self.asking or eager != self.eager):
            if eager:
                self._begin_anew()
            self.search.ask_in_boxes(eager)
            self.asking, self.eager = True, eager

    def _begin_anew(self) -> None:
        """Search from the start again: boxes that ask are split elsewhere, and the many small ones left would stay."""
        self.examined_before += self.search.examined
        self.search = self._new_search()
        for cells, every_tree in self.excluded:
            self.search.exclude(cells, every_tree)

    def _new_search(self) -> _core.ForestSearch:
        question = self.question
        threads = question.settings.threads or 1
        tau = float(question.claim.tau)
        return _core.ForestSearch(self.located, self.criterion, tau, threads, self.plausibility, self.few)

    def point_of(self, cells: Ints) -> Floats:
        """Coordinates of the nearest point of a cell."""
        self.shown = cells
        return self.kept.nearest_point(self.located, cells, self.question.inputs)

    def _due(self) -> int:
        """Which proposal should be looked for before the search goes on: 1, 2 or 3, or 0 for none."""
        large = (
            self.kept.grid.leaves > self.settings.large_forest
            and self.question.limits.remaining > self.settings.large_forest_seconds
        )
        stage = self.proposed + 1
        if self.absolute:
            after = self.settings.first_look * self.settings.later_look**self.proposed
            return 2 - stage % 2 if self.nodes >= after else 0
        if stage > len(self.stages):
            return 0
        return stage if (large and stage <= 2) or self.nodes >= self.stages[stage - 1] else 0

    def propose(self, cutoff: float) -> Floats | None:
        """A context that satisfies all cuts: a past one pulled towards the start; later by climbing, and exchanges."""
        if self.pending is not None:
            point, self.shown = self.pending
            self.pending, self.proposing = None, True
            return point
        stage = self._due()
        if stage == 0:
            return None
        cells = self._proposal(stage, cutoff)
        # A plan that refutes a proposal of an absolute question makes the next one better.
        self.proposing = cells is not None
        if not self.absolute or cells is None or self.refuted >= self.settings.refuted:
            self.proposed += 1
            self.refuted = 0
        if cells is None:
            return None
        self.near = cells
        point = self.point_of(cells)
        if self.rows is None or self.rows.keeps_rows(point):
            return point
        kept = self._nearest_kept(cells)
        return None if kept is None else kept[0]

    def _proposal(self, stage: int, cutoff: float) -> Ints | None:
        seconds = 0.25 * self.question.limits.remaining
        if self.absolute and not self.in_common:
            self.search.show_latest(self.settings.recent_rivals)
        proposals = self._proposals(self.criterion, seconds)
        starts = starts_of(self.question, self.kept, self.located)
        if stage == 2:
            found = climbed(proposals, cutoff)
            far = self.question.claim.plans is not None and self.few is None and cutoff == np.inf
            if found is not None or not far:
                return found
            proposals = self._proposals(self.criterion, seconds)
            proposals.looks *= self.settings.descent_looks
            return descended(proposals, self._least_short(starts))
        if stage == 3:
            proposals.looks *= self.settings.exchange_looks
            return exchanged(proposals, starts, self.near, cutoff, self.settings)
        passing = self.settings.exchange_passing if self.tail else None
        return pulled(proposals, starts, cutoff, self.settings.improved[self.tail], passing)

    def _proposals(self, criterion: _core.Criterion, seconds: float) -> _core.Proposals:
        left = contexts_in_time(self.kept, criterion, min(self.settings.proposal_seconds, seconds))
        tau = float(self.question.claim.tau)
        proposals = _core.Proposals(self.located, criterion, tau, left, seconds, self.plausibility, self.few)
        proposals.none_nearer = self.bound
        return proposals

    def _least_short(self, starts: Ints) -> Ints:
        """The starts that miss the criterion by least."""
        over = [self.criterion.excess(self.kept.leaves_at(cells)).over for cells in starts]
        return starts[np.argsort(over, kind="stable")[: self.settings.descents]]

    @property
    def may_go_plan_by_plan(self) -> bool:
        """Whether the question is one that plans by themselves can answer (`PlanByPlan`)."""
        settings, plans, grid = self.settings, self.question.claim.plans, self.kept.grid
        return (
            (plans is None or (plans.rivals is None and plans.rival is None and plans.stock is None))
            and not (self.absolute or self.tail or self.sure or self.related)
            and self.plausibility is None
            and self.few is None
            and self.columns >= settings.potentials_columns
            and grid.leaves <= settings.potentials_leaves * grid.trees
        )

    @property
    def leaves(self) -> Ints:
        """Leaves of the forest at the point handed out last."""
        return self.kept.leaves_at(self.shown)

    def weights(self, point: Floats) -> Floats:
        return self._weights()

    def _weights(self) -> Floats:
        """The same, from the leaves of its cells."""
        return weights_at(self.kept, self.leaves, self.question.claim.alternative.size)

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        return cell_beyond(self.question, self.kept, self.rows, point)


class _WholeFrontier(ForestFrontier):
    """Boxes that are judged by a criterion that knows all rivals."""

    def cut(self, rival: Floats) -> None:
        """The rivals are part of the criterion."""


def _located(question: Question, kept: KeptGrid) -> _core.Located:
    """The allowed cells of the question, which claims by any number of standard errors share."""
    known: tuple[Space, KeptGrid, _core.Located] | None = question.memo.get("located")
    if known is None or known[0] is not question.space or known[1] is not kept:
        known = question.memo["located"] = question.space, kept, locate(question, kept)
    return known[2]


def starts_of(question: Question, kept: KeptGrid, located: _core.Located) -> Ints:
    """Past contexts from which proposals begin, nearest first; they are shared likewise."""
    known: tuple[_core.Located, Ints] | None = question.memo.get("starts")
    if known is None or known[0] is not located:
        past = cells_of_past(question, kept)
        known = question.memo["starts"] = located, nearest_first(kept, located, past, question.settings.tried)
    return known[1]


def _plans(question: Question, kept: KeptGrid) -> _core.TailCriterion:
    """The CVaR tables of the alternative and the decision, which claims by any number of standard errors share."""
    asked = question.claim.compared
    known, plans = question.memo.get("plans", ((), None))
    if plans is None or any(one is not other for one, other in zip(asked, known, strict=True)):
        plans = criterion_of(question.plain(), kept)
        add_rival(plans, question, kept, question.claim.rival_decision)
        question.memo["plans"] = asked, plans
    assert isinstance(plans, _core.TailCriterion)
    return plans


def prepared(question: Question) -> tuple[KeptGrid | None, _core.Plausibility | None]:
    """The grid of the question's trees, with further ones that say which contexts are usual and can exist.

    The grid is None where the time is up before it is built.
    """
    kept = grid_of(question)
    isolation = question.space.plausibility if isinstance(question.space.plausibility, Isolation) else None
    rules = question.space.rules
    rules = rules if rules is not None and rules.as_trees else None
    if kept is None or (rules is None and isolation is None):
        return kept, None
    return extended(question, kept, isolation, rules)


def hurried(question: Question, kept: KeptGrid) -> Question:
    """The question, which looks at past contexts after a few boxes where these are dear: those of a large forest."""
    settings = question.settings
    if kept.grid.leaves <= settings.large_forest:
        return question
    return replace(question, settings=replace(settings, recall_after=min(settings.recall_after, settings.recall_large)))


def against_decision(question: Question, frontier: ForestFrontier) -> Question:
    """The question whose `better` also names the decision, where that must be beaten by something.

    Boxes that ask for the best plan hand out points that need not hold against the decision. Where no plan is better,
    the alternative costs no more than the decision, but it may have to cost less.
    """
    if not (frontier.absolute and (frontier.sure or question.claim.must_be_cheaper)):
        return question

    def better(weights: Floats) -> Floats | None:
        found: Floats | None = question.claim.rival(weights)
        if found is not None or not frontier.eager:
            return found
        if frontier.sure:
            stands = _holds_at(question, frontier.kept, frontier.leaves)
        else:
            stands = question.claim.is_satisfied(weights)
        return None if stands else question.claim.rival_decision

    return question.refuted_by(better)


def explain(question: Question) -> Answer:
    """Answer a question about a forest policy."""
    kept, plausibility = prepared(question)
    if kept is None:
        return Answer("time_limit", None, np.inf, 0.0)
    question = hurried(question, kept)
    before = earlier(question) if question.claim.kappa else None
    if before is not None and before.settles(lambda leaves: _holds_at(question, kept, leaves)):
        return replace(before.answer, nodes=0)
    linear = best_criterion(question, kept)
    if linear is not None:
        return driver.run(question, _WholeFrontier(question.relative(), kept, plausibility, linear))
    frontier = ForestFrontier(question, kept, plausibility)
    if before is not None:
        frontier.bound = before.answer.bound
    if frontier.sure and frontier.absolute:
        question = confidently(question, kept, lambda: frontier.leaves)
        frontier.question = question
    if frontier.may_go_plan_by_plan:
        worth = leaf_means(kept, question.claim.alternative - question.claim.rival_decision)
        answer = driver.run(question, PlanByPlan(frontier, lambda most: worth[None, :]))
    else:
        answer = driver.run(against_decision(question, frontier), frontier)
    found = None if answer.point is None else kept.leaves_at(kept.cells_at(answer.point, question.inputs))
    remember(question, answer, found)
    return answer


def _holds_at(question: Question, kept: KeptGrid, leaves: Ints) -> bool:
    """Whether the decision is beaten by this many standard errors where the trees have these leaves."""
    if question.claim.risk.tail is None:
        over = confident_excess(question, kept, leaves, question.claim.rival_decision)
    else:
        over = _core.ConfidentTailCriterion(_plans(question, kept), question.claim.kappa).excess(leaves).over
    return over <= question.claim.tau


def equal_shares(
    kept: KeptGrid, located: _core.Located, reach: float, buckets: int = SearchSettings.buckets
) -> _core.Shares:
    """Equal shares among the trees that ask for a column, over steps up to the distance `reach`."""
    start, group, all_distances = located.start, located.group, located.distance
    d = start.size
    bucket = np.zeros(all_distances.size, dtype=np.int32)
    edges: list[float] = []
    begins: list[int] = []
    columns: list[int] = []
    many = max(2, min(buckets, 4000 // d))
    for j in range(d):
        first = kept.face_start[j] + j
        cells = np.arange(first, kept.face_start[j + 1] + j + 1)
        distance = all_distances[cells]
        below = np.arange(cells.size) < start[j]
        for side in (below, ~below):
            inside = side & np.isfinite(distance)
            steps = np.unique(distance[inside & (distance <= reach)])
            steps = steps[steps > 0]
            if steps.size > many:
                steps = np.quantile(steps, np.linspace(0, 1, many + 1)[:-1])
            # A bucket begins where the one before it ends; the first at the start itself.
            begin = len(edges)
            marks = np.concatenate([[0.0], steps[:-1]]) if steps.size else np.zeros(1)
            edges += marks.tolist()
            begins += [begin] * marks.size
            columns += [j] * marks.size
            within = np.searchsorted(marks, distance[inside], side="left") - 1
            bucket[cells[inside]] = begin + np.clip(within, 0, marks.size - 1)
    asks = kept.grid.asks
    for g in np.unique(group[group >= 0]):
        members = np.flatnonzero(group == g)
        asks[members] = asks[members].max(axis=0)
    asks = (asks + 1e-9) / (asks + 1e-9).sum(axis=1, keepdims=True)
    part = np.ascontiguousarray(asks[columns])
    return _core.Shares(located, bucket, np.array(edges), np.array(begins, dtype=np.int32), part)


# ---- criteria: what the leaves say about the alternative and its rivals ------------------------------------------

#: Seconds that a number takes, about; a table that would take a fifth of the time left is not made.
ONE_NUMBER = 1e-8
#: Costs of a plan count as one where they differ by at most this share of its largest: far more than rounding, far
#: less than any tolerance.
SAME = 1e-12


def criterion_of(question: Question, kept: KeptGrid) -> _core.Criterion:
    """The criterion of the question's risk, without any rival yet, with the claim's standard errors over the trees."""
    tail, kappa = question.claim.risk.tail, question.claim.kappa
    if tail is None and kappa == 0.0:
        return _core.MeanCriterion(kept.leaves)
    if tail is None:
        return _core.ConfidentMeanCriterion(kept.leaves, kappa)
    criterion = _core.TailCriterion(kept.leaf_samples, tail)
    add_plan(criterion, question, kept, question.claim.alternative)
    return criterion if kappa == 0.0 else _core.ConfidentTailCriterion(criterion, kappa)


def add_rival(criterion: _core.Criterion, question: Question, kept: KeptGrid, costs: Floats) -> None:
    """Ask that the alternative cost no more than one more plan with these sample costs."""
    if isinstance(criterion, _core.TailCriterion):
        add_plan(criterion, question, kept, costs)
    else:
        assert isinstance(criterion, _core.MeanCriterion)
        criterion.add_rival(leaf_means(kept, question.claim.alternative - costs))


def rival_row(question: Question, kept: KeptGrid, costs: Floats, weights: Floats | None) -> Floats:
    """What each leaf adds to the criterion against a plan with these sample costs.

    Any threshold bounds the CVaR of the plan from above; the one that is taken is the best under `weights`, which
    expected costs do not need.
    """
    tail = question.claim.risk.tail
    if tail is None or weights is None:
        return leaf_means(kept, question.claim.alternative - costs)
    order = np.argsort(-costs, kind="stable")
    begins = order[min(int(np.searchsorted(np.cumsum(weights[order]), tail)), order.size - 1)]
    level = float(costs[begins])
    return -leaf_means(kept, level + np.maximum(costs - level, 0.0) / tail)


def add_plan(criterion: _core.TailCriterion, question: Question, kept: KeptGrid, costs: Floats) -> None:
    """Add the table of a plan with these sample costs."""
    etas, rank = distinct(costs)
    numbers = kept.leaves * etas.size
    in_time = 0.2 * max(question.limits.remaining, 0.0) / ONE_NUMBER
    room = question.settings.tail_tables - kept.leaves * criterion.all_etas
    criterion.add_plan(etas, rank, kept=numbers <= min(question.settings.tail_table, in_time, room))


def distinct(costs: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """The distinct costs in ascending order, and which of them each cost is.

    Sums such as 0.1 + 0.2 and 0.3 are one number that was computed in two ways. A group reaches as far as `SAME` from
    its smallest cost and no farther, so that a chain of close costs does not become one.
    """
    values, rank = np.unique(costs, return_inverse=True)
    width = SAME * float(np.abs(values).max())
    first = np.flatnonzero(np.diff(values, prepend=-np.inf) > width)
    last = np.append(first[1:], values.size) - 1
    if (values[last] - values[first] > width).any():
        begins = [0]
        while begins[-1] < values.size:
            begins.append(int(np.searchsorted(values, values[begins[-1]] + width, side="right")))
        first = np.array(begins[:-1])
    group = np.searchsorted(first, np.arange(values.size), side="right") - 1
    return values[first], group[rank.ravel()].astype(np.int32)


def confident_excess(question: Question, kept: KeptGrid, leaves: Ints, rival: Floats) -> float:
    """By how much the alternative costs more than a rival, standard errors included, where trees have these leaves.

    Expected cost: the value of a tree is the mean difference in its leaf, and the standard error is that of the mean
    over the trees. CVaR: both plans are judged at the thresholds that suit the whole forest, so that the trees' values
    add up to the difference of both CVaR, and to first order say how it changes with the trees.
    """
    criterion = criterion_of(question, kept)
    add_rival(criterion, question, kept, rival)
    return criterion.excess(leaves).over


def confidently(question: Question, kept: KeptGrid, leaves: Callable[[], Ints]) -> Question:
    """The question whose `better` refuses the alternative where the best plan beats it within its standard errors.

    An absolute explanation by standard errors stands, by this many of them, against the best plan at its context
    and against every plan met on the way; all of these are necessary for standing against every plan there is, so
    that the distance is a lower bound on that too.
    `leaves` gives those of the forest where the plan was asked for last.
    """

    def better(weights: Floats) -> Floats | None:
        best: Floats | None = question.claim.rival(weights)
        if best is None or confident_excess(question, kept, leaves(), best) <= question.claim.tau:
            return None
        return best

    return question.refuted_by(better)
