"""Trees that the core has grown, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence import _core
from whence.errors import InternalError
from whence.models.base import FittedTrees, Forecast
from whence.models.tree_arrays import RawTree
from whence.util.aliases import Floats

__all__ = ["GrownTree", "GrownTrees"]

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
    #: Whether a missing value goes to the left: 1 or 0.
    missing_left: Ints | None = None

    @property
    def to_left(self) -> Ints:
        """The same, also where nothing may be missing."""
        return np.zeros(self.node_count, dtype=np.int64) if self.missing_left is None else self.missing_left

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self.feature.size)

    def apply(self, X: NDArray[Any]) -> Ints:
        """Leaf of every row."""
        seen = np.ascontiguousarray(X, dtype=np.float32).astype(np.float64)
        found = np.empty(len(seen), dtype=np.int64)
        children = self.children_left, self.children_right
        _core.leaves(self.feature, self.threshold, *children, self.to_left, seen, found)
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


class GrownTrees(FittedTrees):
    """Such trees as a library's: for contexts in which something is missing they are laid out anew."""

    single: ClassVar[bool] = True
    kind: ClassVar[str] = "decision-aware"

    def __init__(self, grown: Sequence[GrownTree], columns: int) -> None:
        self.model, self._grown, self.n_features = None, list(grown), columns
        self.categories = {}
        self.trees = [
            RawTree(
                tree.feature,
                tree.threshold,
                tree.children_left,
                tree.children_right,
                tree.to_left.astype(np.bool_),
                np.zeros(tree.node_count),
            )
            for tree in grown
        ]

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        return None

    def leaves(self, X: Floats) -> Ints:
        return np.column_stack([tree.apply(X) for tree in self._grown])

    def forecast(self, label: Any = None) -> Forecast:
        raise InternalError("Trees that are grown for a decision forecast nothing.")

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        raise InternalError("Trees that are grown for a decision forecast nothing.")
