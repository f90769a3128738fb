"""CatBoost: ``float32(x) > border`` goes right, by the same question on a whole level of a symmetric tree.

A category is known by the hash of its name. Where it has few values (``one_hot_max_size``) a split asks for one of
them, which goes right; otherwise CatBoost splits by statistics of the outcomes, which no set of categories stands for.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError
from whence.models.tree_arrays import FittedTrees, Forecast, Link, RawTree, nested, unfitted
from whence.util.aliases import Floats

#: Objectives whose forecast is not the sum over the trees itself.
LINKS: dict[str, Link] = {"Poisson": "log", "Tweedie": "log"}
#: The name of a category that no model has seen.
UNKNOWN = "\x00none of these"


class CatBoostTrees(FittedTrees):
    """The trees of a ``CatBoostRegressor``, ``CatBoostClassifier`` or ``CatBoost``, symmetric or not."""

    single: ClassVar[bool] = True
    kind: ClassVar[str] = "CatBoost"

    def __init__(self, model: Any) -> None:
        self.model = model
        told = _told(model)
        floats = told["features_info"].get("float_features", [])
        categorical = told["features_info"].get("categorical_features", [])
        if told.get("ctr_data") or any(
            told["features_info"].get(kind) for kind in ("ctrs", "text_features", "embedding_features")
        ):
            raise InputError(
                "'fitted' must split categories themselves, not by statistics of them or of texts. Got CatBoost that "
                "does; set 'one_hot_max_size' to the largest number of categories, or give them as 0/1 columns."
            )
        #: By column, the hashes that its codes stand for, and names that have them.
        self._hashes = {int(one["flat_feature_index"]): _values_of(one) for one in categorical}
        self._named: dict[int, dict[int, str]] = {j: {} for j in self._hashes}
        # Names are not kept in a model: a code is told by the hash of a name that the user's table has.
        self.categories = {j: [] for j in self._hashes}
        self.n_features = len(model.feature_names_)
        made_up = [str(j) for j in range(self.n_features)]
        self.names = None if list(model.feature_names_) == made_up else list(model.feature_names_)
        column = {int(one["feature_index"]): int(one["flat_feature_index"]) for one in floats}
        right = {int(one["feature_index"]): one.get("nan_value_treatment") == "AsTrue" for one in floats}
        levels = {
            int(one["feature_index"]): (j, self._hashes[j])
            for one in categorical
            for j in (int(one["flat_feature_index"]),)
        }
        scale, bias = told["scale_and_bias"]
        self._bias, self._scale = np.atleast_1d(np.asarray(bias, dtype=np.float64)), float(scale)
        self.trees, self._nodes, self._values = [], [], []
        for one in told.get("oblivious_trees") or told["trees"]:
            symmetric = "leaf_values" in one
            root = _Level(one, 0, 0) if symmetric else one
            tree, leaves = nested(root, _children, lambda item: _split(item, column, right, levels))
            # A category that the model does not know is none that a split asks for.
            tree = replace(tree, unknown_left=np.ones(tree.feature.size, dtype=np.bool_))
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
            raise unfitted(fitted)
        return cls(fitted)

    def codes(self, column: int, levels: Sequence[Hashable]) -> tuple[int | None, ...]:
        known = {value: code for code, value in enumerate(self._hashes[column])}
        found = []
        for level, value in zip(levels, hashes_of([str(level) for level in levels]), strict=True):
            code = known.get(value)
            if code is not None:
                self._named[column][code] = str(level)
            found.append(code)
        return tuple(found)

    def table(self, X: Floats) -> Any:
        if not self.categories:
            return super().table(X)
        columns: dict[str, Any] = {}
        for j in range(self.n_features):
            name = f"x{j}" if self.names is None else self.names[j]
            named = self._named.get(j)
            columns[name] = X[:, j] if named is None else [named.get(int(code), UNKNOWN) for code in X[:, j]]
        return pd.DataFrame(columns)

    def leaves(self, X: Floats) -> NDArray[np.int64]:
        found = np.asarray(self.model.calc_leaf_indexes(self.table(X))).astype(np.int64)
        return np.column_stack([node[found[:, t]] for t, node in enumerate(self._nodes)])

    def labels(self) -> list[Any]:
        if self._outputs == 1:
            return []
        classes = list(getattr(self.model, "classes_", []))
        return classes if len(classes) == self._outputs else list(range(self._outputs))

    def forecast(self, label: Any = None) -> Forecast:
        k = self._place(label)
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
    """Return leaves of a tree that is not symmetric in the order of their numbers.

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


def hashes_of(names: Sequence[str]) -> list[int]:
    """By what CatBoost knows the names of categories: what it tells when a model is saved beside a table of them."""
    from catboost import CatBoostRegressor, Pool

    distinct = sorted(set(names))
    table = pd.DataFrame({"category": distinct})
    # Any model that takes a category will do.
    model = CatBoostRegressor(iterations=1, depth=1, thread_count=1, verbose=0, allow_writing_files=False)
    model.fit(pd.DataFrame({"category": ["a", "b"]}), [0.0, 1.0], cat_features=[0])
    told = _told(model, Pool(table, cat_features=[0]))["features_info"]["cat_features_hash"]
    known = {str(one["value"]): _unsigned(one["hash"]) for one in told}
    return [known[name] for name in names]


def _unsigned(value: Any) -> int:
    """Return a hash, which is written with a sign now and then."""
    return int(value) & 0xFFFFFFFF


def _values_of(feature: dict[str, Any]) -> list[int]:
    return sorted({_unsigned(value) for value in feature.get("values") or []})


def _told(model: Any, pool: Any = None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json", pool=pool)
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


def _split(item: Any, column: dict[int, int], right: dict[int, bool], levels: dict[int, tuple[int, list[int]]]) -> Any:
    if _children(item) is None:
        return 0.0
    split = item.tree["splits"][item.asked] if isinstance(item, _Level) else item["split"]
    if "cat_feature_index" in split:
        at, hashes = levels[int(split["cat_feature_index"])]
        return at, 0.0, True, [code for code, value in enumerate(hashes) if value != _unsigned(split["value"])]
    feature = int(split["float_feature_index"])
    return column[feature], float(np.float32(split["border"])), not right[feature], None


def _values(item: Any) -> list[float]:
    if isinstance(item, _Level):
        every = item.tree["leaf_values"]
        outputs = len(every) >> len(item.tree["splits"] or [])
        return [float(v) for v in every[item.number * outputs : (item.number + 1) * outputs]]
    value = item["value"]
    return [float(v) for v in value] if isinstance(value, list) else [float(value)]
