"""Nearest explanations of forest policies: best-first search over the cells of the forest."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.features.space import Space
from whence.question import Answer, Question, earlier, remember
from whence.search import driver
from whence.search.extend_grid import Region, isolated, nearest_under_rows, related
from whence.search.forest_criteria import (
    add_rival,
    confident_excess,
    confidently,
    criterion_of,
    rival_row,
)
from whence.search.grid import KeptGrid, cell_beyond, few_changes, grid_of, leaf_means, locate, weights_at
from whence.search.potential_phase import PlanByPlan
from whence.search.proposals import (
    climbed,
    contexts_in_time,
    descended,
    exchanged,
    nearest_first,
    past_cells,
    pulled,
)
from whence.settings import SearchSettings
from whence.util.aliases import Floats
from whence.weights import TreeWeights
from whence.weights.plausibility import Isolation

__all__ = ["ForestFrontier", "against_decision", "equal_shares", "explain", "prepared", "starts_of"]


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
        self.value = self.located.value
        self.plausibility = plausibility
        self.tail = question.claim.risk.tail is not None
        self.absolute = question.claim.kind == "absolute"
        patience = (self.settings.patience_confident if question.claim.is_confident else self.settings.patience)[
            self.tail
        ]
        self.deep = kept.grid.leaves > self.settings.many_leaves * kept.grid.trees
        searched = self.deep and question.claim.plans is not None
        #: Boxes to examine before each proposal.
        self.stages = (
            (patience, self.settings.stalled, self.settings.exchange_from)
            if searched
            else (patience, self.settings.stalled)
        )
        # The spread of a CVaR over the trees is known from whole tables only: all boxes share the rivals.
        self.in_common = self.tail and question.claim.is_confident
        self.given = criterion is None and (self.in_common or (self.tail and not self.absolute))
        self.criterion: _core.Criterion
        if criterion is not None:
            self.criterion = criterion
        elif self.in_common:
            self.criterion = _core.ConfidentTailCriterion(_plans(question, kept), question.claim.kappa)
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
        """Boxes examined so far."""
        return self.examined_before + self.search.examined

    @property
    def memory(self) -> int:
        """Bytes that boxes and what was learned on the way take, about."""
        return self.search.bytes

    def cut(self, rival: Floats) -> None:
        """Ask that the alternative cost no more than `rival`."""
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
        """Leave out the region in which every tree has the same leaf as at the point handed out last."""
        self._leave_out(self.shown, False)

    def _leave_out(self, cells: Ints, every_tree: bool) -> None:
        self.excluded.append((cells, every_tree))
        self.search.exclude(cells, every_tree)

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Search on; the nearest candidate left, if it was reached."""
        if self._due() or self.pending is not None:
            return None
        self.proposing = False
        dear = self.tail or self.question.claim.is_confident
        # Of a set, as long as no explanation is known, there may be none: the plain bound proves that sooner.
        worth = self.question.claim.plans is None or cutoff < np.inf
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
        region = Region.around(self.question, self.kept, self.located, cells)
        point = nearest_under_rows(self.question, self.kept, region, self.rows)
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
        point = np.empty(cells.size)
        point[self.question.inputs.coordinate] = self.value[self.kept.places(cells)]
        return point

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
        grid, trees = self.kept.grid, self.kept.trees
        over = [self.criterion.excess(grid.leaves_at(cells)[:trees]).over for cells in starts]
        return starts[np.argsort(over, kind="stable")[: self.settings.descents]]

    @property
    def leaves(self) -> Ints:
        """Leaves of the forest at the point handed out last."""
        return self.kept.grid.leaves_at(self.shown)[: self.kept.trees]

    def leaves_of(self, point: Floats) -> Ints:
        """Leaves of the forest at a point that was found."""
        inputs = self.question.inputs
        cells = [self.kept.cells_of(c, point[[q]], inputs)[0] for c, q in enumerate(inputs.coordinate.tolist())]
        return self.kept.grid.leaves_at(np.array(cells, dtype=np.int32))[: self.kept.trees]

    def weights(self, point: Floats) -> Floats:
        """Weights at the point handed out last."""
        return self._weights()

    def _weights(self) -> Floats:
        """The same, from the leaves of its cells."""
        return weights_at(self.kept, self.leaves, self.question.claim.alternative.size)

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        """The part of the cell around `point` that lies beyond it, seen from the start, along what moved."""
        return cell_beyond(self.question, self.kept, self.rows, point)


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
        if kept.past is None:
            kept.past = past_cells(kept, cast(TreeWeights, question.weights).inputs_, question.inputs)
        known = question.memo["starts"] = located, nearest_first(kept, located, kept.past, question.settings.tried)
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
    plausibility = None
    isolation = question.space.plausibility if isinstance(question.space.plausibility, Isolation) else None
    rules = question.space.rules
    if kept is not None and rules is not None and rules.as_trees:
        kept, plausibility = related(question, kept, rules, isolation)
    elif kept is not None and isolation is not None:
        kept, plausibility = isolated(question, kept, isolation)
    return kept, plausibility


def against_decision(question: Question, frontier: ForestFrontier) -> Question:
    """The question whose `better` also names the decision, where that must be beaten by something.

    Boxes that ask for the best plan hand out points that need not hold against the decision. Where no plan is better,
    the alternative costs no more than the decision, but it may have to cost less.
    """
    if not (question.claim.is_confident or question.claim.must_be_cheaper):
        return question

    def better(weights: Floats) -> Floats | None:
        found: Floats | None = question.claim.rival(weights)
        if found is not None or not frontier.eager:
            return found
        sure = question.claim.is_confident
        stands = _holds_at(question, frontier.kept, frontier.leaves) if sure else question.claim.is_satisfied(weights)
        return None if stands else question.claim.rival_decision

    return question.refuted_by(better)


def explain(question: Question) -> Answer:
    """Answer a question about a forest policy."""
    kept, plausibility = prepared(question)
    if kept is None:
        return Answer("time_limit", None, np.inf, 0.0)
    before = earlier(question) if question.claim.is_confident else None
    if before is not None and before.settles(lambda leaves: _holds_at(question, kept, leaves)):
        return replace(before.answer, nodes=0)
    frontier = ForestFrontier(question, kept, plausibility)
    if before is not None:
        frontier.bound = before.answer.bound
    if question.claim.is_confident and frontier.absolute:
        question = confidently(question, kept, lambda: frontier.leaves)
        frontier.question = question
    if PlanByPlan.suits(frontier):
        worth = leaf_means(kept, question.claim.alternative - question.claim.rival_decision)
        answer = driver.run(question, PlanByPlan(frontier, lambda most: worth[None, :]))
    else:
        answer = driver.run(against_decision(question, frontier), frontier)
    remember(question, answer, None if answer.point is None else frontier.leaves_of(answer.point))
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
