"""The arguments of a question about prices: which stay, between what the others may lie, and what a change counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from whence.checks import collected, refused
from whence.errors import InputError, InputTypeError
from whence.problems.pricing import Limit, Parameter, Priced
from whence.util.aliases import Floats
from whence.util.json import finite
from whence.util.text import nearest


def named(one: Parameter | Limit, names: Collection[str]) -> bool:
    """Whether a parameter, or what it is one of, is among these names."""
    return one.name in names or one.group in names


def _known(priced: Priced, limits: Collection[Limit]) -> list[str]:
    every: list[Parameter | Limit] = [*priced.parameters, *limits]
    found = dict.fromkeys(name for one in every for name in (one.group, one.name))
    return [*found, *(name for name in ("budget", "limit") if name not in found)]


def held(fixed: Any, priced: Priced, limits: Collection[Limit] = ()) -> set[str]:
    """The names of parameters, and of kinds of them, that stay."""
    given = collected(fixed)
    if given is None:
        raise refused("fixed", "a list of names of parameters", fixed, InputTypeError)
    names = _known(priced, limits)
    for name in given:
        _check_name("fixed", name, names)
    return set(given)


def _check_name(argument: str, name: Any, names: Collection[str]) -> None:
    if not isinstance(name, str) or name not in names:
        some = ", ".join(map(repr, list(names)[:6])) + (", ..." if len(names) > 6 else "")
        raise InputError(
            f"{argument!r} must name parameters among {some}. Got {name!r} instead.{nearest(str(name), names)}",
            parameter=argument,
        )


def ranges(priced: Priced, bounds: Any, stays: Collection[str]) -> tuple[Floats, Floats]:
    """How far each parameter may change either way, in changes that count 1; 0 where it stays."""
    if bounds is not None and not isinstance(bounds, Mapping):
        raise InputTypeError(
            f"'bounds' must be a mapping from parameters to (low, high). Got {bounds!r}.", parameter="bounds"
        )
    names = _known(priced, ())
    for name in bounds or {}:
        _check_name("bounds", name, names)
    low, high = np.zeros(len(priced.parameters)), np.zeros(len(priced.parameters))
    for j, one in enumerate(priced.parameters):
        if named(one, stays):
            continue
        given = (bounds or {}).get(one.name, (bounds or {}).get(one.group))
        first, last = (one.low, one.high) if given is None else _pair(one.name, given)
        # Today's price always stays allowed.
        low[j] = (min(first, one.value) - one.value) / one.scale
        high[j] = (max(last, one.value) - one.value) / one.scale
    return low, high


def beyond(limit: Limit, bounds: Any) -> bool:
    """Whether a limit would have to be moved to where `bounds`, which were checked, do not let it lie."""
    given = (bounds or {}).get(limit.name, (bounds or {}).get(limit.group))
    if given is None:
        return False
    low, high = _pair(limit.name, given)
    return not low <= limit.to <= high


def _pair(name: str, given: Any) -> tuple[float, float]:
    try:
        first, last = given
        low, high = finite(first), finite(last)
    except (TypeError, ValueError, OverflowError):
        low = high = None
    if low is None or high is None or low > high:
        raise InputError(
            f"'bounds' of {name!r} must be a pair (low, high) of numbers. Got {given!r}.", parameter="bounds"
        )
    return low, high


def counted(weights: Any, priced: Priced) -> dict[str, float]:
    """What a change of each parameter counts, where that is given."""
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        raise InputTypeError(
            f"'weights' must be a mapping from parameters to what a change counts. Got {weights!r}.",
            parameter="weights",
        )
    names, found = _known(priced, ()), {}
    for name, given in weights.items():
        _check_name("weights", name, names)
        number = finite(given)
        if number is None or number < 0.0:
            raise InputError(
                f"'weights' of {name!r} must be a number >= 0. Got {given!r} instead.", parameter="weights"
            )
        found[str(name)] = number
    return found
