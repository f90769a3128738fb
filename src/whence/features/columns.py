"""A feature of a fitted schema: what every one offers, and categories with a coordinate per level.

Of the coordinates of a category one holds 1/2 and all others 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError, UnknownCategoryError
from whence.features.kinds import Change, Feature, NumberFeature
from whence.util.aliases import Floats
from whence.util.frames import MISSING_NAMES, missing_error, no_missing, number, numbers


def unit_of_change(name: str, feature: Feature, raw: Floats, scale: float) -> float:
    """Return one unit of change as a multiple of the coordinates' own.

    `raw` are the values of the history, `scale` what a coordinate of 1 stands for.

    >>> from whence.features.kinds import Continuous
    >>> raw = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    >>> [unit_of_change("delay", Continuous(scale=s), raw, 100.0) for s in ("range", "iqr", 5)]
    [1.0, 0.02, 0.05]
    """
    how = feature.scale if isinstance(feature, NumberFeature) else "range"
    if how == "range":
        return 1.0
    if how == "iqr":
        first, third = np.quantile(raw, [0.25, 0.75])
        if not third > first:
            raise InputError(
                f"The 'scale' of {name!r} must be another than 'iqr': half of its history is the same value, so that "
                "there is no interquartile range.",
                parameter="scale",
            )
        return float(third - first) / scale
    return float(how) / scale


NumberType = Literal["bool", "int", "float"]
#: What to do with a category that the history has not seen: refuse it, or treat it as none of the known ones.
Unknown = Literal["error", "ignore"]
#: Most categories that an error names.
OFFERED = 12


@dataclass(frozen=True)
class Column(ABC):
    """One feature: its columns in the user's table and its place in the coordinates."""

    name: str
    feature: Feature
    columns: tuple[str, ...]
    at: slice
    offset: float
    scale: float

    @abstractmethod
    def raw(self, table: pd.DataFrame, unknown: Unknown = "error") -> Floats:
        """Return numbers before scaling, of shape (rows, coordinates): the values, or 0/1 per category."""

    @abstractmethod
    def raw_row(self, values: Mapping[str, Any], unknown: Unknown = "error") -> list[float]:
        """Return what :meth:`raw` gives for one context."""

    @abstractmethod
    def decoded(self, point: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        """Return the user's values at these coordinates; encoded again, they do not leave [low, high]."""

    @abstractmethod
    def value(self, row: Mapping[str, Any]) -> Any:
        """Return the feature's value in a context, a category by its name."""

    @property
    @abstractmethod
    def choices(self) -> list[Any]:
        """The values an explanation may choose from; empty for a continuous number, or for too many to list."""


def restored(value: float, kind: NumberType) -> Any:
    """Return `value` in the type of the training data, where it can be one."""
    if kind == "bool" and value in (0.0, 1.0):
        return bool(value)
    if kind == "int" and float(value).is_integer():
        return int(value)
    return float(value)


def index_of(name: str, position: Mapping[Hashable, int], value: Any, unknown: Unknown = "error") -> int:
    """Return the place of a category of the column `name`; -1 for an unknown one that is to be ignored."""
    try:
        return position[value]
    except (KeyError, TypeError):
        if pd.api.types.is_scalar(value) and pd.isna(value):
            raise missing_error(name, 1, MISSING_NAMES) from None
        if unknown == "ignore":
            return -1
        known = ", ".join(map(repr, list(position)[:OFFERED])) + (", …" if len(position) > OFFERED else "")
        raise UnknownCategoryError(f"The column {name!r} must hold one of {known}. Got {value!r} instead.") from None


def levels_in(name: str, limit: Any, known: Sequence[Hashable]) -> list[Hashable]:
    """Return the levels that the bounds of a call name, all of them known."""
    wanted = [limit] if isinstance(limit, str) or not np.iterable(limit) else list(limit)
    for level in wanted:
        if level not in known:
            raise InputError(
                f"The 'bounds' of {name!r} must be categories among {', '.join(map(repr, known))}. "
                f"Got {level!r} instead."
            )
    return wanted


@dataclass(frozen=True)
class CategoryColumn(Column):
    """A category: one column of names, or one 0/1 column per category (`types` then says of which type)."""

    categories: tuple[Hashable, ...]
    seen: NDArray[np.bool_]
    types: tuple[NumberType, ...] | None

    @property
    def choices(self) -> list[Any]:
        return [k for k, seen in zip(self.categories, self.seen, strict=True) if seen]

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {level: i for i, level in enumerate(self.categories)}

    def raw(self, table: pd.DataFrame, unknown: Unknown = "error") -> Floats:
        if self.types is not None:
            raw = np.column_stack([numbers(name, table[name]) for name in self.columns])
            self._check_one_hot(raw, unknown)
            return raw
        values = table[self.name]
        no_missing(self.name, values)
        found = np.array([self._index(v, unknown) for v in values.tolist()], dtype=np.int64)
        known = np.flatnonzero(found >= 0)
        out = np.zeros((len(values), len(self.categories)))
        out[known, found[known]] = 1.0
        return out

    def raw_row(self, values: Mapping[str, Any], unknown: Unknown = "error") -> list[float]:
        if self.types is not None:
            raw = [number(name, values[name]) for name in self.columns]
            self._check_one_hot(np.array([raw]), unknown)
            return raw
        chosen = self._index(values[self.name], unknown)
        return [float(i == chosen) for i in range(len(self.categories))]

    def _index(self, value: Any, unknown: Unknown) -> int:
        """Return the place of a category; -1 for an unknown one that is to be ignored."""
        return index_of(self.name, self._position, value, unknown)

    def _check_one_hot(self, raw: Floats, unknown: Unknown = "error") -> None:
        most = raw.sum(axis=1)
        one = (most == 1.0) | (most == 0.0) if unknown == "ignore" else most == 1.0
        if not ((raw == 0.0) | (raw == 1.0)).all() or not one.all():
            raise InputError(
                f"The columns {', '.join(map(repr, self.columns))} of {self.name!r} must hold a single 1 and "
                "otherwise 0 in every row."
            )

    def decoded(self, point: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        chosen = int(np.argmax(point))
        if self.types is None:
            return {self.name: self.categories[chosen]}
        return {
            name: restored(float(i == chosen), kind)
            for i, (name, kind) in enumerate(zip(self.columns, self.types, strict=True))
        }

    def value(self, row: Mapping[str, Any]) -> Any:
        if self.types is None:
            return row[self.name]
        return self.categories[int(np.argmax([float(row[name]) for name in self.columns]))]

    def allowed(self, start: Floats, change: Change, limit: Any) -> list[tuple[float, float, Floats]]:
        """Ends and levels of every coordinate: categories seen in training that restrictions leave, or the start."""
        initial = start > 0
        allowed = initial if change == "fixed" else (self.seen & self._wanted(limit) & self._towards(start, change))
        allowed = allowed | initial
        only = int(allowed.sum()) == 1
        ranges = []
        for ok in allowed:
            levels = np.array([0.5] if ok and only else [0.0, 0.5] if ok else [0.0])
            ranges.append((float(levels[0]), float(levels[-1]), levels))
        return ranges

    def _towards(self, start: Floats, change: Change) -> NDArray[np.bool_]:
        """Return categories that lie on the allowed side of the initial one, in their order."""
        place, at = np.arange(len(self.categories)), int(np.argmax(start))
        return place >= at if change == "increase" else place <= at if change == "decrease" else place >= 0

    def _wanted(self, limit: Any) -> NDArray[np.bool_]:
        if limit is None:
            return np.ones(len(self.categories), dtype=np.bool_)
        wanted = levels_in(self.name, limit, self.categories)
        return np.array([k in wanted for k in self.categories], dtype=np.bool_)
