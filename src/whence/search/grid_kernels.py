"""Compiled helpers that lay a forest out as a grid of cells."""

from __future__ import annotations

import numpy as np

from whence.search.compiling import inner, kernel
from whence.search.places import DOWN, FIRST_CELL, GROUP, LAST_CELL, PATH_COLUMN, PATH_HIGH, PATH_LOW, START, UP

__all__ = ["dead_leaves", "leaf_paths", "locate"]


@inner
def _path(column, split, left, parent, leaf, last_cell, at, out_column, out_low, out_high):
    """Write the cells that a leaf node allows, one entry a column on its path, from `at` on; the end."""
    begin, end = at, at
    child, node = leaf, parent[leaf]
    while node >= 0:
        j, c = column[node], split[node]
        i = begin
        while i < end and out_column[i] != j:
            i += 1
        if i == end:
            out_column[i], out_low[i], out_high[i] = j, 0, last_cell[j + 1] - last_cell[j]
            end += 1
        if left[node] == child:
            out_high[i] = min(out_high[i], c)
        else:
            out_low[i] = max(out_low[i], c + 1)
        child, node = node, parent[node]
    return end


@kernel
def leaf_paths(column, split, left, right, face_start, n_leaves):
    """Cells that each leaf allows in the columns on its path, as (start, column, low, high)."""
    nodes = column.size
    parent = np.full(nodes, np.int32(-1))
    for v in range(nodes):
        if column[v] >= 0:
            parent[left[v]] = v
            parent[right[v]] = v
    longest = face_start.size
    one, two, three = np.empty(longest, np.int32), np.empty(longest, np.int32), np.empty(longest, np.int32)
    start = np.zeros(n_leaves + 1, np.int32)
    for v in range(nodes):
        if column[v] < 0:
            start[left[v] + 1] = _path(column, split, left, parent, v, face_start, 0, one, two, three)
    for leaf in range(n_leaves):
        start[leaf + 1] += start[leaf]
    total = start[n_leaves]
    out_column, out_low, out_high = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int32)
    for v in range(nodes):
        if column[v] < 0:
            _path(column, split, left, parent, v, face_start, start[left[v]], out_column, out_low, out_high)
    return start, out_column, out_low, out_high


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
def locate(face_start, cut, above, discrete, level_start, level, start, lower, upper, weight, scale, offset, group):
    """Allowed cells and their distances; see `Located`."""
    d = start.size
    cells = cut.size + d
    distance = np.full(cells, np.inf)
    value = np.zeros(cells)
    step = np.full((2, cells), np.int32(-1))
    column = np.zeros((3, d), np.int32)
    for j in range(d):
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
                bottom = -np.inf if k == 0 else (np.float64(above[first + k - 1]) - offset[j]) / scale[j]
                top = np.inf if k == count - 1 else (np.float64(cut[first + k]) - offset[j]) / scale[j]
                bottom, top = max(bottom, lower[j]), min(top, upper[j])
                if bottom <= top:
                    nearest = min(max(start[j], bottom), top)
                    distance[base + k] = weight[j] * abs(nearest - start[j])
                    value[base + k] = nearest
            # A bound between two float32 numbers may belong to the cell of the one that lies beyond it.
            for bound in (lower[j], upper[j]):
                k = base + _cell_of(np.float32(bound * scale[j] + offset[j]), cut, first, last)
                away = weight[j] * abs(bound - start[j])
                if away < distance[k]:
                    distance[k] = away
                    value[k] = bound
        distance[base + own] = 0.0
        value[base + own] = start[j]
        if group[j] >= 0 and count > 1:
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
    return distance, value, step, column


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
