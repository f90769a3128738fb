"""Which features may change together: at most so many, and never all of a barred set."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from whence.aliases import Floats
from whence.question.space import Space

__all__ = ["Few"]


@dataclass(frozen=True)
class Few:
    """How many features of a context may differ from the start, and which never do so together.

    Attributes
    ----------
    most : int
        So many features may change.
    barred : tuple of tuple of int
        Sets of features, by the numbers that ``Space.feature`` gives them, that must not all change.
    free : frozenset of int
        Features that do not count: what is filled in has no value to stay at, and has been counted before.
    """

    most: int
    barred: tuple[tuple[int, ...], ...] = ()
    free: frozenset[int] = frozenset()

    def accepts(self, space: Space, point: Floats) -> bool:
        """Whether the features that `point` changes may change together."""
        return self.allows(set(np.unique(space.feature[point != space.start]).tolist()))

    def allows(self, changed: Set[int]) -> bool:
        """Whether exactly these features may change together."""
        return len(changed - self.free) <= self.most and not any(set(one) <= changed for one in self.barred)

    def filling(self, filled: Set[int]) -> Few | None:
        """What is left to change where some features are filled in, each of them a change; None where it is too much.

        Examples
        --------
        >>> Few(2, ((0, 1), (2, 3))).filling({0})
        Few(most=1, barred=((1,), (2, 3)), free=frozenset({0}))
        >>> Few(2, ((0, 1),)).filling({0, 1}) is None
        True
        """
        more = filled - self.free
        barred = tuple(tuple(f for f in one if f not in more) for one in self.barred)
        if len(more) > self.most or () in barred:
            return None
        return Few(self.most - len(more), barred, self.free | more)
