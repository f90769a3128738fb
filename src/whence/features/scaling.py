"""What counts as one unit of change: the range of the history, another measure of it, or a number of the user's."""

from __future__ import annotations

import numpy as np

from whence.aliases import Floats
from whence.errors import InputError
from whence.features.kinds import Feature, NumberFeature
from whence.question.curves import Curve

__all__ = ["unit_of_change"]


def unit_of_change(name: str, feature: Feature, raw: Floats, offset: float, scale: float) -> tuple[float, Curve | None]:
    """One unit of change as a multiple of the coordinates' own, and the curve where no multiple says it.

    `raw` are the values of the history, ``(raw - offset) / scale`` their coordinates.

    Examples
    --------
    >>> from whence.features.kinds import Continuous
    >>> raw = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    >>> [unit_of_change("delay", Continuous(scale=s), raw, 0.0, 100.0)[0] for s in ("range", "iqr", 5)]
    [1.0, 0.02, 0.05]
    """
    how = feature.scale if isinstance(feature, NumberFeature) else "range"
    if how == "range":
        return 1.0, None
    if how == "quantile":
        return 1.0, Curve.of((raw - offset) / scale)
    if how == "iqr":
        first, third = np.quantile(raw, [0.25, 0.75])
        if not third > first:
            raise InputError(
                f"The 'scale' of {name!r} must be another than 'iqr': half of its history is the same value, so that "
                "there is no interquartile range.",
                parameter="scale",
            )
        return float(third - first) / scale, None
    return float(how) / scale, None
