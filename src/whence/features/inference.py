"""What kind of feature a column is, where nobody has said."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable
from datetime import date

import pandas as pd

from whence.errors import InputError, InputTypeError
from whence.features.dates import Date
from whence.features.encoding import sorted_categories
from whence.features.kinds import Binary, Categorical, Continuous, Discrete, Feature
from whence.features.ordered import Ordered
from whence.tables import dates, no_missing, written_number

__all__ = ["FEW_LEVELS", "MANY_CATEGORIES", "inferred"]

#: Integer columns with at most this many distinct values keep to these; with more, to whole numbers.
FEW_LEVELS = 20
#: A column with more distinct texts than this is a note or a number rather than a category.
MANY_CATEGORIES = 50


def inferred(name: str, values: pd.Series, missing: bool = False, steps: bool = True) -> Feature:
    """The kind of feature that a column's dtype suggests; numbers may be `missing`, where that is allowed.

    An ordered dtype goes in `steps`, unless whoever sees it knows its names only.
    """
    dtype = values.dtype
    if missing and pd.api.types.is_numeric_dtype(dtype):
        values = values.dropna()
    no_missing(name, values)
    if isinstance(dtype, pd.CategoricalDtype):
        levels = tuple(dtype.categories)
        return Ordered(levels) if dtype.ordered and steps else Categorical(levels, ordered=bool(dtype.ordered))
    if pd.api.types.is_bool_dtype(dtype):
        return Binary()
    if pd.api.types.is_datetime64_any_dtype(dtype) or (len(values) and isinstance(values.iloc[0], date)):
        return Date()
    if pd.api.types.is_integer_dtype(dtype):
        distinct = pd.unique(values).tolist()
        if set(distinct) <= {0, 1}:
            return Binary()
        return Discrete(distinct) if len(distinct) <= FEW_LEVELS else Discrete(step=1)
    if pd.api.types.is_float_dtype(dtype):
        return Continuous()
    if pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype):
        categories = sorted_categories(name, values)
        _refuse_written_numbers(name, categories)
        _doubt(name, values, len(categories))
        return Categorical(categories)
    raise InputTypeError(
        f"The column {name!r} must hold numbers, categories, strings, bools or dates. Got dtype {dtype}."
    )


def _refuse_written_numbers(name: str, levels: Collection[Hashable]) -> None:
    """Refuse texts that are all numbers: as levels of a category, none of them would be near another."""
    example = written_number(levels)
    if example is not None:
        raise InputError(
            f"The column {name!r} holds numbers as text, such as {example!r}, which would become a category of "
            f"{len(levels)} levels, none of them near another: turn it into numbers without separators, percent and "
            f"currency signs, or declare it: schema=Schema({{{name!r}: Categorical()}})."
        )


def _doubt(name: str, values: pd.Series, levels: int) -> None:
    """Warn about texts that are unlikely to be a category: dates, and texts that hardly ever repeat."""
    said = ""
    if levels > 1 and dates(values):
        said = (
            f"The column {name!r} holds dates or times as text, which become a category of {levels} levels, none of "
            "them near another. Declare dates as Date(), or put what matters (month, weekday, hour) in columns of "
            "their own and leave it out"
        )
    elif levels > MANY_CATEGORIES and levels > 0.5 * len(values):
        said = (
            f"The column {name!r} holds {levels} different texts in {len(values)} rows, which become a category of as "
            "many levels. Leave it out unless it really is one"
        )
    if said:
        warnings.warn(f"{said}; or declare it: schema=Schema({{{name!r}: Categorical()}}).", UserWarning, stacklevel=5)
