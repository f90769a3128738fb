"""What was made last, so that the next question about the same does not make it again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Recent"]

Made = TypeVar("Made")


class Recent(Generic[Made]):
    """Keep the things that were asked for last, and at most `most` of them.

    Examples
    --------
    >>> kept = Recent(most=2)
    >>> [kept.get(n, lambda n=n: print("made", n) or n) for n in (1, 2, 1, 3, 1, 2)]
    made 1
    made 2
    made 3
    made 2
    [1, 2, 1, 3, 1, 2]
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._made: dict[Hashable, Made] = {}

    def __len__(self) -> int:
        return len(self._made)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what belongs to `key`, made now where it was not among the last ones asked for."""
        found = self._made.pop(key) if key in self._made else make()
        self._made[key] = found
        while len(self._made) > self.most:
            del self._made[next(iter(self._made))]
        return found
