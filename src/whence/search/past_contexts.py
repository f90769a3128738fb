"""Answers without a search: contexts that were handed over, and past contexts in which the claim holds.

What the plans of a question cost in every past context is known at once, by the leaves of all past contexts or by their
weights: one product a plan. What the best plan costs there is bounded from above by every plan met so far, and solved
for where the claim depends on it. Whatever is found is judged by the fitted estimator, and then pulled nearer.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.claims.forecast_costs import OrderBeats
from whence.claims.plans import PlanBeats
from whence.claims.sets import APART, rivals_there, worst_rival
from whence.errors import InputError, InternalError
from whence.question import Question
from whence.search.forest_search import add_rival, criterion_of, prepared
from whence.search.grid import KeptGrid, few_changes, leaf_means, locate, weights_at
from whence.search.proposals import Ints, allowed_cells, cells_of_past, contexts_in_time
from whence.util.aliases import Floats
from whence.util.linear_program import OutOfTime, check_time, until
from whence.weights import TreeWeights
from whence.weights.metrics import seen_in_coordinates

Mask = NDArray[np.bool_]


def recalls(question: Question) -> bool:
    """Whether past contexts can be looked at: the claim is about weights, of trees, neighbours or kernels."""
    own = hasattr(question.weights, "inputs_") or hasattr(question.weights, "points_")
    claim = question.claim
    return own and isinstance(claim, PlanBeats) and not isinstance(claim, OrderBeats)


def stands(question: Question, point: Floats) -> bool:
    """Whether a context is allowed and the claim holds there, judged by the fitted estimator itself."""
    rules = question.space.rules
    # To the last digit, as the searches keep to rules: at the very end of "less than 5" lies 5.
    if not question.space.contains(point) or (rules is not None and not rules.keeps_exactly(point)):
        return False
    row = question.inputs.row(point)
    try:
        weights = question.weights.confirmed(row, question.settings.separation)
    except (InputError, InternalError):  # ambiguous there, or too far from every past context
        return False
    with until(question.limits.ends):
        check_time()
        return _refuting(question, weights, row) is None


def _refuting(question: Question, weights: Floats, row: Floats) -> Floats | None:
    """Return the sample costs of a plan that refutes the claim in a context with these weights, None where it holds."""
    claim = question.claim
    rivals = [claim.rival_decision]
    if claim.plans is None:
        among = [claim.alternative]
        best = claim.rival(weights)
        rivals += [] if best is None else [best]
    elif claim.kappa:
        rows = claim.plans.every(APART)
        among = [claim.plans.best(weights)] if rows is None else list(rows)
        rivals = rivals_there(claim, weights)
    else:
        among = [claim.plans.best(weights)]
        rivals += [] if claim.plans.rival is None else [claim.plans.rival(weights)]
    trees = question.weights.per_tree(row) if claim.kappa else None
    refuting: Floats | None = None
    for costs in among:
        cost = claim.risk.of(costs, weights)
        refuting = next((one for one in rivals if cost > claim.risk.of(one, weights) + claim.tau), None)
        if refuting is None and trees is not None:
            refuting = worst_rival(claim, costs, rivals, trees)[1]
        if refuting is None:
            return None
    return refuting


def nearest_known(question: Question) -> Floats | None:
    """Return the nearest of the contexts handed over in which the claim holds, if there is one."""
    for point in sorted(question.known.contexts, key=question.space.distance):
        try:
            if question.space.distance(point) < question.known.nearer_than and stands(question, point):
                return point
        except OutOfTime:
            break
    return None


class Candidates(ABC):
    """Past contexts as a question allows them, nearest first."""

    question: Question
    distance: Floats

    @abstractmethod
    def point(self, i: int) -> Floats:
        """Return the coordinates of one of them."""

    @abstractmethod
    def costs(self, values: Floats) -> Floats:
        """Return the risk, in each of them, of a plan with these sample costs."""

    @abstractmethod
    def weights(self, i: int) -> Floats:
        """Return the weights of the past observations in one of them."""

    def least(self) -> tuple[Floats, Mask]:
        """Return what the best plan costs at most in each of them, and where that is exact, as far as is known."""
        return np.full(self.distance.size, np.inf), np.zeros(self.distance.size, dtype=np.bool_)

    def keep(self, least: Floats, solved: Mask) -> None:  # noqa: B027
        """Keep what was learned of it for other questions; nothing where these set other contexts back."""


class PastCells(Candidates):
    """Past contexts of a forest, each with what it may not be set back to the start."""

    def __init__(self, question: Question, kept: KeptGrid, cutoff: float) -> None:
        self.question, self.kept, self.located = question, kept, locate(question, kept)
        past = cells_of_past(question, kept)
        cells = allowed_cells(kept, self.located, past)
        distance = self.located.distance[kept.places(cells)].sum(axis=1)
        near = distance < cutoff
        few = question.space.few
        if few is not None:
            near &= self._changes(cells) <= few.most + len(few.free)
        nearest = np.argsort(np.where(near, distance, np.inf), kind="stable")[: question.settings.recall_looks]
        self.which = nearest[near[nearest]]
        self.cells, self.distance = np.ascontiguousarray(cells[self.which]), distance[self.which]
        #: Those that are past contexts as they were.
        self.own = (self.cells == past[self.which]).all(axis=1)

    def _changes(self, cells: Ints) -> NDArray[np.int64]:
        """Return how many features differ from the start."""
        feature = self.question.space.feature[self.question.inputs.coordinate]
        moved = cells != self.located.start
        changed = [moved[:, feature == f].any(axis=1) for f in np.unique(feature)]
        return np.asarray(np.sum(changed, axis=0), dtype=np.int64)

    @cached_property
    def leaves(self) -> Ints:
        """The leaf of every tree in each of them; those of past contexts are kept with the forest."""
        kept = self.kept
        if not self.own.all():
            return np.ascontiguousarray(kept.grid.leaves_of(self.cells)[:, : kept.trees])
        if kept.past_leaves is None:
            assert kept.past is not None
            kept.past_leaves = np.ascontiguousarray(kept.grid.leaves_of(kept.past)[:, : kept.trees])
        own: Ints = kept.past_leaves[self.which]
        return own

    def point(self, i: int) -> Floats:
        return self.kept.nearest_point(self.located, self.cells[i], self.question.inputs)

    def costs(self, values: Floats) -> Floats:
        return risk_at_leaves(self.kept, self.leaves, values, self.question.claim.risk.tail)

    def weights(self, i: int) -> Floats:
        return weights_at(self.kept, self.leaves[i], self.question.claim.alternative.size)

    def least(self) -> tuple[Floats, Mask]:
        least, solved = self._kept_least()
        return np.where(self.own, least[self.which], np.inf), self.own & solved[self.which]

    def keep(self, least: Floats, solved: Mask) -> None:
        own = self.which[self.own]
        for kept, learned in zip(self._kept_least(), (least, solved), strict=True):
            kept[own] = learned[self.own]

    def _kept_least(self) -> tuple[Floats, Mask]:
        kept, n = self.kept, self.question.claim.alternative.size
        if kept.past_least is None:
            kept.past_least = np.full(n, np.inf), np.zeros(n, dtype=np.bool_)
        return kept.past_least


def risk_at_leaves(kept: KeptGrid, leaves: Ints, values: Floats, tail: float | None) -> Floats:
    """Return the risk of a plan with these sample costs in contexts with these leaves, one row a context."""
    if tail is None:
        found: Floats = leaf_means(kept, values)[leaves].sum(axis=1)
        return found
    return kept.leaf_samples.tail_means(leaves, np.ascontiguousarray(values), tail)


class PastPoints(Candidates):
    """Past contexts of neighbours or kernels, each with what it may not be set back to the start."""

    def __init__(self, question: Question, cutoff: float) -> None:
        self.question, space = question, question.space
        weights: Any = question.weights
        points, _ = seen_in_coordinates(weights.points_, question.inputs, space.start.size)
        inside: Mask = (points >= space.lower) & (points <= space.upper)
        for j, levels in enumerate(space.levels):
            if levels is not None:
                inside[:, j] &= (np.abs(points[:, j, None] - levels) <= 1e-9).any(axis=1)
        for g in np.unique(space.group[space.group >= 0]):
            members = space.group == g
            inside[:, members] = inside[:, members].all(axis=1, keepdims=True)
        points = np.where(inside, points, space.start)
        distance = np.array([space.away(j, points[:, j]) for j in range(space.start.size)]).sum(axis=0)
        looks = min(question.settings.recall_looks, max(1, question.settings.recall_numbers // len(points)))
        nearest = np.argsort(distance, kind="stable")[:looks]
        nearest = nearest[distance[nearest] < cutoff]
        self.points, self.distance = points[nearest], distance[nearest]

    @cached_property
    def _shares(self) -> Any:
        inputs = self.question.inputs
        return self.question.weights.weights(self.points[:, inputs.coordinate] * inputs.scale + inputs.offset, True)

    def point(self, i: int) -> Floats:
        point: Floats = self.points[i]
        return point

    def costs(self, values: Floats) -> Floats:
        risk = self.question.claim.risk
        if risk.tail is None:
            return np.asarray(self._shares @ values)
        return np.array([risk.of(values, self.weights(i)) for i in range(len(self.points))])

    def weights(self, i: int) -> Floats:
        return np.asarray(self._shares[[i]].toarray()[0])


class _Few:
    """What plans cost in the past contexts that are left: by their own weights, once they are few."""

    def __init__(self, past: Candidates, few: int) -> None:
        self.past, self.few = past, few
        self.which, self.shares = np.empty(0, dtype=np.int64), np.empty((0, 0))

    def costs(self, values: Floats, left: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
        """Return contexts, among them all that are left, and the risk there of a plan with these sample costs."""
        if left.size > self.few:
            return np.arange(self.past.distance.size), self.past.costs(values)
        if not self.which.size:
            self.which, self.shares = left, np.array([self.past.weights(i) for i in left.tolist()])
        return self.which, np.asarray(self.past.question.claim.risk.of_each(values, list(self.shares)))


class Recall:
    """What is known of a question without a search, whatever a frontier makes of its claim."""

    def __init__(self, question: Question) -> None:
        self.question = question

    def __call__(self, cutoff: float) -> Floats | None:
        """Return the nearest context known that is nearer than `cutoff` and in which the claim holds."""
        question = self.question
        seconds = min(question.settings.recall_seconds, 0.25 * question.limits.remaining)
        if seconds <= 0.0 or not recalls(question):
            return None
        self.cutoff, self.best = cutoff, cast("Floats | None", None)
        self.ends = time.perf_counter() + seconds
        try:
            with until(self.ends):
                self._look()
        except OutOfTime:
            pass
        return self.best

    def _look(self) -> None:
        question = self.question
        kept: KeptGrid | None = None
        self.plausibility: _core.Plausibility | None = None
        if isinstance(question.weights, TreeWeights):
            kept, self.plausibility = prepared(question)
            if kept is None:
                return
        self.rivals: list[Floats] = []
        known = nearest_known(question)
        if known is not None:
            self._take(known)
            self._improve(kept, known)
        self.work = question.settings.recall_work
        past = PastPoints(question, self.cutoff) if kept is None else PastCells(question, kept, self.cutoff)
        if not past.distance.size:
            return
        found = self._holding(past) if question.claim.plans is None else self._holding_set(past)
        if found is not None:
            self._take(found)
            self._improve(kept, found)

    def _spend(self, work: float) -> None:
        """Count work, in seconds that it takes about: what is found does not depend on how busy the machine is."""
        check_time()
        self.work -= work
        if self.work < 0.0:
            raise OutOfTime("Past contexts were looked at for as long as that pays.")

    def _take(self, point: Floats) -> None:
        distance = self.question.space.distance(point)
        if distance < self.cutoff:
            self.best, self.cutoff = point, distance

    # ---- past contexts ---------------------------------------------------------------------------------------------

    def _holding(self, past: Candidates) -> Floats | None:
        """Return the past context in which one plan does, the nearest of those that are known to."""
        claim = self.question.claim
        cost = past.costs(claim.alternative)
        left = cost <= past.costs(claim.rival_decision) + claim.tau
        if claim.kind == "relative" or claim.kappa:
            return self._first(past, np.flatnonzero(left))
        least, solved = past.least()
        try:
            return self._best_there(past, cost, left, least, solved)
        finally:
            past.keep(least, solved)

    def _best_there(self, past: Candidates, cost: Floats, left: Mask, least: Floats, solved: Mask) -> Floats | None:
        """Return the past context, among those `left`, in which one plan is as good as the best."""
        claim, few = self.question.claim, _Few(past, self.question.settings.recall_few)
        while True:
            self._spend(self.question.settings.recall_solve)
            limit = (1.0 + claim.within) * least + claim.tau
            left &= cost <= limit
            some = np.flatnonzero(left)
            if not some.size:
                return None
            sure = some[solved[some]]
            if sure.size:
                found = self._first(past, sure[:1])
                if found is not None:
                    return found
                left[sure[0]] = False
                continue
            # Where the best plan met so far is dearest beside the alternative, no better one may be left to meet.
            i = int(some[np.argmax(np.minimum(limit, 1e300)[some] - cost[some])])
            rival = claim.rival(past.weights(i))
            solved[i] = True
            if rival is not None:
                self.rivals.append(rival)
                at, found_there = few.costs(rival, some)
                least[at] = np.minimum(least[at], found_there / (1.0 + claim.within))
                left[i] = False

    def _first(self, past: Candidates, among: NDArray[np.int64]) -> Floats | None:
        """Return the nearest of some past contexts that stands."""
        for i in among.tolist():
            self._spend(self.question.settings.recall_solve)
            point = past.point(i)
            if stands(self.question, point):
                return point
        return None

    def _holding_set(self, past: Candidates) -> Floats | None:
        """Return a past context in which some plan of the set does: plans that are best elsewhere are tried first."""
        claim, plans = self.question.claim, self.question.claim.plans
        assert plans is not None
        limit, least = past.costs(claim.rival_decision), np.full(past.distance.size, np.inf)
        refused, solved = np.zeros(least.size, dtype=np.bool_), np.zeros(least.size, dtype=np.bool_)
        spread = np.unique(np.linspace(0, least.size - 1, self.question.settings.recall_spread).astype(int)).tolist()
        while not solved.all():
            good = np.flatnonzero((least <= limit + claim.tau) & ~refused)
            if good.size:
                # With a limit that every solve may lower, the one with most to spare.
                nearest = plans.rival is None or solved[good[0]]
                i = int(good[0] if nearest else good[np.argmax((limit - least)[good])])
                found = self._first(past, np.array([i]))
                if found is not None:
                    return found
                refused[i] = True
            else:
                i = spread.pop(0) if spread else int(np.argmin(np.where(solved, np.inf, least - limit)))
            if not solved[i]:
                self._spend(self.question.settings.recall_solve)
                weights = past.weights(i)
                solved[i] = True
                np.minimum(least, past.costs(plans.best(weights)), out=least)
                if plans.rival is not None:
                    rival = plans.rival(weights)
                    self.rivals.append(rival)
                    np.minimum(limit, past.costs(rival), out=limit)
        return self._first(past, np.flatnonzero((least <= limit + claim.tau) & ~refused))

    # ---- nearer ------------------------------------------------------------------------------------------------------

    def _improve(self, kept: KeptGrid | None, point: Floats) -> None:
        claim, self.work = self.question.claim, self.question.settings.recall_nearer
        with suppress(OutOfTime):
            if kept is None or claim.risk.tail is not None or (claim.kappa and claim.plans is not None):
                self._pull(point)
            else:
                self._exchange(kept, point)

    def _exchange(self, kept: KeptGrid, point: Floats) -> None:
        """Pull a context nearer and exchange its columns, by rivals that are met on the way."""
        question, settings = self.question, self.question.settings
        located, few = locate(question, kept), few_changes(question)
        cells = kept.cells_at(point, question.inputs)
        plans = question.claim.plans
        for _ in range(settings.recall_turns):
            asked = question
            if plans is not None:
                asked = replace(question, claim=question.claim.of_plan(plans.best(self._weights(kept, cells))))
            criterion = criterion_of(asked, kept)
            for rival in (question.claim.rival_decision, *self.rivals[-settings.recent_rivals :]):
                add_rival(criterion, asked, kept, rival)
            self._spend(settings.recall_solve)
            seconds = min(settings.proposal_seconds, self.work)
            looks, tau = contexts_in_time(kept, criterion, seconds), float(question.claim.tau)
            left = max(0.0, self.ends - time.perf_counter())
            proposals = _core.Proposals(located, criterion, tau, looks, left, self.plausibility, few)
            proposals.found = self.cutoff
            proposals.exchange(cells[None, :], 1, *settings.exchange_long)
            self.work -= seconds * (1.0 - proposals.looks / looks)
            if proposals.found >= self.cutoff:
                return
            nearer = np.array(proposals.best)
            if self._stands_nearer(kept, nearer):
                cells = nearer

    def _stands_nearer(self, kept: KeptGrid, cells: Ints) -> bool:
        """Whether the claim holds at these cells; what refutes it counts from now on."""
        question, located = self.question, locate(self.question, kept)
        point = kept.nearest_point(located, cells, question.inputs)
        if stands(question, point):
            self._take(point)
            return True
        rival = _refuting(question, self._weights(kept, cells), question.inputs.row(point))
        self.rivals += [] if rival is None else [rival]
        return False

    def _weights(self, kept: KeptGrid, cells: Ints) -> Floats:
        return weights_at(kept, kept.leaves_at(cells), self.question.claim.alternative.size)

    def _pull(self, point: Floats) -> None:
        """Set one feature after the other back to the start, or half of the way again and again."""
        space = self.question.space
        moved = space.moved(point)
        for f in sorted(np.unique(space.feature).tolist(), key=lambda f: -float(moved[space.feature == f].sum())):
            own = space.feature == f
            if not moved[own].any():
                continue
            low, high = 0.0, 1.0
            for share in (1.0, *(None,) * self.question.settings.recall_halvings):
                at = share or 0.5 * (low + high)
                nearer = point.copy()
                nearer[own] += at * (space.start - point)[own]
                if at == 1.0:
                    nearer[own] = space.start[own]
                self._spend(self.question.settings.recall_solve)
                if stands(self.question, nearer):
                    self._take(nearer)
                    low = at
                else:
                    high = at
                if low == 1.0:
                    break
            if low:
                point = point.copy()
                point[own] = space.start[own] if low == 1.0 else (point + low * (space.start - point))[own]
