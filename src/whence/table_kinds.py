"""Tables in the kind that came in: who works with polars gets tables of polars back.

polars is never imported here unless the user has handed over something of it, and so has it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, TypeAlias

import pandas as pd

__all__ = ["TableKind", "in_kind", "is_polars", "kind_of"]

TableKind: TypeAlias = Literal["pandas", "polars"]


def is_polars(given: Any) -> bool:
    """Whether something is a table or a column of polars."""
    return type(given).__module__.partition(".")[0] == "polars"


def kind_of(given: Any, otherwise: TableKind = "pandas") -> TableKind:
    """The kind of a table that was given; what is no table leaves it as it was."""
    if is_polars(given):
        return "polars"
    return "pandas" if isinstance(given, pd.DataFrame | pd.Series) else otherwise


def in_kind(frame: pd.DataFrame, kind: TableKind, like: Any = None, label: str = "row") -> Any:
    """A table of pandas in the kind that is wanted.

    polars knows no labels of rows: where `frame` has any, they are its first column, under their name or `label`.
    Columns get the types that they have in `like`, a table of polars, where they lose nothing by it.

    Examples
    --------
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
        columns = {str(frame.index.name or label): frame.index.tolist(), **columns}
    types = dict(like.schema) if is_polars(like) and hasattr(like, "schema") else {}
    made = [_column(polars, name, values, types.get(name)) for name, values in columns.items()]
    return polars.DataFrame(made)


def _column(polars: Any, name: str, values: list[Any], wanted: Any) -> Any:
    """One column, of the type that is wanted where every value is one of that type."""
    column = polars.Series(name, values, strict=False)
    if wanted is None or column.dtype == wanted:
        return column
    try:
        cast = polars.Series(name, values, dtype=wanted, strict=True)
    except Exception:  # whatever polars says to values of another type, they are kept as they are
        return column
    return cast if cast.to_list() == values else column
