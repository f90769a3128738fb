"""Whole numbers: which of them an explanation chooses from, without listing a range of millions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats

__all__ = ["CHOICES", "LISTED", "MOST", "beside", "spread"]


#: So many values can be chosen from a list; of more, only the range is shown.
CHOICES = 100
#: Up to so many steps are simply listed; of more, a forest needs only those beside its thresholds.
LISTED = 1_000
#: Most values of one feature that a search among neighbours looks at.
MOST = 10_000


def spread(last: int) -> Floats:
    """The numbers from 0 to `last`: all of them, or every second, third, ... so that there are at most `MOST` and two.

    Examples
    --------
    >>> spread(3).tolist(), spread(10**9)[:3].tolist(), len(spread(10**9))
    ([0.0, 1.0, 2.0, 3.0], [0.0, 100000.0, 200000.0], 10001)
    """
    stride = max(1, -(-last // MOST))
    return np.union1d(np.arange(0, last + 1, stride, dtype=np.float64), [float(last)])


def beside(cuts: NDArray[np.floating], seen: Sequence[Callable[[Floats], Floats]], last: int) -> Floats:
    """The numbers from 0 to `last` beside every cut: in each cell, the nearest to any start is among them.

    Parameters
    ----------
    cuts : ndarray
        Thresholds of a forest.
    seen : sequence of callable
        What the forest is shown for a number, rising with it; it compares that as float32. Where there are several
        ways to compute it, numbers that they put on different sides of a cut, by rounding, are passed over.
    last : int
        The last number.

    Examples
    --------
    >>> beside(np.array([4.5, 7.0]), [lambda k: k], 20).tolist()
    [0.0, 4.0, 5.0, 7.0, 8.0, 20.0]
    """
    thresholds = np.unique(np.asarray(cuts, dtype=np.float64))
    found = [np.array([0.0, float(last)])]
    for extreme, beyond in ((np.max, 0.0), (np.min, 1.0)):
        low, high = np.full(thresholds.size, -1.0), np.full(thresholds.size, last + 1.0)
        while (high - low > 1.0).any():
            middle = np.floor((low + high) / 2.0)
            left = extreme([way(middle).astype(np.float32) for way in seen], axis=0) <= thresholds
            # An interval that is down to one step stays: its middle is its lower end again.
            low, high = np.where(left, middle, low), np.where(left | (middle <= low), high, middle)
        found.append(np.clip(low + beyond, 0.0, float(last)))
    return np.unique(np.concatenate(found))
