"""Who stands in which leaf of trees that another library has grown."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.weights.array_trees import ArrayTree, RawTree
from whence.weights.trees import LeafMembers, shares_of

__all__ = ["ReadMembers"]

Ints = NDArray[np.int64]


class ReadMembers(LeafMembers):
    """Which past observations stand in which leaf, by the leaves that a model itself names.

    Samples are sorted by their leaves from left to right, so that those of any branch are one slice. A leaf in which
    none of them stands has the samples of the smallest branch around it that holds some.

    Parameters
    ----------
    raw : list of RawTree
        The library's trees.
    trees : list of ArrayTree
        The same, laid out.
    leaves : ndarray of shape (n, trees)
        The leaf, as a node of the library's tree, of every sample.
    counted : ndarray of bool of shape (trees, n), optional
        Which samples count in which tree: those of the half that it was not grown on, for an honest forest.
    pooled : bool
        Whether all samples in the leaves of a context count alike.
    mass : ndarray of shape (n,), optional
        What each sample counts for, where they do not count alike.
    """

    def __init__(
        self,
        raw: Sequence[RawTree],
        trees: Sequence[ArrayTree],
        leaves: Ints,
        counted: NDArray[np.bool_] | None = None,
        pooled: bool = False,
        mass: Floats | None = None,
    ) -> None:
        n = leaves.shape[0]
        self.pooled = pooled
        self.raw = list(raw)
        self.leaves = leaves
        self.mass = mass
        self.order = np.empty((len(raw), n), dtype=np.int32)
        #: For every node of every tree of the library: where its samples begin in the tree's order, and how many.
        self.slices_of: list[tuple[Ints, Ints]] = []
        for t, tree in enumerate(raw):
            counts = None if counted is None else counted[t]
            if mass is not None:
                counts = mass > 0.0 if counts is None else counts & (mass > 0.0)
            self.order[t], found = _sorted(tree, leaves[:, t], counts)
            self.slices_of.append(found)
        self.lay(trees)

    def lay(self, trees: Sequence[ArrayTree]) -> None:
        """Take another layout of the same trees."""
        self.trees = list(trees)
        nodes = np.cumsum([0] + [tree.node_count for tree in trees])
        self._root = nodes[:-1]
        self._size = np.zeros(nodes[-1], dtype=np.int64)
        self._first = np.zeros(nodes[-1], dtype=np.int64)
        self.size = np.split(self._size, nodes[1:-1])
        self.first = np.split(self._first, nodes[1:-1])
        for t, tree in enumerate(trees):
            leaf = tree.leaf >= 0
            first, size = self.slices_of[t]
            self.first[t][leaf], self.size[t][leaf] = first[tree.leaf[leaf]], size[tree.leaf[leaf]]

    def laid_anew(self, trees: Sequence[ArrayTree]) -> ReadMembers:
        """The same samples with another layout of the same trees."""
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

    def at_leaves(self, leaves: Ints) -> Floats:
        """Weights of every sample where the library's trees have these leaves, one row each."""
        return np.array([self._shares(row) for row in leaves])

    def per_tree_at(self, leaves: Ints) -> Floats:
        """The weights that each tree gives alone, where they have these leaves."""
        found = np.zeros(self.order.shape)
        for t, node in enumerate(leaves.tolist()):
            first, size = (int(array[node]) for array in self.slices_of[t])
            own = self.order[t, first : first + size]
            found[t, own] = shares_of(own, np.array([size]), self.mass)
        return found

    def _shares(self, leaves: Ints) -> Floats:
        n = self.n_samples
        size = np.array([own[1][node] for own, node in zip(self.slices_of, leaves.tolist(), strict=True)])
        first = np.array([own[0][node] for own, node in zip(self.slices_of, leaves.tolist(), strict=True)])
        first = first + n * np.arange(size.size)
        places = np.arange(int(size.sum())) + np.repeat(first - (np.cumsum(size) - size), size)
        samples = self.order.ravel()[places]
        if self.mass is None:
            shares = np.repeat(1.0 / (np.full(size.size, size.sum()) if self.pooled else size.size * size), size)
        else:
            shares = shares_of(samples, size, self.mass) / size.size
        return np.asarray(np.bincount(samples, shares, minlength=n), dtype=np.float64)


def _sorted(tree: RawTree, own: Ints, counted: NDArray[np.bool_] | None) -> tuple[Any, tuple[Ints, Ints]]:
    """The samples sorted by their leaves, those that do not count last, and the slice of every node."""
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
