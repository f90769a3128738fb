"""What arguments must be: rules that say so in words, and refuse everything else in one standard sentence.

A rule is a value, so that the arguments of a function are a table of them (see `explain/ask.py`). Rules never fail
on a value themselves, of whatever type it is: an array is not compared with a word.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from whence.errors import InputError, WhenceError, parameter_error
from whence.util.json import quoted

#: Ints beyond the first are no floats, beyond the second nothing that can be counted.
LARGEST, MOST_WHOLE = int(sys.float_info.max), 2**62


def refused(name: str, wanted: str, value: object, kind: type[WhenceError] = InputError) -> WhenceError:
    """The error for an argument that is not what it must be; it carries the argument's name.

    >>> refused("up_to", "an int >= 1", 0)
    InputError("'up_to' must be an int >= 1. Got 0 instead.")
    """
    return kind(f"{name!r} must be {wanted}. Got {quoted(value, 400)} instead.", parameter=name)


@dataclass(frozen=True)
class Rule:
    """What a value must be, in words and as a test.

    >>> even = Rule("an even int", lambda value: is_whole(value) and value % 2 == 0)
    >>> even.check("size", 4)
    4
    >>> even.or_none().check("size", 3)
    Traceback (most recent call last):
    whence.errors.InputError: 'size' must be an even int or None. Got 3 instead.
    """

    wanted: str
    fits: Callable[[Any], bool]

    def check(self, name: str, value: Any, owner: str = "", kind: type[WhenceError] = InputError) -> Any:
        """`value`, where it is what it must be; otherwise the error about the argument `name`.

        With an `owner` the sentence is that about a parameter of a class (see `errors.parameter_error`).
        """
        if self.fits(value):
            return value
        if owner:
            raise parameter_error(owner, name, f"be {self.wanted}", quoted(value, 400), kind)
        raise refused(name, self.wanted, value, kind)

    def check_all(self, owner: str, holder: Any, *names: str, kind: type[WhenceError] = InputError) -> None:
        """Check attributes of an object that are parameters of the class `owner`."""
        for name in names:
            self.check(name, getattr(holder, name), owner, kind)

    def or_none(self, words: str = " or None") -> Rule:
        """The same rule, where the value may also be left out as None."""
        return Rule(self.wanted + words, lambda value: value is None or self.fits(value))


def is_number(value: object) -> bool:
    """Whether a value is a real number that a float can hold, infinite and NaN included, and no bool."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= LARGEST
    return isinstance(value, float | np.number) and not isinstance(value, np.complexfloating)


def is_whole(value: object) -> bool:
    """Whether a value is an int and no bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def at_least(least: float, wanted: str = "") -> Rule:
    """The rule for a finite number that is not below `least`.

    >>> at_least(0).check("tolerance", float("nan"))
    Traceback (most recent call last):
    whence.errors.InputError: 'tolerance' must be a number >= 0. Got nan instead.
    """
    return Rule(wanted or f"a number >= {least:g}", lambda value: is_number(value) and least <= value < math.inf)


def share(ends: Literal["()", "(]", "[)", "[]"], wanted: str = "") -> Rule:
    """The rule for a number between 0 and 1, of which the ends count as their brackets say.

    >>> share("(]").check("holds", 1.0), share("[)").fits(1.0)
    (1.0, False)
    """
    first, last = ends[0] == "[", ends[1] == "]"

    def fits(value: Any) -> bool:
        if not is_number(value):
            return False
        return bool(0 <= value <= 1 and (first or value != 0) and (last or value != 1))

    return Rule(wanted or f"a number in {ends[0]}0, 1{ends[1]}", fits)


def whole(least: int, most: int | None = None, wanted: str = "") -> Rule:
    """The rule for an int that is not below `least`, nor above `most`.

    >>> whole(1).check("up_to", 2.0)
    Traceback (most recent call last):
    whence.errors.InputError: 'up_to' must be an int >= 1. Got 2.0 instead.
    """
    said = wanted or (f"an int >= {least}" if most is None else f"an int from {least} to {most}")
    largest = MOST_WHOLE if most is None else most
    return Rule(said, lambda value: is_whole(value) and least <= value <= largest)


def one_of(*words: str | None) -> Rule:
    """The rule for one of a few words, or None where that is among them.

    >>> one_of("relative", "absolute").check("kind", "best")
    Traceback (most recent call last):
    whence.errors.InputError: 'kind' must be 'relative' or 'absolute'. Got 'best' instead.
    """
    *first, last = map(repr, words)
    said = f"{', '.join(first)} or {last}" if first else last
    return Rule(said, lambda value: (value is None or isinstance(value, str)) and value in words)


def names_in(name: str, given: Any) -> tuple[str, ...]:
    """The names in a collection of them, or the one name that is given.

    >>> names_in("fixed", ["temp", "month"]), names_in("fixed", "temp")
    (('temp', 'month'), ('temp',))
    >>> names_in("fixed", None)
    Traceback (most recent call last):
    whence.errors.InputError: 'fixed' must be a list of names of features. Got None instead.
    """
    found = (given,) if isinstance(given, str) else collected(given)
    if found is None:
        raise refused(name, "a list of names of features", given)
    return tuple(map(str, found))


def collected(given: Any) -> tuple[Any, ...] | None:
    """What a collection holds; None for what is none, such as a text or a number.

    >>> collected(["a", 1]), collected("a"), collected(None)
    (('a', 1), None, None)
    """
    # An array without a dimension says that it can be iterated over.
    if not isinstance(given, Iterable) or isinstance(given, str | bytes) or getattr(given, "ndim", 1) == 0:
        return None
    return tuple(given)


POSITIVE = Rule("a positive number", lambda value: is_number(value) and value > 0)
FLAG = Rule("True or False", lambda value: isinstance(value, bool | np.bool_))
FUNCTION = Rule("a function", callable)
MAPPING = Rule("a mapping", lambda value: isinstance(value, Mapping))
THREADS = whole(1, 256)
JOBS = Rule("an int other than 0", lambda value: is_whole(value) and value != 0 and abs(value) <= MOST_WHOLE)
