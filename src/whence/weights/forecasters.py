"""What fitted models forecast, in a form that can be searched: a sum over trees, or a line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import BaseEnsemble
from sklearn.ensemble._forest import BaseForest
from sklearn.model_selection import KFold
from sklearn.utils import get_tags

from whence.errors import InputError, InputTypeError, InternalError, parameter_error
from whence.models import FittedTrees, read
from whence.models.lines import NEARLY, check_on_line, is_line
from whence.models.tree_arrays import (
    ArrayTree,
    Forecast,
    Layout,
    Place,
    check_order,
    check_width,
    names_known_to,
    with_names,
)
from whence.util.aliases import Floats
from whence.weights.base import SeenColumn


class Forecaster(ABC):
    """Fitted models that together forecast every outcome, as the columns of a matrix."""

    #: Past contexts, as the models see them.
    inputs: Floats

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many outcomes are forecast."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What forecasts, in a few words."""

    @abstractmethod
    def forecast(self, X: Floats) -> Floats:
        """Return the forecast of every row, one column per outcome, from what was read of the models."""

    @abstractmethod
    def said(self, X: Floats) -> Floats:
        """Return the forecast of every row by the models' own ``predict``."""

    @abstractmethod
    def precision(self) -> Floats:
        """Return by how much the two may differ, for each outcome."""

    @abstractmethod
    def state(self) -> Iterator[Any]:
        """Yield the arrays that make the forecasts what they are."""

    def check(self, X: Floats, what: str) -> Floats:
        """Return the forecast of rows for which the models themselves must say the same."""
        found, said = self.forecast(X), self.said(X)
        slack = self.precision() + 1e-9 * np.abs(said).max(axis=0) + (2e-6 if self.single else 1e-9) * np.abs(said)
        if not (np.abs(found - said) <= slack).all():
            row, column = np.unravel_index(int(np.argmax(np.abs(found - said) - slack)), said.shape)
            raise InternalError(
                f"What was read of the model forecasts {found[row, column]:.9g} for {what}, where it says "
                f"{said[row, column]:.9g} itself."
            )
        return found

    @property
    def single(self) -> bool:
        """Whether the models compare and add up float32."""
        return False


class TreeForecaster(Forecaster):
    """Tree ensembles: one with an output for every column of the outcomes, or one per column.

    `forecasts` says of each outcome which model forecasts it, as what sum over its trees, and what the model calls it;
    `layout` where the models' columns stand among those that are shown.
    """

    def __init__(
        self,
        read: Sequence[FittedTrees],
        forecasts: Sequence[tuple[int, Forecast, Any]],
        layout: Layout,
        inputs: Floats,
    ) -> None:
        self.read, self.forecasts, self.layout, self.inputs = list(read), list(forecasts), layout, inputs
        self._first = np.cumsum([0] + [len(one.trees) for one in self.read])

    @property
    def outputs(self) -> int:
        return len(self.forecasts)

    @property
    def words(self) -> str:
        return f"{int(self._first[-1])} trees of {self.read[0].kind}"

    @property
    def single(self) -> bool:
        return self.read[0].single

    def forecast(self, X: Floats) -> Floats:
        rows = self.layout.model_rows(X)
        leaves = [one.leaves(rows) for one in self.read]
        return np.column_stack([own.sums(leaves[m]) for m, own, _ in self.forecasts])

    def said(self, X: Floats) -> Floats:
        rows = self.layout.model_rows(X)
        return np.column_stack([self.read[m].predicted(rows, label) for m, _, label in self.forecasts])

    def precision(self) -> Floats:
        return np.array([own.precision(self.read[m].single) for m, own, _ in self.forecasts])

    def laid(self, missing: frozenset[int]) -> tuple[list[ArrayTree], Floats, Floats]:
        """All trees, in the columns of the searches, what each of their leaves adds to every outcome, and the offsets.

        Splits on the columns of `missing`, as they are shown, are decided.
        """
        gone = frozenset(j for j, place in enumerate(self.layout.places) if place.at in missing)
        trees = [tree for one in self.read for tree in self.layout.trees(one, gone)]
        leaves = [tree.leaf[tree.leaf >= 0] for tree in trees]
        begins = np.cumsum([0] + [own.size for own in leaves])
        values = np.zeros((int(begins[-1]), self.outputs))
        for k, (m, own, _) in enumerate(self.forecasts):
            for t, of_nodes in zip(own.trees, own.values, strict=True):
                at = int(self._first[m]) + t
                values[begins[at] : begins[at + 1], k] = of_nodes[leaves[at]]
        return trees, values, np.array([own.offset for _, own, _ in self.forecasts])

    def state(self) -> Iterator[Any]:
        for one in self.read:
            yield {"library": one.kind}
            for tree in one.trees:
                yield from (tree.feature, tree.threshold, tree.left, tree.right)
        for m, own, _ in self.forecasts:
            yield {"model": m, "trees": list(own.trees), "offset": own.offset}
            yield from own.values


