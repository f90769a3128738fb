"""Reading the user's tables: DataFrames, arrays, and single contexts of any usual shape."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_array

from whence.errors import InputError, InputTypeError
from whence.util.aliases import Floats
from whence.util.json import quoted
from whence.util.text import nearest

#: Most columns that an error names.
NAMED = 20

_MONTH = r"(?:jan|feb|mar|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-z]*"
#: The name of a weekday before a date, in English or in German.
WEEKDAY = r"(?i:(?:mo|tu|we|th|fr|sa|su|di|mi|do|so)[a-z]*\.?,? +)"
#: Dates and times of day, as people and programs write them.
DATE = re.compile(
    rf"{WEEKDAY}?(?:"
    r"\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})(?: .*)?"
    r"|\d{4}/\d{1,2}/\d{1,2}.*|\d{1,2}:\d{2}(?::\d{2})?"
    rf"|(?i:\d{{1,2}}[-. /]+{_MONTH}[-. ,/]+(?:\d{{4}}|\d{{2}})|{_MONTH}\.? \d{{1,2}},? \d{{4}}))"
)


#: Signs and names of currencies, before or after an amount.
CURRENCY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|INR|AUD|CAD)"
#: What stands behind a number as its unit, and is not part of a name.
SIGN = rf"(?:[%‰]|°[CF]?|{CURRENCY})"
_BLANK = "[ \u00a0\u202f]"
#: A number as people write it: thousands apart, either decimal sign, its unit (see `SIGN`), losses in brackets.
WRITTEN_NUMBER = re.compile(
    rf"\(?[+\-−]?{CURRENCY}?{_BLANK}?[+\-−]?"
    rf"(?:\d{{1,3}}(?P<between>[,.'’_]|{_BLANK})\d{{3}}(?:(?P=between)\d{{3}})*(?:[.,]\d+)?|\d+(?:[.,]\d+)?|[.,]\d+)"
    rf"(?:[eE][+\-]?\d+)?{_BLANK}?{SIGN}?\)?",
    re.ASCII,
)
#: A number that may be a code, such as that of a shop: what it is called, rather than how much.
_CODE = re.compile(r"\d+", re.ASCII)


def written_number(values: Iterable[Any]) -> str | None:
    """Return one of some texts that are all numbers as people write them; None where they are not, or may all be codes.

    >>> [written_number(texts) for texts in (["950", "8,420"], ["5 %"], ["101", "102"], ["5 kg"])]
    ['8,420', '5 %', None, None]
    """
    texts = [value.strip() if isinstance(value, str) else "" for value in values]
    if not texts or not all(WRITTEN_NUMBER.fullmatch(text) for text in texts):
        return None
    return next((text for text in texts if not _CODE.fullmatch(text)), None)


def dates(values: pd.Series) -> bool:
    """Return whether a column holds nothing but texts that are dates or times of day."""
    different = pd.unique(values)
    return len(different) > 0 and all(isinstance(v, str) and DATE.fullmatch(v.strip()) for v in different)


def as_pandas(table: Any) -> Any:
    """A polars table or column as one of pandas, with names, categories and their order; anything else as it is."""
    if not is_polars(table):
        return table
    kind = type(table).__name__
    if kind == "DataFrame":
        return pd.DataFrame({name: _column_of(table[name]) for name in table.columns}, index=range(len(table)))
    if kind == "Series":
        return _column_of(table).rename(table.name or None)
    raise InputTypeError(f"A polars table must be a DataFrame; call 'collect' first. Got a {kind} instead.")


def _column_of(column: Any) -> pd.Series:
    """Return a column of polars as one of pandas, without what polars would need for that by itself."""
    values = column.to_list()
    kind = str(column.dtype).partition("(")[0]
    if kind == "Enum":
        return pd.Series(pd.Categorical(values, categories=column.dtype.categories.to_list(), ordered=True))
    if kind in ("Date", "Datetime"):
        return pd.Series(pd.to_datetime(pd.Series(values)))
    return pd.Series(values)


def as_table(X: Any, name: str, columns: Sequence[str] | None = None, missing: bool = False) -> pd.DataFrame:
    """Return `X` as a DataFrame with string column names, in the order of `columns` where they are given.

    Numbers of an array may be `missing` (NaN) where that is allowed; of a DataFrame, that is for its columns to say.
    """
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        table = X.set_axis(_names(X.columns, name), axis="columns").infer_objects()
        if columns is not None:
            table = _arranged(table, name, columns)
    else:
        array = _checked_array(X, name, columns, missing)
        if columns is not None and array.shape[1] != len(columns):
            # scikit-learn's own wording, which its estimator checks look for.
            raise InputError(
                f"{name} has {array.shape[1]} features, but Policy is expecting {len(columns)} features as input."
            )
        table = pd.DataFrame(array, columns=list(columns or (f"x{j}" for j in range(array.shape[1])))).infer_objects()
    table = _with_exact_numbers_read(table)
    if len(table) == 0 or table.shape[1] == 0:
        what = "sample(s)" if len(table) == 0 else "feature(s)"
        raise InputError(f"Found array with 0 {what} (shape={table.shape}) in {name!r} while at least 1 is required.")
    return table


def _with_exact_numbers_read(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with decimals and fractions as the numbers that they are; databases hand out such columns."""
    found: dict[str, Floats] = {}
    for name, dtype in zip(map(str, table.columns), table.dtypes, strict=True):
        if str(dtype).startswith("decimal"):
            found[name] = table[name].to_numpy(dtype=np.float64, na_value=np.nan)
        elif pd.api.types.is_object_dtype(dtype):
            # Of texts, dates and the like nothing more is looked at.
            mixed = pd.api.types.infer_dtype(table[name]) in ("decimal", "mixed", "mixed-integer")
            values = table[name].tolist() if mixed else []
            if _are_numbers(values):
                found[name] = np.array([np.nan if v is None or v is pd.NA else exact(name, v) for v in values])
    return table.assign(**found) if found else table


