"""How usual a context is to nearest neighbours: as usual as they are near."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from joblib import parallel_config
from sklearn.neighbors import NearestNeighbors

from whence.aliases import Floats
from whence.weights.sharing import short_way, unrolled

__all__ = ["Nearby", "UsuallyNear"]

#: By how much farther than the radius engines may place a neighbour, so that contexts right on it count, and by how
#: much it may be found to be farther: rounding of a solver.
PLACED, SAME = 1e-9, 1e-8

#: How often a box is halved before none is given.
HALVINGS = 24


@dataclass(frozen=True, eq=False)
class Nearby:
    """Contexts whose k-th nearest past context is at most `radius` away, in the L1 norm of the coordinates.

    Attributes
    ----------
    points : ndarray
        Past contexts in coordinates, one per row.
    k : int
        Number of neighbours.
    radius : float
        Largest distance of the k-th one.
    circles : mapping from coordinate to float
        Coordinates that go round, with their period.

    Examples
    --------
    >>> near = Nearby(np.array([[0.0], [0.4], [1.0]]), k=1, radius=0.1)
    >>> near.accepts(np.array([0.5])), near.accepts(np.array([0.6]))
    (True, False)
    """

    points: Floats
    k: int
    radius: float
    circles: Mapping[int, float] = field(default_factory=dict)

    @property
    def widest(self) -> float:
        """The radius as engines take it, a hair wider."""
        return self.radius + PLACED

    def accepts(self, point: Floats) -> bool:
        """Whether a context, in coordinates, is near enough to the history."""
        return bool(kth_distance(self.points, self.k, point, self.circles) <= self.radius + SAME)

    def kept(self, point: Floats, box: tuple[Floats, Floats]) -> tuple[Floats, Floats] | None:
        """The part of a box around `point`, with the same neighbours in all of it, in which they are near enough."""
        low, high = box
        points = unrolled(self.points, point, self.circles)
        distance = np.abs(points - point).sum(axis=1)
        members = points[np.argsort(distance, kind="stable")[: self.k]]
        for _ in range(HALVINGS):
            if np.maximum(np.abs(members - low), np.abs(members - high)).sum(axis=1).max() <= self.radius + SAME:
                return low, high
            low, high = (low + point) / 2.0, (high + point) / 2.0
        return None


class UsuallyNear:
    """The past contexts in the order of how usual they are: by the distance of their k-th neighbour among the others.

    Parameters
    ----------
    points : ndarray
        Past contexts in coordinates, one per row, more than k of them.
    k : int
        Number of neighbours.
    circles : mapping from coordinate to float, optional
        Coordinates that go round, with their period.

    Examples
    --------
    >>> usual = UsuallyNear(np.array([[0.0], [0.1], [0.3], [1.0]]), k=1)
    >>> usual.own.round(12).tolist()
    [0.7, 0.2, 0.1, 0.1]
    >>> usual.share(np.array([0.5])), round(usual.at_least(0.5).radius, 12)
    (0.5, 0.2)
    """

    def __init__(self, points: Floats, k: int, circles: Mapping[int, float] | None = None) -> None:
        self.points, self.k, self.circles = points, k, dict(circles or {})
        if self.circles:
            own = [kth_distance(points, k + 1, point, self.circles) for point in points]
            self.own: Floats = -np.sort(-np.array(own))
            return
        # The nearest of all is the past context itself, or one that is equal to it.
        finder = NearestNeighbors(n_neighbors=k + 1, algorithm="kd_tree", metric="manhattan").fit(points)
        with parallel_config(backend="sequential"):
            self.own = -np.sort(-finder.kneighbors(points)[0][:, k])

    def share(self, point: Floats) -> float:
        """The share of the history that is not more usual than `point`: whose neighbours are no nearer."""
        return float((self.own >= kth_distance(self.points, self.k, point, self.circles) - SAME).mean())

    def at_least(self, share: float) -> Nearby:
        """The contexts that are not less usual than this share of the history."""
        place = max(0, int(np.ceil(share * self.own.size - 1e-9)) - 1)
        return Nearby(self.points, self.k, float(self.own[place]), self.circles)


def kth_distance(points: Floats, k: int, point: Floats, circles: Mapping[int, float]) -> float:
    """Distance of the k-th nearest past context."""
    return float(np.partition(short_way(points - point, circles).sum(axis=1), k - 1)[k - 1])
