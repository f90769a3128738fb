"""The nearest explanation of a policy with kernel weights, up to a stated gap: best-first over boxes of contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from whence._core import KernelMeasure, KernelSearch, KernelShape
from whence.errors import InputError
from whence.question import Answer, Question
from whence.search import driver
from whence.search.frontiers import LISTED, OneByOne
from whence.search.neighbour_axes import Layout, rules_of
from whence.search.neighbour_search import few_changes, within_gap
from whence.search.neighbour_seeds import Seeds
from whence.util.aliases import Floats
from whence.weights.kernel import LEAST, KernelWeights
from whence.weights.metrics import seen_in_coordinates

__all__ = ["KernelFrontier", "explain", "explain_sets"]

#: Share of the largest cost by which the alternative must do better where a cut and a fresh solve disagree.
DISAGREEMENT = 1e-9


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
        fixed = np.ones(space.start.size, dtype=np.bool_)
        for j, members in zip(layout.coordinate, layout.members, strict=True):
            fixed[members if j < 0 else j] = False
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


class KernelFrontier:
    """Boxes of contexts in the order of their distance (see :class:`whence.search.driver.Frontier`)."""

    def __init__(self, question: Question) -> None:
        self.question, self.settings = question, question.settings
        self.estimator = weights = cast(KernelWeights, question.weights)
        self.gap = float(weights.gap)
        points, stretch = seen_in_coordinates(weights.points_, question.inputs, question.space.start.size)
        self.layout = Layout.of(question.space, points, 1, 0.0)
        found = Measured.of(question, weights, self.layout, points, stretch)
        self.search = KernelSearch(
            self.layout.axes.each, found.measure, _SHAPES[weights.kernel], found.rows, found.factors, found.base,
            found.entries, 0.0 if weights.kernel == "gaussian" else LEAST,
            np.ascontiguousarray(question.claim.alternative, dtype=np.float64), question.claim.tau, _tail(question),
            rules_of(self.layout, question.space.rules), *few_changes(question, self.layout),
        )  # fmt: skip
        self.rivals: list[Floats] = []
        self.bound = 0.0
        #: No explanation is nearer; unlike `bound` it says nothing of the gap.
        self.proved = 0.0
        self.milestone = self.settings.first_milestone
        self.seeds = Seeds(
            self.layout.axes,
            self.search,
            self.settings,
            None if question.space.few is None else question.space.few.most,
        )

    @property
    def memory(self) -> int:
        """Bytes that boxes and what was learned on the way take, about."""
        return self.search.bytes

    @property
    def nodes(self) -> int:
        """Boxes examined so far."""
        return self.search.nodes

    def cut(self, rival: Floats) -> None:
        """From now on the alternative must cost no more than a plan with these sample costs."""
        self.rivals.append(np.ascontiguousarray(rival, dtype=np.float64))
        self.search.cut(self.rivals[-1])

    def exclude(self, point: Floats) -> None:
        """From now on the alternative must do a hair better, which leaves out `point`."""
        self.search.tighten(DISAGREEMENT * max(float(np.abs(rival).max()) for rival in self.rivals))

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Examine at most `nodes` boxes; the nearest context met, once nothing is nearer by more than the gap."""
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

    def propose(self, cutoff: float) -> Floats | None:
        """Some context nearer than `cutoff` that satisfies all cuts, found without proof, or None."""
        if self.nodes < self.milestone:
            return None
        self.milestone = self.nodes + max(self.settings.first_milestone, self.nodes // 8)
        at: Floats | None = None
        if self.search.met_distance < cutoff:
            at = self.search.met
        elif self.nodes >= self.seeds.due:
            at = self.seeds.propose(cutoff, 0.25 * self.question.limits.remaining)
        if at is None:
            return None
        point = self.layout.to_coordinates(at)
        return point if self.question.space.distance(point) < cutoff and self._stands(point) else None

    def weights(self, point: Floats) -> Floats:
        """Weights of the past observations at `point`."""
        return self.estimator.at(self.question.inputs.row(point))

    def cell(self, point: Floats) -> tuple[Floats, Floats] | None:
        """Weights change everywhere."""
        return None

    def _stands(self, point: Floats) -> bool:
        """Whether `point` satisfies all cuts, by the weights themselves."""
        question = self.question
        if not question.space.keeps_rules(point):
            return False
        try:
            weights = self.weights(point)
        except InputError:
            return False
        cost = question.claim.risk.of(question.claim.alternative, weights)
        return all(cost <= question.claim.risk.of(rival, weights) + question.claim.tau for rival in self.rivals)


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
    plans = question.claim.plans
    assert plans is not None
    rows = plans.every(LISTED)
    if rows is None:
        raise InputError(
            f"'instead' must be one plan, or a set of at most {LISTED} plans that can be listed, for kernel weights. "
            "Got a larger set.",
            parameter="instead",
        )
    if question.claim.kind == "absolute":
        question = question.refuted_by(plans.beaten(question.claim.risk, question.claim.tau))
    each = [KernelFrontier(question.claiming(alternative=row)) for row in rows]
    answer = driver.run(question, OneByOne(question, each))
    return within_gap(answer, min(one.proved for one in each))


def _tail(question: Question) -> float | None:
    """The share of the weight in the tail that is compared; None for all of it."""
    tail = question.claim.risk.tail
    return None if tail is None or tail >= 1.0 else tail
