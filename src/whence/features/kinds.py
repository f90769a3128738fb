"""The kinds of feature that a user declares: what values a feature has, and what may change."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from whence.errors import InputError, InputTypeError

__all__ = ["Binary", "Categorical", "Change", "Continuous", "Discrete", "Feature"]

Change = Literal["free", "fixed", "increase", "decrease"]


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
        if not (_is_number(self.weight) and 0 < float(self.weight) < np.inf):
            raise InputError(
                f"The 'weight' parameter of {kind} must be a positive number. Got {self.weight!r} instead."
            )


@dataclass(frozen=True)
class Continuous(Feature):
    """A number that may take any value.

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
            if value is not None and not (_is_number(value) and np.isfinite(value)):
                raise InputError(
                    f"The {name!r} parameter of Continuous must be a finite number or None. Got {value!r} instead."
                )
        if self.low is not None and self.high is not None and self.low > self.high:
            raise InputError(
                f"The 'low' parameter of Continuous must not exceed 'high' ({self.high!r}). Got {self.low!r} instead."
            )


@dataclass(frozen=True)
class Discrete(Feature):
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
        if self.step is not None:
            self._check_step()
        if self.values is None:
            return
        try:
            given = tuple(() if isinstance(self.values, str) else self.values)
            levels = tuple(sorted({float(v) for v in given}))
        except (TypeError, ValueError):
            levels = ()
        if not levels or not np.isfinite(levels).all():
            raise InputError(
                f"The 'values' parameter of Discrete must be finite numbers, at least one. Got {self.values!r} instead."
            )
        object.__setattr__(self, "values", levels)

    def _check_step(self) -> None:
        whole = isinstance(self.step, int | np.integer) and not isinstance(self.step, bool)
        if not whole or int(self.step or 0) < 1:
            raise InputError(
                f"The 'step' parameter of Discrete must be an int >= 1 or None. Got {self.step!r} instead."
            )
        if self.values is not None:
            raise InputError("Discrete takes 'values' or a 'step', not both. Got both.")


@dataclass(frozen=True)
class Categorical(Feature):
    """One of several names.

    Parameters
    ----------
    categories : iterable, optional
        The categories a context may have; None takes those of the training data. Explanations suggest only categories
        that the training data holds.
    columns : sequence of str, optional
        Where the data already holds the category as one 0/1 column a category: those columns, in the
        order of `categories`.
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
        if not isinstance(self.ordered, bool):
            raise InputError(f"The 'ordered' parameter of Categorical must be a bool. Got {self.ordered!r} instead.")
        if self.change in ("increase", "decrease") and not self.ordered:
            raise InputError(
                "The 'change' parameter of Categorical must be 'free' or 'fixed' unless the categories are ordered. "
                f"Got {self.change!r} instead."
            )
        if self.columns is not None:
            columns = tuple(map(str, _distinct("columns", self.columns)))
            object.__setattr__(self, "columns", columns)
            if self.categories is None:
                object.__setattr__(self, "categories", columns)
        if self.categories is not None:
            levels = _distinct("categories", self.categories)
            if self.columns is not None and len(self.columns) != len(levels):
                raise InputError(
                    f"The 'columns' parameter of Categorical must name one column a category ({len(levels)}). "
                    f"Got {len(self.columns)} columns instead."
                )
            object.__setattr__(self, "categories", levels)


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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _distinct(name: str, given: Any) -> tuple[Hashable, ...]:
    if isinstance(given, str):
        raise InputTypeError(f"The {name!r} parameter of Categorical must be a list. Got {given!r} instead.")
    try:
        levels = tuple(given)
        different = len(set(levels)) == len(levels)
    except TypeError:
        raise InputTypeError(
            f"The {name!r} parameter of Categorical must be a list of names or numbers. Got {given!r} instead."
        ) from None
    if not levels or not different:
        raise InputError(
            f"The {name!r} parameter of Categorical must be distinct, at least one. Got {list(levels)!r} instead."
        )
    return levels
