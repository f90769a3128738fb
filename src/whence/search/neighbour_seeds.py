"""Explanations found without proof: past and random contexts where the alternative stands, pulled toward the start."""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from whence._core import AxisKind
from whence.search.neighbour_axes import Axes
from whence.settings import SearchSettings
from whence.util.aliases import Floats

__all__ = ["Seeds"]


#: Parts of the way to the start that are tried, for all axes at once and for each one; and rounds of that.
SHARES = np.array([1.0, 0.75, 0.5, 0.25, 0.1, 0.03, 0.01, 0.002])


class Standing(Protocol):
    """A search that says which contexts, along the axes, are explanations."""

    def standing(self, contexts: Floats) -> NDArray[np.bool_]:
        """For every context, whether it is one."""
        ...


class Seeds:
    """Where to begin: past contexts from the nearest on, and random contexts.

    Attributes
    ----------
    due : int
        Number of boxes after which the next proposal is worth its time.
    """

    def __init__(self, axes: Axes, search: Standing, settings: SearchSettings, most: int | None = None) -> None:
        self.axes, self.search, self.settings = axes, search, settings
        #: How many axes may differ from the start, where that is limited.
        self.most = most
        self.start = np.array([axis.start for axis in axes.each])
        self.weight = np.array([axis.weight for axis in axes.each])
        self.lower = np.array([axis.lower for axis in axes.each])
        self.upper = np.array([axis.upper for axis in axes.each])
        self.whole = np.array([axis.kind is AxisKind.CATEGORY for axis in axes.each], dtype=np.bool_)
        self.due = self.settings.seeds_from
        self.next = 0
        self.random = np.random.default_rng(0)
        self.order = np.empty(0, dtype=np.int64)
        self.ends = np.inf

    def propose(self, cutoff: float, seconds: float = np.inf) -> Floats | None:
        """An explanation nearer than `cutoff`, along the axes, or None where none was met in this many seconds."""
        self.due *= 2
        self.ends = time.perf_counter() + seconds
        if not self.order.size:
            self.order = np.argsort(self._distance(self._allowed(self.axes.points)), kind="stable")
        tries = max(20, self.settings.seed_distances // len(self.axes.base))
        past = self.axes.points[self.order[self.next : self.next + tries]]
        self.next += tries
        near = min(cutoff, self._distance(self.axes.points[self.order[-1:]]).item())
        best: Floats | None = None
        for contexts in (self._allowed(past), self._allowed(self._scattered(tries, near))):
            contexts = self._few(contexts)
            contexts = contexts[self._standing(contexts)]
            for at in contexts[np.argsort(self._distance(contexts), kind="stable")[:3]]:
                pulled = self._pulled(at)
                distance = self._distance(pulled[None, :]).item()
                if distance < cutoff:
                    best, cutoff = pulled, distance
        return best

    def _standing(self, contexts: Floats) -> NDArray[np.bool_]:
        """Which contexts are explanations; those that are not looked at in time count as none."""
        stands = np.zeros(len(contexts), dtype=np.bool_)
        contexts, many = np.ascontiguousarray(contexts), max(1, self.settings.seed_distances // len(self.axes.base))
        for at in range(0, len(contexts), many):
            if time.perf_counter() >= self.ends:
                break
            stands[at : at + many] = self.search.standing(contexts[at : at + many])
        return stands

    def _distance(self, contexts: Floats) -> Floats:
        """Distance of every context from the start."""
        total = np.zeros(len(contexts))
        for j, axis in enumerate(self.axes.each):
            column = contexts[:, j]
            if axis.kind is AxisKind.CATEGORY:
                total += axis.costs[column.astype(np.int64)]
            else:
                total += axis.far(np.ascontiguousarray(column))
        return total

    def _allowed(self, contexts: Floats) -> Floats:
        """Allowed contexts near the given ones."""
        out: Floats = np.clip(np.ascontiguousarray(contexts), self.lower, self.upper)
        for j, axis in enumerate(self.axes.each):
            column = out[:, j]
            if axis.kind is AxisKind.CATEGORY:
                # A category that is not allowed lies beyond the range; the cheapest one takes its place.
                column[contexts[:, j] > axis.upper] = 0.0
            elif axis.kind is AxisKind.DISCRETE:
                levels = axis.levels
                above = np.clip(np.searchsorted(levels, column), 1, levels.size - 1)
                below = above - (column - levels[above - 1] <= levels[above] - column)
                column[:] = levels[below]
            else:
                for low, high in axis.gaps.tolist():
                    inside = (column > low) & (column < high)
                    column[inside] = np.where(column[inside] - low < high - column[inside], low, high)
        return out

    def _few(self, contexts: Floats) -> Floats:
        """The contexts with as many axes at the start as have to be, drawn by lot."""
        if self.most is None:
            return contexts
        lots = np.where(contexts != self.start, self.random.random(contexts.shape), -1.0)
        last = np.argsort(lots, axis=1)[:, : max(0, contexts.shape[1] - self.most)]
        few = contexts.copy()
        few[np.arange(len(few))[:, None], last] = self.start[last]
        return few

    def _scattered(self, count: int, radius: float) -> Floats:
        """Random contexts within `radius`, most of them with few axes moved."""
        random, q = self.random, len(self.axes.each)
        moved = random.random((count, q)) < 1.0 / random.integers(1, q + 1, (count, 1))
        steps = random.exponential(size=(count, q)) * moved
        steps *= radius * np.sqrt(random.random((count, 1))) / np.maximum(steps.sum(axis=1, keepdims=True), 1e-9)
        signed = steps * random.choice([-1.0, 1.0], (count, q)) / self.weight
        categories = np.floor(random.random((count, q)) * (self.upper + 1.0)) * moved
        contexts: Floats = np.where(self.whole, categories, self.start + signed)
        return contexts

    def _pulled(self, at: Floats) -> Floats:
        """`at`, moved toward the start along all axes or one, as long as that leads to nearer explanations."""
        q = len(at)
        which = np.vstack([np.ones((1, q)), np.eye(q)])
        shares = (which[:, None, :] * SHARES[:, None]).reshape(-1, q)
        distance = self._distance(at[None, :]).item()
        for _ in range(self.settings.seed_rounds):
            step = np.where(self.whole, shares == 1.0, shares)
            contexts = self._allowed(at + step * (self.start - at))
            distances = self._distance(contexts)
            stands = self._standing(contexts) & (distances < distance - 1e-9)
            if not stands.any():
                break
            chosen = np.flatnonzero(stands)[distances[stands].argmin()]
            at, distance = contexts[chosen], distances[chosen]
        return at
