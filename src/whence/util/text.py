"""Lists in words, and what was probably meant by a name that is not known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from whence.errors import InputError
from whence.util.json import quoted


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint at the known word that was probably meant, with a space before it; empty where there is none.

    >>> nearest("temprature", ["temperature", "rain"])
    " Did you mean 'temperature'?"
    """
    words = list(known)
    folded = {name.casefold(): name for name in words}
    if word.casefold() in folded:
        return f" Did you mean {folded[word.casefold()]!r}?"
    close = get_close_matches(word, words, n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def listed(items: Sequence[str], how: str = "and") -> str:
    """ "a", "a and b", "a, b and c".

    >>> listed(["rain", "weekday", "month"]), listed(["on", "off"], "or")
    ('rain, weekday and month', 'on or off')
    """
    return f" {how} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def joined(text: str, following: str) -> str:
    """Return two texts on one line, or on two where the first one ends its line."""
    return f"{text}{following}".strip("\n") if text.endswith("\n") else f"{text} {following}".strip()


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
#: A comma separates pairs only where another `name=` follows: 3,5 stays one number.
_BETWEEN = re.compile(r",(?=[^,=]+=)")


def number(text: str, decimal: str = ".") -> float | None:
    """Return one number as it is typed, or None where it is not a number.

    >>> number("3,5", decimal=","), number("three")
    (3.5, None)
    """
    plain = text.strip()
    if decimal == ",":
        plain = plain.replace(".", "?").replace(",", ".")
    return float(plain) if _NUMBER.fullmatch(plain) else None


def pairs(text: str, what: str) -> dict[str, str]:
    """Return the values of `name=value, name=value`.

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