def _are_numbers(values: list[Any]) -> bool:
    """Return whether values are numbers or missing, some of them exact ones."""
    known = [value for value in values if not (value is None or value is pd.NA)]
    numbers = (int, float, np.number, Decimal, Fraction)
    if not all(isinstance(value, numbers) and not isinstance(value, bool) for value in known):
        return False
    return any(isinstance(value, Decimal | Fraction) for value in known)


def exact(name: str, value: Any) -> Any:
    """Return a decimal or a fraction as the nearest float; anything else as it is.

    >>> exact("price", Decimal("0.1")), exact("price", Fraction(1, 4)), exact("price", "0.1")
    (0.1, 0.25, '0.1')
    """
    if not isinstance(value, Decimal | Fraction):
        return value
    if isinstance(value, Decimal) and value.is_nan():
        return np.nan
    try:
        found = float(value)
    except OverflowError:
        found = np.inf
    if np.isinf(found) and not (isinstance(value, Decimal) and value.is_infinite()):
        raise InputError(f"The column {name!r} must hold numbers below 1.8e308. Got {quoted(value)} instead.")
    return found


def _names(labels: Iterable[Any], table: str) -> list[str]:
    """Return labels as strings, each of them once."""
    names = [str(label) for label in labels]
    if len(set(names)) != len(names):
        twice = next(k for i, k in enumerate(names) if k in names[:i])
        raise InputError(f"The column {twice!r} must occur only once in {table!r}. Got it {names.count(twice)} times.")
    return names


def _arranged(table: pd.DataFrame, name: str, columns: Sequence[str]) -> pd.DataFrame:
    if set(table.columns) != set(columns):
        raise _misnamed(
            list(table.columns),
            columns,
            f"The column {{!r}} of {name!r} is unknown",
            f"The column {{!r}} is missing from {name!r}",
        )
    return table[list(columns)]


def _misnamed(given: Sequence[str], columns: Sequence[str], unknown: str, missing: str) -> InputError:
    """The error for names other than `columns`, which begins with words for a name that is unknown or missing."""
    absent = [c for c in columns if c not in given]
    extra = [c for c in given if c not in columns]
    hints = ((c, hint) for c in extra if (hint := nearest(c, absent or columns)))
    meant, hint = next(hints, (extra[0] if extra else None, ""))
    said = f"expected {', '.join(map(repr, columns[:NAMED]))}{', …' if len(columns) > NAMED else ''}."
    if not absent:
        return InputError(f"{unknown.format(meant)}; {said}{hint}")
    if extra:
        said += f" Got {meant!r}, which is unknown."
    return InputError(f"{missing.format(absent[0])}; {said}{hint}")


