"""A forest for the model of the outcomes: many small ones are grown, so that what each tree costs besides counts."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.tree import DecisionTreeRegressor

from whence.util.aliases import Floats

#: Trees, the share of the columns that a split looks at, and the fewest rows of a leaf.
TREES, COLUMNS, LEAF = 50, 0.5, 3


class Bagging:
    """Trees that are each grown on rows drawn with replacement.

    It is a random forest as scikit-learn grows it. The forest there checks and copies the settings of every tree, which
    takes longer than growing one on some hundred rows.

    Examples
    --------
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> model = Bagging().fit(X, 10 * X, seed=0)
    >>> bool(abs(model.predict([[0.5]])[0, 0] - 5.0) < 0.5)
    True
    """

    def fit(self, X: Floats, Y: Floats, seed: int) -> Self:
        """Learn from contexts and outcomes."""
        rng, inputs, outcomes = np.random.default_rng([seed, TREES]), _read(X), np.ascontiguousarray(Y)
        # Where numbers are missing, only the check tells the tree so.
        check = not bool(np.isfinite(inputs).all())
        total, seen = np.zeros(Y.shape), np.zeros((len(Y), 1))
        self._trees = []
        with config_context(skip_parameter_validation=True):
            for _ in range(TREES):
                times = np.bincount(rng.integers(len(X), size=len(X)), minlength=len(X))
                tree = DecisionTreeRegressor(
                    max_features=COLUMNS, min_samples_leaf=LEAF, random_state=int(rng.integers(2**31))
                ).fit(inputs, outcomes, sample_weight=times.astype(np.float64), check_input=check)
                self._trees.append(tree.tree_)
                left = times == 0
                total[left] += _said(tree.tree_, inputs[left])
                seen[left] += 1.0
        #: What trees say of rows that they were not grown on; what is said of all where every tree has seen a row.
        self.unseen: Floats = np.where(seen > 0.0, total / np.maximum(seen, 1.0), Y)
        return self

    def predict(self, X: Floats) -> Floats:
        """The outcomes in each context."""
        inputs = _read(X)
        return np.asarray(np.mean([_said(tree, inputs) for tree in self._trees], axis=0))


def _read(X: Floats) -> NDArray[np.float32]:
    return np.ascontiguousarray(X, dtype=np.float32)


def _said(tree: object, inputs: NDArray[np.float32]) -> Floats:
    found: Floats = tree.predict(inputs).reshape(len(inputs), -1)  # type: ignore[attr-defined]
    return found
