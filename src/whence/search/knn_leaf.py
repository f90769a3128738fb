"""A box in which every open distance is linear: the nearest explanation in it, exactly.

Depth-first over which open members are neighbours and which are not. Every node is a small linear program:
least distance such that each member decided in is nearer, by the margin, than each one decided out. Only the
pairs that bind are ever added.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import kernel
from whence.search.knn_axes import CATEGORY, WEIGHT, Axes
from whence.search.knn_box import BUFFER, CHOSEN, HERE, HIGH, LOW, MEMBERS, NEAREST, SETTLED, UNDECIDED, Scratch
from whence.search.knn_cuts import Cuts, hopeless, order_smallest, satisfied
from whence.search.knn_simplex import (
    COST,
    INFEASIBLE,
    SOLVED,
    UNKNOWN,
    UPPER,
    Tableau,
    add_row,
    new_tableau,
    reoptimise,
    reset,
    solution,
)

__all__ = ["solve_leaf"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
States = NDArray[np.int8]

OPEN, IN, OUT = 0, 1, 2

#: A pair of members may miss the margin by this much: far less than the margin adds to the separation.
MISS = 1e-11


@kernel
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


@kernel
def _relate(here: Floats, slope: Floats, upper: Floats, separation: float, implies: States) -> None:
    """``implies[a, b]``: a can be a neighbour only together with b."""
    m, v = slope.shape
    for a in range(m):
        for b in range(m):
            # Both directions of an axis are never used at once, and the one that does not help counts nothing.
            most = here[b] - here[a]
            for x in range(v):
                most += max(slope[b, x] - slope[a, x], 0.0) * upper[x]
            implies[a, b] = 1 if a != b and most < separation else 0


@kernel
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


@kernel
def _nearest_context(
    t: Tableau, here: Floats, slope: Floats, state: States, margin: float, limit: float, u: Floats, distance: Floats
) -> tuple[int, float]:
    """Least extra distance at which the decided members are in order, with the movement and the distances there."""
    m, v = slope.shape
    reset(t)
    row = np.empty(v)
    cost = 0.0
    for _ in range(50 * (v + 2)):
        solution(t, u)
        worst_in, worst_out = -1, -1
        for i in range(m):
            total = here[i]
            for x in range(v):
                total += slope[i, x] * u[x]
            distance[i] = total
            if state[i] == IN and (worst_in < 0 or total > distance[worst_in]):
                worst_in = i
            if state[i] == OUT and (worst_out < 0 or total < distance[worst_out]):
                worst_out = i
        if worst_in < 0 or worst_out < 0 or distance[worst_out] - distance[worst_in] >= margin - MISS:
            return SOLVED, cost
        for x in range(v):
            row[x] = slope[worst_in, x] - slope[worst_out, x]
        add_row(t, row, here[worst_out] - here[worst_in] - margin)
        status, cost = reoptimise(t, limit)
        if status != SOLVED:
            return status, cost
    return UNKNOWN, cost


@kernel
def _impossible(cuts: Cuts, k: int, ids: Ints, n_settled: int, state: States, buffer: Floats) -> bool:
    """Whether the members decided so far rule out all cuts."""
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
    return hopeless(cuts, k, ids[CHOSEN], chosen, ids[UNDECIDED], undecided, buffer)


@kernel
def _holds_here(
    cuts: Cuts, k: int, margin: float, ids: Ints, n_settled: int, distance: Floats, buffer: Floats
) -> tuple[bool, float]:
    """Whether a context with these distances is an explanation, and the distance of its last neighbour."""
    m = distance.size
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
    return satisfied(cuts, k, ids[CHOSEN], buffer), last


@kernel
def _branching(
    alternative: Floats, rival: Floats, members: Ints, state: States, distance: Floats, last: float
) -> int:
    """The open member to decide: a neighbour that speaks most against the alternative, or a helpful other one."""
    best, score = -1, -np.inf
    for i in range(state.size):
        if state[i] == OPEN:
            harm = alternative[members[i]] - rival[members[i]]
            value = harm if distance[i] <= last else -harm
            if value > score:
                best, score = i, value
    return best


@kernel
def solve_leaf(
    axes: Axes, cuts: Cuts, n_settled: int, m: int, room: float, s: Scratch, found: Floats
) -> tuple[bool, float]:
    """The nearest explanation in the box that was last examined.

    Returns whether the search was complete, and the extra distance beyond the box's nearest context (infinite
    where there is none within `room`); the context is written to `found`.
    """
    box, ids, points, k = s.box, s.ids, axes.points, axes.k
    here, buffer = s.values[HERE], s.values[BUFFER]
    moves, variables = np.empty((2, 2 * box.shape[1]), dtype=np.int64), np.empty((2, 2 * box.shape[1]))
    v = _directions(axes.kind, axes.table, box, moves, variables)
    t = new_tableau(v)
    slope, u, distance = np.empty((m, v)), np.zeros(v), np.empty(m)
    for x in range(v):
        t.variables[UPPER, x], t.variables[COST, x] = variables[UPPER, x], variables[COST, x]
        for i in range(m):
            slope[i, x] = moves[1, x] if points[ids[MEMBERS, i], moves[0, x]] <= box[LOW, moves[0, x]] else -moves[1, x]
    implies = np.empty((m, m), dtype=np.int8)
    _relate(here, slope, t.variables[UPPER], axes.separation, implies)
    states = np.zeros((m + 2, m), dtype=np.int8)
    state = np.empty(m, dtype=np.int8)
    top, best, complete = 1, np.inf, True
    while top > 0:
        top -= 1
        for i in range(m):
            state[i] = states[top, i]
        if _impossible(cuts, k, ids, n_settled, state, buffer):
            continue
        status, cost = _nearest_context(t, here, slope, state, axes.margin, min(room, best), u, distance)
        if status == INFEASIBLE or cost >= best:
            continue
        holds, last = _holds_here(cuts, k, axes.margin, ids, n_settled, distance, buffer)
        if status == SOLVED and holds:
            best = cost
            for j in range(found.size):
                found[j] = box[NEAREST, j]
            for x in range(v):
                found[moves[0, x]] += moves[1, x] * u[x]
            continue
        rival = cuts.rivals[cuts.rivals.shape[0] - 1]
        member = _branching(cuts.alternative, rival, ids[MEMBERS], state, distance, last)
        if member < 0:
            # Every member is decided: the set is left out, or the linear program gave up.
            complete = complete and status == SOLVED
            continue
        for value in (OUT, IN) if distance[member] > last else (IN, OUT):
            for i in range(m):
                states[top, i] = state[i]
            if _decide(implies, states[top], member, value):
                top += 1
    return complete, best
