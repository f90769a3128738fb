"""Compiled best-first search over the boxes of a forest.

The nearest box is opened, bounded, narrowed to what its bound leaves possible, and split at the face that keeps its
nearest point from the leaves that pull hardest. The half with the nearest point is dealt with at once; the other one
waits. The first nearest point that satisfies the criterion is the nearest explanation.
"""

from __future__ import annotations

import numpy as np

from whence.search.box_kernels import gather, keep_leaves, leaves_at, pop, project, push, rebuild, restrict, tighten
from whence.search.compiling import flow, inner, kernel
from whence.search.criterion_kernels import bounded, bounded_again, excess_at, last_eta
from whence.search.face_kernels import face_around, pulling_face, sharpest_face
from whence.search.leaf_kernels import drop_far_leaves, hull
from whence.search.places import (
    BARRED,
    CELLS,
    CELLS2,
    DOWN,
    FIRST,
    GROUP,
    HERE,
    HIGH,
    HIGH2,
    HOLDS,
    JOINT,
    KEY,
    LAST,
    LINK,
    LOW,
    LOW2,
    NEAR,
    START,
    UP,
    WORST,
)
from whence.search.share_kernels import strong_bound

__all__ = ["BUDGET", "CANDIDATE", "EXHAUSTED", "GROW", "advance", "advance_hard"]

#: How a slice of the search ends.
BUDGET, CANDIDATE, EXHAUSTED, GROW = 0, 1, 2, 3
#: Places in Queue.state.
LINKS, WAITING, EXAMINED, STRONG = 0, 1, 2, 3
#: What becomes of a box that was bounded: it is done with, shrank, or has to be split.
NOTHING, AGAIN, SPLIT = 4, 5, 6
#: The shares of the strong bound learn at the first box, and again whenever this many have been bounded.
LEARN_EVERY = 64
#: A strong bound is lowered by this much (by this share where it is above 1), so that rounding cannot put it above
#: the optimum.
ROUNDING = 1e-10


@inner
def _look(field, s):
    """Judge the projection of the box: which rival it does worst against, whether it holds, whether it is excluded."""
    leaves_at(field.grid, s.columns[CELLS], s.per_tree[HERE])
    over, worst = excess_at(field.tables, s.per_tree[HERE], s.box[FIRST], s.box[LAST], s)
    s.box[WORST], s.box[HOLDS], s.box[BARRED] = worst, over <= field.tau, 0
    if s.box[HOLDS]:
        for e in range(field.excluded.shape[0]):
            same = True
            for t in range(s.per_tree.shape[1]):
                same &= field.excluded[e, t] == s.per_tree[HERE, t]
            if same:
                s.box[BARRED] = 1


@inner
def _wait(queue, s):
    """Put the box under way back into the queue."""
    queue.state[WAITING] = push(queue.keys, queue.items, queue.state[WAITING], s.far[KEY], s.box[LINK])


@inner
def _link(queue, s, column, first, last):
    """A new link of the chain: the box under way with one column restricted."""
    at = queue.state[LINKS]
    chain = queue.chain
    chain[at, 0], chain[at, 1], chain[at, 2], chain[at, 3] = s.box[LINK], column, first, last
    chain[at, 4], chain[at, 5], chain[at, 6] = s.box[FIRST], s.box[LAST], 0
    queue.state[LINKS] += 1
    return at


@flow
def _open(field, queue, s, cutoff):
    """Take the nearest box from the queue and lay it out in the scratch; False where it is empty."""
    key, link, queue.state[WAITING] = pop(queue.keys, queue.items, queue.state[WAITING])
    s.far[KEY], s.box[LINK] = key, link
    if not rebuild(field.grid, field.located, queue.chain, link, s.columns[LOW], s.columns[HIGH]):
        return False
    if link < 0:
        s.box[FIRST], s.box[LAST] = 0, last_eta(field.tables)
    else:
        s.box[FIRST], s.box[LAST] = queue.chain[link, 4], queue.chain[link, 5]
    s.far[NEAR] = project(field.grid, field.located, s.columns[LOW], s.columns[HIGH], s.columns[CELLS])
    room = cutoff - s.far[NEAR]
    low, high, cells = s.columns[LOW], s.columns[HIGH], s.columns[CELLS]
    if room < np.inf and not tighten(field.grid, field.located, low, high, cells, room):
        return False
    _look(field, s)
    gather(field.grid, field.bits, s.columns[LOW], s.columns[HIGH], s.reach, s.stack)
    if room < np.inf:
        drop_far_leaves(field.grid, field.located, field.bits, s, room)
    return True


