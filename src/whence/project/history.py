"""The sections [data] and [outcomes]: from CSV files to the contexts and outcomes of the past."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from whence.checks import Rule, one_of
from whence.explain.ask import TEXTS
from whence.project.csv_files import DROP, SEPARATORS, CsvFormat, CsvTable, missing, number_column, read_csv
from whence.project.findings import TEXT, Findings, Place, Section
from whence.project.sections import Declared, typed_column
from whence.util.text import nearest

SEPARATOR = Rule(
    "one character, such as ',', ';' or '\\t'",
    lambda value: isinstance(value, str) and value in (*SEPARATORS, " ", ":"),
)


@dataclass(frozen=True)
class History:
    """The past: contexts and outcomes row by row, and the decimal sign in which its numbers are written.

    Either is None where it is not certain what belongs to it.
    """

    X: pd.DataFrame | None
    Y: pd.DataFrame | None
    decimal: str
    files: tuple[Path, ...]
    #: What each row counts for, where they do not count alike.
    weight: pd.Series | None = None
    #: Features that stand behind an outcome in the table.
    after: tuple[str, ...] = ()


def read_format(data: Section) -> CsvFormat:
    """Return what [data] declares about the CSV files."""
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
    """Return contexts and outcomes; None where there is too much wrong to go on.

    A network names the columns of its `edges`, in their order.
    """
    found = data.found
    tables = _tables(data, form)
    index, ignore = data.take("index", TEXT), data.take("ignore", TEXTS, [])
    weight = data.take("weight", TEXT)
    drop = data.take("missing", one_of("error", "drop"), "error") == "drop"
    wanted = outcomes.take("columns", TEXTS)
    if tables is None:
        return None
    contexts, results = tables
    if edges is not None:
        if wanted is not None and set(wanted) != set(edges):
            outcomes.error("columns", "must name the columns of the network's edges, or be left out.")
        wanted = list(edges)
    faulty = weight is not None and not _known_weight(data, contexts, weight, index, ignore)
    # What a row counts for is no feature of its context.
    left_out = ignore if weight is None or faulty else [*ignore, weight]
    faults = len(found.errors)
    dated = {column for one in declared.values() if one.type == "date" for column in one.names}
    used = _used(data, outcomes, contexts, results, index, left_out, wanted, dated)
    if used is None:
        return None
    features, targets = used
    certain = len(found.errors) == faults and not faulty
    if certain:
        _check_declared(declared, features, targets, found)
    owners = {column: one for one in reversed(list(declared.values())) for column in one.names}
    if not certain:
        # A name that no file has may stand for any other column: only what is declared is known to be a feature.
        features = [name for name in features if name in owners]
    if results is not contexts:
        aligned = _aligned(data, contexts, results, index)
        if aligned is None:
            return None
        results = aligned
    if drop:
        named = features if weight is None or faulty else [*features, weight]
        contexts, results = _complete(contexts, results, named, targets, found)
    columns = {name: typed_column(contexts, name, owners, found) for name in features}
    Y = {name: number_column(results, name, found, DROP) for name in targets}
    usable = {name: column for name, column in columns.items() if column is not None}
    labels = (
        pd.RangeIndex(1, len(contexts.lines) + 1) if index is None or not certain else contexts.cells[index].tolist()
    )
    if not len(contexts.lines):
        return None
    files = tuple(dict.fromkeys((contexts.path, results.path)))
    counts = None if weight is None or faulty else number_column(contexts, weight, found).set_axis(labels)
    complete = certain and len(usable) == len(features) > 0
    return History(
        pd.DataFrame(usable).set_axis(labels, axis=0) if complete else None,
        pd.DataFrame(Y).set_axis(labels, axis=0) if Y and (wanted is None or len(Y) == len(wanted)) else None,
        contexts.decimal,
        files,
        counts,
        _behind(contexts, features, targets),
    )


def _behind(contexts: CsvTable, features: Sequence[str], outcomes: Sequence[str]) -> tuple[str, ...]:
    """Return the features that stand behind an outcome in the same table."""
    names = list(contexts.cells.columns)
    first = min((names.index(name) for name in outcomes if name in names), default=len(names))
    return tuple(name for name in features if names.index(name) > first)


def _known_weight(data: Section, contexts: CsvTable, weight: str, index: str | None, ignore: list[str]) -> bool:
    """Whether the column that says what rows count for is one of the contexts' file, and used for nothing else."""
    here = list(contexts.cells.columns)
    if weight not in here:
        data.error(
            "weight", f"names the column {weight!r}, which {contexts.path.name} does not have.{nearest(weight, here)}"
        )
    elif weight == index or weight in ignore:
        data.error("weight", f"names {weight!r}, which another key names too.")
    else:
        return True
    return False


