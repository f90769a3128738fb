"""What scikit-learn, and packages built on its forests, have fitted: trees, histogram trees and nearest neighbours.

Trees send ``float32(x) <= threshold`` to the left. Those of HistGradientBoosting compare ``x <= threshold`` in float64,
and send a category that is in a node's set to the left.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from whence.errors import InputError, InputTypeError, InternalError
from whence.models.tree_arrays import (
    FittedTrees,
    Forecast,
    Link,
    RawTree,
    check_fitted,
    names_known_to,
    raw_tree,
    unfitted,
    with_names,
)
from whence.util.aliases import Floats

BOOSTED = (GradientBoostingRegressor, GradientBoostingClassifier)
#: Ensembles of trees that see only some columns, or do not count alike, or learn nothing about outcomes.
OTHERS = (BaggingClassifier, BaggingRegressor, AdaBoostClassifier, AdaBoostRegressor, IsolationForest)


class PlainTrees(FittedTrees):
    """The trees of a forest, a quantile forest, a single tree or a ``GradientBoosting...`` of scikit-learn."""

    single: ClassVar[bool] = True
    kind: ClassVar[str] = "scikit-learn"

    def __init__(self, model: Any, members: list[Any]) -> None:
        self.model, self._members = model, members
        self.n_features = int(model.n_features_in_)
        self.names = names_known_to(model)
        self.categories = {}
        self.trees = [raw_tree(member.tree_, member.tree_.value) for member in members]

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        single, several = hasattr(fitted, "get_depth"), hasattr(fitted, "estimators_")
        if isinstance(fitted, OTHERS):
            return None
        if not single and not several and not hasattr(fitted, "n_estimators"):
            return None
        check_fitted(fitted)
        members = [fitted] if single else list(np.ravel(fitted.estimators_))
        return cls(fitted, members) if members and all(hasattr(one, "tree_") for one in members) else None

    def leaves(self, X: Floats) -> NDArray[np.int64]:
        seen = np.asarray(X, dtype=np.float32)
        return np.column_stack([member.tree_.apply(seen) for member in self._members])

    @property
    def _boosted(self) -> bool:
        return isinstance(self.model, BOOSTED)

    @property
    def has_second_class(self) -> bool:
        return not self._boosted and len(getattr(self.model, "classes_", ())) == 2

    def labels(self) -> list[Any]:
        if self._boosted:
            several = self.model.estimators_.shape[1] > 1
            return list(self.model.classes_) if several else []
        if hasattr(self.model, "classes_"):
            return list(self.model.classes_)
        return list(range(self.model.n_outputs_)) if self.model.n_outputs_ > 1 else []

    def forecast(self, label: Any = None) -> Forecast:
        k = int(self.has_second_class) if label is None else self.labels().index(label)
        if self._boosted:
            return self._boosted_forecast(k, label)
        if self.model.n_outputs_ > 1 and hasattr(self.model, "classes_"):
            raise InputError("'model' must have one output. Got a classifier of several.")
        values = []
        for member in self._members:
            value = np.asarray(member.tree_.value, dtype=np.float64)
            if hasattr(self.model, "classes_"):
                own = value[:, 0, k] / np.maximum(value[:, 0, :].sum(axis=1), 1e-300)
            else:
                own = value[:, k, 0]
            values.append(own / len(self._members))
        return Forecast(list(range(len(self.trees))), values, 0.0)

    def _boosted_forecast(self, k: int, label: Any) -> Forecast:
        outputs = self.model.estimators_.shape[1]
        own = list(range(k, len(self.trees), outputs))
        if not isinstance(self.model.init_, str) and type(self.model.init_).__name__ not in (
            "DummyRegressor",
            "DummyClassifier",
        ):
            raise InputError(
                "'model' must begin with a constant. Got GradientBoosting with an estimator as its 'init'."
            )
        start = self.model._raw_predict_init(np.zeros((1, self.n_features), dtype=np.float32))
        base = 0.0 if isinstance(self.model.init_, str) else float(np.ravel(start)[k])
        logit = isinstance(self.model, GradientBoostingClassifier)
        return self._sum(own, label, base, "logit" if logit else "identity", self.model.learning_rate)

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        table = self.table(X)
        if self._boosted and label is not None:
            return np.asarray(self.model.decision_function(table), dtype=np.float64)[:, self.labels().index(label)]
        if hasattr(self.model, "predict_proba"):
            k = 1 if label is None else self.labels().index(label)
            return np.asarray(self.model.predict_proba(table), dtype=np.float64)[:, k]
        if self._boosted:
            return np.asarray(self.model.predict(table), dtype=np.float64)
        seen = np.asarray(X, dtype=np.float32)
        found: Floats = np.mean([member.predict(seen) for member in self._members], axis=0)
        return found if label is None else found[:, self.labels().index(label)]


#: Losses whose forecast is not the sum over the trees itself.
LINKS: dict[str, Link] = {"poisson": "log", "gamma": "log", "log_loss": "logit"}


class HistogramTrees(FittedTrees):
    """The trees of a ``HistGradientBoostingRegressor`` or ``HistGradientBoostingClassifier``."""

    single: ClassVar[bool] = False
    kind: ClassVar[str] = "HistGradientBoosting"

    def __init__(self, model: Any) -> None:
        self.model = model
        self.n_features = int(model.n_features_in_)
        self.names = names_known_to(model)
        # Columns as the trees number them: where there are categories, these come first.
        categorical = getattr(model, "is_categorical_", None)
        self._order = np.arange(self.n_features)
        self.categories = {}
        if categorical is not None and np.any(categorical):
            encoder = getattr(model, "_preprocessor", None)
            self._order = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~np.asarray(categorical))])
            assert encoder is not None
            levels = encoder.named_transformers_["encoder"].categories_
            known = np.flatnonzero(categorical).tolist()
            self.categories = {j: _without_missing(own) for j, own in zip(known, levels, strict=True)}
        self._rounds = model._predictors
        self._flat = [predictor for one in self._rounds for predictor in one]
        self.trees = [self._tree(predictor) for predictor in self._flat]

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        if not hasattr(fitted, "max_iter"):
            return None
        if not hasattr(fitted, "_predictors"):
            raise unfitted(fitted)
        return cls(fitted)

    def _tree(self, predictor: Any) -> RawTree:
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        sets = {}
        for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf):
            words = predictor.raw_left_cat_bitsets[int(nodes["bitset_idx"][node])]
            sets[int(node)] = frozenset(
                32 * w + b for w, word in enumerate(words) for b in range(32) if int(word) >> b & 1
            )
        return RawTree(
            np.where(leaf, -1, self._order[nodes["feature_idx"]]),
            nodes["num_threshold"].astype(np.float64),
            np.where(leaf, -1, nodes["left"].astype(np.int64)),
            np.where(leaf, -1, nodes["right"].astype(np.int64)),
            nodes["missing_go_to_left"].astype(bool),
            nodes["value"].astype(np.float64),
            sets,
        )

    def leaves(self, X: Floats) -> NDArray[np.int64]:
        """Return leaves by the arrays of its trees, for want of a method; their values are held against its own."""
        found = np.column_stack([tree.apply(X) for tree in self.trees])
        own = self._sums(X)
        read = np.zeros_like(own)
        for t, tree in enumerate(self.trees):
            read[:, t % own.shape[1]] += tree.value[found[:, t]]
        if not np.allclose(read, own, rtol=1e-9, atol=1e-9 * (1.0 + np.abs(own).max(initial=0.0))):
            raise InternalError("The leaves read from a HistGradientBoosting model are not those that it uses.")
        return found

    def _sums(self, X: Floats) -> Floats:
        """Return what the trees add up to by the model itself, without its offset."""
        raw = np.asarray(self.model._raw_predict(self.table(X)), dtype=np.float64).reshape(len(X), -1)
        return raw - np.asarray(self.model._baseline_prediction, dtype=np.float64).reshape(1, -1)

    def labels(self) -> list[Any]:
        outputs = len(self._rounds[0]) if self._rounds else 1
        return [] if outputs == 1 else list(self.model.classes_)

    def forecast(self, label: Any = None) -> Forecast:
        outputs = max(1, len(self.labels()))
        k = self._place(label)
        own = list(range(k, len(self.trees), outputs))
        base = float(np.asarray(self.model._baseline_prediction, dtype=np.float64).ravel()[k])
        return self._sum(own, label, base, LINKS.get(str(self.model.loss), "identity"))

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        table = self.table(X)
        if label is not None:
            scores = np.asarray(self.model.decision_function(table), dtype=np.float64)
            return scores[:, self.labels().index(label)]
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(table), dtype=np.float64)[:, 1]
        return np.asarray(self.model.predict(table), dtype=np.float64)


def _without_missing(levels: Any) -> list[Any]:
    """Return categories in the order of their codes; a missing one, always the last, has no code among them."""
    found = list(levels)
    if found and isinstance(found[-1], float) and np.isnan(found[-1]):
        raise InputError(
            "'fitted' must not have met missing categories; give them a name of their own. Got NaN among them."
        )
    return found


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
    """Return what a fitted KNeighborsRegressor or KNeighborsClassifier knows; others are refused."""
    if not isinstance(fitted, KNeighborsRegressor | KNeighborsClassifier):
        raise InputTypeError(
            "'fitted' must be a fitted KNeighborsRegressor or KNeighborsClassifier of scikit-learn. "
            f"Got {type(fitted).__name__} instead."
        )
    check_fitted(fitted)
    counted = fitted.weights or "uniform"
    if not isinstance(counted, str):
        raise InputError(
            "'fitted' must weigh neighbours alike or by their distance, weights='uniform' or 'distance'. "
            f"Got weights={fitted.weights!r} instead."
        )
    if sparse.issparse(fitted._fit_X):
        raise InputError("'fitted' must be fitted on a dense table. Got a sparse matrix instead.")
    points = np.ascontiguousarray(fitted._fit_X, dtype=np.float64)
    return FittedNeighbours(int(fitted.n_neighbors), _metric(fitted, points.shape[1]), points, counted)


def _metric(fitted: Any, columns: int) -> Any:
    """Return the metric of a fitted model as :class:`whence.weights.KNNWeights` takes it."""
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
        f"matrices that these need. Got {words} instead."
    )


def check_same_rows(remembered: Floats, given: Floats) -> None:
    """Refuse other rows than those that the model was fitted on: it would answer with its own."""
    if remembered.shape != given.shape or not np.array_equal(remembered, given):
        raise InputError(
            f"'X' must be the {remembered.shape[0]} rows and {remembered.shape[1]} columns that the fitted neighbours "
            f"remember, in their order. Got others, of shape {given.shape}."
        )


def own_neighbours(fitted: Any, row: Floats, count: int) -> tuple[Floats, Any]:
    """Return distances and row numbers of the nearest rows to `row`, by the fitted model itself."""
    shown = with_names(row[None, :], names_known_to(fitted))
    # In a worker of a cluster scikit-learn would otherwise send this single row round the cluster.
    with parallel_config(backend="sequential"):
        distance, index = fitted.kneighbors(shown, n_neighbors=count)
    return np.asarray(distance[0], dtype=np.float64), index[0]


def own_rounding(fitted: Any, points: Floats) -> float:
    """Return by how much a squared distance of the fitted model may be off, in the square of its units."""
    own = fitted._fit_X.dtype
    step = float(np.finfo(own).eps) if np.issubdtype(own, np.floating) else float(np.finfo(np.float64).eps)
    if fitted._fit_method == "brute" and fitted.effective_metric_ in ("euclidean", "l2"):
        return SQUARES * step * float((points**2).sum(axis=1).max())
    return SQUARES * step * float((np.ptp(points, axis=0) ** 2).sum())
