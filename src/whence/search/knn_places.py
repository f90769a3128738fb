"""Where contexts and past ones lie in a space whose Euclidean distance is that of the neighbours."""

from __future__ import annotations

import numpy as np

from whence._core import Places
from whence.question import Question
from whence.search.knn_axes import Layout
from whence.weights import KNNWeights

__all__ = ["places_of"]


def places_of(question: Question, layout: Layout, weights: KNNWeights) -> Places | None:
    """The places of past contexts, and how the axes move a context; None where distances are sums of differences.

    Neighbours that count by their distance need it; for all others, scores stand for its square.
    """
    if not weights.metric_.squared:
        return None
    points, inputs, start = weights.points_, question.inputs, question.space.start
    # Seen from the middle of the history, numbers lose least where they are combined.
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    turned = weights.metric_.stretched(np.eye(points.shape[1]))
    moved = np.zeros((start.size, turned.shape[1]))
    np.add.at(moved, inputs.coordinate, inputs.scale[:, None] * turned)
    origin = (inputs.offset - middle) @ turned
    columns, ranks = [], []
    fixed = np.ones(start.size, dtype=np.bool_)
    for j, members in zip(layout.coordinate, layout.members, strict=True):
        fixed[members if j < 0 else j] = False
        columns.append(moved[j] if j >= 0 else np.zeros(moved.shape[1]))
        ranks += [0.5 * moved[one] for one in (members if j < 0 else ())]
    origin = origin + start[fixed] @ moved[fixed]
    return Places(
        layout.axes.each,
        np.ascontiguousarray((points - middle) @ turned),
        np.ascontiguousarray(np.array(columns).reshape(len(columns), -1)),
        np.ascontiguousarray(np.array(ranks)) if ranks else None,
        np.ascontiguousarray(origin),
    )