def _tables(data: Section, form: CsvFormat) -> tuple[CsvTable, CsvTable] | None:
    """Return the table of contexts and that of outcomes, which may be one and the same."""
    names = {key: data.take(key, TEXT) for key in ("history", "contexts", "outcomes")}
    given = [key for key in names if key in data.table]
    if any(names[key] is None for key in given):
        return None
    if given not in (["history"], ["contexts", "outcomes"]):
        data.error(None, "needs 'history', a CSV file of contexts and outcomes, or both 'contexts' and 'outcomes'.")
        return None
    tables = [read_csv(data.source.path.parent / names[key], form, data.found) for key in given]
    contexts, outcomes = tables[0], tables[-1]
    return None if contexts is None or outcomes is None else (contexts, outcomes)


def _used(
    data: Section,
    section: Section,
    contexts: CsvTable,
    results: CsvTable,
    index: str | None,
    ignore: list[str],
    wanted: Sequence[str] | None,
    dated: Collection[str],
) -> tuple[list[str], list[str]] | None:
    """Return the columns of features and of outcomes that there are, with an error for every name that no file has.

    The column after which rows are named is a feature where it is declared as a date (`dated`).
    """
    here, there = list(contexts.cells.columns), list(results.cells.columns)
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
    left_out = {*ignore, *(outcomes if results is contexts else ()), *({index} - {*dated})}
    features = [name for name in here if name not in left_out]
    if not features:
        data.error(None, f"leaves no column of {contexts.path.name} for the context.")
    return features, [name for name in dict.fromkeys(outcomes) if name in present]


def _check_declared(
    declared: Mapping[str, Declared], features: list[str], outcomes: list[str], found: Findings
) -> None:
    """Refuse declared features that are no column of contexts."""
    contexts = set(features)
    for one in declared.values():
        for name in one.names:
            if name not in contexts:
                what = "an outcome" if name in outcomes else "not a column of the contexts"
                hint = "" if name in outcomes else nearest(name, features)
                found.error(one.section.at(), f"{name!r} is {what}, so it cannot be a feature.{hint}")


def _aligned(data: Section, contexts: CsvTable, results: CsvTable, index: str | None) -> CsvTable | None:
    """Return the outcomes in the order of the contexts: by their index where there is one, otherwise row by row."""
    here, there = len(contexts.lines), len(results.lines)
    if index is None or index not in results.cells.columns:
        if here == there:
            return results
        data.error(None, f"{contexts.path.name} has {here} rows and {results.path.name} {there}; they must match.")
        return None
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


def _complete(
    contexts: CsvTable, results: CsvTable, features: list[str], outcomes: list[str], found: Findings
) -> tuple[CsvTable, CsvTable]:
    """Return the rows in which nothing is missing."""
    gaps = [missing(contexts, name) for name in features] + [missing(results, name) for name in outcomes]
    keep = ~np.logical_or.reduce([gap.to_numpy() for gap in gaps])
    if not keep.any():
        found.error(Place(contexts.path.name), "has no complete row: in each of them a value is missing.")
    elif not keep.all():
        text = f"{int((~keep).sum())} of {keep.size} rows were left out: a value is missing."
        found.warning(Place(contexts.path.name), text)
    rows = np.flatnonzero(keep)
    kept = contexts.taken(rows)
    return kept, kept if results is contexts else results.taken(rows)
