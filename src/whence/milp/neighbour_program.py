"""Nearest-neighbour weights in an integer program."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np
from scipy import sparse

from whence.errors import InputError
from whence.milp.axes import Axis, Splits, add_axes, line_axis
from whence.milp.model import Columns, Linear, Model, Row, scaled
from whence.milp.weighting import Parts, Weighting
from whence.question import Question
from whence.util.aliases import Floats
from whence.weights import KNNWeights
from whence.weights.metrics import seen_in_coordinates
from whence.weights.plausibility import Nearby

#: What is asked beyond the separation, so that a solver's rounding does not fall short of it.
MARGIN = 1e-8


class NeighbourWeighting(Weighting):
    """Weights of the k nearest neighbours: one binary per sample, and a radius between neighbours and the rest."""

    def __init__(self, model: Model, question: Question, more: Sequence[tuple[int, Splits]] = ()) -> None:
        self.model, self.separation, space = model, question.settings.separation, question.space
        self.neighbours = neighbours = cast(KNNWeights, question.weights)
        if neighbours.by_distance:
            raise InputError(
                "'engine' must be 'search' for neighbours that count by their distance: their weights are no linear "
                "functions. Got 'milp' instead."
            )
        self.plausibility = question.space.plausibility if isinstance(question.space.plausibility, Nearby) else None
        self.inputs = question.inputs
        measured = _Scored(question, neighbours) if neighbours.metric_.squared else _Summed(question, neighbours)
        turns = [measured.turns(j) for j in range(space.start.size)]
        self.axes = [line_axis(space, j, [s for i, s in more if i == j], column) for j, column in enumerate(turns)]
        add_axes(model, space, self.axes)
        self.chosen_columns = model.variables(neighbours.n_samples_, integer=True)
        self._separate(measured.distances(model, self.axes), *measured.ranges(self.axes))

    def _separate(self, distances: Sequence[Linear], nearest: Floats, farthest: Floats) -> None:
        """Those chosen lie within the radius, all others beyond it."""
        model, k, inside = self.model, int(self.neighbours.k), self.chosen_columns
        # The radius may be taken as the k-th distance, which lies between the k-th smallest of either bound.
        low, high = np.partition(nearest, k - 1)[k - 1], np.partition(farthest, k - 1)[k - 1]
        gap = self.separation + MARGIN
        radius = model.variables(1, low, high)
        model.row(Linear(inside, np.ones(inside.size)), float(k), float(k))
        if self.plausibility is not None:
            model.row(Linear(radius, np.ones(1)), -np.inf, self.plausibility.widest)
        for i, distance in enumerate(distances):
            chosen = inside[i : i + 1]
            beyond = float(max(farthest[i] - low, 0.0))
            within = float(max(high + gap - nearest[i], 0.0))
            difference = distance - Linear(radius, np.ones(1))
            model.row(difference + Linear(chosen, np.array([beyond])), -np.inf, beyond)
            model.row(difference + Linear(chosen, np.array([within])), gap, np.inf)

    def mean(self, values: Floats) -> Linear:
        if self.neighbours.counts is not None:
            raise InputError(
                "'sample_weight' must be left out in 'fit' to ask the integer program this about neighbours: their "
                "weights are quotients. Use engine='search'."
            )
        return Linear(self.chosen_columns, values / self.neighbours.k)

    def parts(self) -> Parts:
        """Return the neighbours."""
        n, k = self.chosen_columns.size, int(self.neighbours.k)
        self.mean(np.zeros(n))  # refuses weights that are quotients
        return Parts(self.chosen_columns, sparse.eye_array(n, format="csr") / k, [slice(0, n)], k)

    def at_most(self, values: Floats, limit: float) -> Row:
        counts = self.neighbours.counts
        if counts is None:
            return super().at_most(values, limit)
        # A quotient is at most the limit where its numerator is at most as many times its denominator.
        return scaled(Linear(self.chosen_columns, counts * (values - limit)), 0.0)

    @cached_property
    def columns(self) -> Columns:
        """Variables that hold the weights: 1/k for each sample chosen."""
        share = 1.0 / self.neighbours.k
        made = self.model.variables(self.chosen_columns.size, 0.0, share)
        self.model.pairs(made, self.chosen_columns, -share, lower=0.0)
        return made

    @staticmethod
    def ceilings(weights: KNNWeights, how: str) -> Floats:
        """Return the upper bounds on the weights: no neighbour ever has more than its equal share."""
        return np.full(weights.n_samples_, 1.0 / weights.k)

    def chosen(self, x: Floats) -> Floats:
        return self.neighbours.shared(np.flatnonzero(x[self.chosen_columns] > 0.5))

    def confirmed(self, context: Floats) -> Floats | None:
        """Return weights at `context`; None where the neighbours are not separated from the others."""
        k = int(self.neighbours.k)
        distances = self.neighbours.far(self.inputs.row(context))
        order = np.argsort(distances, kind="stable")
        if distances[order[k]] - distances[order[k - 1]] < self.separation:
            return None
        return self.neighbours.shared(order[:k])

    def leave(self, x: Floats) -> Row:
        """Return the row that says: one of the samples chosen where the variables are `x` must go."""
        kept = self.chosen_columns[x[self.chosen_columns] > 0.5]
        return Row(Linear(kept, np.ones(kept.size)), -np.inf, kept.size - 1.0)


class _Summed:
    """Distances that are sums of absolute differences, each of them stretched as the estimator sees its coordinate."""

    def __init__(self, question: Question, neighbours: KNNWeights) -> None:
        self.circles = neighbours.metric_.circles
        if neighbours.plain:
            self.samples, self.stretch = neighbours.points_, np.ones(neighbours.points_.shape[1])
        else:
            d = question.space.start.size
            self.samples, stretch = seen_in_coordinates(neighbours.points_, question.inputs, d)
            self.stretch = stretch / neighbours.metric_.unit

    def turns(self, j: int) -> Floats:
        """Return where distances turn along a coordinate: at the samples, and opposite of them on a circle."""
        column = self.samples[:, j]
        half = 0.5 * self.circles.get(j, 0.0)
        return np.concatenate((column, column - half, column + half)) if half else column

    def distances(self, model: Model, axes: Sequence[Axis]) -> list[Linear]:
        """Return the distance of the context from every sample."""
        gaps = [_gaps(model, axis, self.samples[:, j], self.circles.get(j)) for j, axis in enumerate(axes)]
        return [
            Linear.sum(
                [gap[i] if factor == 1.0 else gap[i] * factor for gap, factor in zip(gaps, self.stretch, strict=True)]
            )
            for i in range(self.samples.shape[0])
        ]

    def ranges(self, axes: Sequence[Axis]) -> tuple[Floats, Floats]:
        """Return the smallest and largest distance that each sample can have from a context on the axes."""
        nearest, farthest = np.zeros(len(self.samples)), np.zeros(len(self.samples))
        for j, (axis, column, factor) in enumerate(zip(axes, self.samples.T, self.stretch, strict=True)):
            if j in self.circles:
                away = _away(axis.points, column, self.circles[j])
                farthest += factor * away.max(axis=1)
                nearest += factor * away.min(axis=1)
                continue
            low, high = axis.points[0], axis.points[-1]
            farthest += factor * np.maximum(np.abs(column - low), np.abs(column - high))
            nearest += factor * np.maximum(np.maximum(low - column, column - high), 0.0)
        return nearest, farthest


class _Scored:
    """Scores that stand for squared distances: they are linear, so that nothing turns."""

    def __init__(self, question: Question, neighbours: KNNWeights) -> None:
        d = question.space.start.size
        self.scores = neighbours.metric_.scores(neighbours.points_, question.inputs, d)

    def turns(self, j: int) -> Floats:
        """Return no turns."""
        return np.empty(0)

    def distances(self, model: Model, axes: Sequence[Axis]) -> list[Linear]:
        """Return the score of every sample in the context; a variable per coordinate keeps the rows short."""
        at = []
        for axis in axes:
            column = model.variables(1, axis.points[0], axis.points[-1])
            model.row(Linear(column, np.ones(1)) - axis.expression(axis.points), 0.0, 0.0)
            at.append(column)
        columns = np.concatenate(at)
        return [
            Linear(columns, row, float(constant))
            for row, constant in zip(self.scores.slopes, self.scores.constant, strict=True)
        ]

    def ranges(self, axes: Sequence[Axis]) -> tuple[Floats, Floats]:
        """Return the smallest and largest score that each sample can have in a context on the axes."""
        ends = np.array([[axis.points[0], axis.points[-1]] for axis in axes])
        low, high = self.scores.slopes * ends[:, 0], self.scores.slopes * ends[:, 1]
        constant = self.scores.constant
        return constant + np.minimum(low, high).sum(axis=1), constant + np.maximum(low, high).sum(axis=1)


def _away(points: Floats, values: Floats, period: float | None) -> Floats:
    """Distance of every point, a column each, from every value; the short way round where there is a period."""
    away: Floats = np.abs(points[None, :] - values[:, None])
    return away if period is None else np.minimum(away, np.abs(period - away))


def _gaps(model: Model, axis: Axis, samples: Floats, period: float | None) -> list[Linear]:
    """Return the distance of an axis's position from every one of `samples`.

    Written out, each would carry every step of the axis. From one sample to the next it changes by what lies
    between the two, so that one variable per distinct value keeps the rows short.
    """
    values, which = np.unique(samples, return_inverse=True)
    at_points = _away(axis.points, values, period)
    if axis.steps.size <= 3:
        known = [axis.expression(row) for row in at_points]
        return [known[v] for v in which.ravel()]
    columns = model.variables(values.size, at_points.min(axis=1), at_points.max(axis=1))
    gaps = [Linear(columns[v : v + 1], np.ones(1)) for v in range(values.size)]
    model.row(gaps[0] - axis.expression(at_points[0]), 0.0, 0.0)
    for v in range(1, values.size):
        change = axis.expression(at_points[v] - at_points[v - 1])
        model.row(gaps[v] - gaps[v - 1] - _without_zeros(change), 0.0, 0.0)
    return [gaps[v] for v in which.ravel()]


def _without_zeros(expression: Linear) -> Linear:
    present = np.abs(expression.coefficients) > 1e-14
    return Linear(expression.columns[present], expression.coefficients[present], expression.constant)
