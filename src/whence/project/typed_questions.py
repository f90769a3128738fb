"""Contexts as people give them: a row of the history, a file, JSON, or `name=value` pairs; and bounds for them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError
from whence.features import Date, Schema
from whence.features.dates import as_day
from whence.features.kinds import Categorical
from whence.problems.base import DecisionProblem
from whence.problems.plan_sets import AnyPlan, PlanSet
from whence.project.cell_values import days_of, one_day, read_number, without_measure
from whence.project.csv_files import YES_AND_NO, CsvFormat, decoded, load_csv
from whence.util.files import read_file
from whence.util.json import finite, quoted
from whence.util.text import nearest, number, pairs

_ROW = re.compile(r"(?:row:)?\s*(\d{1,12})")


class ContextReader:
    """Reads contexts against the history `X`, to which `schema` is fitted; typed numbers have the sign `decimal`."""

    def __init__(self, schema: Schema, X: pd.DataFrame, form: CsvFormat, decimal: str) -> None:
        self.schema = schema
        self.X = X
        self.form = form
        self.decimal = decimal
        self._types = {str(name): _type_of(X[name]) for name in X.columns}

    def read(self, value: Any, files: bool = True) -> pd.Series:
        """Return one context in the user's units, checked; every part of a list is laid over those before it.

        Without `files` no text is taken for the name of one, whether there is such a file or not.
        """
        values: dict[str, Any] = {}
        for part in value if isinstance(value, list | tuple) and value else [value]:
            values.update(self._values(part, files))
        return self._checked(values)

    def _checked(self, values: Mapping[str, Any]) -> pd.Series:
        names = list(self.X.columns)
        for name in values:
            if name not in names:
                raise InputError(f"The context gives {name!r}, which is not a feature.{nearest(name, names)}")
        lacking = [name for name in names if name not in values]
        if lacking:
            raise InputError(f"The context must give {', '.join(map(repr, lacking))} as well.")
        row = pd.Series([self.value(name, values[name]) for name in names], index=names, dtype=object)
        self.schema.encode_row(row)
        return row

    def _values(self, value: Any, files: bool = True) -> dict[str, Any]:
        if isinstance(value, pd.Series | Mapping):
            return {str(name): entry for name, entry in value.items()}
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return self._row(int(value))
        if not isinstance(value, str):
            raise InputError(f"A context must be a row number, a text or a mapping. Got {quoted(value)} instead.")
        text = value.strip()
        row = _ROW.fullmatch(text)
        if row:
            return self._row(int(row.group(1)))
        label = text.removeprefix("row:").strip()
        if not isinstance(self.X.index, pd.RangeIndex) and label in self.X.index:
            return self._row(int(np.flatnonzero(self.X.index == label)[0]) + 1)
        if (day := one_day(text)) is not None and (found := self._rows_of(day)).size == 1:
            return self._row(int(found[0]) + 1)
        if text.startswith("{"):
            return self._mapping(json_value(text, "The context"))
        if "=" in text and not (files and is_file(text)):
            return pairs(text, "The context")
        if files and (text.lower().endswith((".csv", ".json", ".tsv", ".txt")) or is_file(text)):
            return self._file(Path(text))
        if day is not None and "=" not in text:
            raise self._unknown_day(text)
        known = "JSON, or a CSV or JSON file" if files else "or JSON; files are not opened here"
        raise InputError(
            f"A context must be the number of a row, name=value pairs, {known}. Got {quoted(value)} instead."
        )

    @cached_property
    def _days(self) -> list[date | None]:
        """The days after which the rows are named, in their order."""
        return [] if isinstance(self.X.index, pd.RangeIndex) else days_of(list(map(str, self.X.index)))

    def _rows_of(self, day: date) -> NDArray[np.int64]:
        return np.flatnonzero([one == day for one in self._days])

    def _unknown_day(self, text: str) -> InputError:
        known = [day for day in self._days if day is not None]
        if not known:
            return InputError(f"{quoted(text)} is a date, and the rows of the history are not named after dates.")
        rows = self._rows_of(one_day(text) or min(known))
        if rows.size > 1:
            named = quoted(str(self.X.index[rows[0]]))
            return InputError(f"{rows.size} rows of the history are of {text}: name one of them, such as {named}.")
        dates = [name for name in self.schema.names if isinstance(self.schema.kind(name), Date)]
        hint = f" For another day, give all features, with {dates[0]}={text}." if dates else ""
        return InputError(f"No row of the history is of {text}: it has days from {min(known)} to {max(known)}.{hint}")

    def _row(self, row: int) -> dict[str, Any]:
        if not 1 <= row <= len(self.X):
            raise InputError(f"The history has the rows 1 to {len(self.X)}. Got row {row} instead.")
        return {name: self.X[name].iloc[row - 1] for name in self.X.columns}

    def _mapping(self, value: Any) -> dict[str, Any]:
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, dict):
            raise InputError(f"The context must be one JSON object of names and values. Got {quoted(value)} instead.")
        return value

    def _file(self, path: Path) -> dict[str, Any]:
        if path.suffix.lower() == ".json":
            return self._mapping(read_json_file(path))
        table = load_csv(path, self.form)
        if len(table.cells) != 1:
            raise InputError(f"{path.name} must hold one context, so one row. Got {len(table.cells)} rows instead.")
        cells = {str(name): str(cell) for name, cell in table.cells.iloc[0].items()}
        return self.from_cells({name: cells[name] for name in cells if name in self._types}, table.decimal)

    def from_cells(self, cells: Mapping[str, str], decimal: str) -> dict[str, Any]:
        """Return cells of a CSV file, with numbers read by that file's decimal sign."""
        parsed = {
            name: read_number(without_measure(cell, self._unit(name)), decimal)
            for name, cell in cells.items()
            if self._types[name] in ("whole", "number")
        }
        return {**cells, **{name: value for name, value in parsed.items() if value is not None}}

    def _unit(self, name: str) -> str:
        return self.schema.unit(name) if name in self.schema.names else ""

    def value(self, name: str, value: Any) -> Any:
        """Return a value of the column `name` as the history holds it, from a text or a value of JSON."""
        kind = self._types[name]
        if kind == "switch":
            return _switch(name, value)
        if kind not in ("name", "date"):
            return self._number(name, value, whole=kind == "whole")
        if kind == "date":
            day = one_day(value) if isinstance(value, str) else as_day(value)
            if day is None:
                raise InputError(f"{name!r} must be a date, such as 2025-06-14. Got {quoted(value)} instead.")
            return pd.Timestamp(day)
        text, feature = str(value), self.schema.kind(name)
        allowed = [str(level) for level in getattr(feature, "categories", None) or self.schema.levels(name)]
        if text not in allowed:
            offer = ", ".join(allowed[:12]) + (", …" if len(allowed) > 12 else "")
            raise InputError(f"{name!r} must be one of {offer}. Got {quoted(text)} instead.{nearest(text, allowed)}")
        return text

    def _number(self, name: str, value: Any, whole: bool) -> float | int:
        if isinstance(value, str):
            lowered = value.strip().lower()
            # A switch that the history holds as 0 and 1 may be typed in words.
            if whole and lowered in YES_AND_NO and set(self.X[name].unique().tolist()) <= {0, 1}:
                return int(YES_AND_NO[lowered])
            # In its own unit, and in no other.
            bare = without_measure(value.strip(), self._unit(name))
            parsed = read_number(bare, self.decimal)
            if parsed is None:
                parsed = read_number(bare)
        else:
            parsed = finite(int(value) if isinstance(value, bool | np.bool_) else value)
        if parsed is None or not np.isfinite(parsed):
            raise InputError(f"{name!r} must be a finite number. Got {quoted(value)} instead.")
        return int(parsed) if whole and parsed == int(parsed) else parsed


