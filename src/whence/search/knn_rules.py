"""Relations between features along the axes of a nearest-neighbour question."""

from __future__ import annotations

import numpy as np

from whence._core import Rules
from whence.aliases import Floats
from whence.question.relations import Relations, RelationTree
from whence.search.knn_axes import Layout

__all__ = ["rules_of"]

Node = tuple[float, float, float, float, float, float]


def rules_of(layout: Layout, relations: Relations | None) -> Rules | None:
    """The rules that contexts keep along the axes; what is asked of coordinates that cannot move is answered here."""
    if relations is None:
        return None
    number, category = _places(layout)
    nodes: list[Node] = []
    roots = [_added(tree, layout.space.start, number, category, nodes) for tree in relations.trees]
    q = len(layout.coordinate)
    rows = np.zeros((len(relations.rows), q))
    limits = relations.limits.copy()
    for j in range(layout.space.start.size):
        if j in number:
            rows[:, number[j]] = relations.rows[:, j] if len(relations.rows) else 0.0
        elif len(relations.rows):
            limits -= relations.rows[:, j] * layout.space.start[j]
    table = np.array(nodes, dtype=np.float64).reshape(-1, 6)
    return Rules(table, np.array(roots, dtype=np.int64), np.ascontiguousarray(rows), limits)


def _places(layout: Layout) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
    """The axis of every coordinate that is a number, and axis and rank of every one that is a category."""
    number: dict[int, int] = {}
    category: dict[int, tuple[int, int]] = {}
    for axis, (j, members) in enumerate(zip(layout.coordinate, layout.members, strict=True)):
        if j >= 0:
            number[int(j)] = axis
        else:
            category.update({int(one): (axis, rank) for rank, one in enumerate(members)})
    return number, category


def _added(
    tree: RelationTree,
    start: Floats,
    number: dict[int, int],
    category: dict[int, tuple[int, int]],
    nodes: list[Node],
) -> int:
    """Add the nodes of a tree; the place of its root."""

    def add(node: int) -> int:
        j = int(tree.coordinate[node])
        if j >= 0 and j not in number and j not in category:
            return add(int(tree.left[node] if start[j] <= tree.threshold[node] else tree.right[node]))
        here = len(nodes)
        nodes.append((-1.0, 0.0, 0.0, 0.0, 0.0, float(tree.broken[node])))
        if j < 0:
            return here
        left, right = add(int(tree.left[node])), add(int(tree.right[node]))
        axis, value = (number[j], float(tree.threshold[node])) if j in number else map(float, category[j])
        nodes[here] = (float(axis), float(j in category), float(value), float(left), float(right), 0.0)
        return here

    return add(0)
