"""Nearest-neighbour weights in an integer program."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np

from whence.aliases import Floats
from whence.errors import InputError
from whence.milp.axes import Axis, Splits, add_axes, line_axis
from whence.milp.model import Columns, Linear, Model, Row, scaled
from whence.milp.weighting import Weighting
from whence.question import Nearby, Question
from whence.weights import KNNWeights

__all__ = ["NeighbourWeighting"]

#: What is asked beyond the separation, so that a solver's rounding does not fall short of it.
MARGIN = 1e-8


class NeighbourWeighting(Weighting):
    """Weights of the k nearest neighbours: one binary per sample, and a radius between neighbours and the rest."""

    def __init__(self, model: Model, question: Question, more: Sequence[tuple[int, Splits]] = ()) -> None:
        self.model, self.separation, space = model, question.separation, question.space
        self.neighbours = neighbours = cast(KNNWeights, question.weights)
        self.plausible = question.plausible if isinstance(question.plausible, Nearby) else None
        samples = neighbours.points_
        self.axes = [line_axis(space, j, [s for i, s in more if i == j], column) for j, column in enumerate(samples.T)]
        add_axes(model, space, self.axes)
        self.chosen_columns = model.variables(neighbours.n_samples_, integer=True)
        self._separate(self._distances())

    def _distances(self) -> list[Linear]:
        """Distance of the context from every sample."""
        samples = self.neighbours.points_
        gaps = [_gaps(self.model, axis, samples[:, j]) for j, axis in enumerate(self.axes)]
        return [Linear.sum([gap[i] for gap in gaps]) for i in range(samples.shape[0])]

    def _separate(self, distances: Sequence[Linear]) -> None:
        """Those chosen lie within the radius, all others beyond it."""
        model, k, inside = self.model, int(self.neighbours.k), self.chosen_columns
        nearest, farthest = _ranges(self.axes, self.neighbours.points_)
        # The radius may be taken as the k-th distance, which lies between the k-th smallest of either bound.
        low, high = np.partition(nearest, k - 1)[k - 1], np.partition(farthest, k - 1)[k - 1]
        gap = self.separation + MARGIN
        radius = model.variables(1, low, high)
        model.row(Linear(inside, np.ones(inside.size)), float(k), float(k))
        if self.plausible is not None:
            model.row(Linear(radius, np.ones(1)), -np.inf, self.plausible.widest)
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
                "weights are quotients. Use engine='search'.",
                parameter="sample_weight",
            )
        return Linear(self.chosen_columns, values / self.neighbours.k)

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
        """Upper bounds on the weights: no neighbour ever has more than its equal share."""
        return np.full(weights.n_samples_, 1.0 / weights.k)

    def chosen(self, x: Floats) -> Floats:
        return self.neighbours.shared(np.flatnonzero(x[self.chosen_columns] > 0.5))

    def confirmed(self, context: Floats) -> Floats | None:
        """Weights at `context`; None where the neighbours are not separated from the others, or too far away."""
        if self.plausible is not None and not self.plausible.accepts(context):
            return None
        k = int(self.neighbours.k)
        distances = np.abs(self.neighbours.points_ - context).sum(axis=1)
        order = np.argsort(distances, kind="stable")
        if distances[order[k]] - distances[order[k - 1]] < self.separation:
            return None
        return self.neighbours.shared(order[:k])

    def leave(self, x: Floats) -> Row:
        """At least one of the samples chosen where the variables are `x` must go."""
        kept = self.chosen_columns[x[self.chosen_columns] > 0.5]
        return Row(Linear(kept, np.ones(kept.size)), -np.inf, kept.size - 1.0)


def _gaps(model: Model, axis: Axis, samples: Floats) -> list[Linear]:
    """Distance of an axis's position from every one of `samples`.

    Written out, each would carry every step of the axis. From one sample to the next it changes by what lies
    between the two, so that one variable per distinct value keeps the rows short.
    """
    values, which = np.unique(samples, return_inverse=True)
    at_points = np.abs(axis.points[None, :] - values[:, None])
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


def _ranges(axes: Sequence[Axis], samples: Floats) -> tuple[Floats, Floats]:
    """Smallest and largest distance that each sample can have from a context on the axes."""
    nearest, farthest = np.zeros(samples.shape[0]), np.zeros(samples.shape[0])
    for j, axis in enumerate(axes):
        low, high = axis.points[0], axis.points[-1]
        farthest += np.maximum(np.abs(samples[:, j] - low), np.abs(samples[:, j] - high))
        nearest += np.maximum(np.maximum(low - samples[:, j], samples[:, j] - high), 0.0)
    return nearest, farthest
