"""The exact nearest explanation of a nearest-neighbour policy: best-first over boxes of contexts."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from whence._core import AxisKind, NeighbourProgress, NeighbourSearch, Places, Rules
from whence.claims.sets import excess
from whence.errors import InputError
from whence.question import Answer, Question, earlier, remember
from whence.search import driver
from whence.search.frontiers import LISTED, Around, OneByOne, confidently
from whence.search.neighbour_axes import ROBUST, Axes, Layout, Seeds, rules_of
from whence.util.aliases import Floats
from whence.util.linear_program import check_time, until
from whence.weights import KNNWeights
from whence.weights.plausibility import Nearby

#: Rounding allowance on costs inside the search; what it lets through is judged again by the risk measure itself.
ROUNDING = 1e-12

#: Share of the largest cost by which the alternative must do better where a cut and a fresh solve disagree.
DISAGREEMENT = 1e-9


#: The answer where there is no other context.
NOWHERE = Answer("none", None, np.inf, np.inf)


class AxesFrontier(ABC):
    """Boxes of contexts along axes in the order of their distance (see :class:`whence.search.driver.Frontier`).

    What searches among neighbours and kernels have in common: proposals, and a judgement by the weights themselves.
    """

    bound: float

    def __init__(self, question: Question, layout: Layout, search: Any) -> None:
        self.question, self.settings, self.layout, self.search = question, question.settings, layout, search
        self.rivals: list[Floats] = []
        self.bound = 0.0
        #: By which share of its distance an explanation may be farther than the nearest one, and what is proved: no
        #: explanation is nearer. Unlike that, `bound` counts what is within the gap as proved.
        self.gap = question.weights.capabilities.proof_gap
        self.proved = 0.0
        self.milestone = self.settings.first_milestone
        few = question.space.few
        self.seeds = Seeds(layout.axes, search, self.settings, None if few is None else few.most)
        #: The point handed out last.
        self.shown: Floats | None = None

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Boxes examined so far."""

    @property
    def memory(self) -> int:
        return int(self.search.bytes)

    @abstractmethod
    def cut(self, rival: Floats) -> None:
        """From now on the alternative must cost no more than a plan with these sample costs."""

    def exclude(self, point: Floats) -> None:
        """Ask the alternative to do a hair better from now on, which leaves out `point`."""
        self.search.tighten(DISAGREEMENT * max(float(np.abs(rival).max()) for rival in self.rivals))

    @abstractmethod
    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Examine at most `nodes` boxes; the nearest context left, once it is proved nearest, up to the gap."""

    def propose(self, cutoff: float) -> Floats | None:
        if self.nodes < self.milestone:
            return None
        self.milestone = self.nodes + max(self.settings.first_milestone, self.nodes // 8)
        at: Floats | None = None
        if self.search.met_distance < cutoff:
            at = self._met()
        elif self.nodes >= self.seeds.due:
            at = self.seeds.propose(cutoff, 0.25 * self.question.limits.remaining)
        if at is None:
            return None
        point = self.layout.to_coordinates(at)
        if self.question.space.distance(point) >= cutoff or not self._stands(point):
            return None
        self.shown = point
        return point

    def _met(self) -> Floats:
        """Take the context met on the way."""
        met: Floats = self.search.met
        return met

    def weights(self, point: Floats) -> Floats:
        return self.question.weights.at(self.question.inputs.row(point))

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        """Say that no box is known in which the weights stay the same."""
        return None

    def _stands(self, point: Floats) -> bool:
        """Whether `point` keeps the rules and satisfies all cuts, by the weights themselves."""
        if not self.question.space.keeps_rules(point):
            return False
        try:
            weights = self.weights(point)
        except InputError:
            return False
        claim = self.question.claim
        cost = claim.risk.of(claim.alternative, weights)
        kept = all(cost <= claim.risk.of(rival, weights) + claim.tau for rival in self.rivals)
        return kept and self._is_sure(weights)

    def _is_sure(self, weights: Floats) -> bool:
        """Whether the alternative stands by as many standard errors as are asked for."""
        return True


class NeighbourFrontier(AxesFrontier):
    """Boxes of contexts that have the same neighbours, in balls of growing radius."""

    nodes = 0

    def __init__(self, question: Question) -> None:
        self.estimator = weights = cast(KNNWeights, question.weights)
        layout = Layout.for_question(question, weights)
        self.axes = layout.axes
        self.plausibility = question.space.plausibility if isinstance(question.space.plausibility, Nearby) else None
        rules = rules_of(layout, question.space.rules)
        super().__init__(question, layout, _search(question, layout, self.plausibility, rules))
        self.radius = self.settings.first_radius
        self.farthest = _farthest(self.axes)
        self.candidate: Floats | None = None

    def start_at(self, proved: float) -> None:
        """Nothing nearer is an explanation: the first ball is a little larger."""
        self.bound = proved
        self.radius = max(self.radius, self.settings.wider * proved)

    def cut(self, rival: Floats) -> None:
        """From now on the alternative must cost no more than a plan with these sample costs."""
        question = self.question
        if question.claim.kappa and question.claim.risk.tail and any(np.array_equal(rival, one) for one in self.rivals):
            # Nothing new: by standard errors, these neighbours do not stand against it, wherever they are.
            assert self.shown is not None
            self.exclude(self.shown)
            return
        self.rivals.append(np.ascontiguousarray(rival, dtype=np.float64))
        counts = self.estimator.counts
        self.search.cut(self.rivals[-1] if counts is None else counts * self.rivals[-1])
        self.candidate = None

    def exclude(self, point: Floats) -> None:
        """From now on leave out the contexts that have the same neighbours as `point`.

        Where neighbours count by their distance, other contexts with the same ones may do: then the alternative must do
        a hair better from now on, which leaves out `point`.
        """
        self.candidate = None
        if self.gap:
            super().exclude(point)
            return
        self.search.exclude(self.estimator.neighbours(self.question.inputs.row(point)))

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Examine at most `nodes` boxes; the nearest context left, once it is proved nearest.

        The search goes through balls of growing radius: inside a ball little larger than the answer's distance, far
        more is decided than in whole boxes, and the last ball costs most.
        """
        if self.candidate is not None:
            return self.candidate
        # Slices follow the clock; they end where the course of the search is decided, so that it does not.
        last = min(self.nodes + nodes, self.milestone)
        wanted = (1.0 - self.gap) * cutoff
        ends = time.perf_counter() + driver.longest(self.question)
        while self.nodes < last:
            # Within one tree the radius may only shrink: what lies beyond it was cut off.
            self.radius = radius = min(wanted, self.radius)
            before = self.search.nodes
            pause, seconds = ends - time.perf_counter(), self.question.limits.remaining
            progress = self.search.advance(
                last - self.nodes, radius, self.question.settings.threads or 1, pause, seconds
            )
            self.nodes += self.search.nodes - before
            if progress is NeighbourProgress.EXHAUSTED:
                self.bound = self.proved = max(self.bound, np.inf if radius > self.farthest else radius)
                if self.bound >= wanted:
                    # Nearer by more than the gap there is nothing.
                    self.bound = max(self.bound, cutoff)
                    return None
                self.radius *= (
                    self.settings.wider if self.search.nodes > self.settings.easy_boxes else self.settings.much_wider
                )
                if wanted < self.settings.close * self.radius:
                    self.radius = wanted
                self.search.restart()
                if time.perf_counter() > ends:
                    return None
                continue
            self.bound = self.proved = max(self.bound, min(self.search.bound, radius))
            if progress is NeighbourProgress.CANDIDATE:
                point = self.layout.to_coordinates(self.search.candidate)
                if self._stands(point):
                    self.candidate = self.shown = point
                    return point
                self.exclude(point)
            if time.perf_counter() > ends:
                return None
        return None

    def _met(self) -> Floats:
        met = super()._met()
        self.search.forget_met()
        return met

    def _stands(self, point: Floats) -> bool:
        """Whether `point` has neighbours that are told apart, and satisfies all that is asked for."""
        k, question = self.axes.k, self.question
        distance = np.sort(self.estimator.far(question.inputs.row(point)))
        apart = distance[k] - distance[k - 1] >= max(question.settings.separation, ROBUST)
        return bool(apart) and super()._stands(point)

    def _is_sure(self, weights: Floats) -> bool:
        # Other rivals were the best plans elsewhere; by standard errors, only the best plan here counts, which the
        # driver asks for.
        return confident_excess(self.question, weights, self.rivals[0]) <= self.question.claim.tau


