"""What the outcomes are in a context, by the best predictor that can be found: a world whose truth is known.

A policy's own forest is no model of the world to judge it by: what it smooths away is missing in both. The mean of the
outcomes is that of several predictors, each for as much as it helps to predict rows that it was not fitted to; around
it lie the errors that these predictions made there, drawn from past contexts that the policy takes for similar.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from whence.errors import InputError
from whence.util.aliases import Floats
from whence.worlds.bagging import Bagging
from whence.worlds.smoothers import KernelRidge, Ridge

#: Parts of the history, each of which is predicted by models that were fitted to the others.
FOLDS = 5
#: Most products of two columns, and outcomes times rows that boosting, which learns one outcome at a time, is tried on.
MOST_SQUARES, MOST_BOOSTED = 300, 20_000
#: Most rows for which a kernel is tried: it takes their number to the third.
MOST_KERNEL = 2_000
#: A predictor that counts for less than this in the mean of all is left out.
LEAST = 0.05
#: A share of the variance: a model that explains so much more of it than the policy's own weights is clearly better.
CLEARLY = 0.05

Predict = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Candidate:
    """A way to predict outcomes: what it is called, and from contexts, outcomes and a seed to what predicts."""

    name: str
    fit: Callable[[Floats, Floats, int], Predict]


class WorldModel:
    """The outcomes in any context: a mean, and errors around it.

    Attributes
    ----------
    name : str
        The predictors that make the mean, with their shares.
    explained : float
        The share of the outcomes' variance that is explained on rows not fitted to.
    shares : ndarray
        What each of `tried` counts for.
    errors : ndarray of shape (n, m)
        By how much each past outcome missed its prediction by models that had not seen it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((80, 2))
    >>> model = WorldModel(X, 3 * X[:, :1] + 0.1 * rng.normal(size=(80, 1)), seed=0)
    >>> bool(model.explained > 0.9)
    True
    """

    def __init__(
        self, X: Floats, Y: Floats, seed: int, world: Any = None, before_fit: Callable[[], None] = lambda: None
    ) -> None:
        Y = np.asarray(Y, dtype=np.float64)
        self.low, self.whole = _floors(Y), _whole(Y)
        offered = candidates(X, Y, world)
        self.tried = tuple(one.name for one in offered)
        scale = Y.std(axis=0)
        scale[scale == 0.0] = 1.0
        apart = np.stack([crossed(one, X, Y, seed, before_fit) for one in offered])
        self.shares = _stacked(apart / scale, Y / scale)
        self.errors: Floats = Y - np.tensordot(self.shares, apart, 1)
        self.explained = explained_share(Y, Y - self.errors)
        self._parts: list[tuple[float, Predict]] = []
        with threadpool_limits(1):
            for share, one in zip(self.shares, offered, strict=True):
                if share > 0.0:
                    before_fit()
                    self._parts.append((share, one.fit(X, Y, seed)))
            self.mean_there: Floats = self.mean(X)

    @property
    def name(self) -> str:
        """The predictors that make the mean, the one that counts most first.

        >>> X = np.arange(40.0)[:, None]
        >>> "ridge" in WorldModel(X, 2 * X + np.sin(9 * X), seed=0).name
        True
        """
        order = np.argsort(-self.shares, kind="stable")
        kept = [(self.tried[i], self.shares[i]) for i in order if self.shares[i] > 0.0]
        if len(kept) == 1:
            return str(kept[0][0])
        return ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in kept)

    def mean(self, X: Floats) -> Floats:
        """The mean outcome in each of some contexts."""
        with threadpool_limits(1):
            return np.asarray(np.sum([share * predict(X) for share, predict in self._parts], axis=0))

    def around(self, mean: Floats, rows: Any = slice(None)) -> Floats:
        """What may come where that is the mean: one row for each past error, or for those of some `rows`."""
        return self.possible(mean + self.errors[rows])

    def possible(self, outcomes: Floats) -> Floats:
        """Outcomes as they may be: none below 0, and whole, where all past ones are."""
        found = np.maximum(outcomes, self.low)
        return np.where(self.whole, np.rint(found), found)

    def drawn(self, chosen: NDArray[np.int64]) -> Floats:
        """A history: an outcome for every past context, with the error of the past context that was `chosen` for it."""
        return self.possible(self.mean_there + self.errors[chosen])


def candidates(X: Floats, Y: Floats, world: Any = None) -> list[Candidate]:
    """The predictors that are tried on this many rows, columns and outcomes."""
    rows, columns = X.shape
    found = [Candidate("forest", _forest)]
    complete = bool(np.isfinite(X).all())
    if complete:
        found += [Candidate("ridge", _then(Ridge)), Candidate("ridge and forest", _then(Ridge, _forest))]
        if columns * (columns + 1) // 2 <= min(MOST_SQUARES, rows // 2):
            squares = _then(lambda: Ridge(squares=True))
            found += [
                Candidate("quadratic ridge", squares),
                Candidate("quadratic ridge and forest", _then(lambda: Ridge(squares=True), _forest)),
            ]
        if rows <= MOST_KERNEL:
            found.append(Candidate("kernel ridge", _then(KernelRidge)))
    found.append(Candidate("forest twice", _forest_twice))
    if rows * Y.shape[1] <= MOST_BOOSTED:
        found.append(Candidate("boosting", _boosting))
    if world is not None:
        found.append(Candidate(f"your {type(world).__name__}", _own(world)))
    return found


def explained_share(Y: Floats, predicted: Floats) -> float:
    """The share of the outcomes' variance that predictions explain, each outcome in its own scale.

    >>> explained_share(np.array([[1.0], [3.0]]), np.array([[2.0], [2.0]]))
    0.0
    """
    spread = Y.var(axis=0)
    varies = spread > 0.0
    if not varies.any():
        return 1.0
    missed = ((Y - predicted) ** 2).mean(axis=0)[varies]
    return float(1.0 - (missed / spread[varies]).mean())


# ---- the predictors ------------------------------------------------------------------------------------------------


def _predicts(model: Any, outcomes: int) -> Predict:
    def predict(X: Floats) -> Floats:
        return np.asarray(model.predict(X), dtype=np.float64).reshape(len(X), outcomes)

    return predict


def _forest(X: Floats, Y: Floats, seed: int) -> Predict:
    return Bagging().fit(X, Y, seed).predict


def _forest_twice(X: Floats, Y: Floats, seed: int) -> Predict:
    """A forest, and another one that learns what the first one missed of rows that its trees had not seen."""
    first = Bagging().fit(X, Y, seed)
    second = Bagging().fit(X, Y - first.unseen, seed + 1)
    return lambda at: first.predict(at) + second.predict(at)


def _then(smooth: Callable[[], Any], rest: Callable[[Floats, Floats, int], Predict] | None = None) -> Any:
    """A smooth model, and what predicts the rest of the outcomes."""

    def fit(X: Floats, Y: Floats, seed: int) -> Predict:
        first = _predicts(smooth().fit(X, Y), Y.shape[1])
        if rest is None:
            return first
        parts = [first, rest(X, Y - first(X), seed)]
        return lambda at: np.sum([part(at) for part in parts], axis=0)

    return fit


def _boosting(X: Floats, Y: Floats, seed: int) -> Predict:
    models = [
        HistGradientBoostingRegressor(
            max_iter=100, learning_rate=0.08, max_leaf_nodes=8, min_samples_leaf=8, random_state=seed
        ).fit(X, Y[:, j])
        for j in range(Y.shape[1])
    ]
    return lambda at: np.stack([model.predict(at) for model in models], axis=1)


def _own(world: Any) -> Callable[[Floats, Floats, int], Predict]:
    def fit(X: Floats, Y: Floats, seed: int) -> Predict:
        fresh = clone(world)
        fresh.fit(X, Y.ravel() if Y.shape[1] == 1 else Y)
        predict = _predicts(fresh, Y.shape[1])
        if not np.isfinite(predict(X[:1])).all():
            raise InputError("'world' must predict finite numbers. Got others.", parameter="world")
        return predict

    return fit


# ---- how they are joined -------------------------------------------------------------------------------------------


def crossed(one: Candidate, X: Floats, Y: Floats, seed: int, before_fit: Callable[[], None] = lambda: None) -> Floats:
    """What a predictor says of every row where it was fitted to the folds that do not hold it."""
    found = np.empty(Y.shape)
    # Threads that share the work of one fit wait for each other by turning in place: on a busy machine that takes many
    # times as long as one thread does.
    with threadpool_limits(1):
        for fitted, left in KFold(min(FOLDS, len(X)), shuffle=True, random_state=seed).split(X):
            before_fit()
            found[left] = one.fit(X[fitted], Y[fitted], seed)(X[left])
    return found


def _stacked(apart: Floats, Y: Floats) -> Floats:
    """What each predictor counts for, none less than 0 and 1 in all, so that their mean misses least."""
    middle = Y.mean(axis=0)
    columns = (apart - middle).reshape(len(apart), -1).T
    found, _ = nnls(columns, (Y - middle).ravel())
    best = int(np.argmin(((apart - Y) ** 2).sum(axis=(1, 2))))
    if found.sum() <= 0.0:
        found = np.eye(len(apart))[best]
    found = found / found.sum()
    found[found < LEAST] = 0.0
    return np.asarray(found / found.sum())


def _floors(Y: Floats) -> Floats:
    return np.where((Y >= 0.0).all(axis=0), 0.0, -np.inf)


def _whole(Y: Floats) -> Floats:
    return np.asarray((np.rint(Y) == Y).all(axis=0))
