"""Between which shares the true one lies where one was seen in some cases."""

from __future__ import annotations

import math

#: Standard deviations of a share on either side of it: nine of ten such intervals hold the true one.
NINE_OF_TEN = 1.645

Interval = tuple[float, float]


def wilson(share: float, count: float, z: float = NINE_OF_TEN) -> Interval:
    """Wilson's interval of a share that was seen in this many cases, `z` standard deviations to either side.

    >>> low, high = wilson(0.9, 70)
    >>> round(low, 2), round(high, 2)
    (0.83, 0.94)
    """
    middle = (share + z * z / (2.0 * count)) / (1.0 + z * z / count)
    half = z / (1.0 + z * z / count) * math.sqrt(share * (1.0 - share) / count + z * z / (4.0 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)
