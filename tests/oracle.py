"""The reference: nearest explanations of forest policies by looking at every cell.

Written from the definition alone, and sharing nothing with the search: a tree sends a context to the left where
the float32 of its column is at most the threshold, so contexts between the same thresholds have the same weights.
One nearest point of every cell is tried: the last number that the tree still sends to that side, found by bisection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from whence.features.space import Space
from whence.question import Question
from whence.risk import CVaR, Expectation, Risk

#: More cells than this are a mistake of the test, which would take too long.
MOST_CELLS = 300_000


class Nearest(NamedTuple):
    """The nearest explanation, and how many cells were looked at."""

    distance: float
    point: np.ndarray
    cells: int


def nearest(question: Question) -> Nearest | None:
    """The nearest context that satisfies the question, or None where there is none."""
    points = cells(question)
    distance = np.abs(points - question.space.start) @ question.space.weight
    order = np.argsort(distance, kind="stable")
    points, distance = points[order], distance[order]
    weights = question.weights.weights(estimator_rows(question, points))
    holds = np.flatnonzero(satisfied(question, weights))
    for i in holds:
        # The array formula only sorts out the hopeless; the word on a cell is the risk measure's own.
        if question.claim.is_satisfied(weights[i]) and (
            question.claim.kind == "relative" or question.claim.better(weights[i]) is None
        ):
            return Nearest(float(distance[i]), points[i], len(points))
    return None


def nearest_by_costs(question: Question, risk: Risk, costs: np.ndarray, rivals: Sequence[np.ndarray]) -> Nearest | None:
    """The nearest context in which a plan's risk exceeds that of none of its rivals, all judged by `risk.of` alone.

    The question only says where to look and what is tolerated; `costs` and `rivals` are plain sample costs.
    """
    points = cells(question)
    distance = np.abs(points - question.space.start) @ question.space.weight
    for i in np.argsort(distance, kind="stable"):
        weights = question.weights.weights(estimator_rows(question, points[i : i + 1]))[0]
        limit = min(risk.of(rival, weights) for rival in rivals) * (1.0 + question.claim.within) + question.claim.tau
        if risk.of(costs, weights) <= limit:
            return Nearest(float(distance[i]), points[i], len(points))
    return None


def estimator_rows(question: Question, points: np.ndarray) -> np.ndarray:
    """What the fitted estimator sees at `points`."""
    inputs = question.inputs
    return points[:, inputs.coordinate] * inputs.scale + inputs.offset


def satisfied(question: Question, weights: np.ndarray) -> np.ndarray:
    """For every row of weights, whether the relative criterion may hold, with a hair of slack for rounding."""
    alternative = risk_of_rows(question.claim.risk, question.claim.alternative, weights)
    decision = risk_of_rows(question.claim.risk, (1.0 + question.claim.within) * question.claim.decision, weights)
    slack = 1e-9 * (1.0 + np.abs(decision))
    return alternative <= decision + question.claim.tau + slack


def risk_of_rows(risk: Risk, costs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Risk of `costs` under every row of `weights`; CVaR by the formula of Rockafellar and Uryasev."""
    if isinstance(risk, Expectation):
        return weights @ costs
    assert isinstance(risk, CVaR)
    excess = np.maximum(costs[:, None] - costs[None, :], 0.0)
    return (costs[None, :] + weights @ excess / (1.0 - risk.alpha)).min(axis=1)


def cells(question: Question, further: dict[int, np.ndarray] | None = None) -> np.ndarray:
    """The nearest allowed point of every cell that holds one; some coordinates may have `further` thresholds."""
    further = further or {}
    blocks = [np.arange(question.space.start.size)[question.space.group == g] for g in _groups(question.space)]
    blocks += [np.array([j]) for j in np.flatnonzero(question.space.group < 0)]
    choices = [
        _categories(question.space, block)
        if question.space.group[block[0]] >= 0
        else _values(question, int(block[0]), further.get(int(block[0]), np.zeros(0)))
        for block in blocks
    ]
    sizes = [len(choice) for choice in choices]
    assert np.prod(sizes, dtype=float) <= MOST_CELLS, f"{sizes} cells are too many to enumerate"
    picks = np.indices(sizes).reshape(len(sizes), -1)
    points = np.empty((picks.shape[1], question.space.start.size))
    for block, choice, pick in zip(blocks, choices, picks, strict=True):
        points[:, block] = choice[pick]
    return points


def _groups(space: Space) -> list[int]:
    return [int(g) for g in np.unique(space.group) if g >= 0]


def _categories(space: Space, block: np.ndarray) -> np.ndarray:
    """Every allowed category of a group: one coordinate at 1/2, the others at 0."""
    found = []
    for chosen in block:
        point = np.where(block == chosen, 0.5, 0.0)
        if all(_allowed(space, int(j), value) for j, value in zip(block, point, strict=True)):
            found.append(point)
    start = space.start[block]
    if not any(np.array_equal(start, point) for point in found):
        found.append(start)
    return np.array(found)


def _values(question: Question, j: int, further: np.ndarray) -> np.ndarray:
    """The nearest allowed value of coordinate j in each of its cells, of shape (cells, 1)."""
    space, inputs = question.space, question.inputs
    columns = np.flatnonzero(inputs.coordinate == j)
    levels = space.levels[j]
    tried = [space.start[j], *((space.lower[j], space.upper[j]) if levels is None else levels)]
    cell_of = {}
    for column in columns:
        thresholds = np.unique([t for tree in question.weights.trees for t in tree.threshold[tree.feature == column]])
        cell_of[column] = thresholds
        if levels is None:
            for threshold in thresholds:
                tried += _turn(float(threshold), float(inputs.scale[column]), float(inputs.offset[column]))
    if levels is None:
        for threshold in further:
            tried += _turn(float(threshold), 1.0, 0.0)
    best: dict[tuple[int, ...], float] = {}
    for value in tried:
        if not _allowed(space, j, value):
            continue
        seen = {c: float(np.float32(value * inputs.scale[c] + inputs.offset[c])) for c in columns}
        cell = tuple(int((thresholds < seen[c]).sum()) for c, thresholds in cell_of.items())
        cell += (int((further < float(np.float32(value))).sum()),)
        if cell not in best or abs(value - space.start[j]) < abs(best[cell] - space.start[j]):
            best[cell] = float(value)
    return np.array(list(best.values()))[:, None]


def _turn(threshold: float, scale: float, offset: float) -> tuple[float, float]:
    """The last coordinate that goes left of a threshold and the next one, which goes right."""

    def left(value: float) -> bool:
        return float(np.float32(value * scale + offset)) <= threshold

    far = 1e-6 * (1.0 + abs(threshold))
    low, high = (threshold - far - offset) / scale, (threshold + far - offset) / scale
    assert left(low), (low, threshold)
    assert not left(high), (high, threshold)
    while True:
        middle = low + (high - low) / 2.0
        if middle in (low, high):
            return low, high
        low, high = (middle, high) if left(middle) else (low, middle)


def _allowed(space: Space, j: int, value: float) -> bool:
    if value == space.start[j]:
        return True
    levels = space.levels[j]
    if levels is not None and value not in levels:
        return False
    return bool(space.lower[j] <= value <= space.upper[j])
