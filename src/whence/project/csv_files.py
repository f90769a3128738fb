"""Reading CSV files as people have them, whatever their encoding, separator and decimal sign."""

from __future__ import annotations

import codecs
import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain, islice
from pathlib import Path
from statistics import mode
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError
from whence.project.cell_values import (
    are_grouped,
    days_of,
    decimal_sign,
    measure_of,
    read_number,
    shows_point,
    without_measure,
)
from whence.project.findings import Findings, Place, ProjectError
from whence.util.files import chunks, open_file
from whence.util.frames import DATE
from whence.util.json import quoted

SEPARATORS = (",", ";", "\t", "|")
#: Faults of one kind that are listed before the rest is only counted.
LISTED = 3
#: A line and the cells that begin on it.
_Row = tuple[int, list[str]]
#: Rows that are taken over together, so that their lists do not stay.
ROWS_AT_ONCE = 10_000
#: Different cells of a column that are kept once however often they occur. Of one with more hardly any repeats itself.
REPEATED = 100_000
#: Characters by which separators are found out, and rows by which the decimal sign is.
HEAD, JUDGED = 1 << 16, 200
#: Lines that may stand above the column names: a title, or the line "sep=;" of spreadsheets.
TITLES = 10
#: How a row begins below a table that is no row of its own.
TOTALS = {"total", "totals", "grand total", "sum", "average", "mean", "summe", "gesamt", "gesamtergebnis", "mittelwert"}
#: The name of a first column that has none, but numbers or names of rows.
CORNER = "index"


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
    #: 1 where all rows of the file are here, 10 where every tenth is.
    every: int = 1

    def at(self, row: int, column: str) -> Place:
        """Return where a cell stands."""
        return Place(self.path.name, int(self.lines[row]), f"column {column!r}")

    def column(self, name: str) -> Place:
        """Return where a column stands."""
        return Place(self.path.name, None, f"column {name!r}")

    def taken(self, order: NDArray[np.int64]) -> CsvTable:
        """Return the table with these rows, in this order."""
        return replace(self, cells=self.cells.iloc[order].reset_index(drop=True), lines=self.lines[order])


def decoded(data: bytes, encoding: str | None = None) -> str:
    """The text of a file: UTF-8 or UTF-16 with or without a mark, otherwise Western European, unless declared."""
    return data.decode(_encoding(lambda: [data], encoding)).replace("\0", "\ufffd")


def _encoding(content: Callable[[], Iterable[bytes]], declared: str | None) -> str:
    """The encoding in which all of `content` can be read, which comes in parts and is gone through more than once."""
    start = next(iter(content()), b"")
    if start[:4] == b"PK\x03\x04":
        raise InputError("is a spreadsheet or another packed file: save it as CSV first.")
    if declared is not None:
        return _declared(content, declared)
    marked = start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    for name in ("utf-16",) if marked else ("utf-8-sig", "cp1252", "latin-1"):
        try:
            for text in _texts(content(), name):
                if "\0" in text:
                    raise InputError("is not a text file: it holds null bytes.")
        except UnicodeDecodeError:
            continue
        return name
    raise InputError("is not a text file.")


def _declared(content: Callable[[], Iterable[bytes]], encoding: str) -> str:
    lines = 1
    try:
        name = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
        # Refuses what is no encoding of texts.
        b"".decode(name)
        for text in _texts(content(), name):
            lines += text.count("\n")
    except UnicodeDecodeError as error:
        lines += error.object[: error.start].count(b"\n")
        raise InputError(f"is not written in {encoding!r}: line {lines} holds bytes that do not exist in it.") from None
    except (LookupError, ValueError, TypeError, AssertionError):
        raise InputError(f"cannot be read: {encoding!r} is not a text encoding, such as 'utf-8'.") from None
    return name


