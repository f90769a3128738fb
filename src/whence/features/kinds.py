"""The kinds of feature that a user declares: what values a feature has, and what may change."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from whence.checks import Rule, one_of, whole
from whence.errors import InputError, InputTypeError, WhenceError, parameter_error
from whence.util.frames import exact
from whence.util.json import finite

Change = Literal["free", "fixed", "increase", "decrease"]
#: What counts as one unit of change of a number: a word, or so much in its own units.
UnitOfChange = Literal["range", "iqr"] | float
#: Marks a field that features did not always have: at its default it is in no text and in no fingerprint.
LATER = {"later": True}


def fraction_of(step: Any) -> Fraction | None:
    """Return the step as the fraction that was meant; None where it is no positive number of at most 15 digits.

    >>> fraction_of(0.1), fraction_of(1 / 60), fraction_of(1e-9)
    (Fraction(1, 10), Fraction(1, 60), Fraction(1, 1000000000))
    """
    number = finite(step)
    if number is None or number <= 0.0:
        return None
    short = Fraction(number).limit_denominator(1000)
    found = short if float(short) == number else Fraction(repr(number))
    fits = found.numerator < 10**15 and found.denominator < 10**15
    return found if fits else None


_CHANGE = one_of("free", "fixed", "increase", "decrease")
_POSITIVE = Rule("a positive number", lambda value: (finite(value) or 0.0) > 0.0)
_FINITE = Rule("a finite number", lambda value: finite(value) is not None)
_SCALE = Rule("'range', 'iqr' or a positive number", lambda v: one_of("range", "iqr").fits(v) or _POSITIVE.fits(v))
_STEP = Rule("a positive number of at most 15 digits", lambda step: fraction_of(step) is not None).or_none(", or None")


@dataclass(frozen=True, kw_only=True)
class Feature:
    """What every kind of feature has: whether it may change, and its weight in the distance."""

    change: Change = "free"
    weight: float = 1.0

    def __post_init__(self) -> None:
        self._check(_CHANGE, "change")
        self._check(_POSITIVE, "weight")

    def _check(self, rule: Rule, *names: str) -> None:
        rule.check_all(type(self).__name__, self, *names)

    def _wrong(self, name: str, must: str, kind: type[WhenceError] = InputError, got: str = "") -> WhenceError:
        return parameter_error(type(self).__name__, name, must, got or repr(getattr(self, name)), kind)


@dataclass(frozen=True, repr=False)
class NumberFeature(Feature):
    """What every number has besides: what counts as one unit of change, and the least change that counts."""

    scale: UnitOfChange = field(default="range", kw_only=True, metadata=LATER)
    least_change: float | None = field(default=None, kw_only=True, metadata=LATER)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(_SCALE, "scale")
        self._check(_POSITIVE.or_none(), "least_change")

    def __repr__(self) -> str:
        said = [(one, getattr(self, one.name)) for one in fields(self)]
        shown = [f"{one.name}={v!r}" for one, v in said if not one.metadata.get("later") or v != one.default]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class Continuous(NumberFeature):
    """A number that may take any value, or any that is a whole number of steps.

    Parameters
    ----------
    low, high : float, optional
        Explanations keep to these limits within the training range. A column that is constant in training stays
        fixed unless limits are given, between which it may then move.
    unit : str, optional
        Unit for reports, such as "°C".
    change : {"free", "fixed", "increase", "decrease"}
        What an explanation may do with it.
    weight : float
        Weight in the distance.
    step : float, optional
        An explanation that changes the value suggests a whole multiple of this (counted from 0), written as one would
        type it: 0.5 for 21.5 °C, 1 for whole euros. Neither the history nor today's value need be one.
    scale : {"range", "iqr"} or float
        What counts as one unit of change in the distance: the range of the history, its interquartile range, or so
        much in the feature's own units. Neighbours are told by the range, whatever counts here.
    least_change : float, optional
        An explanation leaves the value as it is, or changes it by at least so much.

    Examples
    --------
    >>> Continuous(low=-10, high=40, unit="°C").unit
    '°C'
    >>> Continuous(step=0.5, least_change=2)
    Continuous(change='free', weight=1.0, least_change=2, low=None, high=None, unit='', step=0.5)
    """

    low: float | None = None
    high: float | None = None
    unit: str = ""
    step: float | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(_FINITE.or_none(), "low", "high")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise self._wrong("low", f"not exceed 'high' ({self.high!r})")
        self._check(_STEP, "step")


@dataclass(frozen=True, repr=False)
class Discrete(NumberFeature):
    """A number that may take only the given values, or only whole ones.

    Parameters
    ----------
    values : iterable of numbers, optional
        The allowed values; None takes those of the training data, unless there is a `step`. Explanations suggest
        those within the training range.
    unit : str, optional
        Unit for reports.
    change : {"free", "fixed", "increase", "decrease"}
        What an explanation may do with it.
    weight : float
        Weight in the distance.
    step : int, optional
        Instead of `values`: all whole numbers of the training range that lie whole steps above its lowest, which need
        not be listed. 1 for counts and hours, 6 for what is sold by the half dozen.
    scale : {"range", "iqr"} or float
        What counts as one unit of change in the distance: the range of the history, its interquartile range, or so
        much in the feature's own units. Neighbours are told by the range, whatever counts here.
    least_change : float, optional
        An explanation leaves the value as it is, or changes it by at least so much.

    Examples
    --------
    >>> Discrete(range(1, 13), change="fixed").change
    'fixed'
    >>> Discrete(step=1, unit="h")
    Discrete(change='free', weight=1.0, values=None, unit='h', step=1)
    """

    values: Iterable[float] | None = None
    unit: str = ""
    step: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(whole(1).or_none(), "step")
        if self.step is not None and self.values is not None:
            raise InputError("Discrete takes 'values' or a 'step', not both. Got both.")
        if self.values is None:
            return
        try:
            given = tuple(() if isinstance(self.values, str) else self.values)
            levels = tuple(sorted({float(v) for v in given}))
        except (TypeError, ValueError, OverflowError):
            levels = ()
        if not levels or not np.isfinite(levels).all():
            raise self._wrong("values", "be finite numbers, at least one")
        object.__setattr__(self, "values", levels)


@dataclass(frozen=True)
class Categorical(Feature):
    """One of several names.

    Parameters
    ----------
    categories : iterable, optional
        The categories a context may have; None takes those of the training data. Explanations suggest only categories
        that the training data holds.
    columns : sequence of str, optional
        Where the data already holds the category as one 0/1 column per category: those columns, in the order of
        `categories`.
    change : {"free", "fixed", "increase", "decrease"}
        What an explanation may do with it; the last two, where the categories are ordered.
    weight : float
        Weight in the distance.
    ordered : bool
        Whether the categories go from low to high, in the order in which they are given. That order is kept wherever
        they are listed, and "increase" and "decrease" follow it; every change still counts 1, however far it goes.

    Examples
    --------
    >>> Categorical(["AM", "PM"]).categories
    ('AM', 'PM')
    >>> Categorical(["small", "large"], ordered=True, change="increase").ordered
    True
    """

    categories: Iterable[Hashable] | None = None
    columns: Sequence[str] | None = None
    ordered: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(Rule("a bool", lambda value: isinstance(value, bool)), "ordered")
        if self.change in ("increase", "decrease") and not self.ordered:
            raise self._wrong("change", "be 'free' or 'fixed' unless the categories are ordered")
        if self.columns is not None:
            columns = tuple(map(str, self._distinct("columns")))
            object.__setattr__(self, "columns", columns)
            if self.categories is None:
                object.__setattr__(self, "categories", columns)
        if self.categories is not None:
            levels = self._distinct("categories")
            if self.columns is not None and len(self.columns) != len(levels):
                must = f"name one column per category ({len(levels)})"
                raise self._wrong("columns", must, got=f"{len(self.columns)} columns")
            object.__setattr__(self, "categories", levels)

    def _distinct(self, name: str) -> tuple[Hashable, ...]:
        given = getattr(self, name)
        if isinstance(given, str):
            raise self._wrong(name, "be a list", InputTypeError)
        try:
            levels = tuple(exact(name, one) for one in given)
            different = len(set(levels)) == len(levels)
        except TypeError:
            raise self._wrong(name, "be a list of names or numbers", InputTypeError) from None
        if not levels or not different:
            raise self._wrong(name, "be distinct, at least one", got=repr(list(levels)))
        return levels


@dataclass(frozen=True)
class Binary(Feature):
    """On or off: a bool column, or numbers 0 and 1.

    Parameters
    ----------
    change : {"free", "fixed", "increase", "decrease"}
        What an explanation may do with it; "increase" allows switching on only.
    weight : float
        Weight in the distance.

    Examples
    --------
    >>> Binary(change="increase").change
    'increase'
    """


@dataclass(frozen=True)
class Cyclic(Feature):
    """A number that goes round: after the last hour of the day comes the first.

    The distance between two values is the short way round, so that 23 o'clock is as near to 1 as to 21; half the period
    counts 1. Forests and forecasts see the number itself. :class:`~whence.KNNWeights` by the default metric take their
    distances the short way round, too; for other metrics, and kernels, declare the feature as ``Discrete`` or
    ``Continuous``. Explanations keep to the range of the history, as for other numbers.

    Parameters
    ----------
    period : float
        After so much it begins again: 24 for hours, 360 for degrees.
    low : float
        The lowest value; all values lie from there up to ``low + period``, which is ``low`` again.
    step : float, optional
        An explanation that changes the value suggests a whole multiple of this, counted from 0. None allows any value
        or, in a column of integers, whole ones.
    unit : str, optional
        Unit for reports, such as "h".
    scale : float, optional
        So much counts as one unit of change in the distance; None takes half the period, the longest way there is.
    change : {"free", "fixed"}
        What an explanation may do with it: whatever rises comes back from below.
    weight : float
        Weight in the distance.

    Examples
    --------
    >>> import pandas as pd
    >>> import whence as wh
    >>> schema = wh.Schema({"hour": wh.Cyclic(24, unit="h")}).fit(pd.DataFrame({"hour": range(24)}))
    >>> space = schema.space(schema.row({"hour": 23}))
    >>> [round(space.distance(schema.encode_row(schema.row({"hour": hour}))), 3) for hour in (21, 1, 11, 10)]
    [0.167, 0.167, 1.0, 0.917]
    """

    period: float
    low: float = 0.0
    step: float | None = None
    unit: str = ""
    scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.change in ("increase", "decrease"):
            raise self._wrong("change", "be 'free' or 'fixed', since a value that rises comes back from below")
        self._check(_POSITIVE, "period")
        self._check(_FINITE, "low")
        self._check(_STEP, "step")
        self._check(_POSITIVE.or_none(), "scale")


@dataclass(frozen=True)
class Ordered(Categorical):
    """One of several names that go from low to high in steps: sizes, grades, levels of service.

    A change by one step counts ``1 / (levels - 1)``, from the lowest level to the highest 1. Forests and neighbours see
    the number of the level, counted from 0. An explanation suggests any level from the lowest of the history to its
    highest. An ordered category in pandas, or an Enum in polars, is taken for this kind.

    Parameters
    ----------
    categories : iterable, optional
        The levels, lowest first; None takes the order of the column's dtype.
    change : {"free", "fixed", "increase", "decrease"}
        What an explanation may do with it.
    weight : float
        Weight in the distance.

    Examples
    --------
    >>> import pandas as pd
    >>> import whence as wh
    >>> X = pd.DataFrame({"size": ["S", "M", "XL"]})
    >>> schema = wh.Schema({"size": wh.Ordered(["S", "M", "L", "XL"])}).fit(X)
    >>> schema.encode(X).ravel().round(3).tolist()
    [0.0, 0.333, 1.0]
    """

    columns: Sequence[str] | None = field(default=None, init=False, repr=False)
    ordered: bool = field(default=True, init=False, repr=False)
