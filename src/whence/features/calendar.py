"""The dates of a schema side by side: their parts beside the user's columns, and the days that exist."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any

import pandas as pd

from whence.aliases import Floats
from whence.features.date_column import DateColumn, DateRange
from whence.features.recent import Recent
from whence.question.relations import Relations

__all__ = ["Calendar"]

#: Ranges of days, each beside some relations, that are kept for the next question.
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
        """The values of a context, in the order of the user's columns, and the parts of its dates."""
        if not self.columns:
            return values
        named = dict(zip(self._order, values, strict=True))
        parts = [column.spread([named[column.columns[0]]]) for column in self.columns]
        return [*values, *(found[0] for some in parts for found in some.values())]

    def table(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table of contexts with the parts of its dates."""
        if not self.columns:
            return table
        parts = [pd.DataFrame(c.spread(table[c.columns[0]].tolist()), index=table.index) for c in self.columns]
        return pd.concat([table, *parts], axis=1)

    def parts_in(self, names: Collection[str]) -> set[str]:
        """The parts of the dates among some features."""
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
        """Relations, and that the parts of every date are those of a day that may be suggested; and these days.

        Those asked for last are kept: what an engine lays out for relations serves the next question about the same.
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
        """Relations, and that the parts of a date are those of an allowed day."""
        outside = None if allowed[0] <= start <= allowed[1] else start
        # What the key names by its identity is kept beside, so that nothing else can take that.
        key = column.name, allowed, outside, id(related)
        return self._existing.get(key, lambda: (related, column.exists(allowed, start, coordinates).joined(related)))[1]

    def beyond(self, days: Mapping[int, DateRange], context: pd.Series, point: Floats) -> list[int]:
        """First coordinates of the dates that are none of those that may be suggested at a point."""
        found = []
        for column in self.columns:
            start = column.day(context[column.columns[0]])
            if not column.holds(days[column.at.start], start, point[column.at]):
                found.append(column.at.start)
        return found
