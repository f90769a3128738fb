"""The section [features]: from what a user declares about a column to a feature of the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from whence.errors import WhenceError
from whence.features import Schema
from whence.features.encoding import sorted_categories
from whence.features.inference import MANY_CATEGORIES
from whence.features.kinds import Binary, Categorical, Continuous, Discrete, Feature
from whence.project.columns import binary_column, content, number_column, text_column
from whence.project.csv_files import CsvTable, listed
from whence.project.findings import Findings
from whence.project.source import COUNT, NUMBER, NUMBERS, POSITIVE, TEXT, TEXTS, Rule, Section, one_of

__all__ = ["Declared", "built_features", "read_declared", "typed_column"]

YES_OR_NO = Rule("true or false", lambda value: isinstance(value, bool))
NAMES = Rule(
    "a list of texts or numbers",
    lambda value: isinstance(value, list) and bool(value) and all(isinstance(e, str | int | float) for e in value),
)

#: The types of features, and the keys of each with their defaults besides those that all have.
KINDS: Mapping[str, tuple[type[Feature], Mapping[str, tuple[Rule, Any]]]] = {
    "continuous": (Continuous, {"low": (NUMBER, None), "high": (NUMBER, None), "unit": (TEXT, "")}),
    "discrete": (Discrete, {"values": (NUMBERS, None), "step": (COUNT, None), "unit": (TEXT, "")}),
    "categorical": (Categorical, {"ordered": (YES_OR_NO, False)}),
    "binary": (Binary, {}),
}
TYPE = one_of(*KINDS)


@dataclass(frozen=True)
class Declared:
    """What [features.NAME] says, before the data has been looked at."""

    section: Section
    type: str | None
    columns: tuple[str, ...] | None
    categories: tuple[str, ...] | None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that hold this feature."""
        return self.columns or (self.section.keys[-1],)


def read_declared(features: Section) -> dict[str, Declared]:
    """The declared features by name."""
    declared = {}
    for name in features.table:
        section = features.table_of(name)
        kind = section.take("type", TYPE)
        columns = section.take("columns", TEXTS) if kind == "categorical" else None
        categories = section.take("categories", NAMES) if kind == "categorical" else None
        declared[name] = Declared(
            section,
            kind,
            None if columns is None else tuple(columns),
            None if categories is None else tuple(map(str, categories)),
        )
    return declared


def typed_column(table: CsvTable, name: str, declared: Mapping[str, Declared], found: Findings) -> pd.Series | None:
    """A column of contexts as its declared or apparent type; None where it cannot be a feature.

    `declared` is what is said of each column, by the column's name.
    """
    owner = declared.get(name)
    kind = None if owner is None else owner.type
    if owner is not None and owner.columns is not None:
        return binary_column(table, name, found)
    if kind == "categorical":
        assert owner is not None
        return _categories(table, name, owner, found)
    if kind in ("continuous", "discrete"):
        return number_column(table, name, found)
    if kind == "binary":
        return binary_column(table, name, found)
    return _apparent(table, name, found)


def _apparent(table: CsvTable, name: str, found: Findings) -> pd.Series | None:
    holds = content(table, name)
    where = table.column(name)
    if holds == "empty":
        found.error(where, f"holds no value; leave it out with [data] ignore = [{name!r}].")
        return None
    if holds == "date":
        found.error(
            where,
            "holds dates or times of day, which have no nearest other. Put what matters about them (month, weekday, "
            f"hour) in columns of their own, and name the rows after it with [data] index = {name!r} or leave it out "
            f"with [data] ignore = [{name!r}].",
        )
        return None
    if holds in ("whole", "number"):
        return number_column(table, name, found)
    if holds == "yes and no":
        return binary_column(table, name, found)
    values = text_column(table, name, found)
    distinct = values.nunique()
    if distinct > MANY_CATEGORIES and distinct > 0.5 * len(values):
        found.warning(
            where,
            f"holds {distinct} different texts in {len(values)} rows; is it really a category? {_leave_out(name)}",
        )
    return values


def _leave_out(name: str) -> str:
    return f"Leave it out with [data] ignore = [{name!r}] otherwise."


def _categories(table: CsvTable, name: str, declared: Declared, found: Findings) -> pd.Series:
    values = text_column(table, name, found)
    if declared.categories is not None:
        unknown = np.flatnonzero(~values.isin(declared.categories) & (values != ""))
        listed(found, table, name, unknown, "must be one of the declared categories. Got {} instead.")
    return values


def built_features(declared: Mapping[str, Declared], X: pd.DataFrame | None, found: Findings) -> dict[str, Feature]:
    """The declared features, with their type taken from the data where it is not declared."""
    features = {}
    for name, one in declared.items():
        kind = one.type or _inferred(name, X)
        if kind is None:
            continue
        feature = _built(one, kind)
        one.section.close()
        if feature is not None:
            features[name] = feature
    columns = set() if X is None else set(X.columns)
    there = {name: feature for name, feature in features.items() if columns.issuperset(declared[name].names)}
    parts = [column for name in there for column in declared[name].names]
    if X is not None and there and not _fits(there, X[list(dict.fromkeys(parts))]):
        for name, feature in there.items():
            _try(name, feature, X[list(declared[name].names)], declared[name].section, found)
    return features | _texts(features, declared, X)


def _texts(
    features: Mapping[str, Feature], declared: Mapping[str, Declared], X: pd.DataFrame | None
) -> dict[str, Feature]:
    """Columns of text of which nothing is declared: what is doubtful about them has become a finding already."""
    owned = {column for one in declared.values() for column in one.names}
    free = [] if X is None else [name for name in X.columns if name not in owned and name not in features]
    return {
        name: Categorical(sorted_categories(name, X[name]))
        for name in free
        if X is not None and not pd.api.types.is_numeric_dtype(X[name].dtype)
    }


def _fits(features: Mapping[str, Feature], X: pd.DataFrame) -> bool:
    """Whether the schema takes all features at once; only where it does not are they tried one by one."""
    try:
        Schema(features).fit(X)
    except WhenceError:
        return False
    return True


def _inferred(name: str, X: pd.DataFrame | None) -> str | None:
    if X is None or name not in X.columns:
        return None
    try:
        return type(Schema.infer(X[[name]]).kind(name)).__name__.lower()
    except WhenceError:
        return None


def _built(declared: Declared, kind: str) -> Feature | None:
    section, (make, keys) = declared.section, KINDS[kind]
    ordered = kind != "categorical" or section.table.get("ordered") is True
    ways = one_of("free", "fixed", *(("increase", "decrease") if ordered else ()))
    options = section.take_all({"change": (ways, "free"), "weight": (POSITIVE, 1.0), **keys})
    if kind == "categorical":
        options |= {"columns": declared.columns, "categories": declared.categories}
    try:
        return make(**options)
    except WhenceError as error:
        section.error(None, str(error))
        return None


def _try(name: str, feature: Feature, columns: pd.DataFrame, section: Section, found: Findings) -> None:
    """Let the schema look at the column: it has the last word."""
    if found.errors:
        return
    try:
        Schema({name: feature}).fit(columns)
    except WhenceError as error:
        found.error(section.at(), str(error))
