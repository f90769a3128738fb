"""Which features may change together: at most so many, and never all of a barred set."""

from __future__ import annotations

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
    changed : tuple of int
        Features that count as changed, wherever they are.
    """

    most: int
    barred: tuple[tuple[int, ...], ...] = ()
    changed: tuple[int, ...] = ()

    def accepts(self, space: Space, point: Floats) -> bool:
        """Whether the features that `point` changes may change together."""
        changed = set(np.unique(space.feature[point != space.start]).tolist()) | set(self.changed)
        return len(changed) <= self.most and not any(changed.issuperset(one) for one in self.barred)
