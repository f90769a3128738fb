"""Relations as people write them: ``dew_point <= temperature``, ``weekday in (Sat, Sun) <=> weekend``.

Engines work in coordinates and keep them up to rounding. Before a context is handed out, its numbers are moved by that
much, so that whoever checks a relation with the numbers as they are written finds it kept.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from whence.features.relation_trees import Joined, Opposite

#: Tokens that are no names of features; the name of a group is the kind of the token.
_OTHER = (
    r"`(?P<between_backticks>[^`]*)`|(?P<quote>['\"])(?P<text>(?s:.*?))(?P=quote)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<sign><=>|=>|<=|>=|==|!=|<|>|=|\+|-|\*|\(|\)|,)"
    r"|(?P<word>[^\W\d]\w*)"
)
#: Signs between two amounts.
COMPARING = ("<=", ">=", "<", ">", "==", "=", "!=")

#: Its kind (name, number, sign, word or text), and what it says.
Token = tuple[str, str]


class NotUnderstood(ValueError):
    """What of a relation cannot be read, in words that follow 'must'."""


class Sum(NamedTuple):
    """A number of each of some features, and a constant."""

    terms: tuple[tuple[str, float], ...]
    constant: float


@dataclass(frozen=True)
class Compared:
    """Two sums, and the sign between them."""

    left: Sum
    sign: str
    right: Sum


@dataclass(frozen=True)
class InList:
    """A feature has one of some values."""

    feature: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class On:
    """A feature that is on or off is on."""

    feature: str


Parsed = Compared | InList | On | Opposite | Joined


def parse(text: str, names: Sequence[str]) -> Parsed:
    """Return a relation between the features called `names`.

    >>> parse("low + 2 <= high", ["low", "high"])
    Compared(left=Sum(terms=(('low', 1.0),), constant=2.0), sign='<=', right=Sum(terms=(('high', 1.0),), constant=0.0))
    >>> parse("day in (Sat, Sun) <=> weekend", ["day", "weekend"])
    Joined(how='<=>', first=InList(feature='day', values=('Sat', 'Sun')), second=On(feature='weekend'))
    """
    reader = _Reader(_tokens(text, names))
    found = reader.whole()
    if reader.tokens:
        raise NotUnderstood(f"end before {reader.tokens[0][1]!r}")
    return found


def _tokens(text: str, names: Sequence[str]) -> list[Token]:
    """Take a text apart; names of features come before all else, the longest first, so that they may hold spaces."""
    known = "|".join(_as_pattern(name) for name in sorted(filter(None, names), key=len, reverse=True))
    pattern = re.compile(rf"\s*(?:(?P<name>{known or '(?!)'})|{_OTHER})")
    found: list[Token] = []
    text = text.rstrip()
    at = 0
    while at < len(text):
        match = pattern.match(text, at)
        if match is None or match.lastgroup is None:
            raise NotUnderstood(f"not hold {text[at:].lstrip()[0]!r}")
        kind, said = match.lastgroup, match[match.lastgroup]
        if kind == "between_backticks":
            kind = "name" if said in names else "text"
        found.append((kind, said))
        at = match.end()
    return found


def _as_pattern(name: str) -> str:
    """Return a pattern for a name, of which no word is a part."""
    before, after = (end.isalnum() or end == "_" for end in (name[0], name[-1]))
    return (r"(?<!\w)" if before else "") + re.escape(name) + (r"(?!\w)" if after else "")


@dataclass
class _Reader:
    """Reads tokens from the front."""

    tokens: list[Token] = field(default_factory=list)

    def _next(self) -> Token:
        if not self.tokens:
            raise NotUnderstood("be complete")
        return self.tokens.pop(0)

    def _at(self, *words: str) -> bool:
        return bool(self.tokens) and self.tokens[0][0] in ("sign", "word") and self.tokens[0][1] in words

    def _expect(self, sign: str) -> None:
        kind, said = self._next()
        if (kind, said) != ("sign", sign):
            raise NotUnderstood(f"have {sign!r} where it has {said!r}")

    def _take(self, *words: str) -> str | None:
        """Take the sign or word at the front, where it is one of these."""
        return self.tokens.pop(0)[1] if self._at(*words) else None

    def whole(self) -> Parsed:
        """Read statements joined by <=> and =>."""
        first = self._either()
        while how := self._take("<=>", "=>"):
            first = Joined("<=>", first, self._either()) if how == "<=>" else Joined("=>", first, self.whole())
        return first

    def _either(self) -> Parsed:
        first = self._both()
        while self._take("or"):
            first = Joined("or", first, self._both())
        return first

    def _both(self) -> Parsed:
        first = self._one()
        while self._take("and"):
            first = Joined("and", first, self._one())
        return first

    def _one(self) -> Parsed:
        if self._take("not"):
            return Opposite(self._one())
        if self._take("("):
            inner = self.whole()
            self._expect(")")
            return inner
        if self.tokens and self.tokens[0][0] == "name" and not self._sums():
            return self._about(self._next()[1])
        return self._comparison()

    def _sums(self) -> bool:
        """Return whether the name at the front begins a comparison of numbers."""
        if len(self.tokens) < 2 or self.tokens[1][0] != "sign" or self.tokens[1][1] in (")", ",", "=>", "<=>"):
            return False
        equal = self.tokens[1][1] in ("==", "=", "!=")
        return not (equal and len(self.tokens) > 2 and self.tokens[2][0] in ("word", "text"))

    def _about(self, name: str) -> Parsed:
        """Return what is said of one feature: in a list, equal to a word, or on."""
        if self._take("in"):
            self._expect("(")
            values = [self._value()]
            while self._take(","):
                values.append(self._value())
            self._expect(")")
            return InList(name, tuple(values))
        if how := self._take("is", "==", "=", "!="):
            negative = how == "!=" or self._take("not") is not None
            found = InList(name, (self._value(),))
            return Opposite(found) if negative else found
        return On(name)

    def _value(self) -> str:
        """Return a value: words up to the next comma, bracket or joining word."""
        kind, said = self._next()
        if kind == "sign" and said == "-" and self.tokens and self.tokens[0][0] == "number":
            return "-" + self._next()[1]
        if kind == "sign":
            raise NotUnderstood(f"have a value where it has {said!r}")
        while kind in ("word", "name", "number") and self.tokens and self.tokens[0][0] in ("word", "name", "number"):
            if self._at("and", "or"):
                break
            said += " " + self._next()[1]
        return said

    def _comparison(self) -> Parsed:
        left = self._sum()
        found: Parsed | None = None
        while sign := self._take(*COMPARING):
            right = self._sum()
            one = Compared(left, "==" if sign == "=" else sign, right)
            found = one if found is None else Joined("and", found, one)
            left = right
        if found is None:
            raise NotUnderstood("compare two amounts, as in 'low + 2 <= high'")
        return found

    def _sum(self) -> Sum:
        terms: dict[str, float] = {}
        constant, sign = 0.0, 1.0
        while joint := self._take("-", "+"):
            sign = -sign if joint == "-" else sign
        while True:
            factor, name = self._term()
            if name is None:
                constant += sign * factor
            else:
                terms[name] = terms.get(name, 0.0) + sign * factor
            if not (joint := self._take("+", "-")):
                return Sum(tuple(terms.items()), constant)
            sign = 1.0 if joint == "+" else -1.0

    def _term(self) -> tuple[float, str | None]:
        kind, said = self._next()
        if kind not in ("name", "number"):
            raise NotUnderstood(f"name a feature or a number where it has {said!r}")
        if not self._take("*"):
            return (1.0, said) if kind == "name" else (float(said), None)
        other, factor = self._next()
        if kind == "name" and other != "number":
            raise NotUnderstood(f"have a number behind '*' where it has {factor!r}")
        if kind == "number" and other != "name":
            raise NotUnderstood(f"have a feature behind '*' where it has {factor!r}")
        return (float(factor), said) if kind == "name" else (float(said), factor)


# ---- judged to the last digit ----------------------------------------------------------------------------------------

#: Rounding of one operation, as a share of its result.
ROUNDING = Fraction(1, 2**53)
#: Moves that are tried before it is given up.
MOST_MOVES = 40

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
WORDS = {"yes": 1.0, "true": 1.0, "on": 1.0, "no": 0.0, "false": 0.0, "off": 0.0}

#: What the first of two statements has to be so that the second one does not matter.
_SETTLES = {"and": False, "or": True, "=>": False}

#: Feature values by name: a category by its level.
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Statement:
    """A relation as it was read, to be judged by the values of a context in the user's units.

    >>> order = Statement(parse("dew <= temp", ["dew", "temp"]), "dew <= temp")
    >>> order.holds({"dew": 21.3, "temp": 21.3}), order.holds({"dew": 21.300000000000004, "temp": 21.3})
    (True, False)
    >>> tenths = Statement(parse("a + b <= c", ["a", "b", "c"]), "a + b <= c")
    >>> tenths.holds({"a": 0.1, "b": 0.2, "c": 0.3}), tenths.holds({"a": 0.1, "b": 0.2, "c": 0.3}, typed=True)
    (False, True)
    """

    parsed: Parsed
    text: str

    def holds(self, values: Values, typed: bool = False) -> bool:
        """Whether it holds however the numbers are added up; or, if `typed`, for the decimals they are written as."""
        return _holds(self.parsed, values, _typed if typed else _surely)

    def comparisons(self) -> Iterator[Compared]:
        """Yield all comparisons of numbers that it is made of."""
        waiting: list[Parsed] = [self.parsed]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Joined):
                waiting += [part.first, part.second]
            elif isinstance(part, Opposite):
                waiting.append(part.of)
            elif isinstance(part, Compared):
                yield part


def within_range(name: str, low: float, high: float) -> Parsed:
    """Say that a number lies between two others."""
    own = Sum(((name, 1.0),), 0.0)
    return Joined("and", Compared(Sum((), low), "<=", own), Compared(own, "<=", Sum((), high)))


def same_value(said: Any, value: Any) -> bool:
    """Return whether a value is the one that is written so.

    >>> same_value("July", "July"), same_value("yes", True), same_value("0.5", 0.5), same_value("1", "1")
    (True, True, True, True)
    """
    if value == said or str(value) == str(said):
        return True
    if isinstance(value, str):
        return False
    word = str(said).lower()
    try:
        return float(value) == (WORDS[word] if word in WORDS else float(said))
    except (TypeError, ValueError, OverflowError):
        return False


def _holds(parsed: Parsed, values: Values, judge: Callable[[Compared, Values], bool]) -> bool:
    if isinstance(parsed, Compared):
        return judge(parsed, values)
    if isinstance(parsed, InList):
        return any(same_value(said, values[parsed.feature]) for said in parsed.values)
    if isinstance(parsed, On):
        return bool(values[parsed.feature])
    if isinstance(parsed, Opposite):
        return not _holds(parsed.of, values, judge)
    first = _holds(parsed.first, values, judge)
    if first is _SETTLES.get(parsed.how):
        return parsed.how != "and"
    second = _holds(parsed.second, values, judge)
    return first == second if parsed.how == "<=>" else second


# ---- comparisons ---------------------------------------------------------------------------------------------------


def _surely(compared: Compared, values: Values) -> bool:
    """Judge by the numbers as they are stored, with room for the rounding of a sum in any order.

    A comparison of numbers as they are, or of one sum each, needs none: rounding keeps their order.
    """
    sign, bare = compared.sign, [_bare(side, values) for side in (compared.left, compared.right)]
    if bare[0] is not None and bare[1] is not None:
        return COMPARE[sign](bare[0], bare[1])
    if sign in ("==", "!="):
        # Sums of floats are hardly ever equal in every order: as they are written.
        return COMPARE[sign](_float(compared.left, values), _float(compared.right, values))
    left, right = (_exact(side, values, Fraction) for side in (compared.left, compared.right))
    room = _room(compared, values)
    gap = right - left if sign in ("<=", "<") else left - right
    return gap > room if sign in ("<", ">") else gap >= room


def _typed(compared: Compared, values: Values) -> bool:
    """Judge by the decimals that the numbers are written as."""
    left, right = (_exact(side, values, _decimal) for side in (compared.left, compared.right))
    return bool(COMPARE[compared.sign](left, right))


def _bare(side: Sum, values: Values) -> float | None:
    """Return a number as it is, where nothing is to be computed."""
    if not side.terms:
        return side.constant
    ((name, factor), *more) = side.terms
    return float(values[name]) if not more and factor == 1.0 and side.constant == 0.0 else None


def _decimal(number: float) -> Fraction:
    return Fraction(repr(float(number)))


def _exact(side: Sum, values: Values, read: Callable[[float], Fraction]) -> Fraction:
    total = read(side.constant)
    for name, factor in side.terms:
        total += read(factor) * read(float(values[name]))
    return total


def _float(side: Sum, values: Values) -> float:
    terms = [factor * float(values[name]) for name, factor in side.terms]
    return float(sum(terms[1:], terms[0]) + side.constant) if terms else side.constant


def _room(compared: Compared, values: Values) -> Fraction:
    """Return what rounding may add up to on both sides; nothing where each side is rounded once at most."""
    room = Fraction(0)
    for side in (compared.left, compared.right):
        operations = sum(abs(factor) != 1.0 for _, factor in side.terms)
        operations += max(0, len(side.terms) + (side.constant != 0.0) - 1)
        if operations > 1:
            size = abs(Fraction(side.constant))
            for name, factor in side.terms:
                size += abs(Fraction(factor) * Fraction(float(values[name])))
            room += operations * ROUNDING * size * 2
    return room


# ---- moving numbers ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Movable:
    """A continuous number of a context that may be moved a little."""

    #: Which one.
    name: str
    #: How far it may move, in the user's units.
    least: float
    most: float
    #: Whether it is to be moved rather than others: it has moved from the initial context anyway.
    first: bool = True


def kept_exactly(
    statements: Sequence[Statement], values: Values, movable: Sequence[Movable]
) -> dict[str, float] | None:
    """Return the numbers to change, with their new values, so that all statements hold to the last digit.

    Empty where they do already, None where no way is found.

    >>> order = Statement(parse("dew + 2 <= temp", ["dew", "temp"]), "dew + 2 <= temp")
    >>> kept_exactly([order], {"dew": 19.300000000004, "temp": 21.3}, [Movable("dew", 19.0, 20.0)])
    {'dew': 19.3}
    """
    now = dict(values)
    own = {one.name: one for one in movable}
    moved: dict[str, float] = {}
    seen: set[tuple[float, ...]] = set()
    for _ in range(MOST_MOVES):
        broken = [one for one in statements if not _accepted(one, now, own)]
        if not broken:
            return moved
        seen.add(tuple(float(now[name]) for name in own))
        best: tuple[tuple[int, bool, float], str, float] | None = None
        for statement in broken:
            for name, value in _candidates(statement, now, own):
                there = {**now, name: value}
                if tuple(float(there[other]) for other in own) in seen:
                    continue
                left = sum(not _accepted(one, there, own) for one in statements)
                rank = (left, not own[name].first, abs(value - float(now[name])))
                if best is None or rank < best[0]:
                    best = rank, name, value
        if best is None:
            return None
        _, name, value = best
        now[name] = moved[name] = value
    return None


def _accepted(statement: Statement, values: Values, movable: Mapping[str, Movable]) -> bool:
    """Whether a statement holds; where no number in it can be moved, for the decimals that they are written as."""
    if statement.holds(values):
        return True
    fixed = all(
        name not in movable
        for compared in statement.comparisons()
        for side in (compared.left, compared.right)
        for name, _ in side.terms
    )
    return fixed and statement.holds(values, typed=True)


def _candidates(statement: Statement, values: Values, movable: Mapping[str, Movable]) -> Iterator[tuple[str, float]]:
    """Yield numbers of a statement, each with a value just on either side of where one of its comparisons turns."""
    for compared in statement.comparisons():
        room = _room(compared, values)
        factors: dict[str, Fraction] = {}
        for side, sign in ((compared.left, 1), (compared.right, -1)):
            for name, count in side.terms:
                factors[name] = factors.get(name, Fraction(0)) + sign * Fraction(count)
        gap = _exact(compared.left, values, Fraction) - _exact(compared.right, values, Fraction)
        for name, slope in factors.items():
            if name not in movable or slope == 0:
                continue
            turn = Fraction(float(values[name])) - gap / slope
            for value in _beside(turn, abs(room / slope)):
                if movable[name].least <= value <= movable[name].most and value != values[name]:
                    yield name, value


def _beside(turn: Fraction, room: Fraction) -> Iterator[float]:
    """Yield the number itself where it is one, and those next to it on either side, with so much room to it."""
    middle = float(turn)
    if Fraction(middle) == turn and room == 0:
        yield middle
    for wanted, way in ((turn - room, -np.inf), (turn + room, np.inf)):
        value = float(wanted)
        beyond = Fraction(value) > wanted if way < 0 else Fraction(value) < wanted
        value = float(np.nextafter(value, way)) if beyond else value
        yield value
        yield float(np.nextafter(value, way))
