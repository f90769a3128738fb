"""Features of a context: what kind they are, what may change, and how units become coordinates.

With :mod:`whence.features.encoding`, which handles one feature at a time, this is all that knows about encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.errors import InputError, InputTypeError, NotFittedError
from whence.features.calendar import Calendar
from whence.features.columns import CategoryColumn, Column, Unknown
from whence.features.cyclic import Cyclic, CyclicColumn
from whence.features.date_column import DateColumn
from whence.features.dates import Date, parts_of
from whence.features.derived import Derived
from whence.features.encoding import NumberColumn
from whence.features.exact import Movable, kept_exactly
from whence.features.fitting import fitted_feature
from whence.features.inference import inferred
from whence.features.kinds import Categorical, Feature
from whence.features.numeric import Numbers
from whence.features.ordered import OrderedColumn
from whence.features.proposing import proposed_relations
from whence.features.relations import Observed, bound_relations, relation_texts
from whence.features.suggesting import suggested_cycles
from whence.question.curves import Curve
from whence.question.relations import Relations
from whence.question.space import Space
from whence.spelling import nearest
from whence.tables import as_row, as_table, numbers

__all__ = ["Schema"]

#: By how much a number may be moved so that relations hold to the last digit, in ranges.
NEAR = 1e-8
#: The coordinate of a missing number: outside every range, and none that a number would have.
NOWHERE = -1.6180339887498949


class Schema:
    """The features of a context, by name.

    Parameters
    ----------
    features : mapping from column name to Feature, optional
        Columns that are not named are inferred from the training data.
    relations : list of str or observed, optional
        What holds between features in every context that can exist: ``"dew_point <= temperature"``,
        ``"weekday in (Sat, Sun) <=> weekend"``, ``"month is July => 18 <= temperature <= 35"``, or
        ``observed("month", "temperature")``. Every explanation keeps to them.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"temp": [10.0, 30.0], "period": ["AM", "PM"]})
    >>> schema = Schema.infer(X)
    >>> schema.encode(pd.DataFrame({"temp": [20.0], "period": ["PM"]}))
    array([[0.5, 0. , 0.5]])
    """

    def __init__(self, features: Mapping[str, Feature] | None = None, relations: Sequence[str | Observed] = ()) -> None:
        self.features = {str(name): feature for name, feature in (features or {}).items()}
        for name, feature in self.features.items():
            if not isinstance(feature, Feature):
                raise InputTypeError(
                    f"The schema's entry for {name!r} must be a Continuous, Discrete, Categorical, Ordered, Binary, "
                    f"Cyclic, Date or Derived. Got {feature!r} instead."
                )
        self.relations = relation_texts(relations)
        self._relations: Relations | None = None
        self._further: dict[tuple[str, ...], Relations] = {}
        self._columns: dict[str, Column] = {}
        self._missing = False
        self._order: tuple[str, ...] = ()
        self._offset, self._scale, self._weight = np.zeros(0), np.ones(0), np.ones(0)
        self._feature_at, self._group = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self._numbers, self._categories = Numbers([], []), list[CategoryColumn]()
        self._curves: dict[int, Curve] = {}
        self._circles: dict[int, float] = {}
        self._calendar = Calendar([], [])

    @classmethod
    def infer(cls, X: Any, **overrides: Feature) -> Schema:
        """Schema of a table, from its dtypes.

        Bools, and integers 0 and 1, are on or off; strings and categories are categories, ordered where the dtype is.
        Integers stay whole: with at most 20 different values an explanation keeps to these, with more it may suggest
        any whole number between the smallest and the largest. Other numbers are continuous. Text that looks like
        dates, or hardly ever repeats, gets a warning.
        """
        return cls(overrides).fit(X)

    def __repr__(self) -> str:
        features = "{" + ", ".join(f"{name!r}: {feature!r}" for name, feature in self.features.items()) + "}"
        return f"Schema({features}, relations={list(self.relations)!r})" if self.relations else f"Schema({features})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and repr(self) == repr(other)

    __hash__ = None  # type: ignore[assignment]

    # ---- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any, missing: bool = False, steps: bool = True) -> Schema:
        """A copy of this schema that knows every feature of `X` and its training range.

        With `missing`, numbers may be missing (NaN), in `X` and in contexts. Without `steps`, a column of an ordered
        dtype is a category like any other: what a model sees that knows its names only.
        """
        table = as_table(X, "X", missing=missing)
        owner = self._owners(list(table.columns))
        columns: dict[str, Column] = {}
        start = 0
        for label in table.columns:
            name = owner.get(label, label)
            if name not in columns:
                feature = self.features.get(name)
                if feature is None or isinstance(feature, Derived):
                    feature = inferred(name, table[label], missing, steps)
                columns[name] = fitted_feature(name, feature, table, start, missing)
                start = columns[name].at.stop
        derived = self._derived()
        fitted = Schema({name: derived.get(name, column.feature) for name, column in columns.items()}, self.relations)
        fitted._columns, fitted._order, fitted._missing = columns, tuple(table.columns), missing
        if (self.relations or derived) and fitted.lacks(table):
            raise InputError("Relations between features need a history without missing numbers. Got some that are.")
        fitted._lay_out(start)
        if self.relations or derived:
            told = fitted._parts(), fitted._calendar.table(table)
            fitted._relations = bound_relations(self.relations, *told, start, derived)
        return fitted

    def related(self, relations: Any, X: Any) -> Relations | None:
        """The schema's relations and further ones, given the history `X` that it was fitted to.

        They are kept: what an engine lays out for relations serves the next question about the same ones.
        """
        texts = relation_texts(relations)
        if not texts:
            return self._relations
        if texts not in self._further:
            table = self._calendar.table(as_table(X, "X", self._order))
            found = bound_relations(texts, self._parts(), table, self.n_coordinates)
            self._further[texts] = found if self._relations is None else self._relations.joined(found)
        return self._further[texts]

    def broken(self, context: Any) -> list[str]:
        """The schema's relations, as they were written, that a context breaks."""
        point = self.encode_row(self.row(context))
        return [] if self._relations is None else self._relations.broken(point)

    def proposals(self, X: Any) -> list[str]:
        """Relations that hold in every row of the history `X`: orders of numbers, and features that follow from others.

        None of them is enforced: give those that are true of every context, not only of these, as `relations`.
        """
        self._check_fitted()
        found = proposed_relations(self._columns, as_table(X, "X", self._order))
        follows = {f"observed({feature.from_}, {name})" for name, feature in self._derived().items()}
        return [text for text in found if text not in self.relations and text not in follows]

    def suggestions(self, X: Any) -> dict[str, Cyclic]:
        """Features of the history `X` that look as if they went round, and how they would be declared.

        None of them is taken for that unasked.
        """
        self._check_fitted()
        return suggested_cycles(self._columns, as_table(X, "X", self._order))

    def _derived(self) -> dict[str, Derived]:
        return {name: feature for name, feature in self.features.items() if isinstance(feature, Derived)}

    @property
    def derived(self) -> list[str]:
        """Features that follow from others."""
        return list(self._derived())

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
        self._curves = {c.at.start: c.curve for c in self._numbers.columns if c.curve is not None}
        self._circles = {c.at.start: c.circle for c in self._numbers.columns if c.circle is not None}
        self._group = np.full(coordinates, -1, dtype=np.int64)
        for column in self._categories:
            self._group[column.at] = self._feature_at[column.at]

    def _owners(self, given: list[str]) -> dict[str, str]:
        """For every column that is part of a category, the name of that category."""
        known = set(given)
        owner: dict[str, str] = {}
        for name, feature in self.features.items():
            parts = feature.columns if isinstance(feature, Categorical) else None
            if isinstance(feature, Date) and feature.column not in (None, name):
                parts = (str(feature.column),)
            for column in parts or (name,):
                if column not in known:
                    raise InputError(f"The schema names the column {column!r}, which 'X' does not have.")
            if parts is None:
                continue
            if name in known and name not in parts:
                what = "date" if isinstance(feature, Date) else "category"
                raise InputError(f"The schema's {what} {name!r} needs another name: 'X' has a column of that name.")
            for column in parts:
                if column in owner or (column != name and column in self.features):
                    raise InputError(f"The schema must name the column {column!r} of {name!r} only once.")
                owner[column] = name
        return owner

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

    def units(self) -> dict[str, str]:
        """The units of the features that have one."""
        return {name: unit for name in self._columns if (unit := self.unit(name))}

    def kinds(self) -> dict[str, str]:
        """How the values of every feature are read: continuous, discrete, categorical, binary or date.

        Ordered ones are categories; cyclic ones are continuous or, where they are whole, discrete.
        """
        return {name: _word(column) for name, column in self._columns.items()}

    def unit(self, name: str) -> str:
        """Unit of a feature, or an empty string."""
        return str(getattr(self._column(name).feature, "unit", ""))

    def kind(self, name: str) -> Feature:
        """The feature called `name`, as declared or inferred."""
        return self._column(name).feature

    def levels(self, name: str) -> list[Any]:
        """The values an explanation may choose from: categories, discrete values, or off and on.

        Empty for a continuous number, and for whole numbers of a wide range, of which there are too many to list.
        """
        return self._column(name).choices

    def categories(self, name: str) -> list[Any]:
        """All categories of a category, one per coordinate, also those that the history does not hold."""
        column = self._column(name)
        if isinstance(column, OrderedColumn):
            return list(column.labels)
        return list(column.categories) if isinstance(column, CategoryColumn) else []

    def date_parts(self, name: str) -> list[tuple[str, slice, list[Any]]]:
        """Of each part of a date: what it is called, its coordinates, and its values in their order."""
        column = self._column(name)
        return column.listed() if isinstance(column, DateColumn) else []

    def parts_of(self, name: str, day: Any) -> dict[str, Any]:
        """The parts of a day that a model sees of the date `name`."""
        column = self._column(name)
        assert isinstance(column, DateColumn)
        return {part: found[0] for part, found in parts_of(column.feature, [column.day(day)]).items()}

    def is_level(self, name: str, value: float) -> bool:
        """Whether a number is one of those that the feature may take, as far as its kind goes."""
        column = self._column(name)
        return not isinstance(column, NumberColumn) or column.is_level(float(value))

    @property
    def circles(self) -> Mapping[int, float]:
        """Coordinates that go round, with their period."""
        return self._circles

    @property
    def cyclic(self) -> list[str]:
        """Features that go round."""
        names = self.names
        return list(dict.fromkeys(names[self._feature_at[j]] for j in self._circles))

    @property
    def dated(self) -> list[str]:
        """Features that are dates."""
        return [c.name for c in self._calendar.columns]

    def dates(self, name: str) -> tuple[date, date] | None:
        """The first and the last day that an explanation may suggest for a date; None for any other feature."""
        column = self._column(name)
        return (column.first, column.last) if isinstance(column, DateColumn) else None

    def stepped(self) -> list[str]:
        """Features that go in steps."""
        return [c.name for c in self._numbers.columns if c.step is not None or c.lattice is not None]

    def cut_at(self, cuts: Mapping[str, NDArray[np.floating]], units: bool, single: bool = True) -> Schema:
        """This schema for a forest that splits features at these thresholds, in the user's units or in coordinates.

        Of the whole numbers of a wide range only those beside a threshold can be nearest: no other is looked at.
        `single` says whether the forest compares float32.
        """
        columns = dict(self._columns)
        for name, thresholds in cuts.items():
            column = columns[name]
            if isinstance(column, NumberColumn):
                columns[name] = column.cut_at(thresholds, units, single)
        cut = Schema(self.features, self.relations)
        cut._relations = self._relations
        cut._columns, cut._order, cut._missing = columns, self._order, self._missing
        cut._lay_out(self.n_coordinates)
        return cut

    def training_range(self, name: str) -> tuple[float, float]:
        """Smallest and largest training value of a numeric feature."""
        column = self._column(name)
        if not isinstance(column, NumberColumn) or isinstance(column, OrderedColumn):
            raise InputError(f"The feature {name!r} must be a number to have a training range. Got a category instead.")
        return column.low, column.high

    def _check_fitted(self) -> None:
        if not self._columns:
            raise NotFittedError("This Schema is not fitted yet; call 'fit' with a table of contexts first.")

    def _column(self, name: str, argument: str = "name") -> Column:
        try:
            return self._columns[str(name)]
        except KeyError:
            known, hint = ", ".join(map(repr, self.names)), nearest(str(name), self.names)
            raise InputError(f"{argument!r} must name features among {known}. Got {name!r} instead.{hint}") from None

    # ---- units to coordinates and back ---------------------------------------------------------

    def encode(self, X: Any, unknown: Unknown = "error") -> Floats:
        """Coordinates of every row of `X`, as an array of shape (rows, n_coordinates).

        A category that the history has not seen is an error, or with ``unknown="ignore"`` none of the known ones: all
        its coordinates are 0. A number that is missing, where it may be, has a coordinate that no other number has.
        """
        return self._placed(self.coordinates_shown(X, unknown))

    def coordinates_shown(self, X: Any, unknown: Unknown = "error") -> Floats:
        """Coordinates as an estimator sees them: those of missing numbers are NaN."""
        self._check_fitted()
        table = self._table(X)
        raw = np.hstack([column.raw(table, unknown) for column in self._columns.values()])
        coordinates: Floats = (raw - self._offset) / self._scale
        return coordinates

    def _placed(self, coordinates: Floats) -> Floats:
        """Coordinates with a number in every place."""
        return np.where(np.isnan(coordinates), NOWHERE, coordinates) if self._missing else coordinates

    @property
    def takes_missing(self) -> bool:
        """Whether numbers of a context may be missing."""
        return self._missing

    def lacks(self, table: pd.DataFrame) -> bool:
        """Whether numbers are missing in a table with the user's columns."""
        return self._missing and bool(table.isna().to_numpy().any())

    def _table(self, X: Any) -> pd.DataFrame:
        return as_table(X, "X", self._order, self._missing)

    def row(self, context: Any) -> pd.Series:
        """One context (Series, mapping, one-row table or 1-D array) as a Series in the user's units."""
        self._check_fitted()
        return as_row(context, self._order)

    def encode_row(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """Coordinates of one context as given by :meth:`row`; `unknown` as in :meth:`encode`."""
        return self._placed(self.coordinates_row(row, unknown))

    def coordinates_row(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """Coordinates of one context as an estimator sees them: those of missing numbers are NaN."""
        coordinates: Floats = (self._raw_row(row.tolist(), unknown) - self._offset) / self._scale
        return coordinates

    def _raw_row(self, values: list[Any], unknown: Unknown = "error") -> Floats:
        """The numbers of one context before scaling, one per coordinate."""
        raw = np.empty(self.n_coordinates)
        values = self._calendar.row(values)
        raw[self._numbers.at] = self._numbers.raw(values)
        if self._categories:
            named = dict(zip(self._calendar.names, values, strict=True))
            for column in self._categories:
                raw[column.at] = column.raw_row(named, unknown)
        return raw

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
        return pd.Series([values[name] for name in self._order], index=list(self._order), dtype=object)

    def exactly_related(
        self,
        context: pd.Series,
        initial: pd.Series,
        relations: Relations,
        room: Callable[[], tuple[Floats, Floats]],
        ends: tuple[Floats, Floats] | None = None,
    ) -> pd.Series:
        """`context` with continuous numbers moved by what rounding costs, so that it keeps relations to the last digit.

        Encoded again, it stays in the box of coordinates that `room` gives, and within `ends` in the user's units.
        Where there is no such context the given one is returned, which keeps them up to rounding.
        """
        values = self.related_values(context)
        if all(one.holds(values) for one in relations.statements):
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
        moved = kept_exactly(relations.statements, values, movable)
        if not moved:
            return context
        found = context.copy()
        for name, value in moved.items():
            found[name] = value
        return found

    def related_values(self, row: pd.Series) -> dict[str, Any]:
        """Value of everything that relations may name in a context: of every feature, and of the parts of dates."""
        parts = dict(zip(self._calendar.names, self._calendar.row(row.tolist()), strict=True))
        return {**parts, **self.feature_values(row)}

    def feature_values(self, row: pd.Series, names: Collection[str] | None = None) -> dict[str, Any]:
        """Value of every feature in a context, or of those in `names`: a category by its name, whatever its columns."""
        values = dict(zip(self._order, row.tolist(), strict=True))
        return {name: self._columns[name].value(values) for name in (self._columns if names is None else names)}

    def numbers(self, X: Any, unknown: Unknown = "error") -> Floats:
        """The user's columns as plain numbers in their own units: what a frozen forest sees."""
        table = self._table(X)
        self._check_numeric()
        for column in self._columns.values():
            column.raw(table, unknown)
        own = {c.name: c.raw(table).ravel() for c in self._numbers.columns if not c.plain}
        seen = [own[n] if n in own else numbers(n, table[n], self._missing) for n in self._order]
        return np.column_stack(seen)

    def numbers_row(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """One context as plain numbers in its own units."""
        self._check_numeric()
        numbers_of_row: Floats = self._raw_row(row.tolist(), unknown)[self.coordinate_of_column()]
        return numbers_of_row

    def levels_shown(self, X: Any, unknown: Unknown = "error") -> Floats:
        """Numbers in their own units, and 0/1 per level of a category: what a model that knows categories sees."""
        table = self._table(X)
        return np.hstack([column.raw(table, unknown) for column in self._columns.values()])

    def levels_row(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """The same for one context."""
        return self._raw_row(row.tolist(), unknown)

    def seen_columns(self) -> list[tuple[str, int, tuple[Any, ...] | None]]:
        """Of each column of the user's table: its name, its first coordinate, and its categories if they are names."""
        named = {c.name: c.categories for c in self._categories if c.types is None}
        place = {name: c.at.start + i for c in self._columns.values() for i, name in enumerate(c.columns)}
        return [(name, place[name], named.get(name)) for name in self._order]

    def _check_numeric(self) -> None:
        for name, column in self._columns.items():
            if isinstance(column, CategoryColumn) and column.types is None:
                raise InputError(
                    f"A fitted forest sees numbers only: declare the category {name!r} by its 0/1 columns, "
                    "Categorical(columns=[...]), or as Discrete."
                )

    def coordinate_of_column(self) -> NDArray[np.int64]:
        """For every column of the user's table (all of them numbers), its coordinate."""
        place = {name: c.at.start + i for c in self._columns.values() for i, name in enumerate(c.columns)}
        return np.array([place[name] for name in self._order], dtype=np.int64)

    def affine(self) -> tuple[Floats, Floats]:
        """Offset and scale of every coordinate: ``coordinate = (raw - offset) / scale``."""
        return self._offset.copy(), self._scale.copy()

    def feature_of_coordinate(self) -> list[str]:
        """Name of the feature that each coordinate belongs to."""
        names = self.names
        return [names[i] for i in self._feature_at.tolist()]

    def by_feature(self, amounts: Floats) -> dict[str, float]:
        """The sum of `amounts`, one per coordinate, over every feature for which it is above 0."""
        sums = np.bincount(self._feature_at, amounts)
        names = self.names
        return {names[i]: float(sums[i]) for i in np.flatnonzero(sums > 0.0).tolist()}

    # ---- where to look -----------------------------------------------------------------------

    def space(
        self,
        context: pd.Series,
        fixed: Collection[str] = (),
        bounds: Mapping[str, Any] | None = None,
        restricted: bool = True,
        relations: Relations | None = None,
        filled: Collection[str] = (),
    ) -> Space:
        """Where an explanation of a decision in `context`, as given by :meth:`row`, may lie.

        Features in `fixed` stay as they are, those in `bounds` keep to (low, high) or to some categories. Without
        `restricted`, every restriction of the user is left out: fixed, monotone and bounded features. Relations always
        hold: those of the schema, or those given instead (see :meth:`related`). What is missing stays so, apart from
        features in `filled`, which may take any allowed value of their range for a fee of 1, like a category.
        """
        kept = {str(name) for name in ((fixed,) if isinstance(fixed, str) else fixed)}
        limits = {str(name): limit for name, limit in (bounds or {}).items()}
        for argument, given in (("fixed", kept), ("bounds", limits)):
            for name in given:
                self._column(name, argument)
        kept |= self._calendar.parts_in(kept)
        raw = self._raw_row(context.tolist())
        start = self._placed((raw - self._offset) / self._scale)
        gone = np.isnan(raw)
        lower, upper = start.copy(), start.copy()
        least, most = np.full(start.size, -np.inf), np.full(start.size, np.inf)
        levels: list[Floats | None] = [None] * self.n_coordinates
        at = self._numbers.at
        related = self._relations if relations is None else relations
        whole = related.coordinates if related else ()
        if related and gone[list(whole)].any():
            raise InputError("No relation may be about a number that is missing. Got one in this context.")
        lower[at], upper[at], discrete = self._numbers.ranges(start, kept, limits, restricted, whole)
        # What is missing stays so.
        lower[gone], upper[gone] = start[gone], start[gone]
        for j, values in discrete.items():
            levels[j] = None if gone[j] else values
        weight, fee = self._weight.copy(), None
        for name in filled:
            j = self._columns[name].at.start
            lower[j], upper[j], levels[j] = self._numbers.filling(name, limits if restricted else {})
            fee = np.zeros(start.size) if fee is None else fee
            start[j], fee[j], weight[j] = lower[j], weight[j], 0.0
        initial = self._numbers.raw(self._calendar.row(context.tolist()))
        least[at], most[at] = self._numbers.ends(lower[at], upper[at], initial, limits if restricted else {})
        for column in self._categories:
            change = "free" if not restricted else "fixed" if column.name in kept else column.feature.change
            limit = limits.get(column.name) if restricted else None
            for j, allowed in enumerate(column.allowed(start[column.at], change, limit), start=column.at.start):
                lower[j], upper[j], levels[j] = allowed
        place = (weight, self._group.copy(), (least, most))
        related, days = self._calendar.related(related, context, kept, limits, restricted, start.size)
        if related and related.always_kept(np.minimum(lower, start), np.maximum(upper, start)):
            related = None
        curves = {j: curve for j, curve in self._curves.items() if not gone[j]}
        circles = {j: circle for j, circle in self._circles.items() if not gone[j]}
        more: dict[str, Any] = {"curves": curves, "circles": circles, "relations": related or None, "initial": raw}
        more |= {"fee": fee, "days": days, "owner": self._feature_at if self._calendar.columns else None}
        space = Space(start, lower, upper, tuple(levels), *place, **more)
        known = np.where(np.isnan(initial), 0.0, initial)
        found = self._numbers.gaps(known, lower[at], upper[at], discrete) if restricted else None
        if found is None:
            return space
        below, above = start.copy(), start.copy()
        below[at], above[at], left = found
        below[gone], above[gone] = start[gone], start[gone]
        for j, values in left.items():
            levels[j] = levels[j] if gone[j] else values
        gap = (below, above)
        return Space(start, lower, upper, tuple(levels), *place, **more, gap=gap, everywhere=space)

    def fillable(self, context: pd.Series, names: Collection[str], fixed: Collection[str] = ()) -> list[str]:
        """Which of `names` are missing in a context and may be filled in: those that may change."""
        wanted = [names] if isinstance(names, str) else [str(name) for name in names]
        kept = {str(name) for name in ((fixed,) if isinstance(fixed, str) else fixed)}
        for name in wanted:
            self._column(name, "fill")
        gone = {name for name, value in context.items() if pd.api.types.is_scalar(value) and pd.isna(value)}
        return [n for n in wanted if n in gone and n not in kept and self._columns[n].feature.change != "fixed"]

    def restrictions_in_the_way(
        self, context: pd.Series, point: Floats, fixed: Collection[str] = (), bounds: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Features whose restrictions rule out the context at `point`."""
        space = self.space(context, fixed, bounds)
        blocked = ~space.allows(point)
        for j in self._calendar.beyond(space.days, context, point):
            blocked[j] = True
        return [name for name, column in self._columns.items() if blocked[column.at].any()]

    def _parts(self) -> dict[str, Column]:
        """The features by name, dates by their parts."""
        inner = (c.parts if isinstance(c, DateColumn) else (c,) for c in self._columns.values())
        return {column.name: column for some in inner for column in some}


def _word(column: Column) -> str:
    """How the values of a feature are read."""
    if isinstance(column, DateColumn):
        return "date"
    if isinstance(column, OrderedColumn):
        return "categorical"
    if isinstance(column, CyclicColumn):
        return "discrete" if column.type == "int" else "continuous"
    return type(column.feature).__name__.lower()
