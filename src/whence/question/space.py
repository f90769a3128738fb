"""Where an explanation may lie: the allowed values of every coordinate, and the distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats

__all__ = ["Space"]


@dataclass(frozen=True)
class Space:
    """Allowed contexts, in coordinates.

    Coordinate j may always keep ``start[j]``. Otherwise it lies in ``[lower[j], upper[j]]``, and at one of
    ``levels[j]`` where those are given. The start may lie outside the interval (a bound that the initial
    context breaks): then the allowed set is the interval and that single point.

    Attributes
    ----------
    start : ndarray of shape (d,)
        The initial context.
    lower, upper : ndarray of shape (d,)
        Interval of every coordinate.
    levels : tuple of (ndarray or None)
        Allowed values of a discrete coordinate, sorted, the start included; None for a continuous one.
    weight : ndarray of shape (d,)
        Weight of every coordinate in the distance.
    group : ndarray of int of shape (d,)
        Coordinates with the same number >= 0 are the levels of one category: exactly one of them is 1/2,
        the others are 0. -1 for numbers.
    ends : pair of ndarray of shape (d,), optional
        The interval in the user's units, where a coordinate says it only up to rounding.
    """

    start: Floats
    lower: Floats
    upper: Floats
    levels: tuple[Floats | None, ...]
    weight: Floats
    group: NDArray[np.int64]
    ends: tuple[Floats, Floats] | None = None

    @cached_property
    def feature(self) -> NDArray[np.int64]:
        """Number of the feature that each coordinate belongs to, counted from 0: a category is one feature."""
        names = np.where(self.group >= 0, self.group + self.start.size, np.arange(self.start.size))
        numbers: NDArray[np.int64] = np.unique(names, return_inverse=True)[1].ravel().astype(np.int64)
        return numbers

    def distance(self, point: Floats) -> float:
        """Weighted L1 distance of `point` from the start."""
        return float(np.abs(point - self.start) @ self.weight)

    def allows(self, point: Floats, slack: float = 1e-9) -> NDArray[np.bool_]:
        """For every coordinate, whether `point` may lie there."""
        inside = (point >= self.lower - slack) & (point <= self.upper + slack)
        for j, levels in enumerate(self.levels):
            if levels is not None:
                inside[j] &= bool((np.abs(levels - point[j]) <= slack).any())
        inside |= np.abs(point - self.start) <= slack
        for g in np.unique(self.group[self.group >= 0]):
            members = self.group == g
            inside[members] &= bool(np.isclose(point[members].sum(), 0.5))
        return inside

    def contains(self, point: Floats, slack: float = 1e-9) -> bool:
        """Whether `point` is an allowed context."""
        return bool(self.allows(point, slack).all())

    def same_as(self, other: Space) -> bool:
        """Whether the same contexts are allowed, given the same start."""
        pairs = [(self.lower, other.lower), (self.upper, other.upper), *zip(self.levels, other.levels, strict=True)]
        return all((a is b) or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