def confident_excess(question: Question, weights: Floats, rival: Floats) -> float:
    """By how much the alternative costs more than a rival, with as many standard errors over the neighbours as asked.

    Infinitely less where no standard errors are asked for: then the risk measure alone decides.
    """
    if not question.claim.kappa:
        return -np.inf
    members = np.flatnonzero(weights)
    # The tail begins where it does for all neighbours together; each of them says how the risk changes with it.
    return excess(question.claim, question.claim.alternative[members], rival[members], np.eye(members.size))


def _confidently(question: Question) -> Question:
    """The question whose `better` refuses the alternative where the best plan beats it within its standard errors."""

    def better(weights: Floats) -> Floats | None:
        best = question.claim.rival(weights)
        return None if best is None or confident_excess(question, weights, best) <= question.claim.tau else best

    return question.refuted_by(better)


def _search(question: Question, layout: Layout, plausibility: Nearby | None, rules: Rules | None) -> NeighbourSearch:
    """The search over boxes, without any cut yet."""
    axes = layout.axes
    alternative = np.ascontiguousarray(question.claim.alternative, dtype=np.float64)
    scale = max(float(np.abs(alternative).max(initial=0.0)), float(np.abs(question.claim.decision).max(initial=0.0)))
    tail = question.claim.risk.tail
    neighbours = None if tail is None else tail * axes.k
    tau = question.claim.tau + ROUNDING * scale * (1.0 + question.claim.kappa)
    counts = question.weights.counts
    if counts is not None:
        # Neighbours share in proportion to what they count for: times that, what is above tau must not exceed 0.
        alternative, tau = counts * (alternative - question.claim.tau), ROUNDING * scale * float(counts.max())
    weights = cast(KNNWeights, question.weights)
    if weights.by_distance:
        # Rounding is allowed for in the sums themselves.
        neighbours, tau = tail, 0.0 if counts is not None else question.claim.tau
    widest = np.inf if plausibility is None else plausibility.widest
    return NeighbourSearch(
        axes.each, axes.points, axes.base, axes.k, axes.separation, axes.clearance, alternative, tau, neighbours,
        widest, question.claim.kappa, rules, *few_changes(question, layout), axes.slopes, axes.entries, axes.apart,
        weights.by_distance, places_of(question, layout, weights) if weights.by_distance else None,
        free_axes(question, layout),
    )  # fmt: skip