@flow
def _strengthen(field, shares, queue, s, price, cutoff):
    """Take the strong bound of the box; False where that ends its turn."""
    link = s.box[LINK]
    if s.box[HOLDS] or (link >= 0 and queue.chain[link, 6] == 1):
        return True
    rounds, rate = 1, 0.0
    if queue.state[STRONG] == 0:
        # The first lesson is the longest; a forest with very long paths gets a shorter one.
        rounds, rate = min(100, max(8, 4_000_000 // max(1, field.grid.path.shape[1]))), 1.0
    elif queue.state[STRONG] % LEARN_EVERY == 0:
        rounds, rate = 8, 0.1
    queue.state[STRONG] += 1
    first, last = s.box[FIRST], s.box[LAST]
    worst, near = s.box[WORST], s.far[NEAR]
    least = strong_bound(field, shares, s, price, first, last, worst, near, cutoff, rounds, rate)
    least -= ROUNDING * max(1.0, abs(least))
    if least >= cutoff:
        queue.state[EXAMINED] += 1
        return False
    while first < last and s.etas[JOINT, first] >= cutoff:
        first += 1
    while first < last and s.etas[JOINT, last] >= cutoff:
        last -= 1
    s.box[FIRST], s.box[LAST] = first, last
    if least > s.far[KEY]:
        s.far[KEY] = least
        if link >= 0 and queue.state[WAITING] > 0 and least > queue.keys[0]:
            # Others are nearer now: come back when it is this box's turn.
            queue.chain[link, 4], queue.chain[link, 5], queue.chain[link, 6] = first, last, 1
            _wait(queue, s)
            queue.state[EXAMINED] += 1
            return False
    return True


@inner
def _restricted(grid, located, bits_of, s, column, first, last):
    """Restrict a column of the box and drop the leaves it no longer meets; False where the box becomes empty."""
    if not restrict(grid, located, s.columns[LOW], s.columns[HIGH], column, first, last):
        return False
    g = located.column[GROUP, column]
    for j in range(s.columns.shape[1]):
        if j == column or (g >= 0 and located.column[GROUP, j] == g):
            keep_leaves(grid, bits_of, s.columns[LOW], s.columns[HIGH], j, s.reach)
    return True


@flow
def _refine(field, queue, s, cutoff):
    """Bound the box and narrow it to the hull of the leaves left: NOTHING, AGAIN where it shrank, or SPLIT."""
    if not bounded(field, s):
        return NOTHING
    if not hull(field.grid, field.bits, s):
        return SPLIT
    for j in range(s.columns.shape[1]):
        if s.columns[LOW2, j] > s.columns[LOW, j] or s.columns[HIGH2, j] < s.columns[HIGH, j]:
            first, last = np.int64(s.columns[LOW2, j]), np.int64(s.columns[HIGH2, j])
            s.box[LINK] = _link(queue, s, j, first, last)
            if not _restricted(field.grid, field.located, field.bits, s, j, first, last):
                return NOTHING
    near = project(field.grid, field.located, s.columns[LOW], s.columns[HIGH], s.columns[CELLS2])
    moved = False
    for j in range(s.columns.shape[1]):
        moved |= s.columns[CELLS2, j] != s.columns[CELLS, j]
        s.columns[CELLS, j] = s.columns[CELLS2, j]
    if not moved:
        return AGAIN
    s.far[NEAR] = near
    s.far[KEY] = max(s.far[KEY], near)
    if s.far[KEY] >= cutoff:
        return NOTHING
    if queue.state[WAITING] > 0 and s.far[KEY] > queue.keys[0]:
        _wait(queue, s)
        return NOTHING
    _look(field, s)
    return AGAIN


@flow
def _far_distance(field, s, j, first, last):
    """Distance of the box when column `j` is restricted to first..last, infinite where that is empty."""
    located, base = field.located, field.grid.face_start[j] + j
    if located.column[GROUP, j] < 0:
        first, last = located.step[UP, base + first], located.step[DOWN, base + last]
        if first < 0 or last < 0 or first > last:
            return np.inf
        c = min(max(located.column[START, j], first), last)
        return s.far[NEAR] + max(0.0, located.distance[base + c] - located.distance[base + s.columns[CELLS, j]])
    for i in range(s.columns.shape[1]):
        s.columns[LOW2, i], s.columns[HIGH2, i] = s.columns[LOW, i], s.columns[HIGH, i]
    if not restrict(field.grid, located, s.columns[LOW2], s.columns[HIGH2], j, first, last):
        return np.inf
    return project(field.grid, located, s.columns[LOW2], s.columns[HIGH2], s.columns[CELLS2])


@inner
def _split(field, queue, s, column, cut, cutoff):
    """Split the box at a face: the far half waits, the half with the projection stays under way.

    NOTHING where there is no face, SPLIT otherwise.
    """
    if column < 0:
        return NOTHING
    low, high = s.columns[LOW, column], s.columns[HIGH, column]
    near_first, near_last, far_first, far_last = low, cut, cut + 1, high
    if s.columns[CELLS, column] > cut:
        near_first, near_last, far_first, far_last = cut + 1, high, low, cut
    if far_first <= far_last:
        key = max(s.far[KEY], _far_distance(field, s, column, far_first, far_last))
        if key < cutoff:
            link = _link(queue, s, column, far_first, far_last)
            queue.state[WAITING] = push(queue.keys, queue.items, queue.state[WAITING], key, link)
    s.box[LINK] = _link(queue, s, column, near_first, near_last)
    _restricted(field.grid, field.located, field.bits, s, column, near_first, near_last)
    return SPLIT


@flow
def _narrowed(field, queue, s, cutoff, out):
    """Deal with the box under way as far as its bound goes: NOTHING, CANDIDATE, GROW, or SPLIT where it is left."""
    while True:
        queue.state[EXAMINED] += 1
        if s.box[HOLDS] and not s.box[BARRED]:
            _wait(queue, s)
            for j in range(out.size):
                out[j] = s.columns[CELLS, j]
            return CANDIDATE
        if queue.state[LINKS] + s.columns.shape[1] + 2 > queue.chain.shape[0]:
            _wait(queue, s)
            return GROW
        if s.box[BARRED]:
            return SPLIT
        verdict = _refine(field, queue, s, cutoff)
        if verdict != AGAIN:
            return verdict


@kernel
def advance(field, queue, s, budget, cutoff, out):
    """Search on for `budget` boxes: how the slice ended, and the proved bound; a candidate's cells go to `out`."""
    stop_at = queue.state[EXAMINED] + budget
    while queue.state[WAITING] > 0:
        if queue.keys[0] >= cutoff:
            return EXHAUSTED, queue.keys[0]
        if queue.state[EXAMINED] >= stop_at:
            return BUDGET, queue.keys[0]
        code = SPLIT if _open(field, queue, s, cutoff) else NOTHING
        while code == SPLIT:
            code = _narrowed(field, queue, s, cutoff, out)
            if code == SPLIT:
                column, cut = -1, -1
                if not s.box[BARRED]:
                    column, cut = pulling_face(field.grid, field.located, s)
                if column < 0:
                    column, cut = face_around(field.grid, s)
                code = _split(field, queue, s, column, cut, cutoff)
        if code != NOTHING:
            return code, s.far[KEY]
    return EXHAUSTED, np.inf


@kernel
def advance_hard(field, queue, s, shares, price, lift, strong, sharp, budget, cutoff, out):
    """The same with what only hard questions need: the strong bound, and splits at the sharpest face."""
    stop_at = queue.state[EXAMINED] + budget
    while queue.state[WAITING] > 0:
        if queue.keys[0] >= cutoff:
            return EXHAUSTED, queue.keys[0]
        if queue.state[EXAMINED] >= stop_at:
            return BUDGET, queue.keys[0]
        code = SPLIT if _open(field, queue, s, cutoff) else NOTHING
        if code == SPLIT and strong and not _strengthen(field, shares, queue, s, price, cutoff):
            code = NOTHING
        while code == SPLIT:
            code = _narrowed(field, queue, s, cutoff, out)
            if code == SPLIT:
                column, cut = -1, -1
                if sharp and not s.box[BARRED]:
                    if not bounded_again(field, s):
                        code = NOTHING
                        continue
                    column, cut = sharpest_face(field, s, price, lift)
                if column < 0 and not s.box[BARRED]:
                    column, cut = pulling_face(field.grid, field.located, s)
                if column < 0:
                    # The bound may be attained at the projection itself, though that does not hold: with another
                    # threshold for the rival, or by rounding.
                    column, cut = face_around(field.grid, s)
                code = _split(field, queue, s, column, cut, cutoff)
                if code == SPLIT and strong:
                    # The half that stays under way is worth a strong bound of its own.
                    _wait(queue, s)
                    code = NOTHING
        if code != NOTHING:
            return code, s.far[KEY]
    return EXHAUSTED, np.inf
