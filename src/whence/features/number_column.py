"""One feature of a fitted schema: its raw values, its coordinates, and where an explanation may move it.

A number is scaled by its training range to [0, 1]; a category becomes one coordinate per level that holds 0 or 1/2,
so that changing it costs exactly 1 in the plain L1 norm that weights, distances and searches share.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError, InputTypeError
from whence.features.columns import (
    CategoryColumn,
    Column,
    NumberType,
    Unknown,
    index_of,
    levels_in,
    restored,
    unit_of_change,
)
from whence.features.kinds import Binary, Categorical, Continuous, Cyclic, Discrete, Feature, Ordered, fraction_of
from whence.util.aliases import Floats
from whence.util.frames import no_missing, number, numbers

#: Up to this many steps are simply listed; of more, a forest needs only those beside its thresholds.
LISTED = 1_000
#: Most steps that a search without thresholds looks at.
MOST_LISTED = 1_000_000
#: Whole numbers up to this are floats without rounding.
WHOLE = 2**53


@dataclass(frozen=True)
class Lattice:
    """The whole multiples of a step, and their coordinates: ``coordinate = (value - offset) / scale``.

    A multiple is one quotient of two whole numbers, rounded once, and thus the float that is meant by its decimals.

    >>> tenths = Lattice(Fraction(1, 10), 0.0, 10.0)
    >>> tenths.values(np.array([39.0])).tolist(), 39 * 0.1
    ([3.9], 3.9000000000000004)
    >>> tenths.between(0.381, 0.4).tolist()
    [0.39, 0.4]
    """

    step: Fraction
    offset: float
    scale: float
    #: Multiples beside the thresholds of a forest: the others are nearest in no cell.
    useful: Floats | None = None

    def values(self, multiples: Floats) -> Floats:
        """Return this many steps, in the user's units."""
        return multiples * float(self.step.numerator) / float(self.step.denominator)

    def coordinates(self, multiples: Floats) -> Floats:
        """Return this many steps, in coordinates."""
        return (self.values(multiples) - self.offset) / self.scale

    def nearest(self, raw: float) -> float:
        """Return the multiple nearest to a value, in the user's units."""
        return float(self.values(np.round(raw / float(self.step))))

    def is_exact(self, *raw: float) -> bool:
        """Return whether the steps up to these values can be told apart by floats."""
        return all(abs(v) / float(self.step) * self.step.numerator < WHOLE for v in raw if np.isfinite(v))

    def count(self, lower: float, upper: float) -> int:
        """Return about how many multiples lie between two coordinates."""
        return int(max(0.0, min((upper - lower) * self.scale / float(self.step) + 1.0, 1e18)))

    def between(self, lower: float, upper: float) -> Floats:
        """Coordinates of the multiples between two coordinates, ascending: all of them, or those that are useful."""
        ends = (np.array([lower, upper]) * self.scale + self.offset) / float(self.step)
        first, last = np.floor(ends[0]) - 1.0, np.ceil(ends[1]) + 1.0
        if self.useful is None or last - first <= LISTED:
            multiples = np.arange(first, min(last, first + MOST_LISTED) + 1.0)
        else:
            inside = self.useful[(self.useful >= first) & (self.useful <= last)]
            # Of the ends, rounding leaves open which one is the first, or the last, inside.
            near = np.add.outer([first, last], np.arange(-3.0, 4.0)).ravel()
            multiples = np.union1d(inside, near)
        points: Floats = np.unique(self.coordinates(multiples))
        return points[(points >= lower) & (points <= upper)]

    def cut_at(self, cuts: NDArray[np.floating], units: bool, single: bool = True) -> Lattice:
        """Return this lattice for a forest with these thresholds, in the user's units or in coordinates."""
        raw = np.asarray(cuts, dtype=np.float64) * (1.0 if units else self.scale) + (0.0 if units else self.offset)
        # No cut lies farther away; float32 may move it a little.
        reach = min(float(np.abs(raw).max(initial=0.0)) / float(self.step) * 1.001 + LISTED, 2.0**52)
        # On the way from coordinates back to the user's units, the last digit may change.
        there_and_back = [self.values, lambda k: self.coordinates(k) * self.scale + self.offset]
        reach = float(np.ceil(reach))
        found = beside(cuts, there_and_back if units else [self.coordinates], -reach, reach, single)
        return replace(self, useful=found)


