"""The leaves of one context in all trees of several forests at once.

A tree answers a single context in a few microseconds, most of which are spent on the way there: asking thousands of
trees one by one would take longer than many a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence import _core
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
        roots = np.cumsum(counts) - counts
        first, size = (np.concatenate(part) for part in zip(*(f.slices() for f in forests), strict=True))
        left, right = (
            np.concatenate([getattr(tree, name) + root for tree, root in zip(trees, roots, strict=True)])
            for name in ("children_left", "children_right")
        )
        self._core = _core.Descent(
            np.concatenate([tree.feature for tree in trees]).astype(np.int64),
            np.concatenate([tree.threshold for tree in trees]).astype(np.float64),
            left.astype(np.int64),
            right.astype(np.int64),
            np.concatenate([_missing_left(tree) for tree in trees]).astype(np.int64),
            roots.astype(np.int64),
            first.astype(np.int64),
            size.astype(np.int64),
            tuple(np.ascontiguousarray(forest.order, dtype=np.int32) for forest in forests),
        )
        self._mass: Floats | None = None
        if any(f.mass is not None for f in forests):
            self._mass = np.concatenate([np.ones(f.n_samples) if f.mass is None else f.mass for f in forests])
            own = np.array([len(forest.trees) for forest in forests])
            self._last, self._count = np.cumsum(own) - 1, np.repeat(own, own)
            self._first, self._size = first, size

    def weights(self, row: Floats) -> Floats:
        """By forest, one per row, the weights of its samples in a context that the trees see as `row`."""
        seen = np.ascontiguousarray(row, dtype=np.float32)
        return self._core.weights(seen) if self._mass is None else self._by_mass(seen, self._mass)

    def _by_mass(self, seen: NDArray[np.float32], mass: Floats) -> Floats:
        """The same where samples do not count alike."""
        leaf = self._core.leaves(seen)
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
        shares = shares_of(samples, size, mass) / np.repeat(self._count, size)
        found = np.bincount(samples, shares, minlength=n * len(self.forests))
        return found.astype(np.float64, copy=False).reshape(-1, n)


def _missing_left(tree: Any) -> NDArray[np.bool_]:
    """By node, whether it sends a missing number to the left, as scikit-learn's trees and those grown here say it."""
    if isinstance(tree, GrownTree):
        return tree.to_left.astype(np.bool_)
    found = getattr(tree, "missing_go_to_left", None)
    return np.zeros(tree.node_count, dtype=np.bool_) if found is None else np.asarray(found, dtype=np.bool_)
