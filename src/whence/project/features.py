"""The section [features]: from what a user declares about a column to a feature of the schema."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from whence.checks import Rule, one_of
from whence.errors import WhenceError
from whence.features import Cyclic, Date, Derived, Ordered, Schema
from whence.features.dates import as_day
from whence.features.inference import MANY_CATEGORIES, recorded_step
from whence.features.kinds import Binary, Categorical, Continuous, Discrete, Feature
from whence.features.number_column import sorted_categories
from whence.project.csv_files import (
    DROP,
    MISSING,
    CsvTable,
    binary_column,
    content,
    date_column,
    listed,
    number_column,
    text_column,
)
from whence.project.findings import COUNT, NUMBER, NUMBERS, POSITIVE, TEXT, TEXTS, YES_OR_NO, Findings, Section
from whence.util.frames import written_number

NAMES = Rule(
    "a list of texts or numbers",
    lambda value: isinstance(value, list) and bool(value) and all(isinstance(e, str | int | float) for e in value),
)

UNIT_OF_CHANGE = Rule(
    "'range', 'iqr' or a positive number",
    lambda value: value in ("range", "iqr") if isinstance(value, str) else POSITIVE.fits(value),
)
STEP = Rule("a positive number or 'none'", lambda value: value == "none" or POSITIVE.fits(value))
DAY = Rule("a date, such as 2025-06-14", lambda value: as_day(value) is not None)
DAYS = Rule(
    "a list of dates, such as 2025-06-14",
    lambda value: isinstance(value, list) and bool(value) and all(as_day(entry) is not None for entry in value),
)
#: What numbers say about how much a change counts.
CHANGES: Mapping[str, tuple[Rule, Any]] = {"scale": (UNIT_OF_CHANGE, "range"), "least_change": (POSITIVE, None)}

#: The types of features, and the keys of each with their defaults besides those that all have.
KINDS: Mapping[str, tuple[type[Feature], Mapping[str, tuple[Rule, Any]]]] = {
    "continuous": (
        Continuous,
        {"low": (NUMBER, None), "high": (NUMBER, None), "unit": (TEXT, ""), "step": (STEP, None), **CHANGES},
    ),
    "discrete": (Discrete, {"values": (NUMBERS, None), "step": (COUNT, None), "unit": (TEXT, ""), **CHANGES}),
    "categorical": (Categorical, {"ordered": (YES_OR_NO, False)}),
    "ordered": (Ordered, {}),
    "cyclic": (
        Cyclic,
        {
            "period": (POSITIVE, None),
            "low": (NUMBER, 0.0),
            "step": (STEP, None),
            "unit": (TEXT, ""),
            "scale": (POSITIVE, None),
        },
    ),
    "binary": (Binary, {}),
    "date": (
        Date,
        {
            "column": (TEXT, None),
            "parts": (TEXTS, ["weekday", "month"]),
            "holidays": (DAYS, None),
            "low": (DAY, None),
            "high": (DAY, None),
        },
    ),
    "derived": (Derived, {"from": (TEXT, "")}),
}
TYPE = one_of(*KINDS)


@dataclass(frozen=True)
class Declared:
    """What [features.NAME] says, before the data has been looked at."""

    section: Section
    type: str | None
    columns: list[str] | None
    categories: list[str] | None

    @property
    def names(self) -> list[str]:
        """The columns that hold this feature."""
        column = self.section.table.get("column") if self.type == "date" else None
        return self.columns or [column if isinstance(column, str) else self.section.keys[-1]]


def read_declared(features: Section) -> dict[str, Declared]:
    """Return the declared features by name."""
    declared = {}
    for name in features.table:
        section = features.table_of(name)
        kind = section.take("type", TYPE)
        columns = section.take("columns", TEXTS) if kind == "categorical" else None
        categories = section.take("categories", NAMES) if kind in ("categorical", "ordered") else None
        declared[name] = Declared(section, kind, columns, None if categories is None else list(map(str, categories)))
    return declared


def typed_column(table: CsvTable, name: str, declared: Mapping[str, Declared], found: Findings) -> pd.Series | None:
    """Return a column of contexts as its declared or apparent type; None where it cannot be a feature.

    `declared` is what is said of each column, by the column's name.
    """
    owner = declared.get(name)
    if owner is None or owner.type in (None, "derived"):
        return _apparent(table, name, found)
    if owner.columns is not None or owner.type == "binary":
        return binary_column(table, name, found)
    if owner.type == "date":
        return date_column(table, name, found)
    if owner.type in ("categorical", "ordered"):
        return _categories(table, name, owner, found)
    return number_column(table, name, found, DROP)


def _apparent(table: CsvTable, name: str, found: Findings) -> pd.Series | None:
    holds = content(table, name)
    where = table.column(name)
    if holds == "empty":
        found.error(where, f"holds no value; leave it out with [data] ignore = [{name!r}].")
        return None
    if holds == "date":
        found.error(
            where,
            f"holds dates or times of day. Declare dates by type = 'date' in [features.{name}] with the parts that "
            "matter (weekday, month), put times of day in columns of their own (hour), name the rows after it with "
            f"[data] index = {name!r}, or leave it out with [data] ignore = [{name!r}].",
        )
        return None
    if holds in ("whole", "number"):
        return number_column(table, name, found, DROP)
    if holds == "yes and no":
        return binary_column(table, name, found)
    example = written_number(cell for cell in set(table.cells[name].tolist()) if cell.lower() not in MISSING)
    if example is not None:
        found.error(
            where,
            f"holds numbers with separators, percent or currency signs, such as {example!r}. Write them with digits "
            "and one decimal sign (which [data] decimal = ',' names, where it is not the point), or declare them as "
            f"they are by type = 'categorical' in [features.{name}].",
        )
        return None
    values = text_column(table, name, found)
    distinct = values.nunique()
    if distinct > MANY_CATEGORIES and distinct > 0.5 * len(values):
        found.warning(
            where,
            f"holds {distinct} different texts in {len(values)} rows; is it really a category? "
            f"Leave it out with [data] ignore = [{name!r}] otherwise.",
        )
    return values


def _categories(table: CsvTable, name: str, declared: Declared, found: Findings) -> pd.Series:
    values = text_column(table, name, found)
    if declared.categories is not None:
        unknown = np.flatnonzero(~values.isin(declared.categories) & (values != ""))
        listed(found, table, name, unknown, "must be one of the declared categories. Got {} instead.")
    return values


def built_features(declared: Mapping[str, Declared], X: pd.DataFrame | None, found: Findings) -> dict[str, Feature]:
    """Return the declared features, with their type taken from the data where it is not declared."""
    features = {}
    for name, one in declared.items():
        kind = one.type or _inferred(name, X)
        if kind is None:
            continue
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            feature = _built(one, kind, None if X is None else X.get(name))
        for warning in said:
            found.warning(one.section.at(), str(warning.message))
        one.section.close()
        if feature is not None:
            features[name] = feature
    if X is None:
        return features
    columns = set(X.columns)
    there = {name: feature for name, feature in features.items() if columns.issuperset(declared[name].names)}
    parts = dict.fromkeys(column for name in there for column in declared[name].names)
    # The schema has the last word. Only where it does not take all features at once are they tried one by one.
    whole = X.dropna()
    if there and len(whole) and _refusal(there, whole[list(parts)]) is not None:
        for name, feature in there.items():
            others = [feature.from_] if isinstance(feature, Derived) and feature.from_ in X.columns else []
            error = _refusal({name: feature}, whole[[*declared[name].names, *others]])
            if error is not None and not known_fault(declared[name], found):
                found.error(declared[name].section.at(), str(error))
    # Columns of text of which nothing is declared: what is doubtful about them has become a finding already.
    owned = {column for one in declared.values() for column in one.names}
    for name in X.columns:
        known = pd.api.types.is_numeric_dtype(X[name].dtype) or pd.api.types.is_datetime64_any_dtype(X[name].dtype)
        if name not in owned and name not in features and not known:
            features[name] = Categorical(sorted_categories(name, X[name]))
    return features


def known_fault(declared: Declared, found: Findings) -> bool:
    """Whether something is wrong already with what is declared of a feature, or with the cells of its columns."""
    if not found.errors:
        return False
    at = declared.section.at().part
    columns = {f"column {name!r}" for name in declared.names}
    parts = [error.where.part for error in found.errors]
    return any(part == at or part in columns or part.startswith(f"{at}.") for part in parts)


def _refusal(features: Mapping[str, Feature], X: pd.DataFrame) -> WhenceError | None:
    try:
        Schema(features).fit(X)
    except WhenceError as error:
        return error
    return None


def _inferred(name: str, X: pd.DataFrame | None) -> str | None:
    if X is None or name not in X.columns:
        return None
    try:
        return type(Schema.infer(X[[name]]).kind(name)).__name__.lower()
    except WhenceError:
        return None


def _built(declared: Declared, kind: str, values: pd.Series | None) -> Feature | None:
    """The feature as it is declared; numbers without a `step` keep to the one in which their `values` are recorded."""
    section, (make, keys) = declared.section, KINDS[kind]
    ordered = kind not in ("categorical", "cyclic") or section.table.get("ordered") is True
    ways = one_of("free", "fixed", *(("increase", "decrease") if ordered else ()))
    options = section.take_all({"change": (ways, "free"), "weight": (POSITIVE, 1.0), **keys})
    if kind in ("continuous", "cyclic"):
        undecided = values is not None and pd.api.types.is_numeric_dtype(values.dtype) and options["step"] is None
        recorded = recorded_step(values) if undecided else None  # type: ignore[arg-type]
        options["step"] = recorded if options["step"] in (None, "none") else options["step"]
    if kind == "categorical":
        options |= {"columns": declared.columns, "categories": declared.categories}
    if kind == "ordered":
        options["categories"] = declared.categories
    if kind == "derived":
        options["from_"] = options.pop("from")
    try:
        return make(**options)
    except WhenceError as error:
        section.error(None, str(error))
        return None
