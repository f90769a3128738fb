"""Dates: what a model sees of them is their parts, and an explanation suggests a date that exists."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any

import numpy as np
import pandas as pd

from whence.errors import InputTypeError
from whence.features.kinds import Feature

__all__ = ["MONTHS", "PARTS", "WEEKDAYS", "Date", "as_day", "day_in_words", "has_time_of_day", "parts_of"]

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
QUARTERS = ("first quarter", "second quarter", "third quarter", "fourth quarter")
#: What of a date a model can see.
PARTS = ("weekday", "month", "day of year", "holiday", "year", "quarter", "week", "day")
#: Days from year 1 to 1970.
EPOCH = date(1970, 1, 1).toordinal()


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
        parts = (self.parts,) if isinstance(self.parts, str) else tuple(self.parts)
        if not parts or len(set(parts)) != len(parts) or not set(parts) <= set(PARTS):
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
        """Of every day, whether it is a holiday."""
        if callable(self.holidays):
            return [bool(self.holidays(day)) for day in days]
        known = set(self.holidays or ())
        return [day in known for day in days]


def as_day(value: Any) -> date | None:
    """The day of a date, a time stamp or a text such as 2025-06-14; None for anything else.

    Examples
    --------
    >>> as_day("2025-06-14"), as_day("14 June"), as_day(7)
    (datetime.date(2025, 6, 14), None, None)
    """
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
    """Whether a date is that of an hour of the day rather than of the day as a whole.

    Examples
    --------
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
    """A date as one would say it.

    Examples
    --------
    >>> day_in_words(date(2025, 6, 14))
    'Saturday 14 June 2025'
    """
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"


def parts_of(feature: Date, days: Sequence[date]) -> dict[str, list[Hashable]]:
    """The parts of some days that a model sees, by name."""
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
