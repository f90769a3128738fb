"""Any set of plans and a forest: boxes bounded by what the set's own `solve` says about single leaves.

The least cost G over a set is concave and grows in proportion with the weights, so that G of a sum of weights is at
least the sum of their G. A context's weights are the sum of those of its leaves: with the trees that a box has decided
taken together, and the smallest G(leaf) of every other tree, that bounds the least cost over a box from below. This is
so for every risk that is a mean or the mean of the worst share, and asks for nothing but `solve`.

A leaf is solved for when a box needs it that meets few others of the kind: large boxes would ask for all leaves there
are, and are hardly ever ruled out. They are split by what the best plans of past contexts cost in their leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from whence import _core
from whence.question import Question
from whence.search.extend_grid import nearest_under_rows
from whence.search.forest_search import rival_row
from whence.search.grid import KeptGrid, cell_beyond, few_changes, leaf_means, locate, weights_at
from whence.search.proposals import Ints, cells_of_past
from whence.util.aliases import Floats
from whence.util.linear_program import OutOfTime, check_time, until
from whence.weights.trees import shares_of

#: Plans, those of the nearest past contexts, by which boxes are split whose leaves have no price yet.
GUESSED = 16


@dataclass(frozen=True)
class _Learned:
    """What was found out about a set, whatever the contexts are that are looked at.

    Attributes
    ----------
    of : tuple
        The grid and the rival that it is about.
    holds : dict
        Whether some plan of the set is as good as asked for, by leaves.
    priced : ndarray of shape (leaves,)
        What the best plan for each leaf costs, over the number of trees.
    past : pair of dict
        The best plans of the set, and of all, in past contexts.
    alike : dict
        What the best plan costs for observations that leaves of several trees may hold.
    """

    of: tuple[Any, ...]
    holds: dict[bytes, bool]
    priced: Floats
    past: tuple[dict[int, Floats], dict[int, Floats]]
    alike: dict[bytes, float]


def _learned(question: Question, kept: KeptGrid) -> _Learned:
    """What is known from the same question with other restrictions, or nothing yet."""
    about = (kept.samples, kept.leaves, question.claim.rival_decision.tobytes(), question.claim.tau)
    known = question.memo.get("solved")
    if known is None or known.of[0] is not about[0] or known.of[1:] != about[1:]:
        known = question.memo["solved"] = _Learned(about, {}, np.full(kept.leaves, np.nan), ({}, {}), {})
    return cast(_Learned, known)


class SolvedBoxes:
    """Boxes of cells in the order of their distance (see :class:`whence.search.driver.Frontier`)."""

    def __init__(
        self,
        question: Question,
        kept: KeptGrid,
        plausibility: _core.Plausibility | None = None,
        known: Floats | None = None,
    ) -> None:
        assert question.claim.plans is not None
        self.plausibility, self.known = plausibility, known
        self.question, self.kept, self.plans = question, kept, question.claim.plans
        self.located = locate(question, kept)
        self.few = few_changes(question)
        self.faces = _core.Faces(self.located)
        self.queue = _core.Queue()
        self.nodes = 0
        self.bound = 0.0
        self.shown = self.located.start
        self.excluded: set[bytes] = set()
        self._learned = _learned(question, kept)
        self._known, self._priced = self._learned.holds, self._learned.priced
        self._tree = np.repeat(np.arange(kept.trees), np.diff(kept.grid.first_leaf[: kept.trees + 1]))
        rules = question.space.rules
        self.rows = rules if rules is not None and len(rules.rows) else None
        self._static = question.claim.risk.tail is None and self.plans.rival is None
        self._criterion: _core.MeanCriterion | None = None
        #: What leaves without a price may cost: the mean of the cheapest of the plans that are known.
        self._guess = np.zeros(kept.leaves)
        self._last_rival: tuple[bytes, Floats] = b"", np.empty(0)
        self._proposed = False

    # ---- what the driver asks ------------------------------------------------------------------------------------

    @property
    def memory(self) -> int:
        return self.queue.bytes

    def cut(self, rival: Floats) -> None:
        """Every box has a rival of its own."""

    def exclude(self, point: Floats) -> None:
        self.excluded.add(self.kept.leaves_at(self.shown).tobytes())

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        if not self._proposed or self.known is not None:
            return None
        with until(self.question.limits.ends):
            for _ in range(nodes):
                if not self.queue:
                    self.bound = np.inf
                    return None
                key, link = self.queue.take()
                self.bound = max(self.bound, key)
                if key >= cutoff:
                    self.queue.wait(link, key)
                    return None
                try:
                    found = self._examine(key, link, cutoff)
                except OutOfTime:
                    self._wait(key, link)
                    raise
                finally:
                    self.queue.release(link)
                if found is not None or self.known is not None:
                    return found
        return None

    def propose(self, cutoff: float) -> Floats | None:
        """The nearest context for the plans that are best in past contexts, which the search over lists finds.

        What is known comes first, and so does the nearest point that keeps the rows where one that holds does not.
        """
        if self.known is not None:
            point, self.known = self.known, None
            return point
        if self._proposed:
            return None
        self._proposed = True
        from whence.search.set_search import list_criterion, row_of_plans

        question, began = self.question, self.question.limits.remaining
        spare = self.question.settings.solved_share * began
        rows = self._plans_of_the_past(began - spare)
        if not rows or question.limits.remaining <= 0:
            return None
        rivals = question.claim.rival_decision[None, :]
        if self.plans.rival is not None:
            rivals = np.vstack([rivals, *self._plans_of_the_past(began - spare, self.plans.rival)])
        self._guess = row_of_plans(self.kept, np.array(rows[:GUESSED])).min(axis=0)
        criterion = list_criterion(question, self.kept, np.array(rows), rivals)
        if criterion is None or criterion.plans == 0:
            return None
        search = _core.ForestSearch(self.located, criterion, float(question.claim.tau), 1, self.plausibility, self.few)
        reached, _ = search.advance(
            self.question.settings.solved_boxes, cutoff, seconds=max(0.0, question.limits.remaining - began + 2 * spare)
        )
        if not reached or not self._holds(self.kept.leaves_at(search.cells)):
            return None
        return self._keeping_rows(search.cells)

    def weights(self, point: Floats) -> Floats:
        return self._weights(self.kept.leaves_at(self.shown))

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        return cell_beyond(self.question, self.kept, self.rows, point)

    # ---- one box -------------------------------------------------------------------------------------------------

    def _examine(self, key: float, link: int, cutoff: float) -> Floats | None:
        self.nodes += 1
        box = _core.Box(self.located)
        if not self.queue.rebuild(link, box) or (self.few is not None and not self.few.keep(box)):
            return None
        near, cells = box.project()
        if near > key:
            self._wait(near, link)
            return None
        if np.isfinite(cutoff) and not box.tighten(cutoff - near):
            return None
        every, leaves = self.kept.grid.leaves_at(cells), self.kept.leaves_at(cells)
        barred = leaves.tobytes() in self.excluded or every.tobytes() in self.excluded
        if not barred and self._plausible(cells) and self._holds(leaves):
            point = self._point(cells)
            if self.rows is None or self.rows.keeps_rows(point):
                self._wait(key, link)
                return point
            # The region in which all trees have these leaves is done with, whatever its nearest point is.
            self.known = self._keeping_rows(cells)
            self.excluded.add(every.tobytes())
            barred = True
        tau = float(self.question.claim.tau)
        known, criterion = self._priced_in(box, leaves)
        opened = _core.OpenBox(box, criterion, tau, self.plausibility)
        # Where a leaf has no price yet, nothing is ruled out.
        if not opened.bound(criterion, tau if known else np.inf):
            return None
        if known and self._beyond(opened.leaves, leaves, tau):
            return None
        face = None if barred else self.faces.pulling(opened)
        face = face or self.faces.around(opened)
        if face is not None:
            self._split(box, link, key, *face)
        return None

    def _wait(self, key: float, link: int) -> None:
        """Put a box back whose turn is not over: whoever took it releases it all the same."""
        self.queue.hold(link)
        self.queue.wait(link, key)

    def _plausible(self, cells: Ints) -> bool:
        return self.plausibility is None or self.plausibility.short_by(cells) <= 0.0

    def _keeping_rows(self, cells: Ints) -> Floats | None:
        """The nearest point that keeps the rows where all trees have the leaves of these cells."""
        point = self._point(cells)
        if self.rows is None or self.rows.keeps_rows(point):
            return point
        return nearest_under_rows(self.question, self.kept, self.located, cells, self.rows)

    def _split(self, box: _core.Box, link: int, key: float, column: int, cut: int) -> None:
        low, high = int(box.low[column]), int(box.high[column])
        for first, last in ((low, cut), (cut + 1, high)):
            if first > last:
                continue
            half = _core.Box(self.located)
            child = self.queue.link(link, column, first, last)
            if self.queue.rebuild(child, half):
                self.queue.wait(child, max(key, half.project()[0]))
            else:
                self.queue.release(child)

    def _beyond(self, reached: Ints, leaves: Ints, tau: float) -> bool:
        """Whether the trees that are decided, solved together, put the whole box beyond what is asked."""
        reached = reached[reached < self.kept.leaves]
        tree = self._tree[reached]
        counts = np.bincount(tree, minlength=self.kept.trees)
        decided = reached[counts[tree] == 1]
        if decided.size < self.question.settings.solved_decided * self.kept.trees:
            return False
        rival = self._rival(leaves)
        mass = decided.size / self.kept.trees
        weights = self._weights(decided)
        total = mass * self._least(weights) - float(rival[decided].sum())
        open_leaves = reached[counts[tree] > 1]
        if open_leaves.size:
            values = self._priced[open_leaves] - rival[open_leaves]
            starts = np.flatnonzero(np.diff(self._tree[open_leaves], prepend=-1))
            total += float(np.minimum.reduceat(values, starts).sum())
        return bool(total > tau + 1e-12 * max(1.0, abs(total)))

    def _priced_in(self, box: _core.Box, leaves: Ints) -> tuple[bool, _core.MeanCriterion]:
        """Whether all leaves of a box have a price, few enough being solved for now, and the criterion that they make.

        Otherwise leaves without a price count for what the cheapest plan that is known costs in them.
        """
        met = box.leaves()
        met = met[met < self.kept.leaves]
        missing = met[np.isnan(self._priced[met])]
        known = missing.size <= self.question.settings.solved_leaves * self.kept.trees
        if known and missing.size:
            self._price(missing)
        if self._criterion is None or not self._static or missing.size:
            prices = self._priced
            if not known:
                prices = np.where(np.isnan(prices), self._guess, prices)
            criterion = _core.MeanCriterion(self.kept.leaves)
            # Leaves that the box does not meet have perhaps no price; nor do they count.
            criterion.add_rival(np.nan_to_num(prices - self._rival(leaves), nan=0.0))
            if not known:
                return False, criterion
            self._criterion = criterion
        return known, self._criterion

    def _rival(self, leaves: Ints) -> Floats:
        """What each leaf adds to the cost of the rival that is cheapest at these leaves."""
        if self._last_rival[0] != leaves.tobytes() and not (self._static and self._last_rival[0]):
            self._last_rival = leaves.tobytes(), self._rival_afresh(leaves)
        return self._last_rival[1]

    def _rival_afresh(self, leaves: Ints) -> Floats:
        question = self.question
        if self._static:
            return leaf_means(self.kept, question.claim.rival_decision)
        weights = self._weights(leaves)
        rival = question.claim.rival_decision
        if self.plans.rival is not None:
            best = self.plans.rival(weights)
            if question.claim.risk.of(best, weights) < question.claim.risk.of(rival, weights):
                rival = best
        if question.claim.risk.tail is None:
            return leaf_means(self.kept, rival)
        return -rival_row(question, self.kept, rival, weights)

    # ---- what `solve` says ---------------------------------------------------------------------------------------

    def _holds(self, leaves: Ints) -> bool:
        key = leaves.tobytes()
        if key not in self._known:
            claim, weights = self.question.claim, self._weights(leaves)
            limit = self.plans.limit(claim, weights)
            self._known[key] = self._least(weights) <= limit + claim.tau
        return self._known[key]

    def _least(self, weights: Floats) -> float:
        check_time()
        return self.question.claim.risk.of(self.plans.best(weights), weights)

    def _price(self, leaves: Ints) -> None:
        """Solve for each of these leaves by itself, or for some at once where the problem does so."""
        n, kept, samples = self.question.claim.alternative.size, self.kept, self.kept.samples.ravel()
        alike = self._learned.alike
        members = [np.sort(samples[kept.first[one] : kept.first[one] + kept.size[one]]) for one in leaves.tolist()]
        missing = {own.tobytes(): own for own in members if own.tobytes() not in alike}
        batch = 1 if self.plans.many is None else max(1, self.question.settings.recall_numbers // (8 * n))
        while missing:
            some = [missing.pop(key) for key in list(missing)[:batch]]
            weights = np.zeros((len(some), n))
            for row, own in zip(weights, some, strict=True):
                np.add.at(row, own, shares_of(own, np.array([own.size]), kept.mass))
            for own, value in zip(some, self._least_of(weights), strict=True):
                alike[own.tobytes()] = value
        for leaf, own in zip(leaves.tolist(), members, strict=True):
            self._priced[leaf] = alike[own.tobytes()] / kept.trees

    def _least_of(self, weights: Floats) -> list[float]:
        """What the best plan costs for each of these weights."""
        check_time()
        risk, many = self.question.claim.risk, self.plans.many
        costs = None if many is None else many(weights)
        if costs is None:
            return [self._least(row) for row in weights]
        return [risk.of(own, row) for own, row in zip(costs, weights, strict=True)]

    def _plans_of_the_past(self, until_left: float, best: Callable[[Floats], Floats] | None = None) -> list[Floats]:
        """Sample costs of the best plans in past contexts, each once, the nearest contexts first."""
        solve, known = best or self.plans.best, self._learned.past[best is not None]
        question, kept = self.question, self.kept
        past = cells_of_past(question, kept)
        distance = self.located.distance[kept.places(past)].sum(axis=1)
        found: dict[bytes, Floats] = {}
        with until(question.limits.ends):
            for i in np.argsort(distance, kind="stable")[: self.question.settings.solved_tried].tolist():
                if question.limits.remaining <= until_left:
                    break
                if i not in known:
                    known[i] = solve(self._weights(kept.leaves_at(past[i])))
                found[known[i].tobytes()] = known[i]
        return list(found.values())

    def _weights(self, leaves: Ints) -> Floats:
        """Weights where these trees have these leaves, as if there were no others."""
        return weights_at(self.kept, leaves, self.question.claim.alternative.size)

    def _point(self, cells: Ints) -> Floats:
        self.shown = cells
        return self.kept.nearest_point(self.located, cells, self.question.inputs)
