"""The answer as a rule, for nearest neighbours: the largest box around an explanation in which it stays true.

It is grown face by face, as for forests (:mod:`whence.search.regions`): the nearest context beyond a face in
which the criterion is broken says how far the face may move, and is found by the search for the nearest explanation
with both plans exchanged, among the contexts beyond that face and with a distance that counts this one axis alone.
Where the time is up, the face moves as far as is proved.  Contexts count whose neighbours are told apart, by the least
difference of distances that can be told from rounding. Of standard errors nothing is asked: the box is that of the
plain criterion, which the explanation satisfies as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from whence.claims.sets import Plans
from whence.errors import InputError
from whence.features.space import Space
from whence.question import Limits, Question
from whence.search import neighbour_search as knn
from whence.search.regions import Region, beaten_within, growth_order, within_box
from whence.util.aliases import Floats
from whence.weights import KNNWeights

#: What axes weigh along which a face does not move: next to nothing.
BESIDE = 1e-12
#: How far a face stays away from the first context at which the criterion is broken, as a share of the axis' range:
#: more than the separation of its neighbours and the weight of all other axes together.
CLEAR = 1e-8
#: Seconds for a face that has hardly any left.
LEAST = 1e-3


def region(question: Question, point: Floats, *, anything: Plans | None = None) -> Region:
    """The largest box around `point`, an explanation, in which the question's plain criterion holds.

    See :func:`whence.search.regions.region`; standard errors change nothing.
    """
    if not cast(KNNWeights, question.weights).plain:
        # How narrow what cannot be told apart is along an axis is known for sums of differences only.
        raise InputError(
            "A region needs neighbours by scaled L1 distances, as those of KNNWeights(k) are. "
            f"Got {question.weights.describe()} instead.",
            parameter="weights",
        )
    if question.weights.capabilities.proof_gap:
        raise InputError(
            "A region needs neighbours that count alike, weights='uniform'. "
            f"Got {question.weights.describe()} instead.",
            parameter="weights",
        )
    space = question.space if question.space.everywhere is None else question.space.everywhere
    # How far a face moves is measured along a line.
    space = replace(space, circles={}, plausibility=None, few=None)
    claim, settings = question.claim.plain(), replace(question.settings, separation=0.0)
    question = replace(question, space=space, claim=claim, settings=settings, memo={})
    plans = [question.claim.rival_decision]
    nodes = 0
    while True:
        grower = _Grower(question, point, plans, nodes)
        grower.grow()
        nodes = grower.nodes
        if question.claim.kind == "relative":
            return grower.region(True)
        if anything is None:
            return grower.region(False)
        box = within_box(space, point, grower.low, grower.high)
        found, none = beaten_within(question, box, anything, knn.explain_sets)
        rival = None if found is None else question.rival(question.weights.at(question.inputs.row(found)))
        # A plan that is known already beats the alternative there by rounding alone.
        if rival is None or any(np.array_equal(rival, one) for one in plans):
            return grower.region(none)
        plans.append(rival)


class _Grower:
    """The box under way: coordinates `low` to `high`, of a category those of all that belong to it."""

    def __init__(self, question: Question, point: Floats, plans: Sequence[Floats], nodes: int) -> None:
        self.question, self.space, self.point, self.nodes = question, question.space, point, nodes
        self.plans = plans
        # A plan that costs no less than the alternative in any past observation never beats it.
        self.rivals = [one for one in plans if (question.claim.alternative > one).any()]
        self.low, self.high = point.copy(), point.copy()
        self.maximal = True
        # Broken means more than tau.
        self.tau = float(np.nextafter(-question.claim.tau, -np.inf))

    def grow(self) -> None:
        """Move every face as far as it goes, each in its share of the time left."""
        faces = list(growth_order(self.space.group, self.point != self.space.start, self.point >= self.space.start))
        # Whether any other plan is better takes as long again.
        after = len(faces) if self.question.claim.kind == "absolute" else 0
        for i, (members, up) in enumerate(faces):
            left = self.question.limits.remaining / (len(faces) - i + after)
            if self.space.group[members[0]] >= 0:
                self._add_categories(members, left)
            else:
                self._move(int(members[0]), up, left)

    def _move(self, j: int, up: bool, seconds: float) -> None:
        """Move one face of a number up to the first broken context beyond it."""
        beyond = self._beyond(j, up)
        if beyond is None:
            return
        here, end = (self.high[j], beyond[-1]) if up else (self.low[j], beyond[0])
        start, lower, upper = self.point.copy(), self.low.copy(), self.high.copy()
        start[j] = here
        lower[j], upper[j] = min(here, end), max(here, end)
        weight = np.full(start.size, BESIDE)
        weight[j] = 1.0
        good = self._first_broken(start, lower, upper, weight, seconds)
        if self.space.levels[j] is None:
            room = min(abs(end - here), max(0.0, good - CLEAR))
            to = end if room == abs(end - here) else here + room if up else here - room
        else:
            reached = beyond[np.abs(beyond - here) < good - CLEAR]
            to = here if reached.size == 0 else reached[-1] if up else reached[0]
        if up:
            self.high[j] = to
        else:
            self.low[j] = to

    def _beyond(self, j: int, up: bool) -> Floats | None:
        """The allowed values beyond a face, ascending; of a continuous coordinate the last one alone."""
        space, levels = self.space, self.space.levels[j]
        if levels is None:
            end = float(space.upper[j] if up else space.lower[j])
            # A start beyond the bounds may be kept: nothing between them is allowed.
            found = np.array([end])
        else:
            found = levels[((levels >= space.lower[j]) & (levels <= space.upper[j])) | (levels == space.start[j])]
        found = found[found > self.high[j]] if up else found[found < self.low[j]]
        return found if found.size else None

    def _add_categories(self, members: NDArray[np.int64], seconds: float) -> None:
        """Add the categories in which no context is broken, one after the other."""
        others = [j for j in members.tolist() if self.high[j] == 0.0 and self.space.allows_level(members, j)]
        for j in others:
            start, lower, upper = self.point.copy(), self.low.copy(), self.high.copy()
            for array in (start, lower, upper):
                array[members] = 0.0
                array[j] = 0.5
            good = self._first_broken(start, lower, upper, np.full(start.size, BESIDE), seconds / len(others))
            if good == np.inf:
                # Several categories are on: each of them may be off.
                self.low[members] = 0.0
                self.high[j] = 0.5

    def _first_broken(self, start: Floats, lower: Floats, upper: Floats, weight: Floats, seconds: float) -> float:
        """Distance of the nearest broken context in a slab, or what is proved of it; infinite for none."""
        slab = replace(within_box(self.space, start, lower, upper), lower=lower, upper=upper, weight=weight)
        return min((self._against(rival, slab, seconds / len(self.rivals)) for rival in self.rivals), default=np.inf)

    def _against(self, rival: Floats, slab: Space, seconds: float) -> float:
        question, limits = self.question, self.question.limits
        own = None if seconds == np.inf else max(seconds, LEAST)
        claim = replace(question.claim.relative().against(question.claim.alternative), alternative=rival, tau=self.tau)
        limits = Limits(own, limits.node_limit, limits.on_progress, limits.memory_limit)
        exchanged = replace(question, space=slab, claim=claim, limits=limits)
        answer = knn.explain(exchanged)
        self.nodes += answer.nodes
        if answer.status in ("time_limit", "interrupted"):
            self.maximal = False
            return answer.bound
        return answer.distance

    def region(self, proved: bool) -> Region:
        """The box as it is."""
        space = self.space
        full = np.ones(space.start.size, dtype=bool)
        for j in range(space.start.size):
            if space.group[j] < 0:
                full[j] = self._beyond(j, True) is None and self._beyond(j, False) is None
            else:
                members = np.flatnonzero(space.group == space.group[j])
                full[j] = self.high[j] > 0.0 or not space.allows_level(members, j)
        categories = (space.group < 0) | (self.high > 0.0)
        none = np.zeros(0, dtype=np.int32)
        return Region(
            self.low, self.high, categories, full, none, none, self.maximal, proved, len(self.plans), self.nodes
        )
