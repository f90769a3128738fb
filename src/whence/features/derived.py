"""Features that follow from others: weekend from the weekday, season from the month."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from whence.errors import InputError, InputTypeError
from whence.features.columns import CategoryColumn, Column
from whence.features.kinds import Binary, Feature

__all__ = ["Derived", "derived_pairs"]


@dataclass(frozen=True)
class Derived(Feature):
    """A feature that follows from another one: an explanation changes it together with that one, at no further cost.

    Parameters
    ----------
    from_ : str
        The feature that it follows from: a category, a discrete number, or something that is on or off.
    function : mapping or callable, optional
        Its value for every value of that feature. None takes what the history shows, which must be one value for each.
    change, weight
        Of no effect: it changes when the other feature does, and the distance counts only the other one.

    Examples
    --------
    >>> import pandas as pd
    >>> import whence as wh
    >>> X = pd.DataFrame({"day": ["Fri", "Sat", "Sun", "Mon"], "weekend": [False, True, True, False]})
    >>> follows = wh.Derived("day", {"Sat": True, "Sun": True, "Fri": False, "Mon": False})
    >>> schema = wh.Schema({"weekend": follows}).fit(X)
    >>> schema.broken({"day": "Sun", "weekend": False})
    ['weekend follows from day']
    """

    from_: str = ""
    function: Mapping[Any, Any] | Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.from_, str) or not self.from_:
            raise self._wrong("from_", "be the name of a feature", InputTypeError)
        if self.function is not None and not isinstance(self.function, Mapping) and not callable(self.function):
            raise self._wrong("function", "be a mapping, a function or None", InputTypeError)


def derived_pairs(
    name: str, feature: Derived, columns: Mapping[str, Column], values: Callable[[str], pd.Series]
) -> list[tuple[Any, Any]]:
    """Every value of the feature that `name` follows from, and the value of `name` that belongs to it.

    `values` gives the history of a feature.
    """
    source = columns.get(feature.from_)
    if source is None or source.name == name:
        known = ", ".join(repr(other) for other in columns if other != name)
        raise InputError(
            f"The 'from_' parameter of {name!r} must be one of the features {known}. Got {feature.from_!r} instead.",
            parameter="from_",
        )
    few = isinstance(source, CategoryColumn) or isinstance(source.feature, Binary) or bool(source.choices)
    if not few:
        raise InputError(
            f"The 'from_' parameter of {name!r} must be a category, a discrete number of few values, or something that "
            f"is on or off. Got {feature.from_!r}, which is {type(source.feature).__name__.lower()}.",
            parameter="from_",
        )
    if feature.function is None:
        return _shown(name, feature.from_, values)
    return [(value, _value(name, feature, value)) for value in source.choices]


def _value(name: str, feature: Derived, value: Hashable) -> Any:
    if not isinstance(feature.function, Mapping):
        assert feature.function is not None
        return feature.function(value)
    for key, found in feature.function.items():
        if key == value or str(key) == str(value):
            return found
    raise InputError(
        f"The 'function' of {name!r} must have an entry for every value of {feature.from_!r}. {value!r} is missing.",
        parameter="function",
    )


def _shown(name: str, source: str, values: Callable[[str], pd.Series]) -> list[tuple[Any, Any]]:
    """What the history shows."""
    given, follows = values(source).tolist(), values(name).tolist()
    found: dict[Any, Any] = {}
    for value, other in zip(given, follows, strict=True):
        if found.setdefault(value, other) != other:
            raise InputError(
                f"The 'function' of {name!r} must be given: the history shows {found[value]!r} and {other!r} where "
                f"{source!r} is {value!r}.",
                parameter="function",
            )
    return list(found.items())
