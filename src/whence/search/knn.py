"""The exact nearest explanation of a nearest-neighbour policy: best-first over boxes of contexts."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from whence.errors import InputTypeError
from whence.explain.question import Answer, Question
from whence.risk import CVaR, Expectation, Risk
from whence.search import driver
from whence.search.knn_axes import CATEGORY, LOWER, START, UPPER, WEIGHT, Axes, Layout
from whence.search.knn_box import Scratch
from whence.search.knn_cuts import Cuts
from whence.search.knn_leaf import Work
from whence.search.knn_seeds import Seeds, standing
from whence.search.knn_simplex import Tableau
from whence.search.knn_tree import CANDIDATE, EXHAUSTED, FULL, HEAP, NODES, Tree, grown, search
from whence.search.warming import Stage, compile_once, tiny_question
from whence.weights import KNNWeights

__all__ = ["NeighbourFrontier", "explain"]

Floats = NDArray[np.float64]

#: Rounding allowance on costs inside the search; what it lets through is judged again by the risk measure itself.
ROUNDING = 1e-12

#: Radius of the first ball; the factors by which balls grow, the larger one while they take at most so many boxes.
FIRST_RADIUS = 0.02
WIDER, MUCH_WIDER, EASY = 1.2, 1.7, 64

#: Boxes before explanations met on the way are looked at; then again whenever an eighth more have been examined.
FIRST_MILESTONE = 16

#: An explanation that is at most this much farther than the ball's radius makes the next ball.
CLOSE = 1.2


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
        tail = (1.0 - float(risk.alpha)) * axes.k if isinstance(risk, CVaR) and risk.alpha > 0 else None
        self.cuts = Cuts(
            np.ascontiguousarray(question.alternative, dtype=np.float64),
            np.empty((0, len(axes.base))),
            tail,
            question.tau + ROUNDING * scale,
            np.empty((0, axes.k), dtype=np.int64),
        )
        self.scratch, self.tableau, self.work = Scratch.of(axes), Tableau.of(2 * len(axes.kind)), Work.of(axes)
        self.tree = Tree.of(axes, axes.table[LOWER], axes.table[UPPER])
        self.found = self._empty_found()
        self.radius = FIRST_RADIUS
        self.farthest = _farthest(axes)
        self.nodes = 0
        self.bound = 0.0
        self.milestone = FIRST_MILESTONE
        self.seeds = Seeds(axes, self.scratch)
        self.candidate: Floats | None = None

    def _empty_found(self) -> Floats:
        found = np.zeros((2, len(self.axes.kind) + 1))
        found[1, -1] = np.inf
        return found

    def cut(self, rival: Floats) -> None:
        """From now on the alternative must cost no more than a plan with these sample costs."""
        rivals = np.vstack([self.cuts.rivals, np.asarray(rival, dtype=np.float64)[None, :]])
        self.cuts = self.cuts._replace(rivals=rivals)
        self.candidate = None

    def exclude(self, point: Floats) -> None:
        """From now on leave out the contexts that have the same neighbours as `point`."""
        members = np.sort(self.estimator.neighbours(point))[None, :]
        self.cuts = self.cuts._replace(excluded=np.vstack([self.cuts.excluded, members]))
        self.candidate = None

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Examine at most `nodes` boxes; the nearest context left, once it is proved nearest.

        The search goes through balls of growing radius: inside a ball little larger than the answer's distance, far
        more is decided than in whole boxes, and the last ball costs most.
        """
        if self.candidate is not None:
            return self.candidate
        # Slices follow the clock; they end where the course of the search is decided, so that it does not.
        last = min(self.nodes + nodes, self.milestone)
        while self.nodes < last:
            # Within one tree the radius may only shrink: what lies beyond it was cut off.
            self.radius = radius = min(cutoff, self.radius)
            before = int(self.tree.used[NODES])
            boxes, memory = last - self.nodes, (self.scratch, self.tableau, self.work)
            outcome = search(self.axes, self.cuts, self.tree, boxes, radius, *memory, self.found)
            self.nodes += int(self.tree.used[NODES]) - before
            if outcome == FULL:
                self.tree = grown(self.tree)
            elif outcome == EXHAUSTED:
                self.bound = max(self.bound, np.inf if radius > self.farthest else radius)
                if self.bound >= cutoff:
                    return None
                self.radius *= WIDER if self.tree.used[NODES] > EASY else MUCH_WIDER
                if cutoff < CLOSE * self.radius:
                    self.radius = cutoff
                self.tree = Tree.of(self.axes, self.axes.table[LOWER], self.axes.table[UPPER])
            else:
                self.bound = max(self.bound, min(float(self.tree.key[0]) if self.tree.used[HEAP] else radius, radius))
            if outcome == CANDIDATE:
                point = self.layout.to_coordinates(self.found[0])
                if self._stands(point):
                    self.candidate = point
                    return point
                self.exclude(point)
        return None

    def propose(self, cutoff: float) -> Floats | None:
        """Some context nearer than `cutoff` that satisfies all cuts, found without proof, or None."""
        if self.nodes < self.milestone:
            return None
        self.milestone = self.nodes + max(FIRST_MILESTONE, self.nodes // 8)
        at: Floats | None = None
        if self.found[1, -1] < cutoff:
            at = self.found[1, :-1].copy()
            self.found = self._empty_found()
        elif self.nodes >= self.seeds.due:
            _compile("longer nearest-neighbour", self.question)
            at = self.seeds.propose(self.cuts, cutoff, 0.25 * self.question.limits.remaining)
        if at is None:
            return None
        point = self.layout.to_coordinates(at)
        return point if self.question.space.distance(point) < cutoff and self._stands(point) else None

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


def _farthest(axes: Axes) -> float:
    """An upper bound on the distance of any allowed context."""
    table = axes.table
    reach = np.maximum(table[UPPER] - table[START], table[START] - table[LOWER]) * table[WEIGHT]
    return float(np.where(axes.kind == CATEGORY, axes.cost.max(axis=1, initial=0.0), reach).sum())


def explain(question: Question) -> Answer:
    """Answer `question`, whose weights are nearest-neighbour weights."""
    _compile("nearest-neighbour", question)
    return driver.run(question, NeighbourFrontier(question))


def _tiny(risk: Risk) -> NeighbourFrontier:
    """A frontier of two past contexts, whose kernels have the types of all others with that risk."""
    question = tiny_question(KNNWeights(1).fit(np.array([[0.0], [1.0]])), risk)
    frontier = NeighbourFrontier(question)
    frontier.cut(question.decision)
    return frontier


def _use(risk: Risk) -> None:
    """Call the search, which every question needs."""
    _tiny(risk).advance(10, np.inf)


def _use_seeds(risk: Risk) -> None:
    """Call the kernel that looks for an explanation without proof."""
    frontier = _tiny(risk)
    frontier.seeds.propose(frontier.cuts, np.inf)


def _stages(risk: Risk, suffix: str) -> dict[str, Stage]:
    return {
        f"nearest-neighbour{suffix}": ((search,), partial(_use, risk)),
        f"longer nearest-neighbour{suffix}": ((standing,), partial(_use_seeds, risk)),
    }


#: What is compiled when a question first needs it: the kernels, and a call that uses them.
STAGES: dict[str, Stage] = {**_stages(Expectation(), ""), **_stages(CVaR(0.5), " CVaR")}


def _compile(stage: str, question: Question) -> None:
    """Compile a stage for the risk of the question, where it has not been yet."""
    name = f"{stage} CVaR" if isinstance(question.risk, CVaR) and question.risk.alpha > 0 else stage
    compile_once(name, *STAGES[name], question.limits)
