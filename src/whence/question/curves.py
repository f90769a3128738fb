"""How far a value is along its axis where that is not simply its coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.aliases import Floats

__all__ = ["Curve"]


@dataclass(frozen=True, eq=False)
class Curve:
    """A rising, piecewise linear function of a coordinate: the share of the history that it has passed.

    Beyond the first and the last knot it goes on with slope 1, so that whoever is outside the history still moves.

    Attributes
    ----------
    at, passed : ndarray
        The knots, both ascending.

    Examples
    --------
    >>> curve = Curve.of(np.array([0.0, 0.1, 0.1, 1.0]))
    >>> curve(np.array([0.0, 0.1, 0.55, 1.0, 1.5])).tolist()
    [0.125, 0.5, 0.6875, 0.875, 1.375]
    """

    at: Floats
    passed: Floats

    @classmethod
    def of(cls, points: Floats) -> Curve:
        """Of coordinates of the past: those below, and half of those that are equal, are passed."""
        at, counts = np.unique(points, return_counts=True)
        return cls(at, (np.cumsum(counts) - 0.5 * counts) / points.size)

    def __call__(self, points: Floats) -> Floats:
        """How far points are along the axis."""
        outside = np.minimum(points - self.at[0], 0.0) + np.maximum(points - self.at[-1], 0.0)
        along: Floats = np.interp(points, self.at, self.passed) + outside
        return along
