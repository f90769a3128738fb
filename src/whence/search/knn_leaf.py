"""A box with few open members: its nearest explanation, or a bound on it, by small linear programs.

Depth-first over which open members are neighbours and which are not. Every node asks for the least distance
such that each member decided in is nearer, by the margin, than each one decided out. The difference of two
distances is replaced by its convex envelope over the box, axis by axis, and only the pairs that bind are ever
added. Where no open member has a coordinate inside the box the envelope is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import flow, inner
from whence.search.knn_axes import CATEGORY, CONTINUOUS, GAP_HIGH, GAP_LOW, WEIGHT, Axes
from whence.search.knn_box import BUFFER, CHOSEN, HERE, HIGH, LOW, MEMBERS, NEAREST, SETTLED, UNDECIDED, Scratch
from whence.search.knn_cuts import Cuts, hopeless, order_smallest, satisfied
from whence.search.knn_simplex import (
    COST,
    INFEASIBLE,
    SOLVED,
    UNKNOWN,
    UPPER,
    VARIABLES,
    Tableau,
    add_row,
    reoptimise,
    reset,
    solution,
)

__all__ = ["solve_box"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
States = NDArray[np.int8]

OPEN, IN, OUT = range(3)

#: The envelopes hold where the members themselves are not in order.
LOOSE = 3

#: A pair of members may miss the margin by this much: far less than the margin adds to the separation.
MISS = 1e-11


@flow
def _directions(kind: Ints, table: Floats, box: Floats, moves: Ints, variables: Floats) -> int:
    """One variable a direction in which the nearest context can move: axis and sign, room and cost; their number."""
    v = 0
    for j in range(kind.size):
        if kind[j] == CATEGORY:
            continue
        for sign in (1, -1):
            length = box[HIGH, j] - box[NEAREST, j] if sign > 0 else box[NEAREST, j] - box[LOW, j]
            if length > 0.0:
                moves[0, v], moves[1, v] = j, sign
                variables[UPPER, v], variables[COST, v] = length, table[WEIGHT, j]
                v += 1
    return v


@flow
def _relate(
    points: Floats, members: Ints, here: Floats, box: Floats, ball: float, separation: float, implies: States
) -> None:
    """``implies[a, b]``: a can be a neighbour only together with b."""
    m = implies.shape[0]
    for a in range(m):
        for b in range(m):
            # The difference of two distances is monotone along every axis: its extremes lie at the ends.
            most = here[b] - here[a]
            for j in range(box.shape[1]):
                if box[LOW, j] < box[HIGH, j]:
                    x, y = points[members[a], j], points[members[b], j]
                    low = abs(box[LOW, j] - y) - abs(box[LOW, j] - x)
                    high = abs(box[HIGH, j] - y) - abs(box[HIGH, j] - x)
                    most += max(low, high) - abs(box[NEAREST, j] - y) + abs(box[NEAREST, j] - x)
            most = min(most, here[b] - here[a] + ball)
            implies[a, b] = 1 if a != b and most < separation else 0


@flow
def _decide(implies: States, state: States, member: int, value: int) -> bool:
    """Decide an open member and what follows from it; False on a contradiction."""
    m = state.size
    state[member] = value
    changed = True
    while changed:
        changed = False
        for a in range(m):
            if state[a] == OPEN:
                continue
            for b in range(m):
                follows = implies[a, b] if state[a] == IN else implies[b, a]
                if follows and state[b] != state[a]:
                    if state[b] != OPEN:
                        return False
                    state[b] = state[a]
                    changed = True
    return True


@flow
def _envelope(x: Floats, y: Floats, box: Floats, at: Floats, slope: Floats) -> float:
    """Convex envelope of ``|at - x| - |at - y|``, summed over the axes that can move, and its slopes."""
    total = 0.0
    for j in range(at.size):
        low, high = box[LOW, j], box[HIGH, j]
        slope[j] = 0.0
        if low < high:
            a, b = min(max(x[j], low), high), min(max(y[j], low), high)
            total += abs(x[j] - a) - abs(y[j] - b) - abs(a - b)
            if a != b:
                rise = 2.0 * (b - a) / abs((high if b > a else low) - a)
                if rise * (at[j] - a) > 0.0:
                    total += rise * (at[j] - a)
                    slope[j] = rise
    return total


@flow
def _distances(
    points: Floats, members: Ints, fixed: Floats, box: Floats, at: Floats, state: States, distance: Floats
) -> tuple[int, int]:
    """Distances at a context; the farthest member decided in, and the nearest one decided out (-1: none)."""
    worst_in, worst_out = -1, -1
    for i in range(state.size):
        total = fixed[i]
        for j in range(at.size):
            if box[LOW, j] < box[HIGH, j]:
                total += abs(at[j] - points[members[i], j])
        distance[i] = total
        if state[i] == IN and (worst_in < 0 or total > distance[worst_in]):
            worst_in = i
        if state[i] == OUT and (worst_out < 0 or total < distance[worst_out]):
            worst_out = i
    return worst_in, worst_out


@inner
def _pair(
    points: Floats, members: Ints, fixed: Floats, box: Floats, at: Floats, slope: Floats, a: int, b: int
) -> float:
    """Envelope of the difference of two members' distances, and its slopes."""
    x, y = points[members[a]], points[members[b]]
    difference: float = fixed[a] - fixed[b]
    return difference + _envelope(x, y, box, at, slope)


