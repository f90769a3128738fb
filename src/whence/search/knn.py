"""The exact nearest explanation of a nearest-neighbour policy: best-first over boxes of contexts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.errors import InputTypeError
from whence.explain.question import Answer, Question
from whence.risk import CVaR
from whence.search import driver
from whence.search.compiling import announce
from whence.search.knn_axes import LOWER, UPPER, Layout
from whence.search.knn_box import Scratch
from whence.search.knn_cuts import Cuts
from whence.search.knn_tree import CANDIDATE, EXHAUSTED, FULL, Tree, grown, search
from whence.weights import KNNWeights

__all__ = ["NeighbourFrontier", "explain"]

Floats = NDArray[np.float64]

#: Rounding allowance on costs inside the search; what it lets through is judged again by the risk measure itself.
ROUNDING = 1e-12


class NeighbourFrontier:
    """Boxes of contexts in the order of their distance (see :class:`whence.search.driver.Frontier`)."""

    def __init__(self, question: Question) -> None:
        weights = question.weights
        if not isinstance(weights, KNNWeights):
            raise InputTypeError(
                f"The 'weights' of the question must be KNNWeights. Got {type(weights).__name__} instead."
            )
        self.question = question
        self.estimator = weights
        self.layout = Layout.of(question.space, weights.points_, int(weights.k), question.separation)
        axes = self.layout.axes
        self.axes = axes
        scale = max(
            float(np.abs(question.alternative).max(initial=0.0)), float(np.abs(question.decision).max(initial=0.0))
        )
        risk = question.risk
        tail = (1.0 - float(risk.alpha)) * axes.k if isinstance(risk, CVaR) and risk.alpha > 0 else 0.0
        self.cuts = Cuts(
            np.ascontiguousarray(question.alternative, dtype=np.float64),
            np.empty((0, len(axes.base))),
            tail,
            question.tau + ROUNDING * scale,
            np.empty((0, axes.k), dtype=np.int64),
        )
        self.scratch = Scratch.of(axes)
        self.tree = Tree.of(axes, axes.table[LOWER], axes.table[UPPER])
        self.nodes = 0
        self.bound = 0.0

    def cut(self, rival: Floats) -> None:
        """From now on the alternative must cost no more than a plan with these sample costs."""
        rivals = np.vstack([self.cuts.rivals, np.asarray(rival, dtype=np.float64)[None, :]])
        self.cuts = self.cuts._replace(rivals=rivals)

    def exclude(self, point: Floats) -> None:
        """From now on leave out the contexts that have the same neighbours as `point`."""
        members = np.sort(self.estimator.neighbours(point))[None, :]
        self.cuts = self.cuts._replace(excluded=np.vstack([self.cuts.excluded, members]))

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Examine at most `nodes` boxes; the nearest context left, once it is proved nearest."""
        found = np.empty(len(self.axes.kind))
        last = self.nodes + nodes
        while self.nodes < last:
            outcome = search(self.axes, self.cuts, self.tree, last - self.nodes, cutoff, self.scratch, found)
            self.nodes = int(self.tree.used[3])
            if outcome == FULL:
                self.tree = grown(self.tree)
                continue
            top = float(self.tree.key[0]) if self.tree.used[0] else np.inf
            self.bound = max(self.bound, cutoff if outcome == EXHAUSTED else min(top, cutoff))
            if outcome != CANDIDATE:
                return None
            point = self.layout.to_coordinates(found)
            if self._stands(point):
                return point
            self.exclude(point)
        return None

    def propose(self, cutoff: float) -> Floats | None:
        """Some context nearer than `cutoff` that satisfies all cuts, found without proof, or None."""
        return None

    def weights(self, point: Floats) -> Floats:
        """Weights of the past observations at `point`."""
        return self.estimator.at(point)

    def room(self, point: Floats) -> tuple[Floats, Floats] | None:
        """No box is known in which the neighbours stay the same."""
        return None

    def _stands(self, point: Floats) -> bool:
        """Whether `point` satisfies all cuts and keeps the separation, by plain distances and the risk measure."""
        k, question = self.axes.k, self.question
        distance = np.sort(np.abs(self.estimator.points_ - point).sum(axis=1))
        if distance[k] - distance[k - 1] < self.axes.separation:
            return False
        weights = self.weights(point)
        cost = question.risk.of(question.alternative, weights)
        return all(cost <= question.risk.of(rival, weights) + question.tau for rival in self.cuts.rivals)


def explain(question: Question) -> Answer:
    """Answer `question`, whose weights are nearest-neighbour weights."""
    announce("nearest-neighbour", search)
    return driver.run(question, NeighbourFrontier(question))