def _texts(parts: Iterable[bytes], encoding: str) -> Iterator[str]:
    """Yield the texts of the parts of a file; characters may reach over their ends."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for part in parts:
        yield decoder.decode(part)
    yield decoder.decode(b"", True)


def load_csv(path: Path, form: CsvFormat, most: float = float("inf")) -> CsvTable:
    """Return the cells of a CSV file as by :func:`read_csv`; a ProjectError lists everything that is wrong with it."""
    found = Findings()
    table = read_csv(path, form, found, most=most)
    if table is None or found.errors:
        raise ProjectError(path, found.errors)
    return table


def read_csv(
    path: Path, form: CsvFormat, found: Findings, header: bool = True, most: float = float("inf")
) -> CsvTable | None:
    """Return the cells of a CSV file; None where it cannot be used at all, with the reasons in `found`.

    Without a `header`, columns are named by their number, from 1. Of a file that has more than `most` bytes, only so
    many of its rows are taken as have that together, from all over it.
    """
    try:
        encoding = _encoding(lambda: chunks(path), form.encoding)
        with open_file(path) as file, io.TextIOWrapper(file, encoding, newline="") as text:
            separator = form.separator or _separator(text.read(HEAD), header)
        with open_file(path) as file, io.TextIOWrapper(file, encoding, newline="") as text:
            every = 1 if most == float("inf") else max(1, -int(-path.stat().st_size // most))
            return _table(path, text, separator, form.decimal, found, header, every)
    except InputError as error:
        found.error(Place(path.name), str(error))
    except MemoryError:
        found.error(Place(path.name), "does not fit into the memory that there is: take a part of its rows.")
    return None


def _table(
    path: Path, text: Iterable[str], separator: str, decimal: str | None, found: Findings, header: bool, every: int
) -> CsvTable | None:
    rows = _rows(path, text, separator, found)
    first = _from_names_on(rows) if header else list(islice(rows, 1))
    if not first:
        if not found.errors:
            wanted = "a line of column names and at least one row were" if header else "at least one row was"
            found.error(Place(path.name), f"is empty: {wanted} expected.")
        return None
    # A name may be broken into lines.
    names = [" ".join(name.split()) if "\n" in name else name.strip() for name in first.pop(0)[1]] if header else []
    body = _Body(len(names) if header else len(first[0][1]), every)
    for row in chain(first, rows):
        body.take(row)
    body.flush()
    body.report(path, found)
    cells = (
        _named(pd.DataFrame(body.cells()), names, found, path)
        if header
        else pd.DataFrame(body.cells()).rename(columns=lambda number: str(number + 1))
    )
    if not body.lines and cells is not None:
        found.error(Place(path.name), "has a line of column names but no row that can be read.")
    if not body.lines or cells is None:
        return None
    if header and _is_total(cells.iloc[-1].tolist()):
        found.warning(Place(path.name, body.lines.pop()), "is left out: it sums up the rows above it.")
        cells = cells.iloc[:-1]
    sign = decimal or _decimal_sign(cells.head(JUDGED), separator)
    return CsvTable(path, cells, np.array(body.lines, dtype=np.int64), sign, separator, every)


def _decimal_sign(head: pd.DataFrame, separator: str) -> str:
    """Return the decimal sign of a table that begins so."""
    cells = [cell for row in head.to_numpy().tolist() for cell in row]
    sign = decimal_sign(cells, separator)
    if sign == "," or separator == "," or shows_point(cells):
        return sign
    columns = (head[name].tolist() for name in head.columns)
    # Where points stand between thousands, they are no decimal signs.
    grouped = any(are_grouped([cell for cell in column if cell.lower() not in MISSING]) for column in columns)
    return "," if grouped else sign


def _rows(path: Path, text: Iterable[str], separator: str, found: Findings) -> Iterator[_Row]:
    """Yield the rows that are not blank, each with the line on which it begins."""
    reader = csv.reader((line.replace("\0", "\ufffd") for line in text), delimiter=separator)
    before = 0
    try:
        for row in reader:
            if any(map(str.strip, row)):
                yield before + 1, row
            before = reader.line_num
    except csv.Error as error:
        found.error(Place(path.name, reader.line_num), f"cannot be read as CSV: {error}.")


@dataclass
class _Body:
    """The rows of a file, taken over column by column: cells that repeat themselves are kept once."""

    width: int
    #: Of how many full rows one is taken.
    every: int
    lines: array[int] = field(default_factory=lambda: array("q"))
    ragged: list[_Row] = field(default_factory=list)
    _full: int = 0
    _ragged: int = 0
    _waiting: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._columns: list[list[str]] = [[] for _ in range(self.width)]
        self._known: list[dict[str, str]] = [{} for _ in range(self.width)]

    def take(self, numbered: _Row) -> None:
        """Take a row over that has one cell per column; the others are errors."""
        line, row = numbered
        # Spreadsheets like to end every line with separators.
        while len(row) > self.width and not row[-1].strip():
            row = row[:-1]
        if len(row) != self.width:
            self._ragged += 1
            if self._ragged <= LISTED:
                self.ragged.append((line, row))
            return
        self._full += 1
        if (self._full - 1) % self.every == 0:
            self.lines.append(line)
            self._waiting.append(row)
            if len(self._waiting) >= ROWS_AT_ONCE:
                self.flush()

    def flush(self) -> None:
        """Take over the rows that wait."""
        for column, known, cells in zip(self._columns, self._known, zip(*self._waiting, strict=True), strict=False):
            stripped = map(str.strip, cells)
            if len(known) < REPEATED:
                column.extend([known.setdefault(cell, cell) for cell in stripped])
            else:
                column.extend([known.get(cell, cell) for cell in stripped])
        self._waiting.clear()

    def cells(self) -> NDArray[Any]:
        """Return all cells, which are then gone from here."""
        self._known.clear()
        made = np.empty((len(self.lines), self.width), dtype=object)
        for number, column in enumerate(self._columns):
            made[:, number] = column
            column.clear()
        return made

    def report(self, path: Path, found: Findings) -> None:
        """Add the rows with too few or too many cells to `found`."""
        for line, row in self.ragged:
            found.error(Place(path.name, line), f"has {len(row)} cells where the first line has {self.width}.")
        if self._ragged > LISTED:
            found.error(Place(path.name), f"has {self._ragged - LISTED} more lines with too few or too many cells.")


def _from_names_on(rows: Iterator[_Row]) -> list[_Row]:
    """Return the line of column names, without titles above it, and the rows below that were looked at."""
    seen: list[_Row] = []
    for line, row in islice(rows, TITLES):
        seen.append((line, row))
        cells = [cell for cell in row if cell.strip()]
        if len(cells) > 1:
            return seen[-1:] if len(seen) > 1 and all(read_number(cell) is None for cell in cells) else seen
    return seen


def _named(cells: pd.DataFrame, names: list[str], found: Findings, path: Path) -> pd.DataFrame | None:
    """Return the cells under the names of their columns; None where one has none, or that of another one."""
    faults = len(found)
    if names and not names[0] and CORNER not in names:
        names = [CORNER, *names[1:]]
    # Spreadsheets like to write columns that have been emptied.
    kept = [number for number, name in enumerate(names) if name or not len(cells) or (cells[number] != "").any()]
    for number in kept:
        if not names[number]:
            found.error(Place(path.name, 1, f"column {number + 1}"), "has no name.")
    for name, times in Counter(names).items():
        if name and times > 1:
            found.error(Place(path.name, 1), f"the column {name!r} must occur only once. Got it {times} times.")
    cells = cells if len(kept) == len(names) else cells[kept]
    return None if len(found) > faults else cells.set_axis([names[number] for number in kept], axis=1)


def _is_total(row: list[str]) -> bool:
    """Return whether the last row of a table is the sum or the mean of those above it, as spreadsheets have it."""
    said = next((cell for cell in row if cell), "").rstrip(":").strip().lower()
    return said in TOTALS and "" in row


def _separator(head: str, header: bool) -> str:
    """Return the separator that cuts the first lines into the same number of columns, as many as possible."""
    if not header:
        # Without names to go by, a comma may as well be a decimal sign.
        return next((sign for sign in SEPARATORS[1:] if sign in head), ",")
    lines = head.splitlines()
    if len(head) == HEAD and len(lines) > 1:
        lines.pop()
    widths = {}
    for separator in SEPARATORS:
        with suppress(csv.Error):
            widths[separator] = [len(row) for row in csv.reader(lines[:20], delimiter=separator) if row]
    # Without titles above it, the first line is as wide as the others.
    for likely in (lambda found: found[0], mode):
        best, most = ",", 1
        for separator, found in widths.items():
            if found and likely(found) > most and 2 * found.count(likely(found)) >= len(found):
                best, most = separator, likely(found)
        if most > 1:
            break
    return best


def listed(found: Findings, table: CsvTable, column: str, rows: NDArray[np.int64], text: str) -> None:
    """Report some cells of a column, the first few of them one by one; `{}` in `text` stands for the cell."""
    for row in rows[:LISTED].tolist():
        found.error(table.at(row, column), text.format(quoted(table.cells[column].iloc[row])))
    if rows.size > LISTED:
        found.error(table.column(column), f"{rows.size - LISTED} more cells have the same fault.")


Content = Literal["whole", "number", "yes and no", "date", "text", "empty"]

#: What stands for off and on.
YES_AND_NO = {
    word: place == 1
    for pair in ("false true", "no yes", "off on", "n y", "nein ja", "falsch wahr")
    for place, word in enumerate(pair.split())
}
#: What is put into some cells of a column to say yes; no is then an empty one.
CROSSES = {"x", "✓", "✔"}
#: How a missing number is written, and how spreadsheets write one that could not be computed.
FAULTS = ("n/a", "nv", "div/0!", "value!", "wert!", "ref!", "bezug!", "name?", "num!", "zahl!", "null!")
MISSING = {"", "na", "n/a", "nan", "null", "none", "-", *(f"#{fault}" for fault in FAULTS)}

_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})", re.ASCII)
_CODE = re.compile(r"0\d+")
_DASHED = re.compile(r"\d{1,2}-\d{1,2}-\d{4}(?: .*)?", re.ASCII)


def content(table: CsvTable, column: str) -> Content:
    """Return what a column holds, judged by all of its cells that are not missing."""
    # Plain Python: a table of thousands of columns has no time for pandas' preparations in each of them.
    distinct = [cell for cell in set(table.cells[column].tolist()) if cell.lower() not in MISSING]
    if not distinct:
        return "empty"
    if _all(_WHOLE, distinct):
        return "whole"
    # A code such as 007 is a number only to a computer.
    codes = any(_CODE.fullmatch(cell) for cell in distinct)
    bare = _without_measures(distinct)
    values = _numbers(np.array(bare, dtype=object), table.decimal)
    if not codes and not np.isnan(values).any():
        return "whole" if _are_whole(bare, values, table.decimal) else "number"
    if all(cell.lower() in YES_AND_NO for cell in distinct) or _crossed(table.cells[column]):
        return "yes and no"
    return "date" if _all(DATE, distinct) or _all(_DASHED, distinct) else "text"


def missing(table: CsvTable, column: str) -> pd.Series:
    """Return which cells of a column are missing: empty ones and, in a column of numbers, the usual words for that."""
    cells = table.cells[column]
    if content(table, column) == "text":
        return cells == ""
    if _crossed(cells):
        return cells.isna()
    return cells.isin([cell for cell in set(cells.tolist()) if cell.lower() in MISSING])


#: What to do about a cell that is missing.
DROP = ' Leave such rows out with missing = "drop" in [data], or fill the cell in.'


def number_column(table: CsvTable, column: str, found: Findings, hint: str = "") -> pd.Series:
    """Return a column of numbers, integers where all of them are whole; every other cell is an error.

    The `hint` says what may be done about one that is missing.
    """
    # Cells repeat themselves, and texts are slow: each different one is looked at once.
    place, cells = pd.factorize(table.cells[column].to_numpy(dtype=object))
    gone = np.array([cell.lower() in MISSING for cell in cells], dtype=np.bool_)
    bare = np.array(_without_measures(cells.tolist()), dtype=object)
    values = _numbers(bare, table.decimal)
    sign = "comma" if table.decimal == "," else "point"
    for fault, text in (
        (gone, f"is missing; every cell must hold a number. Got {{}}.{hint}"),
        (np.isnan(values) & ~gone, f"must be a number with a decimal {sign}. Got {{}} instead."),
        (np.isinf(values), "must be a finite number. Got {} instead."),
    ):
        if fault.any():
            listed(found, table, column, np.flatnonzero(fault[place]), text)
    if _are_whole(bare, values, table.decimal):
        values = values.astype(np.int64)
    return pd.Series(values[place])


def _crossed(cells: pd.Series) -> bool:
    """Return whether some cells of a column have a cross, and all others are empty."""
    distinct = set(cells.str.lower())
    return len(distinct) == 2 and "" in distinct and not distinct.isdisjoint(CROSSES)


def binary_column(table: CsvTable, column: str, found: Findings) -> pd.Series:
    """Return a column of yes and no, as bools, or of 0 and 1, as integers; every other cell is an error."""
    cells = table.cells[column].str.lower()
    if _crossed(cells):
        return cells != ""
    if cells.isin(list(YES_AND_NO)).all():
        return cells.map(YES_AND_NO).astype(bool)
    # The spelling of most cells is what is meant: a single bad cell must not make all the others wrong.
    words, digits = cells.isin(list(YES_AND_NO)), cells.isin(["0", "1"])
    wrong = np.flatnonzero(~(words if words.sum() > digits.sum() else digits))
    listed(found, table, column, wrong, "must be 0 or 1, or yes or no throughout. Got {} instead.")
    return (cells == "1").astype(np.int64)


def text_column(table: CsvTable, column: str, found: Findings) -> pd.Series:
    """Return a column of texts; an empty cell is an error."""
    cells = table.cells[column]
    text = f"is missing; every cell must name a category. Got {{}}.{DROP}"
    listed(found, table, column, np.flatnonzero(cells == ""), text)
    return cells.copy()


def date_column(table: CsvTable, column: str, found: Findings) -> pd.Series:
    """Return a column of dates, written in any usual way; every other cell is an error."""
    days = days_of(table.cells[column].tolist())
    wrong = np.flatnonzero([day is None for day in days])
    listed(found, table, column, wrong, "must be a date, such as 2025-06-14. Got {} instead.")
    return pd.Series(pd.to_datetime([date(1970, 1, 1) if day is None else day for day in days]))


def _without_measures(cells: list[str]) -> list[str]:
    """Return the cells of a column without the unit of measure that most of its numbers are written with."""
    unit = measure_of([cell for cell in cells if cell.lower() not in MISSING])
    return [without_measure(cell, unit) for cell in cells] if unit else cells


def _numbers(cells: NDArray[Any], decimal: str) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where one is none."""
    plain = cells
    if decimal == ",":
        plain = np.array([cell.replace(".", "?").replace(",", ".") for cell in cells], dtype=object)
    values = np.array(pd.to_numeric(plain, errors="coerce"), dtype=np.float64)
    for at in np.flatnonzero(np.isnan(values)).tolist():
        found = read_number(cells[at], decimal)
        values[at] = np.nan if found is None else found
    return values


def _are_whole(cells: Iterable[str], values: NDArray[np.float64], decimal: str) -> bool:
    """Return whether all cells are whole numbers, and written as such: 3.0 is none."""
    if not np.isfinite(values).all() or np.abs(values).max(initial=0.0) >= 1e15 or (values % 1.0).any():
        return False
    return not any(decimal in cell or "e" in cell or "E" in cell for cell in cells)


def _all(pattern: re.Pattern[str], cells: Iterable[str]) -> bool:
    return all(pattern.fullmatch(cell) for cell in cells)