class LinearForecaster(Forecaster):
    """Models whose forecast is a line: coefficients and intercepts, read from what they say.

    They are one with an output for every column of the outcomes, or one per column.
    """

    def __init__(self, models: Sequence[Any], layout: Layout, inputs: Floats) -> None:
        self.models, self.layout, self.inputs = list(models), layout, inputs
        self._names = names_known_to(models[0])
        rows = layout.model_rows(inputs)
        middle, spans = rows.mean(axis=0), np.ptp(rows, axis=0)
        spans = np.where(spans > 0, spans, np.maximum(1.0, np.abs(middle)))
        said = self._predicted(np.vstack([middle, middle + np.diag(spans)]))
        own: Floats = ((said[1:] - said[0]) / spans[:, None]).T
        written = [_written(model) for model in self.models]
        if all(one is not None for one in written):
            own = np.vstack([one for one in written if one is not None])
        #: Of shape (outcomes, columns that are shown).
        self.coefficients: Floats = np.zeros((len(own), inputs.shape[1]))
        self.coefficients[:, [place.at for place in layout.places]] = own
        self.intercepts: Floats = said[0] - own @ middle
        here = self.said(inputs)
        slack = self.precision() + NEARLY * np.abs(here).max(axis=0)
        check_on_line(self.forecast(inputs), here, slack, self.models[0])

    @property
    def outputs(self) -> int:
        return len(self.coefficients)

    @property
    def words(self) -> str:
        return f"a line through {self.coefficients.shape[1]} columns"

    def forecast(self, X: Floats) -> Floats:
        return X @ self.coefficients.T + self.intercepts

    def said(self, X: Floats) -> Floats:
        return self._predicted(self.layout.model_rows(X))

    def _predicted(self, rows: Floats) -> Floats:
        shown = with_names(rows, self._names)
        columns = [np.asarray(model.predict(shown), dtype=np.float64).reshape(len(rows), -1) for model in self.models]
        return np.hstack(columns)

    def precision(self) -> Floats:
        size = np.abs(self.coefficients) @ np.abs(self.inputs).max(axis=0) + np.abs(self.intercepts)
        return np.asarray(NEARLY * size)

    def state(self) -> Iterator[Any]:
        yield {"library": "linear"}
        yield from (self.coefficients.ravel(), self.intercepts)


def forecaster_of(
    models: Sequence[Any], outcomes: int, inputs: Floats, columns: Sequence[SeenColumn] | None
) -> Forecaster:
    """Return what fitted models forecast of this many outcomes.

    `columns` are those of the user's table, where the models have seen these; otherwise the models have seen what they
    are shown here, such as a 0/1 column per category.
    """
    found = [read(model) for model in models]
    trees = [one for one in found if one is not None and one.trees]
    if len(trees) == len(models):
        return _of_trees(trees, models, outcomes, inputs, columns)
    for model in models:
        if not is_line(model):
            raise InputTypeError(
                "'model' must be a tree ensemble of scikit-learn, XGBoost, LightGBM or CatBoost, or a linear model. "
                f"Got {type(model).__name__} instead."
            )
    line = LinearForecaster(models, _plain_layout(models[0], columns, inputs), inputs)
    _check_outputs(line.outputs, outcomes)
    return line


def _plain_layout(model: Any, columns: Sequence[SeenColumn] | None, inputs: Floats) -> Layout:
    """Return where the columns of a linear model stand, which are numbers."""
    if columns is None:
        return Layout.plain(inputs.shape[1])
    for column in columns:
        if column.categories is not None:
            raise InputError(
                f"A fitted linear model sees numbers only: declare the category {column.name!r} by its 0/1 columns, "
                "Categorical(columns=[...]), or as Discrete.",
                parameter="model",
            )
    check_width(int(getattr(model, "n_features_in_", len(columns))), len(columns), "model")
    return Layout(tuple(Place(column.coordinate) for column in columns))


