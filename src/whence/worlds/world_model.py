"""What the outcomes are in a context, by the best predictor that can be found: a world whose truth is known.

A policy's own forest is no model of the world to judge it by: what it smooths away is missing in both. The mean of the
outcomes is that of several predictors, each for as much as it helps to predict rows that it was not fitted to; around
it lie the errors that these predictions made there, drawn from past contexts that the policy takes for similar as far
as these tell the size of errors that they have not seen, and else from all. Errors have no mean of their own anywhere:
that of a few similar ones is the luck of the history, which the policy sees, too, and would be true in such a world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
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
#: Past contexts whose errors may come anywhere, at most.
ANYWHERE = 300

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
    local : float
        Which part of the errors in a context comes from similar ones: 0 where errors are as large everywhere, up to 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((80, 2))
    >>> model = WorldModel(X, 3 * X[:, :1] + 0.1 * rng.normal(size=(80, 1)), seed=0)
    >>> bool(model.explained > 0.9)
    True
    """

    def __init__(
        self,
        X: Floats,
        Y: Floats,
        seed: int,
        world: Any = None,
        before_fit: Callable[[], None] = lambda: None,
        similar: Any = None,
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
        similar = sparse.csr_matrix((len(X), len(X))) if similar is None else similar
        self.local = local_share(similar, self.errors)
        rows = np.random.default_rng([seed, ANYWHERE]).permutation(len(X))[:ANYWHERE]
        self._anywhere = np.isin(np.arange(len(X)), rows) / len(rows)
        self._past = self._chances(similar)

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

    def around(self, X: Floats, similar: Any) -> Iterator[tuple[Floats, Floats]]:
        """What may come in each of some contexts, and how likely it is; past ones have these weights there."""
        chances = self._chances(similar)
        middles = self.mean(X) - chances @ self.errors
        for i, middle in enumerate(middles):
            row = slice(chances.indptr[i], chances.indptr[i + 1])
            yield self.possible(middle + self.errors[chances.indices[row]]), chances.data[row]

    def _chances(self, similar: Any) -> Any:
        """How likely each past error is in contexts in which past ones have these weights: a sparse row for each."""
        if self.local == 1.0:
            return similar
        ones = sparse.csr_matrix(np.ones((similar.shape[0], 1)))
        return sparse.csr_matrix(self.local * similar + (1.0 - self.local) * (ones @ sparse.csr_matrix(self._anywhere)))

    def possible(self, outcomes: Floats) -> Floats:
        """Outcomes as they may be: none below 0, and whole, where all past ones are."""
        found = np.maximum(outcomes, self.low)
        return np.where(self.whole, np.rint(found), found)

    def drawn(self, rng: np.random.Generator) -> Floats:
        """A history: an outcome for every past context."""
        middles = self.mean_there - self._past @ self.errors
        return self.possible(middles + self.errors[drawn_rows(self._past, rng)])


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


def drawn_rows(weights: Any, rng: np.random.Generator) -> NDArray[np.int64]:
    """By row of a CSR matrix of weights, a column drawn with these."""
    heights = rng.random(weights.shape[0])
    found = np.empty(weights.shape[0], dtype=np.int64)
    for i, height in enumerate(heights):
        start, end = weights.indptr[i], weights.indptr[i + 1]
        mass = np.cumsum(weights.data[start:end])
        found[i] = weights.indices[start + min(np.searchsorted(mass, height * mass[-1]), end - start - 1)]
    return found


def local_share(similar: Any, errors: Floats) -> float:
    """How much the size of errors follows that of similar past contexts, which have these weights.

    Where errors are as large everywhere, what differs between neighbourhoods is luck, and the size of an error that was
    left out does not follow it.

    >>> local_share(sparse.csr_matrix(np.full((4, 4), 0.25)), np.array([[1.0], [2.0], [3.0], [4.0]]))
    0.0
    """
    others = sparse.csr_matrix(similar - sparse.diags(similar.diagonal()))
    mass = np.asarray(others.sum(axis=1)).ravel()
    squares = errors**2
    usual = squares.mean(axis=0)
    some, varies = mass > 0.0, usual > 0.0
    told = (np.asarray(others @ squares)[some] / mass[some, None])[:, varies] / usual[varies] - 1.0
    seen = squares[some][:, varies] / usual[varies] - 1.0
    size = float((told**2).sum())
    return float(np.clip((told * seen).sum() / size, 0.0, 1.0)) if size > 0.0 else 0.0


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
