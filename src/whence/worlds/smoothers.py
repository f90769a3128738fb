"""Smooth predictors of several outcomes at once, whose penalty is chosen by leaving out each row."""

from __future__ import annotations

from typing import Self

import numpy as np

from whence.util.aliases import Floats

#: Penalties that are tried, as shares of the largest eigenvalue.
PENALTIES = np.logspace(-7, 0, 15)
#: Widths of the kernel that are tried, as multiples of the median distance between rows.
WIDTHS = (0.7, 1.5, 3.0)


class Ridge:
    """Linear regression with a penalty, on the columns or also on their products.

    Examples
    --------
    >>> X = np.arange(6.0)[:, None]
    >>> Ridge().fit(X, 2 * X + 1).predict([[2.5]]).round(3)
    array([[6.]])
    """

    def __init__(self, squares: bool = False) -> None:
        self.squares = squares

    def fit(self, X: Floats, Y: Floats) -> Self:
        """Learn from contexts and outcomes."""
        self._centre, self._scale = X.mean(axis=0), _spread(X)
        seen = self._seen(X)
        self._middle, self._mean = seen.mean(axis=0), Y.mean(axis=0)
        left, values, right = np.linalg.svd(seen - self._middle, full_matrices=False)
        turned = left.T @ (Y - self._mean)
        squares = values**2
        penalty = _least_error(left, squares, turned, Y - self._mean)
        self._slopes = right.T @ ((values / (squares + penalty))[:, None] * turned)
        return self

    def predict(self, X: Floats) -> Floats:
        """The outcomes in each context."""
        found: Floats = (self._seen(np.asarray(X, dtype=np.float64)) - self._middle) @ self._slopes + self._mean
        return found

    def _seen(self, X: Floats) -> Floats:
        scaled: Floats = (X - self._centre) / self._scale
        if not self.squares:
            return scaled
        first, second = np.triu_indices(scaled.shape[1])
        found: Floats = np.hstack([scaled, scaled[:, first] * scaled[:, second]])
        return found


class KernelRidge:
    """Regression with a Gaussian kernel: smooth means of any shape.

    Examples
    --------
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> bool(abs(KernelRidge().fit(X, np.sin(6 * X)).predict([[0.5]])[0, 0] - np.sin(3.0)) < 0.01)
    True
    """

    def fit(self, X: Floats, Y: Floats) -> Self:
        """Learn from contexts and outcomes."""
        self._scale = _spread(X)
        self._rows, self._mean = X / self._scale, Y.mean(axis=0)
        apart = _squared(self._rows, self._rows)
        usual = float(np.median(apart[apart > 0.0])) if (apart > 0.0).any() else 1.0
        least = np.inf
        for width in WIDTHS:
            values, vectors = np.linalg.eigh(np.exp(-apart / (2.0 * usual * width**2)))
            values = np.maximum(values, 0.0)
            turned = vectors.T @ (Y - self._mean)
            penalty, error = _best_penalty(vectors, values, turned, Y - self._mean)
            if error < least:
                least, self._width = error, 2.0 * usual * width**2
                self._parts = vectors @ (turned / (values + penalty)[:, None])
        return self

    def predict(self, X: Floats) -> Floats:
        """The outcomes in each context."""
        near = np.exp(-_squared(np.asarray(X, dtype=np.float64) / self._scale, self._rows) / self._width)
        found: Floats = near @ self._parts + self._mean
        return found


def _least_error(vectors: Floats, values: Floats, turned: Floats, Y: Floats) -> float:
    return _best_penalty(vectors, values, turned, Y)[0]


def _best_penalty(vectors: Floats, values: Floats, turned: Floats, Y: Floats) -> tuple[float, float]:
    """The penalty whose predictions of rows left out miss least, and by how much; eigenvalues and -vectors are given.

    What a linear smoother says of a row that it has not seen follows from what it says of it otherwise.
    """
    best = (1.0, np.inf)
    most = max(float(values.max(initial=0.0)), 1e-12)
    for share in PENALTIES:
        kept = values / (values + share * most)
        said = vectors @ (kept[:, None] * turned)
        own = np.minimum((vectors**2) @ kept + 1.0 / len(Y), 1.0 - 1e-6)
        error = float((((Y - said) / (1.0 - own)[:, None]) ** 2).sum())
        if error < best[1]:
            best = (share * most, error)
    return best


def _spread(X: Floats) -> Floats:
    found = X.std(axis=0)
    return np.where(found > 0.0, found, 1.0)


def _squared(A: Floats, B: Floats) -> Floats:
    found: Floats = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)[None, :] - 2.0 * A @ B.T
    return np.maximum(found, 0.0)
