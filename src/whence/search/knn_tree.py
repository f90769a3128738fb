"""The boxes still to be examined, nearest first, and the loop that examines them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import flow, kernel
from whence.search.knn_axes import CATEGORY, CONTINUOUS, Axes
from whence.search.knn_box import (
    FEASIBLE,
    HIGH,
    LEAF,
    LOW,
    MEMBERS,
    NEAREST,
    SETTLED,
    SPLIT,
    Scratch,
    choose_split,
    examine,
    project,
)  # fmt: skip
from whence.search.knn_cuts import Cuts
from whence.search.knn_leaf import Work, solve_box
from whence.search.knn_simplex import Tableau

__all__ = ["CANDIDATE", "EXHAUSTED", "FULL", "HEAP", "NODES", "SPENT", "Tree", "grown", "search"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPENT, CANDIDATE, EXHAUSTED, FULL = 0, 1, 2, 3

#: Places in ``Tree.used``.
HEAP, FREE, LISTS, NODES = 0, 1, 2, 3

#: With at most this many open members a box is tried by linear programs, at most so many of them.
FEW = 48
PATIENCE = 20
ENDLESS = 1 << 60

#: A leaf counts as solved once its key is its value, up to rounding.
SAME = 1e-12


class Tree(NamedTuple):
    """Boxes in a heap, and the members that are still open in them.

    Attributes
    ----------
    boxes : ndarray of shape (capacity, 2, q)
        Lower and upper ends of the boxes.
    held : ndarray of int of shape (capacity, 3)
        Where a box's list of members begins, how many of them are settled, how many are open.
    key : ndarray of shape (capacity,)
        The heap: lower bound on the distance.
    rows : ndarray of int of shape (2, capacity)
        The heap's boxes, and the rows of `boxes` that are free.
    lists : ndarray of int32
        Lists of members, settled ones first; the two parts of a box share the list of the whole.
    used : ndarray of int of shape (4,)
        Heap size, number of free rows, length of `lists` in use, boxes examined.
    """

    boxes: Floats
    held: Ints
    key: Floats
    rows: Ints
    lists: NDArray[np.int32]
    used: Ints

    @classmethod
    def of(cls, axes: Axes, low: Floats, high: Floats) -> Tree:
        """A tree that holds one box."""
        n, q = axes.points.shape
        capacity = 1024
        rows = np.zeros((2, capacity), dtype=np.int64)
        rows[1] = np.arange(capacity)[::-1]
        tree = cls(
            np.empty((capacity, 2, q)), np.empty((capacity, 3), dtype=np.int64), np.empty(capacity), rows,
            np.empty(max(4 * n, 65536), dtype=np.int32), np.array([1, capacity - 1, n, 0], dtype=np.int64),
        )  # fmt: skip
        tree.lists[:n] = np.arange(n)
        tree.boxes[0] = low, high
        tree.held[0] = 0, 0, n
        tree.key[0] = 0.0
        return tree


@flow
def _push(keys: Floats, boxes: Ints, size: int, key: float, box: int) -> None:
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if keys[parent] <= key:
            break
        keys[at], boxes[at] = keys[parent], boxes[parent]
        at = parent
    keys[at], boxes[at] = key, box


@flow
def _pop(keys: Floats, boxes: Ints, size: int) -> None:
    """Remove the first of `size` entries."""
    key, box = keys[size - 1], boxes[size - 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], boxes[at] = keys[child], boxes[child]
        at = child
    keys[at], boxes[at] = key, box


@flow
def _load(tree: Tree, row: int, box: Floats, ids: Ints) -> tuple[int, int]:
    """Copy a box and its lists to the working memory; the numbers of settled and open members."""
    boxes, lists = tree.boxes, tree.lists
    for j in range(box.shape[1]):
        box[LOW, j], box[HIGH, j] = boxes[row, 0, j], boxes[row, 1, j]
    at, n_settled, m = tree.held[row, 0], tree.held[row, 1], tree.held[row, 2]
    for i in range(n_settled):
        ids[SETTLED, i] = lists[at + i]
    for i in range(m):
        ids[MEMBERS, i] = lists[at + n_settled + i]
    return n_settled, m


@flow
def _split(
    axes: Axes, tree: Tree, split: tuple[int, float, float], n_settled: int, m: int, least: float,
    radius: float, s: Scratch,
) -> None:  # fmt: skip
    """Add the two parts of the box last examined, none of them nearer than `least`."""
    axis, below, above = split
    boxes, held, used, lists, ids, box = tree.boxes, tree.held, tree.used, tree.lists, s.ids, s.box
    at = used[LISTS]
    for i in range(n_settled):
        lists[at + i] = ids[SETTLED, i]
    for i in range(m):
        lists[at + n_settled + i] = ids[MEMBERS, i]
    used[LISTS] += n_settled + m
    low, high = box[LOW, axis], box[HIGH, axis]
    for part in range(2):
        box[LOW, axis], box[HIGH, axis] = (low, below) if part == 0 else (above, high)
        key = max(least, project(axes.kind, axes.table, axes.cost, box))
        if key < radius:
            used[FREE] -= 1
            row = tree.rows[1, used[FREE]]
            for j in range(box.shape[1]):
                boxes[row, 0, j], boxes[row, 1, j] = box[LOW, j], box[HIGH, j]
            held[row, 0], held[row, 1], held[row, 2] = at, n_settled, m
            _push(tree.key, tree.rows[0], used[HEAP], key, row)
            used[HEAP] += 1


@flow
def _categories_decided(kind: Ints, box: Floats) -> bool:
    decided = True
    for j in range(kind.size):
        decided = decided and (kind[j] != CATEGORY or box[LOW, j] == box[HIGH, j])
    return decided


@flow
def _halves(kind: Ints, box: Floats) -> tuple[int, float, float]:
    """Split the widest continuous axis in the middle."""
    axis, widest = 0, 0.0
    for j in range(kind.size):
        if kind[j] == CONTINUOUS and box[HIGH, j] - box[LOW, j] > widest:
            axis, widest = j, box[HIGH, j] - box[LOW, j]
    middle = 0.5 * (box[LOW, axis] + box[HIGH, axis])
    return axis, middle, middle


@kernel
def search(
    axes: Axes, cuts: Cuts, tree: Tree, boxes: int, radius: float, s: Scratch, t: Tableau, w: Work, found: Floats
) -> int:
    """Examine at most `boxes` boxes nearer than `radius`.

    A candidate, proved nearest, is written to the first row of `found`. Explanations met on the way, without proof,
    go to the second row where they are nearer than its last entry says.
    """
    candidate, met, q = found[0], found[1], s.box.shape[1]
    keys, heap, free, held, used, box, ids = tree.key, tree.rows[0], tree.rows[1], tree.held, tree.used, s.box, s.ids
    for _ in range(boxes):
        if used[HEAP] == 0 or keys[0] >= radius:
            return EXHAUSTED
        key, row = keys[0], heap[0]
        if used[FREE] < 2 or used[LISTS] + held[row, 1] + held[row, 2] > tree.lists.size:
            return FULL
        _pop(keys, heap, used[HEAP])
        used[HEAP] -= 1
        used[NODES] += 1
        n_settled, m = _load(tree, row, box, ids)
        verdict, distance, n_settled, m = examine(axes, cuts, n_settled, m, radius, s)
        best, open_ = np.inf, np.inf
        if verdict == FEASIBLE:
            best = 0.0
            for j in range(q):
                candidate[j] = box[NEAREST, j]
        elif verdict == LEAF or (verdict == SPLIT and m <= FEW and _categories_decided(axes.kind, box)):
            patience = ENDLESS if verdict == LEAF else PATIENCE
            best, open_ = solve_box(axes, cuts, n_settled, m, radius - distance, patience, s, t, w, candidate)
        elif verdict == SPLIT:
            open_ = 0.0
        value = max(key, distance + min(best, open_))
        if distance + best < met[q]:
            met[q] = distance + best
            for j in range(q):
                met[j] = candidate[j]
        if best <= open_ and value < radius:
            _push(keys, heap, used[HEAP], value, row)
            used[HEAP] += 1
            if value <= keys[0] + SAME:
                return CANDIDATE
            continue
        free[used[FREE]] = row
        used[FREE] += 1
        if open_ < best and value < radius:
            split = choose_split(axes, box, ids[MEMBERS], m)
            if split[0] < 0:
                split = _halves(axes.kind, box)
            _split(axes, tree, split, n_settled, m, value, radius, s)
    return SPENT


def grown(tree: Tree) -> Tree:
    """The same tree with more room; lists that no box refers to any more are left out."""
    used = tree.used.copy()
    capacity = len(tree.key)
    rows = tree.rows[0, : used[HEAP]]
    held = tree.held[rows]
    begins, first = np.unique(held[:, 0], return_index=True)
    lengths = held[first, 1] + held[first, 2]
    moved = np.concatenate(([0], np.cumsum(lengths)))
    lists = np.empty(max(2 * int(moved[-1]) + int(lengths.max(initial=0)), tree.lists.size), dtype=np.int32)
    for begin, to, length in zip(begins, moved[:-1], lengths, strict=True):
        lists[to : to + length] = tree.lists[begin : begin + length]
    extra = capacity if used[FREE] < capacity // 4 else 0
    boxes = np.concatenate([tree.boxes, np.empty((extra, *tree.boxes.shape[1:]))])
    new_held = np.concatenate([tree.held, np.empty((extra, 3), dtype=np.int64)])
    new_held[rows, 0] = moved[np.searchsorted(begins, held[:, 0])]
    new_rows = np.concatenate([tree.rows, np.zeros((2, extra), dtype=np.int64)], axis=1)
    new_rows[1, used[FREE] : used[FREE] + extra] = np.arange(capacity, capacity + extra)[::-1]
    used[FREE] += extra
    used[LISTS] = moved[-1]
    return Tree(boxes, new_held, np.concatenate([tree.key, np.empty(extra)]), new_rows, lists, used)
