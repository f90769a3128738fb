"""Coordinates: a context in the user's units becomes a point, for the engines, and a point a context again.

Numeric features stand side by side, so that a context of hundreds of them costs a few array steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError, NotFittedError
from whence.features.columns import CategoryColumn, Column, Unknown
from whence.features.dates import Calendar, DateColumn
from whence.features.kinds import Binary, Continuous, NumberFeature
from whence.features.number_column import MOST_LISTED, Lattice, NumberColumn, OrderedColumn, interval
from whence.features.relation_text import Movable, kept_exactly
from whence.features.relation_trees import Relations
from whence.util.aliases import Floats
from whence.util.frames import as_row, as_table, numbers
from whence.util.text import nearest
from whence.weights.base import Capabilities, SeenColumn

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
                    f"'fill' must name features with a value to fill in. Got {name!r}, whose steps leave none."
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


#: By how much a number may be moved so that rules hold to the last digit, in ranges.
NEAR = 1e-8
#: The coordinate of a missing number: outside every range, and none that a number would have.
NOWHERE = -1.6180339887498949


class Coordinates:
    """Fitted features and their coordinates: what of a :class:`whence.Schema` carries contexts there and back."""

    def __init__(self) -> None:
        self._columns: dict[str, Column] = {}
        self._missing = False
        self._order: tuple[str, ...] = ()
        self._offset, self._scale, self._weight = np.zeros(0), np.ones(0), np.ones(0)
        self._feature_at, self._group, self._column_at = (np.zeros(0, dtype=np.int64) for _ in range(3))
        self._numbers, self._categories = Numbers([], []), list[CategoryColumn]()
        self._circles: dict[int, float] = {}
        self._calendar = Calendar([], [])

    @property
    def derived(self) -> list[str]:
        """Features that follow from others."""
        return []

    def _lay_out(self, coordinates: int) -> None:
        """Put what every question asks of the features into arrays, once."""
        whole = list(self._columns.values())
        self._feature_at = np.repeat(np.arange(len(whole)), [c.at.stop - c.at.start for c in whole])
        place = {name: c.at.start + i for c in whole for i, name in enumerate(c.columns)}
        self._column_at = np.array([place[name] for name in self._order], dtype=np.int64)
        self._calendar = Calendar([c for c in whole if isinstance(c, DateColumn)], self._order)
        columns = list(self._parts().values())
        self._numbers = Numbers([c for c in columns if isinstance(c, NumberColumn)], self._calendar.names)
        self._categories = [c for c in columns if isinstance(c, CategoryColumn)]
        widths = [c.at.stop - c.at.start for c in columns]
        self._offset, self._scale = np.repeat([(c.offset, c.scale) for c in columns], widths, axis=0).T.copy()
        units = [c.unit if isinstance(c, NumberColumn) else 1.0 for c in columns]
        self._weight = np.repeat([float(c.feature.weight) / u for c, u in zip(columns, units, strict=True)], widths)
        for name in self.derived:
            # It comes for free with the feature that it follows from.
            self._weight[self._columns[name].at] = 0.0
        self._circles = {c.at.start: c.circle for c in self._numbers.columns if c.circle is not None}
        self._group = np.full(coordinates, -1, dtype=np.int64)
        for column in self._categories:
            self._group[column.at] = self._feature_at[column.at]

    def _parts(self) -> dict[str, Column]:
        """Return the features by name, dates by their parts."""
        inner = (c.parts if isinstance(c, DateColumn) else (c,) for c in self._columns.values())
        return {column.name: column for some in inner for column in some}

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return list(self._columns)

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the user's table."""
        return list(self._order)

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates (a category has one per level)."""
        return int(self._offset.size)

    @property
    def coordinate_names(self) -> list[str]:
        """A name for every coordinate."""
        levels = {c.name: [f"{c.name}={level}" for level in c.categories] for c in self._categories}
        return [label for name in self._parts() for label in levels.get(name, [name])]

    def feature_of_coordinate(self) -> list[str]:
        """Name of the feature that each coordinate belongs to."""
        names = self.names
        return [names[i] for i in self._feature_at.tolist()]

    def coordinate_of_column(self) -> NDArray[np.int64]:
        """Return, for every column of the user's table (all of them numbers), its coordinate."""
        return self._column_at

    def seen_columns(self) -> list[SeenColumn]:
        """Return the columns of the user's table."""
        named = {c.name: c.categories for c in self._categories if c.types is None}
        return [
            SeenColumn(name, j, named.get(name)) for name, j in zip(self._order, self._column_at.tolist(), strict=True)
        ]

    def affine(self) -> tuple[Floats, Floats]:
        """Return the offset and scale of every coordinate: ``coordinate = (raw - offset) / scale``."""
        return self._offset.copy(), self._scale.copy()

    def by_feature(self, amounts: Floats) -> dict[str, float]:
        """Return the sum of `amounts`, one per coordinate, over every feature for which it is above 0."""
        sums = np.bincount(self._feature_at, amounts)
        names = self.names
        return {names[i]: float(sums[i]) for i in np.flatnonzero(sums > 0.0).tolist()}

    def _check_fitted(self) -> None:
        if not self._columns:
            raise NotFittedError("This Schema is not fitted yet; call 'fit' with a table of contexts first.")

    def _column(self, name: str, argument: str = "name") -> Column:
        try:
            return self._columns[str(name)]
        except KeyError:
            known, hint = ", ".join(map(repr, self.names)), nearest(str(name), self.names)
            said = f"{argument!r} must name features among {known}. Got {name!r} instead.{hint}"
            raise InputError(said, parameter=argument) from None

    # ---- units to coordinates ----------------------------------------------------------------

    def encode(self, X: Any, unknown: Unknown = "error") -> Floats:
        """Return coordinates of every row of `X`, as an array of shape (rows, n_coordinates).

        A category that the history has not seen is an error, or with ``unknown="ignore"`` none of the known ones: all
        its coordinates are 0. A number that is missing, where it may be, has a coordinate that no other number has.
        """
        return self._placed(self.coordinates_shown(X, unknown))

    def coordinates_shown(self, X: Any, unknown: Unknown = "error") -> Floats:
        """Return coordinates as an estimator sees them: those of missing numbers are NaN."""
        self._check_fitted()
        table = self._table(X)
        raw = np.hstack([column.raw(table, unknown) for column in self._columns.values()])
        return (raw - self._offset) / self._scale

    def _placed(self, coordinates: Floats) -> Floats:
        """Return coordinates with a number in every place."""
        return np.where(np.isnan(coordinates), NOWHERE, coordinates) if self._missing else coordinates

    @property
    def takes_missing(self) -> bool:
        """Whether numbers of a context may be missing."""
        return self._missing

    def lacks(self, table: pd.DataFrame) -> bool:
        """Return whether numbers are missing in a table with the user's columns."""
        return self._missing and bool(table.isna().to_numpy().any())

    def _table(self, X: Any) -> pd.DataFrame:
        return as_table(X, "X", self._order, self._missing)

    def row(self, context: Any, name: str = "context") -> pd.Series:
        """Return one context (Series, mapping, one-row table or 1-D array) as a Series in the user's units.

        `name` is that of the argument, for errors.
        """
        self._check_fitted()
        return as_row(context, self._order, name)

    def encode_row(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """Return coordinates of one context as given by :meth:`row`; `unknown` as in :meth:`encode`."""
        return self._placed(self.coordinates_row(row, unknown))

    def coordinates_row(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """Return coordinates of one context as an estimator sees them: those of missing numbers are NaN."""
        return (self._raw_row(row.tolist(), unknown) - self._offset) / self._scale

    def _raw_row(self, values: list[Any], unknown: Unknown = "error") -> Floats:
        """Return the numbers of one context before scaling, one per coordinate."""
        raw = np.empty(self.n_coordinates)
        values = self._with_parts(values)
        raw[self._numbers.at] = self._numbers.raw(values)
        if self._categories:
            named = dict(zip(self._calendar.names, values, strict=True))
            for column in self._categories:
                raw[column.at] = column.raw_row(named, unknown)
        return raw

    def _with_parts(self, values: list[Any]) -> list[Any]:
        """Return the values of a context, in the order of the user's columns, and the parts of its dates, if any."""
        return self._calendar.row(values) if self._calendar.columns else values

    def numbers(self, X: Any, unknown: Unknown = "error") -> Floats:
        """Return the user's columns as plain numbers in their own units: what a frozen forest sees."""
        table = self._table(X)
        self._check_numeric()
        for column in self._columns.values():
            column.raw(table, unknown)
        own = {c.name: c.raw(table).ravel() for c in self._numbers.columns if not c.plain}
        seen = [own[n] if n in own else numbers(n, table[n], self._missing) for n in self._order]
        return np.column_stack(seen)

    def numbers_row(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """Return one context as plain numbers in its own units."""
        self._check_numeric()
        return self._raw_row(row.tolist(), unknown)[self.coordinate_of_column()]

    def levels_shown(self, X: Any, unknown: Unknown = "error") -> Floats:
        """Numbers in their own units, and 0/1 per level of a category: what a model that knows categories sees."""
        table = self._table(X)
        return np.hstack([column.raw(table, unknown) for column in self._columns.values()])

    def levels_row(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """Return the numbers, and 0/1 per level of a category, of one context."""
        return self._raw_row(row.tolist(), unknown)

    def shown(self, X: Any, sees: Capabilities, unknown: Unknown = "error") -> Floats:
        """Return every row of `X` as an estimator sees it that can do this."""
        if sees.sees_levels:
            return self.levels_shown(X, unknown)
        return self.numbers(X, unknown) if sees.sees_units else self.coordinates_shown(X, unknown)

    def row_shown(self, row: pd.Series, sees: Capabilities, unknown: Unknown = "error") -> Floats:
        """Return one context as an estimator sees it that can do this."""
        if sees.sees_levels:
            return self.levels_row(row, unknown)
        return self.numbers_row(row, unknown) if sees.sees_units else self.coordinates_row(row, unknown)

    def _check_numeric(self) -> None:
        for name, column in self._columns.items():
            if isinstance(column, CategoryColumn) and column.types is None:
                raise InputError(
                    f"A fitted forest sees numbers only: declare the category {name!r} by its 0/1 columns, "
                    "Categorical(columns=[...]), or as Discrete."
                )

    # ---- and back ----------------------------------------------------------------------------

    def decode(
        self,
        point: Floats,
        like: pd.Series | None = None,
        cell: tuple[Floats, Floats] | None = None,
        ends: tuple[Floats, Floats] | None = None,
        days: Mapping[int, tuple[date, date]] | None = None,
    ) -> pd.Series:
        """The context at `point`, in the user's units; values that did not move are taken from `like` as they are.

        Encoded again, the result does not leave the box `cell` of coordinates. `ends` are the least and the largest
        values in the user's units, one per coordinate, `days` what may be suggested of dates (see :class:`Space`).
        """
        low, high = (point, point) if cell is None else cell
        moved = np.ones(point.shape, dtype=np.bool_) if like is None else point != self.encode_row(like)
        kept = [None] * len(self._order) if like is None else like.tolist()
        values: dict[str, Any] = dict(zip(self._order, kept, strict=True))
        columns = list(self._columns.values())
        for i in np.unique(self._feature_at[moved]).tolist():
            column, at = columns[i], columns[i].at
            if isinstance(column, DateColumn) and like is not None:
                allowed = (days or {}).get(at.start, (column.first, column.last))
                place = column.columns[0]
                values[place] = column.like(column.dated(point[at], column.day(values[place]), allowed), values[place])
                continue
            values.update(column.decoded(point[at], low[at], high[at]))
            if ends is not None and isinstance(column, NumberColumn) and column.is_continuous:
                values[column.name] = column.clipped(values[column.name], ends[0][at.start], ends[1][at.start])
        # To make an index of names takes longer than all of the above; a view of one may be given another name.
        index = list(self._order) if like is None else like.index.view()
        return pd.Series([values[name] for name in self._order], index=index, dtype=object)

    def related_values(self, row: pd.Series) -> dict[str, Any]:
        """Value of everything that rules may name in a context: of every feature, and of the parts of dates."""
        parts = dict(zip(self._calendar.names, self._with_parts(row.tolist()), strict=True))
        return {**parts, **self.feature_values(row)}

    def feature_values(self, row: pd.Series, names: Collection[str] | None = None) -> dict[str, Any]:
        """Value of every feature in a context, or of those in `names`: a category by its name, whatever its columns."""
        values = dict(zip(self._order, row.tolist(), strict=True))
        return {name: self._columns[name].value(values) for name in (self._columns if names is None else names)}

    def exactly_related(
        self,
        context: pd.Series,
        initial: pd.Series,
        rules: Relations,
        room: Callable[[], tuple[Floats, Floats]],
        ends: tuple[Floats, Floats] | None = None,
    ) -> pd.Series:
        """`context` with continuous numbers moved by what rounding costs, so that it keeps rules to the last digit.

        Encoded again, it stays in the box of coordinates that `room` gives, and within `ends` in the user's units.
        Where there is no such context the given one is returned, which keeps them up to rounding.
        """
        values = self.related_values(context)
        if all(one.holds(values) for one in rules.statements):
            return context
        low, high = room()
        movable = []
        for column in self._numbers.columns:
            # What goes round, or is part of a date, is not simply moved.
            own = column.plain and column.name in self._columns
            if own and column.is_continuous and not pd.isna(values[column.name]):
                at, value = column.at.start, float(values[column.name])
                hair = NEAR * max(column.scale, abs(value) * 1e-6)
                least, most = (-np.inf, np.inf) if ends is None else (float(ends[0][at]), float(ends[1][at]))
                least = max(value - hair, column.raw_beside(float(low[at]), np.inf), least)
                most = min(value + hair, column.raw_beside(float(high[at]), -np.inf), most)
                changed = values[column.name] != initial[column.name]
                movable.append(Movable(column.name, least, most, changed))
        moved = kept_exactly(rules.statements, values, movable)
        if not moved:
            return context
        found = context.copy()
        for name, value in moved.items():
            found[name] = value
        return found
