"""Small honest forests of econml, for the random questions of `tests/predictors.py`.

Written from econml's own methods: ``apply`` for leaves, ``get_subsample_inds`` and ``get_train_test_split_inds`` for
the rows that weigh in a tree. A module of its own, because econml takes seconds to import.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from econml.grf import CausalForest, RegressionForest
from tests.predictors import OTHERS, Library


def _grown(rng: np.random.Generator, X: pd.DataFrame, y: np.ndarray) -> Any:
    """A small forest: for a mean or for an effect, honest or not, in bags for inference or not."""
    bags = bool(rng.random() < 0.4)
    options = {
        "n_estimators": 2 * int(rng.integers(1, 3)),
        "subforest_size": 2,
        "inference": bags,
        "honest": bool(rng.random() < 0.8),
        "max_samples": 0.45 if bags else float(rng.choice([0.5, 0.8, 1.0])),
        "max_depth": [1, 2, 3, None][int(rng.integers(4))],
        "min_samples_leaf": int(rng.integers(1, 3)),
        "min_samples_split": 2,
        "min_balancedness_tol": 0.5,
        "n_jobs": 1,
        "random_state": int(rng.integers(99)),
    }
    numbers = X.to_numpy(dtype=np.float64)
    if rng.random() < 0.3:
        return CausalForest(criterion="het", **options).fit(numbers, rng.normal(size=(len(X), 1)), y)
    return RegressionForest(**options).fit(numbers, y)


def _leaves(model: Any, X: pd.DataFrame) -> np.ndarray:
    return np.asarray(model.apply(X.to_numpy(dtype=np.float64))).reshape(len(X), -1)


def splits(model: Any, column: int) -> np.ndarray:
    trees = [one.tree_ for one in model.estimators_]
    return np.unique(np.concatenate([tree.threshold[tree.feature == column] for tree in trees]))


def counted_rows(model: Any) -> np.ndarray:
    """Rows that weigh in a tree: of those that it has drawn, the half that it was not grown on."""
    found = np.zeros((model.n_samples_[0], len(model.estimators_)), dtype=bool)
    for t, drawn in enumerate(model.get_subsample_inds()):
        for place in model.estimators_[t].get_train_test_split_inds()[1]:
            found[drawn[place], t] = True
    return found


OTHERS["econml"] = Library(_grown, _leaves, splits, single=False, missing=False, counted=counted_rows)
