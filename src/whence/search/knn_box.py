"""One box of contexts: which past contexts are surely among the k nearest there, and which surely are not.

A box is examined inside the ball that is still of interest: contexts at most `room` farther from the start
than the box's nearest one. Relations hold with the separation: if b cannot be nearer than a by the
separation anywhere in the box, then b being a neighbour implies that a is one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import flow, inner
from whence.search.knn_axes import CATEGORY, DISCRETE, GAP_HIGH, GAP_LOW, START, WEIGHT, Axes
from whence.search.knn_cuts import Cuts, hopeless, order_smallest, satisfied
from whence.search.knn_pairs import PAIRS, count_relations

__all__ = [
    "BUFFER", "CHOSEN", "FEASIBLE", "HERE", "HIGH", "LEAF", "LOW", "MEMBERS", "NEAREST", "PRUNED", "SETTLED", "SPLIT",
    "UNDECIDED", "Scratch", "choose_split", "examine", "project",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PRUNED, FEASIBLE, SPLIT, LEAF = range(4)

#: Rows of ``Scratch.box``, ``Scratch.ids`` and ``Scratch.values``.
NEAREST, LOW, HIGH = range(3)
SETTLED, MEMBERS, CHOSEN, UNDECIDED = range(4)
HERE, NUMBER, NEAR, FAR, BUFFER = range(5)

#: Rounding allowance when a ball cuts a box.
HAIR = 1e-12


class Scratch(NamedTuple):
    """Working memory of one search.

    Attributes
    ----------
    box : ndarray of shape (3, q)
        The box last examined: its context nearest to the start, its lower and its upper end.
    ids : ndarray of int of shape (4, n + k)
        Past contexts settled as neighbours, those still open, and in between those chosen or undecided.
    values : ndarray of shape (5, n + k)
        Of each open one: distance at the nearest context, its numeric part, its interval in the box; a buffer.
    clipped, pairs, counts : ndarray
        What comparing pairs needs.
    """

    box: Floats
    ids: Ints
    values: Floats
    clipped: Floats
    pairs: Floats
    counts: Ints

    @classmethod
    def of(cls, axes: Axes) -> Scratch:
        """Working memory for a question."""
        n, q = axes.points.shape
        size = n + axes.k + 2
        return cls(
            np.empty((3, q)),
            np.empty((4, size), dtype=np.int64),
            np.empty((5, size)),
            np.empty((q, PAIRS)),
            np.empty((4, PAIRS)),
            np.empty((4, PAIRS), dtype=np.int64),
        )


@flow
def _allowed_interval(axes: Axes, j: int, low: float, high: float) -> tuple[float, float]:
    """The smallest interval that holds the allowed values of axis j between `low` and `high`."""
    if axes.kind[j] == DISCRETE:
        first, last = np.inf, -np.inf
        for at in range(axes.level_at[j], axes.level_at[j + 1]):
            level = axes.levels[at]
            if low - HAIR <= level <= high + HAIR:
                first = min(first, level)
                last = max(last, level)
        return first, last
    before, after = axes.table[GAP_LOW, j], axes.table[GAP_HIGH, j]
    if before < low < after:
        low = after
    if before < high < after:
        high = before
    return low, high


@inner
def project(kind: Ints, table: Floats, cost: Floats, box: Floats) -> float:
    """Write the context of a box that is nearest to the start; its distance."""
    distance = 0.0
    for j in range(kind.size):
        low, high = box[LOW, j], box[HIGH, j]
        if kind[j] == CATEGORY:
            box[NEAREST, j] = low
            distance += cost[j, int(low)]
        else:
            start = table[START, j]
            nearest = min(max(start, low), high)
            box[NEAREST, j] = nearest
            distance += table[WEIGHT, j] * abs(nearest - start)
    return distance


@flow
def _shrink(axes: Axes, room: float, box: Floats) -> float:
    """Cut the box to the ball; returns the largest change of a numeric distance inside the ball."""
    lightest = np.inf
    for j in range(box.shape[1]):
        low, high = box[LOW, j], box[HIGH, j]
        if axes.kind[j] == CATEGORY:
            limit = axes.cost[j, int(low)] + room + HAIR
            while high > low and axes.cost[j, int(high)] > limit:
                high -= 1.0
            box[HIGH, j] = high
        elif low < high:
            weight = axes.table[WEIGHT, j]
            reach = room / weight + HAIR
            low, high = _allowed_interval(
                axes, j, max(low, box[NEAREST, j] - reach), min(high, box[NEAREST, j] + reach)
            )
            box[LOW, j], box[HIGH, j] = low, high
            if low < high:
                lightest = min(lightest, weight)
    return room / lightest + HAIR


@flow
def _measure(
    points: Floats, base: Floats, kind: Ints, box: Floats, members: Ints, m: int, reach: float, values: Floats
) -> None:
    """Distance of every member from the nearest context of the box, and the interval of its distances in the box."""
    for i in range(m):
        a = members[i]
        here = base[a]
        less = more = category = category_near = category_far = 0.0
        for j in range(kind.size):
            x = points[a, j]
            low, high = box[LOW, j], box[HIGH, j]
            if kind[j] == CATEGORY:
                category += 0.0 if x == low else 1.0
                if low <= x <= high:
                    category_far += 0.0 if low == high else 1.0
                else:
                    category_near += 1.0
                    category_far += 1.0
            else:
                gap = abs(box[NEAREST, j] - x)
                here += gap
                less += gap - max(max(low - x, x - high), 0.0)
                more += max(x - low, high - x) - gap
        values[NUMBER, i] = here
        values[HERE, i] = here + category
        values[NEAR, i] = here - min(less, reach) + category_near
        values[FAR, i] = here + min(more, reach) + category_far


@inner
def _boundary(values: Floats, buffer: Floats, m: int, need: int) -> tuple[float, float]:
    """The `need`-th smallest of m values and the next one."""
    for i in range(m):
        buffer[i] = values[i]
    order_smallest(buffer, m, need)
    last, following = -np.inf, np.inf
    for i in range(m):
        if i < need:
            last = max(last, buffer[i])
        else:
            following = min(following, buffer[i])
    return last, following


@flow
def _settle_by_intervals(ids: Ints, values: Floats, n_settled: int, m: int, k: int, margin: float) -> tuple[int, int]:
    """Drop the members that are surely out, settle those surely in; the new numbers of settled and open ones."""
    need = k - n_settled
    if need < 0 or need > m:
        return n_settled, -1
    out_from = _boundary(values[FAR], values[BUFFER], m, need)[0]
    in_until = _boundary(values[NEAR], values[BUFFER], m, need)[1]
    kept = 0
    for i in range(m):
        if values[NEAR, i] - margin >= out_from:
            continue
        if values[FAR, i] + margin <= in_until:
            ids[SETTLED, n_settled] = ids[MEMBERS, i]
            n_settled += 1
            continue
        ids[MEMBERS, kept] = ids[MEMBERS, i]
        values[HERE, kept] = values[HERE, i]
        values[NUMBER, kept] = values[NUMBER, i]
        kept += 1
    return n_settled, kept


@flow
def _settle_by_pairs(
    ids: Ints, values: Floats, counts: Ints, n_settled: int, m: int, need: int
) -> tuple[int, int, int, int]:
    """Settle by counting relations; the numbers of settled and open members, and of chosen and undecided ones."""
    chosen = n_settled
    for i in range(n_settled):
        ids[CHOSEN, i] = ids[SETTLED, i]
    kept = undecided = 0
    for i in range(m):
        member = ids[MEMBERS, i]
        out, inside = counts[2, i] >= need, counts[3, i] >= m - need
        if out and inside:
            return n_settled, -1, 0, 0
        if inside:
            ids[CHOSEN, chosen] = member
            chosen += 1
        elif not out:
            ids[UNDECIDED, undecided] = member
            undecided += 1
        if counts[0, i] >= need:
            continue
        if counts[1, i] >= m - need:
            ids[SETTLED, n_settled] = member
            n_settled += 1
            continue
        ids[MEMBERS, kept] = member
        values[HERE, kept] = values[HERE, i]
        kept += 1
    return n_settled, kept, chosen, undecided


@flow
def _clear_at_nearest(ids: Ints, values: Floats, n_settled: int, m: int, k: int, separation: float) -> bool:
    """Choose the neighbours at the nearest context of the box; whether they are separated there."""
    last, following = _boundary(values[HERE], values[BUFFER], m, k - n_settled)
    if following - last < separation:
        return False
    count = n_settled
    for i in range(n_settled):
        ids[CHOSEN, i] = ids[SETTLED, i]
    for i in range(m):
        if values[HERE, i] <= last:
            ids[CHOSEN, count] = ids[MEMBERS, i]
            count += 1
    return True


@flow
def _split_levels(axes: Axes, j: int, low: float, high: float) -> tuple[float, float]:
    """The two neighbouring levels of a discrete axis around the middle."""
    middle = 0.5 * (low + high)
    below, above = low, high
    for at in range(axes.level_at[j], axes.level_at[j + 1]):
        level = axes.levels[at]
        if low <= level < high and abs(level - middle) < abs(below - middle):
            below = level
    for at in range(axes.level_at[j], axes.level_at[j + 1]):
        if below < axes.levels[at] < above:
            above = axes.levels[at]
    return below, above


@flow
def _spread_along(points: Floats, j: int, low: float, high: float, members: Ints, m: int) -> float:
    total = 0.0
    for i in range(m):
        total += min(max(points[members[i], j], low), high)
    mean = total / max(m, 1)
    total = 0.0
    for i in range(m):
        total += abs(min(max(points[members[i], j], low), high) - mean)
    return total / max(m, 1) + 1e-9 * (high - low)


@inner
def choose_split(axes: Axes, box: Floats, members: Ints, m: int) -> tuple[int, float, float]:
    """Axis to split, upper end of the lower part, lower end of the upper part; axis -1 where all is linear."""
    best, widest, below, above = -1, 0.0, 0.0, 0.0
    for j in range(box.shape[1]):
        low, high = box[LOW, j], box[HIGH, j]
        if low == high:
            continue
        if axes.kind[j] == CATEGORY:
            if widest < 1.0:
                cut = low if low == 0.0 else np.floor(0.5 * (low + high))
                best, widest, below, above = j, 1.0, cut, cut + 1.0
            continue
        width = _spread_along(axes.points, j, low, high, members, m)
        if width <= widest:
            continue
        if axes.kind[j] == DISCRETE:
            best, widest = j, width
            below, above = _split_levels(axes, j, low, high)
        elif low <= axes.table[GAP_LOW, j] and axes.table[GAP_HIGH, j] <= high:
            best, widest, below, above = j, width, axes.table[GAP_LOW, j], axes.table[GAP_HIGH, j]
        else:
            middle = 0.5 * (low + high)
            cut = low
            for i in range(m):
                x = axes.points[members[i], j]
                if low < x < high and abs(x - middle) < abs(cut - middle):
                    cut = x
            if cut > low:
                best, widest, below, above = j, width, cut, cut
    return best, below, above


@inner
def examine(axes: Axes, cuts: Cuts, n_settled: int, m: int, radius: float, s: Scratch) -> tuple[int, float, int, int]:
    """Examine the box in ``s.box`` with the members in ``s.ids``, up to `radius`.

    Returns the verdict, the distance of the box, and the numbers of settled and open members left.
    """
    box, ids, values, k = s.box, s.ids, s.values, axes.k
    distance = project(axes.kind, axes.table, axes.cost, box)
    if radius < distance:
        return PRUNED, distance, n_settled, m
    reach = _shrink(axes, radius - distance, box)
    _measure(axes.points, axes.base, axes.kind, box, ids[MEMBERS], m, reach, values)
    n_settled, m = _settle_by_intervals(ids, values, n_settled, m, k, axes.margin)
    if m < 0:
        return PRUNED, distance, n_settled, m
    if m <= PAIRS:
        count_relations(axes, box, ids[MEMBERS], m, 2.0 * reach, values[NUMBER], s.clipped, s.pairs, s.counts)
        n_settled, m, chosen, undecided = _settle_by_pairs(ids, values, s.counts, n_settled, m, k - n_settled)
        if m < 0:
            return PRUNED, distance, n_settled, m
    else:
        chosen, undecided = n_settled, m
        for i in range(chosen):
            ids[CHOSEN, i] = ids[SETTLED, i]
        for i in range(undecided):
            ids[UNDECIDED, i] = ids[MEMBERS, i]
    if hopeless(cuts, k, ids[CHOSEN], chosen, ids[UNDECIDED], undecided, values[BUFFER]):
        return PRUNED, distance, n_settled, m
    single = True
    for j in range(box.shape[1]):
        single = single and box[LOW, j] == box[HIGH, j]
    clear = _clear_at_nearest(ids, values, n_settled, m, k, axes.separation if single else axes.margin)
    if clear and satisfied(cuts, k, ids[CHOSEN], values[BUFFER]):
        return FEASIBLE, distance, n_settled, m
    if single:
        return PRUNED, distance, n_settled, m
    return (LEAF if choose_split(axes, box, ids[MEMBERS], m)[0] < 0 else SPLIT), distance, n_settled, m
