"""What forecasts miss on observations that they have not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import BaseEnsemble
from sklearn.ensemble._forest import BaseForest
from sklearn.model_selection import KFold
from sklearn.utils import get_tags

from whence.errors import InputError
from whence.models import read
from whence.models.layout import Layout
from whence.util.aliases import Floats
from whence.weights.base import SeenColumn
from whence.weights.forecasters import Forecaster, TreeForecaster, forecaster_of

__all__ = ["Training", "cross_fitted", "out_of_bag"]


@dataclass(frozen=True)
class Training:
    """How models are fitted to contexts and outcomes.

    Attributes
    ----------
    models : list
        To be copied: one for all outcomes, or one for each.
    frozen : bool
        Whether they were given fitted, on the user's own columns.
    outcomes : int
        How many outcomes there are.
    columns : sequence of SeenColumn, optional
        Those columns.
    """

    models: list[Any]
    frozen: bool
    outcomes: int
    columns: Sequence[SeenColumn] | None

    def fitted(self, X: Floats, Y: Floats) -> list[Any]:
        """Copies of the models, fitted."""
        shown = self._shown(X)
        models = self.models
        if len(models) == 1 and self.outcomes > 1 and not _takes_several(models[0]):
            models = models * self.outcomes
        parts = [Y] if len(models) == 1 and self.outcomes > 1 else list(Y.T)
        if len(models) != len(parts):
            raise InputError(
                f"'model' must forecast the {self.outcomes} columns of 'Y': one model, or a list with a model for each."
                f" Got {len(models)}.",
                parameter="model",
            )
        made = []
        for model, part in zip(models, parts, strict=True):
            try:
                made.append(clone(model).fit(shown, part))
            except ValueError as error:
                raise InputError(
                    f"The model of ForecastWeights cannot be fitted: {error}", parameter="model"
                ) from error
        return made

    def _shown(self, X: Floats) -> Any:
        """What copies of the models learn from: what those that were given fitted have seen, names included."""
        if not self.frozen:
            return X
        assert self.columns is not None
        found = read(self.models[0])
        if found is not None:
            return found.table(Layout.of(found, self.columns).model_rows(X))
        rows = X[:, [column.coordinate for column in self.columns]]
        names = getattr(self.models[0], "feature_names_in_", None)
        return rows if names is None else pd.DataFrame(rows, columns=list(names))

    @staticmethod
    def draws_samples(models: Sequence[Any]) -> bool:
        """Whether all fitted models are forests whose trees have each seen some of the samples."""
        return all(isinstance(model, BaseForest) and bool(getattr(model, "bootstrap", False)) for model in models)


def _takes_several(model: Any) -> bool:
    """Whether a model of scikit-learn forecasts several numbers at once."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if not type(last).__module__.startswith("sklearn."):
        return False
    if isinstance(last, BaseEnsemble) and not isinstance(last, BaseForest):
        return False
    return bool(get_tags(last).target_tags.multi_output)


def cross_fitted(training: Training, X: Floats, Y: Floats, cv: int) -> Floats:
    """The forecast of each row by models that are fitted to the other folds."""
    if cv > len(X):
        raise InputError(
            f"The 'cv' parameter of ForecastWeights must be at most the number of rows, {len(X)}. Got {cv} instead.",
            parameter="cv",
        )
    found = np.empty_like(Y)
    for learned, left_out in KFold(cv, shuffle=True, random_state=0).split(X):
        models = training.fitted(X[learned], Y[learned])
        columns = training.columns if training.frozen else None
        fold = forecaster_of(models, Y.shape[1], X[learned], columns)
        found[left_out] = fold.said(X[left_out])
    return found


def out_of_bag(models: Sequence[Any], forecaster: Forecaster, X: Floats, outcomes: int) -> Floats:
    """The forecast of each row by the trees that have not seen it."""
    if not Training.draws_samples(models) or not isinstance(forecaster, TreeForecaster):
        raise InputError(
            "The 'residuals' parameter of ForecastWeights must be 'cross' or 'in-sample' for a model that is no forest "
            f"with bootstrap=True. Got 'oob' for {type(models[0]).__name__}.",
            parameter="residuals",
        )
    rows = forecaster.layout.model_rows(X)
    total = np.zeros((len(X), outcomes))
    seen = [_bags(model, forecaster.read[m].leaves(rows), len(X)) for m, model in enumerate(models)]
    leaves = [one.leaves(rows) for one in forecaster.read]
    for k, (m, own, _) in enumerate(forecaster.forecasts):
        outside = ~seen[m]
        count = outside.sum(axis=0)
        if never := int((count == 0).sum()):
            rows_are = "row of 'X' is" if never == 1 else "rows of 'X' are"
            raise InputError(
                f"The forest must have more trees: {never} {rows_are} in the bag of each of its {len(outside)} trees, "
                "without an out-of-bag residual. Residuals may be 'cross' instead.",
                parameter="model",
            )
        for t, values in zip(own.trees, own.values, strict=True):
            # A forest is the mean of its trees: each value is divided by their number.
            total[:, k] += np.where(outside[t], values[leaves[m][:, t]] * len(own.trees), 0.0)
        total[:, k] = own.offset + total[:, k] / count
    return total


def _bags(forest: Any, leaves: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    """Of each tree and row, whether the tree has learned from the row."""
    drawn = forest.estimators_samples_
    found = np.zeros((len(drawn), n), dtype=np.bool_)
    for t, (tree, samples) in enumerate(zip(forest.estimators_, drawn, strict=True)):
        fits = samples.size > 0 and int(samples.max()) < n
        if fits:
            here = np.bincount(leaves[np.unique(samples), t], minlength=tree.tree_.node_count)
            ends = tree.tree_.children_left < 0
            fits = bool(np.array_equal(here[ends], tree.tree_.n_node_samples[ends]))
        if not fits:
            raise InputError(
                "Out-of-bag residuals need the rows that the forest was fitted to, in their order. Got others: take "
                "residuals='cross' or 'in-sample'.",
                parameter="residuals",
            )
        found[t, samples] = True
    return found
