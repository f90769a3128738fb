"""The answer as a rule: the largest box around an explanation in which it stays true, grown face by face.

Beyond each face of the box lies a slab of cells. The first cell of it, counted from the face, at which the criterion
is broken says exactly how far the face may move; it is found by the search for the nearest explanation, asked the other
way round. Whatever a later face adds, that cell stays beyond this one, so that one pass leaves a box that no further
cell fits.

For an absolute explanation the box is grown against the plans that are known, and then looked at cell by cell: a plan
that beats the alternative in one of them becomes known, and the box is grown again. Where there are too many cells for
that, the search for sets of plans is asked for a cell in which any plan beats the alternative; with standard errors,
plans that can be listed are asked one by one. Where they cannot, cells are drawn at random, and the region says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.claims.plans import PlanBeats
from whence.claims.sets import Plans, about_set
from whence.features.space import Space
from whence.question import Answer, Question
from whence.search import set_search as plan_sets
from whence.search.forest_search import add_plan, add_rival, confident_excess, criterion_of
from whence.search.grid import KeptGrid, grid_of, leaf_means, locate, weights_at
from whence.search.regions_confident import Refuting, looked_through
from whence.util.aliases import Floats
from whence.util.linear_program import OutOfTime

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Region:
    """A box of contexts in which an explanation stays true."""

    #: Lowest and highest allowed coordinates: every allowed context between them belongs to it.
    lower: Floats
    upper: Floats
    #: Of coordinates that are categories: whether it is one of the region's. True for numbers.
    categories: Bools
    #: Of each coordinate: whether the region leaves it as free as the question does.
    full: Bools
    #: First and last cell in every column of the forest.
    low: Ints
    high: Ints
    #: Whether no further cell fits in any direction; otherwise the time was up before that was known.
    maximal: bool
    #: Whether the criterion is known to hold in all of it. Of an absolute explanation, it is known against the plans
    #: met, and against all plans where every cell was looked at, or a search for any other plan covered them.
    proved: bool
    #: Plans that the alternative was held against.
    plans: int
    #: Boxes examined.
    nodes: int

    def contains(self, points: Floats) -> Bools:
        """Which of the points, in coordinates and one per row, lie in the region."""
        return np.asarray(((points >= self.lower) & (points <= self.upper)).all(axis=1))


def region(question: Question, point: Floats, *, anything: Plans | None = None) -> Region | None:
    """The largest box around `point`, an explanation in coordinates, in which the question's criterion holds.

    It lies within what the question allows. Features that `point` leaves as they are today are freed first, then what
    moved grows away from the start, then towards it. None where the time limit passes before the forest is laid out.
    Of an absolute question, `anything` are all plans there are, for regions of more cells than can be looked at; with
    standard errors, its `better` must name the best plan at any weights: see
    :func:`whence.search.forest_search.explain`.
    """
    kept = grid_of(question)
    if kept is None:
        return None
    if question.space.everywhere is not None:
        # Whether a change is large enough to be suggested says nothing about where the suggestion stays true.
        question = question.in_space(question.space.everywhere)
    plans = [question.claim.rival_decision]
    breaches = [_breach(question, kept, one) for one in plans if not _never_broken(question.claim, one)]
    refuting = None
    if question.claim.kappa and anything is not None and question.claim.kind == "absolute":
        refuting = Refuting(question, kept, anything)
    nodes = 0
    while True:
        grower = _Grower(question, kept, point, breaches, nodes, len(plans))
        grower.grow()
        if question.claim.kind == "relative":
            return grower.region(True)
        try:
            rival, proved = grower.beaten(anything, refuting, plans)
        except OutOfTime:
            return grower.region(False)
        # A plan that is known already beats the alternative there by rounding alone.
        if rival is None or any(np.array_equal(rival, one) for one in plans):
            return grower.region(proved)
        plans.append(rival)
        breaches.append(_breach(question, kept, rival))
        nodes = grower.nodes


def _never_broken(claim: PlanBeats, rival: Floats) -> bool:
    """Whether the alternative costs no more than a rival in any past observation: then it does nowhere.

    With standard errors that is so where both cost the same, and there is nothing to disagree about.
    """
    over = claim.alternative - rival
    return bool((over == 0.0).all() if claim.kappa else (over <= 0.0).all())


def _breach(question: Question, kept: KeptGrid, rival: Floats) -> _core.Criterion:
    """The criterion that holds where that of the question is broken.

    Without standard errors both plans change places: the decision must cost less than the alternative, by more than
    tau.
    """
    alternative = question.claim.alternative
    tail = question.claim.risk.tail
    exchanged = question.claiming(alternative=rival, decision=alternative, within=0.0)
    if not question.claim.kappa:
        criterion = criterion_of(exchanged, kept)
        add_rival(criterion, exchanged, kept, alternative)
        return criterion
    if tail is None:
        mean = _core.MeanBreach(kept.leaves, question.claim.kappa)
        mean.add_rival(leaf_means(kept, alternative - rival))
        return mean
    breach = _core.TailBreach(kept.leaf_samples, tail, question.claim.kappa)
    add_plan(breach, question, kept, rival)
    add_plan(breach, question, kept, alternative)
    return breach


class _Grower:
    """The box under way: cells `low` to `high` in every column."""

    def __init__(
        self, question: Question, kept: KeptGrid, point: Floats, breaches: list[_core.Criterion], nodes: int, plans: int
    ) -> None:
        self.question, self.kept, self.breaches, self.plans = question, kept, breaches, plans
        self.point = point
        # Broken means more than tau.
        self.tau = float(np.nextafter(-question.claim.tau, -np.inf))
        self.located = locate(question, kept)
        self.first, self.last, self.group = self.located.first, self.located.last, self.located.group
        self.distance = self.located.distance
        self.anchor = kept.cells_at(point, question.inputs)
        self.low, self.high = self.anchor.copy(), self.anchor.copy()
        self.moved = self.anchor != self.located.start
        self.maximal = True
        self.nodes = nodes

    def grow(self) -> None:
        """Move every face as far as it goes."""
        for members, up in growth_order(self.group, self.moved, self.anchor >= self.located.start):
            if self.group[members[0]] >= 0:
                self._add_categories(members)
            else:
                self._move(int(members[0]), up)

    def _cells(self, column: int) -> Ints:
        """The allowed cells of a column."""
        first = self.kept.face_start[column] + column
        finite = np.isfinite(self.distance[first + self.first[column] : first + self.last[column] + 1])
        return np.asarray(np.flatnonzero(finite) + self.first[column], dtype=np.int32)

    def _move(self, column: int, up: bool) -> None:
        """Move one face of a number up to the first bad cell beyond it."""
        cells = self._cells(column)
        beyond = cells[cells > self.high[column]] if up else cells[cells < self.low[column]][::-1]
        if beyond.size == 0:
            return
        low, high, start = self.low.copy(), self.high.copy(), self.anchor.copy()
        low[column], high[column] = beyond.min(), beyond.max()
        start[column] = self.high[column] if up else self.low[column]
        good = beyond[np.abs(beyond - beyond[0]) < self._good(low, high, start, column)]
        if good.size and up:
            self.high[column] = good[-1]
        elif good.size:
            self.low[column] = good[-1]

    def _add_categories(self, members: NDArray[np.int64]) -> None:
        """Add the categories in which no cell is bad, one after the other."""
        first = self.kept.face_start[members] + members
        may_go_off = np.isfinite(self.distance[first])
        may_go_on = np.isfinite(self.distance[first + self.last[members]]) & (self.last[members] > 0)
        for i, column in enumerate(members.tolist()):
            others = np.delete(may_go_off, i)
            if self.high[column] > 0 or not (may_go_on[i] and others.all()):
                continue
            low, high, start = self.low.copy(), self.high.copy(), self.anchor.copy()
            low[members] = high[members] = start[members] = 0
            low[column] = high[column] = start[column] = self.last[column]
            if self._good(low, high, start, column) == np.inf:
                # Several categories are on: each of them may be off.
                self.low[members] = 0
                self.high[column] = self.last[column]

    def _good(self, low: Ints, high: Ints, start: Ints, column: int) -> float:
        """How many cells of the column, counted from the start, are good in all of a slab; infinite for all."""
        part = self.located.part(low, high, start, column)
        return min((self._first_bad(part, breach) for breach in self.breaches), default=np.inf)

    def _first_bad(self, part: _core.Located, breach: _core.Criterion) -> float:
        search = _core.ForestSearch(part, breach, self.tau)
        reached, bound = looked_through(search, self.question, self.nodes)
        self.nodes += search.examined
        if not reached and bound < np.inf:
            self.maximal = False
        return bound / _core.Located.ONE_CELL

    def beaten(
        self, anything: Plans | None, refuting: Refuting | None, known: Sequence[Floats]
    ) -> tuple[Floats | None, bool]:
        """A plan that beats the alternative somewhere in the box, if one was met, and whether there is surely none.

        An OutOfTime where the time limit passes.
        """
        looked, all_of_them = self._sample()
        if not all_of_them and anything is not None and not self.question.claim.kappa:
            return self._beaten_by(anything)
        if not all_of_them and refuting is not None:
            found = refuting.refuted(self._whole(), known, self.anchor, self.nodes)
            self.nodes = refuting.nodes
            if found is not None:
                return found
        seen: set[bytes] = set()
        for cells in looked:
            leaves = self.kept.leaves_at(cells)
            if leaves.tobytes() in seen:
                continue
            seen.add(leaves.tobytes())
            rival = self.question.rival(weights_at(self.kept, leaves, self.question.claim.alternative.size))
            if rival is None:
                continue
            over = confident_excess(self.question, self.kept, leaves, rival)
            if over > self.question.claim.tau:
                return rival, False
        return None, all_of_them

    def _beaten_by(self, anything: Plans) -> tuple[Floats | None, bool]:
        """The same by one search for the set of all plans."""
        question, box = self.question, self.region(False)
        # Cells are known without rules, as for the growing itself.
        space = replace(within_box(question.space, self.point, box.lower, box.upper), rules=None)
        found, none = beaten_within(question, space, anything, plan_sets.explain)
        if found is None:
            return None, none
        leaves = self.kept.leaves_at(self.kept.cells_at(found, question.inputs))
        rival = question.rival(weights_at(self.kept, leaves, question.claim.alternative.size))
        # What beats the alternative by rounding alone would be met again and again.
        known = rival is None or confident_excess(question, self.kept, leaves, rival) <= question.claim.tau
        return None if known else rival, False

    def _whole(self) -> _core.Located:
        """All cells of the box, counted from an end of it along one column."""
        numbers = np.flatnonzero(self.group < 0)
        start = np.where(self.group < 0, self.high, self.anchor).astype(np.int32)
        return self.located.part(self.low, self.high, start, int(numbers[0]) if numbers.size else 0)

    def _sample(self) -> tuple[Ints, bool]:
        """Cells of the box: all of them, or as many as are looked at."""
        choices: list[Ints] = []
        places: list[NDArray[np.int64]] = []
        for g in np.unique(self.group[self.group >= 0]).tolist():
            members = np.flatnonzero(self.group == g)
            on = np.flatnonzero(self.high[members] > 0)
            rows = np.zeros((on.size, members.size), dtype=np.int32)
            rows[np.arange(on.size), on] = self.last[members[on]]
            choices.append(rows)
            places.append(members)
        for c in np.flatnonzero(self.group < 0).tolist():
            cells = self._cells(c)
            choices.append(cells[(cells >= self.low[c]) & (cells <= self.high[c])][:, None])
            places.append(np.array([c]))
        sizes = [len(rows) for rows in choices]
        looks = self.question.settings.region_looks
        whole = float(np.prod(sizes, dtype=np.float64)) <= looks
        if whole:
            picks = np.indices(sizes).reshape(len(sizes), -1)
        else:
            rng = np.random.default_rng(0)
            picks = np.array([rng.integers(0, size, looks) for size in sizes])
        found = np.empty((picks.shape[1], self.anchor.size), dtype=np.int32)
        for rows, place, pick in zip(choices, places, picks, strict=True):
            found[:, place] = rows[pick]
        return found, whole

    def region(self, proved: bool) -> Region:
        """The box in coordinates."""
        space, inputs = self.question.space, self.question.inputs
        lower, upper = space.start.copy(), space.start.copy()
        categories = np.ones(space.start.size, dtype=bool)
        full = np.ones(space.start.size, dtype=bool)
        for c, q in enumerate(inputs.coordinate.tolist()):
            cells = self._cells(c)
            full[q] = self.low[c] <= cells[0] and self.high[c] >= cells[-1]
            if self.group[c] >= 0:
                categories[q] = self.high[c] > 0
                lower[q], upper[q] = (0.0 if self.low[c] == 0 else 0.5), (0.5 if self.high[c] > 0 else 0.0)
                continue
            lower[q], upper[q] = self._ends(c, q)
        return Region(lower, upper, categories, full, self.low, self.high, self.maximal, proved, self.plans, self.nodes)

    def _ends(self, column: int, q: int) -> tuple[float, float]:
        """The allowed coordinates of the cells of a column: from the lowest to the highest."""
        space, kept = self.question.space, self.kept
        bottom, top = kept.span(column, int(self.low[column]), int(self.high[column]))
        levels = space.levels[q]
        start = space.start[q]
        own = [start] if bottom <= start <= top else []
        if levels is not None:
            inside = levels[
                (levels >= bottom) & (levels <= top) & (levels >= space.lower[q]) & (levels <= space.upper[q])
            ]
            own += inside.tolist()
        else:
            ends = max(bottom, space.lower[q]), min(top, space.upper[q])
            own += list(ends) if ends[0] <= ends[1] else []
        return float(min(own)), float(max(own))


def growth_order(group: NDArray[Any], moved: Bools, above: Bools) -> Iterator[tuple[NDArray[np.int64], bool]]:
    """Yield members and directions in the order in which they grow: what stayed, then away from the start, the rest.

    Categories grow as a whole. `above` says which numbers lie at the start or above it.
    """
    groups = [np.flatnonzero(group == g) for g in np.unique(group[group >= 0])]
    numbers = np.flatnonzero(group < 0)
    for having_moved in (False, True):
        for members in groups:
            if moved[members].any() == having_moved:
                yield members, True
        for away in (True, False):
            for j in numbers[moved[numbers] == having_moved]:
                yield np.array([j]), bool(above[j]) == away


def within_box(space: Space, point: Floats, lower: Floats, upper: Floats) -> Space:
    """The allowed contexts between `lower` and `upper`, seen from `point`, which is one of them."""
    levels = tuple(
        None if own is None else own[((own >= lower[j]) & (own <= upper[j])) | (own == point[j])]
        for j, own in enumerate(space.levels)
    )
    low, high = np.maximum(space.lower, lower), np.minimum(space.upper, upper)
    # Where nothing but a start beyond the bounds is left, it is all there is.
    alone = low > high
    return replace(
        space,
        start=point,
        lower=np.where(alone, point, low),
        upper=np.where(alone, point, high),
        levels=levels,
        ends=None,
        gap=None,
        everywhere=None,
        initial=None,
        fee=None,
    )


def beaten_within(
    question: Question, box: Space, anything: Plans, sets: Callable[[Question], Answer]
) -> tuple[Floats | None, bool]:
    """A context of `box` in which some plan beats the alternative, if one was met, and whether all of it was covered.

    The question is absolute and without standard errors: ``within`` and tau say when the alternative is beaten.
    `anything` are all plans there are, and `sets` is the search for sets of plans that belongs to its weights.
    """
    # Beaten: (1 + within) times the best costs less than the alternative, by more than tau. The search for sets
    # allows for tau by itself.
    factor = 1.0 + question.claim.within
    more = float(np.nextafter(question.claim.tau, np.inf))
    short = question.claim.within / factor, more / factor + question.claim.tau
    claim = replace(
        about_set(question.claim.relative().plain().cheaper_by(*short), anything),
        decision=question.claim.alternative,
        within=0.0,
    )
    asked = replace(question, space=replace(box, plausibility=None, few=None), claim=claim, memo={})
    answer = sets(asked)
    return answer.point, answer.status == "none"