def _type_of(column: pd.Series) -> str:
    """Return how values of a column are typed in: as a switch, a whole number, a number, a date, or a name."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return "switch"
    if pd.api.types.is_integer_dtype(column.dtype):
        return "whole"
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "date"
    return "number" if pd.api.types.is_numeric_dtype(column.dtype) else "name"


def _switch(name: str, value: Any) -> bool:
    text = str(value).strip().lower()
    known = {**YES_AND_NO, "0": False, "1": True, "0.0": False, "1.0": True}
    if text not in known:
        raise InputError(f"{name!r} must be yes or no. Got {quoted(value)} instead.")
    return known[text]


def json_value(text: str, what: str) -> Any:
    """Return what a JSON text holds, or one sentence that says where it is wrong."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{what} is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except (RecursionError, ValueError):
        raise InputError(f"{what} is not JSON that can be read: too deep, or a number too long.") from None


def read_json_file(path: Path) -> Any:
    """Return what a JSON file holds."""
    data = read_file(path)
    try:
        text = decoded(data)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None
    return json_value(text, path.name)


def is_file(text: str) -> bool:
    """Return whether a text is the name of a file that exists."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def read_bounds(texts: Iterable[str], schema: Schema) -> dict[str, Any]:
    """Return the argument `bounds` of `Policy.explain`, as people type it: ``temp=0:20``, ``day=Saturday|Sunday``."""
    bounds: dict[str, Any] = {}
    for text in texts:
        name, _, limits = (part.strip() for part in text.partition("="))
        if not limits:
            raise InputError(f"A bound must be given as name=low:high or name=this|that. Got {quoted(text)} instead.")
        if name not in schema.names:
            raise InputError(f"A bound names {name!r}, which is not a feature.{nearest(name, schema.names)}")
        if name in bounds:
            raise InputError(f"The bounds of {name!r} must be given only once.")
        feature = schema.kind(name)
        if isinstance(feature, Categorical):
            bounds[name] = _categories(name, limits, feature)
        else:
            dated = isinstance(feature, Date)
            wanted = "first:last, two dates such as 2025-06-14" if dated else "low:high, two numbers"
            bounds[name] = _ends(name, limits, as_day if dated else number, wanted)
    return bounds


def _categories(name: str, limits: str, feature: Categorical) -> list[Any]:
    known = {str(level): level for level in feature.categories or ()}
    wanted = [part.strip() for part in limits.split("|")]
    for part in wanted:
        if part not in known:
            raise InputError(f"A bound of {name!r} must be among {', '.join(known)}. Got {quoted(part)} instead.")
    return [known[part] for part in wanted]


def _ends(name: str, limits: str, read: Callable[[str], Any], wanted: str) -> tuple[Any, Any]:
    """Return both ends of a bound, None where one is left open."""
    low, colon, high = (part.strip() for part in limits.partition(":"))
    ends = [read(end) if end else None for end in (low, high)]
    if not colon or any(given and end is None for given, end in zip((low, high), ends, strict=True)):
        raise InputError(f"The bounds of {name!r} must be given as {wanted}. Got {quoted(limits)} instead.")
    return ends[0], ends[1]


#: What a set of plans may be, in words.
SETS = (
    "any, through:PLACE, using:PLACE, avoiding:PLACE, at-least:PART=NUMBER, at-most:PART=NUMBER or "
    "between:PART=LOW:HIGH"
)

#: The methods of problems that make one.
METHODS = ("through", "using", "avoiding", "at_least", "at_most", "between")

_MARK = re.compile(r"(through|using|avoiding|at[-_]least|at[-_]most|between)\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)


def is_set(text: str) -> bool:
    """Return whether a text stands for a set of plans.

    Examples
    --------
    >>> is_set("any"), is_set("at-least:rye=80"), is_set("A > B")
    (True, True, False)
    """
    return text.strip().casefold() == "any" or _MARK.fullmatch(text.strip()) is not None


def read_plan_set(
    problem: DecisionProblem, text: str, outcomes: Sequence[str], number: Callable[[str], float]
) -> PlanSet:
    """Return the set of plans that `text` stands for; several conditions have semicolons between them.

    Examples
    --------
    >>> import whence as wh
    >>> bakery = wh.Newsvendor(1, [2, 3], names=["rolls", "rye"])
    >>> read_plan_set(bakery, "at-least:rye=80; at-most:rolls=100", [], float).words
    'a plan with at least 80 rye and at most 100 rolls'
    """
    if text.strip().casefold() == "any":
        return AnyPlan(problem)
    found: Any = problem
    for condition in text.split(";"):
        mark = _MARK.fullmatch(condition.strip())
        if mark is None:
            raise InputError(f"A set of plans must be {SETS}. Got {quoted(condition.strip())} instead.")
        name, rest = mark[1].lower().replace("-", "_"), mark[2].strip()
        method = getattr(found, name, None)
        if method is None:
            known = [one.replace("_", "-") for one in METHODS if hasattr(problem, one)]
            raise InputError(
                f"{mark[1]!r} is not for the plans of {type(problem).__name__}: use {', '.join([*known, 'any'])}.",
                parameter="instead",
            )
        found = method(*_arguments(name, rest, number))
        if isinstance(found, PlanSet):
            found = found.named(outcomes)
    assert isinstance(found, PlanSet)
    return found


def _arguments(name: str, rest: str, number: Callable[[str], float]) -> tuple[Any, ...]:
    if name in ("through", "using", "avoiding"):
        if not rest:
            raise InputError(f"{name!r} must name a node, an edge or a street. Got nothing.", parameter="instead")
        return (rest,)
    part, equals, limit = rest.rpartition("=")
    if not equals or not part.strip():
        given = quoted(f"{name.replace('_', '-')}:{rest}")
        raise InputError(f"A set of plans must be {SETS}. Got {given} instead.", parameter="instead")
    if name != "between":
        return part.strip(), number(limit.strip())
    low, colon, high = limit.partition(":")
    if not colon:
        raise InputError(
            f"'between' must have two numbers, low:high. Got {quoted(limit)} instead.", parameter="instead"
        )
    return part.strip(), number(low.strip()), number(high.strip())
