"""A first project file for a CSV file: column types found out, everything commented."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from whence.errors import InputError
from whence.features.inference import FEW_LEVELS, MANY_CATEGORIES
from whence.project.csv_files import CsvFormat, CsvTable, content, load_csv, number_column
from whence.project.findings import Findings
from whence.project.sections import WEIGHTS
from whence.report.numbers import plain
from whence.util.text import nearest

_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: Bytes of a file by which its columns are judged; of a larger one, as many rows from all over it.
JUDGED = 16_000_000


#: Why a column is left out.
LEFT_OUT = {
    "empty": "it is empty",
    "date": "dates are not features. Put what matters about them (month, weekday, hour) in columns of their own",
}

#: What every feature may have, said once.
FEATURES = """# What each column of the context is. Every feature may also have
#   change = "fixed"    what an explanation may do with it: "free", "fixed", "increase" or "decrease"
#   weight = 2          how much a change of it counts in the distance
#   unit = "°C"         for reports, where it is a number
# low and high, where given, are limits for explanations; below they are the smallest and largest values in the data."""


class Starter(NamedTuple):
    """The text of a first project file, and remarks on what was guessed for it and should be looked at."""

    text: str
    remarks: list[str]


def starter(data: Path, outcomes: Sequence[str] = (), name: str | None = None) -> Starter:
    """A commented project file for the CSV file `data`, which it calls `name`.

    Its outcomes are by default the last column of numbers.
    """
    table = load_csv(data, CsvFormat(), JUDGED)
    kinds = {column: content(table, column) for column in table.cells.columns}
    remarks: list[str] = []
    if table.every > 1:
        remarks.append(
            f"Judged {data.name} by one row in {table.every} ({len(table.cells):,} rows); 'whence check' looks at all."
        )
    chosen = _outcomes(table, kinds, outcomes, remarks)
    index, ignore = _left_out(table, kinds, chosen, remarks)
    features = [column for column in kinds if column not in {*chosen, *ignore, index}]
    if not features:
        raise InputError(f"{data.name} has no column left for the context besides {', '.join(map(repr, chosen))}.")
    parts = [
        _head(name or data.name, table, index, ignore),
        f"[outcomes]\n# What is not known when the decision is made; costs depend on it.\ncolumns = {_list(chosen)}",
        FEATURES,
        *(_feature(table, column, kinds[column]) for column in features),
        _tail(chosen),
    ]
    return Starter("\n\n".join(parts) + "\n", remarks)


def _outcomes(table: CsvTable, kinds: Mapping[str, str], given: Sequence[str], remarks: list[str]) -> list[str]:
    for column in given:
        if column not in kinds:
            raise InputError(
                f"'--outcomes' names {column!r}, which {table.path.name} does not have.{nearest(column, kinds)}"
            )
        if kinds[column] not in ("whole", "number"):
            raise InputError(f"'--outcomes' names {column!r}, which does not hold numbers.")
    if given:
        return list(dict.fromkeys(given))
    numeric = [column for column, kind in kinds.items() if kind in ("whole", "number")]
    if not numeric:
        raise InputError(f"{table.path.name} has no column of numbers that could be an outcome.")
    remarks.append(f"Took the last column of numbers, {numeric[-1]!r}, as the outcome; say which with --outcomes.")
    return [numeric[-1]]


def _left_out(
    table: CsvTable, kinds: Mapping[str, str], outcomes: list[str], remarks: list[str]
) -> tuple[str | None, list[str]]:
    """The column after which the rows are named, if any, and the columns that cannot be features."""
    index: str | None = None
    ignore = []
    for column, kind in kinds.items():
        distinct = table.cells[column].nunique()
        name_like = kind == "text" and distinct > MANY_CATEGORIES and distinct > 0.5 * len(table.cells)
        if column in outcomes or not (kind in ("date", "empty") or name_like):
            continue
        if index is None and kind != "empty" and distinct == len(table.cells):
            index = column
            remarks.append(f"Rows are named after {column!r}, which is not a feature.")
        else:
            ignore.append(column)
            remarks.append(f"Left out {column!r}: {LEFT_OUT.get(kind, 'texts are not features')}.")
    return index, ignore


