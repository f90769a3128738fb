"""The leaves of one context in all trees of several forests at once.

A tree answers a single context in a few microseconds, most of which are spent on the way there: asking thousands of
trees one by one would take longer than many a search.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.weights.trees import LeafMembers

__all__ = ["Descent"]


class Descent:
    """Forests laid out for contexts that come one at a time.

    Parameters
    ----------
    forests : sequence of LeafMembers
        Fitted trees, and who stands in their leaves.

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
        self._ends = np.cumsum([len(forest.trees) for forest in forests])[:-1]
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
        self._right = right

    def leaves(self, row: Floats) -> NDArray[np.int64]:
        """The leaf of every tree, as its own number there."""
        seen = np.asarray(row, dtype=np.float32)
        at = self._root
        while True:
            goes_left = seen[self._column[at]] <= self._threshold[at]
            onward = np.where(goes_left, self._left[at], self._right[at])
            if np.array_equal(onward, at):
                found: NDArray[np.int64] = at - self._root
                return found
            at = onward

    def weights(self, row: Floats) -> list[Floats]:
        """By forest, the weights of its samples in a context that the trees see as `row`."""
        parts = np.split(self.leaves(row), self._ends)
        return [forest.at_leaves(leaves) for forest, leaves in zip(self.forests, parts, strict=True)]
