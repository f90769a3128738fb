"""Compiled best-first search over the boxes of a forest.

Expected cost: with a(leaf) the mean cost difference over a leaf's samples, divided by the number of trees, the
criterion at a context is the sum over trees of a(its leaf) <= tau, and the sum of the trees' smallest reachable
values bounds it from below over a box.

CVaR: the alternative's is the smallest, over thresholds eta among its sample costs, of a sum over trees of
A(leaf, eta); any single threshold gives an upper bound on the rival's. For a pair of thresholds the criterion is
again a sum over trees. A box carries the range of eta that is still possible; it is empty when none is left.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from whence.search.box_kernels import gather, keep_leaves, leaves_at, pop, project, push, rebuild, restrict, tighten
from whence.search.compiling import kernel
from whence.search.share_kernels import strong_bound

__all__ = ["BUDGET", "CANDIDATE", "EXHAUSTED", "GROW", "advance"]

BUDGET, CANDIDATE, EXHAUSTED, GROW = 0, 1, 2, 3
ZERO, ONE = np.uint64(0), np.uint64(1)
#: The shares of the strong bound learn at the first box, and again whenever this many have been bounded.
LEARN_EVERY = 64
#: A strong bound is lowered by this much, so that rounding cannot put it above the optimum.
ROUNDING = 1e-10


@kernel
def excess_at(tables, leaves, first, last, sums, threshold):  # type: ignore[no-untyped-def]
    """By how much the alternative's risk exceeds that of the rival it does worst against, and which rival that is.

    The rivals' own thresholds at these leaves go to `threshold`.
    """
    worst, over = 0, -np.inf
    if not tables.tail:
        for r in range(tables.mean.shape[0]):
            total = 0.0
            for t in range(leaves.size):
                total += tables.mean[r, leaves[t]]
            if total > over:
                worst, over = r, total
        return over, worst
    sums[first : last + 1] = 0.0
    for t in range(leaves.size):
        row = tables.alternative[leaves[t]]
        for k in range(first, last + 1):
            sums[k] += row[k]
    mine = np.inf
    for k in range(first, last + 1):
        mine = min(mine, sums[k])
    for r in range(tables.rival.shape[0]):
        count = tables.sizes[r]
        sums[:count] = 0.0
        for t in range(leaves.size):
            row = tables.rival[r, leaves[t]]
            for k in range(count):
                sums[k] += row[k]
        theirs, at = np.inf, 0
        for k in range(count):
            if sums[k] < theirs:
                theirs, at = sums[k], k
        threshold[r] = at
        if mine - theirs > over:
            worst, over = r, mine - theirs
    return over, worst


@kernel
def _bound(bits_of, reach, values, arg):  # type: ignore[no-untyped-def]
    """Sum over trees of the smallest value among reachable leaves; the leaves that attain it go to `arg`."""
    total = 0.0
    for t in range(arg.size):
        best = np.inf
        at = -1
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                if values[leaf] < best:
                    best = values[leaf]
                    at = leaf
        total += best
        arg[t] = at
    return total


@kernel
def _pull(bits_of, reach, alternative, eta, rival, here, arg, gains):  # type: ignore[no-untyped-def]
    """For one eta, every tree's leaf with the smallest A - B, and how much smaller it is than at the projection."""
    for t in range(arg.size):
        best = np.inf
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                value = alternative[leaf, eta] - rival[leaf]
                if value < best:
                    best = value
                    arg[t] = leaf
        gains[t] = alternative[here[t], eta] - rival[here[t]] - best


@kernel
def _tail_bounds(bits_of, reach, alternative, rival, first, last, sums, part):  # type: ignore[no-untyped-def]
    """For every eta in first..last, the sum over trees of the smallest A(leaf, eta) - B(leaf) in reach."""
    sums[first : last + 1] = 0.0
    for t in range(bits_of.tree_word.size - 1):
        fresh = True
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                row = alternative[leaf]
                b = rival[leaf]
                if fresh:
                    for k in range(first, last + 1):
                        part[k] = row[k] - b
                    fresh = False
                else:
                    for k in range(first, last + 1):
                        x = row[k] - b
                        part[k] = x if x < part[k] else part[k]
        if fresh:
            sums[first : last + 1] = np.inf
            return
        for k in range(first, last + 1):
            sums[k] += part[k]


