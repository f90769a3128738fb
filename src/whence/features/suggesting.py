"""Columns that look as if they went round: what a user may want to declare."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd

from whence.features.columns import Column
from whence.features.cyclic import Cyclic
from whence.features.kinds import Continuous, Discrete

__all__ = ["suggested_cycles"]

#: What a column is called, the lowest value, and the period; several for what is counted from 0 or from 1.
CYCLES: tuple[tuple[str, float, float], ...] = (
    (r"h(ou)?rs?|hour ?of ?day", 0, 24),
    (r"minutes?|minute ?of ?hour", 0, 60),
    (r"months?|mnth|month ?of ?year", 1, 12),
    (r"week ?days?|day ?of ?week|dow", 0, 7),
    (r"week ?days?|day ?of ?week|dow", 1, 7),
    (r"day ?of ?year|doy|yday", 1, 366),
    (r"weeks?|week ?of ?year", 1, 53),
    (r"wind ?dir(ection)?|wind ?deg(rees)?|direction|bearing|heading|azimuth", 0, 360),
)
#: Share of the period that the values must span.
SPANNED = 0.5


def suggested_cycles(columns: Mapping[str, Column], table: pd.DataFrame) -> dict[str, Cyclic]:
    """Numbers whose name and range are those of an hour, a month, a direction.

    Examples
    --------
    >>> import whence as wh
    >>> X = pd.DataFrame({"hour": range(24), "temp": range(24)})
    >>> wh.Schema.infer(X).suggestions(X)
    {'hour': Cyclic(change='free', weight=1.0, period=24, low=0, step=None, unit='', scale=None)}
    """
    found = {}
    for name, column in columns.items():
        if not isinstance(column.feature, Continuous | Discrete):
            continue
        plain = re.sub(r"[_\-.\s]+", " ", name.strip().lower())
        low, high = float(table[name].min()), float(table[name].max())
        for called, begins, period in CYCLES:
            inside = begins <= low and high < begins + period and high - low >= SPANNED * period - 1
            if re.fullmatch(called, plain) and inside:
                found[name] = Cyclic(period, begins)
                break
    return found
