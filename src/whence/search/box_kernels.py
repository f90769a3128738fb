"""Compiled helpers that every search over cells shares: boxes, projections, leaves, the heap.

A box is kept as a chain of restrictions (one column, one interval each) up to the root, so that a search of
millions of boxes costs a few numbers a box whatever the dimension.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from whence.search.compiling import inner, kernel
from whence.search.places import (
    DOWN,
    FIRST_CELL,
    GROUP,
    LAST_CELL,
    NODE_COLUMN,
    NODE_LEFT,
    NODE_RIGHT,
    NODE_SPLIT,
    PATH_COLUMN,
    PATH_HIGH,
    PATH_LOW,
    START,
    UP,
)

__all__ = ["gather", "keep_leaves", "leaves_at", "pop", "project", "push", "rebuild", "restrict", "tighten"]

ZERO, ONE = np.uint64(0), np.uint64(1)


@inner
def push(keys, items, size, key, item):
    """Put an item on the heap; the new size."""
    i = size
    while i > 0:
        up = (i - 1) // 2
        if keys[up] <= key:
            break
        keys[i], items[i] = keys[up], items[up]
        i = up
    keys[i], items[i] = key, item
    return size + 1


@inner
def pop(keys, items, size):
    """Take the item with the smallest key off the heap: key, item, new size."""
    key, item = keys[0], items[0]
    size -= 1
    last_key, last_item = keys[size], items[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= last_key:
            break
        keys[i], items[i] = keys[child], items[child]
        i = child
    keys[i], items[i] = last_key, last_item
    return key, item, size


@inner
def restrict(grid, located, low, high, j, first, last):
    """Narrow column `j` of a box to the cells first..last; False where nothing allowed is left.

    All three are int64 wherever it is called, so that it is compiled once.
    """
    base = grid.face_start[j] + j
    first, last = max(first, low[j]), min(last, high[j])
    if first > last:
        return False
    first, last = located.step[UP, base + first], located.step[DOWN, base + last]
    if first < 0 or last < 0 or first > last:
        return False
    low[j], high[j] = first, last
    g = located.column[GROUP, j]
    if g < 0:
        return True
    # One category is always on, and only one.
    on, possible, candidate = 0, 0, -1
    for i in range(low.size):
        if located.column[GROUP, i] == g:
            if low[i] > 0:
                on += 1
                candidate = i
            if high[i] > 0:
                possible += 1
                if on == 0:
                    candidate = i
    if on > 1 or possible == 0:
        return False
    if on == 1 or possible == 1:
        for i in range(low.size):
            if located.column[GROUP, i] == g:
                if i == candidate:
                    low[i] = high[i]
                elif high[i] > 0:
                    high[i] = 0
    return True


@inner
def project(grid, located, low, high, cells):
    """Nearest cell of a box to the start, into `cells`; its distance."""
    total = 0.0
    grouped = False
    for j in range(low.size):
        c = min(max(located.column[START, j], low[j]), high[j])
        cells[j] = c
        total += located.distance[grid.face_start[j] + j + c]
        grouped |= located.column[GROUP, j] >= 0
    if grouped:
        for j in range(low.size):
            g = located.column[GROUP, j]
            if g < 0 or high[j] == 0:
                continue
            lit = False
            for i in range(low.size):
                if located.column[GROUP, i] == g and cells[i] > 0:
                    lit = True
            if not lit:
                cells[j] = high[j]
    return total


@inner
def rebuild(grid, located, chain, node, low, high):
    """The box of a node of the chain; False where it is empty."""
    for j in range(low.size):
        low[j], high[j] = located.column[FIRST_CELL, j], located.column[LAST_CELL, j]
    for j in range(low.size):
        first, last = np.int64(low[j]), np.int64(high[j])
        if located.column[GROUP, j] >= 0 and not restrict(grid, located, low, high, j, first, last):
            return False
    while node >= 0:
        column, first, last = np.int64(chain[node, 1]), np.int64(chain[node, 2]), np.int64(chain[node, 3])
        if not restrict(grid, located, low, high, column, first, last):
            return False
        node = chain[node, 0]
    return True


@inner
def gather(grid, bits_of, low, high, reach, stack):
    """The leaves that meet a box, as bits in `reach`."""
    for w in range(reach.size):
        reach[w] = ZERO
    for t in range(grid.root.size):
        stack[0] = grid.root[t]
        size = 1
        while size > 0:
            size -= 1
            v = stack[size]
            j = grid.node[NODE_COLUMN, v]
            if j < 0:
                at = bits_of.leaf_at[grid.node[NODE_LEFT, v]]
                if at >= 0:
                    reach[at >> 6] |= ONE << np.uint64(at & 63)
                continue
            if low[j] <= grid.node[NODE_SPLIT, v]:
                stack[size] = grid.node[NODE_LEFT, v]
                size += 1
            if high[j] > grid.node[NODE_SPLIT, v]:
                stack[size] = grid.node[NODE_RIGHT, v]
                size += 1


@inner
def keep_leaves(grid, bits_of, low, high, j, reach):
    """Drop from `reach` the leaves that column `j` of the box does not meet."""
    for w in range(reach.size):
        bits = reach[w]
        while bits != ZERO:
            bit = bits & (ZERO - bits)
            bits ^= bit
            leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]
            for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
                if grid.path[PATH_COLUMN, i] == j:
                    if grid.path[PATH_LOW, i] > high[j] or grid.path[PATH_HIGH, i] < low[j]:
                        reach[w] ^= bit
                    break


@kernel
def leaves_at(grid, cells, leaves):
    """Leaf of every tree at a cell, into `leaves`."""
    for t in range(grid.root.size):
        v = grid.root[t]
        while grid.node[NODE_COLUMN, v] >= 0:
            below = cells[grid.node[NODE_COLUMN, v]] <= grid.node[NODE_SPLIT, v]
            v = grid.node[NODE_LEFT, v] if below else grid.node[NODE_RIGHT, v]
        leaves[t] = grid.node[NODE_LEFT, v]


@inner
def tighten(grid, located, low, high, cells, room):
    """Narrow a box to the cells less than `room` farther than its projection; False where that leaves nothing."""
    if room <= 0.0:
        return False
    for j in range(low.size):
        base = grid.face_start[j] + j
        here = located.distance[base + cells[j]]
        if located.column[GROUP, j] >= 0:
            home = here == 0.0 and located.column[START, j] > 0 and cells[j] > 0 and low[j] == 0
            stays = home and located.distance[base] >= room
            first, last = np.int64(cells[j]), np.int64(high[j])
            if stays and not restrict(grid, located, low, high, j, first, last):
                return False
            continue
        # Distances grow away from the start, so the cells in reach are an interval around the projection.
        a, b = cells[j], high[j]
        while a < b:
            middle = (a + b + 1) // 2
            if located.distance[base + located.step[UP, base + middle]] - here < room:
                a = middle
            else:
                b = middle - 1
        last = located.step[DOWN, base + a]
        a, b = low[j], cells[j]
        while a < b:
            middle = (a + b) // 2
            if located.distance[base + located.step[DOWN, base + middle]] - here < room:
                b = middle
            else:
                a = middle + 1
        low[j], high[j] = located.step[UP, base + b], last
    return True
