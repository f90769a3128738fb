"""Nearest-neighbour models of scikit-learn that are already fitted: what they measure, and whom they remember."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import parallel_config
from scipy import sparse
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.validation import check_is_fitted

from whence.errors import InputError, InputTypeError, NotFittedError
from whence.util.aliases import Floats

__all__ = ["FittedNeighbours", "read_neighbours"]

#: By this many roundings of the largest square a squared distance may be off that subtracts squares from each other.
SQUARES = 4.0


class FittedNeighbours(NamedTuple):
    """What is known of such a model: how many neighbours it has, by what metric, the rows it was fitted on, and what
    neighbours count by.
    """

    k: int
    metric: Any
    points: Floats
    weights: str


def read_neighbours(fitted: Any) -> FittedNeighbours:
    """What a fitted KNeighborsRegressor or KNeighborsClassifier knows; others are refused."""
    if not isinstance(fitted, KNeighborsRegressor | KNeighborsClassifier):
        raise InputTypeError(
            "'fitted' must be a fitted KNeighborsRegressor or KNeighborsClassifier of scikit-learn. "
            f"Got {type(fitted).__name__} instead.",
            parameter="fitted",
        )
    try:
        check_is_fitted(fitted)
    except SklearnNotFittedError:
        raise NotFittedError(f"'fitted' must be fitted. Got an unfitted {type(fitted).__name__} instead.") from None
    counted = fitted.weights or "uniform"
    if not isinstance(counted, str):
        raise InputError(
            "'fitted' must weigh neighbours alike or by their distance, weights='uniform' or 'distance'. "
            f"Got weights={fitted.weights!r} instead.",
            parameter="fitted",
        )
    if sparse.issparse(fitted._fit_X):
        raise InputError("'fitted' must be fitted on a dense table. Got a sparse matrix instead.", parameter="fitted")
    points = np.ascontiguousarray(fitted._fit_X, dtype=np.float64)
    return FittedNeighbours(int(fitted.n_neighbors), _metric(fitted, points.shape[1]), points, counted)


def _metric(fitted: Any, columns: int) -> Any:
    """The metric of a fitted model as :class:`whence.weights.KNNWeights` takes it."""
    name, given = fitted.effective_metric_, dict(fitted.effective_metric_params_ or {})
    power = given.pop("p", None)
    if name in ("minkowski", "p") and given.get("w") is None and power in (1, 2):
        name = {1: "manhattan", 2: "euclidean"}[int(power)]
    if name in ("manhattan", "l1", "cityblock"):
        return "l1"
    if name in ("euclidean", "l2"):
        return "euclidean"
    if name == "minkowski" and power == 2:
        return np.diag(np.asarray(given["w"], dtype=np.float64))
    if name == "seuclidean" and given.get("V") is not None:
        return np.diag(1.0 / np.asarray(given["V"], dtype=np.float64))
    if name == "mahalanobis" and (given.get("VI") is not None or given.get("V") is not None):
        matrix = given["VI"] if given.get("VI") is not None else np.linalg.inv(given["V"])
        return np.asarray(matrix, dtype=np.float64)
    words = f"metric={fitted.metric!r}" + (f" and p={fitted.p!r}" if fitted.metric == "minkowski" else "")
    raise InputError(
        "'fitted' must measure distances by 'euclidean', 'manhattan', 'seuclidean' or 'mahalanobis', with the "
        f"matrices that these need. Got {words} instead.",
        parameter="fitted",
    )


def check_same_rows(remembered: Floats, given: Floats) -> None:
    """Refuse other rows than those that the model was fitted on: it would answer with its own."""
    if remembered.shape != given.shape or not np.array_equal(remembered, given):
        raise InputError(
            f"'X' must be the {remembered.shape[0]} rows and {remembered.shape[1]} columns that the fitted neighbours "
            f"remember, in their order. Got others, of shape {given.shape}.",
            parameter="X",
        )


def own_neighbours(fitted: Any, row: Floats, count: int) -> tuple[Floats, Any]:
    """Distances and row numbers of the nearest rows to `row`, by the fitted model itself."""
    names = getattr(fitted, "feature_names_in_", None)
    shown: Any = row[None, :] if names is None else pd.DataFrame(row[None, :], columns=names)
    # In a worker of a cluster scikit-learn would otherwise send this single row round the cluster.
    with parallel_config(backend="sequential"):
        distance, index = fitted.kneighbors(shown, n_neighbors=count)
    return np.asarray(distance[0], dtype=np.float64), index[0]


def own_rounding(fitted: Any, points: Floats) -> float:
    """By how much a squared distance of the fitted model may be off, in the square of its units."""
    own = fitted._fit_X.dtype
    step = float(np.finfo(own).eps) if np.issubdtype(own, np.floating) else float(np.finfo(np.float64).eps)
    if fitted._fit_method == "brute" and fitted.effective_metric_ in ("euclidean", "l2"):
        return SQUARES * step * float((points**2).sum(axis=1).max())
    return SQUARES * step * float((np.ptp(points, axis=0) ** 2).sum())
