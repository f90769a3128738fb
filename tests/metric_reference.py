"""Nearest explanations among neighbours by any metric, by brute force: every vertex of the lines that matter.

Written from the definitions alone, and sharing nothing with the search or with how the package measures distances:
squared distances from two past contexts differ by a linear function of the context: the nearest explanation lies
where such lines, the ends of the ranges and the lines through the start meet. Sums of absolute differences turn at past
contexts too, and are looked at cell by cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.knn_reference import SLACK, _choices, judge

from whence.question import Question
from whence.weights import KNNWeights

Floats = NDArray[np.float64]


def measured(weights: KNNWeights, metric: Any, scaled: bool, row: Floats) -> Floats:
    """How far all past contexts are from a row, as documented: squares for anything but sums, in units of its own."""
    X = weights.points_
    ranges = X.max(axis=0) - X.min(axis=0)
    gaps = X - row
    if isinstance(metric, str) and metric == "l1":
        unit = 1.0 if scaled else (ranges.max() or 1.0)
        return np.array([sum(abs(g) for g in gap) / unit for gap in gaps])
    matrix = np.eye(X.shape[1]) if isinstance(metric, str) else np.asarray(metric, dtype=np.float64)
    named = isinstance(metric, str)
    unit = 1.0 if scaled and named else (max(np.sqrt(matrix[j, j]) * ranges[j] for j in range(len(ranges))) or 1.0)
    return np.array([float(gap @ matrix @ gap) for gap in gaps]) / unit**2


class _Linear:
    """Differences of distances as linear functions of the free coordinates, in one cell of them."""

    def __init__(self, far: Any, filled: Floats, free: list[int], low: Floats, high: Floats) -> None:
        # Three points of the cell say what a linear function is.
        def at(x: Floats) -> Floats:
            point = filled.copy()
            point[free] = x
            found = far(point)
            return np.asarray(found - found[0])

        middle = (low + high) / 2.0
        width = np.maximum((high - low) / 2.0, 1e-3)
        here = at(middle)
        self.slopes = np.array(
            [(at(middle + width[j] * np.eye(len(free))[j]) - here) / width[j] for j in range(len(free))]
        )
        self.slopes = self.slopes.T.reshape(len(here), len(free))
        self.constant = here - self.slopes @ middle


def _vertices(linear: _Linear, marks: list[Floats], separation: float) -> Floats:
    n, c = linear.slopes.shape
    first, second = np.array([(a, b) for a in range(n) for b in range(n) if a != b]).T
    normals = [np.eye(c)[j] for j in range(c) for _ in marks[j]]
    limits = [float(v) for j in range(c) for v in marks[j]]
    normal = np.vstack([np.array(normals), linear.slopes[first] - linear.slopes[second]])
    limit = np.concatenate([limits, linear.constant[second] - linear.constant[first] - separation])
    keep = np.abs(normal).max(axis=1) > 1e-13
    normal, limit = normal[keep], limit[keep]
    size = np.abs(normal).max(axis=1)
    normal, limit = normal / size[:, None], limit / size
    if c == 1:
        return (limit / normal[:, 0])[:, None]
    i, j = np.triu_indices(len(limit), 1)
    det = normal[i, 0] * normal[j, 1] - normal[i, 1] * normal[j, 0]
    ok = np.abs(det) > 1e-10
    i, j, det = i[ok], j[ok], det[ok]
    return np.column_stack(
        [
            (limit[i] * normal[j, 1] - limit[j] * normal[i, 1]) / det,
            (normal[i, 0] * limit[j] - normal[j, 0] * limit[i]) / det,
        ]
    )


def nearest_by_lines(question: Question, rivals: Sequence[Floats], metric: Any, scaled: bool) -> float:
    """Nearest distance, infinite for none; at most two continuous coordinates."""
    space, weights = question.space, question.weights
    assert isinstance(weights, KNNWeights)
    k, inputs, holds = int(weights.k), question.inputs, judge(question, rivals)

    def far(point: Floats) -> Floats:
        row = np.empty(len(inputs.coordinate))
        for c, j in enumerate(inputs.coordinate):
            row[c] = point[j] * inputs.scale[c] + inputs.offset[c]
        return measured(weights, metric, scaled, row)

    sums = isinstance(metric, str) and metric == "l1"
    known: dict[bytes, bool] = {}
    free, fillings = _choices(question)
    best = np.inf
    back = {
        int(j): (weights.points_[:, c] - inputs.offset[c]) / inputs.scale[c] for c, j in enumerate(inputs.coordinate)
    }
    for filled in fillings:
        rest = [j for j in range(len(space.start)) if j not in free]
        least = float(np.abs(filled - space.start)[rest] @ space.weight[rest])
        if least >= best:
            continue
        cells = [_cells(question, j, back[j] if sums else np.empty(0)) for j in free]
        for cell in itertools.product(*cells):
            low, high = np.array([a for a, _ in cell]), np.array([b for _, b in cell])
            if free:
                marks = [np.array([a, b, space.start[j]]) for (a, b), j in zip(cell, free, strict=True)]
                linear = _Linear(far, filled, free, low, high) if not sums else _InCell(far, filled, free, low, high)
                found = _vertices(linear, marks, question.settings.separation)
                found = found[((found >= low - 1e-9) & (found <= high + 1e-9)).all(axis=1)].clip(low, high)
            else:
                found = np.empty((1, 0))
            extra = np.abs(found - space.start[free]) @ space.weight[free] + least
            for at in np.argsort(extra):
                if extra[at] >= best:
                    break
                point = filled.copy()
                point[free] = found[at]
                distance = far(point)
                order = np.argsort(distance, kind="stable")
                if distance[order[k]] - distance[order[k - 1]] < question.settings.separation - SLACK:
                    continue
                members = np.sort(order[:k])
                if known.setdefault(members.tobytes(), holds(members)):
                    best = float(extra[at])
                    break
    return best


class _InCell(_Linear):
    """The same of sums of absolute differences, which are linear inside a cell only."""

    def __init__(self, far: Any, filled: Floats, free: list[int], low: Floats, high: Floats) -> None:
        def at(x: Floats) -> Floats:
            point = filled.copy()
            point[free] = x
            found = far(point)
            return np.asarray(found - found[0])

        here = at(low)
        slopes = []
        for j in range(len(free)):
            step = (high[j] - low[j]) * np.eye(len(free))[j]
            slopes.append((at(low + step) - here) / (high[j] - low[j]) if high[j] > low[j] else np.zeros(len(here)))
        self.slopes = np.array(slopes).T.reshape(len(here), len(free))
        self.constant = here - self.slopes @ low


def _cells(question: Question, j: int, turns: Floats) -> list[tuple[float, float]]:
    """Intervals of a continuous coordinate between the ends of its range and where distances turn; and its start."""
    space = question.space
    start, low, high = float(space.start[j]), float(space.lower[j]), float(space.upper[j])
    if low > high:
        return [(start, start)]
    marks = np.unique(np.concatenate([turns, [low, high]]))
    marks = marks[(marks >= low) & (marks <= high)]
    cells = [(float(a), float(b)) for a, b in itertools.pairwise(marks)] or [(low, low)]
    return cells if low <= start <= high else [*cells, (start, start)]
