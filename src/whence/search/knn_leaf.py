"""A box in which every open distance is linear: the nearest explanation in it, exactly.

Depth-first over which open members are neighbours and which are not. Every node is a small linear program:
least distance such that each member decided in is nearer, by the margin, than each one decided out. Only the
pairs that bind are ever added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import kernel
from whence.search.knn_axes import CATEGORY, Axes
from whence.search.knn_box import Scratch
from whence.search.knn_cuts import Cuts, hopeless, order_smallest, satisfied
from whence.search.knn_simplex import (
    INFEASIBLE,
    SOLVED,
    UNKNOWN,
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


class Leaf(NamedTuple):
    """The linear distances in the box: ``here + slope @ u``, with one variable a direction of movement."""

    members: Ints
    settled: Ints
    here: Floats
    slope: Floats
    axis: Ints
    sign: Floats
    tableau: Tableau
    u: Floats
    distance: Floats
    implies: NDArray[np.bool_]
    chosen: Ints
    undecided: Ints
    buffer: Floats


@kernel
def _new_leaf(axes: Axes, n_settled: int, m: int, s: Scratch) -> Leaf:
    q = s.low.size
    axis = np.empty(2 * q, dtype=np.int64)
    sign = np.empty(2 * q)
    upper = np.empty(2 * q)
    cost = np.empty(2 * q)
    v = 0
    for j in range(q):
        if axes.kind[j] == CATEGORY:
            continue
        for direction in (1.0, -1.0):
            length = s.high[j] - s.nearest[j] if direction > 0 else s.nearest[j] - s.low[j]
            if length > 0.0:
                axis[v], sign[v], upper[v], cost[v] = j, direction, length, axes.weight[j]
                v += 1
    members = s.members[:m].copy()
    slope = np.empty((m, v))
    for i in range(m):
        for x in range(v):
            j = axis[x]
            slope[i, x] = sign[x] if axes.points[members[i], j] <= s.low[j] else -sign[x]
    size = m + axes.k + 2
    leaf = Leaf(
        members, s.settled[:n_settled].copy(), s.here[:m].copy(), slope, axis[:v], sign[:v],
        new_tableau(upper[:v].copy(), cost[:v].copy(), 3 * v + 10), np.zeros(v), np.empty(m),
        np.zeros((m, m), dtype=np.bool_),
        np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64), np.empty(size),
    )  # fmt: skip
    _relate(axes, leaf, m, v)
    return leaf


@kernel
def _relate(axes: Axes, leaf: Leaf, m: int, v: int) -> None:
    """``implies[a, b]``: a can be a neighbour only together with b."""
    for a in range(m):
        for b in range(m):
            if a == b:
                continue
            # Both directions of an axis are never used at once, and the one that does not help counts nothing.
            most = leaf.here[b] - leaf.here[a]
            for x in range(v):
                most += max(leaf.slope[b, x] - leaf.slope[a, x], 0.0) * leaf.tableau.upper[x]
            leaf.implies[a, b] = most < axes.separation


@kernel
def _decide(leaf: Leaf, state: States, member: int, value: int) -> bool:
    """Decide a member and what follows from it; False on a contradiction."""
    m = state.size
    if state[member] != OPEN:
        return state[member] == value
    state[member] = value
    changed = True
    while changed:
        changed = False
        for a in range(m):
            if state[a] == OPEN:
                continue
            for b in range(m):
                follows = leaf.implies[a, b] if state[a] == IN else leaf.implies[b, a]
                if follows and state[b] != state[a]:
                    if state[b] != OPEN:
                        return False
                    state[b] = state[a]
                    changed = True
    return True


@kernel
def _nearest_context(axes: Axes, leaf: Leaf, state: States, limit: float) -> tuple[int, float]:
    """Least extra distance at which the decided members are in order; the variables are left in ``leaf.u``."""
    m, v = leaf.slope.shape
    t = leaf.tableau
    reset(t)
    row = np.empty(v)
    cost = 0.0
    for _ in range(50 * (v + 2)):
        solution(t, leaf.u)
        worst_in, worst_out = -1, -1
        for i in range(m):
            distance = leaf.here[i]
            for x in range(v):
                distance += leaf.slope[i, x] * leaf.u[x]
            leaf.distance[i] = distance
            if state[i] == IN and (worst_in < 0 or distance > leaf.distance[worst_in]):
                worst_in = i
            if state[i] == OUT and (worst_out < 0 or distance < leaf.distance[worst_out]):
                worst_out = i
        if worst_in < 0 or worst_out < 0:
            return SOLVED, cost
        if leaf.distance[worst_out] - leaf.distance[worst_in] >= axes.margin - MISS:
            return SOLVED, cost
        for x in range(v):
            row[x] = leaf.slope[worst_in, x] - leaf.slope[worst_out, x]
        add_row(t, row, leaf.here[worst_out] - leaf.here[worst_in] - axes.margin)
        status, cost = reoptimise(t, limit)
        if status != SOLVED:
            return status, cost
    return UNKNOWN, cost


@kernel
def _collect(leaf: Leaf, state: States) -> tuple[int, int]:
    """Write the members decided in, and the open ones; their numbers."""
    chosen = leaf.settled.size
    leaf.chosen[:chosen] = leaf.settled
    undecided = 0
    for i in range(state.size):
        if state[i] == IN:
            leaf.chosen[chosen] = leaf.members[i]
            chosen += 1
        elif state[i] == OPEN:
            leaf.undecided[undecided] = leaf.members[i]
            undecided += 1
    return chosen, undecided


@kernel
def _boundary(axes: Axes, leaf: Leaf) -> tuple[float, float]:
    """Distance of the last neighbour among the open members, and of the next one."""
    m = leaf.distance.size
    need = axes.k - leaf.settled.size
    leaf.buffer[:m] = leaf.distance
    order_smallest(leaf.buffer, m, need)
    last, following = -np.inf, np.inf
    for i in range(m):
        if i < need:
            last = max(last, leaf.buffer[i])
        else:
            following = min(following, leaf.buffer[i])
    return last, following


@kernel
def _holds_here(axes: Axes, cuts: Cuts, leaf: Leaf, last: float, following: float) -> bool:
    """Whether the context that the linear program found is an explanation."""
    if following - last < axes.margin - 2.0 * MISS:
        return False
    count = leaf.settled.size
    leaf.chosen[:count] = leaf.settled
    for i in range(leaf.members.size):
        if leaf.distance[i] <= last:
            leaf.chosen[count] = leaf.members[i]
            count += 1
    return satisfied(cuts, axes.k, leaf.chosen, leaf.buffer)


@kernel
def _branching(cuts: Cuts, leaf: Leaf, state: States, last: float) -> int:
    """The open member to decide: a neighbour that speaks most against the alternative, or a helpful other one."""
    best, score = -1, -np.inf
    c = cuts.rivals.shape[0] - 1
    for i in range(state.size):
        if state[i] == OPEN:
            harm = cuts.alternative[leaf.members[i]] - cuts.rivals[c, leaf.members[i]]
            value = harm if leaf.distance[i] <= last else -harm
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
    leaf = _new_leaf(axes, n_settled, m, s)
    states = np.empty((2 * m + 4, m), dtype=np.int8)
    states[0] = OPEN
    top = 1
    best = np.inf
    complete = True
    state = np.empty(m, dtype=np.int8)
    while top > 0:
        top -= 1
        state[:] = states[top]
        chosen, undecided = _collect(leaf, state)
        if hopeless(cuts, axes.k, leaf.chosen, chosen, leaf.undecided, undecided, leaf.buffer):
            continue
        status, cost = _nearest_context(axes, leaf, state, min(room, best))
        if status == INFEASIBLE or cost >= best:
            continue
        last, following = _boundary(axes, leaf)
        if status == SOLVED and _holds_here(axes, cuts, leaf, last, following):
            best = cost
            found[:] = s.nearest
            for x in range(leaf.u.size):
                found[leaf.axis[x]] += leaf.sign[x] * leaf.u[x]
            continue
        member = _branching(cuts, leaf, state, last)
        if member < 0:
            # Every member is decided: the set is left out, or the linear program gave up.
            complete = complete and status == SOLVED
            continue
        first = OUT if leaf.distance[member] > last else IN
        for value in (first, IN + OUT - first):
            states[top] = state
            if _decide(leaf, states[top], member, value):
                top += 1
    return complete, best
