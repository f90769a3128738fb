"""Dates: what a user declares, and the days of a fitted schema, one column of the user's and several coordinates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd

from whence.checks import collected
from whence.errors import InputError, InputTypeError
from whence.features.columns import CategoryColumn, Column, NumberType, Unknown, restored
from whence.features.kinds import Binary, Categorical, Discrete, Feature, Ordered
from whence.features.number_column import CyclicColumn, NumberColumn, OrderedColumn
from whence.features.relation_trees import Recent, Relations, table_tree
from whence.util.aliases import Floats
from whence.util.frames import missing_error

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
QUARTERS = ("first quarter", "second quarter", "third quarter", "fourth quarter")


def as_in_calendar(levels: Iterable[Any]) -> list[Any]:
    """Return names of weekdays or of months in the order of the calendar, other levels as they are.

    >>> as_in_calendar(["Wed", "Mon", "Sun"]), as_in_calendar(["rain", "clear"])
    (['Mon', 'Wed', 'Sun'], ['rain', 'clear'])
    """
    found = list(levels)
    said = [str(level).strip().lower().rstrip(".") for level in found]
    for names in (WEEKDAYS, MONTHS):
        places = {form: place for place, name in enumerate(names) for form in (name.lower(), name[:3].lower())}
        if said and all(one in places for one in said):
            return [found[i] for i in sorted(range(len(said)), key=lambda i: places[said[i]])]
    return found


#: What of a date a model can see.
PARTS = ("weekday", "month", "day of year", "holiday", "year", "quarter", "week", "day")


@dataclass(frozen=True)
class Date(Feature):
    """A date, of which the model sees some parts: they change together, to a date that exists.

    An explanation suggests a date in the years of the history, or from `low` to `high`; of several that the model
    cannot tell apart, the one nearest to today's. Its distance adds up the parts: another weekday counts 1, a holiday
    for a day that is none or the other way round 1, months, quarters, weeks and days of the year the short way round
    with half a year as 1, days of the month with a whole month, and years with the range of the history.

    Parameters
    ----------
    column : str, optional
        The column that holds the dates; None for the one that the schema names.
    parts : sequence of str
        What the model sees: some of "weekday", "month", "day of year", "holiday", "year", "quarter", "week" (of the
        year, as ISO 8601 counts) and "day" (of the month).
    holidays : collection of dates or callable, optional
        Which days are holidays: a list, or a function from a `datetime.date` to a bool. Where the part "holiday" is
        named and this is left out, no day is one, and a warning says so.
    low, high : date or str, optional
        The first and the last date that an explanation may suggest.
    change : {"free", "fixed", "increase", "decrease"}
        What an explanation may do with it; "increase" allows later dates only.
    weight : float
        Weight of all parts in the distance.

    Examples
    --------
    >>> import pandas as pd
    >>> import whence as wh
    >>> X = pd.DataFrame({"date": pd.date_range("2024-01-01", "2024-12-31")})
    >>> schema = wh.Schema({"date": wh.Date(parts=("weekday", "month"))}).fit(X)
    >>> space = schema.space(schema.row({"date": "2024-06-14"}))
    >>> round(space.distance(schema.encode_row(schema.row({"date": "2024-08-17"}))), 3)
    1.333
    """

    column: str | None = None
    parts: Sequence[str] = ("weekday", "month")
    holidays: Collection[Any] | Callable[[date], bool] | None = None
    low: Any = field(default=None, kw_only=True)
    high: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.column is not None and not isinstance(self.column, str):
            raise self._wrong("column", "be the name of a column or None", InputTypeError)
        parts = (self.parts,) if isinstance(self.parts, str) else collected(self.parts)
        known = parts is not None and all(isinstance(part, str) and part in PARTS for part in parts)
        if not parts or not known or len(set(parts)) != len(parts):
            raise self._wrong("parts", f"be some of {', '.join(map(repr, PARTS))}, each once")
        object.__setattr__(self, "parts", parts)
        if "holiday" not in parts and self.holidays is not None:
            raise self._wrong("holidays", "be None unless 'parts' names 'holiday'")
        if "holiday" in parts and self.holidays is None:
            warnings.warn(
                "No day counts as a holiday: give Date the list of them, or a function, as 'holidays'.", stacklevel=3
            )
            object.__setattr__(self, "holidays", ())
        for name in ("low", "high"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, self._day(name, getattr(self, name)))
        if self.low is not None and self.high is not None and self.low > self.high:
            raise self._wrong("low", f"not be after 'high' ({self.high.isoformat()})")
        if self.holidays is not None and not callable(self.holidays):
            if isinstance(self.holidays, str) or not isinstance(self.holidays, Iterable):
                raise self._wrong("holidays", "be a list of dates, a function or None", InputTypeError)
            days = {self._day("holidays", one) for one in self.holidays}
            object.__setattr__(self, "holidays", tuple(sorted(days)))

    def _day(self, name: str, value: Any) -> date:
        found = as_day(value)
        if found is None:
            raise self._wrong(name, "be dates, such as '2025-06-14'", got=repr(value))
        return found

    def are_holidays(self, days: Sequence[date]) -> list[bool]:
        """Return, for every day, whether it is a holiday."""
        if callable(self.holidays):
            return [bool(self.holidays(day)) for day in days]
        known = set(self.holidays or ())
        return [day in known for day in days]


def as_day(value: Any) -> date | None:
    """Return the day of a date, a time stamp or a text such as 2025-06-14; None for anything else.

    >>> as_day("2025-06-14"), as_day("14 June"), as_day(7)
    (datetime.date(2025, 6, 14), None, None)
    """
    # No time at all is a date to Python.
    if value is pd.NaT:
        return None
    if isinstance(value, pd.Timestamp | np.datetime64):
        return None if pd.isna(value) else pd.Timestamp(value).date()
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value.strip()[:10])
    except ValueError:
        return None


def has_time_of_day(value: Any) -> bool:
    """Return whether a date is that of an hour of the day rather than of the day as a whole.

    >>> [has_time_of_day(value) for value in (pd.Timestamp("2025-06-14 17:30"), "2025-06-14", "2025-06-14 00:00")]
    [True, False, False]
    """
    if isinstance(value, str) and len(value.strip()) <= len("2025-06-14"):
        return False
    if not isinstance(value, str | datetime | np.datetime64):
        return False
    try:
        stamp = pd.Timestamp(value)
    except ValueError:
        return True  # a text that begins with a date, and goes on
    return not pd.isna(stamp) and stamp.time() != time()


def day_in_words(day: date) -> str:
    """Return a date as one would say it.

    >>> day_in_words(date(2025, 6, 14))
    'Saturday 14 June 2025'
    """
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"


def parts_of(feature: Date, days: Sequence[date]) -> dict[str, list[Hashable]]:
    """Return the parts of some days that a model sees, by name."""
    made: Mapping[str, Callable[[], list[Hashable]]] = {
        "weekday": lambda: [WEEKDAYS[day.weekday()] for day in days],
        "month": lambda: [MONTHS[day.month - 1] for day in days],
        "day of year": lambda: [day.timetuple().tm_yday for day in days],
        "holiday": lambda: list(feature.are_holidays(days)),
        "year": lambda: [day.year for day in days],
        "quarter": lambda: [QUARTERS[(day.month - 1) // 3] for day in days],
        "week": lambda: [day.isocalendar().week for day in days],
        "day": lambda: [day.day for day in days],
    }
    return {part: made[part]() for part in feature.parts}


#: Parts that are numbers and go round: the lowest, and the period.
ROUND = {"day of year": (1, 366), "week": (1, 53)}
#: Parts that are names and go round.
NAMED = {"month": MONTHS, "quarter": QUARTERS}
#: Most days that may be chosen from.
MOST_DAYS = 40_000

DateRange = tuple[date, date]


@dataclass(frozen=True)
class RoundOrder(OrderedColumn):
    """Names that go round, in their order: the months of a year."""

    @property
    def circle(self) -> float | None:
        return len(self.labels) / self.scale


@dataclass(frozen=True)
class DateColumn(Column):
    """A date: the columns of its parts stand side by side, each with its own coordinates."""

    feature: Date
    parts: tuple[Column, ...]
    first: date
    last: date

    @property
    def choices(self) -> list[Any]:
        return []

    def day(self, value: Any) -> date:
        """Return a value of the user's as a day."""
        found = as_day(value)
        if found is None:
            if pd.api.types.is_scalar(value) and pd.isna(value):
                raise missing_error(self.name, 1, "Fill them in, or leave the rows out.")
            raise InputError(f"The column {self.name!r} must hold dates, such as 2025-06-14. Got {value!r} instead.")
        return found

    def spread(self, values: Sequence[Any]) -> dict[str, list[Hashable]]:
        """Return the parts of some dates, by the names of their columns."""
        made = parts_of(self.feature, [self.day(value) for value in values])
        return {column.name: made[part] for column, part in zip(self.parts, self.feature.parts, strict=True)}

    def listed(self) -> list[tuple[str, slice, list[Any]]]:
        """Of each part: what it is called, its coordinates, and its values in their order."""
        found = []
        for part, column in zip(self.feature.parts, self.parts, strict=True):
            known = column.choices if not isinstance(column, NumberColumn) else _known(column)
            found.append((part, column.at, known))
        return found

    def raw(self, table: pd.DataFrame, unknown: Unknown = "error") -> Floats:
        spread = pd.DataFrame(self.spread(table[self.columns[0]].tolist()))
        return np.hstack([part.raw(spread) for part in self.parts])

    def raw_row(self, values: Mapping[str, Any], unknown: Unknown = "error") -> list[float]:
        spread = {name: found[0] for name, found in self.spread([values[self.columns[0]]]).items()}
        return [number for part in self.parts for number in part.raw_row(spread)]

    @staticmethod
    def like(day: pd.Timestamp, value: Any) -> Any:
        """Return a day as another one was given: as a text, a date or a time stamp."""
        if isinstance(value, str):
            return day.date().isoformat()
        return day.date() if type(value) is date else day

    def value(self, row: Mapping[str, Any]) -> Any:
        return self.day(row[self.columns[0]])

    def decoded(self, point: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        return {self.columns[0]: self.dated(point, None, (self.first, self.last))}

    # ---- days that exist -------------------------------------------------------------------------

    def range_from(self, start: date, limit: Any, restricted: bool) -> DateRange:
        """Return the first and the last day that may be suggested; the start is always allowed besides."""
        first, last = self.first, self.last
        if not restricted:
            return first, last
        feature = self.feature
        ends = (feature.low, feature.high), self._pair(limit)
        first = max([first, *(low for low, _ in ends if low is not None)])
        last = min([last, *(high for _, high in ends if high is not None)])
        if feature.change == "increase":
            first = max(first, start)
        if feature.change == "decrease":
            last = min(last, start)
        return first, last

    def _pair(self, limit: Any) -> tuple[date | None, date | None]:
        if limit is None:
            return None, None
        try:
            low, high = (None if end is None else as_day(end) for end in limit)
            given = [end for end in limit if end is not None]
        except (TypeError, ValueError, OverflowError):
            low, high, given = None, None, [limit]
        if sum(end is not None for end in (low, high)) != len(given) or (low and high and low > high):
            raise InputError(
                f"The 'bounds' of {self.name!r} must be a pair (first, last) of dates. Got {limit!r} instead."
            )
        return low, high

    def days(self, allowed: DateRange, start: date | None) -> tuple[list[date], Floats]:
        """Return the days that may be suggested, and the start; and their coordinates, one row each."""
        first, last = allowed
        days = [first + timedelta(n) for n in range((last - first).days + 1)]
        if start is not None and not first <= start <= last:
            days.append(start)
        made = parts_of(self.feature, days)
        spread = pd.DataFrame({c.name: made[part] for c, part in zip(self.parts, self.feature.parts, strict=True)})
        return days, np.hstack([(part.raw(spread) - part.offset) / part.scale for part in self.parts])

    def exists(self, allowed: DateRange, start: date, coordinates: int) -> Relations:
        """Say that the parts are those of some day, as a relation between coordinates."""
        _, rows = self.days(allowed, start)
        begin = self.at.start
        groups = [tuple(range(part.at.start - begin, part.at.stop - begin)) for part in self.parts]
        spacing = np.repeat([1.0 / part.scale for part in self.parts], [len(group) for group in groups])
        tree = table_tree(rows, groups, spacing, begin, f"{self.name} is a date that exists")
        return Relations((tree,), np.zeros((0, coordinates)))

    def is_any(self, allowed: DateRange) -> bool:
        """Return whether the model sees one part, and each of its values is that of some day."""
        (part, *others) = self.parts
        levels = part.levels if isinstance(part, NumberColumn) else None
        count = part.at.stop - part.at.start if levels is None else levels.size
        return not others and len(np.unique(self.days(allowed, None)[1], axis=0)) == count

    def holds(self, allowed: DateRange, start: date, point: Floats) -> bool:
        """Return whether these coordinates are those of a day that may be suggested, or of the start."""
        rows = self.days(allowed, start)[1]
        return bool((np.abs(rows - point) <= 1e-9).all(axis=1).any())

    def dated(self, point: Floats, start: date | None, allowed: DateRange) -> pd.Timestamp:
        """Return the day with these coordinates, of several the nearest to the start."""
        days, rows = self.days(allowed, start)
        same = np.flatnonzero((np.abs(rows - point) <= 1e-9).all(axis=1))
        if not same.size:
            raise InputError(f"No date from {allowed[0]} to {allowed[1]} is what {self.name!r} would have to be.")
        near = days[same[0]] if start is None else min((days[i] for i in same), key=lambda day: abs((day - start).days))
        return pd.Timestamp(near)


def fitted_date(name: str, feature: Date, table: pd.DataFrame, start: int) -> DateColumn:
    """Return a date with its place in the coordinates, from `start` on, and the years of the history."""
    column = feature.column or name
    shell = DateColumn(name, feature, (column,), slice(start, start), 0.0, 1.0, (), date.min, date.max)
    given = table[column].tolist()
    seen = [shell.day(value) for value in given]
    if any(map(has_time_of_day, given)):
        warnings.warn(
            f"The column {column!r} holds times of day, of which a Date sees nothing: put what matters, such as the "
            "hour, in a column of its own.",
            UserWarning,
            stacklevel=5,
        )
    first = feature.low or date(min(seen).year, 1, 1)
    last = feature.high or date(max(seen).year, 12, 31)
    if (last - first).days > MOST_DAYS:
        raise InputError(
            f"The dates of {name!r} must span at most {MOST_DAYS:,} days; narrow them by 'low' and 'high'. "
            f"Got {first} to {last}."
        )
    years = range(min(min(seen).year, first.year), max(max(seen).year, last.year) + 1)
    parts: list[Column] = []
    for part in feature.parts:
        made = _part(f"{name}: {part}", part, feature, years, start)
        parts.append(made)
        start = made.at.stop
    return replace(shell, parts=tuple(parts), at=slice(shell.at.start, start), first=first, last=last)


def _part(name: str, part: str, feature: Date, years: range, start: int) -> Column:
    """Return the column of one part: what it may be is known from the calendar, not from the history."""
    change = "fixed" if feature.change == "fixed" else "free"
    common: dict[str, Any] = {"change": change, "weight": feature.weight}
    place = slice(start, start + 1)
    if part == "weekday":
        every = np.ones(len(WEEKDAYS), dtype=np.bool_)
        wide = slice(start, start + len(WEEKDAYS))
        return CategoryColumn(name, Categorical(WEEKDAYS, **common), (name,), wide, 0.0, 2.0, WEEKDAYS, every, None)
    if part in NAMED:
        labels = NAMED[part]
        last, kind = float(len(labels) - 1), Ordered(labels, **common)
        half = 0.5 * len(labels) / last
        numbers = np.arange(len(labels), dtype=np.float64)
        return RoundOrder(name, kind, (name,), place, 0.0, last, 0.0, last, numbers, "int", unit=half, labels=labels)
    if part == "holiday":
        return _number(name, Binary(**common), place, [0, 1], 0.0, 1.0)
    if part in ROUND:
        low, period = ROUND[part]
        found = _number(name, Discrete(step=1, **common), place, range(low, low + period), low, period - 1.0)
        own = {**vars(found), "unit": 0.5 * period / found.scale}
        return CyclicColumn(**own, begins=float(low), period=float(period))
    values = range(1, 32) if part == "day" else years
    return _number(name, Discrete(step=1, **common), place, values, values[0], float(max(1, values[-1] - values[0])))


def _known(column: NumberColumn) -> list[Any]:
    """Return all values of a part that is a number, or has one for each of its names."""
    if isinstance(column, OrderedColumn):
        return list(column.labels)
    assert column.levels is not None
    return [restored(level, column.type) for level in column.levels.tolist()]


def _number(
    name: str, feature: Feature, place: slice, values: Sequence[int], offset: float, scale: float
) -> NumberColumn:
    levels = np.array(values, dtype=np.float64)
    ends = float(levels[0]), float(levels[-1])
    kind: NumberType = "bool" if isinstance(feature, Binary) else "int"
    return NumberColumn(name, feature, (name,), place, float(offset), scale, *ends, levels, kind)


#: Ranges of days, each beside some rules, that are kept for the next question.
KEPT_RANGES = 64


class Calendar:
    """All dates of a schema; `order` names the user's columns."""

    def __init__(self, columns: Sequence[DateColumn], order: Sequence[str]) -> None:
        self.columns = columns
        self._order = list(order)
        #: The user's columns, and then the parts of all dates.
        self.names = [*order, *(part.name for column in columns for part in column.parts)]
        self._existing: Recent[tuple[Relations | None, Relations]] = Recent(KEPT_RANGES)

    def row(self, values: list[Any]) -> list[Any]:
        """Return the values of a context, in the order of the user's columns, and the parts of its dates."""
        named = dict(zip(self._order, values, strict=True))
        parts = [column.spread([named[column.columns[0]]]) for column in self.columns]
        return [*values, *(found[0] for some in parts for found in some.values())]

    def table(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table of contexts with the parts of its dates."""
        if not self.columns:
            return table
        parts = [pd.DataFrame(c.spread(table[c.columns[0]].tolist()), index=table.index) for c in self.columns]
        return pd.concat([table, *parts], axis=1)

    def parts_in(self, names: Collection[str]) -> set[str]:
        """Return the parts of the dates among some features."""
        return {part.name for column in self.columns if column.name in names for part in column.parts}

    def related(
        self,
        related: Relations | None,
        context: pd.Series,
        kept: Collection[str],
        limits: Mapping[str, Any],
        restricted: bool,
        coordinates: int,
    ) -> tuple[Relations | None, dict[int, DateRange]]:
        """Return relations, and that the parts of every date are those of a day that may be suggested; and these days.

        Those asked for last are kept: what an engine lays out for rules serves the next question about the same.
        """
        days = {}
        for column in self.columns:
            start = column.day(context[column.columns[0]])
            allowed = column.range_from(start, limits.get(column.name), restricted)
            days[column.at.start] = allowed
            held = restricted and (column.name in kept or column.feature.change == "fixed")
            if held or column.is_any(allowed):
                continue
            related = self._with_days(related, column, allowed, start, coordinates)
        return related, days

    def _with_days(
        self, related: Relations | None, column: DateColumn, allowed: DateRange, start: date, coordinates: int
    ) -> Relations:
        """Return relations, and that the parts of a date are those of an allowed day."""
        outside = None if allowed[0] <= start <= allowed[1] else start
        # What the key names by its identity is kept beside, so that nothing else can take that.
        key = column.name, allowed, outside, id(related)
        return self._existing.get(key, lambda: (related, column.exists(allowed, start, coordinates).joined(related)))[1]

    def beyond(self, days: Mapping[int, DateRange], context: pd.Series, point: Floats) -> list[int]:
        """Return the first coordinates of the dates that are none of those that may be suggested at a point."""
        found = []
        for column in self.columns:
            start = column.day(context[column.columns[0]])
            if not column.holds(days[column.at.start], start, point[column.at]):
                found.append(column.at.start)
        return found
