"""Compiled search over the boxes of a forest for expected costs: additive constraints on leaves.

With a(leaf) the mean cost difference over a leaf's samples, divided by the number of trees, the criterion at a
context is the sum over trees of a(its leaf) <= tau. The sum of the trees' smallest reachable values bounds it
from below over a box.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from whence.search.box_kernels import keep_leaves, leaves_at, pop, project, push, rebuild, restrict

__all__ = ["BUDGET", "CANDIDATE", "EXHAUSTED", "GROW", "advance"]

BUDGET, CANDIDATE, EXHAUSTED, GROW = 0, 1, 2, 3
ZERO, ONE = np.uint64(0), np.uint64(1)


@nb.njit(cache=True)
def _bound(masks, reach, values, arg):  # type: ignore[no-untyped-def]
    """Sum over trees of the smallest value among reachable leaves; the leaves that attain it go to `arg`."""
    total = 0.0
    for t in range(arg.size):
        best = np.inf
        at = -1
        for w in range(masks.tree_word[t], masks.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                leaf = masks.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                if values[leaf] < best:
                    best = values[leaf]
                    at = leaf
        total += best
        arg[t] = at
    return total


@nb.njit(cache=True)
def _sum(values, leaves):  # type: ignore[no-untyped-def]
    total = 0.0
    for t in range(leaves.size):
        total += values[leaves[t]]
    return total


@nb.njit(cache=True)
def _is_excluded(excluded, leaves):  # type: ignore[no-untyped-def]
    for e in range(excluded.shape[0]):
        same = True
        for t in range(leaves.size):
            if excluded[e, t] != leaves[t]:
                same = False
                break
        if same:
            return True
    return False


@nb.njit(cache=True)
def _best_face(grid, located, values, here, arg, cells, low, high, score, touched):  # type: ignore[no-untyped-def]
    """The face that separates the projection from the leaves that pull hardest, or -1: (column, cut)."""
    n_touched = 0
    for t in range(arg.size):
        gain = values[here[t]] - values[arg[t]]
        if gain <= 0.0:
            continue
        leaf = arg[t]
        for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
            j = grid.path_column[i]
            base = grid.face_start[j] + j
            if cells[j] < grid.path_low[i]:
                c, target = grid.path_low[i] - 1, located.up[base + grid.path_low[i]]
            elif cells[j] > grid.path_high[i]:
                c, target = grid.path_high[i], located.down[base + grid.path_high[i]]
            else:
                continue
            extra = max(0.0, located.distance[base + target] - located.distance[base + cells[j]])
            f = grid.face_start[j] + c
            if score[f] == 0.0:
                touched[n_touched, 0] = j
                touched[n_touched, 1] = c
                n_touched += 1
            score[f] += gain * (extra + 1e-4)
    column, cut, best = -1, -1, 0.0
    for i in range(n_touched):
        f = grid.face_start[touched[i, 0]] + touched[i, 1]
        if score[f] > best:
            column, cut, best = touched[i, 0], touched[i, 1], score[f]
        score[f] = 0.0
    return column, cut


@nb.njit(cache=True)
def _face_around(grid, here, cells, low, high):  # type: ignore[no-untyped-def]
    """A face of the box that bounds the region with the same leaves as the projection, or -1."""
    for t in range(here.size):
        leaf = here[t]
        for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
            j = grid.path_column[i]
            if grid.path_low[i] > low[j]:
                return j, grid.path_low[i] - 1
            if grid.path_high[i] < high[j]:
                return j, grid.path_high[i]
    return -1, -1


@nb.njit(cache=True)
def _far_key(grid, located, low, high, key, cells, j, first, last, low2, high2, cells2):  # type: ignore[no-untyped-def]
    """Distance of the box when column `j` is restricted to first..last, infinite where that is empty."""
    base = grid.face_start[j] + j
    if located.group[j] < 0:
        first, last = located.up[base + first], located.down[base + last]
        if first < 0 or last < 0 or first > last:
            return np.inf
        c = min(max(located.start[j], first), last)
        return key + max(0.0, located.distance[base + c] - located.distance[base + cells[j]])
    low2[:] = low
    high2[:] = high
    if not restrict(grid, located, low2, high2, j, first, last):
        return np.inf
    return max(key, project(grid, located, low2, high2, cells2))


@nb.njit(cache=True)
def advance(grid, located, masks, values, limit, excluded, chain, keys, items, state, budget, cutoff, out):  # type: ignore[no-untyped-def]
    """Search on for `budget` boxes. state: nodes in the chain, size of the heap, boxes examined.

    Returns a code and the proved bound; a candidate's cells go to `out`.
    """
    d, trees = located.start.size, grid.root.size
    low, high = np.empty(d, np.int32), np.empty(d, np.int32)
    low2, high2, cells2 = np.empty(d, np.int32), np.empty(d, np.int32), np.empty(d, np.int32)
    cells = np.empty(d, np.int32)
    here, arg, other = np.empty(trees, np.int32), np.empty(trees, np.int32), np.empty(trees, np.int32)
    reach = np.empty(masks.everything.size, np.uint64)
    score = np.zeros(grid.cut.size)
    touched = np.empty((max(1, grid.cut.size), 2), np.int32)
    stop_at = state[2] + budget
    while state[1] > 0:
        if keys[0] >= cutoff:
            return EXHAUSTED, keys[0]
        if state[2] >= stop_at:
            return BUDGET, keys[0]
        key, node, state[1] = pop(keys, items, state[1])
        if not rebuild(grid, located, chain, node, low, high):
            continue
        project(grid, located, low, high, cells)
        leaves_at(grid, cells, here)
        worst, slack = 0, -np.inf
        for k in range(limit.size):
            over = _sum(values[k], here) - limit[k]
            if over > slack:
                worst, slack = k, over
        feasible = slack <= 0.0
        barred = feasible and _is_excluded(excluded, here)
        reach[:] = masks.everything
        for j in range(d):
            if low[j] > 0 or high[j] < grid.face_start[j + 1] - grid.face_start[j]:
                keep_leaves(grid, masks, low, high, j, reach)
        while True:
            state[2] += 1
            if feasible and not barred:
                state[1] = push(keys, items, state[1], key, node)
                out[:] = cells
                return CANDIDATE, key
            if barred:
                column, cut = _face_around(grid, here, cells, low, high)
            else:
                if _bound(masks, reach, values[worst], arg) > limit[worst]:
                    break
                pruned = False
                for k in range(limit.size):
                    if k != worst and _bound(masks, reach, values[k], other) > limit[k]:
                        pruned = True
                        break
                if pruned:
                    break
                column, cut = _best_face(grid, located, values[worst], here, arg, cells, low, high, score, touched)
            if column < 0:
                break
            if state[0] + 2 > chain.shape[0]:
                state[1] = push(keys, items, state[1], key, node)
                return GROW, key
            if cells[column] <= cut:
                near_first, near_last, far_first, far_last = low[column], cut, cut + 1, high[column]
            else:
                near_first, near_last, far_first, far_last = cut + 1, high[column], low[column], cut
            far = _far_key(grid, located, low, high, key, cells, column, far_first, far_last, low2, high2, cells2)
            if far < cutoff:
                at = state[0]
                chain[at, 0], chain[at, 1], chain[at, 2], chain[at, 3] = node, column, far_first, far_last
                state[1] = push(keys, items, state[1], far, at)
                state[0] += 1
            at = state[0]
            chain[at, 0], chain[at, 1], chain[at, 2], chain[at, 3] = node, column, near_first, near_last
            state[0] += 1
            node = at
            if located.group[column] < 0:
                restrict(grid, located, low, high, column, near_first, near_last)
                keep_leaves(grid, masks, low, high, column, reach)
            else:
                restrict(grid, located, low, high, column, near_first, near_last)
                for j in range(d):
                    if located.group[j] == located.group[column]:
                        keep_leaves(grid, masks, low, high, j, reach)
    return EXHAUSTED, np.inf