def _checked_array(X: Any, name: str, columns: Sequence[str] | None, missing: bool) -> NDArray[Any]:
    try:
        array = np.asarray(check_array(X, dtype=None, ensure_all_finite=False, input_name=name))
        if array.dtype == object:
            mixed = pd.DataFrame(array).infer_objects()
            if all(pd.api.types.is_numeric_dtype(t) for t in mixed.dtypes):
                _check_finite(check_array(array, dtype=np.float64, ensure_all_finite=False), name, columns, missing)
        elif np.issubdtype(array.dtype, np.number):
            _check_finite(array, name, columns, missing)
    except TypeError as error:
        raise InputTypeError(str(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None
    return array


def _check_finite(array: NDArray[Any], name: str, columns: Sequence[str] | None = None, missing: bool = False) -> None:
    """Refuse missing and infinite values, naming their column; scikit-learn's checks look for the first words."""
    if np.isfinite(array).all() or (missing and not np.isinf(array).any()):
        return
    gone = np.isnan(array)
    bad = gone if gone.any() else ~np.isfinite(array)
    what = "NaN" if gone.any() else f"infinity or a value too large for {array.dtype!r}"
    faulty = np.flatnonzero(bad.any(axis=0))
    letter = name.lower()
    named = columns if columns is not None and len(columns) == array.shape[1] else None
    labels = [f"{letter}{j}" if named is None else named[j] for j in faulty.tolist()]
    counts = bad.sum(axis=0)[faulty].tolist()
    found = ", ".join(f"{label!r} ({count})" for label, count in zip(labels[:5], counts, strict=False))
    more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
    raise InputError(
        f"Input {name} contains {what}. Every value must be a finite number; "
        f"rows in which it is not, by column: {found}{more}."
        + (f" {MISSING_NUMBERS}" if gone.any() and name == "X" else "")
    )


def as_row(context: Any, columns: Sequence[str], name: str = "context") -> pd.Series:
    """Return one context as a Series over `columns`; a Series, mapping, one-row table or 1-D array is accepted.

    `name` is that of the argument, for errors.
    """
    context = as_pandas(context)
    if isinstance(context, pd.DataFrame):
        if len(context) != 1:
            rows = len(context)
            raise InputError(f"The {name!r} must be a single row. Got a table of {rows} rows instead.")
        # By column, so that a row of numbers and bools does not become one of objects or floats.
        labels = _names(context.columns, name)
        context = {label: context.iloc[0, j] for j, label in enumerate(labels)}
    if isinstance(context, pd.Series | Mapping):
        values = _arranged_values(context, columns, name)
    else:
        array = np.asarray(context, dtype=object if not isinstance(context, np.ndarray) else None)
        if array.ndim == 2 and array.shape[0] == 1:
            array = array[0]
        if array.ndim != 1 or array.shape[0] != len(columns):
            raise InputError(f"The {name!r} must hold {len(columns)} values. Got shape {array.shape} instead.")
        values = array.tolist()
    if any(isinstance(value, Decimal | Fraction) for value in values):
        values = [exact(column, value) for column, value in zip(columns, values, strict=True)]
    return pd.Series(values, index=_index(tuple(columns)).view(), dtype=object)


@lru_cache(maxsize=256)
def _index(names: tuple[str, ...]) -> pd.Index:
    """Return the names of columns as an index: to make one takes longer than to read a context."""
    return pd.Index(list(names))


def _arranged_values(context: pd.Series | Mapping[Any, Any], columns: Sequence[str], name: str) -> list[Any]:
    given = dict(zip(_names(context.keys(), name), (v for _, v in context.items()), strict=True))
    if len(given) != len(columns) or not all(c in given for c in columns):
        raise _misnamed(
            list(given), columns, f"The {name!r} gives {{!r}}, which is unknown", f"The {name!r} must give {{!r}}"
        )
    return [given[c] for c in columns]


def as_outcomes(Y: Any, rows: int) -> tuple[Floats, list[str]]:
    """Return outcomes as a 2-D float array with the names of their columns."""
    names: list[str] | None = None
    Y = as_pandas(Y)
    if isinstance(Y, pd.DataFrame):
        names = [str(c) for c in Y.columns]
    elif isinstance(Y, pd.Series):
        names = [str(Y.name) if Y.name is not None else "y"]
    if Y is None:
        raise InputError(
            "Policy requires y to be passed, but the target y is None: give one row of 'Y' per row of 'X'."
        )
    try:
        array = np.asarray(check_array(Y, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, input_name="Y"))
        _check_finite(array[:, None] if array.ndim == 1 else array, "Y", names)
    except TypeError as error:
        raise InputTypeError(str(error)) from None
    except (ValueError, OverflowError) as error:
        raise InputError(str(error)) from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] != rows:
        raise InputError(f"'Y' must have one row per row of 'X' ({rows}). Got shape {array.shape} instead.")
    if names is None:
        names = [f"y{j}" for j in range(array.shape[1])]
    return np.ascontiguousarray(array), names


def check_order(X: Any, Y: Any) -> None:
    """Refuse rows of `Y` that have the labels of `X` in another order: rows are paired by position."""
    if not isinstance(X, pd.DataFrame) or not isinstance(Y, pd.DataFrame | pd.Series) or X.index.equals(Y.index):
        return
    if len(X) == len(Y) and X.index.is_unique and set(X.index) == set(Y.index):
        raise InputError("The rows of 'Y' must be in the order of those of 'X'. Got the same labels in another order.")


#: What to do about missing values.
MISSING_NUMBERS = "Fill them in, or use weights that take missing numbers, such as ForestWeights(missing=True)."
MISSING_NAMES = "Fill them in, such as by a category of their own."


def missing_error(name: str, count: int, way: str = MISSING_NUMBERS) -> InputError:
    """Return the error for missing values in the column `name`, which names a way out."""
    return InputError(f"The column {name!r} must not hold missing values (NaN). Got {count} of them. {way}")


def no_missing(name: str, values: pd.Series) -> None:
    """Refuse a column with missing values."""
    missing = values.isna()
    if missing.any():
        number = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
        raise missing_error(name, int(missing.sum()), MISSING_NUMBERS if number else MISSING_NAMES)


def number(name: str, value: Any, missing: bool = False) -> float:
    """Return one value of the column `name` as a finite number, or NaN where it may be missing."""
    if missing and pd.api.types.is_scalar(value) and pd.isna(value):
        return np.nan
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        if pd.api.types.is_scalar(value) and pd.isna(value):
            raise missing_error(name, 1) from None
        raise InputTypeError(f"The column {name!r} must hold numbers. Got {value!r} instead.") from None
    if not np.isfinite(found):
        if np.isnan(found):
            raise missing_error(name, 1)
        raise InputError(f"The column {name!r} must be finite. Got infinity (inf).")
    return found


def numbers(name: str, values: pd.Series, missing: bool = False) -> Floats:
    """Return the column `name` as finite numbers, and NaN for those that may be missing."""
    if not missing:
        no_missing(name, values)
    if not pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_complex_dtype(values.dtype):
        return np.array([number(name, value, missing) for value in values.tolist()], dtype=np.float64)
    raw = values.to_numpy(dtype=np.float64, na_value=np.nan) if missing else values.to_numpy(dtype=np.float64)
    if np.isinf(raw).any() or (not missing and not np.isfinite(raw).all()):
        raise InputError(f"The column {name!r} must be finite. Got infinity (inf).")
    return raw


TableKind: TypeAlias = Literal["pandas", "polars"]


def is_polars(given: Any) -> bool:
    """Return whether something is a table or a column of polars."""
    return type(given).__module__.partition(".")[0] == "polars"


def kind_of(given: Any, otherwise: TableKind = "pandas") -> TableKind:
    """Return the kind of a table that was given; what is no table leaves it as it was."""
    if is_polars(given):
        return "polars"
    return "pandas" if isinstance(given, pd.DataFrame | pd.Series) else otherwise


def in_kind(frame: pd.DataFrame, kind: TableKind, like: Any = None) -> Any:
    """Return a table of pandas in the kind that is wanted.

    polars knows no labels of rows: where `frame` has any, they are its first column, under their name or "row".
    Columns get the types that they have in `like`, a table of polars, where they lose nothing by it.

    >>> frame = pd.DataFrame({"distance": [0.5, 0.25]}, index=["Mon", "Tue"])
    >>> in_kind(frame, "pandas") is frame
    True
    >>> in_kind(frame, "polars").to_dict(as_series=False)
    {'row': ['Mon', 'Tue'], 'distance': [0.5, 0.25]}
    """
    if kind == "pandas":
        return frame
    polars: Any = import_module("polars")
    columns = {str(name): frame[name].tolist() for name in frame.columns}
    plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
    if not plain:
        columns = {str(frame.index.name or "row"): frame.index.tolist(), **columns}
    types = dict(like.schema) if is_polars(like) and hasattr(like, "schema") else {}
    made = [_column(polars, name, values, types.get(name)) for name, values in columns.items()]
    return polars.DataFrame(made)


def _column(polars: Any, name: str, values: list[Any], wanted: Any) -> Any:
    """Return one column, of the type that is wanted where every value is one of that type."""
    column = polars.Series(name, values, strict=False)
    if wanted is None or column.dtype == wanted:
        return column
    try:
        cast = polars.Series(name, values, dtype=wanted, strict=True)
    except Exception:  # whatever polars says to values of another type, they are kept as they are
        return column
    return cast if cast.to_list() == values else column
