"""Decision trees over the axes: one leaf variable per leaf, consistent with the steps of every axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence.features.space import Space, settled
from whence.milp.axes import Axis, Splits, Turns, add_axes, cell_axis, floor32
from whence.milp.model import Columns, Linear, Model, Row
from whence.milp.weighting import Parts, Weighting, largest_in_leaves
from whence.models.tree_arrays import ArrayTree
from whence.question import Question
from whence.util.aliases import Floats
from whence.weights import InputMap, TreeWeights

__all__ = ["Box", "ForestWeighting", "Leaves", "add_trees", "link", "splits_of"]


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
        return [_turns(trees[0], inputs, space, c, np.unique(threshold[feature == c])) for c in _columns(inputs)]
    threshold = floor32(np.concatenate([tree.threshold for tree in trees]))
    return [
        Splits(float(inputs.scale[c]), float(inputs.offset[c]), np.unique(threshold[feature == c]))
        for c in range(inputs.coordinate.size)
    ]


def _columns(inputs: InputMap) -> range:
    return range(inputs.coordinate.size)


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
    """Return the leaf variables of `tree` that are 1 for the leaf in which the context lies and 0 for the others.

    They are continuous: where the steps of the axes are whole, the rows leave them no other value.
    """
    boxes = _boxes(tree, axes, coordinate, seen, threshold)
    nodes = np.array(sorted(boxes), dtype=np.int64)
    columns = model.variables(nodes.size, integer="implied")
    model.row(Linear(columns, np.ones(nodes.size)), 1.0, 1.0)
    for j in sorted({j for box in boxes.values() for j in box}):
        whole = (0, axes[j].jump.size)
        ranges = np.array([boxes[v].get(j, whole) for v in nodes.tolist()])
        link(model, axes[j], columns, ranges)
    return Leaves(nodes, columns)


def _boxes(
    tree: Any, axes: Sequence[Axis], coordinate: NDArray[np.int64], seen: Seen, threshold: NDArray[np.floating]
) -> dict[int, Box]:
    """Return, for every leaf within reach, the first and last point of each axis that leads to it."""
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    found: dict[int, Box] = {}
    open_nodes: list[tuple[int, Box]] = [(0, {})]
    while open_nodes:
        node, box = open_nodes.pop()
        if left[node] < 0:
            found[node] = box
            continue
        column = feature[node]
        j = int(coordinate[column])
        first, last = box.get(j, (0, axes[j].jump.size))
        beyond = int(np.searchsorted(seen[column], threshold[node], side="right"))
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
