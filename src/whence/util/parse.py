"""What people type: numbers with either decimal sign, and `name=value` pairs."""

from __future__ import annotations

import re

from whence.errors import InputError
from whence.util.json import quoted

__all__ = ["number", "pairs"]

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
#: A comma separates pairs only where another `name=` follows: 3,5 stays one number.
_BETWEEN = re.compile(r",(?=[^,=]+=)")


def number(text: str, decimal: str = ".") -> float | None:
    """One number as it is typed, or None where it is not a number.

    Examples
    --------
    >>> number("3,5", decimal=","), number("three")
    (3.5, None)
    """
    plain = text.strip()
    if decimal == ",":
        plain = plain.replace(".", "?").replace(",", ".")
    return float(plain) if _NUMBER.fullmatch(plain) else None


def pairs(text: str, what: str) -> dict[str, str]:
    """The values of `name=value, name=value`.

    Examples
    --------
    >>> pairs("temp=3,5, day=Monday", "The context")
    {'temp': '3,5', 'day': 'Monday'}
    """
    found: dict[str, str] = {}
    for pair in _BETWEEN.split(text):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name or not value:
            raise InputError(f"{what} must be given as name=value. Got {quoted(pair.strip())} instead.")
        if name in found:
            raise InputError(f"{what} gives {name!r} twice.")
        found[name] = value
    return found
