"""Reading CSV files as people have them, whatever their encoding, separator and decimal sign."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError
from whence.files import read_file
from whence.plain_values import quoted
from whence.project.findings import Findings, Place, ProjectError

SEPARATORS = (",", ";", "\t", "|")
#: Faults of one kind that are listed before the rest is only counted.
LISTED = 3
#: A line and the cells that begin on it.
_Row = tuple[int, list[str]]

_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class CsvFormat:
    """What is declared about a CSV file; None where it is to be found out."""

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None


@dataclass(frozen=True)
class CsvTable:
    """The cells of a CSV file as texts, empty where a cell is, with the line on which every row stands."""

    path: Path
    cells: pd.DataFrame
    lines: NDArray[np.int64]
    decimal: str
    separator: str = ","

    def at(self, row: int, column: str) -> Place:
        """Where a cell stands."""
        return Place(self.path.name, int(self.lines[row]), f"column {column!r}")

    def column(self, name: str) -> Place:
        """Where a column stands."""
        return Place(self.path.name, None, f"column {name!r}")

    def taken(self, order: NDArray[np.int64]) -> CsvTable:
        """The table with these rows, in this order."""
        return replace(self, cells=self.cells.iloc[order].reset_index(drop=True), lines=self.lines[order])


def decoded(data: bytes, encoding: str | None = None) -> str:
    """The text of a file: UTF-8 or UTF-16 with or without a mark, otherwise Western European, unless declared."""
    if data[:4] == b"PK\x03\x04":
        raise InputError("is a spreadsheet or another packed file: save it as CSV first.")
    if encoding is not None:
        return _declared(data, encoding)
    marked = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    text = ""
    for name in ("utf-16",) if marked else ("utf-8-sig", "cp1252", "latin-1"):
        with suppress(UnicodeDecodeError):
            text = data.decode(name)
            break
    else:
        raise InputError("is not a text file.")
    if "\0" in text:
        raise InputError("is not a text file: it holds null bytes.")
    return text


def _declared(data: bytes, encoding: str) -> str:
    try:
        return data.decode("utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding).replace("\0", "\ufffd")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"is not written in {encoding!r}: line {line} holds bytes that do not exist in it.") from None
    except (LookupError, ValueError, TypeError, AssertionError):
        raise InputError(f"cannot be read: {encoding!r} is not a text encoding, such as 'utf-8'.") from None


def load_csv(path: Path, form: CsvFormat) -> CsvTable:
    """The cells of a CSV file; a ProjectError lists everything that is wrong with it."""
    found = Findings()
    table = read_csv(path, form, found)
    if table is None or found.errors:
        raise ProjectError(path, found.errors)
    return table


def read_csv(path: Path, form: CsvFormat, found: Findings, header: bool = True) -> CsvTable | None:
    """The cells of a CSV file; None where it cannot be used at all, with the reasons in `found`.

    Without a `header`, columns are named by their number, from 1.
    """
    try:
        text = decoded(read_file(path), form.encoding)
    except InputError as error:
        found.error(Place(path.name), str(error))
        return None
    # Without names to go by, a comma may as well be a decimal sign.
    numbers = next((sign for sign in SEPARATORS[1:] if sign in text), ",")
    separator = form.separator or (_separator(text) if header else numbers)
    rows = _rows(path, text, separator, found)
    if not rows:
        wanted = "a line of column names and at least one row were" if header else "at least one row was"
        found.error(Place(path.name), f"is empty: {wanted} expected.")
        return None
    first = rows.pop(0)[1] if header else [str(number + 1) for number in range(len(rows[0][1]))]
    names = [name.strip() for name in first]
    usable = _check_header(path, names, found)
    body = _full_rows(path, rows, len(names), found)
    if not body and usable:
        found.error(Place(path.name), "has a line of column names but no row that can be read.")
    if not body or not usable:
        return None
    cells = pd.DataFrame(np.array([[cell.strip() for cell in row] for _, row in body], dtype=object), columns=names)
    decimal = form.decimal or ("." if separator == "," else _decimal(cells))
    return CsvTable(path, cells, np.array([line for line, _ in body], dtype=np.int64), decimal, separator)


def _rows(path: Path, text: str, separator: str, found: Findings) -> list[_Row]:
    """The rows that are not blank, each with the line on which it begins."""
    rows: list[_Row] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    before = 0
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((before + 1, row))
            before = reader.line_num
    except csv.Error as error:
        found.error(Place(path.name, reader.line_num), f"cannot be read as CSV: {error}.")
    return rows


def _check_header(path: Path, header: list[str], found: Findings) -> bool:
    """Whether every column has a name of its own."""
    faults = len(found)
    for number, name in enumerate(header, start=1):
        if not name:
            found.error(Place(path.name, 1, f"column {number}"), "has no name.")
    for name, times in Counter(header).items():
        if name and times > 1:
            found.error(Place(path.name, 1), f"the column {name!r} must occur only once. Got it {times} times.")
    return len(found) == faults


def _full_rows(path: Path, rows: list[_Row], width: int, found: Findings) -> list[_Row]:
    """The rows that have one cell per column; the others are errors."""
    kept, ragged = list[_Row](), list[_Row]()
    for line, row in rows:
        # Spreadsheets like to end every line with separators.
        while len(row) > width and not row[-1].strip():
            row = row[:-1]
        (kept if len(row) == width else ragged).append((line, row))
    for line, row in ragged[:LISTED]:
        found.error(Place(path.name, line), f"has {len(row)} cells where the first line has {width}.")
    if len(ragged) > LISTED:
        found.error(Place(path.name), f"has {len(ragged) - LISTED} more lines with too few or too many cells.")
    return kept


def _separator(text: str) -> str:
    """The separator that cuts the first lines into the same number of columns, as many as possible."""
    head = text.splitlines()[:20]
    best, most = ",", 1
    for separator in SEPARATORS:
        try:
            widths = [len(row) for row in csv.reader(head, delimiter=separator) if row]
        except csv.Error:
            continue
        if widths and widths[0] > most and sum(w == widths[0] for w in widths) >= 0.5 * len(widths):
            best, most = separator, widths[0]
    return best


def _decimal(cells: pd.DataFrame) -> str:
    """The decimal sign: a comma where numbers with one occur and none with a point."""
    head = [cell for row in cells.head(200).to_numpy().tolist() for cell in row]
    commas = any(_DECIMAL_COMMA.fullmatch(cell) for cell in head)
    points = any(_DECIMAL_POINT.fullmatch(cell) for cell in head)
    return "," if commas and not points else "."


def listed(found: Findings, table: CsvTable, column: str, rows: NDArray[np.int64], text: str) -> None:
    """Report some cells of a column, the first few of them one by one; `{}` in `text` stands for the cell."""
    for row in rows[:LISTED].tolist():
        found.error(table.at(row, column), text.format(quoted(table.cells[column].iloc[row])))
    if rows.size > LISTED:
        found.error(table.column(column), f"{rows.size - LISTED} more cells have the same fault.")
