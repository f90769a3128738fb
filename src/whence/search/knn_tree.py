"""The boxes still to be examined, nearest first, and the loop that examines them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import kernel
from whence.search.knn_axes import CONTINUOUS, Axes
from whence.search.knn_box import FEASIBLE, LEAF, PRUNED, Scratch, choose_split, examine, project
from whence.search.knn_cuts import Cuts
from whence.search.knn_leaf import solve_leaf

__all__ = ["CANDIDATE", "EXHAUSTED", "FULL", "SPENT", "Tree", "grown", "search"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPENT, CANDIDATE, EXHAUSTED, FULL = 0, 1, 2, 3

#: Places in ``Tree.used``.
HEAP, FREE, LISTS, NODES = 0, 1, 2, 3

#: A leaf counts as solved once its key is its value, up to rounding.
SAME = 1e-12


class Tree(NamedTuple):
    """Boxes in a heap, and the members that are still open in them.

    Attributes
    ----------
    low, high : ndarray of shape (capacity, q)
        The boxes.
    held : ndarray of int of shape (capacity, 3)
        Where a box's list of members begins, how many of them are settled, how many are open.
    key, box : ndarray of shape (capacity,)
        The heap: lower bound on the distance, and the box's row.
    free : ndarray of int of shape (capacity,)
        Rows not in use.
    lists : ndarray of int32
        Lists of members, settled ones first; the two parts of a box share the list of the whole.
    used : ndarray of int of shape (4,)
        Heap size, number of free rows, length of `lists` in use, boxes examined.
    """

    low: Floats
    high: Floats
    held: Ints
    key: Floats
    box: Ints
    free: Ints
    lists: NDArray[np.int32]
    used: Ints

    @classmethod
    def of(cls, axes: Axes, low: Floats, high: Floats) -> Tree:
        """A tree that holds one box."""
        n, q = axes.points.shape
        capacity = 1024
        tree = cls(
            np.empty((capacity, q)), np.empty((capacity, q)), np.empty((capacity, 3), dtype=np.int64),
            np.empty(capacity), np.empty(capacity, dtype=np.int64), np.arange(capacity, dtype=np.int64)[::-1].copy(),
            np.empty(max(4 * n, 65536), dtype=np.int32), np.array([0, capacity, n, 0], dtype=np.int64),
        )  # fmt: skip
        tree.lists[:n] = np.arange(n)
        _add(tree, low, high, project(axes, low, high, np.empty(q)), 0, 0, n)
        return tree


@kernel
def _push(tree: Tree, key: float, box: int) -> None:
    at = tree.used[HEAP]
    tree.used[HEAP] += 1
    while at > 0:
        parent = (at - 1) // 2
        if tree.key[parent] <= key:
            break
        tree.key[at], tree.box[at] = tree.key[parent], tree.box[parent]
        at = parent
    tree.key[at], tree.box[at] = key, box


@kernel
def _pop(tree: Tree) -> tuple[float, int]:
    top_key, top_box = tree.key[0], tree.box[0]
    tree.used[HEAP] -= 1
    size = tree.used[HEAP]
    key, box = tree.key[size], tree.box[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and tree.key[child + 1] < tree.key[child]:
            child += 1
        if tree.key[child] >= key:
            break
        tree.key[at], tree.box[at] = tree.key[child], tree.box[child]
        at = child
    tree.key[at], tree.box[at] = key, box
    return top_key, top_box


@kernel
def _add(tree: Tree, low: Floats, high: Floats, key: float, at: int, settled: int, members: int) -> None:
    tree.used[FREE] -= 1
    box = tree.free[tree.used[FREE]]
    tree.low[box], tree.high[box] = low, high
    tree.held[box, 0], tree.held[box, 1], tree.held[box, 2] = at, settled, members
    _push(tree, key, box)


@kernel
def _release(tree: Tree, box: int) -> None:
    tree.free[tree.used[FREE]] = box
    tree.used[FREE] += 1


@kernel
def _load(tree: Tree, box: int, s: Scratch) -> tuple[int, int]:
    s.low[:], s.high[:] = tree.low[box], tree.high[box]
    at, n_settled, m = tree.held[box, 0], tree.held[box, 1], tree.held[box, 2]
    for i in range(n_settled):
        s.settled[i] = tree.lists[at + i]
    for i in range(m):
        s.members[i] = tree.lists[at + n_settled + i]
    return n_settled, m


@kernel
def _store(tree: Tree, n_settled: int, m: int, s: Scratch) -> int:
    at = tree.used[LISTS]
    for i in range(n_settled):
        tree.lists[at + i] = s.settled[i]
    for i in range(m):
        tree.lists[at + n_settled + i] = s.members[i]
    tree.used[LISTS] += n_settled + m
    return at


@kernel
def _split(
    axes: Axes, tree: Tree, split: tuple[int, float, float], n_settled: int, m: int, radius: float, s: Scratch
) -> None:
    """Add the two parts of the box last examined."""
    axis, below, above = split
    at = _store(tree, n_settled, m, s)
    low, high = s.low[axis], s.high[axis]
    for part in range(2):
        s.low[axis], s.high[axis] = (low, below) if part == 0 else (above, high)
        key = project(axes, s.low, s.high, s.nearest)
        if key < radius:
            _add(tree, s.low, s.high, key, at, n_settled, m)


@kernel
def _halves(axes: Axes, s: Scratch) -> tuple[int, float, float]:
    """Split the widest continuous axis in the middle."""
    axis, widest = 0, 0.0
    for j in range(s.low.size):
        if axes.kind[j] == CONTINUOUS and s.high[j] - s.low[j] > widest:
            axis, widest = j, s.high[j] - s.low[j]
    middle = 0.5 * (s.low[axis] + s.high[axis])
    return axis, middle, middle


@kernel
def search(axes: Axes, cuts: Cuts, tree: Tree, boxes: int, radius: float, s: Scratch, found: Floats) -> int:
    """Examine at most `boxes` boxes nearer than `radius`; a candidate, proved nearest, is written to `found`."""
    for _ in range(boxes):
        if tree.used[HEAP] == 0 or tree.key[0] >= radius:
            return EXHAUSTED
        top = tree.box[0]
        if tree.used[FREE] < 2 or tree.used[LISTS] + tree.held[top, 1] + tree.held[top, 2] > tree.lists.size:
            return FULL
        key, box = _pop(tree)
        tree.used[NODES] += 1
        n_settled, m = _load(tree, box, s)
        verdict, distance, n_settled, m = examine(axes, cuts, n_settled, m, radius, s)
        if verdict == FEASIBLE:
            found[:] = s.nearest
            _push(tree, max(key, distance), box)
            return CANDIDATE
        if verdict == PRUNED:
            _release(tree, box)
            continue
        if verdict != LEAF:
            _release(tree, box)
            _split(axes, tree, choose_split(axes, m, s), n_settled, m, radius, s)
            continue
        complete, extra = solve_leaf(axes, cuts, n_settled, m, radius - distance, s, found)
        if not complete:
            _release(tree, box)
            _split(axes, tree, _halves(axes, s), n_settled, m, radius, s)
            continue
        value = max(distance + extra, key)
        if value >= radius:
            _release(tree, box)
            continue
        _push(tree, value, box)
        if value <= tree.key[0] + SAME:
            return CANDIDATE
    return SPENT


def grown(tree: Tree) -> Tree:
    """The same tree with more room; lists that no box refers to any more are left out."""
    boxes = tree.box[: tree.used[HEAP]]
    held = tree.held[boxes]
    begins, first = np.unique(held[:, 0], return_index=True)
    lengths = held[first, 1] + held[first, 2]
    moved = np.concatenate(([0], np.cumsum(lengths)))
    lists = np.empty(max(2 * int(moved[-1]) + int(lengths.max(initial=0)), tree.lists.size), dtype=np.int32)
    for begin, to, length in zip(begins, moved[:-1], lengths, strict=True):
        lists[to : to + length] = tree.lists[begin : begin + length]
    capacity = len(tree.key)
    wanted = 2 * capacity if tree.used[FREE] < capacity // 4 else capacity
    extra = wanted - capacity

    def longer(values: NDArray[np.generic]) -> NDArray[np.generic]:
        return np.concatenate([values, np.empty((extra, *values.shape[1:]), dtype=values.dtype)])

    new_held = np.asarray(longer(tree.held))
    new_held[boxes, 0] = moved[np.searchsorted(begins, held[:, 0])]
    free = np.asarray(longer(tree.free))
    free[tree.used[FREE] : tree.used[FREE] + extra] = np.arange(capacity, wanted)[::-1]
    used = tree.used.copy()
    used[FREE] += extra
    used[LISTS] = moved[-1]
    return Tree(
        longer(tree.low),
        longer(tree.high),
        new_held,
        longer(tree.key),
        longer(tree.box),
        free,
        lists,
        used,  # type: ignore[arg-type]
    )
