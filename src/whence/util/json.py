"""Values as plain JSON, and back.

JSON has no infinity and no "not a number": here infinity is the string ``"Infinity"`` (or ``"-Infinity"``) and a
missing value is ``null``, so that what is written is strict JSON that every reader takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from datetime import date, time
from typing import Any

import numpy as np
import pandas as pd

from whence.errors import InputError

_INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}
#: Most characters of a value that an error message repeats.
_QUOTED = 80


def to_plain(value: Any) -> Any:
    """Return `value` as None, bool, int, float, str, list and dict only: what strict JSON can hold.

    NaN, NaT and NA become None, infinities the strings "Infinity" and "-Infinity"; numpy scalars become Python's,
    arrays, tuples, sets and indexes lists, a Series a dict by its labels, a DataFrame a list of rows, dates their ISO
    text. Whatever else there is becomes its ``str``.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> to_plain({"a": np.float64(0.5), "b": (1, np.int64(2)), "c": [np.nan, np.inf]})
    {'a': 0.5, 'b': [1, 2], 'c': [None, 'Infinity']}
    >>> to_plain(pd.Series({"rain": np.True_, "day": pd.Timestamp("2024-05-01")}))
    {'rain': True, 'day': '2024-05-01T00:00:00'}
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            return None
        return float(value) if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, pd.DataFrame):
        return [to_plain(row) for row in value.to_dict("records")]
    if isinstance(value, Mapping | pd.Series):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | pd.Index | pd.api.extensions.ExtensionArray):
        return to_plain(value.tolist())
    if isinstance(value, Sequence | Set) and not isinstance(value, bytes | bytearray):
        return [to_plain(entry) for entry in value]
    return str(value)


def number_from_plain(value: Any) -> float:
    """Return a number that :func:`to_plain` wrote: None is NaN, "Infinity" and "-Infinity" are infinite.

    Examples
    --------
    >>> number_from_plain(2), number_from_plain("Infinity"), number_from_plain(None)
    (2.0, inf, nan)
    """
    if value is None:
        return math.nan
    if isinstance(value, str) and value in _INFINITE:
        return _INFINITE[value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):
            return float(value)
    raise InputError(f'A number must be a JSON number, "Infinity", "-Infinity" or null. Got {quoted(value)} instead.')


def finite(value: Any) -> float | None:
    """Return `value` as a float where it is a finite number, and no bool; otherwise None."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except (OverflowError, TypeError):
        return None


def quoted(value: Any, most: int = _QUOTED) -> str:
    """Return `value` as an error message repeats it, cut short where it is longer than `most` characters."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def some(names: Sequence[Any], most: int = 6) -> str:
    """Return the first few of `names`, quoted, and how many more there are."""
    shown = ", ".join(quoted(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
