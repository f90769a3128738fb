"""The loop that every native engine shares: nearest candidate, check, cut, again.

A frontier hands out candidate contexts in the order of their distance. The first one that stands the
test is the nearest explanation. For an absolute explanation the test is a solve of the decision problem;
a better plan found there becomes a cut, and the same frontier goes on: nothing is restarted.
"""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from whence.explain.question import Answer, Question, Status

__all__ = ["Frontier", "run"]

Floats = NDArray[np.float64]

#: Seconds that a frontier should search before it is asked again whether to go on.
SLICE = 0.05


class Frontier(Protocol):
    """What an engine offers to the loop.

    Attributes
    ----------
    nodes : int
        Boxes examined so far.
    bound : float
        No context that satisfies all cuts and is not excluded lies nearer than this; infinite when the space
        is exhausted. Never decreases.
    """

    nodes: int
    bound: float

    def cut(self, rival: Floats) -> None:
        """From now on the alternative must cost no more than a plan with these sample costs (plus tau)."""
        ...

    def exclude(self, point: Floats) -> None:
        """From now on leave out the contexts that have the same weights as `point`."""
        ...

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Examine at most `nodes` boxes; the nearest context left that satisfies all cuts, once it is proved nearest.

        None where the budget is spent, or nothing nearer than `cutoff` is left (then ``bound >= cutoff``).
        The same point is handed out again unless a cut or an exclusion removes it.
        """
        ...

    def propose(self, cutoff: float) -> Floats | None:
        """Some context nearer than `cutoff` that satisfies all cuts, found without proof, or None."""
        ...

    def weights(self, point: Floats) -> Floats:
        """Weights of the past observations at `point`, from the fitted estimator."""
        ...

    def room(self, point: Floats) -> tuple[Floats, Floats] | None:
        """A box around `point` in which the weights stay the same, where the engine knows one."""
        ...


def run(question: Question, frontier: Frontier) -> Answer:
    """Answer `question` by the candidates of `frontier`."""
    limits = question.limits
    frontier.cut(question.decision)
    best: Floats | None = None
    cutoff = np.inf
    cuts = 0
    budget = 64
    refused: Floats | None = None

    def answer(status: Status, point: Floats | None, distance: float, bound: float) -> Answer:
        room = None if point is None else frontier.room(point)
        return Answer(status, point, distance, bound, frontier.nodes, cuts, room)

    while True:
        began = time.perf_counter()
        if limits.node_limit is not None:
            budget = max(1, min(budget, limits.node_limit - frontier.nodes))
        point = frontier.advance(budget, cutoff)
        if point is not None:
            rival = None if question.kind == "relative" else question.better(frontier.weights(point))
            distance = question.space.distance(point)
            if rival is None:
                return answer("optimal", point, distance, distance)
            if refused is not None and np.array_equal(point, refused):
                # The cut and the fresh solve disagree by a rounding error: leave this cell out for good.
                frontier.exclude(point)
            else:
                frontier.cut(rival)
                cuts += 1
            refused = point
        elif frontier.bound >= cutoff:
            if best is None:
                return answer("none", None, np.inf, np.inf)
            return answer("optimal", best, cutoff, cutoff)
        stop = limits.reached(frontier.nodes, cutoff, min(frontier.bound, cutoff))
        if stop is not None:
            return answer(stop, best, cutoff, min(frontier.bound, cutoff))
        if point is None:
            proposal = frontier.propose(cutoff)
            if proposal is not None and question.space.distance(proposal) < cutoff:
                rival = None if question.kind == "relative" else question.better(frontier.weights(proposal))
                if rival is None:
                    best, cutoff = proposal, question.space.distance(proposal)
                else:
                    frontier.cut(rival)
                    cuts += 1
            spent = time.perf_counter() - began
            slice_ = min(SLICE, max(0.25 * limits.remaining, 0.002))
            budget = int(np.clip(budget * np.clip(slice_ / max(spent, 1e-6), 0.25, 4.0), 16, 1_000_000))
