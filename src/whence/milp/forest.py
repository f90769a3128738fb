"""Weights of trees in an integer program."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import cast

import numpy as np
from scipy import sparse

from whence.aliases import Floats
from whence.milp.axes import Splits, add_axes, cell_axis
from whence.milp.ceilings import largest_in_leaves
from whence.milp.model import Columns, Linear, Model, Row
from whence.milp.trees import add_trees, splits_of
from whence.milp.weighting import Parts, Weighting
from whence.question import Question
from whence.weights import TreeWeights

__all__ = ["ForestWeighting"]


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
        """The leaves of the trees."""
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
        """Weights at `context` by the fitted forest."""
        return self.forest.at(self.inputs.row(context))

    def leave(self, x: Floats) -> Row:
        """Not all trees may keep the leaf that they have where the variables are `x`."""
        seen = np.asarray(self.inputs.row(self.context(x)), dtype=self.forest.dtype)[None, :]
        kept = [leaves.column(tree.apply(seen)[0]) for leaves, tree in zip(self.leaves, self.forest.trees, strict=True)]
        return Row(Linear(np.array(kept), np.ones(len(kept))), -np.inf, len(kept) - 1.0)