class Work(NamedTuple):
    """Working memory of one box.

    Attributes
    ----------
    moves : ndarray of int of shape (2, at least v)
        Axis and sign of every direction of movement.
    moved : ndarray of shape (2, at least v)
        A row of the linear program, and its solution.
    at : ndarray of shape (2, q)
        The context there, and slopes along the axes.
    each : ndarray of shape (2, at least m)
        Distance of every member along the axes that cannot move, and its distance there.
    """

    moves: Ints
    moved: Floats
    at: Floats
    each: Floats

    @classmethod
    def of(cls, axes: Axes) -> Work:
        """Working memory for a question."""
        n, q = axes.points.shape
        return cls(np.empty((2, 2 * q), dtype=np.int64), np.empty((2, 2 * q)), np.empty((2, q)), np.empty((2, n)))


@flow
def _prepare(axes: Axes, m: int, t: Tableau, w: Work, s: Scratch) -> bool:
    """Set up the variables and members of the box last examined; whether every context in it is allowed."""
    box, kind, points, members, here = s.box, axes.kind, axes.points, s.ids[MEMBERS], s.values[HERE]
    q = kind.size
    t.used[VARIABLES] = _directions(kind, axes.table, box, w.moves, t.variables)
    placeable = True
    for j in range(q):
        low, high = box[LOW, j], box[HIGH, j]
        if low < high:
            gap = low <= axes.table[GAP_LOW, j] and axes.table[GAP_HIGH, j] <= high
            placeable = placeable and kind[j] == CONTINUOUS and not gap
    for i in range(m):
        w.each[0, i] = here[i]
        for j in range(q):
            if box[LOW, j] < box[HIGH, j]:
                w.each[0, i] -= abs(box[NEAREST, j] - points[members[i], j])
    return placeable


@flow
def _collect(ids: Ints, n_settled: int, state: States) -> tuple[int, int]:
    """Choose the members decided in, and those still open; their numbers."""
    for i in range(n_settled):
        ids[CHOSEN, i] = ids[SETTLED, i]
    chosen, undecided = n_settled, 0
    for i in range(state.size):
        if state[i] == IN:
            ids[CHOSEN, chosen] = ids[MEMBERS, i]
            chosen += 1
        elif state[i] == OPEN:
            ids[UNDECIDED, undecided] = ids[MEMBERS, i]
            undecided += 1
    return chosen, undecided


@flow
def _clear_here(
    k: int, margin: float, ids: Ints, n_settled: int, m: int, distance: Floats, buffer: Floats
) -> tuple[bool, float]:
    """Choose the neighbours at a context with these distances; whether they are separated, and how far the last is."""
    need = k - n_settled
    for i in range(m):
        buffer[i] = distance[i]
    order_smallest(buffer, m, need)
    last, following = -np.inf, np.inf
    for i in range(m):
        if i < need:
            last = max(last, buffer[i])
        else:
            following = min(following, buffer[i])
    if following - last < margin - 2.0 * MISS:
        return False, last
    for i in range(n_settled):
        ids[CHOSEN, i] = ids[SETTLED, i]
    count = n_settled
    for i in range(m):
        if distance[i] <= last:
            ids[CHOSEN, count] = ids[MEMBERS, i]
            count += 1
    return True, last


@flow
def _branching(alternative: Floats, rival: Floats, members: Ints, state: States, distance: Floats, last: float) -> int:
    """The open member to decide: a neighbour that speaks most against the alternative, or a helpful other one."""
    best, score = -1, -np.inf
    for i in range(state.size):
        if state[i] == OPEN:
            harm = alternative[members[i]] - rival[members[i]]
            value = harm if distance[i] <= last else -harm
            if value > score:
                best, score = i, value
    return best