@kernel
def _tail_range(tables, bits_of, reach, worst, threshold, tau, first, last, sums, part):  # type: ignore[no-untyped-def]
    """The range of eta that no rival rules out, and the eta with the smallest bound: (first, last, best)."""
    best = -1
    for i in range(tables.rival.shape[0]):
        r = worst if i == 0 else (i - 1 if i <= worst else i)
        _tail_bounds(bits_of, reach, tables.alternative, tables.rival_of[r, threshold[r]], first, last, sums, part)
        while first <= last and sums[first] > tau:
            first += 1
        while first <= last and sums[last] > tau:
            last -= 1
        if first > last:
            return first, last, -1
        if i == 0:
            best = first
            for k in range(first, last + 1):
                if sums[k] < sums[best]:
                    best = k
    return first, last, min(max(best, first), last)


@kernel
def _is_excluded(excluded, leaves):  # type: ignore[no-untyped-def]
    for e in range(excluded.shape[0]):
        if (excluded[e] == leaves).all():
            return True
    return False


@kernel
def _best_face(grid, located, gains, arg, cells, score, touched):  # type: ignore[no-untyped-def]
    """The face that separates the projection from the leaves that pull hardest, or -1: (column, cut)."""
    n_touched = 0
    for t in range(arg.size):
        gain = gains[t]
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


@kernel
def _face_around(grid, here, low, high):  # type: ignore[no-untyped-def]
    """A face inside the box that bounds the region with the same leaves as the projection, or -1."""
    for t in range(here.size):
        leaf = here[t]
        for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
            j = grid.path_column[i]
            if grid.path_low[i] > low[j]:
                return j, grid.path_low[i] - 1
            if grid.path_high[i] < high[j]:
                return j, grid.path_high[i]
    return -1, -1


@kernel
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


@kernel
def _drop_far_leaves(grid, located, bits_of, reach, cells, room):  # type: ignore[no-untyped-def]
    """Drop from `reach` the leaves that are `room` or more away from the projection."""
    for w in range(reach.size):
        bits = reach[w]
        while bits != ZERO:
            bit = bits & (ZERO - bits)
            bits ^= bit
            leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]
            extra = 0.0
            for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
                j = grid.path_column[i]
                base = grid.face_start[j] + j
                if cells[j] < grid.path_low[i]:
                    target = located.up[base + grid.path_low[i]]
                elif cells[j] > grid.path_high[i]:
                    target = located.down[base + grid.path_high[i]]
                else:
                    continue
                if located.group[j] < 0:
                    extra += located.distance[base + target] - located.distance[base + cells[j]]
            if extra >= room:
                reach[w] ^= bit


@kernel
def _drop_dear_leaves(bits_of, reach, values, arg, slack):  # type: ignore[no-untyped-def]
    """Drop from `reach` the leaves that would use up more than the slack if all other trees took their best."""
    for t in range(arg.size):
        most = values[arg[t]] + slack
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                bit = bits & (ZERO - bits)
                bits ^= bit
                if values[bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]] > most:
                    reach[w] ^= bit


@kernel
def _drop_dear_tails(bits_of, reach, alternative, rival, first, last, best, sums, part, tau):  # type: ignore[no-untyped-def]
    """Drop from `reach` the leaves that leave no eta possible if all other trees take their best."""
    for t in range(bits_of.tree_word.size - 1):
        count = 0
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                row, b = alternative[leaf], rival[leaf]
                count += 1
                if count == 1:
                    for k in range(first, last + 1):
                        part[k] = row[k] - b
                else:
                    for k in range(first, last + 1):
                        x = row[k] - b
                        part[k] = x if x < part[k] else part[k]
        if count < 2:
            continue
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                bit = bits & (ZERO - bits)
                bits ^= bit
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bit))]
                row, b = alternative[leaf], rival[leaf]
                possible = sums[best] - part[best] + row[best] - b <= tau
                k = first
                while not possible and k <= last:
                    possible = sums[k] - part[k] + row[k] - b <= tau
                    k += 1
                if not possible:
                    reach[w] ^= bit


