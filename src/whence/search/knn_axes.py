"""The space of a nearest-neighbour question as axes: one a number, one a category.

Coordinates that cannot move are folded into a constant per past context. The one-hot coordinates of a
category become a single axis that holds the rank of the category by the cost of changing to it, so that
every part of the space is a product of intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.explain.space import Space

__all__ = ["CATEGORY", "CONTINUOUS", "DISCRETE", "Axes", "Layout"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CONTINUOUS, DISCRETE, CATEGORY = 0, 1, 2

#: Added to the separation that a returned context must keep, so that rounding cannot break it.
ROBUST = 1e-9


#: Rows of ``Axes.table``.
START, WEIGHT, LOWER, UPPER, GAP_LOW, GAP_HIGH = range(6)


class Axes(NamedTuple):
    """What the kernels see; few arrays, because each one costs time in compilation.

    Attributes
    ----------
    points : ndarray of shape (n, q)
        Past contexts along the axes that can move.
    base : ndarray of shape (n,)
        Their distance along the coordinates that cannot.
    kind : ndarray of int of shape (q,)
        CONTINUOUS, DISCRETE or CATEGORY.
    table : ndarray of shape (6, q)
        The initial context, the weight of a unit of distance, the range searched, and the open interval of a
        continuous axis that is not allowed (infinite where there is none).
    levels, level_at : ndarray
        Allowed values of the discrete axes, one after the other, and where those of each axis begin.
    cost : ndarray of shape (q, c)
        Cost of every category, ascending.
    k : int
        Number of neighbours.
    separation, margin : float
        Least gap behind the k-th neighbour, and the slightly larger one that contexts are placed with.
    """

    points: Floats
    base: Floats
    kind: Ints
    table: Floats
    levels: Floats
    level_at: Ints
    cost: Floats
    k: int
    separation: float
    margin: float


@dataclass
class Layout:
    """How axes and coordinates belong together."""

    axes: Axes
    space: Space
    #: Coordinate of every numeric axis, -1 for a category.
    coordinate: Ints
    #: Coordinates of every category axis, in the order of their rank.
    members: list[Ints]

    @classmethod
    def of(cls, space: Space, points: Floats, k: int, separation: float) -> Layout:
        """Axes of `space` for past contexts `points`."""
        builder = _Builder(space, points)
        for j in np.flatnonzero(space.group < 0):
            builder.number(int(j))
        for g in np.unique(space.group[space.group >= 0]):
            builder.category(np.flatnonzero(space.group == g))
        separation = max(float(separation), ROBUST)
        axes = builder.axes(k, separation, separation * (1.0 + ROBUST) + ROBUST)
        return cls(axes, space, np.array(builder.coordinate, dtype=np.int64), builder.members)

    def to_coordinates(self, at: Floats) -> Floats:
        """The context at a position along the axes."""
        point: Floats = self.space.start.copy()
        for axis, (j, members) in enumerate(zip(self.coordinate, self.members, strict=True)):
            if j >= 0:
                point[j] = at[axis]
            else:
                point[members] = 0.0
                point[members[int(at[axis])]] = 0.5
        return point

    def to_axes(self, point: Floats) -> Floats:
        """Position along the axes of a context."""
        at = np.empty(len(self.coordinate))
        for axis, (j, members) in enumerate(zip(self.coordinate, self.members, strict=True)):
            at[axis] = point[j] if j >= 0 else np.argmax(point[members])
        return at


class _Builder:
    """Collects axes one by one."""

    def __init__(self, space: Space, points: Floats) -> None:
        self.space = space
        self.points = points
        self.base = np.zeros(len(points))
        self.columns: list[Floats] = []
        self.rows: list[tuple[int, float, float, float, float, float, float]] = []
        self.levels: list[Floats] = []
        self.costs: list[Floats] = []
        self.coordinate: list[int] = []
        self.members: list[Ints] = []

    def number(self, j: int) -> None:
        s, low, high, levels = self.space.start[j], self.space.lower[j], self.space.upper[j], self.space.levels[j]
        gap = (np.inf, np.inf)
        if levels is not None:
            allowed = np.union1d(levels[(levels >= low) & (levels <= high)], [s])
            kind, low, high = DISCRETE, allowed[0], allowed[-1]
        else:
            allowed = np.empty(0)
            kind = CONTINUOUS
            if low > high:
                low = high = s
            elif s < low:
                gap, low = (s, low), s
            elif s > high:
                gap, high = (high, s), s
        if low == high:
            self.base += np.abs(self.points[:, j] - s)
            return
        self._add(j, self.points[:, j], (kind, s, self.space.weight[j], low, high, *gap), allowed, np.empty(0))
        self.members.append(np.empty(0, dtype=np.int64))

    def category(self, members: Ints) -> None:
        space = self.space
        one_hot = 0.5 * np.eye(len(members))
        allowed = np.array([self._allowed(members, row) for row in one_hot])
        cost = np.abs(one_hot - space.start[members]) @ space.weight[members]
        if allowed.sum() <= 1:
            chosen = one_hot[np.argmax(allowed)] if allowed.any() else space.start[members]
            self.base += np.abs(self.points[:, members] - chosen).sum(axis=1)
            return
        rank = np.lexsort((cost, ~allowed))
        held = np.argmax(self.points[:, members][:, rank], axis=1).astype(np.float64)
        top = float(allowed.sum() - 1)
        self._add(-1, held, (CATEGORY, 0.0, 1.0, 0.0, top, np.inf, np.inf), np.empty(0), cost[rank])
        self.members.append(members[rank])

    def _allowed(self, members: Ints, values: Floats) -> bool:
        point = self.space.start.copy()
        point[members] = values
        return bool(self.space.allows(point)[members].all())

    def _add(
        self,
        j: int,
        column: Floats,
        row: tuple[int, float, float, float, float, float, float],
        levels: Floats,
        cost: Floats,
    ) -> None:
        self.coordinate.append(j)
        self.columns.append(column)
        self.rows.append(row)
        self.levels.append(levels)
        self.costs.append(cost)

    def axes(self, k: int, separation: float, margin: float) -> Axes:
        q, n = len(self.columns), len(self.points)
        table = np.array(self.rows, dtype=np.float64).reshape(q, 7).T
        cost = np.zeros((q, max([1, *map(len, self.costs)])))
        for axis, values in enumerate(self.costs):
            cost[axis, : len(values)] = values
        points = np.ascontiguousarray(np.array(self.columns).reshape(q, n).T)
        level_at = np.cumsum([0, *map(len, self.levels)]).astype(np.int64)
        levels = np.concatenate([np.empty(0), *self.levels])
        kind, rest = table[0].astype(np.int64), np.ascontiguousarray(table[1:])
        return Axes(points, self.base, kind, rest, levels, level_at, cost, int(k), separation, margin)
