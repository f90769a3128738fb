"""The best of some plans by their sample costs alone: far quicker than a decision problem is solved."""

from __future__ import annotations

import numpy as np

from whence.aliases import Floats

__all__ = ["ListedBest"]

#: Up to this share of the observations that count, their costs are sorted anew: a leaf holds few of them.
FEW = 0.25


class ListedBest:
    """Given weights, the sample costs of the best of some plans; the first of a tie.

    Parameters
    ----------
    rows : ndarray of shape (plans, n)
        What the plans cost under each past observation.
    tail : float, optional
        The worst share of which the mean is taken; the mean of all where there is none.

    Examples
    --------
    >>> best = ListedBest(np.array([[1.0, 9.0], [4.0, 4.0]]), tail=0.5)
    >>> best(np.array([0.5, 0.5]))
    array([4., 4.])
    """

    def __init__(self, rows: Floats, tail: float | None) -> None:
        self.rows, self.tail = rows, tail
        # The worst observations of every plan come first.
        self.order = None if tail is None else np.argsort(-rows, axis=1, kind="stable")
        self.sorted = None if self.order is None else np.take_along_axis(rows, self.order, axis=1)

    def __call__(self, weights: Floats) -> Floats:
        """The sample costs of the best plan."""
        best: Floats = self.rows[int(np.argmin(self.values(weights)))]
        return best

    def values(self, weights: Floats) -> Floats:
        """The risk of every plan, in proportion."""
        if self.tail is None or self.order is None or self.sorted is None:
            return np.asarray(self.rows @ weights)
        some = np.flatnonzero(weights)
        if some.size <= FEW * weights.size:
            rows = self.rows[:, some]
            order = np.argsort(-rows, axis=1, kind="stable")
            costs, mass = np.take_along_axis(rows, order, axis=1), weights[some][order]
        else:
            costs, mass = self.sorted, weights[self.order]
        before = np.cumsum(mass, axis=1) - mass
        return np.asarray((np.minimum(mass, np.maximum(self.tail - before, 0.0)) * costs).sum(axis=1))
