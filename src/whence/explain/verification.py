"""The re-check: no answer leaves the package before the fitted estimator and the problem confirm it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.neighbors import NearestNeighbors

from whence.aliases import Floats
from whence.encoding import SHORT
from whence.errors import InternalError
from whence.explain.room import forest_room
from whence.features import Schema
from whence.question import Answer, Question
from whence.weights import ForestWeights, KNNWeights

__all__ = ["confirmed"]


#: Coordinates may differ by this much between an engine and the context it leads to (by this share where they are
#: larger than 1), and distances by as much times the largest weight of a feature.
COORDINATE_SLACK, DISTANCE_SLACK = 1e-7, 1e-6
#: Costs may differ by this share of the largest cost: rounding of sums, far below the tolerance.
COST_SLACK = 1e-9


def confirmed(
    question: Question, answer: Answer, schema: Schema, initial: pd.Series, inputs_of: Any
) -> tuple[pd.Series, Floats, float]:
    """The context of `answer` in the user's units, its weights and its distance, all computed afresh.

    Parameters
    ----------
    inputs_of : callable
        From a context in the user's units to the row that the weights' estimator sees.
    """
    assert answer.point is not None
    space = question.space
    context = schema.decode(answer.point, initial, answer.room or _room(question, answer.point), space.ends)
    point = schema.encode_row(context)
    size = max(1.0, float(np.abs(space.start).max()))
    if not space.contains(point, slack=COORDINATE_SLACK * size):
        raise InternalError(f"The {question.kind} explanation lies outside the allowed contexts: {context.to_dict()}.")
    distance = space.distance(point)
    if abs(distance - answer.distance) > DISTANCE_SLACK * size * max(1.0, float(space.weight.max())):
        raise InternalError(f"The explanation lies at distance {distance:.9g}, not at {answer.distance:.9g} as found.")
    plausibility = question.options.get("plausibility")
    if plausibility is not None and not _plausibility(plausibility, point).accepts(point):
        raise InternalError(f"The isolation forest takes the context found for an outlier: {context.to_dict()}.")
    row = inputs_of(context)
    weights = _weights(question, row)
    slack = COST_SLACK * max(
        1e-300, float(np.abs(question.alternative).max()), float(np.abs(question.rival_decision).max())
    )
    gap = question.risk.of(question.alternative, weights) - question.risk.of(question.rival_decision, weights)
    if gap > question.tau + slack:
        raise InternalError(f"The alternative costs {gap:.6g} more than the decision in the context found.")
    if question.kind == "absolute":
        rival = question.better(weights)
        if rival is not None:
            regret = question.risk.of(question.alternative, weights) - question.risk.of(rival, weights)
            if regret > question.tau + slack:
                raise InternalError(f"The alternative is {regret:.6g} from optimal in the context found.")
    return context, weights, distance


def _room(question: Question, point: Floats) -> tuple[Floats, Floats] | None:
    """Where an engine names none, the allowed part of the cell around a forest's `point`: it may lie on its edge.

    With an isolation forest the cell is that of both, and that of the isolation forest alone with neighbours.
    """
    inputs, space = question.inputs, question.space
    plausibility = question.options.get("plausibility")
    if isinstance(question.weights, ForestWeights):
        low, high = forest_room(question, point, point[inputs.coordinate] * inputs.scale + inputs.offset)
    elif plausibility is not None:
        low, high = point - SHORT, point + SHORT
    else:
        return None
    if plausibility is not None:
        inner = _plausibility(plausibility, point).room(point)
        low, high = np.maximum(low, inner[0]), np.minimum(high, inner[1])
    return np.maximum(low, np.minimum(space.lower, point)), np.minimum(high, np.maximum(space.upper, point))


def _plausibility(given: Any, point: Floats) -> Any:
    from whence.milp.plausibility import Plausibility

    return Plausibility.of(given, point.size)


def _weights(question: Question, row: Floats) -> Floats:
    weights = question.weights
    if isinstance(weights, KNNWeights):
        return _separated(weights, row, question.separation)
    assert isinstance(weights, ForestWeights)
    return weights.at(row)


def _separated(weights: KNNWeights, row: Floats, separation: float) -> Floats:
    """Weights at `row` by scikit-learn's own distances, which must set the k nearest apart from the rest."""
    # A tree answers one context in one thread; brute force would wake all cores for it.
    finder = NearestNeighbors(n_neighbors=weights.k + 1, algorithm="kd_tree", metric="manhattan").fit(weights.points_)
    # In a worker of a cluster scikit-learn would else send this single row round the cluster.
    with parallel_config(backend="sequential"):
        distance, index = finder.kneighbors(row[None, :])
    gap = float(distance[0, -1] - distance[0, -2])
    if gap < separation - 1e-9:
        raise InternalError(f"The k-th and (k+1)-th neighbour are only {gap:.3g} apart in the context found.")
    out = np.zeros(weights.n_samples_)
    out[index[0, :-1]] = 1.0 / weights.k
    return out
