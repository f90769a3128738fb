"""Relations between features in an integer program: a leaf variable per leaf that keeps one, and linear rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whence.features.relation_trees import Relations, RelationTree
from whence.milp.axes import Axis
from whence.milp.model import Linear, Model
from whence.milp.tree_program import Box, link
from whence.util.aliases import Floats

__all__ = ["add_relations"]


def add_relations(model: Model, axes: Sequence[Axis], rules: Relations) -> None:
    """Let the context on the axes keep the rules."""
    for tree in rules.trees:
        _add_tree(model, axes, tree)
    for row, limit in zip(rules.rows, rules.limits, strict=True):
        parts = [axes[j].expression(axes[j].points) * float(row[j]) for j in np.flatnonzero(row).tolist()]
        model.row(Linear.sum(parts), upper=float(limit))


def _add_tree(model: Model, axes: Sequence[Axis], tree: RelationTree) -> None:
    """One variable for each leaf within reach in which the relation holds; one of them is 1."""
    boxes = [box for node, box in _boxes(tree, axes) if not tree.broken[node]]
    columns = model.variables(len(boxes), integer="implied")
    model.row(Linear(columns, np.ones(len(boxes))), 1.0, 1.0)
    for j in sorted({j for box in boxes for j in box}):
        ranges: NDArray[np.int64] = np.array([box.get(j, (0, axes[j].jump.size)) for box in boxes])
        link(model, axes[j], columns, ranges)


def _boxes(tree: RelationTree, axes: Sequence[Axis]) -> list[tuple[int, Box]]:
    """For every leaf within reach, the first and last point of each axis that leads to it."""
    found: list[tuple[int, Box]] = []
    waiting: list[tuple[int, Box]] = [(0, {})]
    while waiting:
        node, box = waiting.pop()
        j = int(tree.coordinate[node])
        if j < 0:
            found.append((node, box))
            continue
        points: Floats = axes[j].points
        first, last = box.get(j, (0, points.size - 1))
        beyond = int(np.searchsorted(points, tree.threshold[node], side="right"))
        if first < beyond:
            waiting.append((int(tree.left[node]), {**box, j: (first, min(last, beyond - 1))}))
        if last >= beyond:
            waiting.append((int(tree.right[node]), {**box, j: (max(first, beyond), last)}))
    return found
