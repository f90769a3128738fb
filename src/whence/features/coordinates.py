"""Coordinates: a context in the user's units becomes a point, for the engines, and a point a context again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError, NotFittedError
from whence.features.columns import CategoryColumn, Column, Unknown
from whence.features.dates import Calendar, DateColumn
from whence.features.number_block import Numbers
from whence.features.number_column import NumberColumn
from whence.features.relation_text import Movable, kept_exactly
from whence.features.relation_trees import Relations
from whence.util.aliases import Floats
from whence.util.frames import as_row, as_table, numbers
from whence.util.text import nearest

__all__ = ["Coordinates"]

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
        self._feature_at, self._group = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
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
        place = {name: c.at.start + i for c in self._columns.values() for i, name in enumerate(c.columns)}
        return np.array([place[name] for name in self._order], dtype=np.int64)

    def seen_columns(self) -> list[tuple[str, int, tuple[Any, ...] | None]]:
        """Of each column of the user's table: its name, its first coordinate, and its categories if they are names."""
        named = {c.name: c.categories for c in self._categories if c.types is None}
        place = {name: c.at.start + i for c in self._columns.values() for i, name in enumerate(c.columns)}
        return [(name, place[name], named.get(name)) for name in self._order]

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
        coordinates: Floats = (raw - self._offset) / self._scale
        return coordinates

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
        coordinates: Floats = (self._raw_row(row.tolist(), unknown) - self._offset) / self._scale
        return coordinates

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
        numbers_of_row: Floats = self._raw_row(row.tolist(), unknown)[self.coordinate_of_column()]
        return numbers_of_row

    def levels_shown(self, X: Any, unknown: Unknown = "error") -> Floats:
        """Numbers in their own units, and 0/1 per level of a category: what a model that knows categories sees."""
        table = self._table(X)
        return np.hstack([column.raw(table, unknown) for column in self._columns.values()])

    def levels_row(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """Return the numbers, and 0/1 per level of a category, of one context."""
        return self._raw_row(row.tolist(), unknown)

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
                least = max(value - hair, column.first_from(float(low[at])), least)
                most = min(value + hair, column.last_upto(float(high[at])), most)
                changed = values[column.name] != initial[column.name]
                movable.append(Movable(column.name, least, most, changed))
        moved = kept_exactly(rules.statements, values, movable)
        if not moved:
            return context
        found = context.copy()
        for name, value in moved.items():
            found[name] = value
        return found
