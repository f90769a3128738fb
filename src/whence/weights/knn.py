"""Nearest-neighbour weights: the k nearest past observations speak alike, the others not at all."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from whence.aliases import Floats
from whence.errors import InputError, NotFittedError

__all__ = ["KNNWeights"]


#: Distances that agree to this many decimals count as equal, whatever the order in which they were summed.
TIE_DECIMALS = 12


class KNNWeights(BaseEstimator):  # type: ignore[misc]
    """Weight 1/k on each of the k nearest observations, in the L1 norm of the coordinates.

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

    def __init__(self, k: int = 10) -> None:
        self.k = k

    def fit(self, X: ArrayLike, Y: ArrayLike | None = None) -> Self:
        """Remember the contexts `X` (coordinates); `Y` is not needed."""
        points = _matrix(X)
        n = points.shape[0]
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or not 1 <= self.k < n:
            raise InputError(
                f"The 'k' parameter of KNNWeights must be an int in [1, n_samples) with n_samples = {n}. "
                f"Got {self.k!r} instead."
            )
        self.points_ = points
        self.n_samples_, self.n_features_in_ = points.shape
        return self

    def neighbours(self, row: ArrayLike) -> NDArray[np.int64]:
        """Row numbers of the k nearest observations, nearest first."""
        distance = np.abs(self.points_ - np.asarray(row, dtype=np.float64)).sum(axis=1)
        return np.argsort(np.round(distance, TIE_DECIMALS), kind="stable")[: self.k]

    def weights(self, X: ArrayLike, as_sparse: bool = False) -> Any:
        """Weights of every training sample for each row of `X`.

        Returns
        -------
        ndarray of shape (rows, n), or a CSR matrix where `as_sparse` is True.
        """
        if not hasattr(self, "points_"):
            raise NotFittedError("This KNNWeights is not fitted yet; call 'fit' before using it.")
        points = _matrix(X, self.n_features_in_)
        columns = np.concatenate([self.neighbours(row) for row in points])
        starts = np.arange(0, columns.size + 1, self.k)
        values = np.full(columns.size, 1.0 / self.k)
        matrix = sparse.csr_matrix((values, columns, starts), shape=(len(points), self.n_samples_))
        return matrix if as_sparse else matrix.toarray()

    def at(self, row: ArrayLike) -> Floats:
        """Weights for one context."""
        return np.asarray(self.weights(np.asarray(row, dtype=np.float64)[None, :])[0])


def _matrix(X: ArrayLike, columns: int | None = None) -> Floats:
    points = np.ascontiguousarray(X, dtype=np.float64)
    if points.ndim != 2 or (columns is not None and points.shape[1] != columns):
        wanted = "2-D" if columns is None else f"of shape (rows, {columns})"
        raise InputError(f"'X' must be {wanted}. Got shape {points.shape} instead.")
    if not np.isfinite(points).all():
        raise InputError("'X' must be finite. Got NaN or infinity.")
    return points
