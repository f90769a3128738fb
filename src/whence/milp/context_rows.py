"""Rows that say which contexts may be: those that an isolation forest takes for plausible, and that keep relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest

from whence.errors import InputError, InputTypeError
from whence.features.relation_trees import Relations, RelationTree
from whence.milp.axes import Axis, Splits
from whence.milp.model import Linear, Model
from whence.milp.tree_program import Box as Cells
from whence.milp.tree_program import add_trees, link, splits_of
from whence.util.aliases import Floats
from whence.weights import InputMap
from whence.weights.base import Box
from whence.weights.trees import common_cell

__all__ = ["Plausibility", "add_relations"]


class Plausibility:
    """Contexts that an isolation forest takes for inliers: those it needs many random splits to set apart.

    Parameters
    ----------
    forest : IsolationForest
        Fitted on coordinates, as ``policy.schema_.encode(X)`` gives them.
    score : float, optional
        Least ``forest.score_samples`` of an admissible context, in (-1, 0). The forest's own threshold
        (``forest.offset_``: what it predicts to be inliers) where left out.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(0).normal(size=(100, 2))
    >>> inliers = Plausibility(IsolationForest(n_estimators=20, random_state=0).fit(points))
    >>> inliers.accepts(np.zeros(2)), inliers.accepts(np.full(2, 9.0))
    (True, False)
    """

    def __init__(self, forest: IsolationForest, score: float | None = None) -> None:
        if not isinstance(forest, IsolationForest) or not hasattr(forest, "estimators_"):
            raise InputTypeError(
                f"The 'plausibility' parameter must be a fitted IsolationForest. Got {type(forest).__name__} instead."
            )
        self.forest = forest
        self.score = float(forest.offset_) if score is None else float(score)
        if not -1.0 < self.score < 0.0:
            raise InputError(
                f"The 'score' parameter of Plausibility must be a float in (-1, 0). Got {score!r} instead."
            )

    @classmethod
    def of(cls, given: Any, coordinates: int) -> Plausibility | None:
        """Return what an option holds: None, a Plausibility, or an isolation forest with its own threshold."""
        found = given if given is None or isinstance(given, Plausibility) else cls(given)
        if found is not None and found.forest.n_features_in_ != coordinates:
            raise InputError(
                f"The 'plausibility' parameter must be a forest over the {coordinates} coordinates of a context. "
                f"Got one over {found.forest.n_features_in_} columns."
            )
        return found

    def accepts(self, context: Floats) -> bool:
        """Return whether `context` (in coordinates) is an inlier."""
        return bool(self.forest.score_samples(context[None, :])[0] >= self.score - 1e-9)

    def cell(self, point: Floats) -> Box:
        """Lower and upper corner of the box around `point` in which every isolation tree has the same leaf."""
        return common_cell([(tree, inputs, inputs.row(point)) for tree, inputs in self._trees()], point.size)

    def splits(self) -> list[tuple[int, Splits]]:
        """Return the thresholds that coordinates are compared with."""
        found: list[tuple[int, Splits]] = []
        for tree, inputs in self._trees():
            found += zip(inputs.coordinate.tolist(), splits_of([tree], inputs), strict=True)
        return [pair for pair in found if pair[1].thresholds.size]

    def add(self, model: Model, axes: Sequence[Axis]) -> None:
        """Add leaf variables of the isolation trees, and the row that asks for long paths."""
        columns, depths = [], []
        for tree, inputs in self._trees():
            leaves = add_trees(model, [tree], axes, inputs, splits_of([tree], inputs))[0]
            columns.append(leaves.columns)
            depths.append(_path_lengths(tree)[leaves.nodes])
        mean = Linear(np.concatenate(columns), np.concatenate(depths) / len(columns))
        least = -float(np.log2(-self.score)) * float(_mean_path(np.array([self.forest.max_samples_]))[0])
        model.row(mean, least)

    def _trees(self) -> list[tuple[Any, InputMap]]:
        return [
            (tree.tree_, InputMap(np.asarray(features), np.ones(len(features)), np.zeros(len(features))))
            for tree, features in zip(self.forest.estimators_, self.forest.estimators_features_, strict=True)
        ]


def _path_lengths(tree: Any) -> Floats:
    """Path length of every node: its depth, and what an unfinished leaf would still have needed on average."""
    depth = np.zeros(tree.node_count)
    for node in range(tree.node_count):
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1.0
    lengths: Floats = depth + _mean_path(tree.n_node_samples)
    return lengths


def _mean_path(samples: NDArray[np.int64]) -> Floats:
    """Mean depth of an unsuccessful search in a random binary tree of that many samples (Liu et al., 2008)."""
    n = np.asarray(samples, dtype=np.float64)
    many = np.maximum(n, 3.0)
    value = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(n > 2, value, np.where(n == 2, 1.0, 0.0))


def add_relations(model: Model, axes: Sequence[Axis], rules: Relations) -> None:
    """Let the context on the axes keep the rules."""
    for tree in rules.trees:
        _add_tree(model, axes, tree)
    for row, limit in zip(rules.rows, rules.limits, strict=True):
        parts = [axes[j].expression(axes[j].points) * float(row[j]) for j in np.flatnonzero(row).tolist()]
        model.row(Linear.sum(parts), upper=float(limit))


def _add_tree(model: Model, axes: Sequence[Axis], tree: RelationTree) -> None:
    """Add a variable for each leaf within reach in which the relation holds; one of them is 1."""
    boxes = [box for node, box in _boxes(tree, axes) if not tree.broken[node]]
    columns = model.variables(len(boxes), integer="implied")
    model.row(Linear(columns, np.ones(len(boxes))), 1.0, 1.0)
    for j in sorted({j for box in boxes for j in box}):
        ranges: NDArray[np.int64] = np.array([box.get(j, (0, axes[j].jump.size)) for box in boxes])
        link(model, axes[j], columns, ranges)


def _boxes(tree: RelationTree, axes: Sequence[Axis]) -> list[tuple[int, Cells]]:
    """Return, for every leaf within reach, the first and last point of each axis that leads to it."""
    found: list[tuple[int, Cells]] = []
    waiting: list[tuple[int, Cells]] = [(0, {})]
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
