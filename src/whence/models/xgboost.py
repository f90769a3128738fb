"""XGBoost: ``float32(x) < threshold`` goes left, a category that is in a node's set goes right."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from whence.errors import InputError
from whence.models.tree_arrays import FittedTrees, Forecast, Link, RawTree, unfitted
from whence.util.aliases import Floats

#: Objectives whose forecast is not the sum over the trees itself.
LINKS: dict[str, Link] = {
    "binary:logistic": "logit",
    "reg:logistic": "logit",
    "count:poisson": "log",
    "reg:gamma": "log",
    "reg:tweedie": "log",
    "survival:cox": "log",
}


class XGBoostTrees(FittedTrees):
    """The trees of an ``XGBRegressor``, ``XGBClassifier``, their random forests, or a ``Booster``."""

    single: ClassVar[bool] = True
    kind: ClassVar[str] = "XGBoost"

    def __init__(self, model: Any, booster: Any) -> None:
        self.model, self._booster = model, booster
        told = json.loads(bytes(booster.save_raw("json")).decode("utf-8"))["learner"]
        gradient = told["gradient_booster"]
        if gradient["name"] != "gbtree":
            raise InputError(
                f"'fitted' must be an XGBoost model with booster='gbtree'. Got {gradient['name']!r} instead."
            )
        self._objective = str(told["objective"]["name"])
        inner = gradient["model"]
        # A model that stopped early predicts with the rounds up to the best one.
        best = getattr(model, "best_iteration", None) if _stopped_early(model) else None
        rounds = inner["iteration_indptr"]
        last = len(inner["trees"]) if best is None else int(rounds[int(best) + 1])
        self._rounds = (0, 0 if best is None else int(best) + 1)
        types = booster.feature_types or []
        codes = [j for j, kind in enumerate(types) if kind == "c"]
        self.categories = _categories(inner, codes) if codes else {}
        self.trees = [_tree(tree, self.categories) for tree in inner["trees"][:last]]
        self._output = [int(k) for k in inner["tree_info"][:last]]
        self._base = np.atleast_1d(json.loads(told["learner_model_param"]["base_score"])).astype(np.float64)
        self.n_features = int(told["learner_model_param"]["num_feature"])
        self.names = booster.feature_names

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        if hasattr(fitted, "save_raw"):
            return cls(fitted, fitted)
        if not hasattr(fitted, "get_booster"):
            return None
        try:
            booster = fitted.get_booster()
        except ValueError:  # its NotFittedError is one
            raise unfitted(fitted) from None
        return cls(fitted, booster)

    def _matrix(self, X: Floats) -> Any:
        from xgboost import DMatrix

        table = self.table(X)
        return DMatrix(table, feature_names=self.names, enable_categorical=bool(self.categories))

    def leaves(self, X: Floats) -> NDArray[np.int64]:
        found = self._booster.predict(self._matrix(X), pred_leaf=True, iteration_range=self._rounds)
        # For several classes, or trees a round, there is one more axis for each.
        return np.asarray(found).reshape(len(X), -1).astype(np.int64)

    def labels(self) -> list[Any]:
        outputs = max(self._output, default=0) + 1
        if outputs == 1:
            return []
        return list(getattr(self.model, "classes_", range(outputs)))

    def forecast(self, label: Any = None) -> Forecast:
        k = self._place(label)
        link = LINKS.get(self._objective, "identity")
        own = [t for t, output in enumerate(self._output) if output == k]
        base = float(self._base[k] if self._base.size > 1 else self._base[0])
        if link == "logit":
            base = float(np.log(base / (1.0 - base)))
        elif link == "log":
            base = float(np.log(base))
        return self._sum(own, label, base, link)

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        raw = label is not None
        found = np.asarray(
            self._booster.predict(self._matrix(X), output_margin=raw, iteration_range=self._rounds), dtype=np.float64
        )
        return found[:, self._place(label)] if raw else found


def _stopped_early(model: Any) -> bool:
    return getattr(model, "early_stopping_rounds", None) is not None


def _tree(told: dict[str, Any], categories: Mapping[int, list[Hashable]]) -> RawTree:
    left, right = (np.array(told[name], dtype=np.int64) for name in ("left_children", "right_children"))
    leaf = left < 0
    condition = np.array(told["split_conditions"], dtype=np.float32)
    feature = np.where(leaf, -1, np.array(told["split_indices"], dtype=np.int64))
    sets: dict[int, frozenset[int]] = {}
    for node, first, size in zip(
        told["categories_nodes"], told["categories_segments"], told["categories_sizes"], strict=True
    ):
        to_right = told["categories"][first : first + size]
        sets[int(node)] = frozenset(range(len(categories[int(feature[node])]))).difference(to_right)
    return RawTree(
        feature,
        # What is below a float32 is at most the one before it.
        np.nextafter(condition, np.float32(-np.inf)).astype(np.float64),
        left,
        right,
        np.array(told["default_left"], dtype=np.bool_),
        np.where(leaf, condition.astype(np.float64), 0.0),
        sets,
        np.ones(left.size, dtype=np.bool_),
    )


def _categories(told: dict[str, Any], columns: list[int]) -> dict[int, list[Hashable]]:
    """Return the categories of some columns, in the order of their codes."""
    coded = (told.get("cats") or {}).get("enc") or []
    if len(coded) <= max(columns):
        raise InputError(
            "'fitted' must hold the names of its categories, as models of XGBoost 3.1 and later do. Got one that does "
            "not; give the categories as 0/1 columns."
        )
    found: dict[int, list[Hashable]] = {}
    for j in columns:
        values, offsets = coded[j]["values"], coded[j].get("offsets")
        if offsets:
            text = bytes(values)
            found[j] = [text[first:last].decode("utf-8") for first, last in pairwise(offsets)]
        else:
            found[j] = list(values)
    return found
