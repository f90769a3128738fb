"""The numeric features of a schema side by side, so that a context of hundreds of them costs a few array steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from whence.errors import InputError
from whence.features.kinds import Binary, Continuous, NumberFeature
from whence.features.number_column import MOST_LISTED, Lattice, NumberColumn, OrderedColumn, interval
from whence.util.aliases import Floats

__all__ = ["Numbers"]


#: What adding a least change may cost, as a share of the numbers.
ROUNDING = 1e-12
#: Types whose values are plain numbers; all others are looked at one by one.
PLAIN = frozenset((float, int, bool))


class Numbers:
    """All numeric features of a schema in the order of their coordinates; `order` names the user's columns."""

    def __init__(self, columns: Sequence[NumberColumn], order: Sequence[str]) -> None:
        self.columns = columns
        place = {name: i for i, name in enumerate(order)}
        self.at = np.array([c.at.start for c in columns], dtype=np.int64)
        self._place = [place[c.name] for c in columns]
        self._index = {c.name: i for i, c in enumerate(columns)}
        self._plain = all(c.plain for c in columns)
        self._ordered = {i: c for i, c in enumerate(columns) if isinstance(c, OrderedColumn)}
        self._binary = np.array([isinstance(c.feature, Binary) for c in columns], dtype=np.bool_)
        self._low = np.array([c.coordinate(c.low) for c in columns])
        self._high = np.array([c.coordinate(c.high) for c in columns])
        self._constant = self._low == self._high
        self._offset, self._scale = np.array([c.offset for c in columns]), np.array([c.scale for c in columns])
        # Whatever may be an end of a feature's range, in the user's units: history and schema.
        ends = [(c.low, c.high, _limit(c, "low"), _limit(c, "high")) for c in columns]
        self._given = np.array(ends, dtype=np.float64).reshape(-1, 4).T
        declared = (self._given[2:] - self._offset) / self._scale
        # Of a number and NaN, both functions give the number.
        self._floor, self._ceiling = np.fmax(declared[0], -np.inf), np.fmin(declared[1], np.inf)
        changes = np.array([c.feature.change for c in columns], dtype=object)
        self._fixed, self._rising, self._falling = (changes == name for name in ("fixed", "increase", "decrease"))
        self._levels = {
            i: np.unique((c.levels - c.offset) / c.scale) for i, c in enumerate(columns) if c.levels is not None
        }
        # Of whole numbers that are not all listed, the first and the last within a limit have to be found.
        self._unlisted = {
            i for i, c in enumerate(columns) if c.levels is not None and c.step is not None and c.levels.size <= c.steps
        }
        self._lattices = {i: c.lattice for i, c in enumerate(columns) if c.lattice is not None}
        self._least = {i: float(least) for i, c in enumerate(columns) if (least := _least(c)) is not None}

    @cached_property
    def free(self) -> bool:
        """Whether every feature may take any value of its range: none is bounded, fixed, one-way or slow to change."""
        held = self._fixed | self._rising | self._falling
        return not (self._least or held.any() or np.isfinite([self._floor, self._ceiling]).any())

    def raw(self, values: Sequence[Any]) -> Floats:
        """The numbers of one context, given the values of all the user's columns; what is no number is refused."""
        own = [values[i] for i in self._place]
        if self._plain and PLAIN.issuperset(map(type, own)):
            raw = np.array(own, dtype=np.float64)
            off = self._binary & (raw != 0.0) & (raw != 1.0)
            if np.isfinite(raw).all() and not off.any():
                return raw
        return np.array([c.raw_row({c.name: v})[0] for c, v in zip(self.columns, own, strict=True)], dtype=np.float64)

    def ranges(
        self,
        start: Floats,
        kept: Collection[str],
        limits: Mapping[str, Any],
        restricted: bool,
        whole: Collection[int] = (),
    ) -> tuple[Floats, Floats, dict[int, Floats]]:
        """Where every number may move besides staying at `start`: lower and upper ends, and levels by coordinate.

        Of the coordinates in `whole`, all levels are needed, not only those beside the thresholds of a forest.
        """
        at = start[self.at]
        floor, ceiling = self._limits(limits, restricted)
        # A constant column has no range of its own: it moves only as far as somebody says.
        low = np.where(self._constant & np.isfinite(floor), np.minimum(self._low, floor), self._low)
        high = np.where(self._constant & np.isfinite(ceiling), np.maximum(self._high, ceiling), self._high)
        lower, upper = np.maximum(np.minimum(low, at), floor), np.minimum(np.maximum(high, at), ceiling)
        if restricted:
            lower = np.where(self._rising, np.maximum(lower, at), lower)
            upper = np.where(self._falling, np.minimum(upper, at), upper)
            held = self._fixed.copy()
            held[[self._index[name] for name in kept if name in self._index]] = True
            lower, upper = np.where(held, at, lower), np.where(held, at, upper)
        empty = lower > upper
        lower, upper = np.where(empty, at, lower), np.where(empty, at, upper)
        levels: dict[int, Floats] = {}
        for i, every in self._levels.items():
            every = self._whole(i) if i in self._unlisted and int(self.at[i]) in whole else every
            inside = every[np.searchsorted(every, lower[i]) : np.searchsorted(every, upper[i], "right")]
            if i in self._unlisted:
                inside = np.union1d(inside, self.columns[i].within(lower[i], upper[i]))
            if i in self._ordered and restricted and limits.get(self.columns[i].name) is not None:
                wanted = self._ordered[i].wanted(limits[self.columns[i].name])
                inside = inside[np.isin(inside, (wanted - self.columns[i].offset) / self.columns[i].scale)]
            allowed = _with(inside, at[i])
            lower[i], upper[i], levels[int(self.at[i])] = allowed[0], allowed[-1], allowed
        for i, lattice in self._lattices.items():
            if int(self.at[i]) in whole:
                lattice = replace(lattice, useful=None)
            self._check_listed(i, lattice, lattice.count(lower[i], upper[i]))
            allowed = _with(lattice.between(lower[i], upper[i]), at[i])
            lower[i], upper[i], levels[int(self.at[i])] = allowed[0], allowed[-1], allowed
        return lower, upper, levels

    def filling(self, name: str, limits: Mapping[str, Any]) -> tuple[float, float, Floats | None]:
        """Return where a missing number may be filled in: between which ends, and at which levels.

        An InputError where the bounds leave nothing of its range.
        """
        i = self._index[name]
        floor, ceiling = self._limits(limits, True)
        lower, upper = max(float(self._low[i]), float(floor[i])), min(float(self._high[i]), float(ceiling[i]))
        every = self._levels.get(i)
        levels = None if every is None else every[(every >= lower) & (every <= upper)]
        if levels is not None and i in self._unlisted:
            levels = np.union1d(levels, self.columns[i].within(lower, upper))
        if i in self._lattices:
            levels = self._lattices[i].between(lower, upper)
        if lower > upper or (levels is not None and not levels.size):
            if limits.get(name) is None:
                raise InputError(
                    f"'fill' must name features with a value to fill in. Got {name!r}, whose steps leave none.",
                    parameter="fill",
                )
            raise InputError(
                f"The 'bounds' of {name!r} must leave a value to fill in. Got {limits.get(name)!r} instead.",
                parameter="bounds",
            )
        # Where the search begins is a value that may be filled in.
        return (lower, upper, None) if levels is None else (float(levels[0]), float(levels[-1]), levels)

    def _whole(self, i: int) -> Floats:
        """Return coordinates of all steps of a discrete feature."""
        column = self.columns[i]
        self._check_listed(i, None, column.steps)
        return np.unique(
            (column.low + float(column.step or 1) * np.arange(column.steps + 1) - column.offset) / column.scale
        )

    def _check_listed(self, i: int, lattice: Lattice | None, count: int) -> None:
        """Refuse to list too many values."""
        if (lattice is None or lattice.useful is None) and count > MOST_LISTED:
            column = self.columns[i]
            raise InputError(
                f"The 'step' of {column.name!r} must leave at most {MOST_LISTED:,} values to choose from, unless the "
                "weights are made of trees and no relation is about it. "
                f"Got {getattr(column.feature, 'step', None)!r}, which leaves {count:,}.",
                parameter="step",
            )

    def gaps(
        self, initial: Floats, lower: Floats, upper: Floats, levels: dict[int, Floats]
    ) -> tuple[Floats, Floats, dict[int, Floats]] | None:
        """Around every start, the ends of what is too small a change, and the levels of `levels` that are left.

        `initial` are the initial values in the user's units, `lower` and `upper` the ends of their coordinates. None
        where every change counts.
        """
        if not self._least:
            return None
        start = (initial - self._offset) / self._scale
        below, above, left = start.copy(), start.copy(), dict(levels)
        for i, least in self._least.items():
            column, j = self.columns[i], int(self.at[i])
            below[i], above[i] = column.coordinate(initial[i] - least), column.coordinate(initial[i] + least)
            # What is typed in that far away is that far away, whatever its last digit says: an end, or a level.
            hair = ROUNDING * max(least, abs(float(initial[i]))) / column.scale
            if below[i] < lower[i] <= below[i] + hair:
                below[i] = lower[i]
            if above[i] - hair <= upper[i] < above[i]:
                above[i] = upper[i]
            if j not in levels:
                continue
            last, first = min(below[i] + hair, upper[i]), max(above[i] - hair, lower[i])
            every = levels[j]
            # A start outside the bounds is an end of the range, but what lies between it and the bounds is not allowed.
            others = every[every != start[i]]
            if others.size and (i in self._unlisted or i in self._lattices):
                between = column.within if i in self._unlisted else self._lattices[i].between
                ends = (others[0], min(last, others[-1])), (max(first, others[0]), others[-1])
                every = np.unique(np.concatenate([every, *(between(*pair) for pair in ends)]))
            left[j] = every[(every <= last) | (every == start[i]) | (every >= first)]
        return below, above, left

    def ends(self, lower: Floats, upper: Floats, initial: Floats, limits: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """Return the values that were given for the ends `lower` and `upper` of every number, in the user's units.

        They come from the history, the initial context, the schema or the call: scaled and back they might be off by a
        last digit. Infinite where an end is none of these.
        """
        given = np.vstack([self._given, initial, np.full((2, initial.size), np.nan)])
        for name, limit in limits.items():
            if name in self._index and limit is not None and self._index[name] not in self._ordered:
                given[-2:, self._index[name]] = interval(name, limit)
        coordinate = (given - self._offset) / self._scale
        least = np.where(coordinate == lower, given, -np.inf).max(axis=0, initial=-np.inf)
        most = np.where(coordinate == upper, given, np.inf).min(axis=0, initial=np.inf)
        return least, most

    def _limits(self, limits: Mapping[str, Any], restricted: bool) -> tuple[Floats, Floats]:
        """Return the schema's and the call's bounds, as coordinates."""
        if not restricted:
            return np.full(self.at.size, -np.inf), np.full(self.at.size, np.inf)
        floor, ceiling = self._floor.copy(), self._ceiling.copy()
        for name, limit in limits.items():
            if name in self._index and limit is not None and self._index[name] not in self._ordered:
                i = self._index[name]
                first, last = map(self.columns[i].coordinate, interval(name, limit))
                floor[i], ceiling[i] = max(floor[i], first), min(ceiling[i], last)
        return floor, ceiling


def _limit(column: NumberColumn, name: str) -> float:
    """Return the end called `name` that the schema declares for a feature, NaN where there is none."""
    declared = getattr(column.feature, name) if isinstance(column.feature, Continuous) else None
    return np.nan if declared is None else float(declared)


def _least(column: NumberColumn) -> float | None:
    """Return the least change of a feature that counts."""
    return column.feature.least_change if isinstance(column.feature, NumberFeature) else None


def _with(levels: Floats, value: float) -> Floats:
    """Return sorted `levels`, and `value` among them."""
    at = int(np.searchsorted(levels, value))
    return levels if at < levels.size and levels[at] == value else np.insert(levels, at, value)
