"""HistGradientBoosting: ``x <= threshold`` in float64 goes left, a category that is in a node's set goes left."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from whence.errors import InputError, InternalError, NotFittedError
from whence.models.base import FittedTrees, Forecast, Link
from whence.models.tree_arrays import RawTree
from whence.util.aliases import Floats

__all__ = ["HistogramTrees"]

#: Losses whose forecast is not the sum over the trees itself.
LINKS: dict[str, Link] = {"poisson": "log", "gamma": "log", "log_loss": "logit"}


class HistogramTrees(FittedTrees):
    """The trees of a ``HistGradientBoostingRegressor`` or ``HistGradientBoostingClassifier``."""

    single: ClassVar[bool] = False
    kind: ClassVar[str] = "HistGradientBoosting"

    def __init__(self, model: Any) -> None:
        self.model = model
        self.n_features = int(model.n_features_in_)
        names = getattr(model, "feature_names_in_", None)
        self.names = None if names is None else list(names)
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
            raise NotFittedError(f"'fitted' must be fitted. Got an unfitted {type(fitted).__name__} instead.")
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
        """By the arrays of its trees, as it has no method for it; their values are held against its own."""
        found = np.column_stack([tree.apply(X) for tree in self.trees])
        own = self._sums(X)
        read = np.zeros_like(own)
        for t, tree in enumerate(self.trees):
            read[:, t % own.shape[1]] += tree.value[found[:, t]]
        if not np.allclose(read, own, rtol=1e-9, atol=1e-9 * (1.0 + np.abs(own).max(initial=0.0))):
            raise InternalError("The leaves read from a HistGradientBoosting model are not those that it uses.")
        return found

    def _sums(self, X: Floats) -> Floats:
        """What the trees add up to by the model itself, without its offset."""
        raw = np.asarray(self.model._raw_predict(self.table(X)), dtype=np.float64).reshape(len(X), -1)
        found: Floats = raw - np.asarray(self.model._baseline_prediction, dtype=np.float64).reshape(1, -1)
        return found

    def labels(self) -> list[Any]:
        outputs = len(self._rounds[0]) if self._rounds else 1
        return [] if outputs == 1 else list(self.model.classes_)

    def forecast(self, label: Any = None) -> Forecast:
        outputs = max(1, len(self.labels()))
        k = 0 if label is None else self.labels().index(label)
        own = list(range(k, len(self.trees), outputs))
        base = float(np.asarray(self.model._baseline_prediction, dtype=np.float64).ravel()[k])
        link: Link = "identity" if label is not None else LINKS.get(str(self.model.loss), "identity")
        return Forecast(own, [self.trees[t].value for t in own], base, link)

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        table = self.table(X)
        if label is not None:
            scores = np.asarray(self.model.decision_function(table), dtype=np.float64)
            return scores[:, self.labels().index(label)]
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(table), dtype=np.float64)[:, 1]
        return np.asarray(self.model.predict(table), dtype=np.float64)


def _without_missing(levels: Any) -> list[Any]:
    """Categories in the order of their codes; a missing one, always the last, has no code among them."""
    found = list(levels)
    if found and isinstance(found[-1], float) and np.isnan(found[-1]):
        raise InputError(
            "'fitted' must not have met missing categories; give them a name of their own. Got NaN among them.",
            parameter="fitted",
        )
    return found
