"""The nearest explanation of a policy with kernel weights, up to a stated gap: best-first over boxes of contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from whence._core import KernelMeasure, KernelSearch, KernelShape
from whence.question import Answer, Question
from whence.search import driver
from whence.search.neighbour_axes import Layout, rules_of
from whence.search.neighbour_search import AxesFrontier, by_plans, few_changes, free_axes, within_gap
from whence.util.aliases import Floats
from whence.weights.metrics import seen_in_coordinates
from whence.weights.neighbours import LEAST, KernelWeights


@dataclass(frozen=True)
class Measured:
    """How far past observations are, in bandwidths, as the search takes it (see ``core/kernels/kernel_search.hpp``)."""

    measure: KernelMeasure
    rows: Floats
    factors: Floats
    base: Floats
    entries: Floats | None

    @classmethod
    def of(
        cls, question: Question, weights: KernelWeights, layout: Layout, points: Floats, stretch: Floats
    ) -> Measured:
        """For the axes of `layout`, and past observations `points` in coordinates that are seen stretched."""
        space, width = question.space, float(weights.bandwidth)
        fixed = layout.fixed
        if weights.metric_.squared and weights.kernel == "gaussian":
            scores = weights.metric_.scores(weights.points_, question.inputs, space.start.size)
            slopes, measure = scores.slopes / width**2, KernelMeasure.SCORES
            base = scores.constant / width**2 + slopes[:, fixed] @ space.start[fixed]
            rows = _columns(layout, slopes)
            entries = [0.5 * slopes[:, members] for j, members in _axes(layout) if j < 0]
            factor = np.zeros(space.start.size)
        else:
            power = 2 if weights.metric_.squared else 1
            factor = (stretch / width) ** power
            measure = KernelMeasure.SQUARES if power == 2 else KernelMeasure.SUMS
            base = (np.abs(points - space.start) ** power)[:, fixed] @ factor[fixed]
            rows = _columns(layout, points)
            entries = [
                np.column_stack(
                    [
                        np.abs(points[:, members] - level) ** power @ factor[members]
                        for level in 0.5 * np.eye(members.size)
                    ]
                )
                for j, members in _axes(layout)
                if j < 0
            ]
        factors = np.array([factor[j] if j >= 0 else 0.0 for j in layout.coordinate])
        table = np.ascontiguousarray(np.hstack(entries)) if entries else None
        return cls(measure, rows, factors, np.ascontiguousarray(base), table)


def _axes(layout: Layout) -> list[tuple[int, np.ndarray]]:
    return [(int(j), members) for j, members in zip(layout.coordinate, layout.members, strict=True)]


def _columns(layout: Layout, table: Floats) -> Floats:
    """The columns of `table` that belong to the axes, 0 for a category."""
    found = [table[:, j] if j >= 0 else np.zeros(len(table)) for j in layout.coordinate]
    return np.ascontiguousarray(np.array(found).reshape(len(found), len(table)).T)


class KernelFrontier(AxesFrontier):
    """Boxes of contexts, in which bounds on the weights of a kernel are known."""

    def __init__(self, question: Question) -> None:
        weights = cast(KernelWeights, question.weights)
        points, stretch = seen_in_coordinates(weights.points_, question.inputs, question.space.start.size)
        layout = Layout.of(question.space, points, 1, 0.0)
        found = Measured.of(question, weights, layout, points, stretch)
        search = KernelSearch(
            layout.axes.each, found.measure, _SHAPES[weights.kernel], found.rows, found.factors, found.base,
            found.entries, 0.0 if weights.kernel == "gaussian" else LEAST,
            np.ascontiguousarray(question.claim.alternative, dtype=np.float64), question.claim.tau,
            None if (question.claim.risk.tail or 1.0) >= 1.0 else question.claim.risk.tail,
            rules_of(layout, question.space.rules), *few_changes(question, layout),
            free_axes(question, layout),
        )  # fmt: skip
        super().__init__(question, layout, search)

    @property
    def nodes(self) -> int:
        return int(self.search.nodes)

    def cut(self, rival: Floats) -> None:
        self.rivals.append(np.ascontiguousarray(rival, dtype=np.float64))
        self.search.cut(self.rivals[-1])

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        # Slices follow the clock; they end where the course of the search is decided, so that it does not.
        boxes = min(nodes, self.milestone - self.nodes)
        ended = self.search.advance(boxes, cutoff, self.gap, driver.longest(self.question))
        self.proved = max(self.proved, min(self.search.bound, self.search.met_distance, cutoff))
        if not ended:
            self.bound = self.proved
            return None
        if self.search.met_distance < cutoff:
            point = self.layout.to_coordinates(self.search.met)
            if self._stands(point):
                return point
            self.exclude(point)
            return None
        self.bound = cutoff
        return None


_SHAPES = {
    "gaussian": KernelShape.GAUSSIAN,
    "epanechnikov": KernelShape.EPANECHNIKOV,
    "biweight": KernelShape.BIWEIGHT,
    "tricube": KernelShape.TRICUBE,
}


def explain(question: Question) -> Answer:
    """Answer `question`, whose weights are kernel weights."""
    frontier = KernelFrontier(question)
    return within_gap(driver.run(question, frontier), frontier.proved)


def explain_sets(question: Question) -> Answer:
    """Answer a question about a set of plans that can be listed: a search for each, that with the least bound first."""
    answer = by_plans(question, KernelFrontier, "for kernel weights")
    assert answer is not None
    return answer
