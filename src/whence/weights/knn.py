"""Nearest-neighbour weights: the k nearest past observations count alike, the others not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from whence.aliases import Floats
from whence.errors import InputError, InternalError
from whence.weights.base import Box, InputMap, Weights, as_mass, as_matrix
from whence.weights.nearby import UsuallyNear

__all__ = ["KNNWeights"]

#: Distances that agree to this many decimals count as equal, whatever the order in which they were summed.
TIE_DECIMALS = 12

#: Distances are known to 16 digits: how far outside the history a context may lie, in ranges for a separation of 1, so
#: that the rounding of a distance stays a thousand times below the separation; and the least separation that counts.
FARTHEST, LEAST_SEPARATION = 1e12, 1e-9

#: Numbers are rounded away from where they started, by no more than this share of their change.
FURTHER = 0.05
#: In a rounding box, neighbours stay this much nearer than all others: more than the rounding of distances.
CLEAR = 2e-7
#: How often a rounding box is halved before none is given.
HALVINGS = 24


class KNNWeights(Weights):
    """Weight 1/k on each of the k nearest observations, in the L1 norm of the coordinates.

    With a ``sample_weight``, the k nearest share in proportion to it; which ones they are does not depend on it.
    Ties go to the earlier observation: neighbours are ordered by distance, then by row number.

    Parameters
    ----------
    k : int
        Number of neighbours, at least 1 and less than the number of observations.

    Examples
    --------
    >>> import numpy as np
    >>> KNNWeights(k=2).fit(np.array([[0.0], [0.4], [1.0]]), np.zeros((3, 1))).weights([[0.1]])
    array([[0.5, 0.5, 0. ]])
    """

    kind: ClassVar[str] = "neighbours"
    label: ClassVar[str] = "nearest neighbours"
    needs_separation: ClassVar[bool] = True
    takes_sample_weight: ClassVar[bool] = True

    #: What each observation counts for; None where all count alike.
    mass_: Floats | None = None

    def __init__(self, k: int = 10) -> None:
        self.k = k

    def fit(self, X: ArrayLike, Y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Remember the contexts `X` (coordinates), and what they count for; `Y` is not needed."""
        points = as_matrix(X, self.dtype)
        n = points.shape[0]
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or not 1 <= self.k < n:
            raise InputError(
                f"The 'k' parameter of KNNWeights must be an int in [1, n_samples) with n_samples = {n}. "
                f"Got {self.k!r} instead.",
                parameter="k",
            )
        mass = as_mass(sample_weight, n)
        if mass is not None and not (mass > 0.0).all():
            raise InputError(
                "'sample_weight' must be positive in every row for nearest neighbours: k of them might count for "
                f"nothing. Got 0 in {int((mass <= 0.0).sum())} rows; leave these out.",
                parameter="sample_weight",
            )
        self.points_ = points
        self.n_samples_, self.n_features_in_ = points.shape
        if mass is not None:
            self.mass_ = mass
        else:
            self.__dict__.pop("mass_", None)
        return self

    @property
    def counts(self) -> Floats | None:
        """What each past observation counts for, where they do not count alike."""
        return self.mass_

    def shared(self, members: NDArray[np.integer]) -> Floats:
        """Weights of all observations where these are the nearest."""
        out = np.zeros(self.n_samples_)
        if self.mass_ is None:
            out[members] = 1.0 / self.k
        else:
            # In one order, so that the same neighbours always get the same weights.
            own = np.sort(members)
            out[own] = self.mass_[own] / self.mass_[own].sum()
        return out

    def neighbours(self, row: ArrayLike) -> NDArray[np.int64]:
        """Row numbers of the k nearest observations, nearest first."""
        distance = np.abs(self.points_ - np.asarray(row, dtype=np.float64)).sum(axis=1)
        return np.argsort(np.round(distance, TIE_DECIMALS), kind="stable")[: self.k]

    def rows(self, X: NDArray[Any]) -> sparse.csr_matrix:
        """Weights of every training sample for each row of `X`."""
        columns = np.concatenate([self.neighbours(row) for row in X])
        starts = np.arange(0, columns.size + 1, self.k)
        if self.mass_ is None:
            values = np.full(columns.size, 1.0 / self.k)
        else:
            columns = np.sort(columns.reshape(-1, self.k), axis=1).ravel()
            own = self.mass_[columns].reshape(-1, self.k)
            values = np.ravel([row / row.sum() for row in own])
        return sparse.csr_matrix((values, columns, starts), shape=(len(X), self.n_samples_))

    def check_start(self, start: Floats, separation: float, names: Sequence[str]) -> None:
        """Refuse a context from which distances to the neighbours would differ by rounding alone."""
        away = np.maximum(self.points_.min(axis=0) - start, start - self.points_.max(axis=0))
        j = int(np.argmax(away))
        most = FARTHEST * max(separation, LEAST_SEPARATION)
        if away[j] > most:
            raise InputError(
                f"The context must lie near enough to the history to tell its neighbours apart: {names[j]!r} lies "
                f"{away[j]:.3g} times its range outside. At most {most:.3g} times is possible with "
                f"separation={separation:g}.",
                parameter="context",
            )

    def confirmed(self, row: Floats, separation: float) -> Floats:
        """Weights at `row` by scikit-learn's own distances, which must set the k nearest apart from the rest."""
        # A tree answers one context in one thread; brute force would wake all cores for it.
        finder = NearestNeighbors(n_neighbors=self.k + 1, algorithm="kd_tree", metric="manhattan").fit(self.points_)
        # In a worker of a cluster scikit-learn would otherwise send this single row round the cluster.
        with parallel_config(backend="sequential"):
            distance, index = finder.kneighbors(row[None, :])
        gap = float(distance[0, -1] - distance[0, -2])
        if gap < separation - 1e-9:
            raise InternalError(f"The k-th and (k+1)-th neighbour are only {gap:.3g} apart in the context found.")
        return self.shared(index[0, :-1])

    def knows_spread(self, tail: float | None) -> bool:
        """The neighbours disagree about a mean, and about a tail that begins where it does for all of them.

        By how much is not known where they do not count alike.
        """
        return self.mass_ is None

    def per_tree(self, row: Floats) -> Floats:
        """Weights in a context by each neighbour alone."""
        found = np.zeros((self.k, self.n_samples_))
        found[np.arange(self.k), self.neighbours(row)] = 1.0
        return found

    def usual_measure(self, points: Floats) -> UsuallyNear:
        """A context is as usual as its neighbours are near."""
        return UsuallyNear(points, int(self.k))

    def rounding_box(
        self, start: Floats, point: Floats, row: Floats, inputs: InputMap, free: NDArray[np.bool_]
    ) -> Box | None:
        """A box from `point` away from `start`, along what is free, in which the neighbours stay the same.

        Examples
        --------
        >>> weights = KNNWeights(k=1).fit(np.array([[0.0], [1.0]]))
        >>> point, free = np.array([0.6]), np.array([True])
        >>> low, high = weights.rounding_box(np.array([0.2]), point, point, InputMap.identity(1), free)
        >>> low.round(2).tolist(), high.round(2).tolist()
        ([0.6], [0.62])
        """
        points = self.points_
        distance = np.abs(points - point).sum(axis=1)
        members = self.neighbours(point)
        others = np.setdiff1d(np.arange(len(points)), members)
        step = np.where(free, FURTHER * (point - start), 0.0)
        moving = np.flatnonzero(step)
        for _ in range(HALVINGS if moving.size else 0):
            # Observations farther away than all steps together can bridge are never candidates.
            reach = distance[members].max() + 2.0 * np.abs(step).sum() + CLEAR
            rivals = others[distance[others] <= reach]
            here, there = point[moving], point[moving] + step[moving]
            nearer = np.abs(points[:, moving] - there) - np.abs(points[:, moving] - here)
            # The lead of i over j changes monotonically along every coordinate, so that it is least in a corner.
            least = (
                np.minimum(nearer[rivals] - nearer[i], 0.0).sum(axis=1) + distance[rivals] - distance[i]
                for i in members
            )
            if all(float(lead.min(initial=np.inf)) > CLEAR for lead in least):
                return np.minimum(point, point + step), np.maximum(point, point + step)
            step /= 2.0
        return None

    def state(self) -> Iterator[Any]:
        """The number of neighbours, and the points that they are found among."""
        yield {"kind": self.kind, "k": int(self.k), "shape": list(self.points_.shape)}
        yield self.points_.ravel()
        if self.mass_ is not None:
            yield self.mass_

    def describe(self) -> str:
        """Number of the neighbours."""
        return f"the {self.k} nearest rows"
