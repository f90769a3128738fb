"""How neighbours share a weight of 1 by their distances, and distances the short way round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whence.checks import one_of, share
from whence.util.aliases import Floats

__all__ = ["SHARES", "check_shares", "inverse_shares", "short_way", "turning", "unrolled"]

#: What neighbours count by: alike, or by the inverse of their distance.
SHARES = ("uniform", "distance")


def check_shares(weights: Any, gap: Any) -> None:
    """Refuse what neighbours cannot count by, and a gap that is none."""
    one_of(*SHARES).check("weights", weights, "KNNWeights")
    share("()", "a float above 0 and below 1").check("gap", gap, "KNNWeights")


def inverse_shares(distance: Floats, mass: Floats | None = None) -> Floats:
    """What each of some neighbours counts for at these distances, in all 1; those at distance 0 share it among them.

    Examples
    --------
    >>> inverse_shares(np.array([1.0, 3.0])).tolist(), inverse_shares(np.array([0.0, 3.0, 0.0])).tolist()
    ([0.75, 0.25], [0.5, 0.0, 0.5])
    """
    nearest = distance.min()
    # In units of the nearest one nothing overflows.
    shares = (distance == 0.0).astype(np.float64) if nearest == 0.0 else nearest / distance
    if mass is not None:
        shares = shares * mass
    found: Floats = shares / shares.sum()
    return found


def short_way(gaps: Floats, circles: Mapping[int, float]) -> Floats:
    """Absolute differences, a column a coordinate, of which those that go round are taken the short way.

    Examples
    --------
    >>> short_way(np.array([[-0.9, 0.9]]), {0: 1.0}).round(3).tolist()
    [[0.1, 0.9]]
    """
    away = np.abs(gaps)
    for j, period in circles.items():
        away[..., j] = np.minimum(away[..., j], np.abs(period - away[..., j]))
    return away


def unrolled(points: Floats, at: Floats, circles: Mapping[int, float]) -> Floats:
    """The points with coordinates that go round moved by whole periods, so that they are as near to `at` as can be.

    Examples
    --------
    >>> unrolled(np.array([[0.9, 0.9]]), np.zeros(2), {0: 1.0}).round(3).tolist()
    [[-0.1, 0.9]]
    """
    if not circles:
        return points
    near = points.copy()
    for j, period in circles.items():
        near[:, j] += period * np.round((at[j] - near[:, j]) / period)
    return near


def turning(points: Floats, low: Floats, high: Floats, circles: Mapping[int, float]) -> dict[int, np.ndarray]:
    """For every coordinate that goes round: of which points, unrolled, the opposite lies between `low` and `high`."""
    return {
        j: (np.abs(points[:, j] - low[j]) > period / 2.0) | (np.abs(points[:, j] - high[j]) > period / 2.0)
        for j, period in circles.items()
    }
