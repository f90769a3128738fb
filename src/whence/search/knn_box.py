"""One box of contexts: which past contexts are surely among the k nearest there, and which surely are not.

A box is examined inside the ball that is still of interest: contexts at most `room` farther from the start
than the box's nearest one. Relations hold with the separation: if b cannot be nearer than a by the
separation anywhere in the box, then b being a neighbour implies that a is one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import kernel
from whence.search.knn_axes import CATEGORY, CONTINUOUS, DISCRETE, Axes
from whence.search.knn_cuts import Cuts, hopeless, order_smallest, satisfied

__all__ = ["FEASIBLE", "LEAF", "PRUNED", "SPLIT", "Scratch", "allowed_interval", "examine", "project"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PRUNED, FEASIBLE, SPLIT, LEAF = 0, 1, 2, 3

#: Beyond this many contexts a box is split without comparing them pair by pair.
PAIRS = 512

#: Rounding allowance when a ball cuts a box.
HAIR = 1e-12


class Scratch(NamedTuple):
    """Working memory of one search; `nearest`, `low` and `high` describe the box last examined."""

    nearest: Floats
    low: Floats
    high: Floats
    settled: Ints
    members: Ints
    chosen: Ints
    undecided: Ints
    here: Floats
    number_here: Floats
    near: Floats
    far: Floats
    middle: Floats
    category: Floats
    clipped: Floats
    apart: Floats
    apart_category: Floats
    buffer: Floats
    counts: Ints

    @classmethod
    def of(cls, axes: Axes) -> Scratch:
        """Working memory for a question."""
        n, q = axes.points.shape
        size = n + axes.k + 2
        floats = [np.empty(q) for _ in range(3)]
        ints = [np.empty(size, dtype=np.int64) for _ in range(4)]
        more = [np.empty(size) for _ in range(6)]
        return cls(
            *floats, *ints, *more, np.empty((q, min(size, PAIRS))), np.empty(PAIRS), np.empty(PAIRS), np.empty(size),
            np.empty((4, PAIRS), dtype=np.int64),
        )  # fmt: skip


@kernel
def allowed_interval(axes: Axes, j: int, low: float, high: float) -> tuple[float, float]:
    """The smallest interval that holds the allowed values of axis j between `low` and `high`; empty: low > high."""
    if axes.kind[j] == DISCRETE:
        first, last = np.inf, -np.inf
        for at in range(axes.level_at[j], axes.level_at[j + 1]):
            level = axes.levels[at]
            if low - HAIR <= level <= high + HAIR:
                first = min(first, level)
                last = max(last, level)
        return first, last
    if axes.kind[j] == CONTINUOUS:
        if axes.gap_low[j] < low < axes.gap_high[j]:
            low = axes.gap_high[j]
        if axes.gap_low[j] < high < axes.gap_high[j]:
            high = axes.gap_low[j]
    return low, high


@kernel
def project(axes: Axes, low: Floats, high: Floats, nearest: Floats) -> float:
    """The context of a box that is nearest to the start, and its distance."""
    distance = 0.0
    for j in range(low.size):
        if axes.kind[j] == CATEGORY:
            nearest[j] = low[j]
            distance += axes.cost[j, int(low[j])]
        else:
            nearest[j] = min(max(axes.start[j], low[j]), high[j])
            distance += axes.weight[j] * abs(nearest[j] - axes.start[j])
    return distance


@kernel
def _shrink(axes: Axes, room: float, s: Scratch) -> float:
    """Cut the box to the ball; returns the largest change of a numeric distance inside the ball."""
    lightest = np.inf
    for j in range(s.low.size):
        if axes.kind[j] == CATEGORY:
            limit = axes.cost[j, int(s.low[j])] + room + HAIR
            while s.high[j] > s.low[j] and axes.cost[j, int(s.high[j])] > limit:
                s.high[j] -= 1.0
        elif s.low[j] < s.high[j]:
            reach = room / axes.weight[j] + HAIR
            low, high = max(s.low[j], s.nearest[j] - reach), min(s.high[j], s.nearest[j] + reach)
            s.low[j], s.high[j] = allowed_interval(axes, j, low, high)
            if s.low[j] < s.high[j]:
                lightest = min(lightest, axes.weight[j])
    return room / lightest + HAIR


@kernel
def _measure(axes: Axes, m: int, reach: float, s: Scratch) -> None:
    """Distance of every member from the nearest context of the box, and the interval of its distances in the box."""
    for i in range(m):
        a = s.members[i]
        here = axes.base[a]
        less = 0.0
        more = 0.0
        category = 0.0
        category_near = 0.0
        category_far = 0.0
        for j in range(s.low.size):
            x = axes.points[a, j]
            low, high = s.low[j], s.high[j]
            if axes.kind[j] == CATEGORY:
                category += 0.0 if x == low else 1.0
                if low <= x <= high:
                    category_far += 0.0 if low == high else 1.0
                else:
                    category_near += 1.0
                    category_far += 1.0
            else:
                gap = abs(s.nearest[j] - x)
                here += gap
                less += gap - max(low - x, x - high, 0.0)
                more += max(x - low, high - x) - gap
        s.number_here[i] = here
        s.here[i] = here + category
        s.near[i] = here - min(less, reach) + category_near
        s.far[i] = here + min(more, reach) + category_far


@kernel
def _settle_by_intervals(axes: Axes, n_settled: int, m: int, s: Scratch) -> tuple[int, int]:
    """Drop the members that are surely out, settle those surely in; the new numbers of settled and open ones."""
    need = axes.k - n_settled
    if need < 0 or need > m:
        return n_settled, -1
    out_from = -np.inf
    if need > 0:
        for i in range(m):
            s.buffer[i] = s.far[i]
        order_smallest(s.buffer, m, need)
        for i in range(need):
            out_from = max(out_from, s.buffer[i])
    in_until = np.inf
    if need < m:
        for i in range(m):
            s.buffer[i] = s.near[i]
        order_smallest(s.buffer, m, need)
        for i in range(need, m):
            in_until = min(in_until, s.buffer[i])
    kept = 0
    for i in range(m):
        if s.near[i] - axes.margin >= out_from:
            continue
        if s.far[i] + axes.margin <= in_until:
            s.settled[n_settled] = s.members[i]
            n_settled += 1
            continue
        s.members[kept] = s.members[i]
        s.here[kept] = s.here[i]
        s.number_here[kept] = s.number_here[i]
        kept += 1
    return n_settled, kept


@kernel
def _prepare_pairs(axes: Axes, m: int, s: Scratch) -> bool:
    """Clip every member to the box; returns whether a category is still open."""
    several = False
    for i in range(m):
        s.middle[i] = axes.base[s.members[i]]
        s.category[i] = 0.0
    for j in range(s.low.size):
        low, high = s.low[j], s.high[j]
        if axes.kind[j] == CATEGORY:
            several = several or low < high
            for i in range(m):
                x = axes.points[s.members[i], j]
                inside = low <= x <= high
                s.clipped[j, i] = x if inside and low < high else -1.0
                s.category[i] += 1.0 if not inside else 0.5 if low < high else 0.0
        else:
            half, centre = 0.5 * (high - low), 0.5 * (low + high)
            for i in range(m):
                x = axes.points[s.members[i], j]
                s.clipped[j, i] = min(max(x, low), high)
                s.middle[i] += max(half, abs(x - centre))
    return several


@kernel
def _spread_from(axes: Axes, a: int, m: int, several: bool, s: Scratch) -> None:
    """How much the difference of two distances can vary in the box, for member a and all later ones."""
    for b in range(a + 1, m):
        s.apart[b] = 0.0
        s.apart_category[b] = 0.0
    for j in range(s.low.size):
        if axes.kind[j] != CATEGORY:
            if s.low[j] < s.high[j]:
                x = s.clipped[j, a]
                row = s.clipped[j]
                for b in range(a + 1, m):
                    s.apart[b] += abs(x - row[b])
        elif several:
            x = s.clipped[j, a]
            for b in range(a + 1, m):
                y = s.clipped[j, b]
                if x != y:
                    s.apart_category[b] += (0.5 if x >= 0.0 else 0.0) + (0.5 if y >= 0.0 else 0.0)


@kernel
def _count_relations(axes: Axes, m: int, reach: float, s: Scratch) -> None:
    """Count, for every member, those surely nearer and surely farther: with the margin, and up to the separation."""
    several = _prepare_pairs(axes, m, s)
    nearer, farther, not_farther, not_nearer = s.counts[0], s.counts[1], s.counts[2], s.counts[3]
    s.counts[:, :m] = 0
    ball = 2.0 * reach
    for a in range(m - 1):
        _spread_from(axes, a, m, several, s)
        for b in range(a + 1, m):
            middle = s.middle[a] - s.middle[b]
            at = s.number_here[a] - s.number_here[b]
            category = s.category[a] - s.category[b]
            most = min(middle + s.apart[b], at + ball) + category + s.apart_category[b]
            least = max(middle - s.apart[b], at - ball) + category - s.apart_category[b]
            if most < axes.separation:
                not_farther[b] += 1
                not_nearer[a] += 1
                if most <= -axes.margin:
                    nearer[b] += 1
                    farther[a] += 1
            if least > -axes.separation:
                not_farther[a] += 1
                not_nearer[b] += 1
                if least >= axes.margin:
                    nearer[a] += 1
                    farther[b] += 1


@kernel
def _settle_by_pairs(axes: Axes, n_settled: int, m: int, s: Scratch) -> tuple[int, int, int, int]:
    """Settle by counting relations; the numbers of settled and open members, and of chosen and undecided ones."""
    need = axes.k - n_settled
    chosen = n_settled
    for i in range(n_settled):
        s.chosen[i] = s.settled[i]
    kept = 0
    undecided = 0
    for i in range(m):
        member = s.members[i]
        out, inside = s.counts[2, i] >= need, s.counts[3, i] >= m - need
        if out and inside:
            return n_settled, -1, 0, 0
        if inside:
            s.chosen[chosen] = member
            chosen += 1
        elif not out:
            s.undecided[undecided] = member
            undecided += 1
        if s.counts[0, i] >= need:
            continue
        if s.counts[1, i] >= m - need:
            s.settled[n_settled] = member
            n_settled += 1
            continue
        s.members[kept] = member
        s.here[kept] = s.here[i]
        s.number_here[kept] = s.number_here[i]
        kept += 1
    return n_settled, kept, chosen, undecided


@kernel
def _holds_at_nearest(axes: Axes, cuts: Cuts, n_settled: int, m: int, s: Scratch) -> bool:
    """Whether the nearest context of the box is itself an explanation."""
    need = axes.k - n_settled
    limit = np.inf
    if 0 < need < m:
        for i in range(m):
            s.buffer[i] = s.here[i]
        order_smallest(s.buffer, m, need)
        last = s.buffer[0]
        for i in range(1, need):
            last = max(last, s.buffer[i])
        following = np.inf
        for i in range(need, m):
            following = min(following, s.buffer[i])
        single = True
        for j in range(s.low.size):
            single = single and s.low[j] == s.high[j]
        if following - last < (axes.separation if single else axes.margin):
            return False
        limit = 0.5 * (last + following)
    elif need == 0:
        limit = -np.inf
    count = n_settled
    for i in range(n_settled):
        s.chosen[i] = s.settled[i]
    for i in range(m):
        if s.here[i] < limit:
            s.chosen[count] = s.members[i]
            count += 1
    return satisfied(cuts, axes.k, s.chosen, s.buffer)


@kernel
def choose_split(axes: Axes, m: int, s: Scratch) -> tuple[int, float, float]:
    """Axis to split, upper end of the lower part, lower end of the upper part; axis -1 where all is linear."""
    best, widest = -1, 0.0
    below = above = 0.0
    for j in range(s.low.size):
        low, high = s.low[j], s.high[j]
        width = 1.0 if axes.kind[j] == CATEGORY else high - low
        if low == high or width <= widest:
            continue
        if axes.kind[j] == CATEGORY:
            cut = low if low == 0.0 else np.floor(0.5 * (low + high))
            best, widest, below, above = j, width, cut, cut + 1.0
            continue
        middle = 0.5 * (low + high)
        if axes.kind[j] == DISCRETE:
            cut, after = low, high
            for at in range(axes.level_at[j], axes.level_at[j + 1]):
                level = axes.levels[at]
                if low <= level < high and abs(level - middle) < abs(cut - middle):
                    cut = level
            for at in range(axes.level_at[j], axes.level_at[j + 1]):
                if cut < axes.levels[at] < after:
                    after = axes.levels[at]
            best, widest, below, above = j, width, cut, after
            continue
        if low <= axes.gap_low[j] and axes.gap_high[j] <= high:
            best, widest, below, above = j, width, axes.gap_low[j], axes.gap_high[j]
            continue
        cut = low
        for i in range(m):
            x = axes.points[s.members[i], j]
            if low < x < high and abs(x - middle) < abs(cut - middle):
                cut = x
        if cut > low:
            best, widest, below, above = j, width, cut, cut
    return best, below, above


@kernel
def examine(axes: Axes, cuts: Cuts, n_settled: int, m: int, radius: float, s: Scratch) -> tuple[int, float, int, int]:
    """Examine the box in `s.low`, `s.high` with the members in `s.settled` and `s.members`, up to `radius`.

    Returns the verdict, the distance of the box, and the numbers of settled and open members left.
    """
    distance = project(axes, s.low, s.high, s.nearest)
    room = radius - distance
    if room < 0.0:
        return PRUNED, distance, n_settled, m
    reach = _shrink(axes, room, s)
    _measure(axes, m, reach, s)
    n_settled, m = _settle_by_intervals(axes, n_settled, m, s)
    if m < 0:
        return PRUNED, distance, n_settled, m
    if m <= PAIRS:
        _count_relations(axes, m, reach, s)
        n_settled, m, chosen, undecided = _settle_by_pairs(axes, n_settled, m, s)
        if m < 0:
            return PRUNED, distance, n_settled, m
    else:
        chosen, undecided = n_settled, m
        s.chosen[:chosen] = s.settled[:chosen]
        s.undecided[:undecided] = s.members[:undecided]
    if hopeless(cuts, axes.k, s.chosen, chosen, s.undecided, undecided, s.buffer):
        return PRUNED, distance, n_settled, m
    if _holds_at_nearest(axes, cuts, n_settled, m, s):
        return FEASIBLE, distance, n_settled, m
    single = True
    for j in range(s.low.size):
        single = single and s.low[j] == s.high[j]
    if single:
        return PRUNED, distance, n_settled, m
    return (LEAF if choose_split(axes, m, s)[0] < 0 else SPLIT), distance, n_settled, m
