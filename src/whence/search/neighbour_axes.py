"""The space of a nearest-neighbour question as axes: one per number, one per category.

Coordinates that cannot move are folded into a constant per past context. The one-hot coordinates of a
category become a single axis that holds the rank of the category by the cost of changing to it, so that
every part of the space is a product of intervals.

Before boxes are looked at, past and random contexts where the alternative stands are pulled towards the start: they are
explanations found without proof.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from whence._core import Axis, AxisKind, Rules
from whence.features.relation_trees import Relations, RelationTree
from whence.features.space import Space
from whence.question import Question
from whence.settings import SearchSettings
from whence.util.aliases import Floats
from whence.weights import KNNWeights
from whence.weights.metrics import Scores, seen_in_coordinates, short_way

Ints = NDArray[np.int64]

#: Added to the separation that a returned context must keep, so that rounding cannot break it.
ROBUST = 1e-9
#: What an axis weighs that costs nothing.
WEIGHTLESS = 1e-12


@dataclass(frozen=True)
class Axes:
    """The axes that can move, and the past contexts along them."""

    each: list[Axis]
    #: Past contexts, one per row, along the axes.
    points: Floats
    #: Their distance along the coordinates that cannot move.
    base: Floats
    #: Number of neighbours.
    k: int
    #: Least gap behind the k-th neighbour, and the slightly larger one that contexts are placed with.
    separation: float
    clearance: float
    #: Where scores stand for squared distances, their slopes along the axes, 0 for a category, one row for each past
    #: context; `base` is then what the coordinates that cannot move add to them.
    slopes: Floats | None = None
    #: What each category of every category axis adds to the scores of each past context, axis by axis.
    entries: Floats | None = None
    #: Distance of two categories, where no scores stand for distances.
    apart: float = 1.0


@dataclass
class Layout:
    """How axes and coordinates belong together."""

    axes: Axes
    space: Space
    #: Coordinate of every numeric axis, -1 for a category.
    coordinate: Ints
    #: Coordinates of every category axis, in the order of their rank.
    members: list[Ints]
    #: By how much coordinates are stretched along the axes, where they are.
    stretch: Floats = field(default_factory=lambda: np.empty(0))

    @classmethod
    def for_question(cls, question: Question, weights: KNNWeights) -> Layout:
        """Axes for a question: with scores where these stand for distances, or stretched as distances are."""
        space, d = question.space, question.space.start.size
        if weights.plain:
            circles = weights.metric_.circles
            return cls.of(space, weights.points_, int(weights.k), question.settings.separation, circles=circles)
        points, stretch = seen_in_coordinates(weights.points_, question.inputs, d)
        if weights.metric_.squared:
            scores = weights.metric_.scores(weights.points_, question.inputs, d)
            return cls.of(space, points, int(weights.k), question.settings.separation, scores)
        # Two categories are 2 apart where each is a column of 0 and 1.
        unit = weights.metric_.unit
        stretch = np.where(space.group >= 0, 1.0, stretch / unit)
        away = 2.0 / unit
        found = cls.of(
            stretched(space, stretch), points * stretch, int(weights.k), question.settings.separation, apart=away
        )
        return replace(found, space=space, stretch=stretch)

    @classmethod
    def of(
        cls,
        space: Space,
        points: Floats,
        k: int,
        separation: float,
        scores: Scores | None = None,
        apart: float = 1.0,
        circles: Mapping[int, float] | None = None,
    ) -> Layout:
        """Axes of `space` for past contexts `points`, where two categories are so far apart, and some numbers go round.

        Of `circles`, which has the periods of those, only distances from past contexts take notice.
        """
        builder = _Builder(space, points, scores, apart, circles or {})
        for j in np.flatnonzero(space.group < 0):
            builder.number(int(j))
        for g in np.unique(space.group[space.group >= 0]):
            builder.category(np.flatnonzero(space.group == g))
        separation = max(float(separation), ROBUST)
        axes = builder.axes(k, separation, separation * (1.0 + ROBUST) + ROBUST)
        return cls(axes, space, np.array(builder.coordinate, dtype=np.int64), builder.members)

    @property
    def fixed(self) -> NDArray[np.bool_]:
        """Which coordinates cannot move."""
        fixed = np.ones(self.space.start.size, dtype=np.bool_)
        fixed[[j for j in self.coordinate if j >= 0]] = False
        fixed[[int(one) for members in self.members for one in members]] = False
        return fixed

    def to_coordinates(self, at: Floats) -> Floats:
        """The context at a position along the axes."""
        point: Floats = self.space.start.copy()
        for axis, (j, members) in enumerate(zip(self.coordinate, self.members, strict=True)):
            if j >= 0:
                point[j] = at[axis] if not self.stretch.size else self._back(axis, int(j), float(at[axis]))
            else:
                point[members] = 0.0
                point[members[int(at[axis])]] = 0.5
        return point

    def _back(self, axis: int, j: int, at: float) -> float:
        """The coordinate at a place along a stretched axis; the start, and levels, come back as they were."""
        space, levels = self.space, self.space.levels[j]
        if at == self.axes.each[axis].start:
            return float(space.start[j])
        value = at / float(self.stretch[j])
        if levels is not None:
            return float(levels[np.argmin(np.abs(levels - value))])
        low, high = min(space.lower[j], space.start[j]), max(space.upper[j], space.start[j])
        return float(np.clip(value, low, high))


def stretched(space: Space, by: Floats) -> Space:
    """The space whose coordinates are those of `space`, each times a number, at the same distances."""
    levels = tuple(None if one is None else one * factor for one, factor in zip(space.levels, by, strict=True))
    gap = None if space.gap is None else (space.gap[0] * by, space.gap[1] * by)
    lower, upper = space.lower * by, space.upper * by
    return Space(space.start * by, lower, upper, levels, space.weight / by, space.group, gap=gap)


class _Builder:
    """Collects axes one by one."""

    def __init__(
        self, space: Space, points: Floats, scores: Scores | None, apart: float, circles: Mapping[int, float]
    ) -> None:
        self.space = space
        self.apart = apart
        self.circles = circles
        self.points = points
        self.scores = scores
        self.base = np.zeros(len(points)) if scores is None else scores.constant.copy()
        self.slopes: list[Floats] = []
        self.entries: list[Floats] = []
        self.columns: list[Floats] = []
        self.each: list[Axis] = []
        self.coordinate: list[int] = []
        self.members: list[Ints] = []

    def number(self, j: int) -> None:
        s, low, high, levels = self.space.start[j], self.space.lower[j], self.space.upper[j], self.space.levels[j]
        gaps: list[tuple[float, float]] = []
        allowed: Floats | None = None
        if levels is not None:
            allowed = np.union1d(levels[(levels >= low) & (levels <= high)], [s])
            low, high = allowed[0], allowed[-1]
        else:
            parts = self.space.pieces(j)
            if not any(first <= s <= last for first, last in parts):
                parts = sorted([*parts, (float(s), float(s))])
            low, high = parts[0][0], parts[-1][1]
            gaps = [(one[1], other[0]) for one, other in pairwise(parts)]
        if low == high:
            scores = self.scores
            own = {} if j not in self.circles else {0: self.circles[j]}
            away = short_way(self.points[:, j : j + 1] - s, own)[:, 0]
            self.base += away if scores is None else scores.slopes[:, j] * s
            return
        kind = AxisKind.CONTINUOUS if allowed is None else AxisKind.DISCRETE
        # What follows from other features costs nothing; an axis needs some weight all the same.
        weight = float(self.space.weight[j]) or WEIGHTLESS
        between = np.array(gaps, dtype=np.float64).reshape(-1, 2)
        axis = Axis(kind, float(s), weight, float(low), float(high), levels=allowed, gaps=between,
                    period=self.circles.get(j, 0.0))  # fmt: skip
        self._add(axis, self.points[:, j], j, np.empty(0, dtype=np.int64))

    def category(self, members: Ints) -> None:
        space = self.space
        one_hot = 0.5 * np.eye(len(members))
        allowed = np.array([space.allows_level(members, int(j)) for j in members])
        cost = np.abs(one_hot - space.start[members]) @ space.weight[members]
        if allowed.sum() <= 1:
            chosen = one_hot[np.argmax(allowed)] if allowed.any() else space.start[members]
            scores = self.scores
            away = self.points[:, members] - chosen
            far = self.apart * np.abs(away).sum(axis=1) if scores is None else scores.slopes[:, members] @ chosen
            self.base += far
            return
        rank = np.lexsort((cost, ~allowed))
        held = np.argmax(self.points[:, members][:, rank], axis=1).astype(np.float64)
        axis = Axis(AxisKind.CATEGORY, 0.0, 1.0, 0.0, float(allowed.sum() - 1), costs=cost[rank])
        self._add(axis, held, -1, members[rank])

    def _add(self, axis: Axis, column: Floats, j: int, members: Ints) -> None:
        if self.scores is not None:
            slopes = self.scores.slopes
            self.slopes.append(slopes[:, j] if j >= 0 else np.zeros(len(slopes)))
            if j < 0:
                self.entries.append(0.5 * slopes[:, members])
        self.each.append(axis)
        self.columns.append(column)
        self.coordinate.append(j)
        self.members.append(members)

    def axes(self, k: int, separation: float, clearance: float) -> Axes:
        q, n = len(self.columns), len(self.points)
        points = np.ascontiguousarray(np.array(self.columns).reshape(q, n).T)
        if self.scores is None:
            return Axes(self.each, points, self.base, int(k), separation, clearance, apart=self.apart)
        slopes = np.ascontiguousarray(np.array(self.slopes).reshape(q, n).T)
        entries = np.ascontiguousarray(np.hstack(self.entries)) if self.entries else None
        return Axes(self.each, points, self.base, int(k), separation, clearance, slopes, entries)


Node = tuple[float, float, float, float, float, float]


def rules_of(layout: Layout, rules: Relations | None) -> Rules | None:
    """The rules that contexts keep along the axes; what is asked of coordinates that cannot move is answered here."""
    if rules is None:
        return None
    number, category = _places(layout)
    nodes: list[Node] = []
    roots = [_added(tree, layout.space.start, number, category, nodes) for tree in rules.trees]
    q = len(layout.coordinate)
    rows = np.zeros((len(rules.rows), q))
    limits = rules.limits.copy()
    for j in range(layout.space.start.size):
        if j in number:
            rows[:, number[j]] = rules.rows[:, j] if len(rules.rows) else 0.0
        elif len(rules.rows):
            limits -= rules.rows[:, j] * layout.space.start[j]
    table = np.array(nodes, dtype=np.float64).reshape(-1, 6)
    return Rules(table, np.array(roots, dtype=np.int64), np.ascontiguousarray(rows), limits)


def _places(layout: Layout) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
    """The axis of every coordinate that is a number, and axis and rank of every one that is a category."""
    number: dict[int, int] = {}
    category: dict[int, tuple[int, int]] = {}
    for axis, (j, members) in enumerate(zip(layout.coordinate, layout.members, strict=True)):
        if j >= 0:
            number[int(j)] = axis
        else:
            category.update({int(one): (axis, rank) for rank, one in enumerate(members)})
    return number, category


def _added(
    tree: RelationTree, start: Floats, number: dict[int, int], category: dict[int, tuple[int, int]], nodes: list[Node]
) -> int:
    """Add the nodes of a tree; the place of its root."""

    def add(node: int) -> int:
        j = int(tree.coordinate[node])
        if j >= 0 and j not in number and j not in category:
            return add(int(tree.left[node] if start[j] <= tree.threshold[node] else tree.right[node]))
        here = len(nodes)
        nodes.append((-1.0, 0.0, 0.0, 0.0, 0.0, float(tree.broken[node])))
        if j < 0:
            return here
        left, right = add(int(tree.left[node])), add(int(tree.right[node]))
        axis, value = (number[j], float(tree.threshold[node])) if j in number else map(float, category[j])
        nodes[here] = (float(axis), float(j in category), float(value), float(left), float(right), 0.0)
        return here

    return add(0)


#: Parts of the way to the start that are tried, for all axes at once and for each one; and rounds of that.
SHARES = np.array([1.0, 0.75, 0.5, 0.25, 0.1, 0.03, 0.01, 0.002])


class Standing(Protocol):
    """A search that says which contexts, along the axes, are explanations."""

    def standing(self, contexts: Floats) -> NDArray[np.bool_]:
        """For every context, whether it is one."""
        ...


class Seeds:
    """Where to begin: past contexts from the nearest on, and random contexts."""

    def __init__(self, axes: Axes, search: Standing, settings: SearchSettings, most: int | None = None) -> None:
        self.axes, self.search, self.settings = axes, search, settings
        #: How many axes may differ from the start, where that is limited.
        self.most = most
        self.start = np.array([axis.start for axis in axes.each])
        self.weight = np.array([axis.weight for axis in axes.each])
        self.lower = np.array([axis.lower for axis in axes.each])
        self.upper = np.array([axis.upper for axis in axes.each])
        self.whole = np.array([axis.kind is AxisKind.CATEGORY for axis in axes.each], dtype=np.bool_)
        #: Number of boxes after which the next proposal is worth its time.
        self.due = self.settings.seeds_from
        self.next = 0
        self.random = np.random.default_rng(0)
        self.order = np.empty(0, dtype=np.int64)
        self.ends = np.inf

    def propose(self, cutoff: float, seconds: float = np.inf) -> Floats | None:
        """An explanation nearer than `cutoff`, along the axes, or None where none was met in this many seconds."""
        self.due *= 2
        self.ends = time.perf_counter() + seconds
        if not self.order.size:
            self.order = np.argsort(self._distance(self._allowed(self.axes.points)), kind="stable")
        tries = max(20, self.settings.seed_distances // len(self.axes.base))
        past = self.axes.points[self.order[self.next : self.next + tries]]
        self.next += tries
        near = min(cutoff, self._distance(self.axes.points[self.order[-1:]]).item())
        best: Floats | None = None
        for contexts in (self._allowed(past), self._allowed(self._scattered(tries, near))):
            contexts = self._few(contexts)
            contexts = contexts[self._standing(contexts)]
            for at in contexts[np.argsort(self._distance(contexts), kind="stable")[:3]]:
                pulled = self._pulled(at)
                distance = self._distance(pulled[None, :]).item()
                if distance < cutoff:
                    best, cutoff = pulled, distance
        return best

    def _standing(self, contexts: Floats) -> NDArray[np.bool_]:
        """Which contexts are explanations; those that are not looked at in time count as none."""
        stands = np.zeros(len(contexts), dtype=np.bool_)
        contexts, many = np.ascontiguousarray(contexts), max(1, self.settings.seed_distances // len(self.axes.base))
        for at in range(0, len(contexts), many):
            if time.perf_counter() >= self.ends:
                break
            stands[at : at + many] = self.search.standing(contexts[at : at + many])
        return stands

    def _distance(self, contexts: Floats) -> Floats:
        """Distance of every context from the start."""
        total = np.zeros(len(contexts))
        for j, axis in enumerate(self.axes.each):
            column = contexts[:, j]
            if axis.kind is AxisKind.CATEGORY:
                total += axis.costs[column.astype(np.int64)]
            else:
                total += axis.far(np.ascontiguousarray(column))
        return total

    def _allowed(self, contexts: Floats) -> Floats:
        """Allowed contexts near the given ones."""
        out: Floats = np.clip(np.ascontiguousarray(contexts), self.lower, self.upper)
        for j, axis in enumerate(self.axes.each):
            column = out[:, j]
            if axis.kind is AxisKind.CATEGORY:
                # A category that is not allowed lies beyond the range; the cheapest one takes its place.
                column[contexts[:, j] > axis.upper] = 0.0
            elif axis.kind is AxisKind.DISCRETE:
                levels = axis.levels
                above = np.clip(np.searchsorted(levels, column), 1, levels.size - 1)
                below = above - (column - levels[above - 1] <= levels[above] - column)
                column[:] = levels[below]
            else:
                for low, high in axis.gaps.tolist():
                    inside = (column > low) & (column < high)
                    column[inside] = np.where(column[inside] - low < high - column[inside], low, high)
        return out

    def _few(self, contexts: Floats) -> Floats:
        """The contexts with as many axes at the start as have to be, drawn by lot."""
        if self.most is None:
            return contexts
        lots = np.where(contexts != self.start, self.random.random(contexts.shape), -1.0)
        last = np.argsort(lots, axis=1)[:, : max(0, contexts.shape[1] - self.most)]
        few = contexts.copy()
        few[np.arange(len(few))[:, None], last] = self.start[last]
        return few

    def _scattered(self, count: int, radius: float) -> Floats:
        """Random contexts within `radius`, most of them with few axes moved."""
        random, q = self.random, len(self.axes.each)
        moved = random.random((count, q)) < 1.0 / random.integers(1, q + 1, (count, 1))
        steps = random.exponential(size=(count, q)) * moved
        steps *= radius * np.sqrt(random.random((count, 1))) / np.maximum(steps.sum(axis=1, keepdims=True), 1e-9)
        signed = steps * random.choice([-1.0, 1.0], (count, q)) / self.weight
        categories = np.floor(random.random((count, q)) * (self.upper + 1.0)) * moved
        contexts: Floats = np.where(self.whole, categories, self.start + signed)
        return contexts

    def _pulled(self, at: Floats) -> Floats:
        """`at`, moved toward the start along all axes or one, as long as that leads to nearer explanations."""
        q = len(at)
        which = np.vstack([np.ones((1, q)), np.eye(q)])
        shares = (which[:, None, :] * SHARES[:, None]).reshape(-1, q)
        distance = self._distance(at[None, :]).item()
        for _ in range(self.settings.seed_rounds):
            step = np.where(self.whole, shares == 1.0, shares)
            contexts = self._allowed(at + step * (self.start - at))
            distances = self._distance(contexts)
            stands = self._standing(contexts) & (distances < distance - 1e-9)
            if not stands.any():
                break
            chosen = np.flatnonzero(stands)[distances[stands].argmin()]
            at, distance = contexts[chosen], distances[chosen]
        return at
