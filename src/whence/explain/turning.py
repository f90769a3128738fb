"""The smallest set of changes between two contexts that makes the new plan as good as the old one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.question import Space

__all__ = ["either_or", "smallest_turning"]


def smallest_turning(worth: Floats, tau: float) -> tuple[int, ...] | None:
    """The players of a smallest coalition whose worth is at least ``-tau``, the most worthy one of that size.

    `worth` is in the order of :func:`whence.explain.shapley.coalitions`; None where there is no such coalition.

    Examples
    --------
    >>> smallest_turning(np.array([-3.0, -1.0, 2.0, 4.0]), 0.0)
    (1,)
    """
    turned = np.flatnonzero(worth >= -tau)
    if not turned.size:
        return None
    sizes = np.array([int(one).bit_count() for one in turned])
    least = turned[sizes == sizes.min()]
    chosen = int(least[np.argmax(worth[least])])
    return tuple(j for j in range(chosen.bit_length()) if chosen >> j & 1)


def either_or(old: Floats, new: Floats, group: NDArray[np.int64], feature: Sequence[str]) -> Space:
    """The contexts that have the old or the new value of every feature; their distance counts the new ones.

    Parameters
    ----------
    old, new : ndarray
        Both contexts in coordinates.
    group : ndarray of int
        Coordinates with the same number >= 0 are the levels of one category.
    feature : sequence of str
        Name of the feature of every coordinate.
    """
    weight = np.ones(old.size)
    differs = old != new
    for name in dict.fromkeys(feature):
        own = np.array([other == name for other in feature])
        moved = float(np.abs(new - old)[own].sum())
        if moved > 0.0:
            weight[own] = 1.0 / moved
    levels = tuple(np.unique([a, b]) if moves else np.array([a]) for a, b, moves in zip(old, new, differs, strict=True))
    return Space(old, np.minimum(old, new), np.maximum(old, new), levels, weight, group)
