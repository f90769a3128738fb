"""Relations as people write them: ``dew_point <= temperature``, ``weekday in (Sat, Sun) <=> weekend``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

__all__ = ["Compared", "InList", "Negated", "NotUnderstood", "On", "Parsed", "Sum", "Two", "parse"]

_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?")
_SIGN = re.compile(r"<=>|=>|<=|>=|==|!=|<|>|=|\+|-|\*|\(|\)|,")
_WORD = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"`([^`]*)`|'([^']*)'|\"([^\"]*)\"")
#: Signs between two amounts.
COMPARING = ("<=", ">=", "<", ">", "==", "=", "!=")

Token = tuple[Literal["name", "number", "sign", "word", "text"], str]


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


@dataclass(frozen=True)
class Negated:
    """A statement does not hold."""

    of: Parsed


@dataclass(frozen=True)
class Two:
    """Two statements: both, one of them, the second if the first, or either both or none."""

    how: Literal["and", "or", "=>", "<=>"]
    first: Parsed
    second: Parsed


Parsed = Compared | InList | On | Negated | Two


def parse(text: str, names: Sequence[str]) -> Parsed:
    """Return a relation between the features called `names`.

    Examples
    --------
    >>> parse("low + 2 <= high", ["low", "high"])
    Compared(left=Sum(terms=(('low', 1.0),), constant=2.0), sign='<=', right=Sum(terms=(('high', 1.0),), constant=0.0))
    >>> parse("day in (Sat, Sun) <=> weekend", ["day", "weekend"])
    Two(how='<=>', first=InList(feature='day', values=('Sat', 'Sun')), second=On(feature='weekend'))
    """
    reader = _Reader(_tokens(text, names))
    found = reader.whole()
    if reader.tokens:
        raise NotUnderstood(f"end before {reader.tokens[0][1]!r}")
    return found


def _tokens(text: str, names: Sequence[str]) -> list[Token]:
    """Return names of features come before all else, the longest first, so that they may hold spaces."""
    known = sorted(names, key=len, reverse=True)
    found: list[Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        name = next((n for n in known if n and text.startswith(n, at) and not _goes_on(text, at, n)), None)
        quoted, number = _QUOTED.match(text, at), _NUMBER.match(text, at)
        sign, word = _SIGN.match(text, at), _WORD.match(text, at)
        if name is not None:
            found.append(("name", name))
            at += len(name)
        elif quoted is not None:
            inner = next(part for part in quoted.groups() if part is not None)
            found.append(("name" if inner in names and text[at] == "`" else "text", inner))
            at = quoted.end()
        elif number is not None:
            found.append(("number", number.group()))
            at = number.end()
        elif sign is not None:
            found.append(("sign", sign.group()))
            at = sign.end()
        elif word is not None:
            found.append(("word", word.group()))
            at = word.end()
        else:
            raise NotUnderstood(f"not hold {text[at]!r}")
    return found


def _goes_on(text: str, at: int, name: str) -> bool:
    """Return whether a word goes on behind a name, or began before it."""
    end = at + len(name)
    after = end < len(text) and (text[end].isalnum() or text[end] == "_") and (name[-1].isalnum() or name[-1] == "_")
    before = at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_") and (name[0].isalnum() or name[0] == "_")
    return after or before


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

    def whole(self) -> Parsed:
        """Statements joined by <=> and =>."""
        first = self._either()
        while self._at("<=>", "=>"):
            how = self._next()[1]
            second = self._either() if how == "<=>" else self.whole()
            first = Two("<=>" if how == "<=>" else "=>", first, second)
        return first

    def _either(self) -> Parsed:
        first = self._both()
        while self._at("or"):
            self._next()
            first = Two("or", first, self._both())
        return first

    def _both(self) -> Parsed:
        first = self._one()
        while self._at("and"):
            self._next()
            first = Two("and", first, self._one())
        return first

    def _one(self) -> Parsed:
        if self._at("not"):
            self._next()
            return Negated(self._one())
        if self._at("("):
            self._next()
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
        if self._at("in"):
            self._next()
            self._expect("(")
            values = [self._value()]
            while self._at(","):
                self._next()
                values.append(self._value())
            self._expect(")")
            return InList(name, tuple(values))
        if self._at("is", "==", "="):
            self._next()
            negative = self._at("not")
            if negative:
                self._next()
            found = InList(name, (self._value(),))
            return Negated(found) if negative else found
        if self._at("!="):
            self._next()
            return Negated(InList(name, (self._value(),)))
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
        if not self._at(*COMPARING):
            raise NotUnderstood("compare two amounts, as in 'low + 2 <= high'")
        found: Parsed | None = None
        while self._at(*COMPARING):
            sign = self._next()[1]
            right = self._sum()
            one = Compared(left, "==" if sign == "=" else sign, right)
            found = one if found is None else Two("and", found, one)
            left = right
        assert found is not None
        return found

    def _sum(self) -> Sum:
        terms: dict[str, float] = {}
        constant, sign = 0.0, 1.0
        while self._at("-", "+"):
            sign = -sign if self._next()[1] == "-" else sign
        while True:
            factor, name = self._term()
            if name is None:
                constant += sign * factor
            else:
                terms[name] = terms.get(name, 0.0) + sign * factor
            if not self._at("+", "-"):
                return Sum(tuple(terms.items()), constant)
            sign = 1.0 if self._next()[1] == "+" else -1.0

    def _term(self) -> tuple[float, str | None]:
        kind, said = self._next()
        if kind == "name":
            if self._at("*"):
                self._next()
                kind, factor = self._next()
                if kind != "number":
                    raise NotUnderstood(f"have a number behind '*' where it has {factor!r}")
                return float(factor), said
            return 1.0, said
        if kind != "number":
            raise NotUnderstood(f"name a feature or a number where it has {said!r}")
        if self._at("*"):
            self._next()
            other, name = self._next()
            if other != "name":
                raise NotUnderstood(f"have a feature behind '*' where it has {name!r}")
            return float(said), name
        return float(said), None
