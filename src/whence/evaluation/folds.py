"""Which rows are learned from and which are held out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from whence.aliases import Floats
from whence.errors import InputError, InputTypeError, WhenceError

__all__ = ["Fold", "folds_of", "thinned"]

#: Fewest rows to learn from.
LEAST_TRAIN = 2
WANTED = "be an int >= 2, a splitter of scikit-learn, or an iterable of (train, test) row numbers"


class Fold(NamedTuple):
    """Row numbers to learn from, and those held out."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def folds_of(cv: Any, X: pd.DataFrame, Y: Floats) -> list[Fold]:
    """The folds that `cv` stands for; a number is that many folds of rows drawn at random, always the same ones.

    Examples
    --------
    >>> X, Y = pd.DataFrame({"x": range(6)}), np.zeros((6, 1))
    >>> [fold.test.tolist() for fold in folds_of(3, X, Y)]
    [[2, 5], [1, 3], [0, 4]]
    """
    rows = len(X)
    if isinstance(cv, bool) or (isinstance(cv, int | np.integer) and not 2 <= cv <= rows):
        raise InputError(f"'cv' must {WANTED}, at most the {rows} rows. Got {cv!r} instead.", parameter="cv")
    splitter = KFold(int(cv), shuffle=True, random_state=0) if isinstance(cv, int | np.integer) else cv
    try:
        pairs = splitter.split(X, Y) if hasattr(splitter, "split") and not isinstance(splitter, str) else splitter
        if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
            raise InputTypeError(f"'cv' must {WANTED}. Got {cv!r} instead.", parameter="cv")
        folds = [Fold(_rows(train, rows), _rows(test, rows)) for train, test in pairs]
    except WhenceError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"'cv' must {WANTED} that fits the {rows} rows: {error}", parameter="cv") from None
    if not folds:
        raise InputError(f"'cv' must {WANTED}. Got no fold at all.", parameter="cv")
    for number, fold in enumerate(folds, start=1):
        _check(number, fold)
    return folds


def thinned(fold: Fold, most: int) -> Fold:
    """`fold` with at most so many rows held out, drawn at random, always the same ones."""
    if fold.test.size <= most:
        return fold
    chosen = np.random.default_rng(0).choice(fold.test.size, most, replace=False)
    return Fold(fold.train, fold.test[np.sort(chosen)])


def _rows(given: Any, rows: int) -> NDArray[np.int64]:
    array = np.asarray(given)
    if array.dtype == bool:
        array = np.flatnonzero(array)
    if array.ndim != 1 or not (array.size == 0 or np.issubdtype(array.dtype, np.integer)):
        raise ValueError("row numbers must be whole numbers in one dimension.")
    if array.size and not (array.min() >= 0 and array.max() < rows):
        raise ValueError(f"row numbers must lie in [0, {rows}).")
    return array.astype(np.int64)


def _check(number: int, fold: Fold) -> None:
    if fold.train.size < LEAST_TRAIN or fold.test.size < 1:
        raise InputError(
            f"Every fold of 'cv' must have at least {LEAST_TRAIN} rows to learn from and 1 to hold out. "
            f"Got {fold.train.size} and {fold.test.size} in fold {number}.",
            parameter="cv",
        )
    if np.intersect1d(fold.train, fold.test).size:
        raise InputError(
            f"No fold of 'cv' may hold out rows that it learns from. Got such rows in fold {number}.", parameter="cv"
        )
