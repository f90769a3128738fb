"""Compiled helpers that lay a forest out as a grid of cells."""

from __future__ import annotations

import numba as nb
import numpy as np

__all__ = ["face_masks", "leaf_paths", "locate"]

ONE = np.uint64(1)


@nb.njit(cache=True)
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


@nb.njit(cache=True)
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


@nb.njit(cache=True)
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


@nb.njit(cache=True)
def face_masks(face_start, path_start, path_column, path_low, path_high, leaf_word, leaf_bit, n_words):  # type: ignore[no-untyped-def]
    """For every face, the leaves that reach its lower side and those that reach its upper side, as bits."""
    faces = face_start[-1]
    at_most = np.zeros((faces, n_words), dtype=np.uint64)
    at_least = np.zeros((faces, n_words), dtype=np.uint64)
    everything = np.zeros(n_words, dtype=np.uint64)
    for leaf in range(leaf_word.size):
        if leaf_word[leaf] < 0:
            continue
        bit = ONE << np.uint64(leaf_bit[leaf])
        w = leaf_word[leaf]
        everything[w] |= bit
        for i in range(path_start[leaf], path_start[leaf + 1]):
            j = path_column[i]
            first = face_start[j]
            if path_low[i] > 0:
                at_most[first + path_low[i] - 1, w] |= bit
            if path_high[i] < face_start[j + 1] - first:
                at_least[first + path_high[i], w] |= bit
    # A leaf that lies above a face lies above all lower faces, too; then turn "cut off" into "reached".
    for j in range(face_start.size - 1):
        first, last = face_start[j], face_start[j + 1]
        for f in range(last - 2, first - 1, -1):
            for w in range(n_words):
                at_most[f, w] |= at_most[f + 1, w]
        for f in range(first + 1, last):
            for w in range(n_words):
                at_least[f, w] |= at_least[f - 1, w]
    for f in range(faces):
        for w in range(n_words):
            at_most[f, w] = everything[w] & ~at_most[f, w]
            at_least[f, w] = everything[w] & ~at_least[f, w]
    return at_most, at_least, everything
