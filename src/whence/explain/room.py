"""How far the numbers of a context that was found may be rounded, so that its weights stay the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.question import Question
from whence.weights import ForestWeights, KNNWeights
from whence.weights.forest import turning_points

__all__ = ["forest_room", "neighbour_room", "room_around"]


#: Numbers are rounded away from where they started, by no more than this share of their change.
FURTHER = 0.05
#: In the room, neighbours stay this much nearer than all others: more than the rounding of distances.
CLEAR = 2e-7
#: How often the room is halved before none is given.
HALVINGS = 24


def room_around(question: Question, point: Floats, row: Floats) -> tuple[Floats, Floats] | None:
    """Lower and upper corner of a box around `point`, in coordinates, in which the weights stay the same.

    Parameters
    ----------
    question : Question
        What was asked.
    point, row : ndarray
        The context that was found, in coordinates, and as the weights' estimator sees it.
    """
    if isinstance(question.weights, ForestWeights):
        return forest_room(question, point, row)
    free = np.array([levels is None for levels in question.space.levels])
    return neighbour_room(question.weights, question.space.start, point, free)


def forest_room(question: Question, point: Floats, row: Floats) -> tuple[Floats, Floats]:
    """The cell of `point`: the box that no split on the way to its leaves cuts off."""
    assert isinstance(question.weights, ForestWeights)
    inputs = np.asarray(row, dtype=np.float32)
    d = question.inputs.coordinate.size
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    for tree in question.weights.trees:
        path = tree.decision_path(inputs[None, :]).indices
        split = path[tree.children_left[path] >= 0]
        feature, threshold = tree.feature[split], tree.threshold[split]
        left = inputs[feature] <= threshold
        below, beyond = question.inputs.sides(feature, *turning_points(threshold))
        np.minimum.at(high, feature[left], below[left])
        np.maximum.at(low, feature[~left], beyond[~left])
    lower, upper = np.full(point.size, -np.inf), np.full(point.size, np.inf)
    np.maximum.at(lower, question.inputs.coordinate, low)
    np.minimum.at(upper, question.inputs.coordinate, high)
    return lower, upper


def neighbour_room(
    weights: KNNWeights, start: Floats, point: Floats, free: NDArray[np.bool_]
) -> tuple[Floats, Floats] | None:
    """Lower and upper corner of a box from `point` away from `start` in which the neighbours stay the same.

    Parameters
    ----------
    weights : KNNWeights
        Fitted, with distances in the L1 norm.
    start, point : ndarray
        Initial context and the one that was found, in coordinates.
    free : ndarray of bool
        The coordinates along which the box may extend; the others stay as they are at `point`.

    Examples
    --------
    >>> weights = KNNWeights(k=1).fit(np.array([[0.0], [1.0]]))
    >>> low, high = neighbour_room(weights, np.array([0.2]), np.array([0.6]), np.array([True]))
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.6], [0.62])
    """
    points = weights.points_
    distance = np.abs(points - point).sum(axis=1)
    members = weights.neighbours(point)
    others = np.setdiff1d(np.arange(len(points)), members)
    step = np.where(free, FURTHER * (point - start), 0.0)
    moving = np.flatnonzero(step)
    for _ in range(HALVINGS if moving.size else 0):
        # Whoever is further away than all steps together can bridge never comes into question.
        reach = distance[members].max() + 2.0 * np.abs(step).sum() + CLEAR
        rivals = others[distance[others] <= reach]
        here, there = point[moving], point[moving] + step[moving]
        nearer = np.abs(points[:, moving] - there) - np.abs(points[:, moving] - here)
        # The lead of i over j changes monotonically along every coordinate, so that it is least in a corner.
        least = (
            np.minimum(nearer[rivals] - nearer[i], 0.0).sum(axis=1) + distance[rivals] - distance[i] for i in members
        )
        if all(float(lead.min(initial=np.inf)) > CLEAR for lead in least):
            return np.minimum(point, point + step), np.maximum(point, point + step)
        step /= 2.0
    return None
