"""scikit-learn's trees, and those of packages built on its forests: ``float32(x) <= threshold`` goes left."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
)
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import check_is_fitted

from whence.errors import InputError, NotFittedError
from whence.models.base import FittedTrees, Forecast
from whence.models.tree_arrays import RawTree
from whence.util.aliases import Floats

__all__ = ["PlainTrees"]

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
        names = getattr(model, "feature_names_in_", None)
        self.names = None if names is None else list(names)
        self.categories = {}
        self.trees = [_tree(member.tree_) for member in members]

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        single, several = hasattr(fitted, "get_depth"), hasattr(fitted, "estimators_")
        if isinstance(fitted, OTHERS):
            return None
        if not single and not several:
            if not hasattr(fitted, "n_estimators"):
                return None
            _check_fitted(fitted)
        _check_fitted(fitted)
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
            raise InputError("'model' must have one output. Got a classifier of several.", parameter="model")
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
        values = [self.model.learning_rate * self.trees[t].value for t in own]
        if not isinstance(self.model.init_, str) and type(self.model.init_).__name__ not in (
            "DummyRegressor",
            "DummyClassifier",
        ):
            raise InputError(
                "'model' must begin with a constant. Got GradientBoosting with an estimator as its 'init'.",
                parameter="model",
            )
        start = self.model._raw_predict_init(np.zeros((1, self.n_features), dtype=np.float32))
        base = 0.0 if isinstance(self.model.init_, str) else float(np.ravel(start)[k])
        logit = label is None and isinstance(self.model, GradientBoostingClassifier)
        return Forecast(own, values, base, "logit" if logit else "identity")

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


def _check_fitted(fitted: Any) -> None:
    try:
        check_is_fitted(fitted)
    except SklearnNotFittedError:
        raise NotFittedError(f"'fitted' must be fitted. Got an unfitted {type(fitted).__name__} instead.") from None


def _tree(tree: Any) -> RawTree:
    leaf = tree.children_left < 0
    missing = getattr(tree, "missing_go_to_left", None)
    return RawTree(
        np.where(leaf, -1, tree.feature).astype(np.int64),
        np.asarray(tree.threshold, dtype=np.float64),
        np.asarray(tree.children_left, dtype=np.int64),
        np.asarray(tree.children_right, dtype=np.int64),
        np.zeros(leaf.size, dtype=np.bool_) if missing is None else np.asarray(missing).astype(np.bool_),
        np.asarray(tree.value, dtype=np.float64)[:, 0, 0],
    )
