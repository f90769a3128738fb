"""The four files of the Los Angeles travel times: where they are, what they hold, and what tells two sets apart."""

from __future__ import annotations

import csv
import io
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError, MissingDataError
from whence.util.files import read_file
from whence.util.json import quoted

#: Environment variable that names the folder.
VARIABLE = "WHENCE_UBER_DATA"
SOURCE_OF_DATA = "https://github.com/alexforel/Explainable-CSO"
#: Columns that a file must have; those of travel_times.csv are named in edges.csv.
COLUMNS = {
    "contexts.csv": ("period", "temperature", "wind_speed", "rain", "visibility", "day", "month"),
    "travel_times.csv": (),
    "edges.csv": ("edge", "tail", "head"),
    "nodes.csv": ("node", "lon", "lat"),
}
#: Columns of names; all others hold numbers.
NAMES = ("period", "edge")
#: Beyond it, a float no longer tells neighbouring whole numbers apart.
LARGEST = 2.0**53


@dataclass(frozen=True)
class _Rule:
    """What the cells of a column must be, in words and as a test of finite numbers."""

    wanted: str
    holds: Callable[[NDArray[np.float64]], NDArray[np.bool_]]


def _whole(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    whole: NDArray[np.bool_] = (numbers == np.rint(numbers)) & (np.abs(numbers) <= LARGEST)
    return whole


def _whole_to(last: int) -> _Rule:
    return _Rule(f"whole numbers from 1 to {last}", lambda x: _whole(x) & (x >= 1) & (x <= last))


_NUMBERS = _Rule("numbers", np.isfinite)
_SECONDS = _Rule("seconds, numbers of at least 0,", lambda x: x >= 0)
_NODES = _Rule("whole numbers", _whole)
_RULES = {"day": _whole_to(7), "month": _whole_to(12), "node": _NODES, "tail": _NODES, "head": _NODES}


def read(folder: str | os.PathLike[str] | None) -> dict[str, pd.DataFrame]:
    """The four tables, every cell of the columns that are used checked."""
    path = _found(folder)
    tables = {name: _table(path / name) for name in COLUMNS}
    for name, columns in COLUMNS.items():
        absent = [column for column in columns if column not in tables[name].columns]
        if absent:
            raise InputError(f"{name} must have the columns {', '.join(columns)}. There is no {absent[0]!r}.")
        if not len(tables[name]):
            raise InputError(f"{name} must have at least one row below its column names. Got none.")
        for column in columns:
            _check(name, tables[name], column, _RULES.get(column, _NUMBERS))
    edges, times = tables["edges.csv"]["edge"], tables["travel_times.csv"]
    absent = [name for name in edges if name not in times.columns]
    if absent:
        raise InputError(f"travel_times.csv must have a column for every edge of edges.csv. There is no {absent[0]!r}.")
    for column in edges.unique():
        _check("travel_times.csv", times, column, _SECONDS)
    return tables


def digest(folder: str | os.PathLike[str] | None) -> str:
    """What tells the data of one folder from that of another: size and checksum of the four files together."""
    path = _found(folder)
    size = check = 0
    for name in COLUMNS:
        content = read_file(path / name)
        # The length keeps a byte that moves from one file to the next from going unnoticed.
        check = zlib.crc32(content, zlib.crc32(str(len(content)).encode(), check))
        size += len(content)
    return f"{size} bytes crc32 {check:08x}"


def once(name: str, what: str, values: Iterable[object]) -> None:
    """Refuse a file that lists something twice."""
    seen = set()
    for value in values:
        if value in seen:
            raise InputError(f"{name} must list every {what} once. Got {quoted(str(value))} twice.")
        seen.add(value)


def _found(folder: str | os.PathLike[str] | None) -> Path:
    """The folder, with all four files in it."""
    named = folder if folder is not None else os.environ.get(VARIABLE)
    if not named:
        raise _missing("No folder is named")
    path = Path(named)
    # os.path and not Path: what may not be looked into is not there either.
    if not os.path.isdir(path):
        raise _missing(f"There is no folder {str(path)!r}")
    for name in COLUMNS:
        if not os.path.isfile(path / name):
            raise _missing(f"There is no {name} in {str(path)!r}")
    return path


def _missing(found: str) -> MissingDataError:
    return MissingDataError(
        f"{found}, and the Los Angeles travel times are not shipped with whence: re-shape the data folder of "
        f"{SOURCE_OF_DATA} into {', '.join(COLUMNS)} (paper.los_angeles says how) and name the folder "
        f"with --data or {VARIABLE}, or use the built-in city with --synthetic."
    )


def _table(path: Path) -> pd.DataFrame:
    name, content = path.name, read_file(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{name} must be a text file in UTF-8. Got bytes in line {line} that are no text.") from None
    if not text.strip():
        raise InputError(f"{name} must have a line of column names and rows below it. Got an empty file.")
    try:
        header = next(csv.reader(io.StringIO(text)), [])
        # In one go: read in pieces, a column could come out as numbers in one and texts in another.
        table = pd.read_csv(io.StringIO(text), dtype=dict.fromkeys(NAMES, str), low_memory=False)
    except (csv.Error, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{name} must be a CSV file with commas between the cells. Got an error: {reason}.") from None
    once(name, "column", header)
    # Without a name for its last cells, pandas would take the first ones as names of the rows.
    if not isinstance(table.index, pd.RangeIndex):
        raise InputError(f"{name} must have as many cells in a row as column names ({len(header)}). Got more.")
    return table


def _check(name: str, table: pd.DataFrame, column: str, rule: _Rule) -> None:
    """Refuse the first cell that is not what its column must hold."""
    cells = table[column]
    if column in NAMES:
        wanted, good = "names", cells.notna().to_numpy()
    else:
        numeric = pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells)
        numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64) if numeric else _parsed(cells)
        wanted, good = rule.wanted, np.isfinite(numbers)
        good[good] = rule.holds(numbers[good])
        if not numeric and good.all():
            table[column] = numbers
    if not good.all():
        row = int(np.argmin(good))
        came = "an empty cell" if pd.isna(cells.iloc[row]) else quoted(str(cells.iloc[row]))
        raise InputError(f"{name} must hold {wanted} in the column {column!r}. Got {came} in row {row + 1} instead.")


def _parsed(cells: pd.Series) -> NDArray[np.float64]:
    """The numbers that texts stand for; NaN for those that stand for none."""
    return pd.to_numeric(cells.astype(str), errors="coerce").to_numpy(dtype=np.float64)
