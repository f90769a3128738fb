"""Features of a context: what kind they are, what may change, and how units become coordinates.

This is the only module that knows about encoding. A number is scaled by its training range to [0, 1];
a category becomes one column a level that holds 0 or 1/2, so that changing it costs exactly 1 in the
plain L1 norm that weights, distances and searches share.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError, InputTypeError
from whence.explain.space import Space
from whence.tables import as_row, as_table

__all__ = ["Binary", "Categorical", "Continuous", "Discrete", "Feature", "Schema"]

Floats = NDArray[np.float64]
Change = Literal["free", "fixed", "increase", "decrease"]

#: Integer columns with at most this many distinct values are taken as discrete.
FEW_LEVELS = 20


@dataclass(frozen=True, kw_only=True)
class Feature:
    """What every kind of feature has: whether it may change, and its weight in the distance."""

    change: Change = "free"
    weight: float = 1.0

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if self.change not in ("free", "fixed", "increase", "decrease"):
            raise InputError(
                f"The 'change' parameter of {kind} must be 'free', 'fixed', 'increase' or 'decrease'. "
                f"Got {self.change!r} instead."
            )
        if not (isinstance(self.weight, int | float | np.number) and 0 < float(self.weight) < np.inf):
            raise InputError(f"The 'weight' parameter of {kind} must be a positive number. Got {self.weight!r}.")


@dataclass(frozen=True)
class Continuous(Feature):
    """A number that may take any value.

    Parameters
    ----------
    low, high : float, optional
        Values an explanation may suggest (the training range otherwise).
    unit : str, optional
        Unit for reports, such as "°C".
    change : {"free", "fixed", "increase", "decrease"}
        What an explanation may do with it.
    weight : float
        Weight in the distance.

    Examples
    --------
    >>> Continuous(low=-10, high=40, unit="°C").unit
    '°C'
    """

    low: float | None = None
    high: float | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            value = getattr(self, name)
            if value is not None and not np.isfinite(value):
                raise InputError(f"The {name!r} parameter of Continuous must be finite or None. Got {value!r} instead.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise InputError(f"'low' must not exceed 'high' in Continuous. Got {self.low!r} and {self.high!r} instead.")


@dataclass(frozen=True)
class Discrete(Feature):
    """A number that may take only the given values.

    Parameters
    ----------
    values : iterable of numbers, optional
        The allowed values; None takes those of the training data.
    unit : str, optional
        Unit for reports.

    Examples
    --------
    >>> Discrete(range(1, 13), change="fixed").change
    'fixed'
    """

    values: Iterable[float] | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values is not None:
            try:
                levels = tuple(sorted({float(v) for v in self.values}))
            except (TypeError, ValueError):
                raise InputError(f"The 'values' of Discrete must be numbers. Got {self.values!r} instead.") from None
            if not levels or not np.isfinite(levels).all():
                raise InputError(f"The 'values' of Discrete must be finite numbers. Got {self.values!r} instead.")
            object.__setattr__(self, "values", levels)


@dataclass(frozen=True)
class Categorical(Feature):
    """One of several names.

    Parameters
    ----------
    categories : iterable, optional
        The allowed categories; None takes those of the training data.
    columns : sequence of str, optional
        Where the data already holds the category as one 0/1 column a category: those columns, in the
        order of `categories`.

    Examples
    --------
    >>> Categorical(["AM", "PM"]).categories
    ('AM', 'PM')
    """

    categories: Iterable[Hashable] | None = None
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.change in ("increase", "decrease"):
            raise InputError(f"The 'change' parameter of Categorical must be 'free' or 'fixed'. Got {self.change!r}.")
        if self.columns is not None:
            object.__setattr__(self, "columns", tuple(self.columns))
            if self.categories is None:
                object.__setattr__(self, "categories", self.columns)
        if self.categories is not None:
            if isinstance(self.categories, str):
                raise InputTypeError(f"The 'categories' of Categorical must be a list. Got {self.categories!r}.")
            levels = tuple(self.categories)
            if not levels or len(set(levels)) != len(levels):
                raise InputError(f"The 'categories' of Categorical must be distinct, at least one. Got {levels!r}.")
            if self.columns is not None and len(self.columns) != len(levels):
                raise InputError(
                    f"Categorical needs one of 'columns' a category ({len(levels)}). Got {len(self.columns)} columns."
                )
            object.__setattr__(self, "categories", levels)


@dataclass(frozen=True)
class Binary(Feature):
    """On or off: a bool column, or numbers 0 and 1.

    Examples
    --------
    >>> Binary(change="increase").change
    'increase'
    """


@dataclass(frozen=True)
class _Column:
    """One feature of a fitted schema: where it stands in the coordinates, and its training range."""

    name: str
    feature: Feature
    columns: tuple[str, ...]
    at: slice
    offset: float = 0.0
    scale: float = 1.0
    low: float = 0.0
    high: float = 1.0
    #: Allowed raw values of a discrete or binary feature.
    levels: Floats | None = None
    categories: tuple[Hashable, ...] = ()
    seen: NDArray[np.bool_] = field(default_factory=lambda: np.ones(0, dtype=np.bool_))
    dtype: Any = None

    @property
    def constant(self) -> bool:
        return int(self.seen.sum()) == 1 if self.categories else self.low == self.high

    @property
    def unit(self) -> str:
        return str(getattr(self.feature, "unit", ""))

    def restore(self, value: float) -> Any:
        """`value` in the type of the training data (an int column gives an int where the value is whole)."""
        if self.dtype is not None and np.issubdtype(self.dtype, np.bool_):
            return bool(value)
        if self.dtype is not None and np.issubdtype(self.dtype, np.integer) and float(value).is_integer():
            return int(value)
        return float(value)


class Schema:
    """The features of a context, by name.

    Parameters
    ----------
    features : mapping from column name to Feature, optional
        Columns that are not named are inferred from the training data.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"temp": [10.0, 30.0], "period": ["AM", "PM"]})
    >>> schema = Schema.infer(X)
    >>> schema.encode(pd.DataFrame({"temp": [20.0], "period": ["PM"]}))
    array([[0.5, 0. , 0.5]])
    """

    def __init__(self, features: Mapping[str, Feature] | None = None) -> None:
        self.features = dict(features or {})
        for name, feature in self.features.items():
            if not isinstance(feature, Feature):
                raise InputTypeError(
                    f"The schema's entry for {name!r} must be a Continuous, Discrete, Categorical or Binary. "
                    f"Got {feature!r} instead."
                )
        self._columns: tuple[_Column, ...] = ()

    @classmethod
    def infer(cls, X: Any, **overrides: Feature) -> Schema:
        """Schema of a table, from its dtypes: bool, category or string, integers with few levels, other numbers."""
        return cls(overrides).fit(X)

    def __repr__(self) -> str:
        shown = {c.name: c.feature for c in self._columns} if self._columns else self.features
        return "Schema({" + ", ".join(f"{name!r}: {feature!r}" for name, feature in shown.items()) + "})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and repr(self) == repr(other)

    __hash__ = None  # type: ignore[assignment]

    # ---- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any) -> Schema:
        """A copy of this schema that knows the training range of every feature of `X`."""
        table = as_table(X, "X")
        grouped = {
            column: name
            for name, feature in self.features.items()
            if isinstance(feature, Categorical) and feature.columns
            for column in feature.columns
        }
        known = set(map(str, table.columns)) | set(grouped.values())
        for name, feature in self.features.items():
            wanted = getattr(feature, "columns", None) or (name,)
            for column in wanted:
                if column not in known:
                    raise InputError(f"The schema names the column {column!r}, which 'X' does not have.")
        fitted = Schema(self.features)
        columns: list[_Column] = []
        start = 0
        for label in table.columns:
            name = grouped.get(str(label), str(label))
            if any(c.name == name for c in columns):
                continue
            feature = self.features.get(name) or _inferred(name, table[label])
            column = _fitted(name, feature, table, start)
            columns.append(column)
            start = column.at.stop
        fitted._columns = tuple(columns)
        fitted._order = tuple(map(str, table.columns))
        return fitted

    _order: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [c.name for c in self._columns]

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the user's table."""
        return list(self._order)

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates (a category has one a level)."""
        return self._columns[-1].at.stop if self._columns else 0

    @property
    def coordinate_names(self) -> list[str]:
        """A name for every coordinate."""
        names: list[str] = []
        for c in self._columns:
            names += [f"{c.name}={level}" for level in c.categories] if c.categories else [c.name]
        return names

    def unit(self, name: str) -> str:
        """Unit of a feature, or an empty string."""
        return self._column(name).unit

    def kind(self, name: str) -> Feature:
        """The feature called `name`, as declared or inferred."""
        return self._column(name).feature

    def levels(self, name: str) -> list[Any]:
        """The values an explanation may choose from: categories, discrete values, or off and on."""
        c = self._column(name)
        if c.categories:
            return [k for k, seen in zip(c.categories, c.seen, strict=True) if seen]
        return [] if c.levels is None else [c.restore(v) for v in c.levels]

    def training_range(self, name: str) -> tuple[float, float]:
        """Smallest and largest training value of a numeric feature."""
        c = self._column(name)
        return c.low, c.high

    def _column(self, name: str) -> _Column:
        for c in self._columns:
            if c.name == name:
                return c
        raise InputError(f"There is no feature {name!r}; the features are {', '.join(map(repr, self.names))}.")

    # ---- units to coordinates and back ---------------------------------------------------------

    def encode(self, X: Any) -> Floats:
        """Coordinates of every row of `X`, as an array of shape (rows, n_coordinates)."""
        table = as_table(X, "X", self._order)
        out = np.zeros((len(table), self.n_coordinates))
        for c in self._columns:
            raw = _raw(c, table)
            out[:, c.at] = (raw - c.offset) / c.scale
        return out

    def row(self, context: Any) -> pd.Series:
        """One context (Series, mapping, one-row table or 1-D array) as a Series in the user's units."""
        return as_row(context, self._order)

    def encode_row(self, row: pd.Series) -> Floats:
        """Coordinates of one context as given by :meth:`row`."""
        coordinates: Floats = self.encode(self._one_row(row))[0]
        return coordinates

    def _one_row(self, row: pd.Series) -> pd.DataFrame:
        return pd.DataFrame([row.to_list()], columns=list(self._order)).infer_objects()

    def decode(
        self, point: Floats, like: pd.Series | None = None, room: tuple[Floats, Floats] | None = None
    ) -> pd.Series:
        """The context at `point`, in the user's units.

        Parameters
        ----------
        point : ndarray
            Coordinates.
        like : Series, optional
            A context from which values that did not move are taken as they are.
        room : pair of ndarray, optional
            Box of coordinates that the result must not leave when it is encoded again.
        """
        start = None if like is None else self.encode_row(like)
        low, high = (point, point) if room is None else room
        values: dict[str, Any] = {}
        for c in self._columns:
            if like is not None and start is not None and np.array_equal(point[c.at], start[c.at]):
                values.update({name: like[name] for name in c.columns})
            elif c.categories:
                chosen = int(np.argmax(point[c.at]))
                if len(c.columns) == 1 and not (isinstance(c.feature, Categorical) and c.feature.columns):
                    values[c.name] = c.categories[chosen]
                else:
                    values.update({name: int(i == chosen) for i, name in enumerate(c.columns)})
            else:
                j = c.at.start
                values[c.name] = c.restore(_unscaled(c, float(point[j]), float(low[j]), float(high[j])))
        return pd.Series([values[name] for name in self._order], index=list(self._order), dtype=object)

    def feature_values(self, row: pd.Series) -> dict[str, Any]:
        """Value of every feature in a context (a category by its name, also where the data holds 0/1 columns)."""
        out: dict[str, Any] = {}
        for c in self._columns:
            if isinstance(c.feature, Categorical) and c.feature.columns:
                out[c.name] = c.categories[int(np.argmax([float(row[k]) for k in c.columns]))]
            else:
                out[c.name] = row[c.name]
        return out

    def numbers(self, X: Any) -> Floats:
        """The user's columns as plain numbers in their own units: what a frozen forest sees."""
        table = as_table(X, "X", self._order)
        for c in self._columns:
            if c.categories and not (isinstance(c.feature, Categorical) and c.feature.columns):
                raise InputError(
                    f"A fitted forest sees numbers only: declare the category {c.name!r} by its 0/1 columns, "
                    "Categorical(columns=[...]), or as Discrete."
                )
            _raw(c, table)
        return np.column_stack([_numbers(name, table[name]) for name in self._order])

    def numbers_row(self, row: pd.Series) -> Floats:
        """One context as plain numbers in its own units."""
        numbers: Floats = self.numbers(self._one_row(row))[0]
        return numbers

    def coordinate_of_column(self) -> NDArray[np.int64]:
        """For every column of the user's table (all of them numbers), its coordinate."""
        place = {name: c.at.start + i for c in self._columns for i, name in enumerate(c.columns)}
        return np.array([place[name] for name in self._order], dtype=np.int64)

    def affine(self) -> tuple[Floats, Floats]:
        """Offset and scale of every coordinate: ``coordinate = (raw - offset) / scale``."""
        offset, scale = np.zeros(self.n_coordinates), np.ones(self.n_coordinates)
        for c in self._columns:
            offset[c.at], scale[c.at] = c.offset, c.scale
        return offset, scale

    def feature_of_coordinate(self) -> list[str]:
        """Name of the feature that each coordinate belongs to."""
        return [c.name for c in self._columns for _ in range(c.at.stop - c.at.start)]

    # ---- where to look -----------------------------------------------------------------------

    def space(
        self,
        context: pd.Series,
        fixed: Collection[str] = (),
        bounds: Mapping[str, Any] | None = None,
        restricted: bool = True,
    ) -> Space:
        """Where an explanation of a decision in `context` may lie.

        Parameters
        ----------
        context : Series
            The initial context, as given by :meth:`row`.
        fixed : collection of str
            Features that must stay as they are in this call.
        bounds : mapping from feature name to (low, high) or to a collection of categories, optional
            Narrower ranges for this call.
        restricted : bool
            False leaves out every restriction of the user: fixed, monotone and bounded features.
        """
        if isinstance(fixed, str):
            fixed = (fixed,)
        bounds = dict(bounds or {})
        for name in [*fixed, *bounds]:
            self._column(name)
        start = self.encode_row(context)
        d = self.n_coordinates
        lower, upper, weight = start.copy(), start.copy(), np.ones(d)
        levels: list[Floats | None] = [None] * d
        group = np.full(d, -1, dtype=np.int64)
        for g, c in enumerate(self._columns):
            weight[c.at] = float(c.feature.weight)
            free = c.feature.change if restricted else "free"
            if restricted and c.name in fixed:
                free = "fixed"
            limit = bounds.get(c.name) if restricted else None
            if c.categories:
                group[c.at] = g
                allowed = _allowed_categories(c, start[c.at], free, limit)
                for i, ok in enumerate(allowed):
                    j = c.at.start + i
                    only = start[j] > 0 and allowed.sum() == 1
                    values = np.array([0.5]) if only else np.array([0.0, 0.5]) if ok else np.array([0.0])
                    lower[j], upper[j], levels[j] = values[0], values[-1], values
            else:
                j = c.at.start
                lower[j], upper[j], levels[j] = _allowed_numbers(c, float(start[j]), free, limit, restricted)
        return Space(start, lower, upper, tuple(levels), weight, group)

    def restrictions_in_the_way(
        self, context: pd.Series, point: Floats, fixed: Collection[str] = (), bounds: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Features whose restrictions rule out the context at `point`."""
        space = self.space(context, fixed, bounds)
        blocked = ~space.allows(point)
        names = self.feature_of_coordinate()
        return [c.name for c in self._columns if any(blocked[j] for j in range(len(names)) if names[j] == c.name)]


def _inferred(name: str, values: pd.Series) -> Feature:
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return Categorical(tuple(dtype.categories))
    if pd.api.types.is_bool_dtype(dtype):
        return Binary()
    if pd.api.types.is_integer_dtype(dtype):
        distinct = np.unique(values.to_numpy())
        if set(distinct.tolist()) <= {0, 1}:
            return Binary()
        return Discrete(distinct.tolist()) if len(distinct) <= FEW_LEVELS else Continuous()
    if pd.api.types.is_float_dtype(dtype):
        return Continuous()
    if pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype):
        try:
            return Categorical(tuple(sorted(pd.unique(values.dropna()).tolist())))
        except TypeError:
            raise InputTypeError(f"The column {name!r} mixes types that cannot be ordered as categories.") from None
    raise InputTypeError(
        f"The column {name!r} must hold numbers, categories, strings or bools. Got dtype {dtype}; "
        "turn dates into numbers or categories such as month and weekday."
    )


def _fitted(name: str, feature: Feature, table: pd.DataFrame, start: int) -> _Column:
    """The feature with its place and its training range."""
    if isinstance(feature, Categorical):
        if feature.columns:
            columns = tuple(feature.columns)
            categories = tuple(feature.categories or columns)
        else:
            columns = (name,)
            values = table[name]
            _no_missing(name, values)
            categories = tuple(feature.categories or _inferred_categories(values))
        at = slice(start, start + len(categories))
        column = _Column(name, feature, columns, at, scale=2.0, categories=categories)
        seen = np.asarray(_raw(column, table).any(axis=0))
        return _Column(name, feature, columns, at, scale=2.0, categories=categories, seen=seen)
    values = table[name]
    raw = _numbers(name, values)
    at = slice(start, start + 1)
    dtype = values.dtype if isinstance(values.dtype, np.dtype) else None
    if dtype is not None and dtype.kind == "O":
        dtype = np.dtype(bool) if values.map(lambda v: isinstance(v, bool)).all() else None
    low, high = float(raw.min()), float(raw.max())
    if isinstance(feature, Binary):
        column = _Column(name, feature, (name,), at, low=low, high=high, levels=np.array([0.0, 1.0]), dtype=dtype)
        _raw(column, table)
        return column
    scale = high - low if high > low else 1.0
    levels = None
    if isinstance(feature, Discrete):
        levels = np.unique(raw) if feature.values is None else np.array(tuple(feature.values))
        column = _Column(name, feature, (name,), at, low, scale, low, high, levels, dtype=dtype)
        unknown = raw[~np.isin(raw, levels)]
        if unknown.size:
            raise InputError(f"The column {name!r} must hold only its declared values. Got {unknown[0]:g}.")
        return column
    return _Column(name, feature, (name,), at, low, scale, low, high, dtype=dtype)


def _inferred_categories(values: pd.Series) -> tuple[Hashable, ...]:
    kinds = pd.unique(values).tolist()
    try:
        return tuple(sorted(kinds))
    except TypeError:
        return tuple(kinds)


def _no_missing(name: str, values: pd.Series) -> None:
    if values.isna().any():
        count = int(values.isna().sum())
        raise InputError(f"The column {name!r} must not hold missing values (NaN). Got {count} of them.")


def _numbers(name: str, values: pd.Series) -> Floats:
    _no_missing(name, values)
    try:
        raw = values.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        bad = next((v for v in values if not isinstance(v, int | float | np.number)), values.iloc[0])
        raise InputTypeError(f"The column {name!r} must hold numbers. Got {bad!r} instead.") from None
    if not np.isfinite(raw).all():
        raise InputError(f"The column {name!r} must be finite. Got infinity (inf).")
    return raw


def _raw(c: _Column, table: pd.DataFrame) -> Floats:
    """Raw numbers of a feature before scaling: values, 0/1, or one 0/1 column a category."""
    if c.categories:
        return _one_hot(c, table)
    raw = _numbers(c.name, table[c.name])
    if isinstance(c.feature, Binary) and not np.isin(raw, (0.0, 1.0)).all():
        bad = raw[~np.isin(raw, (0.0, 1.0))][0]
        raise InputError(f"The column {c.name!r} is binary and must hold 0 or 1, False or True. Got {bad:g} instead.")
    return raw[:, None]


def _one_hot(c: _Column, table: pd.DataFrame) -> Floats:
    if isinstance(c.feature, Categorical) and c.feature.columns:
        raw = np.column_stack([_numbers(name, table[name]) for name in c.columns])
        if not np.isin(raw, (0.0, 1.0)).all() or not (raw.sum(axis=1) == 1.0).all():
            raise InputError(
                f"The columns {', '.join(map(repr, c.columns))} of {c.name!r} must hold one 1 and else 0 in every row."
            )
        return raw
    values = table[c.name]
    _no_missing(c.name, values)
    position = {level: i for i, level in enumerate(c.categories)}
    codes = [position.get(v, -1) for v in values.tolist()]
    if -1 in codes:
        unknown = values.tolist()[codes.index(-1)]
        raise InputError(
            f"The column {c.name!r} must hold one of {', '.join(map(repr, c.categories))}. Got {unknown!r} instead."
        )
    return np.eye(len(c.categories))[codes]


def _unscaled(c: _Column, coordinate: float, low: float, high: float) -> float:
    """The shortest raw value that maps back to a coordinate, without leaving [low, high]."""
    raw = c.offset + coordinate * c.scale
    if c.levels is not None:
        return float(c.levels[int(np.argmin(np.abs(c.levels - raw)))])

    def fits(value: float, slack: float) -> bool:
        back = (value - c.offset) / c.scale
        return low <= back <= high and abs(back - coordinate) <= slack

    for digits in range(6, 18):
        short = float(f"{raw:.{digits}g}")
        if fits(short, 1e-9 if low < high else 0.0):
            return short
    # A large offset beside a small range swallows the last digits: step into the room until the value fits.
    inward = np.inf if coordinate - low <= high - coordinate else -np.inf
    value, step = raw, abs(float(np.nextafter(raw, inward) - raw))
    for _ in range(64):
        if fits(value, 1e-7):
            return value
        value, step = raw + np.copysign(step, inward), 2.0 * step
    return raw


def _allowed_categories(c: _Column, start: Floats, change: str, limit: Any) -> NDArray[np.bool_]:
    """Which categories may be chosen: those seen in training that the restrictions leave, and the initial one."""
    initial = start > 0
    if change == "fixed":
        return initial
    allowed = c.seen.copy()
    if limit is not None:
        wanted = [limit] if isinstance(limit, str) else list(limit)
        unknown = [k for k in wanted if k not in c.categories]
        if unknown:
            raise InputError(
                f"The 'bounds' of {c.name!r} must be categories among {', '.join(map(repr, c.categories))}. "
                f"Got {unknown[0]!r} instead."
            )
        allowed &= np.array([k in wanted for k in c.categories])
    return allowed | initial


def _allowed_numbers(
    c: _Column, start: float, change: str, limit: Any, restricted: bool
) -> tuple[float, float, Floats | None]:
    """Interval (in coordinates) and levels that a numeric feature may take besides its initial value."""
    low, high = (c.low - c.offset) / c.scale, (c.high - c.offset) / c.scale
    floor, ceiling = -np.inf, np.inf
    if restricted and isinstance(c.feature, Continuous):
        floor = -np.inf if c.feature.low is None else (c.feature.low - c.offset) / c.scale
        ceiling = np.inf if c.feature.high is None else (c.feature.high - c.offset) / c.scale
    if limit is not None:
        first, last = _interval(c.name, limit)
        floor = max(floor, (first - c.offset) / c.scale)
        ceiling = min(ceiling, (last - c.offset) / c.scale)
    if c.constant and np.isfinite(floor) and np.isfinite(ceiling):
        low, high = min(floor, low), max(ceiling, high)
    lower, upper = max(min(low, start), floor), min(max(high, start), ceiling)
    if change == "fixed":
        lower = upper = start
    elif change == "increase":
        lower = max(lower, start)
    elif change == "decrease":
        upper = min(upper, start)
    if lower > upper:
        lower = upper = start
    if c.levels is None:
        return lower, upper, None
    levels = (c.levels - c.offset) / c.scale
    levels = np.unique(np.append(levels[(levels >= lower) & (levels <= upper)], start))
    return float(levels[0]), float(levels[-1]), levels


def _interval(name: str, limit: Any) -> tuple[float, float]:
    try:
        first, last = limit
        first = -np.inf if first is None else float(first)
        last = np.inf if last is None else float(last)
    except (TypeError, ValueError):
        raise InputError(f"The 'bounds' of {name!r} must be a pair (low, high) of numbers. Got {limit!r}.") from None
    if np.isnan(first) or np.isnan(last) or first > last:
        raise InputError(f"The 'bounds' of {name!r} must be a pair low <= high. Got {limit!r} instead.")
    return first, last
