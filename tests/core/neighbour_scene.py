"""Small neighbour questions as the core sees them, and what plain arithmetic says about them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from tests.knn_reference import risk_over

from whence._core import Axis, AxisKind, NeighbourSearch
from whence.risk import CVaR, Expectation, Risk

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


def random_axis(rng: np.random.Generator, kind: str) -> Axis:
    """An axis: c continuous, g continuous with a gap, d discrete, k category."""
    weight = float(rng.uniform(0.3, 2.0))
    if kind == "k":
        costs = np.sort(rng.random(4))
        costs[0] = 0.0
        return Axis(AxisKind.CATEGORY, 0.0, 1.0, 0.0, 3.0, costs=costs)
    if kind == "d":
        levels = np.array([0.0, 0.1, 0.2, 0.5, 0.6, 0.8, 1.0])
        return Axis(AxisKind.DISCRETE, float(rng.choice(levels)), weight, 0.0, 1.0, levels=levels)
    if kind == "g":
        return Axis(AxisKind.CONTINUOUS, 0.1, weight, 0.1, 0.9, gaps=np.array([[0.1, 0.4]]))
    return Axis(AxisKind.CONTINUOUS, float(rng.random()), weight, 0.0, 1.0)


class Scene:
    """A question with random past contexts, costs and one or two rivals."""

    def __init__(
        self,
        seed: int,
        shape: str = "cc",
        n: int = 9,
        k: int = 3,
        rivals: int = 1,
        risk: Risk | None = None,
        *,
        separation: float = 1e-6,
        tau: float = 1e-9,
        widest: float = np.inf,
        confidence: float = 0.0,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.rng, self.n, self.k = rng, n, k
        self.axes = [random_axis(rng, kind) for kind in shape]
        self.category = np.array([axis.kind is AxisKind.CATEGORY for axis in self.axes])
        self.points = np.array([[self.coordinate(axis) for axis in self.axes] for _ in range(n)]).reshape(n, len(shape))
        self.base = 0.2 * rng.random(n)
        self.risk: Risk = risk or Expectation()
        self.separation, self.margin, self.tau = separation, separation + 2e-9, tau
        self.widest, self.confidence = widest, confidence
        self.alternative = rng.random(n)
        self.rivals = [rng.random(n) for _ in range(rivals)]
        tail = (1.0 - self.risk.alpha) * k if isinstance(self.risk, CVaR) else None
        self.search = NeighbourSearch(
            self.axes, self.points, self.base, k, self.separation, self.margin, self.alternative, tau, tail,
            widest, confidence,
        )  # fmt: skip
        for rival in self.rivals:
            self.search.cut(rival)

    def coordinate(self, axis: Axis) -> float:
        """A random coordinate along an axis, wherever past contexts may lie."""
        if axis.kind is AxisKind.CATEGORY:
            return float(self.rng.integers(4))
        return float(self.rng.choice(axis.levels) if axis.kind is AxisKind.DISCRETE else self.rng.random())

    def distances(self, context: Floats) -> Floats:
        """Distance of every past context from a context."""
        apart = np.abs(self.points - context)
        return np.asarray(self.base + np.where(self.category, apart > 0.0, apart).sum(axis=1))

    def far(self, context: Floats) -> float:
        """Distance of a context from the start."""
        steps = zip(self.axes, context.tolist(), strict=True)
        return sum(
            float(axis.costs[int(x)]) if axis.kind is AxisKind.CATEGORY else axis.weight * abs(x - axis.start)
            for axis, x in steps
        )

    def holds(self, members: Ids) -> bool:
        """Whether the alternative stands against all rivals where these observations speak, by the definition."""
        cost = risk_over(self.alternative[members], self.risk)
        if any(cost > risk_over(rival[members], self.risk) + self.tau for rival in self.rivals):
            return False
        gaps = self.alternative[members] - self.rivals[0][members]
        error = float(gaps.std(ddof=1)) / np.sqrt(self.k) if self.k > 1 else 0.0
        return self.confidence == 0.0 or float(gaps.mean()) + self.confidence * error <= self.tau

    def is_explanation(self, context: Floats, apart: float | None = None) -> bool:
        """Whether the neighbours at a context are near, and apart by the margin or so much, and the plan stands."""
        distance = self.distances(context)
        order = np.argsort(distance)
        gap = distance[order[self.k]] - distance[order[self.k - 1]] if self.k < self.n else np.inf
        near = distance[order[self.k - 1]] <= self.widest
        return bool(near and gap >= (self.margin if apart is None else apart)) and self.holds(order[: self.k])

    def allowed(self, j: int, low: float, high: float) -> list[float]:
        """Values of an axis between two ends: all that are allowed, or some where these are too many."""
        axis = self.axes[j]
        if axis.kind is AxisKind.CATEGORY:
            return [float(rank) for rank in range(int(low), int(high) + 1)]
        if axis.kind is AxisKind.DISCRETE:
            return [float(level) for level in axis.levels if low <= level <= high]
        some = [low, high, *self.rng.uniform(low, high, 3).tolist(), min(max(axis.start, low), high)]
        return [x for x in some if not any(low < x < high for low, high in axis.gaps)]

    def box(self) -> tuple[Floats, Floats]:
        """A random box whose ends are allowed."""
        low, high = [], []
        for j, axis in enumerate(self.axes):
            values = self.allowed(j, axis.lower, axis.upper)
            ends = sorted(self.rng.choice(values, 2).tolist())
            low.append(ends[0])
            high.append(ends[1])
        return np.array(low), np.array(high)

    def contexts(self, low: Floats, high: Floats, most: int = 300) -> Iterator[Floats]:
        """Allowed contexts in a box: its corners and others."""
        grid = [self.allowed(j, float(low[j]), float(high[j])) for j in range(len(self.axes))]
        rows = list(itertools.product(*grid))
        for at in self.rng.permutation(len(rows))[:most].tolist():
            yield np.array(rows[at])