def beside(
    cuts: NDArray[np.floating],
    seen: Sequence[Callable[[Floats], Floats]],
    first: float,
    last: float,
    single: bool = True,
) -> Floats:
    """The whole numbers from `first` to `last` beside every cut of a forest: in each cell, the nearest to any start.

    `seen` is what the forest is shown for a number, rising with it; it compares that as float32, if `single`. Where
    there are several ways to compute it, numbers that they put on different sides of a cut, by rounding, are passed
    over.

    >>> beside(np.array([4.5, 7.0]), [lambda k: k], 0.0, 20.0).tolist()
    [0.0, 4.0, 5.0, 7.0, 8.0, 20.0]
    """
    thresholds = np.unique(np.asarray(cuts, dtype=np.float64))
    found = [np.array([first, last])]
    for extreme, beyond in ((np.max, 0.0), (np.min, 1.0)):
        low, high = np.full(thresholds.size, first - 1.0), np.full(thresholds.size, last + 1.0)
        while (high - low > 1.0).any():
            middle = np.floor((low + high) / 2.0)
            shown = [way(middle).astype(np.float32 if single else np.float64) for way in seen]
            left = extreme(shown, axis=0) <= thresholds
            # An interval that is down to one step stays: its middle is its lower end again.
            low, high = np.where(left, middle, low), np.where(left | (middle <= low), high, middle)
        found.append(np.clip(low + beyond, first, last))
    return np.unique(np.concatenate(found))


#: Up to this many values can be chosen from a list; beyond that, only the range is shown.
CHOICES = 100
#: Most values of one feature that a search among neighbours looks at.
MOST = 10_000
#: A number of a context may be written with fewer digits where that moves its coordinate by no more than this.
SHORT = 1e-12
#: What scaling and back may cost, as a share of the range or of the number.
ROUNDING = 1e-12


