"""One feature of a fitted schema: its raw values, its coordinates, and where an explanation may move it.

A number is scaled by its training range to [0, 1]; a category becomes one coordinate a level that holds 0 or 1/2,
so that changing it costs exactly 1 in the plain L1 norm that weights, distances and searches share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError, InputTypeError
from whence.kinds import Binary, Categorical, Change, Discrete, Feature
from whence.tables import missing_error, no_missing, number, numbers

__all__ = ["CategoryColumn", "Column", "NumberColumn", "Range", "fitted_column", "interval", "sorted_categories"]

Floats = NDArray[np.float64]
NumberType = Literal["bool", "int", "float"]

#: A number of a context may be written with fewer digits where that moves its coordinate by no more than this.
SHORT = 1e-12
#: What scaling and back may cost, as a share of the range or of the number.
ROUNDING = 1e-12


class Range(NamedTuple):
    """Where one coordinate may move: an interval, and the values allowed in it where they are discrete."""

    lower: float
    upper: float
    levels: Floats | None


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
    def raw(self, table: pd.DataFrame) -> Floats:
        """Numbers before scaling, of shape (rows, coordinates): the values, or 0/1 a category."""

    @abstractmethod
    def raw_row(self, values: Mapping[str, Any]) -> list[float]:
        """What :meth:`raw` gives for one context."""

    @abstractmethod
    def decoded(self, point: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        """The user's values at these coordinates; encoded again, they do not leave [low, high]."""

    @abstractmethod
    def value(self, row: Mapping[str, Any]) -> Any:
        """The feature's value in a context, a category by its name."""

    @property
    @abstractmethod
    def labels(self) -> list[str]:
        """A name for every coordinate."""

    @property
    @abstractmethod
    def choices(self) -> list[Any]:
        """The values an explanation may choose from; empty for a continuous number."""


