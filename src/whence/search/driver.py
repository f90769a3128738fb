"""The loop that every native engine shares: nearest candidate, check, cut, again.

A frontier hands out candidate contexts in the order of their distance. The first one that passes the
test is the nearest explanation. For an absolute explanation the test is a solve of the decision problem;
a better plan found there becomes a cut, and the same frontier goes on: nothing is restarted. As there may be a
continuum of plans, a frontier may hand out more points than those that satisfy all cuts, to learn the best plan there.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

import numpy as np

from whence.question import Answer, Question
from whence.util.aliases import Floats, Status
from whence.util.linear_program import OutOfTime


class Frontier(Protocol):
    """What an engine offers to the loop."""

    @property
    def nodes(self) -> int:
        """Boxes examined so far."""
        ...

    @property
    def memory(self) -> int:
        """Bytes that boxes and what was learned on the way take, about."""
        ...

    @property
    def bound(self) -> float:
        """No context that satisfies all cuts and is not excluded lies nearer; infinite when none is left.

        Never decreases.
        """
        ...

    def cut(self, rival: Floats) -> None:
        """The alternative must cost no more than a plan with these sample costs (plus tau), one that beats it.

        The first one always counts; a later one at least at the point handed out last.
        """
        ...

    def exclude(self, point: Floats) -> None:
        """From now on leave out the contexts that have the same weights as `point`."""
        ...

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Examine at most `nodes` boxes; the nearest context left that may satisfy all cuts, once it is proved nearest.

        None where the budget is spent, or nothing nearer than `cutoff` is left (then ``bound >= cutoff``).
        The same point is handed out again unless a cut or an exclusion removes it.
        """
        ...

    def propose(self, cutoff: float) -> Floats | None:
        """Some context nearer than `cutoff` that satisfies all cuts, found without proof, or None."""
        ...

    def weights(self, point: Floats) -> Floats:
        """Weights of the past observations at `point`, the one handed out last."""
        ...

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        """A box around `point` in which the weights stay the same, where the engine knows one."""
        ...


def longest(question: Question) -> float:
    """Return the seconds after which a slice must end between two boxes: Ctrl-C and limits are looked at after it."""
    return min(question.settings.longest_slice, question.limits.remaining)


def run(question: Question, frontier: Frontier) -> Answer:
    """Answer `question` by the candidates of `frontier`; Ctrl-C ends the search with the best found so far."""
    search = _Search(question, frontier)
    frontier.cut(question.claim.rival_decision)
    try:
        while True:
            answer = search.step()
            if answer is not None:
                return answer
    except KeyboardInterrupt:
        return search.stopped("interrupted")
    except OutOfTime:
        return search.stopped("time_limit")


class _Search:
    """The state of one run: the best explanation confirmed so far, and the plans met on the way."""

    def __init__(self, question: Question, frontier: Frontier) -> None:
        self.question = question
        self.frontier = frontier
        self.best: Floats | None = None
        self.cutoff = question.known.nearer_than
        self.cuts = 0
        self.budget = 1
        self.refused: Floats | None = None
        self.told = -np.inf
        #: Boxes after which past contexts are looked at, or looked at again: what was learned there is kept.
        self.recall_due = question.settings.recall_after
        self.recalled = False

    def step(self) -> Answer | None:
        """Search on for one slice; the answer, once there is one."""
        limits, frontier = self.question.limits, self.frontier
        point = self._slice()
        if point is not None:
            if self._stands(point):
                distance = self.question.space.distance(point)
                return self._answer("optimal", point, distance, distance)
        elif frontier.bound >= self.cutoff:
            if self.best is None:
                return self._answer("none", None, np.inf, np.inf)
            return self._answer("optimal", self.best, self.cutoff, self.cutoff)
        if (
            point is None
            or limits.node_limit is not None
            or limits.seconds - self.told > self.question.settings.slice_seconds
        ):
            # Candidates may follow each other quickly.
            self.told = limits.seconds
            stop = limits.reached(frontier.nodes, self.cutoff, min(frontier.bound, self.cutoff), frontier.memory)
            if stop is not None:
                return self.stopped(stop)
        if point is None:
            self._try_proposal()
        refuted = not self.recalled and self.cuts >= self.question.settings.recall_cuts
        if self.best is None and (frontier.nodes >= self.recall_due or refuted):
            self._recall()
        return None

    def _recall(self) -> None:
        """Take the nearest context that is known without a search, so that there is an answer at any limit."""
        self.recalled, self.recall_due = True, 4 * max(self.recall_due, self.frontier.nodes)
        recall = self.question.known.recall
        point = None if recall is None else recall(self.cutoff)
        if point is not None:
            self.best, self.cutoff = point, self.question.space.distance(point)

    def _slice(self) -> Floats | None:
        """Search on for about `slice_seconds`: for as many boxes as took that long in the slice before."""
        limits, frontier = self.question.limits, self.frontier
        began, before = time.perf_counter(), frontier.nodes
        budget = self.budget
        if limits.node_limit is not None:
            budget = max(1, min(budget, limits.node_limit - before))
        point = frontier.advance(budget, self.cutoff)
        boxes, spent = frontier.nodes - before, time.perf_counter() - began
        if boxes > 0:
            # A slice that examined no box says nothing about how long boxes take.
            settings = self.question.settings
            wanted = min(settings.slice_seconds, max(0.25 * limits.remaining, 0.002))
            self.budget = int(max(1.0, min(wanted * boxes / max(spent, 1e-6), settings.slice_growth * boxes)))
        return point

    def stopped(self, status: Status) -> Answer:
        """What is known when the search has to stop."""
        if self.best is None:
            self._recall()
        answer = self._answer(status, self.best, self.cutoff, min(self.frontier.bound, self.cutoff))
        return replace(answer, note=self.question.limits.note)

    def _stands(self, point: Floats) -> bool:
        """Whether a context that satisfies all cuts is an explanation; otherwise the better plan becomes a cut."""
        rival = self._rival(point)
        if rival is None:
            return True
        if self.refused is not None and np.array_equal(point, self.refused):
            # The cut and the fresh solve disagree by a rounding error: leave these weights out for good.
            self.frontier.exclude(point)
        else:
            self.frontier.cut(rival)
            self.cuts += 1
        self.refused = point
        return False

    def _try_proposal(self) -> None:
        point = self.frontier.propose(self.cutoff)
        if point is None or self.question.space.distance(point) >= self.cutoff:
            return
        rival = self._rival(point)
        if rival is None:
            self.best, self.cutoff = point, self.question.space.distance(point)
        else:
            self.frontier.cut(rival)
            self.cuts += 1

    def _rival(self, point: Floats) -> Floats | None:
        """Costs of a plan that beats the alternative at `point`, where an absolute explanation is asked for."""
        if self.question.claim.kind == "relative":
            return None
        return self.question.rival(self.frontier.weights(point))

    def _answer(self, status: Status, point: Floats | None, distance: float, bound: float) -> Answer:
        cell = None if point is None else self.frontier.cell(point)
        return Answer(status, point, distance, bound, self.frontier.nodes, self.cuts, cell)
