"""Pairs of past contexts in a box: which is surely nearer, anywhere in it.

Over a box the difference of two distances lies in ``g_a - g_b`` plus or minus the distance between the two
contexts clipped to the box, where ``g_a`` sums, over the axes, the larger of half the width and the distance from
the middle. An open category counts like its one-hot coordinates. Inside the ball, the numeric part cannot
leave its value at the nearest context by more than twice the ball's reach.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import flow, inner
from whence.search.knn_axes import CATEGORY, Axes

__all__ = ["PAIRS", "count_relations"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Beyond this many contexts a box is split without comparing them pair by pair.
PAIRS = 512

#: Rows of ``pairs``.
MIDDLE, KINDRED, APART, APART_CATEGORY = range(4)

LOW, HIGH = 1, 2


@flow
def _clip(axes: Axes, box: Floats, members: Ints, m: int, clipped: Floats, pairs: Floats) -> bool:
    """Clip every member to the box; returns whether a category is still open."""
    points, base = axes.points, axes.base
    several = False
    for i in range(m):
        pairs[MIDDLE, i] = base[members[i]]
        pairs[KINDRED, i] = 0.0
    for j in range(box.shape[1]):
        low, high = box[LOW, j], box[HIGH, j]
        if axes.kind[j] == CATEGORY:
            several = several or low < high
            for i in range(m):
                x = points[members[i], j]
                inside = low <= x <= high
                clipped[j, i] = x if inside and low < high else -1.0
                pairs[KINDRED, i] += 1.0 if not inside else 0.5 if low < high else 0.0
        else:
            half, centre = 0.5 * (high - low), 0.5 * (low + high)
            for i in range(m):
                x = points[members[i], j]
                clipped[j, i] = min(max(x, low), high)
                pairs[MIDDLE, i] += max(half, abs(x - centre))
    return several


@flow
def _spread(kind: Ints, box: Floats, a: int, m: int, several: bool, clipped: Floats, pairs: Floats) -> None:
    """How much the difference of two distances can vary in the box, for member a and all later ones."""
    apart = pairs[APART]
    for b in range(a + 1, m):
        apart[b] = 0.0
        pairs[APART_CATEGORY, b] = 0.0
    for j in range(kind.size):
        row = clipped[j]
        x = row[a]
        if kind[j] != CATEGORY:
            if box[LOW, j] < box[HIGH, j]:
                for b in range(a + 1, m):
                    apart[b] += abs(x - row[b])
        elif several:
            for b in range(a + 1, m):
                if x != row[b]:
                    pairs[APART_CATEGORY, b] += (0.5 if x >= 0.0 else 0.0) + (0.5 if row[b] >= 0.0 else 0.0)


@inner
def count_relations(
    axes: Axes, box: Floats, members: Ints, m: int, ball: float, number: Floats, clipped: Floats, pairs: Floats,
    counts: Ints,
) -> None:  # fmt: skip
    """Count for every member those surely nearer and surely farther, by the margin, and those not surely otherwise.

    Rows of `counts`: nearer by the margin; farther by the margin; never farther by the separation; never nearer by
    the separation.
    """
    several = _clip(axes, box, members, m, clipped, pairs)
    separation, margin, kind = axes.separation, axes.margin, axes.kind
    for i in range(m):
        counts[0, i] = counts[1, i] = counts[2, i] = counts[3, i] = 0
    for a in range(m - 1):
        _spread(kind, box, a, m, several, clipped, pairs)
        for b in range(a + 1, m):
            apart, category = pairs[APART, b], pairs[APART_CATEGORY, b]
            middle = pairs[MIDDLE, a] - pairs[MIDDLE, b]
            at = number[a] - number[b]
            kindred = pairs[KINDRED, a] - pairs[KINDRED, b]
            most = min(middle + apart, at + ball) + kindred + category
            least = max(middle - apart, at - ball) + kindred - category
            if most < separation:
                counts[2, b] += 1
                counts[3, a] += 1
                if most <= -margin:
                    counts[0, b] += 1
                    counts[1, a] += 1
            if least > -separation:
                counts[2, a] += 1
                counts[3, b] += 1
                if least >= margin:
                    counts[0, a] += 1
                    counts[1, b] += 1
