"""Every coordinate as a line of ordered points, with one variable per step from each point to the next.

Step q of an axis is 0 while the coordinate lies at or before point q - 1, and 1 once it lies at or beyond
point q. A *jump* may not stop in between (its step is binary): that is how the cells of a forest, the levels
of a discrete feature and the gap to a start outside its bounds are modelled. Whatever is linear between
neighbouring points of the line (a distance, for instance) is a linear expression of the steps. Levels at equal
distances can be one step that counts how many of them are passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whence.features.space import ChangeLimit, Space
from whence.milp.model import Columns, Linear, Model
from whence.util.aliases import Floats

#: Shares of the largest number by which levels that are even may differ in their last digits.
EVEN = 1e-13


@dataclass(frozen=True)
class Splits:
    """A column of an estimator that compares with thresholds: ``float32(x * scale + offset) <= thresholds[.]``.

    Thresholds are float32 numbers, sorted and unique.
    """

    scale: float
    offset: float
    thresholds: NDArray[np.floating]

    def passed(self, points: Floats) -> NDArray[np.int64]:
        """Return the number of thresholds that each of `points` (in coordinates) lies beyond."""
        return np.searchsorted(self.thresholds, self.seen(points), side="left")

    def seen(self, points: Floats) -> NDArray[np.floating]:
        """Return what the estimator sees at `points`."""
        return (points * self.scale + self.offset).astype(np.float32)

    def sides(self) -> tuple[Floats, Floats]:
        """Return, for every threshold, the last point before it and the first beyond it, in coordinates.

        What rounds to the threshold lies before it: up to half-way to the next float32.
        """
        beyond = np.nextafter(self.thresholds, np.float32(np.inf), dtype=np.float32)
        half = (self.thresholds.astype(np.float64) + beyond) / 2.0
        tie = half.astype(np.float32) <= self.thresholds
        before = (np.where(tie, half, np.nextafter(half, -np.inf)) - self.offset) / self.scale
        after = (np.where(tie, np.nextafter(half, np.inf), half) - self.offset) / self.scale
        # In the estimator's units the ends may round across: step back until they do not.
        for _ in range(8):
            before = np.where(self.seen(before) > self.thresholds, np.nextafter(before, -np.inf), before)
            after = np.where(self.seen(after) <= self.thresholds, np.nextafter(after, np.inf), after)
        return before, after


@dataclass(frozen=True)
class Turns(Splits):
    """A column of trees that see the user's own numbers: `thresholds` are the last coordinates before each turn."""

    beyond: Floats = field(default_factory=lambda: np.empty(0))

    def seen(self, points: Floats) -> Floats:
        """Return the coordinates themselves."""
        return points

    def sides(self) -> tuple[Floats, Floats]:
        """Return, for every turn, the last point before it and the first beyond it."""
        return np.asarray(self.thresholds, dtype=np.float64), self.beyond


