"""Numbers and values as people write them, rounded so that what is said about them stays true."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from whence.features.dates import as_day, day_in_words

#: A changed value may be shown this share of its change further away from where it started.
ROUNDING = 0.01


def plain(number: float, digits: int = 6) -> str:
    """Return `number` with up to `digits` significant digits, without an exponent where it stays short.

    Examples
    --------
    >>> plain(1234567.8), plain(0.5), plain(-0.0), plain(3e-9)
    ('1234568', '0.5', '0', '3e-09')
    """
    number = float(number)
    if not math.isfinite(number):
        return "infinite" if number > 0 else "minus infinity" if number < 0 else "unknown"
    size = abs(number)
    if size >= 1e15 or 0 < size < 1e-6:
        return f"{number:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(size))) if size else 0
    return _stripped(f"{number:.{decimals}f}")


def at_least(number: float, digits: int = 3) -> str:
    """Return `number` rounded down to `digits` significant digits, so that what is shown is never more than was proved.

    Examples
    --------
    >>> at_least(0.12987), at_least(3.0), at_least(0.0)
    ('0.129', '3', '0')
    """
    if not math.isfinite(number) or number <= 0.0:
        return plain(number, digits)
    exact = Decimal(repr(float(number)))
    place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return plain(float((exact / place).to_integral_value(ROUND_FLOOR) * place), digits)


def aligned(pairs: Sequence[tuple[float, float]], tolerance: float = 0.0) -> list[tuple[str, str]]:
    """Return pairs of costs with the same decimals, as many as it takes to see which of a pair is smaller.

    A difference of no more than `tolerance` asks for no further decimals.

    Examples
    --------
    >>> aligned([(31.2, 35.0), (41.3021, 41.3017)])
    [('31.2000', '35.0000'), ('41.3021', '41.3017')]
    >>> aligned([(7.5, 7.5000001)], tolerance=1e-6)
    [('7.5', '7.5')]
    """
    size = max((abs(v) for pair in pairs for v in pair if math.isfinite(v)), default=0.0)
    if size >= 1e15 or 0 < size < 1e-6:
        return [(plain(a, 9), plain(b, 9)) for a, b in pairs]
    least = max(0, 3 - math.floor(math.log10(size))) if size else 0
    most = least + 13
    decimals = least
    for a, b in pairs:
        while abs(a - b) > tolerance and decimals < most and f"{a:.{decimals}f}" == f"{b:.{decimals}f}":
            decimals += 1
    shown = [(_signed(f"{a:.{decimals}f}"), _signed(f"{b:.{decimals}f}")) for a, b in pairs]
    needless = min(len(text) - len(text.rstrip("0")) for pair in shown for text in pair) if decimals else 0
    if needless == decimals > 0:
        needless += 1
    return [(a[: len(a) - needless], b[: len(b) - needless]) for a, b in shown]


def beyond(number: float, start: float, room: tuple[float, float] | None = None) -> str:
    """Return a changed number, rounded away from its start, inside `room`; with all digits where that is unknown.

    Examples
    --------
    >>> beyond(23.451234, 18.0, (23.4512, 31.0))
    '23.5'
    >>> beyond(23.451234, 18.0)
    '23.451234'
    """
    if room is not None:
        low, high = room
        exact = Decimal(repr(float(number)))
        rounding = ROUND_CEILING if number >= start else ROUND_FLOOR
        for decimals in range(-3, 13) if abs(number) < 1e15 else ():
            short = exact.quantize(Decimal(1).scaleb(-decimals), rounding=rounding)
            if low <= short <= high and abs(float(short) - number) <= ROUNDING * abs(number - start):
                return _stripped(f"{short:f}")
    for digits in (6, 7, 8, 9):
        text = plain(number, digits)
        if float(text) == number:
            return text
    return f"about {plain(number)}"


def exactly(number: float) -> str:
    """Return `number` with all the digits that it takes to have it again, and no more.

    Examples
    --------
    >>> exactly(16.2512345678), exactly(3.0), exactly(0.1 + 0.2)
    ('16.2512345678', '3', '0.30000000000000004')
    """
    return repr(float(number)).removesuffix(".0")


def value(raw: Any, kind: str = "", unit: str = "") -> str:
    """Return a feature's value with its unit: on or off, a number, or a category's name.

    Examples
    --------
    >>> value(True), value(1, "binary"), value(18.0, "continuous", "°C"), value("morning peak")
    ('on', 'on', '18 °C', 'morning peak')
    >>> value("2025-06-14", "date")
    'Saturday 14 June 2025'
    """
    if raw is None:
        return "missing"
    if kind == "date" and (day := as_day(raw)) is not None:
        return day_in_words(day)
    if isinstance(raw, bool | np.bool_) or (kind == "binary" and isinstance(raw, int | float | np.number)):
        return "on" if raw else "off"
    if isinstance(raw, int | float | np.number) and kind != "categorical":
        return f"{plain(float(raw), 9 if float(raw).is_integer() else 6)}{' ' + unit if unit else ''}"
    text = str(raw)
    return text if text and text == text.strip() and not set(text) & set(",;") else f"“{text}”"


#: Days of the week and months, in English and in German.
_CALENDAR = re.compile(
    "(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    "|november|december|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|januar|februar|märz|mai|juni|juli|oktober"
    "|dezember",
    re.IGNORECASE,
)


def short_names(names: Sequence[str]) -> list[str]:
    """Return days of the week and months by their first letters, where all names are such; others as they are.

    Examples
    --------
    >>> short_names(["Monday", "Tuesday"]), short_names(["Monday", "night"])
    (['Mon', 'Tue'], ['Monday', 'night'])
    """
    return [name[:3] for name in names] if all(map(_CALENDAR.fullmatch, names)) else list(names)


def with_unit(text: str, unit: str = "") -> str:
    """Return a number already written as text, with its unit where there is one.

    Examples
    --------
    >>> with_unit("45.4", "€"), with_unit("45.4")
    ('45.4 €', '45.4')
    """
    return f"{text} {unit}" if unit else text


def share(part: float) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> share(0.123), share(0.0004), share(1.0)
    ('12 %', '0.04 %', '100 %')
    """
    percent = 100.0 * part
    return f"{plain(percent, 1 if abs(percent) < 1 else 2 if abs(percent) < 99.5 else 3)} %"


def duration(seconds: float) -> str:
    """Return a time span.

    Examples
    --------
    >>> duration(0.0123), duration(10.02), duration(150)
    ('0.012 s', '10 s', '2 min 30 s')
    """
    if seconds < 120:
        return f"{plain(seconds, 2)} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def _stripped(text: str) -> str:
    """Return `text` without trailing zeros behind the point."""
    return _signed(text.rstrip("0").rstrip(".") if "." in text else text)


def _signed(text: str) -> str:
    """Return `text` without the sign of a zero."""
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text
