"""The sections [data] and [outcomes]: from CSV files to the contexts and outcomes of the past."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from whence.project.columns import missing, number_column
from whence.project.csv_files import SEPARATORS, CsvFormat, CsvTable, read_csv
from whence.project.features import Declared, typed_column
from whence.project.findings import Findings, Place, nearest
from whence.project.source import TEXT, TEXTS, Rule, Section, one_of

__all__ = ["History", "read_format", "read_history"]

SEPARATOR = Rule(
    "one character, such as ',', ';' or '\\t'",
    lambda value: isinstance(value, str) and value in (*SEPARATORS, " ", ":"),
)


@dataclass(frozen=True)
class History:
    """The past: contexts and outcomes row by row, and the decimal sign in which its numbers are written."""

    X: pd.DataFrame
    Y: pd.DataFrame
    decimal: str
    files: tuple[Path, ...]


@dataclass(frozen=True)
class _Used:
    """Which columns of the files are what."""

    index: str | None
    contexts: list[str]
    outcomes: list[str]


def read_format(data: Section) -> CsvFormat:
    """What [data] declares about the CSV files."""
    return CsvFormat(
        data.take("encoding", TEXT), data.take("separator", SEPARATOR), data.take("decimal", one_of(".", ","))
    )


def read_history(
    data: Section,
    outcomes: Section,
    declared: Mapping[str, Declared],
    edges: Sequence[str] | None,
    form: CsvFormat,
) -> History | None:
    """Contexts and outcomes; None where there is too much wrong to go on.

    Parameters
    ----------
    data, outcomes : Section
        The sections of the project file.
    declared : mapping
        The features declared, by name.
    edges : sequence of str, optional
        The columns that a network names, in the order of its edges.
    form : CsvFormat
        What is declared about the CSV files.
    """
    found, folder = data.found, data.source.path.parent
    names = {key: data.take(key, TEXT) for key in ("history", "contexts", "outcomes")}
    index, ignore = data.take("index", TEXT), data.take("ignore", TEXTS, [])
    drop = data.take("missing", one_of("error", "drop"), "error") == "drop"
    wanted = outcomes.take("columns", TEXTS)
    tables = _tables(data, names, folder, form)
    if tables is None:
        return None
    contexts, results = tables
    if edges is not None:
        if wanted is not None and set(wanted) != set(edges):
            outcomes.error("columns", "must name the columns of the network's edges, or be left out.")
        wanted = list(edges)
    used = _used(data, outcomes, contexts, results, index, ignore, wanted)
    _check_declared(declared, used, found)
    if used is None:
        return None
    if results is not contexts:
        aligned = _aligned(data, contexts, results, used.index)
        if aligned is None:
            return None
        results = aligned
    if drop:
        contexts, results = _complete(contexts, results, used, found)
    owners = {column: one for one in reversed(list(declared.values())) for column in one.names}
    columns = {name: typed_column(contexts, name, owners, found) for name in used.contexts}
    Y = {name: number_column(results, name, found) for name in used.outcomes}
    usable = {name: column for name, column in columns.items() if column is not None}
    labels = pd.RangeIndex(1, len(contexts.lines) + 1) if used.index is None else contexts.cells[used.index].tolist()
    if not usable or not len(contexts.lines):
        return None
    files = tuple(dict.fromkeys((contexts.path, results.path)))
    return History(
        pd.DataFrame(usable).set_axis(labels, axis=0), pd.DataFrame(Y).set_axis(labels, axis=0), contexts.decimal, files
    )


def _tables(
    data: Section, names: Mapping[str, str | None], folder: Path, form: CsvFormat
) -> tuple[CsvTable, CsvTable] | None:
    """The table of contexts and that of outcomes, which may be one and the same."""
    if any(key in data.table and names[key] is None for key in names):
        return None
    together, contexts, outcomes = names["history"], names["contexts"], names["outcomes"]
    if (together is None) == (contexts is None and outcomes is None) or (contexts is None) != (outcomes is None):
        data.error(None, "needs 'history', a CSV file of contexts and outcomes, or both 'contexts' and 'outcomes'.")
        return None
    if together is not None:
        table = read_csv(folder / together, form, data.found)
        return None if table is None else (table, table)
    both = [read_csv(folder / str(name), form, data.found) for name in (contexts, outcomes)]
    return None if both[0] is None or both[1] is None else (both[0], both[1])


def _used(
    data: Section,
    section: Section,
    contexts: CsvTable,
    results: CsvTable,
    index: str | None,
    ignore: list[str],
    wanted: Sequence[str] | None,
) -> _Used | None:
    """Which column is what, with an error for every name that no file has."""
    here, there = list(contexts.cells.columns), list(results.cells.columns)
    faults = len(data.found.errors)
    for key, names in (("index", [] if index is None else [index]), ("ignore", ignore)):
        for name in names:
            if name not in here and (key == "index" or name not in there):
                data.error(
                    key, f"names the column {name!r}, which {contexts.path.name} does not have.{nearest(name, here)}"
                )
    if wanted is None and results is contexts:
        section.error(None, "needs 'columns', the list of the columns that hold outcomes.")
        return None
    outcomes = [n for n in there if n != index and n not in ignore] if wanted is None else list(wanted)
    if not outcomes:
        section.error("columns", "must name at least one column.")
    present, left = set(there), {index, *ignore}
    for name, times in Counter(outcomes).items():
        if name not in present:
            section.error("columns", f"names {name!r}, which {results.path.name} does not have.{nearest(name, there)}")
        elif times > 1 or name in left:
            section.error("columns", f"names {name!r} twice, or another key names it too.")
    left_out = {*left, *(outcomes if results is contexts else ())}
    features = [name for name in here if name not in left_out]
    if not features:
        data.error(None, f"leaves no column of {contexts.path.name} for the context.")
    return None if len(data.found.errors) > faults else _Used(index, features, outcomes)


def _check_declared(declared: Mapping[str, Declared], used: _Used | None, found: Findings) -> None:
    """Every declared feature must be a column of contexts."""
    if used is None:
        return
    contexts = set(used.contexts)
    for one in declared.values():
        for name in one.names:
            if name not in contexts:
                what = "an outcome" if name in used.outcomes else "not a column of the contexts"
                hint = "" if name in used.outcomes else nearest(name, used.contexts)
                found.error(one.section.at(), f"{name!r} is {what}, so it cannot be a feature.{hint}")


def _aligned(data: Section, contexts: CsvTable, results: CsvTable, index: str | None) -> CsvTable | None:
    """The outcomes in the order of the contexts: by their index where there is one, otherwise row by row."""
    here, there = len(contexts.lines), len(results.lines)
    if index is None or index not in results.cells.columns:
        if here != there:
            data.error(None, f"{contexts.path.name} has {here} rows and {results.path.name} {there}; they must match.")
            return None
        return results
    faults = len(data.found.errors)
    for table in (contexts, results):
        twice = np.flatnonzero(table.cells[index].duplicated())
        if twice.size:
            data.found.error(table.at(int(twice[0]), index), "occurs twice; an index that joins two files must not.")
    place = {label: row for row, label in enumerate(results.cells[index])}
    lost = [row for row, label in enumerate(contexts.cells[index]) if label not in place]
    if lost:
        text = f"has no row of outcomes in {results.path.name}; {len(lost)} rows have none."
        data.found.error(contexts.at(lost[0], index), text)
    if len(data.found.errors) > faults:
        return None
    order = [place[label] for label in contexts.cells[index]]
    return results.taken(np.array(order))


def _complete(contexts: CsvTable, results: CsvTable, used: _Used, found: Findings) -> tuple[CsvTable, CsvTable]:
    """The rows in which nothing is missing."""
    gaps = [missing(contexts, name) for name in used.contexts] + [missing(results, name) for name in used.outcomes]
    keep = ~np.logical_or.reduce([gap.to_numpy() for gap in gaps])
    if not keep.any():
        found.error(Place(contexts.path.name), "has no complete row: in each of them a value is missing.")
    elif not keep.all():
        text = f"{int((~keep).sum())} of {keep.size} rows were left out: a value is missing."
        found.warning(Place(contexts.path.name), text)
    kept = contexts.rows(keep)
    return kept, kept if results is contexts else results.rows(keep)
