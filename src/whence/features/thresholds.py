"""Where trees turn that see the user's own numbers, as coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.features.space import Space
from whence.util.aliases import Floats
from whence.weights.base import InputMap

__all__ = ["settled"]


def settled(
    space: Space, inputs: InputMap, column: NDArray[np.int64], last: Floats, below: Floats, beyond: Floats
) -> tuple[Floats, Floats]:
    """The ends of every turn, those settled on which a number of the question lies, to its coordinate's last digit.

    Two numbers of the user may have one coordinate, and a threshold lie between them: 0 and the smallest number above
    it, for instance, once something was added to both. What counts then is which of them the question names.

    Parameters
    ----------
    column : ndarray
        The estimator's column of each turn.
    last : ndarray
        The last number before it, in the estimator's units.
    below, beyond : ndarray
        The last coordinate before it and the first beyond it, as ``InputMap.turns`` gives them.
    """
    between = np.nextafter(below, np.inf)
    at = inputs.coordinate[column]
    named = np.array([levels is not None for levels in space.levels])[at]
    for values in (space.start, space.lower, space.upper):
        named |= values[at] == between
    # 0 is a number of its own for many a model, and what a context is given at its coordinate.
    zero = -inputs.offset[column] / inputs.scale[column]
    named |= zero == between
    unsure = np.flatnonzero(named & (np.nextafter(between, np.inf) == beyond))
    if not unsure.size:
        return below, beyond
    below, beyond = below.copy(), beyond.copy()
    for k in unsure.tolist():
        c = int(column[k])
        number = _number_at(space, int(at[k]), float(between[k]), float(inputs.scale[c]), float(inputs.offset[c]))
        if number is None:
            continue
        if number <= last[k]:
            below[k] = between[k]
        else:
            beyond[k] = between[k]
    return below, beyond


def _number_at(space: Space, q: int, at: float, scale: float, offset: float) -> float | None:
    """The number, in the user's units, that the question names at coordinate `at` of column `q`; None for none."""
    if space.start[q] == at and space.initial is not None and not np.isnan(space.initial[q]):
        return float(space.initial[q])
    for end, coordinate in enumerate((space.lower[q], space.upper[q])):
        if coordinate == at and space.ends is not None and np.isfinite(space.ends[end][q]):
            return float(space.ends[end][q])
    levels = space.levels[q]
    if (0.0 - offset) / scale == at:
        return 0.0
    if at not in (space.lower[q], space.upper[q]) and (levels is None or at not in levels):
        return None
    # Such numbers are written with few digits: what is meant is the shortest one.
    near = at * scale + offset
    for digits in range(16):
        short = round(near, digits)
        if (short - offset) / scale == at:
            return short
    return near
