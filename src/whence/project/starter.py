"""A first project file for a CSV file: column types found out, everything commented."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from whence.errors import InputError
from whence.features.inference import FEW_LEVELS, MANY_CATEGORIES, recorded_step
from whence.project.cell_values import days_of, measure_of, unit_of
from whence.project.csv_files import MISSING, CsvFormat, CsvTable, content, load_csv, number_column
from whence.project.findings import Findings
from whence.project.leaks import LEAST_ROWS, Guess, Leak, find_leaks, guess_outcomes, may_be_outcome, words_of
from whence.project.sections import WEIGHTS
from whence.report.numbers import plain
from whence.util.text import listed, nearest

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_TIME = re.compile(r"\d{1,2}:\d{2}")
#: What to do about times of day.
TIMES = "Put what matters about its times of day (the hour) in a column of its own."
#: Rows that a text needs, on average, to be learnt from; and from which on texts that all differ are names.
ROWS_A_TEXT, NAMED_ROWS = 5, 10
#: Bytes of a file by which its columns are judged; of a larger one, as many rows from all over it.
JUDGED = 16_000_000


#: What every feature may have, said once.
FEATURES = """# What each column of the context is. Every feature may also have
#   change = "fixed"    what an explanation may do with it: "free", "fixed", "increase" or "decrease"
#   weight = 2          how much a change of it counts in the distance
#   unit = "°C"         for reports, where it is a number
# low and high, where given, are limits for explanations; below they are the smallest and largest values in the data."""


class Starter(NamedTuple):
    """The text of a first project file, and remarks on what was guessed for it."""

    text: str
    remarks: list[str]


#: Asks which columns are outcomes, given those that were guessed and why; returns their names.
Ask = Callable[[Guess], Sequence[str]]


def starter(data: Path, outcomes: Sequence[str] = (), name: str | None = None, ask: Ask | None = None) -> Starter:
    """Return a commented project file for the CSV file `data`, which it calls `name`.

    Outcomes that are not given are guessed, and `ask` is asked about the guess. Columns that tell more than is known
    when the decision is made are left out, with a remark.
    """
    table = load_csv(data, CsvFormat(), JUDGED)
    columns = _Columns(table)
    if table.every > 1:
        columns.remarks.append(
            f"Judged {data.name} by one row in {table.every} ({len(table.cells):,} rows); 'whence check' looks at all."
        )
    chosen = _outcomes(columns, outcomes, ask)
    index, ignore = _left_out(columns, chosen)
    if not outcomes and ask is None:
        columns.remarks.extend(_looking_alike(columns, chosen, ignore))
    features = [column for column in columns.kinds if column not in {*chosen, *ignore}]
    features = [column for column in features if column != index or _parts(columns, column)]
    if not features:
        raise InputError(f"{data.name} has no column left for the context besides {', '.join(map(repr, chosen))}.")
    parts = [
        _head(name or data.name, table, index, ignore),
        f"[outcomes]\n# What is not known when the decision is made; costs depend on it.\ncolumns = {_list(chosen)}",
        FEATURES,
        *(_feature(columns, column) for column in features),
        _tail(chosen),
    ]
    return Starter("\n\n".join(parts) + "\n", columns.remarks)


class _Columns:
    """The columns of a table, what each holds, and remarks on what was found out about them."""

    def __init__(self, table: CsvTable) -> None:
        self.table = table
        self.kinds = {str(column): content(table, column) for column in table.cells.columns}
        self.remarks: list[str] = []

    @cached_property
    def numbers(self) -> dict[str, pd.Series]:
        """The columns of numbers."""
        names = [name for name, kind in self.kinds.items() if kind in ("whole", "number")]
        return {name: number_column(self.table, name, Findings()) for name in names}

    def counts(self, column: str) -> bool:
        """Return whether a column does nothing but count the rows."""
        numbers = self.numbers.get(column)
        if numbers is None or self.kinds[column] != "whole" or self.table.every > 1 or len(numbers) < LEAST_ROWS:
            return False
        return bool((numbers.diff().iloc[1:] == 1).all())

    def is_constant(self, column: str) -> bool:
        """Return whether a column holds the same in every row, so that nothing can be learnt from it."""
        cells = self.table.cells[column]
        return self.table.every == 1 and len(cells) >= LEAST_ROWS and cells.nunique() == 1

    def is_scarce(self, column: str) -> bool:
        """Return whether most texts of a column stand in so few rows that nothing can be learnt from them."""
        rows, texts = len(self.table.cells), self.table.cells[column].nunique()
        if self.kinds[column] != "text":
            return False
        return (texts > MANY_CATEGORIES and texts * ROWS_A_TEXT > rows) or (texts == rows and rows >= NAMED_ROWS)

    def loses_times(self, column: str) -> bool:
        """Return whether a column of dates has times of day, and no other column is named after them."""
        times = {found[0] for cell in self.table.cells[column].tolist() if (found := _TIME.search(cell))}
        others = {word for name in self.kinds if name != column for word in words_of(name)}
        return len(times) > 1 and others.isdisjoint(("hour", "time", "stunde", "uhrzeit", "zeit"))

    def days(self, column: str) -> list[date] | None:
        """Return the days of a column of dates; None where some cells are none, such as times of day."""
        days = days_of([cell for cell in self.table.cells[column].tolist() if cell.lower() not in MISSING])
        known = [day for day in days if day is not None]
        return known if len(known) == len(days) else None