def within_gap(answer: Answer, proved: float) -> Answer:
    """The answer with the bound that is proved, where explanations may be farther than the nearest by a gap."""
    if answer.status == "optimal" or (answer.status == "none" and proved < np.inf):
        return replace(answer, bound=min(proved, answer.distance))
    return answer


def few_changes(question: Question, layout: Layout) -> tuple[int | None, list[list[int]]]:
    """How many axes may change, and which never together; a set with a feature that cannot move bars nothing."""
    few = question.space.few
    if few is None:
        return None, []
    axis_of = {int(question.space.feature[j]): axis for axis, j in enumerate(_first_coordinates(layout))}
    barred = [[axis_of[f] for f in one] for one in few.barred if all(f in axis_of for f in one)]
    return few.most, barred


def free_axes(question: Question, layout: Layout) -> list[int]:
    """The axes whose features do not count: they follow from others, or were counted before, as a date is."""
    few = question.space.few
    if few is None or not few.free:
        return []
    return [axis for axis, j in enumerate(_first_coordinates(layout)) if int(question.space.feature[j]) in few.free]


def _first_coordinates(layout: Layout) -> list[int]:
    """By axis, its coordinate, or the first one of a category."""
    return [j if j >= 0 else int(members[0]) for j, members in zip(layout.coordinate, layout.members, strict=True)]


def _farthest(axes: Axes) -> float:
    """An upper bound on the distance of any allowed context."""
    reach = [
        axis.costs.max() if axis.kind is AxisKind.CATEGORY
        else axis.far(np.array([axis.lower, axis.upper])).max()
        for axis in axes.each
    ]  # fmt: skip
    return float(np.sum(reach))


def nothing_moves(question: Question) -> bool:
    """Whether neighbours count by a distance that is no sum, and nothing can change: there are no boxes then.

    That the criterion does not hold in the initial context is known before a search.
    """
    weights = cast(KNNWeights, question.weights)
    if not weights.by_distance or not weights.metric_.squared:
        return False
    return not Layout.for_question(question, weights).axes.each


def explain(question: Question) -> Answer:
    """Answer `question`, whose weights are nearest-neighbour weights."""
    if nothing_moves(question):
        return NOWHERE
    if question.claim.kappa and question.claim.kind == "absolute":
        question = _confidently(question)
    frontier = NeighbourFrontier(question)
    before = earlier(question) if question.claim.kappa else None
    if before is not None:
        if before.settles(
            lambda weights: confident_excess(question, weights, question.claim.rival_decision) <= question.claim.tau
        ):
            return replace(before.answer, nodes=0)
        frontier.start_at(before.answer.bound)
    answer = driver.run(question, frontier)
    if frontier.gap:
        return within_gap(answer, frontier.proved)
    remember(question, answer, None if answer.point is None else frontier.weights(answer.point))
    return answer