@dataclass
class Axis:
    """One coordinate: its points in increasing order, which steps between them are jumps, and the steps' columns.

    A jump may take several `levels` of the coordinate, one by one; without them every point is a level.
    """

    points: Floats
    jump: NDArray[np.bool_]
    steps: Columns = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    levels: Floats | None = None

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many levels each step takes."""
        if self.levels is None:
            return np.ones(self.jump.size, dtype=np.int64)
        return np.diff(np.searchsorted(self.levels, self.points))

    def expression(self, values: Floats) -> Linear:
        """Return a function of the coordinate, given by its values at the points."""
        return Linear(self.steps, np.diff(values) / self.counts, float(values[0]))

    def position(self, x: Floats) -> float:
        """Return the coordinate where the variables are `x`."""
        taken = x[self.steps]
        if self.jump.all():
            levels = self.points if self.levels is None else self.levels
            return float(levels[int(np.round(taken).sum())])
        return float(np.clip(self.points[0] + np.diff(self.points) @ taken, self.points[0], self.points[-1]))


def cell_axis(space: Space, j: int, splits: Sequence[Splits]) -> Axis:
    """Coordinate `j` where only its side of every threshold matters: the nearest allowed point of each cell."""
    levels = space.levels[j]
    start = space.start[j]
    if space.group[j] >= 0:
        assert levels is not None
        return Axis(levels, np.ones(levels.size - 1, dtype=bool))
    if space.rules is not None and j in space.rules.row_coordinates:
        # A row may ask for any point of a cell.
        return line_axis(space, j, splits, np.empty(0))
    points = _points(space, j, splits) if levels is None else np.unique(np.append(levels, start))
    # Points in one cell pass the same thresholds; among them only the nearest one is of use.
    cell = np.zeros(points.size, dtype=np.int64)
    for column in splits:
        cell += column.passed(points)
    cell += _passed(space, j, points)
    away = space.away(j, points) if j in space.circles else np.abs(points - start)
    nearest = np.lexsort((away, cell))
    first = np.unique(cell[nearest], return_index=True)[1]
    points = points[np.sort(nearest[first])]
    return Axis(points, np.ones(points.size - 1, dtype=bool))


def line_axis(space: Space, j: int, splits: Sequence[Splits], samples: Floats) -> Axis:
    """Return the coordinate `j` where its distance from every one of `samples` matters too."""
    levels = space.levels[j]
    if levels is not None:
        return Axis(levels, np.ones(levels.size - 1, dtype=bool))
    points = _points(space, j, splits, samples)
    inside = [(points[:-1] >= low) & (points[1:] <= high) for low, high in space.pieces(j)]
    jump = ~np.any(inside, axis=0) if inside else np.ones(points.size - 1, dtype=bool)
    for column in splits:
        jump |= np.diff(column.passed(points)) > 0
    jump |= np.diff(_passed(space, j, points)) > 0
    return Axis(points, jump)


def counted_axis(space: Space, j: int, splits: Sequence[Splits]) -> Axis:
    """Return the coordinate `j` with one step for levels between which nothing turns.

    What is linear in the coordinate, or in its distance from the start, is linear along each step.
    """
    levels = space.levels[j]
    if levels is None or levels.size < 3:
        return line_axis(space, j, splits, np.empty(0))
    passed = np.sum([column.passed(levels) for column in splits], axis=0) + _passed(space, j, levels)
    turns = np.zeros(levels.size, dtype=bool)
    turns[[0, -1]] = True
    turns[:-1] |= np.diff(passed) > 0
    turns[1:] |= np.diff(passed) > 0
    curves = np.stack([levels, space.away(j, levels)])
    least = EVEN * np.abs(curves).max(axis=1, keepdims=True)
    turns[1:-1] |= np.any(np.abs(np.diff(curves, 2)) > least, axis=0)
    points, at = levels[turns], np.flatnonzero(turns)
    straight = np.stack([np.interp(np.arange(levels.size), at, curve[turns]) for curve in curves])
    if np.any(np.abs(straight - curves) > least):
        return line_axis(space, j, splits, np.empty(0))
    return Axis(points, np.ones(points.size - 1, dtype=bool), levels=levels)


def _passed(space: Space, j: int, points: Floats) -> NDArray[np.int64]:
    """Return the number of thresholds of rules that each of `points` lies beyond."""
    if space.rules is None:
        return np.zeros(points.size, dtype=np.int64)
    return np.searchsorted(space.rules.thresholds(j), points, side="left")


def _points(space: Space, j: int, splits: Sequence[Splits], samples: ArrayLike = ()) -> Floats:
    """The start, and what is allowed of the ends of the range, of both sides of the thresholds and of `samples`."""
    # Where the other way round becomes the shorter one.
    knots = space.start[j] + np.array([-0.5, 0.5]) * space.circles[j] if j in space.circles else ()
    asked = np.empty(0) if space.rules is None else space.rules.thresholds(j)
    asked = np.concatenate((asked, np.nextafter(asked, np.inf)))
    places = np.concatenate((samples, knots, asked, *(side for column in splits for side in column.sides())))
    return space.among(j, places)


def add_axes(model: Model, space: Space, axes: Sequence[Axis]) -> None:
    """Give every axis its step variables, order them, close the groups, and minimise the distance."""
    for j, axis in enumerate(axes):
        axis.steps = model.variables(axis.jump.size, upper=axis.counts, integer=axis.jump)
        model.minimise(axis.expression(space.away(j, axis.points)))
        _order(model, axis)
    for g in np.unique(space.group[space.group >= 0]):
        members = [axes[int(j)] for j in np.flatnonzero(space.group == g)]
        model.row(Linear.sum([axis.expression(axis.points) for axis in members]) * 2.0, 1.0, 1.0)


def add_few(model: Model, space: Space, axes: Sequence[Axis], few: ChangeLimit) -> Columns:
    """Let only this many features leave the start, and never all of a barred set: the binaries, one per feature."""
    changed = model.variables(int(space.feature.max()) + 1, integer=True)
    for j, axis in enumerate(axes):
        if int(space.feature[j]) in few.free:
            continue
        column = changed[space.feature[j] : space.feature[j] + 1]
        start = int(np.searchsorted(axis.points, space.start[j]))
        if start < axis.steps.size:
            # The first step beyond the start.
            model.pairs(axis.steps[start : start + 1], column, -axis.counts[start])
        if start > 0:
            step, most = axis.steps[start - 1 : start], float(axis.counts[start - 1])
            model.row(Linear(np.concatenate((step, column)), np.array([1.0, most])), most, np.inf)
    model.row(Linear(changed, np.ones(changed.size)), -np.inf, float(few.most))
    for one in few.barred:
        columns = changed[np.array(one)]
        model.row(Linear(columns, np.ones(columns.size)), -np.inf, columns.size - 1.0)
    return changed


def _order(model: Model, axis: Axis) -> None:
    """A step may only begin once the one before it is complete."""
    before, after = axis.steps[:-1], axis.steps[1:]
    # Between two steps that may both stop half-way, only a binary knows whether the first is complete.
    halts, counts = ~axis.jump | (axis.counts > 1), axis.counts
    loose = (halts[:-1] & halts[1:]) | (counts[:-1] > 1)
    complete = before.copy()
    complete[loose] = model.variables(int(loose.sum()), integer=True)
    model.pairs(after, complete, -counts[1:])
    if loose.any():
        own = counts[:-1][loose]
        at, columns = np.tile(np.arange(own.size), 2), np.concatenate((complete[loose], before[loose]))
        model.rows(at, columns, np.concatenate((own, -np.ones(own.size))), -np.inf, 0.0, own.size)
