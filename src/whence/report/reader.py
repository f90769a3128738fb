"""Reading JSON that somebody else may have written: what does not fit is refused with a sentence that names it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from whence.errors import InputError
from whence.plain_values import number_from_plain, quoted

__all__ = ["Entry"]

T = TypeVar("T")

#: Numbers of a larger size are refused: their squares and sums would overflow.
LARGEST = 1e100


class Entry:
    """One value of a document and the way to it, such as ``changes[2].distance``."""

    def __init__(self, value: Any, path: str = "") -> None:
        self.value = value
        self.path = path

    def error(self, wanted: str) -> InputError:
        """The error that says what was wanted here and what came."""
        what = f"The entry {self.path!r} of the explanation" if self.path else "The explanation"
        return InputError(f"{what} must be {wanted}. Got {quoted(self.value)} instead.")

    def __getitem__(self, name: str) -> Entry:
        """The entry `name` of an object; one that is missing is None."""
        if not isinstance(self.value, Mapping):
            raise self.error("a JSON object")
        return Entry(self.value.get(name), f"{self.path}.{name}" if self.path else name)

    def optional(self, read: Callable[[Entry], T]) -> T | None:
        """What `read` makes of the entry, or None where it is null or missing."""
        return None if self.value is None else read(self)

    def items(self, size: int | None = None) -> list[Entry]:
        """The entries of a list."""
        if not isinstance(self.value, list | tuple) or (size is not None and len(self.value) != size):
            raise self.error("a list" if size is None else f"a list of {size}")
        return [Entry(value, f"{self.path}[{i}]") for i, value in enumerate(self.value)]

    def members(self) -> dict[str, Entry]:
        """The entries of an object by name."""
        if not isinstance(self.value, Mapping) or not all(isinstance(name, str) for name in self.value):
            raise self.error("a JSON object")
        return {name: Entry(value, f"{self.path}.{name}") for name, value in self.value.items()}

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            raise self.error("a text")
        return self.value

    def choice(self, among: Collection[str]) -> str:
        """One of a few texts."""
        if not isinstance(self.value, str) or self.value not in among:
            raise self.error(f"one of {', '.join(map(repr, among))}")
        return self.value

    def number(self, least: float = -math.inf, *, infinite: bool = False) -> float:
        """A number of at least `least`; an infinite one only where that is said."""
        wanted = "a number" if least == -math.inf else f"a number of at least {least:g}"
        try:
            number = number_from_plain(self.value)
        except InputError:
            raise self.error(wanted) from None
        ordinary = abs(number) <= LARGEST or (infinite and math.isinf(number))
        if not ordinary or not number >= least:
            raise self.error(wanted)
        return number

    def whole(self, least: int = 0, most: int = 2**53) -> int:
        """A whole number from `least` to `most`."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not least <= self.value <= most:
            raise self.error(f"a whole number from {least} to {most}")
        return self.value

    def numbers(self, size: int | None = None, least: float = -math.inf) -> list[float]:
        """A list of numbers."""
        return [entry.number(least) for entry in self.items(size)]

    def texts(self) -> list[str]:
        """A list of texts."""
        return [entry.text() for entry in self.items()]

    def scalar(self) -> Any:
        """A text, a truth value, an ordinary number, or null."""
        if self.value is None or isinstance(self.value, str | bool):
            return self.value
        if isinstance(self.value, int | float):
            self.number()
            return self.value
        raise self.error("a text, a number, true, false or null")

    def plain(self) -> Any:
        """Anything that strict JSON holds."""
        if isinstance(self.value, Mapping):
            return {name: entry.plain() for name, entry in self.members().items()}
        if isinstance(self.value, list | tuple):
            return [entry.plain() for entry in self.items()]
        return self.scalar()