def _outcomes(columns: _Columns, given: Sequence[str], ask: Ask | None) -> list[str]:
    table, kinds = columns.table, columns.kinds
    if not given:
        if not columns.numbers:
            raise InputError(f"{table.path.name} has no column of numbers that could be an outcome.")
        guess = guess_outcomes(columns.numbers)
        if ask is not None:
            given = ask(guess)
        else:
            named = listed([repr(column) for column in guess.columns])
            what = "the outcomes" if len(guess.columns) > 1 else "the outcome"
            columns.remarks.append(f"Took {named} as {what}: {guess.reason}. Say which with --outcomes.")
            return guess.columns
    for column in given:
        if column not in kinds:
            raise InputError(
                f"'--outcomes' names {column!r}, which {table.path.name} does not have.{nearest(column, kinds)}"
            )
        if column not in columns.numbers:
            raise InputError(f"'--outcomes' names {column!r}, which does not hold numbers.")
    return list(dict.fromkeys(given))


def _looking_alike(columns: _Columns, outcomes: list[str], ignore: Collection[str]) -> list[str]:
    """Return a remark on the column before outcomes that were guessed, where it may be one more of them."""
    names = list(columns.numbers)
    first = outcomes[0]
    before = names[names.index(first) - 1] if first != names[0] else first
    if before in {*outcomes, *ignore} or not may_be_outcome(columns.numbers, before, first):
        return []
    alike = f"{before!r} stands beside {first!r} and looks like it."
    return [f"{alike} If it is an outcome too, name both after --outcomes: as a feature, it lets the policy see it."]


def _left_out(columns: _Columns, outcomes: list[str]) -> tuple[str | None, list[str]]:
    """Return the column after which the rows are named, if any, and the columns that are not to be features."""
    table, remarks = columns.table, columns.remarks
    index: str | None = None
    ignore = []
    dated: str | None = None
    for column, kind in columns.kinds.items():
        distinct = table.cells[column].nunique()
        scarce = columns.is_scarce(column)
        if column in outcomes:
            continue
        if not (kind in ("date", "empty") or scarce or columns.counts(column) or columns.is_constant(column)):
            continue
        seen = kind == "date" and _parts(columns, column)
        follows = _follows(columns, column, dated) if seen and dated is not None else ""
        dated = dated or (column if seen else None)
        if follows:
            ignore.append(column)
            remarks.append(f"Left out {column!r}: {follows}.")
        elif index is None and (kind == "date" or scarce) and distinct == len(table.cells):
            index = column
            verb = "is a feature" if seen and len(seen) == 1 else "are features"
            parts = f"; its {listed(seen)} {verb}" if seen else ", which is not a feature"
            lost = f" {TIMES}" if kind == "date" and columns.loses_times(column) else ""
            remarks.append(f"Rows are named after {column!r}{parts}.{lost}")
        elif not seen:
            ignore.append(column)
            remarks.append(f"Left out {column!r}: {_why_left_out(columns, column)}.")
    leaks = _leaks(columns, outcomes, [*ignore, *([] if index is None else [index])])
    # Where nothing else is left to decide by, what is suspect is named, and kept.
    kept = len(leaks) == len({*columns.kinds} - {*outcomes, *ignore, index})
    for leak in leaks:
        done, what = ("Look at", KEPT) if kept else ("Left out", LEFT_OUT)
        remarks.append(f"{done} {leak.column!r}: it {leak.reason}. {what}")
    return index, ignore if kept else [*ignore, *(leak.column for leak in leaks)]


#: What to do about a column that may tell more than is known when the decision is made.
LEFT_OUT = "If it is known when the decision is made, take it out of [data] ignore."
KEPT = "If it is not known when the decision is made, the policy sees the future."


def _leaks(columns: _Columns, outcomes: list[str], others: Collection[str]) -> list[Leak]:
    """Return the columns that would let a policy see the future."""
    names = list(columns.kinds)
    features = [name for name in names if name not in {*outcomes, *others} and columns.kinds[name] != "date"]
    cells = columns.table.cells
    X = pd.DataFrame({name: columns.numbers.get(name, cells[name]) for name in features})
    Y = pd.DataFrame({name: columns.numbers[name] for name in outcomes})
    return find_leaks(X, Y, names[min(names.index(name) for name in outcomes) :])


