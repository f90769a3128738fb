"""The leaves of one context in all trees of several forests at once.

A tree answers a single context in a few microseconds, most of which are spent on the way there: asking thousands of
trees one by one would take longer than many a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.weights.grown_tree import GrownTree
from whence.weights.trees import LeafMembers, shares_of

__all__ = ["Descent"]


class Descent:
    """Forests laid out for contexts that come one at a time.

    Parameters
    ----------
    forests : sequence of LeafMembers
        Fitted trees, and who stands in their leaves: as many samples in each forest.

    Examples
    --------
    >>> from whence.weights import ForestWeights
    >>> X = np.arange(12.0)[:, None]
    >>> forest = ForestWeights(n_trees=5, random_state=0).fit(X, X)
    >>> bool((Descent([forest.members_]).weights(X[3])[0] == forest.at(X[3])).all())
    True
    """

    def __init__(self, forests: Sequence[LeafMembers]) -> None:
        self.forests = tuple(forests)
        trees = [tree for forest in forests for tree in forest.trees]
        counts = np.array([tree.node_count for tree in trees])
        self._root = np.cumsum(counts) - counts
        own = np.array([len(forest.trees) for forest in forests])
        self._last = np.cumsum(own) - 1
        self._count = np.repeat(own, own)
        self._first, self._size = (np.concatenate(part) for part in zip(*(f.slices() for f in forests), strict=True))
        column = np.concatenate([tree.feature for tree in trees])
        left, right = (
            np.concatenate([getattr(tree, name) + root for tree, root in zip(trees, self._root, strict=True)])
            for name in ("children_left", "children_right")
        )
        # Whatever comes to a leaf stays there.
        leaf = column < 0
        self._column = np.where(leaf, 0, column)
        self._threshold = np.where(leaf, np.inf, np.concatenate([tree.threshold for tree in trees]))
        self._left = np.where(leaf, np.arange(leaf.size), left)
        self._right = np.where(leaf, np.arange(leaf.size), right)
        self._missing_left = np.concatenate([_missing_left(tree) for tree in trees])
        self._mass: Floats | None = None
        if any(f.mass is not None for f in forests):
            self._mass = np.concatenate([np.ones(f.n_samples) if f.mass is None else f.mass for f in forests])

    def weights(self, row: Floats) -> Floats:
        """By forest, one per row, the weights of its samples in a context that the trees see as `row`."""
        leaf = self._leaves(np.asarray(row, dtype=np.float32))
        size, first = self._size[leaf], self._first[leaf]
        ends = np.cumsum(size)
        places = np.arange(ends[-1]) + np.repeat(first - (ends - size), size)
        parts = np.split(places, ends[self._last[:-1]])
        n = self.forests[0].n_samples
        samples = np.concatenate(
            [
                f.order.ravel()[part].astype(np.int64) + i * n
                for i, (f, part) in enumerate(zip(self.forests, parts, strict=True))
            ]
        )
        if self._mass is None:
            shares = np.repeat(1.0 / (self._count * size), size)
        else:
            shares = shares_of(samples, size, self._mass) / np.repeat(self._count, size)
        found = np.bincount(samples, shares, minlength=n * len(self.forests))
        return found.astype(np.float64, copy=False).reshape(-1, n)

    def _leaves(self, seen: NDArray[np.float32]) -> NDArray[np.int64]:
        """The leaf of every tree, numbered on from tree to tree."""
        at: NDArray[np.int64] = self._root
        while True:
            values = seen[self._column[at]]
            left = np.where(np.isnan(values), self._missing_left[at], values <= self._threshold[at])
            onward = np.where(left, self._left[at], self._right[at])
            if np.array_equal(onward, at):
                return at
            at = onward


def _missing_left(tree: Any) -> NDArray[np.bool_]:
    """By node, whether it sends a missing number to the left, as scikit-learn's trees and those grown here say it."""
    if isinstance(tree, GrownTree):
        return tree.to_left.astype(np.bool_)
    found = getattr(tree, "missing_go_to_left", None)
    return np.zeros(tree.node_count, dtype=np.bool_) if found is None else np.asarray(found, dtype=np.bool_)