@dataclass(frozen=True)
class NumberColumn(Column):
    """A continuous, discrete or binary feature with its training range."""

    low: float
    high: float
    levels: Floats | None
    type: NumberType

    @property
    def labels(self) -> list[str]:
        return [self.name]

    @property
    def choices(self) -> list[Any]:
        return [] if self.levels is None else [_restored(v, self.type) for v in self.levels]

    def raw(self, table: pd.DataFrame) -> Floats:
        raw = numbers(self.name, table[self.name])
        self._check_binary(raw)
        return raw[:, None]

    def raw_row(self, values: Mapping[str, Any]) -> list[float]:
        raw = number(self.name, values[self.name])
        if isinstance(self.feature, Binary):
            self._check_binary(np.array([raw]))
        return [raw]

    def _check_binary(self, raw: Floats) -> None:
        if isinstance(self.feature, Binary):
            bad = raw[(raw != 0.0) & (raw != 1.0)]
            if bad.size:
                raise InputError(
                    f"The column {self.name!r} is binary and must hold 0 or 1, False or True. Got {bad[0]:g}."
                )

    def decoded(self, point: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        return {self.name: _restored(self._unscaled(float(point[0]), float(low[0]), float(high[0])), self.type)}

    def _unscaled(self, coordinate: float, low: float, high: float) -> float:
        """The shortest raw value that maps back to a coordinate, without leaving [low, high]."""
        raw = self.offset + coordinate * self.scale
        if self.levels is not None:
            return float(self.levels[int(np.argmin(np.abs(self.levels - raw)))])

        def fits(value: float, slack: float) -> bool:
            back = (value - self.offset) / self.scale
            return low <= back <= high and abs(back - coordinate) <= slack

        for digits in range(6, 18):
            short = float(f"{raw:.{digits}g}")
            if fits(short, SHORT if low < high else 0.0):
                return short
        # A large offset beside a small range swallows the last digits: step into the room until the value fits.
        inward = np.inf if coordinate - low <= high - coordinate else -np.inf
        value, step = raw, abs(float(np.nextafter(raw, inward) - raw))
        for _ in range(64):
            if fits(value, 1e-7):
                return value
            value, step = raw + np.copysign(step, inward), 2.0 * step
        return raw

    def within(self, value: float, least: float, most: float) -> Any:
        """`value`, or the end that it lies beyond by a rounding error; a larger one is not for here to hide."""
        end = float(min(max(value, least), most))
        return _restored(end, self.type) if abs(value - end) <= ROUNDING * max(self.scale, abs(end)) else value

    def value(self, row: Mapping[str, Any]) -> Any:
        return row[self.name]

    def coordinate(self, raw: float) -> float:
        """The coordinate of a raw value."""
        return (raw - self.offset) / self.scale


@dataclass(frozen=True)
class CategoryColumn(Column):
    """A category: one column of names, or one 0/1 column a category (`types` then says of which type)."""

    categories: tuple[Hashable, ...]
    seen: NDArray[np.bool_]
    types: tuple[NumberType, ...] | None

    @property
    def labels(self) -> list[str]:
        return [f"{self.name}={level}" for level in self.categories]

    @property
    def choices(self) -> list[Any]:
        return [k for k, seen in zip(self.categories, self.seen, strict=True) if seen]

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {level: i for i, level in enumerate(self.categories)}

    def raw(self, table: pd.DataFrame) -> Floats:
        if self.types is not None:
            raw = np.column_stack([numbers(name, table[name]) for name in self.columns])
            self._check_one_hot(raw)
            return raw
        values = table[self.name]
        no_missing(self.name, values)
        out = np.zeros((len(values), len(self.categories)))
        out[np.arange(len(values)), [self._index(v) for v in values.tolist()]] = 1.0
        return out

    def raw_row(self, values: Mapping[str, Any]) -> list[float]:
        if self.types is not None:
            raw = [number(name, values[name]) for name in self.columns]
            self._check_one_hot(np.array([raw]))
            return raw
        chosen = self._index(values[self.name])
        return [float(i == chosen) for i in range(len(self.categories))]

    def _index(self, value: Any) -> int:
        try:
            return self._position[value]
        except (KeyError, TypeError):
            if pd.api.types.is_scalar(value) and pd.isna(value):
                raise missing_error(self.name, 1) from None
            raise InputError(
                f"The column {self.name!r} must hold one of {', '.join(map(repr, self.categories))}. "
                f"Got {value!r} instead."
            ) from None

    def _check_one_hot(self, raw: Floats) -> None:
        if not ((raw == 0.0) | (raw == 1.0)).all() or not (raw.sum(axis=1) == 1.0).all():
            raise InputError(
                f"The columns {', '.join(map(repr, self.columns))} of {self.name!r} must hold one 1 and else 0 "
                "in every row."
            )

    def decoded(self, point: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        chosen = int(np.argmax(point))
        if self.types is None:
            return {self.name: self.categories[chosen]}
        return {
            name: _restored(float(i == chosen), kind)
            for i, (name, kind) in enumerate(zip(self.columns, self.types, strict=True))
        }

    def value(self, row: Mapping[str, Any]) -> Any:
        if self.types is None:
            return row[self.name]
        return self.categories[int(np.argmax([float(row[name]) for name in self.columns]))]

    def allowed(self, start: Floats, change: Change, limit: Any) -> list[Range]:
        """Where every coordinate may move: categories seen in training that restrictions leave, or the initial one."""
        initial = start > 0
        allowed = initial if change == "fixed" else (self.seen & self._wanted(limit)) | initial
        only = int(allowed.sum()) == 1
        ranges = []
        for ok in allowed:
            levels = np.array([0.5] if ok and only else [0.0, 0.5] if ok else [0.0])
            ranges.append(Range(float(levels[0]), float(levels[-1]), levels))
        return ranges

    def _wanted(self, limit: Any) -> NDArray[np.bool_]:
        if limit is None:
            return np.ones(len(self.categories), dtype=np.bool_)
        wanted = [limit] if isinstance(limit, str) or not np.iterable(limit) else list(limit)
        unknown = [k for k in wanted if k not in self.categories]
        if unknown:
            raise InputError(
                f"The 'bounds' of {self.name!r} must be categories among {', '.join(map(repr, self.categories))}. "
                f"Got {unknown[0]!r} instead."
            )
        return np.array([k in wanted for k in self.categories], dtype=np.bool_)


def fitted_column(name: str, feature: Feature, table: pd.DataFrame, start: int) -> Column:
    """The feature with its place in the coordinates, from `start` on, and its training range."""
    if isinstance(feature, Categorical):
        return _fitted_category(name, feature, table, start)
    values = table[name]
    raw = numbers(name, values)
    low, high = float(raw.min()), float(raw.max())
    offset, scale = (low, high - low) if high > low else (low, 1.0)
    levels = None
    if isinstance(feature, Binary):
        offset, scale, levels = 0.0, 1.0, np.array([0.0, 1.0])
    elif isinstance(feature, Discrete):
        levels = np.unique(raw) if feature.values is None else np.array(tuple(feature.values))
        unknown = raw[~np.isin(raw, levels)]
        if unknown.size:
            raise InputError(
                f"The column {name!r} must hold only its declared values. Got {float(unknown[0])!r} instead."
            )
    place = slice(start, start + 1)
    column = NumberColumn(name, feature, (name,), place, offset, scale, low, high, levels, _type_of(values))
    column.raw(table)
    return column


def _fitted_category(name: str, feature: Categorical, table: pd.DataFrame, start: int) -> CategoryColumn:
    if feature.columns is not None:
        columns = tuple(feature.columns)
        categories = tuple(feature.categories or columns)
        types: tuple[NumberType, ...] | None = tuple(_type_of(table[column]) for column in columns)
    else:
        columns, types = (name,), None
        no_missing(name, table[name])
        categories = tuple(feature.categories or sorted_categories(name, table[name]))
    place = slice(start, start + len(categories))
    unseen = np.zeros(len(categories), dtype=np.bool_)
    seen = CategoryColumn(name, feature, columns, place, 0.0, 2.0, categories, unseen, types).raw(table).any(axis=0)
    return CategoryColumn(name, feature, columns, place, 0.0, 2.0, categories, np.asarray(seen), types)


def sorted_categories(name: str, values: pd.Series) -> tuple[Hashable, ...]:
    try:
        kinds = pd.unique(values).tolist()
    except TypeError:
        raise InputTypeError(
            f"The column {name!r} cannot be a category: every argument must be a string or a number. "
            f"Got {values.iloc[0]!r} instead."
        ) from None
    try:
        return tuple(sorted(kinds))
    except TypeError:
        return tuple(kinds)


def _type_of(values: pd.Series) -> NumberType:
    if pd.api.types.is_bool_dtype(values.dtype):
        return "bool"
    if pd.api.types.is_integer_dtype(values.dtype):
        return "int"
    return "float"


def _restored(value: float, kind: NumberType) -> Any:
    """`value` in the type of the training data, where it can be one."""
    if kind == "bool" and value in (0.0, 1.0):
        return bool(value)
    if kind == "int" and float(value).is_integer():
        return int(value)
    return float(value)


def interval(name: str, limit: Any) -> tuple[float, float]:
    """The bounds that a call gives for a number, infinite where an end is None."""
    try:
        first, last = limit
        first = -np.inf if first is None else float(first)
        last = np.inf if last is None else float(last)
    except (TypeError, ValueError):
        raise InputError(
            f"The 'bounds' of {name!r} must be a pair (low, high) of numbers. Got {limit!r} instead."
        ) from None
    if np.isnan(first) or np.isnan(last) or first > last:
        raise InputError(f"The 'bounds' of {name!r} must be a pair low <= high. Got {limit!r} instead.")
    return first, last
