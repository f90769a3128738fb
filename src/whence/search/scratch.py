"""Working memory of the compiled search, allocated once a question."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.grid import ForestGrid, LeafBits, Located
from whence.search.tables import Tables, TailTables

__all__ = ["Field", "Queue", "Scratch", "hard_scratch", "new_queue", "new_scratch"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Field(NamedTuple):
    """All that a search reads: the forest, the question on it, and what the plans cost."""

    grid: ForestGrid
    located: Located
    bits: LeafBits
    tables: Tables
    excluded: Ints
    tau: float


class Queue(NamedTuple):
    """The boxes that wait, as a heap on their distance, and the chain of restrictions that makes each of them.

    Attributes
    ----------
    chain : ndarray of shape (capacity, 7)
        Parent, column, first and last cell, first and last eta, whether the strong bound was taken.
    keys, items : ndarray of shape (capacity,)
        Heap of (distance, link of the chain).
    state : ndarray of int of shape (4,)
        Links in the chain, size of the heap, boxes examined, strong bounds taken.
    """

    chain: Ints
    keys: Floats
    items: Ints
    state: NDArray[np.int64]


class Scratch(NamedTuple):
    """The box under way and room to compute; `whence.search.places` names the rows of the packed arrays.

    Attributes
    ----------
    columns : ndarray of shape (10, d)
        First and last cell of the box, cells of its projection, the same for a second box, and counters.
    per_tree : ndarray of shape (3, trees)
        Leaf of every tree at the projection, and those that attain a bound.
    etas : ndarray of shape (5, etas)
        For every eta: sums over trees, one tree's part, the largest sum of all rivals, a buffer, the worst rival's sum.
    reach : ndarray of shape (words,)
        The leaves that the box meets, as bits.
    box : ndarray of int of shape (7,)
        Link, first and last eta, worst rival, whether the projection holds, whether it is excluded, eta of the bound.
    far : ndarray of shape (3,)
        Key of the box, distance of its projection, what its bound leaves of tau.
    """

    columns: Ints
    per_tree: Ints
    etas: Floats
    gains: Floats
    reach: NDArray[np.uint64]
    stack: Ints
    score: Floats
    touched: Ints
    threshold: NDArray[np.int64]
    box: NDArray[np.int64]
    far: Floats


def new_queue(capacity: int = 1024) -> Queue:
    """A queue that holds the whole space."""
    queue = Queue(
        np.zeros((capacity, 7), dtype=np.int32),
        np.zeros(capacity),
        np.zeros(capacity, dtype=np.int32),
        np.array([0, 1, 0, 0], dtype=np.int64),
    )
    queue.items[0] = -1
    return queue


def new_scratch(grid: ForestGrid, bits: LeafBits, tables: Tables) -> Scratch:
    """Working memory for a forest and a number of rivals."""
    plans, etas = tables.etas.shape if isinstance(tables, TailTables) else (1 + tables.mean.shape[0], 1)
    d, trees, faces = grid.face_start.size - 1, grid.root.size, int(grid.face_start[-1])
    return Scratch(
        columns=np.zeros((10, d), dtype=np.int32),
        per_tree=np.zeros((3, trees), dtype=np.int32),
        etas=np.zeros((5, etas)),
        gains=np.zeros(trees),
        reach=np.zeros(int(bits.tree_word[-1]), dtype=np.uint64),
        stack=np.zeros(grid.node.shape[1] // 2 + 2, dtype=np.int32),
        score=np.zeros(max(1, faces)),
        touched=np.zeros((max(1, faces), 2), dtype=np.int32),
        threshold=np.zeros(plans, dtype=np.int64),
        box=np.zeros(7, dtype=np.int64),
        far=np.zeros(3),
    )


def hard_scratch(grid: ForestGrid, bits: LeafBits) -> tuple[Floats, Floats]:
    """What only hard questions need: a price a leaf, and a lift a cell.

    The lift says by how much the bound of either half of a box would rise if it were split after the cell, as a
    difference to the cell before.
    """
    return np.zeros(bits.leaf_at.size), np.zeros((2, grid.face_start[-1] + grid.face_start.size - 1))