@dataclass(frozen=True)
class NumberColumn(Column):
    """A continuous, discrete or binary feature with its training range.

    Where there is a `step`, `levels` need not hold every value that is allowed: see :meth:`cut_at`. A continuous number
    that goes in steps has a `lattice` instead. `unit` is what counts as one unit of change.
    """

    #: Whether any finite number will do as a value.
    plain: ClassVar[bool] = True
    low: float
    high: float
    levels: Floats | None
    type: NumberType
    step: int | None = None
    lattice: Lattice | None = None
    unit: float = 1.0
    #: Whether a context may lack it: its value is then NaN.
    missing: bool = False

    @property
    def circle(self) -> float | None:
        """The period in coordinates of a number that goes round."""
        return None

    @property
    def is_continuous(self) -> bool:
        """Whether any number of the range is allowed."""
        return self.levels is None and self.lattice is None

    @property
    def steps(self) -> int:
        """How many steps lead from the lowest training value to the highest."""
        return 0 if self.step is None else int((self.high - self.low) // self.step)

    @property
    def choices(self) -> list[Any]:
        if self.levels is None or self.steps >= CHOICES:
            return []
        return [restored(v, self.type) for v in self.levels]

    def is_level(self, value: float) -> bool:
        """Return whether the feature may have `value`, as far as its kind goes."""
        if self.step is not None:
            return bool((value - self.low) % self.step == 0)
        return self.levels is None or bool((self.levels == value).any())

    def cut_at(self, cuts: NDArray[np.floating], units: bool, single: bool = True) -> NumberColumn:
        """Return this column for a forest with these thresholds, so that `levels` holds what is nearest in every cell.

        With `units` the forest sees the user's units, otherwise coordinates; `single` says whether as float32.
        """
        if self.lattice is not None:
            return replace(self, lattice=self.lattice.cut_at(cuts, units, single))
        if self.step is None or self.steps < LISTED:
            return self
        step, low, scale = self.step, self.low, self.scale
        coordinate = [lambda k: (low + k * step - self.offset) / scale]
        # On the way from coordinates back to the user's units, the last digit may change.
        there_and_back = [lambda k: low + k * step, lambda k: coordinate[0](k) * scale + self.offset]
        found = beside(cuts, there_and_back if units else coordinate, 0.0, float(self.steps), single)
        return replace(self, levels=low + step * found)

    def within(self, lower: float, upper: float) -> Floats:
        """Return coordinates of the first and the last step between two coordinates."""
        step = float(self.step or 1)
        near = np.array([np.ceil(lower * self.scale / step), np.floor(upper * self.scale / step)])
        k = np.clip(np.add.outer(near, [-1.0, 0.0, 1.0]), 0.0, float(self.steps))
        points = np.unique(self.low + k * step - self.offset) / self.scale
        points = points[(points >= lower) & (points <= upper)]
        return points[[0, -1]] if points.size else points

    def raw(self, table: pd.DataFrame, unknown: Unknown = "error") -> Floats:
        raw = numbers(self.name, table[self.name], self.missing)
        self._check_binary(raw)
        return raw[:, None]

    def raw_row(self, values: Mapping[str, Any], unknown: Unknown = "error") -> list[float]:
        raw = number(self.name, values[self.name], self.missing)
        self._check_binary(np.array([raw]))
        return [raw]

    def _check_binary(self, raw: Floats) -> None:
        bad = raw[(raw != 0.0) & (raw != 1.0) & ~np.isnan(raw)]
        if isinstance(self.feature, Binary) and bad.size:
            raise InputError(f"The column {self.name!r} is binary and must hold 0 or 1, False or True. Got {bad[0]:g}.")

    def decoded(self, point: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        value = self._unscaled(float(point[0]), float(low[0]), float(high[0]))
        return {self.name: value if self.type == "float" else restored(value, self.type)}

    def _unscaled(self, coordinate: float, low: float, high: float) -> float:
        """Return the shortest raw value that maps back to a coordinate, without leaving [low, high]."""
        raw = self.offset + coordinate * self.scale
        if self.lattice is not None:
            return self.lattice.nearest(raw)
        if self.step is not None:
            return self.low + float(np.round((raw - self.low) / self.step)) * self.step
        if self.levels is not None:
            return float(self.levels[int(np.argmin(np.abs(self.levels - raw)))])

        def fits(value: float, slack: float) -> bool:
            back = (value - self.offset) / self.scale
            return low <= back <= high and abs(back - coordinate) <= slack

        if low <= self.coordinate(0.0) == coordinate <= high:
            # What is computed at the coordinate of 0 is hardly ever 0 itself.
            return 0.0
        for digits in range(6, 18):
            short = float(f"{raw:.{digits}g}")
            if fits(short, SHORT if low < high else 0.0):
                return short
        # A large offset beside a small range swallows the last digits: step into the room until the value fits.
        inward = np.inf if coordinate - low <= high - coordinate else -np.inf
        # Beside 0 there are numbers so small that none of the first steps would matter to the coordinate.
        for first in (abs(float(np.nextafter(raw, inward) - raw)), float(np.spacing(abs(self.offset)))):
            value, step = raw, first
            for _ in range(64):
                if fits(value, 1e-7):
                    return value
                value, step = raw + np.copysign(step, inward), 2.0 * step
        return raw

    def clipped(self, value: float, least: float, most: float) -> Any:
        """Return `value`, or the end that it lies beyond by a rounding error; a larger error is not hidden here."""
        end = float(min(max(value, least), most))
        return restored(end, self.type) if abs(value - end) <= ROUNDING * max(self.scale, abs(end)) else value

    def raw_beside(self, coordinate: float, way: float) -> float:
        """Return the raw value beside a coordinate: the least that is not below it (inf), or the largest not above."""
        if not np.isfinite(coordinate):
            return coordinate
        raw = self.offset + coordinate * self.scale
        for _ in range(64):
            back = self.coordinate(raw)
            if back >= coordinate if way > 0 else back <= coordinate:
                return raw
            raw = float(np.nextafter(raw, way))
        return raw

    def value(self, row: Mapping[str, Any]) -> Any:
        return row[self.name]

    def coordinate(self, raw: float) -> float:
        """Return the coordinate of a raw value."""
        return (raw - self.offset) / self.scale


@dataclass(frozen=True)
class CyclicColumn(NumberColumn):
    """A cyclic feature with its training range, on the line from its lowest value on."""

    plain: ClassVar[bool] = False
    begins: float = 0.0
    period: float = 1.0

    @property
    def circle(self) -> float | None:
        """The period in coordinates."""
        return self.period / self.scale

    @property
    def choices(self) -> list[Any]:
        """All steps within the history, where there are few."""
        if self.lattice is None or (self.high - self.low) / float(self.lattice.step) >= CHOICES:
            return []
        first, last = np.ceil(self.low / float(self.lattice.step)), np.floor(self.high / float(self.lattice.step))
        values = self.lattice.values(np.arange(first - 1.0, last + 2.0))
        return [restored(value, self.type) for value in values.tolist() if self.low <= value <= self.high]

    def raw(self, table: pd.DataFrame, unknown: Unknown = "error") -> Floats:
        raw = super().raw(table, unknown)
        self._check(raw.ravel())
        return raw

    def raw_row(self, values: Mapping[str, Any], unknown: Unknown = "error") -> list[float]:
        raw = super().raw_row(values, unknown)
        self._check(np.array(raw))
        return raw

    def _check(self, raw: Floats) -> None:
        wrong = raw[(raw < self.begins) | (raw >= self.begins + self.period)]
        if wrong.size:
            raise InputError(
                f"The column {self.name!r} must hold numbers from {self.begins:g} up to, but without, "
                f"{self.begins + self.period:g}. Got {wrong[0]:g} instead."
            )


@dataclass(frozen=True)
class OrderedColumn(NumberColumn):
    """An ordered category: the number of its level is the number before scaling."""

    plain: ClassVar[bool] = False
    labels: tuple[Hashable, ...] = ()

    @cached_property
    def _position(self) -> dict[Hashable, int]:
        return {label: i for i, label in enumerate(self.labels)}

    @property
    def choices(self) -> list[Any]:
        """The levels from the lowest of the history to its highest."""
        return list(self.labels[int(self.low) : int(self.high) + 1])

    def position(self, said: Any) -> int | None:
        """Return the number of a level, given as it is or as it is written; None where there is none of that name."""
        return next((i for i, label in enumerate(self.labels) if label == said or str(label) == str(said)), None)

    def wanted(self, limit: Any) -> Floats:
        """Return the numbers of the levels that the bounds of a call name."""
        named = levels_in(self.name, limit, self.labels)
        return np.array(sorted(self._position[level] for level in named), dtype=np.float64)

    def raw(self, table: pd.DataFrame, unknown: Unknown = "error") -> Floats:
        values = table[self.name]
        no_missing(self.name, values)
        raw = [index_of(self.name, self._position, value) for value in values.tolist()]
        return np.array(raw, dtype=np.float64)[:, None]

    def raw_row(self, values: Mapping[str, Any], unknown: Unknown = "error") -> list[float]:
        return [float(index_of(self.name, self._position, values[self.name]))]

    def decoded(self, point: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        return {self.name: self.labels[round(float(point[0]) * self.scale + self.offset)]}


def fitted_column(name: str, feature: Feature, table: pd.DataFrame, start: int, missing: bool = False) -> Column:
    """Return the feature with its place in the coordinates, from `start` on, and its training range.

    Numbers may be `missing`, where that is allowed; categories may not.
    """
    if isinstance(feature, Ordered):
        return _fitted_order(name, feature, table, start)
    if isinstance(feature, Categorical):
        return _fitted_category(name, feature, table, start)
    if isinstance(feature, Cyclic):
        return _fitted_cycle(name, feature, table, start, missing)
    values = table[name]
    raw = numbers(name, values, missing)
    raw = raw[~np.isnan(raw)]
    if not raw.size:
        raise InputError(f"The column {name!r} must hold at least one number. Got only missing values.")
    low, high = float(raw.min()), float(raw.max())
    offset, scale = (low, high - low) if high > low else (low, 1.0)
    levels = None
    if isinstance(feature, Binary):
        offset, scale, levels = 0.0, 1.0, np.array([0.0, 1.0])
    elif isinstance(feature, Discrete) and feature.step is not None:
        levels = _steps(name, raw, int(feature.step))
    elif isinstance(feature, Discrete):
        levels = np.unique(raw) if feature.values is None else np.array(tuple(feature.values))
        unknown = raw[~np.isin(raw, levels)]
        if unknown.size:
            raise InputError(
                f"The column {name!r} must hold only its declared values. Got {float(unknown[0])!r} instead."
            )
    place = slice(start, start + 1)
    step = getattr(feature, "step", None)
    lattice = None
    if isinstance(feature, Continuous) and step is not None:
        step, lattice = None, _lattice(name, feature, low, high, offset, scale)
    unit = unit_of_change(name, feature, raw, scale)
    kind = _type_of(values)
    column = NumberColumn(
        name, feature, (name,), place, offset, scale, low, high, levels, kind, step, lattice, unit, missing
    )
    column.raw(table)
    return column


def _fitted_cycle(name: str, feature: Cyclic, table: pd.DataFrame, start: int, missing: bool = False) -> CyclicColumn:
    """Return a cyclic feature with its place in the coordinates, at `start`, and its training range."""
    step = feature.step
    if step is None and pd.api.types.is_integer_dtype(table[name].dtype):
        step = 1
    found = fitted_column(name, Continuous(step=step, unit=feature.unit), table, start, missing)
    assert isinstance(found, NumberColumn)
    half = float(feature.period) / 2.0 if feature.scale is None else float(feature.scale)
    own: dict[str, Any] = {**vars(found), "feature": feature, "unit": half / found.scale}
    column = CyclicColumn(**own, begins=float(feature.low), period=float(feature.period))
    column.raw(table)
    return column


def _fitted_order(name: str, feature: Ordered, table: pd.DataFrame, start: int) -> OrderedColumn:
    """Return an ordered category with its place in the coordinates, from `start` on."""
    dtype = table[name].dtype
    if feature.categories is None:
        if not isinstance(dtype, pd.CategoricalDtype) or not dtype.ordered:
            raise InputError(
                f"The 'categories' of {name!r} must be given, lowest first, unless the column's dtype orders them. "
                "Got None instead.",
                parameter="categories",
            )
        feature = replace(feature, categories=tuple(dtype.categories))
    labels = tuple(feature.categories or ())
    scale = float(max(1, len(labels) - 1))
    place = slice(start, start + 1)
    levels = np.arange(len(labels), dtype=np.float64)
    column = OrderedColumn(
        name, feature, (name,), place, 0.0, scale, 0.0, scale, levels, "int", labels=labels
    )  # its range is still to be seen
    seen = column.raw(table)
    return replace(column, low=float(seen.min()), high=float(seen.max()))


def _lattice(name: str, feature: Continuous, low: float, high: float, offset: float, scale: float) -> Lattice:
    """Return the multiples of a column's step."""
    step = fraction_of(feature.step)
    assert step is not None
    lattice = Lattice(step, offset, scale)
    limits = [float(end) for end in (feature.low, feature.high) if end is not None]
    if not lattice.is_exact(low, high, *limits):
        raise InputError(
            f"The 'step' of {name!r} must be so large that its multiples between {low:g} and {high:g} can be told "
            f"apart. Got {feature.step!r} instead.",
            parameter="step",
        )
    return lattice


def _steps(name: str, raw: Floats, step: int) -> Floats:
    """Return the levels of a column that goes in whole steps from its lowest value."""
    low = float(raw.min())
    wrong = raw[(raw != np.round(raw)) | ((raw - low) % step != 0)]
    if wrong.size:
        what = "whole numbers" if step == 1 else f"whole numbers in steps of {step} from {low:g}"
        raise InputError(f"The column {name!r} must hold only {what}. Got {float(wrong[0])!r} instead.")
    return low + step * _spread(int((float(raw.max()) - low) // step))


def _spread(last: int) -> Floats:
    """The numbers from 0 to `last`: all of them, or every second, third, ... so that there are at most ``MOST + 2``.

    >>> _spread(3).tolist(), _spread(10**9)[:3].tolist(), len(_spread(10**9))
    ([0.0, 1.0, 2.0, 3.0], [0.0, 100000.0, 200000.0], 10001)
    """
    stride = max(1, -(-last // MOST))
    return np.union1d(np.arange(0, last + 1, stride, dtype=np.float64), [float(last)])


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
    column = CategoryColumn(name, feature, columns, place, 0.0, 2.0, categories, unseen, types)
    return replace(column, seen=np.asarray(column.raw(table).any(axis=0)))


def sorted_categories(name: str, values: pd.Series) -> tuple[Hashable, ...]:
    """Return the different values of a column: in the order that its dtype gives them, or sorted."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return tuple(values.dtype.categories)
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


def interval(name: str, limit: Any) -> tuple[float, float]:
    """Return the bounds that a call gives for a number, infinite where an end is None."""
    try:
        low, high = limit
        first, last = -np.inf if low is None else float(low), np.inf if high is None else float(high)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"The 'bounds' of {name!r} must be a pair (low, high) of numbers. Got {limit!r} instead."
        ) from None
    if np.isnan(first) or np.isnan(last) or first > last:
        raise InputError(f"The 'bounds' of {name!r} must be a pair low <= high. Got {limit!r} instead.")
    return first, last
