"""LightGBM: ``x <= threshold`` in float64 goes left, a category that is in a node's set goes left."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from whence.errors import InputError
from whence.models.tree_arrays import FittedTrees, Forecast, Link, nested, unfitted
from whence.util.aliases import Floats

#: Numbers up to this size are taken for 0, whatever a threshold says.
ZERO = float(np.float32(1e-35))
#: Objectives whose forecast is not the sum over the trees itself.
LINKS: dict[str, Link] = {"binary": "logit", "poisson": "log", "gamma": "log", "tweedie": "log"}


class LightGBMTrees(FittedTrees):
    """The trees of an ``LGBMRegressor``, ``LGBMClassifier`` or a ``Booster``."""

    single: ClassVar[bool] = False
    kind: ClassVar[str] = "LightGBM"

    def __init__(self, model: Any, booster: Any) -> None:
        self.model, self._booster = model, booster
        told = booster.dump_model()
        self.n_features = int(told["max_feature_idx"]) + 1
        # Names that were made up, where an array was given, are no names.
        named = booster.feature_name()
        self.names = None if named == [f"Column_{j}" for j in range(self.n_features)] else list(named)
        self._objective = str(told.get("objective", "")).split(" ")[0]
        self._options = str(told.get("objective", "")).split(" ")[1:]
        self._average = bool(told.get("average_output", False))
        self._outputs = int(told["num_tree_per_iteration"])
        self.categories = _categories(told)
        self.trees, self._nodes = [], []
        for one in told["tree_info"]:
            tree, leaves = nested(one["tree_structure"], _children, _split)
            node = np.zeros(max(1, len(leaves)), dtype=np.int64)
            for at, item in leaves:
                node[int(item.get("leaf_index", 0))] = at
            self.trees.append(tree)
            self._nodes.append(node)
        self._linear = any("leaf_coeff" in str(one["tree_structure"]) for one in told["tree_info"])

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        if hasattr(fitted, "dump_model"):
            return cls(fitted, fitted)
        if not hasattr(type(fitted), "booster_"):
            return None
        if not getattr(fitted, "fitted_", False):
            raise unfitted(fitted)
        return cls(fitted, fitted.booster_)

    def leaves(self, X: Floats) -> NDArray[np.int64]:
        found = np.asarray(self._booster.predict(self.table(X), pred_leaf=True)).reshape(len(X), -1).astype(np.int64)
        return np.column_stack([node[found[:, t]] for t, node in enumerate(self._nodes)])

    def labels(self) -> list[Any]:
        if self._outputs == 1:
            return []
        return list(getattr(self.model, "classes_", range(self._outputs)))

    def forecast(self, label: Any = None) -> Forecast:
        if self._linear:
            raise InputError("'model' must forecast one number per leaf. Got LightGBM with linear_tree=True.")
        own = list(range(self._place(label), len(self.trees), self._outputs))
        share = 1.0 / len(own) if self._average else 1.0
        link = LINKS.get(self._objective, "identity")
        if self._objective == "cross_entropy":
            link = "logit"
        unusual = [text for text in self._options if text.startswith("sigmoid:") and text != "sigmoid:1"]
        if "sqrt" in self._options or (unusual and link == "logit"):
            raise InputError(
                "'model' must forecast the sum over its trees, its exponential or its log-odds. Got LightGBM with "
                f"objective {' '.join([self._objective, *self._options])!r}."
            )
        return self._sum(own, label, 0.0, link, share)

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        raw = label is not None
        found = np.asarray(self._booster.predict(self.table(X), raw_score=raw), dtype=np.float64)
        return found[:, self._place(label)] if raw else found


def _children(item: dict[str, Any]) -> tuple[Any, Any] | None:
    return (item["left_child"], item["right_child"]) if "split_feature" in item else None


def _split(item: dict[str, Any]) -> Any:
    if "split_feature" not in item:
        return item["leaf_value"]
    column = int(item["split_feature"])
    if item["decision_type"] == "==":
        return column, 0.0, False, [int(code) for code in str(item["threshold"]).split("||")]
    if item["missing_type"] == "Zero":
        raise InputError("'fitted' must not take 0 for a missing value. Got LightGBM with zero_as_missing=True.")
    threshold = _seen_as_zero(float(item["threshold"]))
    # Where the model has not met missing values, it takes them for 0.
    to_left = bool(item["default_left"]) if item["missing_type"] == "NaN" else threshold >= 0.0
    return column, threshold, to_left, None


def _seen_as_zero(threshold: float) -> float:
    """Return a threshold among the numbers that LightGBM takes for 0, as it then really works."""
    if abs(threshold) > ZERO:
        return threshold
    return ZERO if threshold >= 0.0 else float(np.nextafter(-ZERO, -np.inf))


def _categories(told: dict[str, Any]) -> dict[int, list[Any]]:
    """Return the categories of those columns that came as such, in the order of their codes."""
    levels = told.get("pandas_categorical") or []
    known = [j for j, info in enumerate(told["feature_infos"].values()) if info.get("values")]
    if not levels:
        if known:
            raise InputError(
                "'fitted' must have learnt its categories from a table with columns of dtype 'category'. Got LightGBM "
                "with categories that are numbers."
            )
        return {}
    if len(levels) != len(known):
        raise InputError(
            "'fitted' must use all of its columns of dtype 'category'. Got LightGBM with one that it left out; fit it "
            "without that column."
        )
    return dict(zip(known, levels, strict=True))