def by_plans(question: Question, frontier: Callable[[Question], AxesFrontier], whose: str) -> Answer | None:
    """Answer by a search for each plan of a set, that with the least bound first; None for too large a set.

    Such a set is refused where answers are proved up to a gap only.
    """
    plans, gap = question.claim.plans, question.weights.capabilities.proof_gap
    assert plans is not None
    rows = plans.every(LISTED)
    if rows is None:
        if not gap:
            return None
        raise InputError(
            f"'instead' must be one plan, or a set of at most {LISTED} plans that can be listed, {whose}. Got a larger "
            "set."
        )
    if question.claim.kind == "absolute":
        question = question.refuted_by(plans.beaten(question.claim.risk, question.claim.tau))
    each = [frontier(question.claiming(alternative=row)) for row in rows]
    answer = driver.run(question, OneByOne(question, each))
    return within_gap(answer, min(one.proved for one in each)) if gap else answer


def places_of(question: Question, layout: Layout, weights: KNNWeights) -> Places | None:
    """The places of past contexts, and how the axes move a context; None where distances are sums of differences.

    Neighbours that count by their distance need it; for all others, scores stand for its square.
    """
    if not weights.metric_.squared:
        return None
    points, inputs, start = weights.points_, question.inputs, question.space.start
    # Seen from the middle of the history, numbers lose least where they are combined.
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    turned = weights.metric_.stretched(np.eye(points.shape[1]))
    moved = np.zeros((start.size, turned.shape[1]))
    np.add.at(moved, inputs.coordinate, inputs.scale[:, None] * turned)
    origin = (inputs.offset - middle) @ turned
    columns, ranks, fixed = [], [], layout.fixed
    for j, members in zip(layout.coordinate, layout.members, strict=True):
        columns.append(moved[j] if j >= 0 else np.zeros(moved.shape[1]))
        ranks += [0.5 * moved[one] for one in (members if j < 0 else ())]
    origin = origin + start[fixed] @ moved[fixed]
    return Places(
        layout.axes.each,
        np.ascontiguousarray((points - middle) @ turned),
        np.ascontiguousarray(np.array(columns).reshape(len(columns), -1)),
        np.ascontiguousarray(np.array(ranks)) if ranks else None,
        np.ascontiguousarray(origin),
    )


def explain_sets(question: Question) -> Answer:
    """Answer a question about a set of plans and a nearest-neighbour policy."""
    plans = question.claim.plans
    assert plans is not None
    if nothing_moves(question):
        return NOWHERE
    if question.claim.kappa:
        return confidently(question, alone=NeighbourFrontier, together=_Best)
    answer = by_plans(question, NeighbourFrontier, "where neighbours count by their distance")
    if answer is not None:
        return answer
    if question.claim.kind == "absolute":
        question = question.refuted_by(plans.beaten(question.claim.risk, question.claim.tau))
    with until(question.limits.ends):
        return driver.run(question, _Foreseen(question))


class _Foreseen(Around):
    """Contexts in which foresight would do: whoever knew the outcome could not do better than its best plan.

    No plan costs less under an observation than the best one for it, so that every explanation is among them.
    """

    inner: NeighbourFrontier

    def __init__(self, question: Question) -> None:
        self.question = question
        assert question.claim.plans is not None
        self.plans = question.claim.plans
        n = question.claim.alternative.size
        foreseen = np.array([self.plans.best(row)[i] for i, row in enumerate(np.eye(n))])
        super().__init__(NeighbourFrontier(question.claiming(alternative=foreseen)))

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        last = self.nodes + nodes
        while self.nodes < last:
            found = self.inner.advance(last - self.nodes, cutoff)
            if found is None or self._stands(found):
                return found
            check_time()
            self.inner.exclude(found)
        return None

    def propose(self, cutoff: float) -> Floats | None:
        found = self.inner.propose(cutoff)
        return found if found is not None and self._stands(found) else None

    def _stands(self, point: Floats) -> bool:
        question, weights = self.question, self.weights(point)
        cost = question.claim.risk.of(self.plans.best(weights), weights)
        return all(
            cost <= question.claim.risk.of(rival, weights) + question.claim.tau for rival in self._rivals(weights)
        )

    def _rivals(self, weights: Floats) -> list[Floats]:
        """What the set's best plan must not cost more than, as sample costs."""
        return self.inner.rivals


class _Best(_Foreseen):
    """The same where an absolute question is not left to the driver: the best plan there is among the rivals."""

    def _rivals(self, weights: Floats) -> list[Floats]:
        best = [] if self.plans.rival is None else [self.plans.rival(weights)]
        return [*self.inner.rivals, *best]
