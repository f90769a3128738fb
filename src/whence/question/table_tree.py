"""A table of what may stand together, as a tree of questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whence.aliases import Floats
from whence.question.relations import RelationTree

__all__ = ["table_tree"]

Node = tuple[int, float, int, int]


def table_tree(rows: Floats, groups: Sequence[Sequence[int]], spacing: Floats, begin: int, text: str) -> RelationTree:
    """That the coordinates from `begin` on are one of `rows`, as a tree that asks about one group after the other.

    Parameters
    ----------
    rows : ndarray
        What is allowed, one column per coordinate.
    groups : sequence of sequences of int
        The columns that belong together: one number, or the levels of a category, one of which is above 0.
    spacing : ndarray
        Of each column that is a number: how far its values are apart at least, also those that no row has.
    begin : int
        The coordinate of the first column.
    text : str
        The relation in words.

    Examples
    --------
    >>> tree = table_tree(np.array([[0.0, 0.5], [0.5, 0.0]]), [(0,), (1,)], np.full(2, 0.25), 0, "one of two")
    >>> tree.keeps(np.array([[0.0, 0.5], [0.5, 0.5], [0.5, 0.0], [0.25, 0.0]])).tolist()
    [True, False, True, False]
    """
    rows = np.unique(rows, axis=0)
    # What has most values first: it settles most of the others.
    order = sorted(groups, key=lambda group: -len(np.unique(rows[:, list(group)], axis=0)))
    grower = _Grower(rows, order, spacing, begin)
    grower.grow(np.arange(len(rows)), 0)
    return RelationTree.of(grower.nodes, grower.broken, text)


class _Grower:
    """Nodes of a tree, each child behind its parent."""

    def __init__(self, rows: Floats, order: Sequence[Sequence[int]], spacing: Floats, begin: int) -> None:
        self.rows, self.order, self.spacing, self.begin = rows, order, spacing, begin
        self.nodes: list[Node] = []
        self.broken: list[bool] = []

    def grow(self, left: np.ndarray, depth: int) -> int:
        """The tree over the rows that are `left`, from a group on; the number of its root."""
        if depth == len(self.order):
            return self._leaf(False)
        group = self.order[depth]
        if len(group) == 1:
            return self._number(left, depth, int(group[0]))
        return self._category(left, depth, [int(j) for j in group])

    def _leaf(self, broken: bool) -> int:
        self.nodes.append((-1, 0.0, 0, 0))
        self.broken.append(broken)
        return len(self.nodes) - 1

    def _split(self, column: int, threshold: float) -> int:
        self.nodes.append((self.begin + column, threshold, 0, 0))
        self.broken.append(False)
        return len(self.nodes) - 1

    def _link(self, node: int, left: int, right: int) -> int:
        column, threshold, _, _ = self.nodes[node]
        self.nodes[node] = (column, threshold, left, right)
        return node

    def _category(self, left: np.ndarray, depth: int, group: list[int]) -> int:
        """Ask for one level after the other."""
        on = [j for j in group if (self.rows[left, j] > 0.25).any()]
        if not on:
            return self._leaf(True)
        node = self._split(on[0], 0.25)
        mine = self.rows[left, on[0]] > 0.25
        off = self._category(left[~mine], depth, group) if not mine.all() else self._leaf(True)
        return self._link(node, off, self.grow(left[mine], depth + 1))

    def _number(self, left: np.ndarray, depth: int, column: int) -> int:
        """Halve the values; what lies between two of them, or beyond, is not allowed."""
        values = np.unique(self.rows[left, column])
        gap = float(self.spacing[column]) / 4.0
        # Neighbours that lead to the same rows of what follows are asked about as one.
        rest = [j for group in self.order[depth + 1 :] for j in group]
        keys = [self.rows[left[self.rows[left, column] == v]][:, rest].tobytes() for v in values]
        runs: list[tuple[float, float, np.ndarray]] = []
        for value, key, before in zip(values, keys, [b"", *keys[:-1]], strict=True):
            mine = left[self.rows[left, column] == value]
            if runs and key == before and value - runs[-1][1] <= 4.5 * gap:
                runs[-1] = (runs[-1][0], float(value), mine)
            else:
                runs.append((float(value), float(value), mine))
        return self._halved(runs, column, depth, -np.inf, np.inf, gap)

    def _halved(
        self, runs: list[tuple[float, float, np.ndarray]], column: int, depth: int, low: float, high: float, gap: float
    ) -> int:
        """The tree over runs of values between two ends that were asked about already."""
        if len(runs) > 1:
            half = len(runs) // 2
            between = runs[half - 1][1] + gap
            node = self._split(column, between)
            first = self._halved(runs[:half], column, depth, low, between, gap)
            return self._link(node, first, self._halved(runs[half:], column, depth, between, high, gap))
        begin, end, rows = runs[0]
        # Up to the value before there is nothing to ask about.
        if low < begin - 3.5 * gap:
            node = self._split(column, begin - gap)
            off = self._leaf(True)
            return self._link(node, off, self._halved(runs, column, depth, begin - gap, high, gap))
        if high > end + 3.5 * gap:
            node = self._split(column, end + gap)
            inner = self._halved(runs, column, depth, low, end + gap, gap)
            return self._link(node, inner, self._leaf(True))
        return self.grow(rows, depth + 1)
