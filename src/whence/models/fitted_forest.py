"""Leaf weights of trees that another library has grown."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from whence.errors import InputError, InternalError
from whence.models import FittedTrees
from whence.models.tree_arrays import ArrayTree, Layout, RawTree, check_order, check_width
from whence.util.aliases import Floats
from whence.weights.base import Capabilities, SeenColumn, as_mass, as_matrix
from whence.weights.forest import ForestWeights
from whence.weights.trees import LeafMembers, TreeWeights


class ReadForestWeights(ForestWeights):
    """What ``ForestWeights.of`` makes of a model of another library: weights by the leaves that the model names itself.

    The user's columns are seen in their own units, and a category by a 0/1 column per level where the model knows it
    as one.
    """

    dtype = np.float64
    label: ClassVar[str] = "trees"

    read: FittedTrees
    counted: NDArray[np.bool_] | None = None
    _layout: Layout
    _views: dict[frozenset[int], ReadForestWeights]
    #: Columns that are missing in every context of a view.
    _gone: Sequence[int] = ()

    @classmethod
    def made(cls, fitted: Any, read: FittedTrees, counted: NDArray[np.bool_] | None = None) -> ReadForestWeights:
        """Return weights of a model and what was read of it."""
        weights = cls(n_trees=max(1, len(read.trees)), max_depth=None)
        weights.frozen, weights.read, weights.counted = fitted, read, counted
        return weights

    def __sklearn_clone__(self) -> ReadForestWeights:
        return self.made(self.frozen, self.read, self.counted)

    @property
    def compared_as(self) -> DTypeLike:
        return np.float32 if self.read.single else np.float64

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, sees_levels=bool(self.read.categories))

    def check_columns(self, names: Sequence[str]) -> None:
        check_order(self.read.names, names, f"{self.read.kind} model has")

    def take_columns(self, columns: Sequence[SeenColumn]) -> None:
        """Where each of the model's columns stands among what it is shown, and which code every category has."""
        if self.read.categories:
            self._layout = Layout.of(self.read, columns)

    def fit(self, X: ArrayLike, Y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Record which rows of `X` stand in which leaf; they share its weight in proportion to `sample_weight`."""
        inputs = as_matrix(X, self.dtype, missing=self._takes_missing())
        if not hasattr(self, "_layout"):
            check_width(self.read.n_features, inputs.shape[1], f"{self.read.kind} model")
            self._layout = Layout.plain(inputs.shape[1])
        leaves = self._leaves(inputs)
        self._check_read(inputs, leaves)
        mass = as_mass(sample_weight, len(inputs))
        counted = self._counting(leaves, mass)
        trees = self._layout.trees(self.read)
        self.members_ = ReadMembers(self.read.trees, trees, leaves, counted, mass)
        self._views = {}
        self.forest_ = self.frozen
        self.inputs_ = inputs
        self.n_samples_, self.n_features_in_ = inputs.shape
        return self

    def _takes_missing(self) -> bool:
        return self.read.takes_missing

    @classmethod
    def view(
        cls, fitted: Any, found: FittedTrees, forest: TreeWeights, counted: NDArray[np.bool_] | None = None
    ) -> ReadForestWeights:
        """Return the past observations in the leaves of a forest's trees as they were read."""
        view = cls.made(fitted, found, counted)
        view._layout = Layout.plain(forest.n_features_in_)
        return view.fit(forest.inputs_, np.zeros((forest.n_samples_, 1)), forest.counts)

    def lacking(self, columns: frozenset[int]) -> ReadForestWeights:
        if not columns:
            return self
        if columns not in self._views:
            gone = frozenset(j for j, place in enumerate(self._layout.places) if place.at in columns)
            view = copy.copy(self)
            view._gone = sorted(columns)
            view.members_ = self._members.laid_anew(self._layout.trees(self.read, gone))
            self._views[columns] = view
        return self._views[columns]

    def _leaves(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Leaves, as nodes of the library's trees, by the model itself, whatever stands where numbers are missing."""
        if self._gone:
            X = X.copy()
            X[:, self._gone] = np.nan
        return self.read.leaves(self._layout.model_rows(X))

    def rows(self, X: NDArray[Any]) -> Floats:
        return self._members.at_leaves(self._leaves(X))

    def per_tree(self, row: Floats) -> Floats | None:
        return self._members.by_tree(self._leaves(np.asarray(row)[None, :])[0])

    @property
    def _members(self) -> ReadMembers:
        assert isinstance(self.members_, ReadMembers)
        return self.members_

    def state(self) -> Iterator[Any]:
        yield from super().state()
        yield {"library": self.read.kind}
        yield from self._members.first

    def describe(self) -> str:
        return f"{len(self.trees)} trees of a {self.read.kind} model"

    def _check_read(self, inputs: Floats, leaves: NDArray[np.int64]) -> None:
        """The arrays that are searched must lead every past context to the leaf that the model itself names."""
        rows = self._layout.model_rows(inputs)
        if self.read.single:
            rows = rows.astype(np.float32).astype(np.float64)
        for t, tree in enumerate(self.read.trees):
            if not np.array_equal(tree.apply(rows), leaves[:, t]):
                raise InternalError(
                    f"Tree {t} that was read from the fitted {self.read.kind} model has other leaves than the model."
                )

    def _counting(self, leaves: NDArray[np.int64], mass: Floats | None) -> NDArray[np.bool_] | None:
        """Return which rows count in which tree: as the user says, or else the model."""
        counted, wanted = self.counted, (len(self.read.trees), len(leaves))
        if counted is None:
            counted = self.read.counted(leaves, mass)
        elif counted.shape != wanted or not counted.any(axis=1).all():
            raise InputError(
                f"'counted' must be an array of bools of shape {wanted}, one row per tree and one column "
                f"per row of 'X', with a True in every row. Got shape {counted.shape} instead."
            )
        if mass is not None and counted is not None and not (counted & (mass > 0.0)).any(axis=1).all():
            raise InputError(
                "'sample_weight' must leave something that counts in every tree. Got a tree in which all past "
                "observations that count have weight 0."
            )
        return counted


Ints = NDArray[np.int64]


class ReadMembers(LeafMembers):
    """Which past observations stand in which leaf, by the leaves that a model itself names.

    Samples are sorted by their leaves from left to right, so that those of any branch are one slice. A leaf in which
    none of them stands has the samples of the smallest branch around it that holds some. `raw` are the library's
    trees, `trees` the same laid out, and `leaves` has the leaf of every sample, as a node of the library's trees; the
    others are those of :class:`LeafMembers`.
    """

    def __init__(
        self,
        raw: Sequence[RawTree],
        trees: Sequence[ArrayTree],
        leaves: Ints,
        counted: NDArray[np.bool_] | None = None,
        mass: Floats | None = None,
    ) -> None:
        n = leaves.shape[0]
        self.leaves = leaves
        self.mass = mass
        self.order = np.empty((len(raw), n), dtype=np.int32)
        found = []
        for t, tree in enumerate(raw):
            counts = None if counted is None else counted[t]
            if mass is not None:
                counts = mass > 0.0 if counts is None else counts & (mass > 0.0)
            self.order[t], slices = _sorted(tree, leaves[:, t], counts)
            found.append(slices)
        # By the nodes of the library's trees: those are the leaves that weights are asked for.
        self._first, self._size = (np.concatenate(part) for part in zip(*found, strict=True))
        self._root = np.cumsum([0] + [tree.feature.size for tree in raw])[:-1]
        self.lay(trees)

    def lay(self, trees: Sequence[ArrayTree]) -> None:
        """Take another layout of the same trees."""
        self.trees = list(trees)
        nodes = [(tree.leaf >= 0, root + tree.leaf) for tree, root in zip(trees, self._root.tolist(), strict=True)]
        self.first, self.size = (
            [np.where(is_leaf, own[node], 0) for is_leaf, node in nodes] for own in (self._first, self._size)
        )

    def laid_anew(self, trees: Sequence[ArrayTree]) -> ReadMembers:
        """Return the samples with another layout of the same trees."""
        found = copy.copy(self)
        # Grids are kept by the order of the samples: another layout has a grid of its own.
        found.order = self.order.copy()
        found.lay(trees)
        return found

    def leaf_of(self) -> Ints:
        """A leaf of every sample in every tree, of shape (trees, n), or -1 where no context comes to its leaf."""
        found = []
        for tree, own in zip(self.trees, self.leaves.T, strict=True):
            # Where numbers are missing, no context comes to some of the leaves.
            node = np.full(int(max(tree.leaf.max(), own.max())) + 1, -1, dtype=np.int64)
            at = np.flatnonzero(tree.leaf >= 0)
            node[tree.leaf[at]] = at
            found.append(node[own])
        return np.array(found)


def _sorted(tree: RawTree, own: Ints, counted: NDArray[np.bool_] | None) -> tuple[Any, tuple[Ints, Ints]]:
    """Return the samples sorted by their leaves, those that do not count last, and the slice of every node."""
    order, nodes = tree.leaves, tree.feature.size
    rank = np.zeros(nodes, dtype=np.int64)
    rank[order] = np.arange(order.size)
    place = rank[own]
    if counted is not None:
        place = np.where(counted, place, order.size)
    ends = np.append(0, np.cumsum(np.bincount(place, minlength=order.size)[: order.size]))
    low, high = np.full(nodes, order.size), np.full(nodes, -1)
    low[order] = high[order] = np.arange(order.size)
    parent = np.full(nodes, -1)
    inner = np.flatnonzero(tree.feature >= 0)
    parent[tree.left[inner]] = parent[tree.right[inner]] = inner
    for leaf in order.tolist():
        node = int(parent[leaf])
        while node >= 0:
            low[node], high[node] = min(low[node], rank[leaf]), max(high[node], rank[leaf])
            node = int(parent[node])
    first, last = ends[np.minimum(low, order.size)], ends[np.maximum(high, -1) + 1]
    size = last - first
    for leaf in order[size[order] == 0].tolist():
        node = leaf
        while node >= 0 and last[node] == first[node]:
            node = int(parent[node])
        if node >= 0:
            first[leaf], size[leaf] = first[node], last[node] - first[node]
    return np.argsort(place, kind="stable"), (first, size)
