"""Compiled helpers that lay a forest out as a grid of cells."""

from __future__ import annotations

import numpy as np

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

__all__ = ["dead_leaves", "leaf_paths", "locate"]


@inner
def _path(node, parent, leaf, last_cell, at, path):
    """Write the cells that a leaf node allows, one entry a column on its path, from `at` on; the end."""
    begin, end = at, at
    child, v = leaf, parent[leaf]
    while v >= 0:
        j, c = node[NODE_COLUMN, v], node[NODE_SPLIT, v]
        i = begin
        while i < end and path[PATH_COLUMN, i] != j:
            i += 1
        if i == end:
            path[PATH_COLUMN, i] = j
            path[PATH_LOW, i], path[PATH_HIGH, i] = 0, last_cell[j + 1] - last_cell[j]
            end += 1
        if node[NODE_LEFT, v] == child:
            path[PATH_HIGH, i] = min(path[PATH_HIGH, i], c)
        else:
            path[PATH_LOW, i] = max(path[PATH_LOW, i], c + 1)
        child, v = v, parent[v]
    return end


@kernel
def leaf_paths(node, face_start, parent, first, last, start, path, write):
    """Paths of the leaves among the nodes first..last of whole trees: counted into `start`, or written to `path`.

    Counting comes first, for all trees; it also fills `parent`. Both can be done a few trees at a time.
    """
    if not write:
        for v in range(first, last):
            if node[NODE_COLUMN, v] >= 0:
                parent[node[NODE_LEFT, v]] = v
                parent[node[NODE_RIGHT, v]] = v
    for v in range(first, last):
        if node[NODE_COLUMN, v] < 0:
            leaf = node[NODE_LEFT, v]
            at = start[leaf] if write else 0
            end = _path(node, parent, v, face_start, at, path)
            if not write:
                start[leaf + 1] = end


@inner
def _cell_of(value, cut, first, last):
    """Cell of a float32 value among the cuts ``first..last``: it goes left of a cut that it does not exceed."""
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if value <= cut[middle]:
            high = middle
        else:
            low = middle + 1
    return low - first


@kernel
def locate(face_start, cut, below, beyond, discrete, level_start, level, limits, scales, distance, value, step, column):
    """Allowed cells and their distances, into the last four arrays: see `Located`, and the nearest value of each cell.

    `limits` are start, lower and upper bound of each column, `scales` its weight, and how it is scaled and shifted in
    the forest; `below` and `beyond` are the last coordinate before each cut and the first beyond it. A discrete column
    j has the values ``level[level_start[j]:level_start[j + 1]]``.
    """
    start, lower, upper = limits[0], limits[1], limits[2]
    weight, scale, offset = scales[0], scales[1], scales[2]
    for j in range(start.size):
        first, last = face_start[j], face_start[j + 1]
        base, count = first + j, last - first + 1
        own = _cell_of(np.float32(start[j] * scale[j] + offset[j]), cut, first, last)
        column[START, j] = own
        if discrete[j]:
            for i in range(level_start[j], level_start[j + 1]):
                k = base + _cell_of(np.float32(level[i] * scale[j] + offset[j]), cut, first, last)
                away = weight[j] * abs(level[i] - start[j])
                if away < distance[k]:
                    distance[k] = away
                    value[k] = level[i]
        else:
            for k in range(count):
                bottom = -np.inf if k == 0 else beyond[first + k - 1]
                top = np.inf if k == count - 1 else below[first + k]
                bottom, top = max(bottom, lower[j]), min(top, upper[j])
                if bottom <= top:
                    nearest = min(max(start[j], bottom), top)
                    distance[base + k] = weight[j] * abs(nearest - start[j])
                    value[base + k] = nearest
            # In the forest's units a bound may round into a cell whose ends it just misses.
            for bound in (lower[j], upper[j]):
                k = base + _cell_of(np.float32(bound * scale[j] + offset[j]), cut, first, last)
                away = weight[j] * abs(bound - start[j])
                if away < distance[k]:
                    distance[k] = away
                    value[k] = bound
        distance[base + own] = 0.0
        value[base + own] = start[j]
        if column[GROUP, j] >= 0 and count > 1:
            # The whole price of another category is paid where the initial one goes off, none where another goes on.
            off, on = base, base + count - 1
            if start[j] > 0.0:
                if distance[off] < np.inf:
                    distance[off] = weight[j]
            elif distance[on] < np.inf:
                distance[on] = 0.0
        seen = -1
        for k in range(count):
            if distance[base + k] < np.inf:
                seen = k
            step[DOWN, base + k] = seen
        seen = -1
        for k in range(count - 1, -1, -1):
            if distance[base + k] < np.inf:
                seen = k
            step[UP, base + k] = seen
        column[FIRST_CELL, j] = step[UP, base]
        column[LAST_CELL, j] = step[DOWN, base + count - 1]


@kernel
def dead_leaves(grid, located):
    """Leaves without any allowed cell: between two allowed values, or in two categories at once."""
    path, group = grid.path, located.column[GROUP]
    dead = np.zeros(grid.path_start.size - 1, dtype=np.bool_)
    for leaf in range(dead.size):
        begin, end = grid.path_start[leaf], grid.path_start[leaf + 1]
        for i in range(begin, end):
            j = path[PATH_COLUMN, i]
            first = located.step[UP, grid.face_start[j] + j + path[PATH_LOW, i]]
            if first < 0 or first > path[PATH_HIGH, i]:
                dead[leaf] = True
            elif group[j] >= 0 and path[PATH_LOW, i] > 0:
                for k in range(begin, i):
                    if group[path[PATH_COLUMN, k]] == group[j] and path[PATH_LOW, k] > 0:
                        dead[leaf] = True
    return dead
