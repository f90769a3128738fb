"""Explanations found without proof: past contexts where the alternative stands already, pulled toward the start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import inner, kernel
from whence.search.knn_axes import CATEGORY, CONTINUOUS, DISCRETE, GAP_HIGH, GAP_LOW, LOWER, START, UPPER, WEIGHT, Axes
from whence.search.knn_box import BUFFER, CHOSEN, HERE, Scratch
from whence.search.knn_cuts import Cuts, order_smallest, satisfied

__all__ = ["Seeds", "propose"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Halvings of a step, and rounds over all axes.
HALVINGS = 12
ROUNDS = 6

#: Boxes before the first proposal; distances that a proposal may compute at once, and how often.
FIRST_PROPOSAL = 256
DISTANCES = 100_000
REPEATS = 20


@inner
def _nearest_allowed(axes: Axes, at: Floats) -> float:
    """Move every axis of `at` to an allowed value near by; the distance from the start."""
    table = axes.table
    distance = 0.0
    for j in range(at.size):
        if axes.kind[j] == CATEGORY:
            if at[j] > table[UPPER, j]:
                at[j] = 0.0
            distance += axes.cost[j, int(at[j])]
            continue
        x = min(max(at[j], table[LOWER, j]), table[UPPER, j])
        if axes.kind[j] == DISCRETE:
            best = table[START, j]
            for i in range(axes.level_at[j], axes.level_at[j + 1]):
                if abs(axes.levels[i] - x) < abs(best - x):
                    best = axes.levels[i]
            x = best
        elif table[GAP_LOW, j] < x < table[GAP_HIGH, j]:
            low, high = table[GAP_LOW, j], table[GAP_HIGH, j]
            x = low if x - low < high - x else high
        at[j] = x
        distance += table[WEIGHT, j] * abs(x - table[START, j])
    return distance


@inner
def _stands(axes: Axes, cuts: Cuts, at: Floats, s: Scratch) -> bool:
    """Whether `at` is an explanation."""
    points, base, kind, k = axes.points, axes.base, axes.kind, axes.k
    n, q = points.shape
    here, buffer, chosen = s.values[HERE], s.values[BUFFER], s.ids[CHOSEN]
    for i in range(n):
        total = base[i]
        for j in range(q):
            if kind[j] == CATEGORY:
                total += 0.0 if points[i, j] == at[j] else 1.0
            else:
                total += abs(points[i, j] - at[j])
        here[i] = total
        buffer[i] = total
    order_smallest(buffer, n, k)
    last, following = -np.inf, np.inf
    for i in range(n):
        if i < k:
            last = max(last, buffer[i])
        else:
            following = min(following, buffer[i])
    if following - last < axes.margin:
        return False
    count = 0
    for i in range(n):
        if here[i] <= last:
            chosen[count] = i
            count += 1
    return satisfied(cuts, k, chosen, buffer)


@inner
def _toward_start(axes: Axes, cuts: Cuts, at: Floats, first: int, last: int, trial: Floats, s: Scratch) -> None:
    """Move the axes from `first` to before `last` toward the start, as far as halvings find it to stand."""
    table, kind = axes.table, axes.kind
    for j in range(at.size):
        trial[j] = table[START, j] if first <= j < last else at[j]
    share = 0.0
    if not _stands(axes, cuts, trial, s):
        low, share = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + share)
            for j in range(first, last):
                start = table[START, j]
                trial[j] = start + middle * (at[j] - start) if kind[j] == CONTINUOUS else at[j]
            _nearest_allowed(axes, trial)
            if _stands(axes, cuts, trial, s):
                share = middle
            else:
                low = middle
    for j in range(first, last):
        start = table[START, j]
        if kind[j] == CONTINUOUS:
            at[j] = start + share * (at[j] - start)
        elif share == 0.0:
            at[j] = start
    _nearest_allowed(axes, at)


@inner
def _pull(axes: Axes, cuts: Cuts, at: Floats, trial: Floats, s: Scratch) -> float:
    """Pull `at` toward the start, all axes and one by one; its distance then, infinite where it is no explanation."""
    q = at.size
    distance = _nearest_allowed(axes, at)
    if not _stands(axes, cuts, at, s):
        return np.inf
    for _ in range(ROUNDS):
        _toward_start(axes, cuts, at, 0, q, trial, s)
        for j in range(q):
            if at[j] != axes.table[START, j]:
                _toward_start(axes, cuts, at, j, j + 1, trial, s)
        before = distance
        distance = _nearest_allowed(axes, at)
        if distance > before - 1e-6:
            break
    return distance


@inner
def _uniform(random: NDArray[np.uint64]) -> float:
    """The next number in [0, 1) of a xorshift generator, so that a search is the same in every run."""
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return float(x >> np.uint64(11)) / 9007199254740992.0


@inner
def _scatter(
    axes: Axes, cuts: Cuts, radius: float, tries: int, random: NDArray[np.uint64], at: Floats, s: Scratch
) -> float:
    """Try random contexts within `radius`, most of them with few axes moved; the distance of the first that stands."""
    table, kind = axes.table, axes.kind
    q = at.size
    for _ in range(tries):
        share = 1.0 / (1.0 + np.floor(_uniform(random) * q))
        total = 0.0
        for j in range(q):
            at[j] = table[START, j]
            if _uniform(random) < share:
                at[j] = -np.log(1.0 - _uniform(random))
                total += at[j]
            else:
                at[j] = 0.0
        room = radius * np.sqrt(_uniform(random)) / max(total, 1e-9)
        for j in range(q):
            step = at[j] * room
            at[j] = table[START, j]
            if step > 0.0 and kind[j] == CATEGORY:
                at[j] = np.floor(_uniform(random) * (table[UPPER, j] + 1.0))
            elif step > 0.0:
                at[j] += step / table[WEIGHT, j] * (1.0 if _uniform(random) < 0.5 else -1.0)
        distance = _nearest_allowed(axes, at)
        if distance < radius and _stands(axes, cuts, at, s):
            return distance
    return np.inf


@kernel
def propose(
    axes: Axes,
    cuts: Cuts,
    seeds: Ints,
    tries: int,
    cutoff: float,
    random: NDArray[np.uint64],
    s: Scratch,
    found: Floats,
) -> float:  # fmt: skip
    """Pull past contexts `seeds` and random contexts toward the start; the distance of the best one below `cutoff`."""
    q = found.size
    at, trial = np.empty(q), np.empty(q)
    best = np.inf
    for attempt in range(seeds.size + REPEATS):
        if attempt < seeds.size:
            for j in range(q):
                at[j] = axes.points[seeds[attempt], j]
        elif _scatter(axes, cuts, min(cutoff, float(q)), tries, random, at, s) == np.inf:
            break
        distance = _pull(axes, cuts, at, trial, s)
        if distance < cutoff:
            best = cutoff = distance
            for j in range(q):
                found[j] = at[j]
    return best


class Seeds:
    """Where to begin: past contexts from the nearest on, and random contexts.

    Attributes
    ----------
    due : int
        Number of boxes after which the next proposal is worth its time.
    """

    def __init__(self, axes: Axes) -> None:
        far = np.abs(axes.points - axes.table[START]) * axes.table[WEIGHT]
        self.order = np.argsort(far.sum(axis=1), kind="stable").astype(np.int64)
        self.due = FIRST_PROPOSAL
        self.next = 0
        self.random = np.array([88172645463325252], dtype=np.uint64)

    def propose(self, axes: Axes, cuts: Cuts, s: Scratch, cutoff: float) -> Floats | None:
        """An explanation nearer than `cutoff`, along the axes."""
        self.due *= 2
        tries = max(20, DISTANCES // len(axes.base))
        seeds = self.order[self.next : self.next + tries]
        self.next += len(seeds)
        found = np.empty(len(axes.kind))
        distance = propose(axes, cuts, seeds, tries, cutoff, self.random, s, found)
        return found if distance < np.inf else None
