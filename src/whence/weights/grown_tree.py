"""A tree that the core has grown, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence import _core
from whence.aliases import Floats

__all__ = ["GrownTree"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GrownTree:
    """Arrays over the nodes, node 0 the root (see :class:`whence.weights.trees.Tree`).

    Examples
    --------
    >>> ints = lambda *numbers: np.array(numbers, dtype=np.int64)
    >>> tree = GrownTree(ints(0, -1, -1), np.array([0.5, -2, -2]), ints(1, -1, -1), ints(2, -1, -1))
    >>> tree.apply(np.array([[0.5], [0.6]]))
    array([1, 2])
    """

    feature: Ints
    threshold: Floats
    children_left: Ints
    children_right: Ints

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self.feature.size)

    def apply(self, X: NDArray[Any]) -> Ints:
        """Leaf of every row."""
        seen = np.ascontiguousarray(X, dtype=np.float32).astype(np.float64)
        found = np.empty(len(seen), dtype=np.int64)
        _core.leaves(self.feature, self.threshold, self.children_left, self.children_right, seen, found)
        return found

    def decision_path(self, X: NDArray[Any]) -> sparse.csr_matrix:
        """Nodes on the way of every row."""
        parent = np.full(self.node_count, -1)
        inner = np.flatnonzero(self.feature >= 0)
        parent[self.children_left[inner]] = parent[self.children_right[inner]] = inner
        ways = []
        for leaf in self.apply(X).tolist():
            way = [leaf]
            while parent[way[-1]] >= 0:
                way.append(int(parent[way[-1]]))
            ways.append(way[::-1])
        ends = np.cumsum([0, *map(len, ways)])
        indices = np.concatenate([np.array(way, dtype=np.int64) for way in ways])
        return sparse.csr_matrix((np.ones(ends[-1]), indices, ends), shape=(len(ways), self.node_count))
