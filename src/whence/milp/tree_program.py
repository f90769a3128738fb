"""Decision trees over the axes: one leaf variable per leaf, consistent with the steps of every axis.

Trees weigh past observations, say which contexts are usual, and which keep the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import IsolationForest

from whence.errors import InputError, InputTypeError
from whence.features.relation_trees import Relations
from whence.features.space import Space, settled
from whence.milp.axes import Axis, Splits, Turns, add_axes, add_few, cell_axis
from whence.milp.model import Columns, Linear, Model, Row
from whence.milp.weighting import Parts, Weighting, largest_in_leaves
from whence.models.tree_arrays import ArrayTree, floor32
from whence.question import Question
from whence.util.aliases import Floats
from whence.weights import InputMap, TreeWeights
from whence.weights.base import Box as Corners
from whence.weights.plausibility import Isolation, mean_path, path_lengths
from whence.weights.trees import common_cell

Box = dict[int, tuple[int, int]]
#: For every column of the estimator, what it sees at the points of its axis.
Seen = Sequence[NDArray[np.floating]]


@dataclass(frozen=True)
class Leaves:
    """The leaves of one tree that the axes leave within reach, and their variables."""

    nodes: NDArray[np.int64]
    columns: Columns

    def column(self, node: int) -> int:
        """Return the variable of the leaf `node`."""
        return int(self.columns[np.searchsorted(self.nodes, node)])


def splits_of(trees: Sequence[Any], inputs: InputMap, space: Space | None = None) -> list[Splits]:
    """Return, for every column of the trees' estimator, the thresholds that it is compared with.

    Trees that see the user's own numbers need the `space` of the question to settle what lies just on one.
    """
    feature = np.concatenate([tree.feature for tree in trees])
    if isinstance(trees[0], ArrayTree):
        threshold = np.concatenate([tree.threshold for tree in trees])
        return [
            _turns(trees[0], inputs, space, c, np.unique(threshold[feature == c]))
            for c in range(inputs.coordinate.size)
        ]
    threshold = floor32(np.concatenate([tree.threshold for tree in trees]))
    return [
        Splits(float(inputs.scale[c]), float(inputs.offset[c]), np.unique(threshold[feature == c]))
        for c in range(inputs.coordinate.size)
    ]


def _turns(tree: ArrayTree, inputs: InputMap, space: Space | None, c: int, thresholds: Floats) -> Turns:
    """Return the turns of one column, as coordinates."""
    column = np.full(thresholds.size, c)
    last, first = tree.turns(thresholds)
    below, beyond = inputs.turns(column, last, first)
    if space is not None:
        below, beyond = settled(space, inputs, column, last, below, beyond)
    return Turns(1.0, 0.0, below, beyond)


def add_trees(
    model: Model, trees: Sequence[Any], axes: Sequence[Axis], inputs: InputMap, splits: Sequence[Splits]
) -> list[Leaves]:
    """Return the leaf variables of every tree; `splits` belong to the columns of `inputs`."""
    seen = [column.seen(axes[j].points) for column, j in zip(splits, inputs.coordinate, strict=True)]
    return [_add_tree(model, tree, axes, inputs.coordinate, seen, _compared(tree, trees, splits)) for tree in trees]


def _compared(tree: Any, trees: Sequence[Any], splits: Sequence[Splits]) -> NDArray[np.floating]:
    """Return, for every node, what its column is compared with."""
    if not isinstance(tree, ArrayTree):
        return floor32(tree.threshold)
    found = np.zeros(tree.node_count)
    for c, column in enumerate(splits):
        own = tree.feature == c
        if own.any():
            every = np.unique(np.concatenate([other.threshold[other.feature == c] for other in trees]))
            found[own] = column.thresholds[np.searchsorted(every, tree.threshold[own])]
    return found


def _add_tree(
    model: Model,
    tree: Any,
    axes: Sequence[Axis],
    coordinate: NDArray[np.int64],
    seen: Seen,
    threshold: NDArray[np.floating],
) -> Leaves:
    """Return the leaf variables of `tree`, whose columns are these coordinates."""
    axis = np.where(tree.children_left < 0, -1, coordinate[np.maximum(tree.feature, 0)])
    at = dict(zip(coordinate.tolist(), seen, strict=True))
    boxes = boxes_of(axes, axis, tree.children_left, tree.children_right, threshold, at)
    nodes = np.array(sorted(boxes), dtype=np.int64)
    return Leaves(nodes, add_leaves(model, axes, [boxes[v] for v in nodes.tolist()]))


def add_leaves(model: Model, axes: Sequence[Axis], boxes: Sequence[Box]) -> Columns:
    """Return variables that are 1 for the leaf, among these ranges of points, in which the context lies, 0 for others.

    They are continuous: where the steps of the axes are whole, the rows leave them no other value.
    """
    columns = model.variables(len(boxes), integer="implied")
    model.row(Linear(columns, np.ones(len(boxes))), 1.0, 1.0)
    for j in sorted({j for box in boxes for j in box}):
        link(model, axes[j], columns, np.array([box.get(j, (0, axes[j].jump.size)) for box in boxes]))
    return columns


def boxes_of(
    axes: Sequence[Axis], axis: Any, left: Any, right: Any, threshold: Any, seen: Mapping[int, Any] | Sequence[Any]
) -> dict[int, Box]:
    """Return, for every leaf of a tree within reach, the first and last point of each axis that leads to it.

    Nodes compare what is `seen` at the points of their axis, which is negative in leaves, with their threshold.
    """
    found: dict[int, Box] = {}
    open_nodes: list[tuple[int, Box]] = [(0, {})]
    while open_nodes:
        node, box = open_nodes.pop()
        j = int(axis[node])
        if j < 0:
            found[node] = box
            continue
        first, last = box.get(j, (0, axes[j].jump.size))
        beyond = int(np.searchsorted(seen[j], threshold[node], side="right"))
        if first < beyond:
            open_nodes.append((int(left[node]), {**box, j: (first, min(last, beyond - 1))}))
        if last >= beyond:
            open_nodes.append((int(right[node]), {**box, j: (max(first, beyond), last)}))
    return found


def link(model: Model, axis: Axis, columns: Columns, ranges: NDArray[np.int64]) -> None:
    """Leaves on one side of a step are out of reach on its other side, all of them in one row."""
    first, last = ranges.T
    for step in np.union1d(first[first > 0] - 1, last[last < axis.jump.size]):
        beyond, before = columns[first > step], columns[last <= step]
        taken = Linear(axis.steps[step : step + 1], np.ones(1))
        # Where every leaf is on one side, both rows are the same one, as an equation.
        settled = beyond.size + before.size == columns.size
        if beyond.size or settled:
            model.row(Linear(beyond, np.ones(beyond.size)) - taken, 0.0 if settled else -np.inf, 0.0)
        if before.size and not settled:
            model.row(Linear(before, np.ones(before.size)) + taken, -np.inf, 1.0)


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

    @classmethod
    def within(cls, space: Space) -> Plausibility | None:
        """Return what a space asks of its contexts, where that is about an isolation forest."""
        usual = space.plausibility
        return cls(usual.forest, usual.score) if isinstance(usual, Isolation) else None

    def accepts(self, context: Floats) -> bool:
        """Return whether `context` (in coordinates) is an inlier."""
        return bool(self.forest.score_samples(context[None, :])[0] >= self.score - 1e-9)

    def cell(self, point: Floats) -> Corners:
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
            depths.append(path_lengths(tree)[leaves.nodes])
        mean = Linear(np.concatenate(columns), np.concatenate(depths) / len(columns))
        least = -float(np.log2(-self.score)) * float(mean_path(np.array([self.forest.max_samples_]))[0])
        model.row(mean, least)

    def _trees(self) -> list[tuple[Any, InputMap]]:
        return [
            (tree.tree_, InputMap(np.asarray(features), np.ones(len(features)), np.zeros(len(features))))
            for tree, features in zip(self.forest.estimators_, self.forest.estimators_features_, strict=True)
        ]


def add_limits(model: Model, space: Space, axes: Sequence[Axis], usual: Plausibility | None) -> Columns | None:
    """Let the context be usual, change few features and keep the rules; the binaries that say which ones change."""
    if usual is not None:
        usual.add(model, axes)
    changed = None if space.few is None else add_few(model, space, axes, space.few)
    if space.rules is not None:
        _add_relations(model, axes, space.rules)
    return changed


def _add_relations(model: Model, axes: Sequence[Axis], rules: Relations) -> None:
    """Let the context keep the rules: of each tree, one of the leaves within reach in which the relation holds is 1."""
    for tree in rules.trees:
        seen = [axis.points for axis in axes]
        boxes = boxes_of(axes, tree.coordinate, tree.left, tree.right, tree.threshold, seen)
        add_leaves(model, axes, [box for node, box in boxes.items() if not tree.broken[node]])
    for row, limit in zip(rules.rows, rules.limits, strict=True):
        parts = [axes[j].expression(axes[j].points) * float(row[j]) for j in np.flatnonzero(row).tolist()]
        model.row(Linear.sum(parts), upper=float(limit))


class ForestWeighting(Weighting):
    """Weights of a forest: every leaf variable passes its share on to the samples in the leaf."""

    def __init__(self, model: Model, question: Question, more: Sequence[tuple[int, Splits]] = ()) -> None:
        self.model, self.inputs, space = model, question.inputs, question.space
        self.forest = forest = cast(TreeWeights, question.weights)
        splits = splits_of(forest.trees, self.inputs, space)
        at = [*zip(self.inputs.coordinate.tolist(), splits, strict=True), *more]
        self.axes = [cell_axis(space, j, [s for i, s in at if i == j]) for j in range(space.start.size)]
        add_axes(model, space, self.axes)
        self.leaves = add_trees(model, forest.trees, self.axes, self.inputs, splits)

    @cached_property
    def _leaf_columns(self) -> Columns:
        return np.concatenate([leaves.columns for leaves in self.leaves])

    @cached_property
    def _shares(self) -> sparse.csr_array:
        """Weight that each leaf variable gives to each sample."""
        members = self.forest.members_
        samples, sizes = [], []
        for t, leaves in enumerate(self.leaves):
            for node in leaves.nodes.tolist():
                first, size = int(members.first[t][node]), int(members.size[t][node])
                samples.append(members.order[t, first : first + size])
                sizes.append(size)
        ends = np.cumsum([0, *sizes])
        among, counted = np.concatenate(samples), np.array(sizes)
        if members.mass is None:
            shares = np.repeat(1.0 / (counted * len(self.leaves)), counted)
        else:
            own = members.mass[among]
            shares = own / (np.repeat(np.add.reduceat(own, ends[:-1]), counted) * len(self.leaves))
        return sparse.csr_array((shares, among, ends), shape=(counted.size, members.n_samples))

    def mean(self, values: Floats) -> Linear:
        return Linear(self._leaf_columns, self._shares @ values)

    def means(self, values: Floats) -> list[Linear]:
        if self.forest.n_samples_ < self._leaf_columns.size:
            return [Linear(self.columns, column) for column in values.T]
        return [Linear(self._leaf_columns, column) for column in (self._shares @ values).T]

    def parts(self) -> Parts:
        """Return the leaves of the trees."""
        ends = np.cumsum([0, *(leaves.columns.size for leaves in self.leaves)]).tolist()
        return Parts(self._leaf_columns, self._shares, [slice(*pair) for pair in pairwise(ends)], 1)

    @cached_property
    def columns(self) -> Columns:
        """Variables that hold the weights: what each sample gets from the leaves."""
        n = self.forest.n_samples_
        made = self.model.variables(n)
        given = self._shares.T.tocoo()
        at = np.concatenate((given.row.astype(np.int64), np.arange(n)))
        columns = np.concatenate((self._leaf_columns[given.col], made))
        self.model.rows(at, columns, np.concatenate((given.data, np.full(n, -1.0))), 0.0, 0.0, n)
        return made

    @staticmethod
    def ceilings(weights: TreeWeights, how: str) -> Floats:
        return largest_in_leaves(weights.members_, how)

    def chosen(self, x: Floats) -> Floats:
        return self.confirmed(self.context(x))

    def confirmed(self, context: Floats) -> Floats:
        """Return weights at `context` by the fitted forest."""
        return self.forest.at(self.inputs.row(context))

    def leave(self, x: Floats) -> Row:
        """Not all trees may keep the leaf that they have where the variables are `x`."""
        seen = np.asarray(self.inputs.row(self.context(x)), dtype=self.forest.dtype)[None, :]
        kept = [leaves.column(tree.apply(seen)[0]) for leaves, tree in zip(self.leaves, self.forest.trees, strict=True)]
        return Row(Linear(np.array(kept), np.ones(len(kept))), -np.inf, len(kept) - 1.0)