@inner
def _nearest_context(axes: Axes, t: Tableau, w: Work, s: Scratch, state: States, limit: float) -> tuple[int, float]:
    """Least extra distance at which the decided members are in order, up to the envelopes."""
    points, margin, box, members = axes.points, axes.margin, s.box, s.ids[MEMBERS]
    moves, at, slope, row, u, fixed, distance = w.moves, w.at[0], w.at[1], w.moved[0], w.moved[1], w.each[0], w.each[1]
    v, q = t.used[VARIABLES], at.size
    reset(t)
    cost = 0.0
    for _ in range(50 * (v + 2)):
        solution(t, u)
        for j in range(q):
            at[j] = box[NEAREST, j]
        for x in range(v):
            at[moves[0, x]] += moves[1, x] * u[x]
        first, second = _distances(points, members, fixed, box, at, state, distance)
        if first < 0 or second < 0 or distance[second] - distance[first] >= margin - MISS:
            return SOLVED, cost
        value = _pair(points, members, fixed, box, at, slope, int(first), int(second))
        if value <= -margin + MISS:
            worst = -margin + MISS
            for a in range(state.size):
                for b in range(state.size):
                    if state[a] == IN and state[b] == OUT and distance[b] - distance[a] < margin - MISS:
                        value = _pair(points, members, fixed, box, at, slope, a, b)
                        if value > worst:
                            worst, first, second = value, a, b
            if worst == -margin + MISS:
                return LOOSE, cost
            value = _pair(points, members, fixed, box, at, slope, int(first), int(second))
        bound = -margin - value
        for j in range(q):
            bound += slope[j] * (at[j] - box[NEAREST, j])
        for x in range(v):
            row[x] = slope[moves[0, x]] * moves[1, x]
        add_row(t, row, bound)
        status, cost = reoptimise(t, limit)
        if status != SOLVED:
            return status, cost
    return UNKNOWN, cost


@inner
def solve_box(
    axes: Axes,
    cuts: Cuts,
    n_settled: int,
    m: int,
    room: float,
    patience: int,
    s: Scratch,
    t: Tableau,
    w: Work,
    found: Floats,
) -> tuple[float, float]:
    """The nearest explanation in the box that was last examined, within `room` of its nearest context.

    Returns the extra distance of the best explanation found, which is written to `found`, and of the nearest place
    that could not be decided after at most `patience` linear programs (both infinite where there is none).
    """
    box, ids, k = s.box, s.ids, axes.k
    buffer, members = s.values[BUFFER], s.ids[MEMBERS]
    placeable = _prepare(axes, m, t, w, s)
    lightest = np.inf
    for x in range(t.used[VARIABLES]):
        lightest = min(lightest, t.variables[COST, x])
    memory = np.zeros((2 * m + 3, m), dtype=np.int8)
    implies, states, state = memory[:m], memory[m : 2 * m + 2], memory[2 * m + 2]
    _relate(axes.points, members, s.values[HERE], box, 2.0 * room / lightest + MISS, axes.separation, implies)
    rival = cuts.rivals[cuts.rivals.shape[0] - 1]
    top, best, open_ = 1, np.inf, np.inf
    while top > 0:
        top -= 1
        for i in range(m):
            state[i] = states[top, i]
        chosen, undecided = _collect(ids, n_settled, state)
        if hopeless(cuts, k, ids[CHOSEN], chosen, ids[UNDECIDED], int(undecided), buffer):
            continue
        limit = min(room, min(best, open_))
        status, cost = _nearest_context(axes, t, w, s, state, limit)
        if status == INFEASIBLE or cost >= limit:
            continue
        clear, last = _clear_here(k, axes.margin, ids, n_settled, m, w.each[1], buffer)
        if clear and placeable and status == SOLVED and satisfied(cuts, k, ids[CHOSEN], buffer):
            best = cost
            for j in range(w.at.shape[1]):
                found[j] = w.at[0, j]
            continue
        member = _branching(cuts.alternative, rival, members, state, w.each[1], last)
        patience -= 1
        if member < 0 or patience <= 0:
            # A set that is left out is done with; otherwise the box must be split.
            if not (member < 0 and status == SOLVED and placeable):
                open_ = cost
            continue
        for value in (OUT, IN) if w.each[1, member] > last else (IN, OUT):
            for i in range(m):
                states[top, i] = state[i]
            if _decide(implies, states[top], member, value):
                top += 1
    return best, open_
