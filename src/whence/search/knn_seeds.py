"""Explanations found without proof: past and random contexts where the alternative stands, pulled toward the start."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from whence.search.compiling import kernel
from whence.search.knn_axes import CATEGORY, DISCRETE, GAP_HIGH, GAP_LOW, LOWER, START, UPPER, WEIGHT, Axes
from whence.search.knn_box import BUFFER, CHOSEN, HERE, Scratch
from whence.search.knn_cuts import Cuts, order_smallest, satisfied

__all__ = ["Seeds", "standing"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Boxes before the first proposal, and distances that one proposal may compute at random contexts.
FIRST_PROPOSAL = 256
DISTANCES = 100_000

#: Parts of the way to the start that are tried, for all axes at once and for each one; and rounds of that.
SHARES = np.array([1.0, 0.75, 0.5, 0.25, 0.1, 0.03, 0.01, 0.002])
ROUNDS = 30


@kernel
def standing(axes: Axes, cuts: Cuts, contexts: Floats, s: Scratch, stands: Bools) -> None:
    """For every row of `contexts`, along the axes, whether it is an explanation."""
    points, base, kind, k, margin = axes.points, axes.base, axes.kind, axes.k, axes.margin
    n, q = points.shape
    here, buffer, chosen = s.values[HERE], s.values[BUFFER], s.ids[CHOSEN]
    for row in range(contexts.shape[0]):
        for i in range(n):
            total = base[i]
            for j in range(q):
                apart = abs(points[i, j] - contexts[row, j])
                total += min(apart, 1.0) if kind[j] == CATEGORY else apart
            here[i] = buffer[i] = total
        order_smallest(buffer, n, k)
        last, following = -np.inf, np.inf
        for i in range(n):
            if i < k:
                last = max(last, buffer[i])
            else:
                following = min(following, buffer[i])
        stands[row] = following - last >= margin
        if stands[row]:
            count = 0
            for i in range(n):
                if here[i] <= last:
                    chosen[count] = i
                    count += 1
            stands[row] = satisfied(cuts, k, chosen, buffer)


class Seeds:
    """Where to begin: past contexts from the nearest on, and random contexts.

    Attributes
    ----------
    due : int
        Number of boxes after which the next proposal is worth its time.
    """

    def __init__(self, axes: Axes, scratch: Scratch) -> None:
        self.axes, self.scratch = axes, scratch
        self.due = FIRST_PROPOSAL
        self.next = 0
        self.random = np.random.default_rng(0)
        self.order = np.empty(0, dtype=np.int64)
        self.ends = np.inf

    def propose(self, cuts: Cuts, cutoff: float, seconds: float = np.inf) -> Floats | None:
        """An explanation nearer than `cutoff`, along the axes, or None where none was met in so many seconds."""
        self.due *= 2
        self.ends = time.perf_counter() + seconds
        if not self.order.size:
            self.order = np.argsort(self._distance(self._allowed(self.axes.points)), kind="stable")
        tries = max(20, DISTANCES // len(self.axes.base))
        past = self.axes.points[self.order[self.next : self.next + tries]]
        self.next += tries
        near = min(cutoff, self._distance(self.axes.points[self.order[-1:]]).item())
        best: Floats | None = None
        for contexts in (self._allowed(past), self._allowed(self._scattered(tries, near))):
            contexts = contexts[self._standing(cuts, contexts)]
            for at in contexts[np.argsort(self._distance(contexts), kind="stable")[:3]]:
                pulled = self._pulled(cuts, at)
                distance = self._distance(pulled[None, :]).item()
                if distance < cutoff:
                    best, cutoff = pulled, distance
        return best

    def _standing(self, cuts: Cuts, contexts: Floats) -> Bools:
        stands = np.zeros(len(contexts), dtype=np.bool_)
        contexts, many = np.ascontiguousarray(contexts), max(1, DISTANCES // len(self.axes.base))
        for at in range(0, len(contexts), many):
            if time.perf_counter() >= self.ends:
                break
            standing(self.axes, cuts, contexts[at : at + many], self.scratch, stands[at : at + many])
        return stands

    def _distance(self, contexts: Floats) -> Floats:
        """Distance of every context from the start."""
        axes = self.axes
        total = np.zeros(len(contexts))
        for j, kind in enumerate(axes.kind):
            column = contexts[:, j]
            if kind == CATEGORY:
                total += axes.cost[j, column.astype(np.int64)]
            else:
                total += axes.table[WEIGHT, j] * np.abs(column - axes.table[START, j])
        return total

    def _allowed(self, contexts: Floats) -> Floats:
        """Allowed contexts near the given ones."""
        axes, table = self.axes, self.axes.table
        out = np.clip(contexts, table[LOWER], table[UPPER])
        for j, kind in enumerate(axes.kind):
            column = out[:, j]
            if kind == CATEGORY:
                # A category that is not allowed lies beyond the range; the cheapest one takes its place.
                column[contexts[:, j] > table[UPPER, j]] = 0.0
            elif kind == DISCRETE:
                levels = axes.levels[axes.level_at[j] : axes.level_at[j + 1]]
                column[:] = levels[np.abs(column[:, None] - levels).argmin(axis=1)]
            else:
                low, high = table[GAP_LOW, j], table[GAP_HIGH, j]
                inside = (column > low) & (column < high)
                column[inside] = np.where(column[inside] - low < high - column[inside], low, high)
        return out

    def _scattered(self, count: int, radius: float) -> Floats:
        """Random contexts within `radius`, most of them with few axes moved."""
        axes, table, random = self.axes, self.axes.table, self.random
        q = len(axes.kind)
        moved = random.random((count, q)) < 1.0 / random.integers(1, q + 1, (count, 1))
        steps = random.exponential(size=(count, q)) * moved
        steps *= radius * np.sqrt(random.random((count, 1))) / np.maximum(steps.sum(axis=1, keepdims=True), 1e-9)
        signed = steps * random.choice([-1.0, 1.0], (count, q)) / table[WEIGHT]
        categories = np.floor(random.random((count, q)) * (table[UPPER] + 1.0)) * moved
        contexts: Floats = np.where(axes.kind == CATEGORY, categories, table[START] + signed)
        return contexts

    def _pulled(self, cuts: Cuts, at: Floats) -> Floats:
        """`at`, moved toward the start along all axes or one, as long as that leads to nearer explanations."""
        q = len(at)
        which = np.vstack([np.ones((1, q)), np.eye(q)])
        shares = (which[:, None, :] * SHARES[:, None]).reshape(-1, q)
        whole = self.axes.kind == CATEGORY
        distance = self._distance(at[None, :]).item()
        for _ in range(ROUNDS):
            step = np.where(whole, shares == 1.0, shares)
            contexts = self._allowed(at + step * (self.axes.table[START] - at))
            distances = self._distance(contexts)
            stands = self._standing(cuts, contexts) & (distances < distance - 1e-9)
            if not stands.any():
                break
            chosen = np.flatnonzero(stands)[distances[stands].argmin()]
            at, distance = contexts[chosen], distances[chosen]
        return at
