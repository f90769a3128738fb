"""Compiled helpers that lay a forest out as a grid of cells."""

from __future__ import annotations

import numpy as np

from whence.search.compiling import kernel

__all__ = ["leaf_paths", "locate"]


@kernel
def leaf_paths(column, split, left, right, root, face_start, n_leaves):  # type: ignore[no-untyped-def]
    """Cells that each leaf allows in the columns on its path, as (start, column, low, high)."""
    nodes = column.size
    parent = np.full(nodes, -1, dtype=np.int32)
    for v in range(nodes):
        if column[v] >= 0:
            parent[left[v]] = v
            parent[right[v]] = v
    start = np.zeros(n_leaves + 1, dtype=np.int32)
    capacity = max(16, 8 * n_leaves)
    out_column = np.empty(capacity, dtype=np.int32)
    out_low = np.empty(capacity, dtype=np.int32)
    out_high = np.empty(capacity, dtype=np.int32)
    used = 0
    for v in range(nodes):
        if column[v] >= 0:
            continue
        begin = used
        child, node = v, parent[v]
        while node >= 0:
            j, c = column[node], split[node]
            at = -1
            for i in range(begin, used):
                if out_column[i] == j:
                    at = i
                    break
            if at < 0:
                if used == capacity:
                    capacity *= 2
                    grown = np.empty(capacity, dtype=np.int32)
                    grown[:used] = out_column[:used]
                    out_column = grown
                    grown = np.empty(capacity, dtype=np.int32)
                    grown[:used] = out_low[:used]
                    out_low = grown
                    grown = np.empty(capacity, dtype=np.int32)
                    grown[:used] = out_high[:used]
                    out_high = grown
                at = used
                out_column[at] = j
                out_low[at] = 0
                out_high[at] = face_start[j + 1] - face_start[j]
                used += 1
            if left[node] == child:
                out_high[at] = min(out_high[at], c)
            else:
                out_low[at] = max(out_low[at], c + 1)
            child, node = node, parent[node]
        start[left[v] + 1] = used
    return start, out_column[:used].copy(), out_low[:used].copy(), out_high[:used].copy()


@kernel
def _cell_of(value, cut, first, last):  # type: ignore[no-untyped-def]
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
def locate(
    face_start, cut, above, discrete, level_start, level, start, lower, upper, weight, scale, offset, group
):  # type: ignore[no-untyped-def]
    """Allowed cells and their distances; see `Located`."""
    d = start.size
    cells = cut.size + d
    distance = np.full(cells, np.inf)
    value = np.zeros(cells)
    up = np.full(cells, -1, dtype=np.int32)
    down = np.full(cells, -1, dtype=np.int32)
    origin = np.zeros(d, dtype=np.int32)
    low = np.zeros(d, dtype=np.int32)
    high = np.zeros(d, dtype=np.int32)
    for j in range(d):
        first, last = face_start[j], face_start[j + 1]
        base, count = first + j, last - first + 1
        own = _cell_of(np.float32(start[j] * scale[j] + offset[j]), cut, first, last)
        origin[j] = own
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
            down[base + k] = seen
        seen = -1
        for k in range(count - 1, -1, -1):
            if distance[base + k] < np.inf:
                seen = k
            up[base + k] = seen
        low[j] = up[base]
        high[j] = down[base + count - 1]
    return distance, value, up, down, origin, low, high
