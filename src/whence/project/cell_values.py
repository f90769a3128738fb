"""Numbers and dates as people write them in cells: thousands apart, currencies, percent, dates in their own order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date

from whence.features.dates import as_day
from whence.util.frames import SIGN, WEEKDAY, WRITTEN_NUMBER
from whence.util.text import number

_DIGITS = re.compile(r"(?:\d[\d.,'’_ \u00a0\u202f]*|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_APART = re.compile(r"['’_ \u00a0\u202f]")
_UNIT, _WEEKDAY = re.compile(SIGN), re.compile(f"^{WEEKDAY}")
#: Units of measure that may stand behind the numbers of a whole column. Written behind some of them, or mixed, they are
#: no part of a number: 500 g and 1 kg must not become 500 and 1.
_MEASURES = (
    "mm cm m km m² m³ ml cl l g kg t s min h km/h m/s mph kn hPa mbar W kW MW Wh kWh MWh GWh lx Stk Stk. pcs pcs. Std"
)
_MEASURED = re.compile(rf"(.*\d)[ \u00a0\u202f]?({'|'.join(map(re.escape, _MEASURES.split()))})")
#: Whole numbers with points between thousands, and those that need none.
_GROUPED, _UNGROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII), re.compile(r"[+-]?\d{1,3}", re.ASCII)
#: A number that shows its decimal sign: a thousand apart has three digits behind its sign.
_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d*),(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3})+,\d+", re.ASCII)
_POINT = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d*)\.(?:\d{1,2}|\d{4,})|\d{1,3}(?:,\d{3})+\.\d+", re.ASCII)
#: Either sign, be it a decimal one or not.
_EITHER_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.ASCII)
_EITHER_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", re.ASCII)


def read_number(text: str, decimal: str = ".") -> float | None:
    """Return the number that a cell holds, as a program or as a person writes it; None where it is none.

    A percent sign, a currency or degrees are the number's unit (see :func:`unit_of`): 5 % is 5.

    Examples
    --------
    >>> read_number("8,420"), read_number("1.234,50 €", ","), read_number("-5 %"), read_number("($1,200)")
    (8420.0, 1234.5, -5.0, -1200.0)
    >>> read_number("1,5"), read_number("5 kg")
    (None, None)
    """
    text = text.strip()
    plain = number(text, decimal)
    if plain is not None or not WRITTEN_NUMBER.fullmatch(text):
        return plain
    found = _DIGITS.search(text)
    assert found is not None
    digits, thousands = _APART.sub("", found[0]), "," if decimal == "." else "."
    whole, sign, rest = digits.partition(decimal)
    if thousands in whole and not re.fullmatch(rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+", whole):
        return None
    if thousands in rest:
        return None
    value = number(f"{whole.replace(thousands, '')}{'.' * bool(sign)}{rest}")
    negative = any(minus in text[: found.start()] for minus in "-−(")
    return None if value is None else -value if negative else value


def unit_of(cells: Iterable[str]) -> str:
    """Return the currency, percent sign or degrees that a column's numbers are written with; "" where there is none.

    Examples
    --------
    >>> unit_of(["5 %", "7.5 %"]), unit_of(["12", "13"])
    ('%', '')
    """
    signs = Counter(found[0] for cell in cells if (found := _UNIT.search(cell)))
    return signs.most_common(1)[0][0] if signs else ""


def measure_of(cells: Sequence[str]) -> str:
    """Return the unit of measure behind most numbers of a column; "" where there is none.

    Examples
    --------
    >>> measure_of(["13,2 km/h", "9,1 km/h", "0"]), measure_of(["12", "14 km"]), measure_of(["2 shops", "3 shops"])
    ('km/h', '', '')
    """
    units = Counter(found[2] for cell in cells if (found := _MEASURED.fullmatch(cell)))
    unit, times = units.most_common(1)[0] if units else ("", 0)
    return unit if 2 * times > len(cells) else ""


def without_measure(cell: str, unit: str) -> str:
    """Return a cell without this unit behind it; one with another unit as it is.

    Examples
    --------
    >>> without_measure("13,2 km/h", "km/h"), without_measure("3 m/s", "km/h"), without_measure("5", "")
    ('13,2', '3 m/s', '5')
    """
    found = _MEASURED.fullmatch(cell) if unit else None
    return found[1] if found is not None and found[2] == unit else cell


def are_grouped(cells: Sequence[str]) -> bool:
    """Return whether a column holds whole numbers with points between thousands: 1.204 beside 998 is above it.

    Examples
    --------
    >>> are_grouped(["1.204", "998", "1.310"]), are_grouped(["1.204", "0.998", "1.310"]), are_grouped(["1.204", "2"])
    (True, False, False)
    """
    grouped = [cell for cell in cells if _GROUPED.fullmatch(cell)]
    others = [abs(int(cell)) for cell in cells if _UNGROUPED.fullmatch(cell)]
    return len(grouped) > 0 and max(others, default=0) >= 100 and len(grouped) + len(others) == len(cells)


def shows_point(cells: Iterable[str]) -> bool:
    """Return whether a number shows that the point is the decimal sign.

    Examples
    --------
    >>> shows_point(["1.204", "998"]), shows_point(["1.5", "998"])
    (False, True)
    """
    return any(_POINT.fullmatch(_UNIT.sub("", cell).strip()) for cell in cells)


def decimal_sign(cells: Sequence[str], separator: str) -> str:
    """Return the decimal sign of a table with these cells: a comma where numbers show one, and none shows a point.

    Where commas separate cells, only what cannot be a thousand shows one.

    Examples
    --------
    >>> decimal_sign(["3,5", "12"], ";"), decimal_sign(["8,420"], ","), decimal_sign(["12,50 €"], ",")
    (',', '.', ',')
    """
    # Of most tables no cell holds a comma, and wide ones have many cells.
    if not any("," in cell for cell in cells):
        return "."
    bare = [_UNIT.sub("", found[1] if (found := _MEASURED.fullmatch(cell)) else cell).strip() for cell in cells]
    comma, point = (_COMMA, _POINT) if separator == "," else (_EITHER_COMMA, _EITHER_POINT)
    if any(_COMMA.fullmatch(cell) for cell in bare) and not any(_POINT.fullmatch(cell) for cell in bare):
        return ","
    commas, points = (any(map(sign.fullmatch, bare)) for sign in (comma, point))
    return "," if commas and not points else "."


_NUMBERED = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})", re.ASCII)
_YEAR_FIRST = re.compile(r"(\d{4})[./](\d{1,2})[./](\d{1,2})", re.ASCII)
_DAY_NAMED = re.compile(r"(\d{1,2})[-. /]+([A-Za-zÀ-ÿ]{3,})[-. ,/]+(\d{4}|\d{2})")
_NAMED_DAY = re.compile(r"([A-Za-zÀ-ÿ]{3,})\.? (\d{1,2}),? (\d{4})")
_TIME = re.compile(r"[T ]\d{1,2}:\d{2}.*$")
#: The first letters of the months, in English and in German.
_NAMES = ("jan", "feb", "mar,mär,mrz", "apr", "may,mai", "jun", "jul", "aug", "sep", "oct,okt", "nov", "dec,dez")
_MONTHS = {name: month for month, names in enumerate(_NAMES, start=1) for name in names.split(",")}


def days_of(cells: Sequence[str]) -> list[date | None]:
    """Return the days that the cells of a column stand for, None where one stands for none.

    Whether the day or the month comes first, all cells tell together: one of them that is above 12, or else the order
    in which the rows follow each other.

    Examples
    --------
    >>> [str(day) for day in days_of(["01.02.2024", "14.02.2024"])], days_of(["2/14/2024"])
    (['2024-02-01', '2024-02-14'], [datetime.date(2024, 2, 14)])
    >>> days_of(["14 Jun 2024", "June 15, 2024", "2024/06/16"])[1:]
    [datetime.date(2024, 6, 15), datetime.date(2024, 6, 16)]
    """
    bare = [_WEEKDAY.sub("", _TIME.sub("", cell.strip())) for cell in cells]
    numbered = [_NUMBERED.fullmatch(cell) for cell in bare]
    day_first = _day_first([found for found in numbered if found is not None])
    return [
        _numbered_day(found, day_first) if found is not None else _other_day(cell)
        for found, cell in zip(numbered, bare, strict=True)
    ]


def one_day(text: str) -> date | None:
    """Return the day that a text by itself stands for; None also where day and month could be either.

    Examples
    --------
    >>> one_day("14.06.2024"), one_day("5/6/2024")
    (datetime.date(2024, 6, 14), None)
    """
    text = text.strip()
    found = _NUMBERED.fullmatch(text)
    if found is not None and found[2] != "." and int(found[1]) <= 12 and int(found[3]) <= 12 and found[1] != found[3]:
        return None
    # A text that begins with a date, and goes on, is another one.
    return None if len(text) > 10 and text[:4].isdigit() else days_of([text])[0]


def _day_first(found: Sequence[re.Match[str]]) -> bool:
    if any(int(one[1]) > 12 for one in found):
        return True
    if any(int(one[3]) > 12 for one in found):
        return False
    for order in (True, False):
        days = [_numbered_day(one, order) for one in found]
        known = [day for day in days if day is not None]
        if len(known) > 2 and known in (sorted(known), sorted(known, reverse=True)):
            return order
    return not found or found[0][2] != "/"


def _numbered_day(found: re.Match[str], day_first: bool) -> date | None:
    day, month = (found[1], found[3]) if day_first else (found[3], found[1])
    return _day(found[4], month, day)


def _other_day(cell: str) -> date | None:
    if (found := _YEAR_FIRST.fullmatch(cell)) is not None:
        return _day(found[1], found[2], found[3])
    if (found := _DAY_NAMED.fullmatch(cell)) is not None:
        return _day(found[3], _MONTHS.get(found[2][:3].lower(), 0), found[1])
    if (found := _NAMED_DAY.fullmatch(cell)) is not None:
        return _day(found[3], _MONTHS.get(found[1][:3].lower(), 0), found[2])
    return as_day(cell)


def _day(year: str, month: str | int, day: str) -> date | None:
    try:
        return date(int(year) + (2000 if len(year) == 2 else 0), int(month), int(day))
    except ValueError:
        return None
