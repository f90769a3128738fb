"""What the columns of a CSV file hold: numbers, yes and no, dates or texts, found out or as declared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.features.dates import as_day
from whence.project.csv_files import CsvTable, listed
from whence.project.findings import Findings
from whence.tables import DATE

Content = Literal["whole", "number", "yes and no", "date", "text", "empty"]

#: What stands for off and on.
YES_AND_NO = {"false": False, "true": True, "no": False, "yes": True, "off": False, "on": True}
#: How a missing number is written.
MISSING = {"", "na", "n/a", "nan", "null", "none", "#n/a", "-"}

_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})", re.ASCII)
_CODE = re.compile(r"0\d+")


def content(table: CsvTable, column: str) -> Content:
    """What a column holds, judged by all of its cells that are not missing."""
    # Plain Python: a table of thousands of columns has no time for pandas' preparations in each of them.
    distinct = [cell for cell in set(table.cells[column].tolist()) if cell.lower() not in MISSING]
    if not distinct:
        return "empty"
    if _all(_WHOLE, distinct):
        return "whole"
    # A code such as 007 is a number only to a computer.
    codes = any(_CODE.fullmatch(cell) for cell in distinct)
    if not codes and not np.isnan(_numbers(np.array(distinct, dtype=object), table.decimal)).any():
        return "number"
    if all(cell.lower() in YES_AND_NO for cell in distinct):
        return "yes and no"
    return "date" if _all(DATE, distinct) else "text"


def missing(table: CsvTable, column: str) -> pd.Series:
    """Which cells of a column are missing: empty ones and, in a column of numbers, the usual words for that."""
    cells = table.cells[column]
    if content(table, column) == "text":
        return cells == ""
    return cells.isin([cell for cell in set(cells.tolist()) if cell.lower() in MISSING])


def number_column(table: CsvTable, column: str, found: Findings) -> pd.Series:
    """A column of numbers, integers where all of them are whole; every other cell is an error."""
    # Cells repeat themselves, and texts are slow: each different one is looked at once.
    place, cells = pd.factorize(table.cells[column].to_numpy(dtype=object))
    gone = np.array([cell.lower() in MISSING for cell in cells], dtype=np.bool_)
    values = _numbers(cells, table.decimal)
    sign = "comma" if table.decimal == "," else "point"
    for fault, text in (
        (gone, "is missing; every cell must hold a number. Got {}."),
        (np.isnan(values) & ~gone, f"must be a number with a decimal {sign}. Got {{}} instead."),
        (np.isinf(values), "must be a finite number. Got {} instead."),
    ):
        if fault.any():
            listed(found, table, column, np.flatnonzero(fault[place]), text)
    if _all(_WHOLE, cells):
        values = values.astype(np.int64)
    return pd.Series(values[place])


def binary_column(table: CsvTable, column: str, found: Findings) -> pd.Series:
    """A column of yes and no, as bools, or of 0 and 1, as integers; every other cell is an error."""
    cells = table.cells[column].str.lower()
    if cells.isin(list(YES_AND_NO)).all():
        return cells.map(YES_AND_NO).astype(bool)
    # The spelling of most cells is what is meant: a single bad cell must not make all the others wrong.
    words, digits = cells.isin(list(YES_AND_NO)), cells.isin(["0", "1"])
    wrong = np.flatnonzero(~(words if words.sum() > digits.sum() else digits))
    listed(found, table, column, wrong, "must be 0 or 1, or yes or no throughout. Got {} instead.")
    return (cells == "1").astype(np.int64)


def text_column(table: CsvTable, column: str, found: Findings) -> pd.Series:
    """A column of texts; an empty cell is an error."""
    cells = table.cells[column]
    listed(found, table, column, np.flatnonzero(cells == ""), "is missing; every cell must name a category. Got {}.")
    return cells.copy()


def date_column(table: CsvTable, column: str, found: Findings) -> pd.Series:
    """A column of dates, written as 2025-06-14; every other cell is an error."""
    cells = table.cells[column]
    days = [as_day(cell) for cell in cells.tolist()]
    wrong = np.flatnonzero([day is None for day in days])
    listed(found, table, column, wrong, "must be a date, such as 2025-06-14. Got {} instead.")
    return pd.Series(pd.to_datetime([date(1970, 1, 1) if day is None else day for day in days]))


def _numbers(cells: NDArray[Any], decimal: str) -> NDArray[np.float64]:
    """Cells as numbers, NaN where one is none."""
    if decimal == ",":
        cells = np.array([cell.replace(".", "?").replace(",", ".") for cell in cells], dtype=object)
    return np.asarray(pd.to_numeric(cells, errors="coerce"), dtype=np.float64)


def _all(pattern: re.Pattern[str], cells: Iterable[str]) -> bool:
    return all(pattern.fullmatch(cell) for cell in cells)