def _of_trees(
    found: list[FittedTrees],
    models: Sequence[Any],
    outcomes: int,
    inputs: Floats,
    columns: Sequence[SeenColumn] | None,
) -> TreeForecaster:
    layouts = [Layout.plain(inputs.shape[1]) if columns is None else Layout.of(one, columns) for one in found]
    if len({one.single for one in found}) > 1 or any(layout != layouts[0] for layout in layouts):
        raise InputError(
            "The models of a list must be of one library and see the same categories. Got different ones.",
            parameter="model",
        )
    forecasts: list[tuple[int, Forecast, Any]] = []
    for m, one in enumerate(found):
        # A regressor of CatBoost has classes, too, if none of them.
        if hasattr(models[m], "predict_proba"):
            raise InputTypeError(f"'model' must be a regressor. Got {type(models[m]).__name__} instead.")
        for label in one.labels() or [None]:
            forecast = one.forecast(label)
            if forecast.link != "identity":
                raise InputError(
                    "'model' must add up its trees, so its objective must not have a logarithm or other link. "
                    f"Got {type(models[m]).__name__} with one."
                )
            forecasts.append((m, forecast, label))
    _check_outputs(len(forecasts), outcomes)
    return TreeForecaster(found, forecasts, layouts[0], inputs)


def check_seen(models: Sequence[Any], names: Sequence[str]) -> None:
    """Refuse columns in another order than fitted models have seen them."""
    for model in models:
        trees = read(model)
        if trees is None:
            check_order(names_known_to(model), names, "model has")
        else:
            check_order(trees.names, names, f"{trees.kind} model has")


def _check_outputs(found: int, wanted: int) -> None:
    if found != wanted:
        raise InputError(
            f"'model' must forecast the {wanted} columns of 'Y': one model with that many outputs, or a list with a "
            f"model for each. Got {found}."
        )


def _written(model: Any) -> NDArray[np.float64] | None:
    """Return the coefficients as a model itself holds them, one row per output; None for a pipeline."""
    if hasattr(model, "steps"):
        return None
    return np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))


@dataclass(frozen=True)
class Training:
    """How models are fitted to contexts and outcomes."""

    #: To be copied: one for all outcomes, or one for each.
    models: list[Any]
    #: Whether they were given fitted, on the user's own columns.
    frozen: bool
    #: How many outcomes there are.
    outcomes: int
    #: Those columns.
    columns: Sequence[SeenColumn] | None

    def fitted(self, X: Floats, Y: Floats) -> list[Any]:
        """Return copies of the models, fitted."""
        shown = self._shown(X)
        models = self.models
        if len(models) == 1 and self.outcomes > 1 and not _takes_several(models[0]):
            models = models * self.outcomes
        parts = [Y] if len(models) == 1 and self.outcomes > 1 else list(Y.T)
        if len(models) != len(parts):
            raise InputError(
                f"'model' must forecast the {self.outcomes} columns of 'Y': one model, or a list with a model for each."
                f" Got {len(models)}."
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
        """Return what copies of the models learn from: what those that were given fitted have seen, names included."""
        if not self.frozen:
            return X
        assert self.columns is not None
        found = read(self.models[0])
        if found is not None:
            return found.table(Layout.of(found, self.columns).model_rows(X))
        rows = X[:, [column.coordinate for column in self.columns]]
        return with_names(rows, names_known_to(self.models[0]))

    @staticmethod
    def draws_samples(models: Sequence[Any]) -> bool:
        """Return whether all fitted models are forests whose trees have each seen some of the samples."""
        return all(isinstance(model, BaseForest) and bool(getattr(model, "bootstrap", False)) for model in models)


def _takes_several(model: Any) -> bool:
    """Return whether a model of scikit-learn forecasts several numbers at once."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if not type(last).__module__.startswith("sklearn."):
        return False
    if isinstance(last, BaseEnsemble) and not isinstance(last, BaseForest):
        return False
    return bool(get_tags(last).target_tags.multi_output)


def cross_fitted(training: Training, X: Floats, Y: Floats, cv: int) -> Floats:
    """Return the forecast of each row by models that are fitted to the other folds."""
    if cv > len(X):
        raise parameter_error("ForecastWeights", "cv", f"be at most the number of rows, {len(X)}", cv)
    found = np.empty_like(Y)
    for learned, left_out in KFold(cv, shuffle=True, random_state=0).split(X):
        models = training.fitted(X[learned], Y[learned])
        columns = training.columns if training.frozen else None
        fold = forecaster_of(models, Y.shape[1], X[learned], columns)
        found[left_out] = fold.said(X[left_out])
    return found


def out_of_bag(models: Sequence[Any], forecaster: Forecaster, X: Floats, outcomes: int) -> Floats:
    """Return the forecast of each row by the trees that have not seen it."""
    if not Training.draws_samples(models) or not isinstance(forecaster, TreeForecaster):
        raise InputError(
            "The 'residuals' parameter of ForecastWeights must be 'cross' or 'in-sample' for a model that is no forest "
            f"with bootstrap=True. Got 'oob' for {type(models[0]).__name__}."
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
    """Return, for each tree and row, whether the tree has learned from the row."""
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