def _why_left_out(columns: _Columns, column: str) -> str:
    kind = columns.kinds[column]
    if kind != "empty" and columns.is_constant(column):
        return f"every row has {columns.table.cells[column].iloc[0]}"
    if kind in ("empty", "whole"):
        return "it is empty" if kind == "empty" else "it only counts the rows"
    if kind != "date":
        return "of its texts, most stand in too few rows to learn from"
    if columns.days(column) is None:
        return f"times of day are not features. {TIMES[:-1]}"
    return "other columns tell its weekday and month, or it has but one of each"


def _follows(columns: _Columns, column: str, dated: str) -> str:
    """Return why a second column of dates is no feature beside the one called `dated`; "" where it may be one."""
    both = (days_of(columns.table.cells[name].tolist()) for name in (dated, column))
    gaps = {(two - one).days for one, two in zip(*both, strict=True) if one is not None and two is not None}
    if len(gaps) == 1:
        [gap] = gaps
        days = f"{abs(gap)} day{'s' * (abs(gap) != 1)} {'after' if gap > 0 else 'before'}"
        return f"it is always {days} {dated!r}" if gap else f"it is always the same day as {dated!r}"
    if min(gaps, default=-1) < 0:
        return ""
    return f"its days come after those of {dated!r}. If it is known by then, take it out of [data] ignore"


def _parts(columns: _Columns, column: str) -> list[str]:
    """Return the parts of a column of dates that may matter, and that no other column is named after."""
    days = columns.days(column) if columns.kinds[column] == "date" else None
    if not days:
        return []
    others = {word for name in columns.kinds if name != column for word in words_of(name)}
    values = {"weekday": {day.weekday() for day in days}, "month": {day.month for day in days}}
    return [part for part, seen in values.items() if len(seen) > 1 and part not in others]


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


def _feature(columns: _Columns, column: str) -> str:
    table, kind = columns.table, columns.kinds[column]
    lines = [f"[features.{column if _BARE.fullmatch(column) else _text(column)}]"]
    if kind == "yes and no":
        lines.append('type = "binary"')
    elif kind == "date":
        lines += ['type = "date"', f"parts = {_list(_parts(columns, column))}    # what of a date matters"]
    elif kind == "text":
        levels = table.cells[column].unique().tolist()
        # What has been seen of a part of the rows may not be all there is.
        seen = "" if table.every == 1 else "# "
        lines += ['type = "categorical"', f"{seen}categories = {_list([level for level in levels if level])}"]
    else:
        lines += _number(columns, column)
        cells = [cell for cell in table.cells[column].tolist() if cell.lower() not in MISSING]
        unit = _unit(column) or unit_of(cells) or measure_of(cells)
        if unit and lines[1] != 'type = "binary"':
            lines.append(f"unit = {_text(unit)}")
    return "\n".join(lines)


def _unit(name: str) -> str:
    """Return the unit in the name of a column, in brackets or as its last word; "" where there is none.

    Examples
    --------
    >>> _unit("temp (°C)"), _unit("wind [m/s]"), _unit("temp °C"), _unit("rain")
    ('°C', 'm/s', '°C', '')
    """
    inside = re.fullmatch(r".+[(\[]([^()\[\]]{1,8})[)\]]", name)
    if inside is not None:
        return inside[1].strip()
    last = name.rpartition(" ")[2]
    return last if last in UNITS and last != name else ""


#: Units that are known without brackets.
UNITS = ("°C", "°F", "%", "€", "$", "£", "mm", "cm", "km", "km/h", "m/s", "kg", "hPa", "kWh", "MWh", "min")


def _number(columns: _Columns, column: str) -> list[str]:
    table, kind = columns.table, columns.kinds[column]
    distinct = sorted(set(columns.numbers[column].dropna().tolist()))
    if set(distinct) <= {0, 1} and kind == "whole":
        return ['type = "binary"']
    if kind == "whole" and len(distinct) <= FEW_LEVELS and table.every == 1:
        return ['type = "discrete"', f"values = [{', '.join(str(int(v)) for v in distinct)}]"]
    low, high = plain(distinct[0], 15), plain(distinct[-1], 15)
    if kind == "whole":
        return ['type = "discrete"', f"step = 1    # every whole number from {low} to {high}"]
    step = recorded_step(columns.numbers[column]) if table.every == 1 else None
    stepped = [f'step = {plain(step)}    # as it is recorded; "none" for any number'] if step else []
    return ['type = "continuous"', *stepped, f"# low = {low}", f"# high = {high}"]


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
time_limit = 60        # seconds; "none" for no limit
# memory_limit = 2_000_000_000  # bytes; half of the machine's memory by default, at most 4 GB
# margin = 0.05        # cheaper by at least 5 %, or "10 cost": by an amount
# holds = 0.9          # also where 9 of 10 such answers are true in the world; false: only the nearest
# plausible = 0.1      # not among the tenth of the least usual contexts
# max_changes = 2      # at most two features may change
# instead = "any"      # what a question without a plan is about; a set such as "at-least:bread=80"
# fixed = []           # features that no explanation may change"""


def _text(text: str) -> str:
    """Return a text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"
