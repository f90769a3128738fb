"""Features of a context: what kind they are, what may change, and where an explanation may look for others.

Units become coordinates in :mod:`whence.features.coordinates`, and one feature at a time in
:mod:`whence.features.number_column`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.checks import MAPPING, Rule, names_in
from whence.errors import InputError, InputTypeError
from whence.features.columns import CategoryColumn, Column
from whence.features.coordinates import Coordinates
from whence.features.dates import Date, DateColumn, fitted_date, parts_of
from whence.features.inference import inferred, proposed_relations, suggested_cycles
from whence.features.kinds import Categorical, Continuous, Cyclic, Discrete, Feature
from whence.features.number_column import CyclicColumn, NumberColumn, OrderedColumn, fitted_column
from whence.features.relation_trees import Recent, Relations
from whence.features.relations import Derived, Observed, bound_relations, check_complete, relation_texts
from whence.features.space import Space, SpaceBuilder
from whence.util.aliases import Floats
from whence.util.frames import as_table

FEATURES = Rule("a mapping from names of columns to features such as Continuous()", MAPPING.fits).or_none(", or None")
#: Relations given with questions that are kept for the next one: each may take some tens of kilobytes.
KEPT_RELATIONS = 32


class Schema(Coordinates):
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
        super().__init__()
        FEATURES.check("features", features, kind=InputTypeError)
        self.features = {str(name): feature for name, feature in (features or {}).items()}
        for name, feature in self.features.items():
            if not isinstance(feature, Feature):
                raise InputTypeError(
                    f"The schema's entry for {name!r} must be a Continuous, Discrete, Categorical, Ordered, Binary, "
                    f"Cyclic, Date or Derived. Got {feature!r} instead."
                )
        self.relations = relation_texts(relations)
        self._relations: Relations | None = None
        self._further: Recent[Relations] = Recent(KEPT_RELATIONS)

    @classmethod
    def infer(cls, X: Any, **overrides: Feature) -> Schema:
        """Return the schema of a table, from its dtypes.

        Bools, and integers 0 and 1, are on or off; strings and categories are categories, ordered where the dtype is.
        Integers stay whole: with at most 20 different values an explanation keeps to these, with more it may suggest
        any whole number between the smallest and the largest. Other numbers are continuous; those of a table (not of an
        array) keep to the step in which they are recorded, such as 0.1, where at least 20 of them show one. Text that
        looks like dates, or hardly ever repeats, gets a warning.
        """
        return cls(overrides).fit(X)

    def __repr__(self) -> str:
        features = "{" + ", ".join(f"{name!r}: {feature!r}" for name, feature in self.features.items()) + "}"
        return f"Schema({features}, relations={list(self.relations)!r})" if self.relations else f"Schema({features})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and repr(self) == repr(other)

    __hash__ = None  # type: ignore[assignment]

    # ---- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any, missing: bool = False, steps: bool = True, recorded: bool | None = None) -> Schema:
        """Return a copy of this schema that knows every feature of `X` and its training range.

        With `missing`, numbers may be missing (NaN), in `X` and in contexts. Without `steps`, a column of an ordered
        dtype is a category like any other: what a model sees that knows its names only. Numbers of which nothing is
        declared keep to the step in which they are `recorded`: those of a table, unless it is said here.
        """
        table = as_table(X, "X", missing=missing)
        recorded = hasattr(X, "columns") if recorded is None else recorded
        owner = self._owners(list(table.columns))
        columns: dict[str, Column] = {}
        start = 0
        for label in table.columns:
            name = owner.get(label, label)
            if name not in columns:
                feature = self.features.get(name)
                if feature is None or isinstance(feature, Derived):
                    feature = inferred(name, table[label], missing, steps, recorded)
                if isinstance(feature, Date):
                    columns[name] = fitted_date(name, feature, table, start)
                else:
                    columns[name] = fitted_column(name, feature, table, start, missing)
                start = columns[name].at.stop
        derived = self._derived()
        fitted = Schema({name: derived.get(name, column.feature) for name, column in columns.items()}, self.relations)
        fitted._columns, fitted._order, fitted._missing = columns, tuple(table.columns), missing
        fitted._lay_out(start)
        if self.relations or derived:
            told = fitted._parts(), fitted._calendar.table(table)
            fitted._relations = bound_relations(self.relations, *told, start, derived)
            check_complete(fitted._relations, *told)
        return fitted

    def related(self, relations: Any, X: Any) -> Relations | None:
        """Return the schema's relations and further ones, given the history `X` that it was fitted to.

        Those asked for last are kept: what an engine lays out for relations serves the next question about the same.
        """
        texts = relation_texts(relations) if type(relations) is not tuple or relations else ()
        if not texts:
            return self._relations

        def made() -> Relations:
            table = self._calendar.table(self._table(X))
            found = bound_relations(texts, self._parts(), table, self.n_coordinates)
            check_complete(found, self._parts(), table)
            return found if self._relations is None else self._relations.joined(found)

        return self._further.get(texts, made)

    def broken(self, context: Any) -> list[str]:
        """Return the schema's relations, as they were written, that a context breaks."""
        point = self.encode_row(self.row(context))
        return [] if self._relations is None else self._relations.broken(point)

    def proposals(self, X: Any) -> list[str]:
        """Relations that hold in every row of the history `X`: orders of numbers, and features that follow from others.

        None of them is enforced: give those that are true of every context, not only of these, as `relations`.
        """
        self._check_fitted()
        found = proposed_relations(self._columns, as_table(X, "X", self._order, self._missing))
        follows = {f"observed({feature.from_}, {name})" for name, feature in self._derived().items()}
        return [text for text in found if text not in self.relations and text not in follows]

    def suggestions(self, X: Any) -> dict[str, Cyclic]:
        """Return features of the history `X` that look as if they went round, and how they would be declared.

        None of them is taken for that unasked.
        """
        self._check_fitted()
        return suggested_cycles(self._columns, as_table(X, "X", self._order))

    def _derived(self) -> dict[str, Derived]:
        return {name: feature for name, feature in self.features.items() if isinstance(feature, Derived)}

    @property
    def derived(self) -> list[str]:
        return list(self._derived())

    def _owners(self, given: list[str]) -> dict[str, str]:
        """Return, for every column that is part of a category, the name of that category."""
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

    def units(self) -> dict[str, str]:
        """Return the units of the features that have one."""
        return {name: unit for name in self._columns if (unit := self.unit(name))}

    def kinds(self) -> dict[str, str]:
        """Return how the values of every feature are read: continuous, discrete, categorical, binary or date.

        Ordered ones are categories; cyclic ones are continuous or, where they are whole, discrete.
        """
        return {name: _word(column) for name, column in self._columns.items()}

    def unit(self, name: str) -> str:
        """Return the unit of a feature, or an empty string."""
        return str(getattr(self._column(name).feature, "unit", ""))

    def kind(self, name: str) -> Feature:
        """Return the feature called `name`, as declared or inferred."""
        return self._column(name).feature

    def levels(self, name: str) -> list[Any]:
        """Return the values an explanation may choose from: categories, discrete values, or off and on.

        Empty for a continuous number, and for whole numbers of a wide range, of which there are too many to list.
        """
        return self._column(name).choices

    def categories(self, name: str) -> list[Any]:
        """Return all levels of a category, one per coordinate, also those that the history does not hold."""
        column = self._column(name)
        if isinstance(column, OrderedColumn):
            return list(column.labels)
        return list(column.categories) if isinstance(column, CategoryColumn) else []

    def date_parts(self, name: str) -> list[tuple[str, slice, list[Any]]]:
        """Of each part of a date: what it is called, its coordinates, and its values in their order."""
        column = self._column(name)
        return column.listed() if isinstance(column, DateColumn) else []

    def parts_of(self, name: str, day: Any) -> dict[str, Any]:
        """Return the parts of a day that a model sees of the date `name`."""
        column = self._column(name)
        assert isinstance(column, DateColumn)
        return {part: found[0] for part, found in parts_of(column.feature, [column.day(day)]).items()}

    def is_level(self, name: str, value: float) -> bool:
        """Return whether a number is one of those that the feature may take, as far as its kind goes."""
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
        """Return the first and the last day that an explanation may suggest for a date; None for any other feature."""
        column = self._column(name)
        return (column.first, column.last) if isinstance(column, DateColumn) else None

    def stepped(self) -> list[str]:
        """Return features that go in steps."""
        return [c.name for c in self._numbers.columns if c.step is not None or c.lattice is not None]

    def step_of(self, name: str) -> float | None:
        """Return the step of which a number takes whole multiples only; None where it takes others too."""
        found = [c.lattice for c in self._numbers.columns if c.name == name and c.lattice is not None]
        return float(found[0].step) if found else None

    def cut_at(self, cuts: Mapping[str, NDArray[np.floating]], units: bool, single: bool = True) -> Schema:
        """Return this schema for a forest that splits features at these thresholds, in its units or in coordinates.

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
        """Return the smallest and largest training value of a numeric feature."""
        column = self._column(name)
        if not isinstance(column, NumberColumn) or isinstance(column, OrderedColumn):
            raise InputError(f"The feature {name!r} must be a number to have a training range. Got a category instead.")
        return column.low, column.high

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
        """Return where an explanation of a decision in `context`, as given by :meth:`row`, may lie.

        Features in `fixed` stay as they are, those in `bounds` keep to (low, high) or to some categories. Without
        `restricted`, every restriction of the user is left out: fixed, monotone and bounded features. Relations always
        hold: those of the schema, or those given instead (see :meth:`related`). What is missing stays so, apart from
        features in `filled`, which may take any allowed value of their range for a fee of 1, like a category.
        """
        kept = set(names_in("fixed", fixed))
        limits = {str(name): limit for name, limit in (bounds or {}).items()}
        for argument, given in (("fixed", kept), ("bounds", limits)):
            for name in given:
                self._column(name, argument)
        if self._calendar.columns:
            kept |= self._calendar.parts_in(kept)
        raw, numbers, own = self._raw_row(context.tolist()), self._numbers, limits if restricted else {}
        room = SpaceBuilder(self._placed((raw - self._offset) / self._scale), np.isnan(raw), self._weight)
        related = self._relations if relations is None else relations
        whole = related.coordinates if related else ()
        if related and room.gone[list(whole)].any():
            raise InputError("No relation may be about a number that is missing. Got one in this context.")
        lower, upper, discrete = numbers.ranges(room.start, kept, limits, restricted, whole)
        room.numbers(numbers.at, lower, upper, discrete)
        for name in filled:
            room.fill(self._columns[name].at.start, *numbers.filling(name, own))
        initial, at = numbers.raw(self._with_parts(context.tolist())), numbers.at
        room.least[at], room.most[at] = numbers.ends(room.lower[at], room.upper[at], initial, own)
        for column in self._categories:
            change = "free" if not restricted else "fixed" if column.name in kept else column.feature.change
            room.category(column.at, column.allowed(room.start[column.at], change, own.get(column.name)))
        days: dict[int, Any] = {}
        if self._calendar.columns:
            related, days = self._calendar.related(related, context, kept, limits, restricted, room.start.size)
        if related and related.always_kept(np.minimum(room.lower, room.start), np.maximum(room.upper, room.start)):
            related = None
        more: dict[str, Any] = {"group": self._group.copy(), "rules": related or None, "initial": raw, "days": days}
        more["circles"] = {j: circle for j, circle in self._circles.items() if not room.gone[j]}
        more["owner"] = self._feature_at if self._calendar.columns else None
        known = np.where(np.isnan(initial), 0.0, initial)
        gaps = numbers.gaps(known, room.lower[at], room.upper[at], discrete) if restricted else None
        return room.space(more, at, gaps)

    def changed(self, space: Space, initial: pd.Series, context: pd.Series) -> list[tuple[str, Any, Any, float]]:
        """Return the features that differ, their values in both contexts, and the distance of each."""
        distances = self.by_feature(space.moved(self.encode_row(context)))
        before, after = (self.feature_values(row, distances) for row in (initial, context))
        return [(name, before[name], after[name], distance) for name, distance in distances.items()]

    def values_inside(
        self, space: Space, box: tuple[Floats, Floats], names: Collection[str]
    ) -> dict[str, tuple[float, float]]:
        """Return between which values in a box each of these features lies that is continuous, in the user's units."""
        offset, scale = self.affine()
        # What is typed in again goes through the scaling once more: keep clear of its last digits.
        clear = 1e-9 * np.maximum(scale, np.abs(offset))
        low = offset + scale * np.maximum(box[0], space.lower) + clear
        high = offset + scale * np.minimum(box[1], space.upper) - clear
        return {
            name: (float(low[j]), float(high[j]))
            for j, name in enumerate(self.feature_of_coordinate())
            if name in names and space.levels[j] is None and low[j] < high[j]
        }

    def beyond(self, context: pd.Series) -> list[str]:
        """Return the numbers of a context, as given by :meth:`row`, that lie outside the history."""
        found = []
        for name, value in self.feature_values(context).items():
            if isinstance(self.kind(name), Continuous | Cyclic | Discrete) and not pd.isna(value):
                low, high = self.training_range(name)
                found += [] if low <= float(value) <= high else [name]
        return found

    @property
    def is_free(self) -> bool:
        """Whether the schema rules out nothing in the range of the history, for all that is known without a context."""
        category_free = all(column.feature.change == "free" for column in self._categories)
        return self._numbers.free and category_free and not self._calendar.columns

    def fillable(self, context: pd.Series, fill: Collection[str], fixed: Collection[str] = ()) -> list[str]:
        """Which of the features to `fill` are missing in a context and may be filled in: those that may change."""
        wanted, kept = names_in("fill", fill), set(names_in("fixed", fixed))
        for name in wanted:
            self._column(name, "fill")
        gone = {name for name, value in context.items() if pd.api.types.is_scalar(value) and pd.isna(value)}
        return [n for n in wanted if n in gone and n not in kept and self._columns[n].feature.change != "fixed"]

    def restrictions_in_the_way(
        self, context: pd.Series, point: Floats, fixed: Collection[str] = (), bounds: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Return features whose restrictions rule out the context at `point`."""
        space = self.space(context, fixed, bounds)
        blocked = ~space.allows(point)
        for j in self._calendar.beyond(space.days, context, point):
            blocked[j] = True
        return [name for name, column in self._columns.items() if blocked[column.at].any()]


def _word(column: Column) -> str:
    """Return how the values of a feature are read."""
    if isinstance(column, DateColumn):
        return "date"
    if isinstance(column, OrderedColumn):
        return "categorical"
    if isinstance(column, CyclicColumn):
        return "discrete" if column.type == "int" else "continuous"
    return type(column.feature).__name__.lower()