@kernel
def _hull(grid, bits_of, reach, low, high, low2, high2, seen, least, most, listed):  # type: ignore[no-untyped-def]
    """The cells that the reachable leaves of every tree leave, into low2 and high2; True where that is less."""
    low2[:] = low
    high2[:] = high
    smaller = False
    for t in range(bits_of.tree_word.size - 1):
        leaves, columns = 0, 0
        for w in range(bits_of.tree_word[t], bits_of.tree_word[t + 1]):
            bits = reach[w]
            while bits != ZERO:
                leaf = bits_of.word_leaf[w * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - ONE
                for i in range(grid.path_start[leaf], grid.path_start[leaf + 1]):
                    j = grid.path_column[i]
                    if leaves == 0:
                        listed[columns] = j
                        columns += 1
                        seen[j], least[j], most[j] = 1, grid.path_low[i], grid.path_high[i]
                    elif seen[j] > 0:
                        seen[j] += 1
                        least[j] = min(least[j], grid.path_low[i])
                        most[j] = max(most[j], grid.path_high[i])
                leaves += 1
        for i in range(columns):
            j = listed[i]
            # Only a column on the path of every leaf narrows the box.
            if seen[j] == leaves:
                if least[j] > low2[j]:
                    low2[j] = least[j]
                    smaller = True
                if most[j] < high2[j]:
                    high2[j] = most[j]
                    smaller = True
            seen[j] = 0
    return smaller


@kernel
def advance(
    grid, located, bits_of, tables, excluded, tau, shares, strong, chain, keys, items, state, budget, cutoff, out
):  # type: ignore[no-untyped-def]
    """Search on for `budget` boxes. state: nodes in the chain, size of the heap, boxes examined, strong bounds taken.

    Returns a code and the proved bound; a candidate's cells go to `out`.
    """
    d, trees, rivals = located.start.size, grid.root.size, tables.mean.shape[0]
    etas = tables.alternative.shape[1]
    low, high, cells = np.empty(d, np.int32), np.empty(d, np.int32), np.empty(d, np.int32)
    low2, high2, cells2 = np.empty(d, np.int32), np.empty(d, np.int32), np.empty(d, np.int32)
    here, arg, other = np.empty(trees, np.int32), np.empty(trees, np.int32), np.empty(trees, np.int32)
    reach = np.empty(bits_of.tree_word[-1], np.uint64)
    score = np.zeros(grid.cut.size)
    touched = np.empty((max(1, grid.cut.size), 2), np.int32)
    longest = max(etas, tables.rival.shape[2])
    sums, part, keep = np.empty(longest), np.empty(longest), np.empty(longest)
    threshold = np.zeros(rivals, np.int32)
    gains, price = np.empty(trees), np.empty(tables.alternative.shape[0])
    seen, least_cell, most_cell = np.zeros(d, np.int32), np.empty(d, np.int32), np.empty(d, np.int32)
    listed, stack = np.empty(d, np.int32), np.empty(grid.column.size // 2 + 2, np.int32)
    stop_at = state[2] + budget
    while state[1] > 0:
        if keys[0] >= cutoff:
            return EXHAUSTED, keys[0]
        if state[2] >= stop_at:
            return BUDGET, keys[0]
        key, node, state[1] = pop(keys, items, state[1])
        if not rebuild(grid, located, chain, node, low, high):
            continue
        first, last = (0, etas - 1) if node < 0 else (chain[node, 4], chain[node, 5])
        near = project(grid, located, low, high, cells)
        leaves_at(grid, cells, here)
        over, worst = excess_at(tables, here, first, last, sums, threshold)
        feasible = over <= tau
        barred = feasible and _is_excluded(excluded, here)
        if cutoff < np.inf and not tighten(grid, located, low, high, cells, cutoff - near):
            continue
        gather(grid, bits_of, low, high, reach, stack)
        if cutoff < np.inf:
            _drop_far_leaves(grid, located, bits_of, reach, cells, cutoff - near)
        if strong and not feasible and (node < 0 or chain[node, 6] == 0):
            rounds, rate = (100, 1.0) if state[3] == 0 else (8, 0.1) if state[3] % LEARN_EVERY == 0 else (1, 0.0)
            state[3] += 1
            least = strong_bound(
                grid, located, bits_of, tables, shares, reach, cells, worst, threshold[worst], tau, first, last, near, cutoff,
                rounds, rate, sums, part, arg, price, keep,
            ) - ROUNDING  # fmt: skip
            while tables.tail and first <= last and keep[first] >= cutoff:
                first += 1
            while tables.tail and first <= last and keep[last] >= cutoff:
                last -= 1
            if least >= cutoff:
                state[2] += 1
                continue
            if least > key:
                key = least
                if node >= 0 and state[1] > 0 and key > keys[0]:
                    # Others are nearer now: come back when it is this box's turn.
                    chain[node, 4], chain[node, 5], chain[node, 6] = first, last, 1
                    state[1] = push(keys, items, state[1], key, node)
                    state[2] += 1
                    continue
        while True:
            state[2] += 1
            if feasible and not barred:
                state[1] = push(keys, items, state[1], key, node)
                out[:] = cells
                return CANDIDATE, key
            if state[0] + d + 2 > chain.shape[0]:
                state[1] = push(keys, items, state[1], key, node)
                return GROW, key
            if barred:
                column, cut = _face_around(grid, here, low, high)
            else:
                if tables.tail:
                    first, last, best = _tail_range(
                        tables, bits_of, reach, worst, threshold, tau, first, last, sums, part
                    )
                    if first > last:
                        break
                    rival = tables.rival_of[worst, threshold[worst]]
                    if rivals == 1:
                        _drop_dear_tails(bits_of, reach, tables.alternative, rival, first, last, best, sums, part, tau)
                else:
                    total = _bound(bits_of, reach, tables.mean[worst], arg)
                    pruned = total > tau
                    if not pruned:
                        _drop_dear_leaves(bits_of, reach, tables.mean[worst], arg, tau - total)
                    for r in range(rivals):
                        if r != worst and not pruned:
                            total = _bound(bits_of, reach, tables.mean[r], other)
                            pruned = total > tau
                            if not pruned:
                                _drop_dear_leaves(bits_of, reach, tables.mean[r], other, tau - total)
                    if pruned:
                        break
                if _hull(grid, bits_of, reach, low, high, low2, high2, seen, least_cell, most_cell, listed):
                    empty = False
                    for j in range(d):
                        if low2[j] > low[j] or high2[j] < high[j]:
                            a, b = low2[j], high2[j]
                            if not restrict(grid, located, low, high, j, a, b):
                                empty = True
                                break
                            at = state[0]
                            chain[at, 0], chain[at, 1], chain[at, 2], chain[at, 3] = node, j, a, b
                            chain[at, 4], chain[at, 5], chain[at, 6] = first, last, 0
                            state[0] += 1
                            node = at
                            if located.group[j] < 0:
                                keep_leaves(grid, bits_of, low, high, j, reach)
                            else:
                                for i in range(d):
                                    if located.group[i] == located.group[j]:
                                        keep_leaves(grid, bits_of, low, high, i, reach)
                    if empty:
                        break
                    now = project(grid, located, low, high, cells2)
                    if (cells2 != cells).any():
                        cells[:] = cells2
                        near = now
                        key = max(key, near)
                        if key >= cutoff:
                            break
                        if state[1] > 0 and key > keys[0]:
                            state[1] = push(keys, items, state[1], key, node)
                            break
                        leaves_at(grid, cells, here)
                        over, worst = excess_at(tables, here, first, last, sums, threshold)
                        feasible = over <= tau
                        barred = feasible and _is_excluded(excluded, here)
                    continue
                if tables.tail:
                    _pull(bits_of, reach, tables.alternative, best, rival, here, arg, gains)
                else:
                    for t in range(trees):
                        gains[t] = tables.mean[worst, here[t]] - tables.mean[worst, arg[t]]
                column, cut = _best_face(grid, located, gains, arg, cells, score, touched)
            if column < 0:
                break
            if cells[column] <= cut:
                near_first, near_last, far_first, far_last = low[column], cut, cut + 1, high[column]
            else:
                near_first, near_last, far_first, far_last = cut + 1, high[column], low[column], cut
            if far_first <= far_last:
                far = _far_key(grid, located, low, high, near, cells, column, far_first, far_last, low2, high2, cells2)
                far = max(far, key)
                if far < cutoff:
                    at = state[0]
                    chain[at, 0], chain[at, 1], chain[at, 2], chain[at, 3] = node, column, far_first, far_last
                    chain[at, 4], chain[at, 5], chain[at, 6] = first, last, 0
                    state[1] = push(keys, items, state[1], far, at)
                    state[0] += 1
            at = state[0]
            chain[at, 0], chain[at, 1], chain[at, 2], chain[at, 3] = node, column, near_first, near_last
            chain[at, 4], chain[at, 5], chain[at, 6] = first, last, 0
            state[0] += 1
            node = at
            if strong:
                state[1] = push(keys, items, state[1], key, node)
                break
            restrict(grid, located, low, high, column, near_first, near_last)
            if located.group[column] < 0:
                keep_leaves(grid, bits_of, low, high, column, reach)
            else:
                for j in range(d):
                    if located.group[j] == located.group[column]:
                        keep_leaves(grid, bits_of, low, high, j, reach)
    return EXHAUSTED, np.inf
