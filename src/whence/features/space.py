"""Where an explanation may lie: the allowed values of every coordinate, and the distance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.features.relation_trees import Relations
from whence.util.aliases import Floats
from whence.weights.base import InputMap
from whence.weights.plausibility import Isolation, Nearby

#: Why a context is not allowed: where it lies, how unusual it is, or how much changes.
Refusal = Literal["outside", "less usual", "more changes"]


class Part(NamedTuple):
    """Contexts on one side of the farthest point of every circle, seen from a start of their own.

    Their distance is a `fee`, that of the part's start, and what they are away from there.
    """

    space: Space
    fee: float


@dataclass(frozen=True)
class Space:
    """Allowed contexts, in coordinates.

    Coordinate j may always keep ``start[j]``. Otherwise it lies in ``[lower[j], upper[j]]``, and at one of
    ``levels[j]`` where those are given. The start may lie outside the interval (a bound that the initial
    context breaks): then the allowed set is the interval and that single point. Arrays have an entry per coordinate.
    """

    #: The initial context.
    start: Floats
    #: Interval of every coordinate.
    lower: Floats
    upper: Floats
    #: Allowed values of a discrete coordinate, sorted, the start included; None for a continuous one.
    levels: tuple[Floats | None, ...]
    #: Weight of every coordinate in the distance.
    weight: Floats
    #: Coordinates with the same number >= 0 are the levels of one category: exactly one of them is 1/2, the others are
    #: 0. It is -1 for numbers.
    group: NDArray[np.int64]
    #: The interval in the user's units, where a coordinate says it only up to rounding.
    ends: tuple[Floats, Floats] | None = None
    #: Nothing but the start is allowed strictly between the two, which lie on either side of it: a change that is too
    #: small to count. Levels in it are left out already.
    gap: tuple[Floats, Floats] | None = None
    #: Coordinates that go round, with their period: the distance is the short way.
    circles: Mapping[int, float] = field(default_factory=dict)
    #: The same without the gap, where there is one.
    everywhere: Space | None = None
    #: What must hold between the coordinates of any other context than the start.
    rules: Relations | None = None
    #: The initial context in the user's units, a category by 0 and 1, what is missing by NaN.
    initial: Floats | None = None
    #: What a coordinate costs however far it moves: for a number that is missing and is filled in.
    fee: Floats | None = None
    #: Which coordinates belong to one feature, where more than the levels of a category do: the parts of a date.
    owner: NDArray[np.int64] | None = None
    #: By the first coordinate of every date: the first and the last day that may be suggested.
    days: Mapping[int, tuple[date, date]] = field(default_factory=dict)
    #: How many features may change, and which never together.
    few: ChangeLimit | None = None
    #: Which contexts look enough like past ones to count.
    plausibility: Isolation | Nearby | None = None

    @cached_property
    def feature(self) -> NDArray[np.int64]:
        """Number of the feature that each coordinate belongs to, counted from 0: a category is one feature."""
        names = np.where(self.group >= 0, self.group + self.start.size, np.arange(self.start.size))
        if self.owner is not None:
            names = self.owner
        return np.unique(names, return_inverse=True)[1].ravel().astype(np.int64)

    def distance(self, point: Floats) -> float:
        """Return the weighted L1 distance of `point` from the start, and what is paid for filling in."""
        fee = 0.0 if self.fee is None else float(self.fee.sum())
        if not self.circles:
            return float(np.abs(point - self.start) @ self.weight) + fee
        return float(self.moved(point).sum())

    def moved(self, point: Floats) -> Floats:
        """Return what every coordinate adds to the distance of `point`."""
        moved: Floats = np.abs(point - self.start) * self.weight
        for j in self.circles:
            moved[j] = self.away(j, point[j : j + 1])[0]
        return moved if self.fee is None else moved + self.fee

    def away(self, j: int, values: Floats) -> Floats:
        """Return the distance of values of coordinate `j` from the start."""
        start = self.start[j : j + 1]
        along: Floats = np.abs(values - start)
        if j in self.circles:
            along = np.minimum(along, np.abs(self.circles[j] - along))
        away: Floats = along * self.weight[j]
        return away

    def parts(self, one_axis: bool = False) -> list[Part]:
        """Return parts of this space without circles, the one around the start first: each of them is a line.

        With `one_axis`, a limit on changes is one on axes: in every part, a feature of several axes, such as a date,
        stays as it is or is counted as changed.
        """
        found = self._lines() if self.circles else [Part(self, 0.0)]
        if one_axis and self.few is not None and self.several:
            found = [Part(space, part.fee) for part in found for space in part.space._counted()]
        return found

    def _lines(self) -> list[Part]:
        """Return the parts on either side of every circle, nearest first; going round is a change."""
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
            few = None if self.few is None else self.few.filling(set(changed))
            if few is not None or self.few is None:
                ends: dict[str, Any] = {
                    "start": start,
                    "lower": lower,
                    "upper": upper,
                    "levels": tuple(levels),
                    "initial": initial,
                }
                found.append(Part(replace(self, **ends, circles={}, few=few), fee))
        return sorted(found, key=lambda part: part.fee)

    def _counted(self) -> Iterator[Space]:
        """Yield the space with every feature of several axes held, or counted as changed."""
        few = self.few
        assert few is not None
        several = self.several
        for changed in product((False, True), repeat=len(several)):
            left = few.filling({f for f, does in zip(several, changed, strict=True) if does})
            if left is not None:
                yield replace(self._held([f for f, does in zip(several, changed, strict=True) if not does]), few=left)

    @property
    def several(self) -> list[int]:
        """Return the features, by the numbers of `feature`, that are several axes and count; a category is one."""
        free = frozenset() if self.few is None else self.few.free
        axis = np.where(self.group >= 0, self.group + self.start.size, np.arange(self.start.size))
        every = np.unique(self.feature).tolist()
        return [f for f in every if f not in free and np.unique(axis[self.feature == f]).size > 1]

    def _held(self, features: list[int]) -> Space:
        """Return the space in which these features stay as they are."""
        held = np.isin(self.feature, features)
        levels = tuple(
            self.start[j : j + 1] if held[j] and levels is not None else levels for j, levels in enumerate(self.levels)
        )
        lower, upper = np.where(held, self.start, self.lower), np.where(held, self.start, self.upper)
        return replace(self, lower=lower, upper=upper, levels=levels) if features else self

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
        """Return the intervals, one or two, in which a continuous coordinate may lie besides at its start."""
        low, high = float(self.lower[j]), float(self.upper[j])
        if self.gap is None or self.gap[0][j] >= self.gap[1][j]:
            return [(low, high)] if low <= high else []
        parts = [(low, min(high, float(self.gap[0][j]))), (max(low, float(self.gap[1][j])), high)]
        return [part for part in parts if part[0] <= part[1]]

    def among(self, j: int, places: Floats) -> Floats:
        """Return, ascending, the start, the ends of the pieces, and those of some places that lie in one of them."""
        found = [self.start[j : j + 1]]
        for low, high in self.pieces(j):
            found += [np.array([low, high]), places[(places >= low) & (places <= high)]]
        return np.unique(np.concatenate(found))

    def allows(self, point: Floats, slack: float = 1e-9) -> NDArray[np.bool_]:
        """Return, for every coordinate, whether `point` may lie there."""
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

    def allows_level(self, at: NDArray[np.int64], j: int) -> bool:
        """Return whether the category with the coordinates `at` may be at level `j`."""
        point = self.start.copy()
        point[at], point[j] = 0.0, 0.5
        return bool(self.allows(point)[at].all())

    def contains(self, point: Floats, slack: float = 1e-9) -> bool:
        """Return whether `point` is an allowed context."""
        return self.refusal(point, slack) is None

    def keeps_rules(self, point: Floats) -> bool:
        """Return whether `point`, wherever its coordinates lie, keeps what is asked of them together."""
        return self._broken_rule(point) is None

    def refusal(self, point: Floats, slack: float = 1e-9) -> Refusal | None:
        """Return why `point` is no allowed context, None where it is one."""
        return self._broken_rule(point) if bool(self.allows(point, slack).all()) else "outside"

    def _broken_rule(self, point: Floats) -> Refusal | None:
        if self.rules is not None and not self.rules.keeps(point):
            return "outside"
        if self.plausibility is not None and not self.plausibility.accepts(point):
            return "less usual"
        return "more changes" if self.few is not None and not self.few.accepts(self, point) else None

    def same_as(self, other: Space) -> bool:
        """Return whether the same contexts are allowed, given the same start."""
        pairs = [(self.lower, other.lower), (self.upper, other.upper), *zip(self.levels, other.levels, strict=True)]
        same = all((a is b) or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
        return same and (self.gap is None) == (other.gap is None) and dict(self.days) == dict(other.days)


@dataclass(frozen=True)
class ChangeLimit:
    """How many features of a context may differ from the start, and which never do so together."""

    #: This many features may change.
    most: int
    #: Sets of features, by the numbers that ``Space.feature`` gives them, that must not all change.
    barred: tuple[tuple[int, ...], ...] = ()
    #: Features that do not count: what follows from another feature changes with it, and what is filled in has no value
    #: to stay at and has been counted before.
    free: frozenset[int] = frozenset()

    def accepts(self, space: Space, point: Floats) -> bool:
        """Return whether the features that `point` changes may change together."""
        return self.allows(set(np.unique(space.feature[point != space.start]).tolist()))

    def allows(self, changed: Set[int]) -> bool:
        """Return whether exactly these features may change together."""
        return len(changed - self.free) <= self.most and not any(set(one) <= changed for one in self.barred)

    def filling(self, filled: Set[int]) -> ChangeLimit | None:
        """What is left to change where some features are filled in, each of them a change; None where it is too much.

        >>> ChangeLimit(2, ((0, 1), (2, 3))).filling({0})
        ChangeLimit(most=1, barred=((1,), (2, 3)), free=frozenset({0}))
        >>> ChangeLimit(2, ((0, 1),)).filling({0, 1}) is None
        True
        """
        more = filled - self.free
        barred = tuple(tuple(f for f in one if f not in more) for one in self.barred)
        if len(more) > self.most or () in barred:
            return None
        return ChangeLimit(self.most - len(more), barred, self.free | more)


class SpaceBuilder:
    """Between what ends, at which levels and for what fee every coordinate may move away from `start`.

    Coordinates that are `gone` are those of missing numbers, which stay missing unless they are filled in.
    """

    def __init__(self, start: Floats, gone: NDArray[np.bool_], weight: Floats) -> None:
        self.start, self.gone, self.weight = start, gone, weight.copy()
        self.lower, self.upper = start.copy(), start.copy()
        self.least, self.most = np.full(start.size, -np.inf), np.full(start.size, np.inf)
        self.levels: list[Floats | None] = [None] * start.size
        self.fee: Floats | None = None

    def numbers(self, at: NDArray[np.int64], lower: Floats, upper: Floats, levels: Mapping[int, Floats]) -> None:
        """Let numbers at these coordinates move between these ends, some of them at levels alone."""
        self.lower[at], self.upper[at] = lower, upper
        # What is missing stays so.
        self.lower[self.gone], self.upper[self.gone] = self.start[self.gone], self.start[self.gone]
        for j, values in levels.items():
            self.levels[j] = None if self.gone[j] else values

    def fill(self, j: int, lower: float, upper: float, levels: Floats | None) -> None:
        """Let the missing number at coordinate `j` be filled in, for its weight whatever it becomes."""
        self.lower[j], self.upper[j], self.levels[j] = lower, upper, levels
        self.fee = np.zeros(self.start.size) if self.fee is None else self.fee
        self.start[j], self.fee[j], self.weight[j] = lower, self.weight[j], 0.0

    def category(self, at: slice, allowed: Iterable[tuple[float, float, Floats | None]]) -> None:
        """Add a category at these coordinates, level by level."""
        for j, one in enumerate(allowed, start=at.start):
            self.lower[j], self.upper[j], self.levels[j] = one

    def space(
        self,
        more: Mapping[str, Any],
        at: NDArray[np.int64],
        gaps: tuple[Floats, Floats, Mapping[int, Floats]] | None,
    ) -> Space:
        """The space of all this and `more`; of numbers at coordinates `at` without `gaps`, the changes too small."""
        given: dict[str, Any] = {"weight": self.weight, "ends": (self.least, self.most), "fee": self.fee, **more}
        everywhere = Space(self.start, self.lower, self.upper, tuple(self.levels), **given)
        if gaps is None:
            return everywhere
        below, above = self.start.copy(), self.start.copy()
        below[at], above[at], left = gaps
        below[self.gone], above[self.gone] = self.start[self.gone], self.start[self.gone]
        for j, values in left.items():
            self.levels[j] = self.levels[j] if self.gone[j] else values
        levels = tuple(self.levels)
        return Space(self.start, self.lower, self.upper, levels, **given, gap=(below, above), everywhere=everywhere)


def settled(
    space: Space, inputs: InputMap, column: NDArray[np.int64], last: Floats, below: Floats, beyond: Floats
) -> tuple[Floats, Floats]:
    """The ends of every turn, those settled on which a number of the question lies, to its coordinate's last digit.

    Two numbers of the user may have one coordinate, and a threshold lie between them: 0 and the smallest number above
    it, for instance, once something was added to both. What counts then is which of them the question names. Of each
    turn, `column` is the estimator's column, `last` the last number before it in the estimator's units, and `below` and
    `beyond` are the last coordinate before it and the first beyond it, as ``InputMap.turns`` gives them.
    """
    between = np.nextafter(below, np.inf)
    at = inputs.coordinate[column]
    named = np.array([levels is not None for levels in space.levels])[at]
    for values in (space.start, space.lower, space.upper):
        named |= values[at] == between
    # 0 is a number of its own for many a model, and what a context is given at its coordinate.
    zero = -inputs.offset[column] / inputs.scale[column]
    named |= zero == between
    unsure = np.flatnonzero(named & (np.nextafter(between, np.inf) == beyond))
    if not unsure.size:
        return below, beyond
    below, beyond = below.copy(), beyond.copy()
    for k in unsure.tolist():
        c = int(column[k])
        number = _number_at(space, int(at[k]), float(between[k]), float(inputs.scale[c]), float(inputs.offset[c]))
        if number is None:
            continue
        if number <= last[k]:
            below[k] = between[k]
        else:
            beyond[k] = between[k]
    return below, beyond


def _number_at(space: Space, q: int, at: float, scale: float, offset: float) -> float | None:
    """The number, in the user's units, that the question names at coordinate `at` of column `q`; None for none."""
    if space.start[q] == at and space.initial is not None and not np.isnan(space.initial[q]):
        return float(space.initial[q])
    for end, coordinate in enumerate((space.lower[q], space.upper[q])):
        if coordinate == at and space.ends is not None and np.isfinite(space.ends[end][q]):
            return float(space.ends[end][q])
    levels = space.levels[q]
    if (0.0 - offset) / scale == at:
        return 0.0
    if at not in (space.lower[q], space.upper[q]) and (levels is None or at not in levels):
        return None
    # Such numbers are written with few digits: what is meant is the shortest one.
    near = at * scale + offset
    for digits in range(16):
        short = round(near, digits)
        if (short - offset) / scale == at:
            return short
    return near
