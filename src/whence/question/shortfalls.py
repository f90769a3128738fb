"""What orders cost in expectation where demand is a forecast plus residuals: curves made of lines.

For one product, an order q against a forecast f costs ``shortfall(q - f)`` on average, a convex curve with a corner at
every residual. As a function of the forecast, the difference between two orders is a curve made of lines, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.aliases import Floats

__all__ = ["Broken", "Shortfall"]


@dataclass(frozen=True, eq=False)
class Broken:
    """A curve made of lines: its corners in ascending order, its values there, and the slopes before and after all.

    Examples
    --------
    >>> hat = Broken(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 0.0]), 2.0, -1.0)
    >>> hat(np.array([-1.0, 2.0, 4.0]))
    array([-2.,  1., -1.])
    >>> hat.at_most(1.0)
    [(-inf, 0.5), (2.0, inf)]
    """

    at: Floats
    value: Floats
    before: float
    after: float

    def __call__(self, x: Floats) -> Floats:
        """Values at `x`."""
        x = np.asarray(x, dtype=np.float64)
        inside = np.interp(x, self.at, self.value)
        low, high = np.minimum(x - self.at[0], 0.0), np.maximum(x - self.at[-1], 0.0)
        found: Floats = inside + self.before * low + self.after * high
        return found

    def at_most(self, limit: float) -> list[tuple[float, float]]:
        """The intervals in which the curve is at most `limit`; ends may be infinite."""
        over = self.value - limit
        found: list[tuple[float, float]] = []
        begin: float | None = None
        if over[0] <= 0.0:
            # To the left of its first corner the curve rises, or falls, towards it.
            begin = -np.inf if self.before >= 0.0 else float(self.at[0] - over[0] / self.before)
        elif self.before > 0.0:
            found.append((-np.inf, float(self.at[0] - over[0] / self.before)))
        for i in range(1, self.at.size):
            if (over[i - 1] <= 0.0) == (over[i] <= 0.0):
                continue
            share = over[i - 1] / (over[i - 1] - over[i])
            crossing = float(self.at[i - 1] + share * (self.at[i] - self.at[i - 1]))
            if over[i] <= 0.0:
                begin = crossing
            else:
                assert begin is not None
                found.append((begin, crossing))
                begin = None
        if begin is not None:
            end = np.inf if self.after <= 0.0 else float(self.at[-1] - over[-1] / self.after)
            found.append((begin, end))
        elif over[-1] > 0.0 and self.after < 0.0:
            found.append((float(self.at[-1] - over[-1] / self.after), np.inf))
        return found


class Shortfall:
    """Mean cost of one product by how far the order lies above the forecast.

    Parameters
    ----------
    residuals : ndarray of shape (n,)
        What forecasts missed in the past.
    holding, backorder : float
        Cost of a unit left over, and short.

    Examples
    --------
    >>> cost = Shortfall(np.array([-1.0, 1.0]), holding=1.0, backorder=3.0)
    >>> cost(np.array([0.0, 1.0, 2.0])), cost.best
    (array([2., 1., 2.]), 1.0)
    """

    def __init__(self, residuals: Floats, holding: float, backorder: float) -> None:
        self.holding, self.backorder = float(holding), float(backorder)
        corners, counts = np.unique(residuals, return_counts=True)
        over = corners[:, None] - corners[None, :] if corners.size <= 256 else None
        if over is not None:
            value = np.maximum(holding * over, -backorder * over) @ counts / residuals.size
        else:
            value = self._by_sums(corners, counts.astype(np.float64))
        self.curve = Broken(corners, value, -self.backorder, self.holding)
        share = np.cumsum(counts) / residuals.size
        least = backorder / (holding + backorder)
        #: How far the best order lies above the forecast: the smallest, where there are several.
        self.best = float(corners[min(int(np.searchsorted(share, least - 1e-12)), corners.size - 1)])

    def _by_sums(self, corners: Floats, counts: Floats) -> Floats:
        """The values at the corners, from sums over those before and after."""
        middle = float(corners.mean())
        moved = corners - middle
        count, total = np.cumsum(counts), np.cumsum(counts * moved)
        n, whole = float(count[-1]), float(total[-1])
        left = count * moved - total
        right = (whole - total) - (n - count) * moved
        found: Floats = (self.holding * left + self.backorder * right) / n
        return found

    def __call__(self, over: Floats) -> Floats:
        """Mean cost where the order lies so far above the forecast."""
        return self.curve(over)

    def corners(self, order: float) -> Floats:
        """Forecasts at which the cost of an order has a corner."""
        return order - self.curve.at

    def against(self, order: float, rival: float, factor: float) -> Broken:
        """By how much an order costs more than `factor` times what another one costs, by the forecast."""
        at = np.unique(np.concatenate([self.corners(order), self.corners(rival)]))
        value = self(order - at) - factor * self(rival - at)
        left = 1.0 - factor
        return Broken(at, value, -self.holding * left, self.backorder * left)

    def regret(self, order: float, factor: float) -> Broken:
        """By how much an order costs more than `factor` times what the best one, which is not negative, costs."""
        # Below this forecast the best order is none at all.
        turn = -self.best
        none = self.corners(0.0)
        at = np.unique(np.concatenate([self.corners(order), none[none < turn], [turn]]))
        least = self(np.maximum(0.0, at + self.best) - at)
        value = self(order - at) - factor * least
        return Broken(at, value, -self.holding * (1.0 - factor), self.backorder)
