"""Where an explanation may lie: the allowed values of every coordinate, and the distance."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.features.coordinate_relations import Relations
from whence.util.aliases import Floats
from whence.weights.plausibility import Isolation, Nearby

__all__ = ["Few", "Part", "Space"]


class Part(NamedTuple):
    """Contexts on one side of the farthest point of every circle, seen from a start of their own.

    Their distance is a `fee`, that of the part's start, and what they are away from there; `changed` are the features,
    by the numbers of ``Space.feature``, that differ from the true start in all of them.
    """

    space: Space
    fee: float
    changed: tuple[int, ...]


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
    initial : ndarray of shape (d,), optional
        The initial context in the user's units, a category by 0 and 1, what is missing by NaN.
    fee : ndarray of shape (d,), optional
        What a coordinate costs however far it moves: for a number that is missing and is filled in.
    gap : pair of ndarray of shape (d,), optional
        Nothing but the start is allowed strictly between the two, which lie on either side of it: a change that is
        too small to count. Levels in it are left out already.
    circles : mapping from coordinate to float, optional
        Coordinates that go round, with their period: the distance is the short way.
    everywhere : Space, optional
        The same without the gap, where there is one.
    relations : Relations, optional
        What must hold between the coordinates of any other context than the start.
    owner : ndarray of int of shape (d,), optional
        Which coordinates belong to one feature, where more than the levels of a category do: the parts of a date.
    days : mapping from coordinate to pair of dates, optional
        By the first coordinate of every date: the first and the last day that may be suggested.
    few : Few, optional
        How many features may change, and which never together.
    plausible : Isolation or Nearby, optional
        Which contexts look enough like past ones to count.
    """

    start: Floats
    lower: Floats
    upper: Floats
    levels: tuple[Floats | None, ...]
    weight: Floats
    group: NDArray[np.int64]
    ends: tuple[Floats, Floats] | None = None
    gap: tuple[Floats, Floats] | None = None
    circles: Mapping[int, float] = field(default_factory=dict)
    everywhere: Space | None = None
    relations: Relations | None = None
    initial: Floats | None = None
    fee: Floats | None = None
    owner: NDArray[np.int64] | None = None
    days: Mapping[int, tuple[date, date]] = field(default_factory=dict)
    few: Few | None = None
    plausible: Isolation | Nearby | None = None

    @cached_property
    def feature(self) -> NDArray[np.int64]:
        """Number of the feature that each coordinate belongs to, counted from 0: a category is one feature."""
        names = np.where(self.group >= 0, self.group + self.start.size, np.arange(self.start.size))
        if self.owner is not None:
            names = self.owner
        numbers: NDArray[np.int64] = np.unique(names, return_inverse=True)[1].ravel().astype(np.int64)
        return numbers

    def distance(self, point: Floats) -> float:
        """Weighted L1 distance of `point` from the start, and what is paid for filling in."""
        fee = 0.0 if self.fee is None else float(self.fee.sum())
        if not self.circles:
            return float(np.abs(point - self.start) @ self.weight) + fee
        return float(self.moved(point).sum())

    def moved(self, point: Floats) -> Floats:
        """What every coordinate adds to the distance of `point`."""
        moved: Floats = np.abs(point - self.start) * self.weight
        for j in self.circles:
            moved[j] = self.away(j, point[j : j + 1])[0]
        return moved if self.fee is None else moved + self.fee

    def away(self, j: int, values: Floats) -> Floats:
        """Distance of values of coordinate `j` from the start."""
        start = self.start[j : j + 1]
        along: Floats = np.abs(values - start)
        if j in self.circles:
            along = np.minimum(along, np.abs(self.circles[j] - along))
        away: Floats = along * self.weight[j]
        return away

    @cached_property
    def parts(self) -> list[Part]:
        """This space in parts without circles, the one around the start first: in each, distances grow as on a line."""
        around = [j for j in self.circles if self.lower[j] < self.upper[j] or self.start[j] != self.lower[j]]
        found = []
        for ways in product(*(self._ways(j) for j in around)):
            start, lower, upper, levels = self.start.copy(), self.lower.copy(), self.upper.copy(), list(self.levels)
            initial = None if self.initial is None else self.initial.copy()
            fee, changed = 0.0, []
            for j, way in zip(around, ways, strict=True):
                start[j], lower[j], upper[j], levels[j] = way
                if start[j] != self.start[j]:
                    fee += float(self.away(j, start[j : j + 1])[0])
                    changed.append(int(self.feature[j]))
                    if initial is not None:
                        initial[j] = np.nan
            line = replace(
                self, start=start, lower=lower, upper=upper, levels=tuple(levels), initial=initial, circles={}
            )
            found.append(Part(line, fee, tuple(changed)))
        return sorted(found, key=lambda part: part.fee)

    def _ways(self, j: int) -> list[tuple[float, float, float, Floats | None]]:
        """Start, ends and levels of a circle on the near side of its start, and of what is reached by going round."""
        start, low, high, levels = float(self.start[j]), float(self.lower[j]), float(self.upper[j]), self.levels[j]
        # As far as one can be from the start; at most one of the two is on the line.
        below, above = start - 0.5 * self.circles[j], start + 0.5 * self.circles[j]
        if levels is not None:
            near = levels[(levels >= below) & (levels <= above) | (levels == start)]
            beyond = [levels[levels < below], levels[levels > above][::-1]]
            ways: list[tuple[float, float, float, Floats | None]] = [(start, float(near[0]), float(near[-1]), near)]
            ways += [(float(far[0]), float(far.min()), float(far.max()), np.sort(far)) for far in beyond if far.size]
            return ways
        first, last = max(low, below), min(high, above)
        ways = [(start, first, last, None) if first <= last else (start, start, start, None)]
        if low < below:
            ways.append((low, low, min(high, below), None))
        if high > above:
            ways.append((high, max(low, above), high, None))
        return ways

    def pieces(self, j: int) -> list[tuple[float, float]]:
        """The intervals, one or two, in which a continuous coordinate may lie besides at its start."""
        low, high = float(self.lower[j]), float(self.upper[j])
        if self.gap is None or self.gap[0][j] >= self.gap[1][j]:
            return [(low, high)] if low <= high else []
        parts = [(low, min(high, float(self.gap[0][j]))), (max(low, float(self.gap[1][j])), high)]
        return [part for part in parts if part[0] <= part[1]]

    def allows(self, point: Floats, slack: float = 1e-9) -> NDArray[np.bool_]:
        """For every coordinate, whether `point` may lie there."""
        inside = (point >= self.lower - slack) & (point <= self.upper + slack)
        for j, levels in enumerate(self.levels):
            if levels is not None:
                inside[j] &= bool((np.abs(levels - point[j]) <= slack).any())
        if self.gap is not None:
            inside &= (point <= self.gap[0] + slack) | (point >= self.gap[1] - slack)
        inside |= np.abs(point - self.start) <= slack
        for g in np.unique(self.group[self.group >= 0]):
            members = self.group == g
            inside[members] &= bool(np.isclose(point[members].sum(), 0.5))
        return inside

    def contains(self, point: Floats, slack: float = 1e-9) -> bool:
        """Whether `point` is an allowed context."""
        return bool(self.allows(point, slack).all()) and (self.relations is None or self.relations.keeps(point))

    def same_as(self, other: Space) -> bool:
        """Whether the same contexts are allowed, given the same start."""
        pairs = [(self.lower, other.lower), (self.upper, other.upper), *zip(self.levels, other.levels, strict=True)]
        same = all((a is b) or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
        return same and (self.gap is None) == (other.gap is None) and dict(self.days) == dict(other.days)


@dataclass(frozen=True)
class Few:
    """How many features of a context may differ from the start, and which never do so together.

    Attributes
    ----------
    most : int
        So many features may change.
    barred : tuple of tuple of int
        Sets of features, by the numbers that ``Space.feature`` gives them, that must not all change.
    free : frozenset of int
        Features that do not count: what is filled in has no value to stay at, and has been counted before.
    """

    most: int
    barred: tuple[tuple[int, ...], ...] = ()
    free: frozenset[int] = frozenset()

    def accepts(self, space: Space, point: Floats) -> bool:
        """Whether the features that `point` changes may change together."""
        return self.allows(set(np.unique(space.feature[point != space.start]).tolist()))

    def allows(self, changed: Set[int]) -> bool:
        """Whether exactly these features may change together."""
        return len(changed - self.free) <= self.most and not any(set(one) <= changed for one in self.barred)

    def filling(self, filled: Set[int]) -> Few | None:
        """What is left to change where some features are filled in, each of them a change; None where it is too much.

        Examples
        --------
        >>> Few(2, ((0, 1), (2, 3))).filling({0})
        Few(most=1, barred=((1,), (2, 3)), free=frozenset({0}))
        >>> Few(2, ((0, 1),)).filling({0, 1}) is None
        True
        """
        more = filled - self.free
        barred = tuple(tuple(f for f in one if f not in more) for one in self.barred)
        if len(more) > self.most or () in barred:
            return None
        return Few(self.most - len(more), barred, self.free | more)
