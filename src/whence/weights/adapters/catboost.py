"""CatBoost: ``float32(x) > border`` goes right, by the same question on a whole level of a symmetric tree."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.errors import InputError, NotFittedError
from whence.weights.adapters.base import FittedTrees, Forecast, Link, nested
from whence.weights.array_trees import RawTree

__all__ = ["CatBoostTrees"]

#: Objectives whose forecast is not the sum over the trees itself.
LINKS: dict[str, Link] = {"Poisson": "log", "Tweedie": "log"}


class CatBoostTrees(FittedTrees):
    """The trees of a ``CatBoostRegressor``, ``CatBoostClassifier`` or ``CatBoost``, symmetric or not."""

    single: ClassVar[bool] = True
    kind: ClassVar[str] = "CatBoost"

    def __init__(self, model: Any) -> None:
        self.model = model
        told = _told(model)
        floats = told["features_info"].get("float_features", [])
        if told["features_info"].get("categorical_features") or told["features_info"].get("text_features"):
            raise InputError(
                "'fitted' must not learn from statistics of categories or texts, which no split on the category "
                "itself shows. Got CatBoost with 'cat_features'; give the categories as 0/1 columns.",
                parameter="fitted",
            )
        self.categories = {}
        self.n_features = len(model.feature_names_)
        made_up = [str(j) for j in range(self.n_features)]
        self.names = None if list(model.feature_names_) == made_up else list(model.feature_names_)
        column = {int(one["feature_index"]): int(one["flat_feature_index"]) for one in floats}
        right = {int(one["feature_index"]): one.get("nan_value_treatment") == "AsTrue" for one in floats}
        scale, bias = told["scale_and_bias"]
        self._bias, self._scale = np.atleast_1d(np.asarray(bias, dtype=np.float64)), float(scale)
        self.trees, self._nodes, self._values = [], [], []
        for one in told.get("oblivious_trees") or told["trees"]:
            symmetric = "leaf_values" in one
            root = _Level(one, 0, 0) if symmetric else one
            tree, leaves = nested(root, _children, lambda item: _split(item, column, right))
            node = np.zeros(len(leaves), dtype=np.int64)
            if symmetric:
                node[[item.number for _, item in leaves]] = [at for at, _ in leaves]
            else:
                node[:] = _numbered(tree)
            self.trees.append(tree)
            self._nodes.append(node)
            self._values.append({at: _values(item) for at, item in leaves})
        self._outputs = max((len(own[at]) for own in self._values for at in own), default=1)

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        if not hasattr(fitted, "calc_leaf_indexes"):
            return None
        if not fitted.is_fitted():
            raise NotFittedError(f"'fitted' must be fitted. Got an unfitted {type(fitted).__name__} instead.")
        return cls(fitted)

    def leaves(self, X: Floats) -> NDArray[np.int64]:
        found = np.asarray(self.model.calc_leaf_indexes(self.table(X))).astype(np.int64)
        return np.column_stack([node[found[:, t]] for t, node in enumerate(self._nodes)])

    def labels(self) -> list[Any]:
        if self._outputs == 1:
            return []
        classes = list(getattr(self.model, "classes_", []))
        return classes if len(classes) == self._outputs else list(range(self._outputs))

    def forecast(self, label: Any = None) -> Forecast:
        k = 0 if label is None else self.labels().index(label)
        values = []
        for tree, own in zip(self.trees, self._values, strict=True):
            value = np.zeros(tree.feature.size)
            value[list(own)] = [self._scale * leaf[k] for leaf in own.values()]
            values.append(value)
        bias = float(self._bias[k] if self._bias.size > 1 else self._bias[0])
        return Forecast(list(range(len(self.trees))), values, bias, "identity" if label is not None else self._link)

    @property
    def _link(self) -> Link:
        loss = str(self.model.get_all_params().get("loss_function", "")).partition(":")[0]
        return "logit" if hasattr(self.model, "predict_proba") else LINKS.get(loss, "identity")

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        table = self.table(X)
        if label is not None:
            found = np.asarray(self.model.predict(table, prediction_type="RawFormulaVal"), dtype=np.float64)
            return found[:, self.labels().index(label)]
        if self._link == "logit":
            return np.asarray(self.model.predict_proba(table), dtype=np.float64)[:, 1]
        kind = "Exponent" if self._link == "log" else "RawFormulaVal"
        return np.asarray(self.model.predict(table, prediction_type=kind), dtype=np.float64)


def _numbered(tree: RawTree) -> list[int]:
    """Leaves of a tree that is not symmetric in the order of their numbers.

    From left to right, but a right child that is a leaf comes before what lies below its sibling.
    """
    found, todo = [], [0]
    while todo:
        node = todo.pop()
        if tree.feature[node] < 0:
            found.append(node)
            continue
        left, right = int(tree.left[node]), int(tree.right[node])
        swapped = tree.feature[right] < 0 <= tree.feature[left]
        todo += [left, right] if swapped else [right, left]
    return found


def _told(model: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        told: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return told


class _Level:
    """A node of a symmetric tree: how many of its questions were asked, and which of them with yes."""

    def __init__(self, tree: dict[str, Any], asked: int, number: int) -> None:
        self.tree, self.asked, self.number = tree, asked, number

    @property
    def is_leaf(self) -> bool:
        return self.asked == len(self.tree["splits"] or [])


def _children(item: Any) -> tuple[Any, Any] | None:
    if isinstance(item, _Level):
        if item.is_leaf:
            return None
        yes = item.number | (1 << item.asked)
        return _Level(item.tree, item.asked + 1, item.number), _Level(item.tree, item.asked + 1, yes)
    return (item["left"], item["right"]) if "split" in item else None


def _split(item: Any, column: dict[int, int], right: dict[int, bool]) -> Any:
    if _children(item) is None:
        return 0.0
    split = item.tree["splits"][item.asked] if isinstance(item, _Level) else item["split"]
    feature = int(split["float_feature_index"])
    return column[feature], float(np.float32(split["border"])), not right[feature], None


def _values(item: Any) -> list[float]:
    if isinstance(item, _Level):
        every = item.tree["leaf_values"]
        outputs = len(every) >> len(item.tree["splits"] or [])
        return [float(v) for v in every[item.number * outputs : (item.number + 1) * outputs]]
    value = item["value"]
    return [float(v) for v in value] if isinstance(value, list) else [float(value)]