def _head(name: str, table: CsvTable, index: str | None, ignore: list[str]) -> str:
    decimal = f'decimal = "{table.decimal}"' if table.decimal == "," else '# decimal = ","         # "." or ","'
    lines = [
        "# A whence project. Check it with: whence check whence.toml",
        'title = ""       # the heading of reports',
        'question = ""    # what is decided, in a sentence',
        "",
        "[data]",
        f"history = {_text(name)}",
        '# encoding = "utf-8"    # encoding, separator and decimal sign are detected unless you give them',
        '# separator = ";"',
        decimal,
        f"index = {_text(index)}    # rows are named after this column"
        if index is not None
        else '# index = "date"        # name the rows after a column that is not a feature',
        f"ignore = {_list(ignore)}    # columns that are not features"
        if ignore
        else '# ignore = ["note"]     # columns that are not features',
        '# missing = "drop"      # leave out rows in which a value is missing',
    ]
    return "\n".join(lines)


def _feature(table: CsvTable, column: str, kind: str) -> str:
    lines = [f"[features.{column if _BARE.fullmatch(column) else _text(column)}]"]
    cells = table.cells[column]
    if kind == "yes and no":
        lines.append('type = "binary"')
    elif kind == "text":
        levels = cells.unique().tolist()
        # What has been seen of a part of the rows may not be all there is.
        seen = "" if table.every == 1 else "# "
        lines += ['type = "categorical"', f"{seen}categories = {_list([level for level in levels if level])}"]
    else:
        lines += _number(table, column, kind)
    return "\n".join(lines)


def _number(table: CsvTable, column: str, kind: str) -> list[str]:
    values = number_column(table, column, Findings()).dropna()
    distinct = sorted(set(values.tolist()))
    if set(distinct) <= {0, 1} and kind == "whole":
        return ['type = "binary"']
    if kind == "whole" and len(distinct) <= FEW_LEVELS and table.every == 1:
        return ['type = "discrete"', f"values = [{', '.join(str(int(v)) for v in distinct)}]"]
    low, high = plain(distinct[0], 15), plain(distinct[-1], 15)
    if kind == "whole":
        return ['type = "discrete"', f"step = 1    # every whole number from {low} to {high}"]
    return ['type = "continuous"', f"# low = {low}", f"# high = {high}"]


def _tail(outcomes: list[str]) -> str:
    forest = {key: json.dumps("none" if value is None else value) for key, (_, value) in WEIGHTS["forest"][1].items()}
    return f"""[weights]
# How much each past row counts in a context: "forest", or "knn" with k. 'whence tune' looks for better settings.
kind = "forest"
n_trees = {forest["n_trees"]}
max_depth = {forest["max_depth"]}      # a depth such as 4 or 6 is quicker to explain, and often costs more
min_samples_leaf = {forest["min_samples_leaf"]}
max_features = {forest["max_features"]}

[problem]
# What is decided: "newsvendor", "shipment", "shortest_path" or "linear".
# Here: a quantity of each of {", ".join(outcomes)}, before it is known how many are needed.
kind = "newsvendor"
holding = 1      # cost of a unit left over: one number, or a list with one per outcome
backorder = 2    # cost of a unit short
# budget = 100   # most units in total
# cost_unit = "€"

[risk]
# What is minimised: "expectation", or "cvar" with alpha (0.8: the mean of the worst fifth).
kind = "expectation"

[explain]
# kind = "relative"    # better than the decision, or "absolute": best of all plans
# within = 0.02        # absolute only: within 2 % of the best is good enough
# time_limit = 60      # seconds
# memory_limit = 2_000_000_000  # bytes; half of the machine's memory by default, at most 4 GB
# margin = 0.05        # cheaper by at least 5 %, or "10 cost": by an amount
# holds = 0.9          # also where 9 of 10 such answers are true in the world; false: only the nearest
# plausible = 0.1      # not among the tenth of the least usual contexts
# max_changes = 2      # at most two features may change
# instead = "any"      # what a question without a plan is about; a set such as "at-least:bread=80"
# fixed = []           # features that no explanation may change"""


def _text(text: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"
