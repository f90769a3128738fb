"""Forests of econml: ``x <= threshold`` in float64 goes left; a tree weighs only the rows that it was not grown on."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from whence.errors import InputError
from whence.models.tree_arrays import FittedTrees, Forecast, raw_tree, unfitted
from whence.util.aliases import Floats


class HonestTrees(FittedTrees):
    """The trees of a ``RegressionForest``, a ``PolicyForest`` or one of econml's causal forests.

    Each tree has drawn a subsample of the rows. Where it is honest, one half of that decided on its splits and the
    other half weighs; the forest can draw the same rows again.
    """

    single: ClassVar[bool] = False
    takes_missing: ClassVar[bool] = False
    kind: ClassVar[str] = "econml"

    def __init__(self, model: Any, forest: Any) -> None:
        self.model, self._forest = model, forest
        self._members = [member.tree_ for member in forest.estimators_]
        self.n_features = int(forest.estimators_[0].n_features_in_)
        # It keeps no names of columns.
        self.names = None
        self.categories = {}
        self.trees = [raw_tree(member, member.full_value) for member in self._members]

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        forest = _forest_of(fitted)
        if not hasattr(forest, "get_subsample_inds"):
            return None
        if not getattr(forest, "estimators_", None):
            raise unfitted(fitted)
        return cls(fitted, forest)

    def leaves(self, X: Floats) -> NDArray[np.int64]:
        seen = np.ascontiguousarray(X, dtype=np.float64)
        return np.column_stack([member.apply(seen) for member in self._members]).astype(np.int64)

    def counted(self, leaves: NDArray[np.int64], mass: Floats | None = None) -> NDArray[np.bool_]:
        n, trained = len(leaves), sorted(set(self._forest.n_samples_))
        if trained != [n]:
            raise InputError(
                f"'X' must have the {' or '.join(map(str, trained))} rows that the fitted econml forest was trained "
                f"on, since it weighs each of them only in some of its trees. Got {n} rows instead."
            )
        found = np.zeros((len(self._members), n), dtype=np.bool_)
        for t, drawn in enumerate(self._forest.get_subsample_inds()):
            _, weighing = self._forest.estimators_[t].get_train_test_split_inds()
            found[t, drawn[weighing]] = True
        # Rows without weight are in no leaf of a forest that was trained with the same weights.
        tried = [found] if mass is None else [found, found & (mass > 0.0)]
        for own in tried:
            if self._as_trained(leaves, own):
                return own
        raise InputError(
            "'X' must have the rows that the fitted econml forest was trained on, in their order and with the same "
            "rows of 'sample_weight' 0. Got others: not as many of them stand in its leaves."
        )

    def _as_trained(self, leaves: NDArray[np.int64], counted: NDArray[np.bool_]) -> bool:
        """Return whether as many rows that count stand in every leaf as did when the forest was trained."""
        for t, tree in enumerate(self._members):
            leaf = tree.children_left < 0
            standing = np.bincount(leaves[counted[t], t], minlength=leaf.size)
            if not np.array_equal(standing[leaf], np.asarray(tree.n_node_samples)[leaf]):
                return False
        return True

    def labels(self) -> list[Any]:
        outputs = int(self._members[0].n_outputs)
        return list(range(outputs)) if outputs > 1 and self._sums() else []

    def forecast(self, label: Any = None) -> Forecast:
        if not self._sums():
            raise InputError(
                "'model' must forecast a sum over its trees, as a RegressionForest does. "
                f"Got {type(self.model).__name__}, whose forecast is a quotient of two such sums."
            )
        k = 0 if label is None else int(label)
        values = [np.asarray(tree.full_value)[:, k, 0] / len(self._members) for tree in self._members]
        return Forecast(list(range(len(self.trees))), values, 0.0)

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        found = np.asarray(self.model.predict(np.asarray(X, dtype=np.float64)), dtype=np.float64).reshape(len(X), -1)
        return found[:, 0 if label is None else int(label)]

    def _sums(self) -> bool:
        """Whether what the forest divides by is the same in all leaves, so that forecasts are means over the trees."""
        if not hasattr(self._forest, "predict_alpha_and_jac"):
            return False
        for tree in self._members:
            jac = np.asarray(tree.jac).reshape(tree.node_count, -1)
            unit = np.eye(int(tree.n_outputs)).ravel()
            if jac.shape[1] != unit.size or not (jac[tree.children_left < 0] == unit).all():
                return False
        return True


def _forest_of(fitted: Any) -> Any:
    """Return the forest in a model of econml that is a wrapper around one."""
    if hasattr(fitted, "model_cate") and hasattr(fitted, "rlearner_model_final_"):
        if getattr(fitted, "featurizer", None) is not None:
            raise InputError("'fitted' must see the columns themselves. Got a model of econml with a 'featurizer'.")
        fitted = fitted.model_cate
    inner = getattr(fitted, "estimators_", None) if hasattr(fitted, "estimator") else None
    if inner and hasattr(inner[0], "get_subsample_inds"):
        if len(inner) > 1:
            raise InputError(
                f"'fitted' must have one outcome. Got {len(inner)}, with a forest for each: give one of them."
            )
        return inner[0]
    return fitted
