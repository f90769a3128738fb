"""Fitted linear models, alone or behind steps that leave them lines: what they forecast, read from what they say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError
from whence.models import FittedTrees, read
from whence.models.tree_arrays import Forecast, Link, RawTree, names_known_to
from whence.util.aliases import Floats

if TYPE_CHECKING:
    from whence.weights.base import SeenColumn

#: Share of the largest forecast by which a line may miss what a model says.
NEARLY = 1e-9
#: Share of a sum of products, for each of them, by which rounding may change it.
ROUNDING = 4e-16
#: Steps of a pipeline that are linear in numbers, or know categories only by what each of them adds.
STEPS = {
    *("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PCA", "TruncatedSVD", "SimpleImputer"),
    *("OneHotEncoder", "OrdinalEncoder", "TargetEncoder", "VarianceThreshold", "SelectKBest", "SelectPercentile"),
    *("SelectFromModel", "RFE", "RFECV", "SequentialFeatureSelector"),
}
#: Regressors that forecast the exponential of a line.
EXPONENTIAL = ("PoissonRegressor", "GammaRegressor")
#: Where in the range of a number it is looked whether a model is a line.
PLACES = (0.0, 0.3, 0.5, 0.8, 1.0)


@dataclass(frozen=True, eq=False)
class Line:
    """A forecast that is a line through the numbers and the 0/1 columns of categories that searches see."""

    #: One row, of shape (1, columns).
    coefficients: Floats
    #: One number, of shape (1,).
    intercepts: Floats
    #: Past contexts, of shape (n, columns).
    inputs: Floats

    @property
    def forecaster(self) -> Self:
        """What forecasts: itself."""
        return self

    def forecast(self, X: Floats) -> Floats:
        """Return the forecast of every row, as one column."""
        return X @ self.coefficients.T + self.intercepts

    def sums(self, X: Floats) -> Floats:
        """Return the same as an array."""
        return self.forecast(X)[:, 0]

    def at(self, row: Floats) -> Floats:
        """Return the forecast in one context."""
        found: Floats = self.forecast(np.asarray(row, dtype=np.float64)[None, :])[0]
        return found

    def precision(self) -> float:
        """Return by how much sums taken in another order may differ."""
        size = np.abs(self.coefficients[0]) @ np.abs(self.inputs).max(axis=0) + abs(float(self.intercepts[0]))
        return float(ROUNDING * (self.inputs.shape[1] + 2) * size)


class FittedLine:
    """A fitted model that is linear in numbers, with an effect of its own for every category.

    It is a linear regressor or classifier of scikit-learn, or a pipeline that ends in one.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.last = model, _last(model)
        self.names = names_known_to(model)
        check_steps(model)

    @classmethod
    def of(cls, model: Any) -> FittedLine | None:
        """Return what is read of a model; None where it is none of this kind."""
        return cls(model) if is_line(model) else None

    @property
    def n_features(self) -> int:
        """Columns that it has seen."""
        return int(self.model.n_features_in_)

    @property
    def kind(self) -> str:
        """What it is, in a few words."""
        return f"{type(self.last).__name__}, a line"

    @property
    def classes(self) -> list[Any]:
        """The classes of a classifier; none for a regressor."""
        return list(getattr(self.last, "classes_", []))

    def labels(self) -> list[Any]:
        """Return what is asked about by name: one of three classes or more, or one of several outputs."""
        classes = self.classes
        outputs = 1 if classes else int(np.atleast_1d(np.asarray(self.last.intercept_)).size)
        wide = np.asarray(self.last.coef_)
        if not classes and wide.ndim == 2:
            outputs = max(outputs, len(wide))
        return classes if len(classes) > 2 else list(range(outputs)) if outputs > 1 else []

    @property
    def link(self) -> Link:
        """What the model makes of the line: itself, its exponential, or a probability."""
        name, classes = type(self.last).__name__, self.classes
        if classes:
            logistic = name in ("LogisticRegression", "LogisticRegressionCV")
            logistic = logistic or (name == "SGDClassifier" and self.last.loss == "log_loss")
            return "logit" if logistic and len(classes) == 2 else "identity"
        if name == "TweedieRegressor":
            how, power = self.last.link, float(self.last.power)
            return "log" if how == "log" or (how == "auto" and power > 0) else "identity"
        return "log" if name in EXPONENTIAL else "identity"

    def predicted(self, table: pd.DataFrame, label: Any = None) -> Floats:
        """Return what the model itself says of every row: a forecast, a probability, or the score of a class."""
        shown = self._shown(table)
        if self.link == "logit":
            return np.asarray(self.model.predict_proba(shown)[:, 1], dtype=np.float64)
        return self._column(shown, label)

    def linear(self, table: pd.DataFrame, label: Any = None) -> Floats:
        """Return the line behind it, for every row."""
        found = self._column(self._shown(table), label)
        return np.log(found) if self.link == "log" else found

    def _column(self, shown: Any, label: Any) -> Floats:
        said = self.model.decision_function(shown) if self.classes else self.model.predict(shown)
        columns = np.asarray(said, dtype=np.float64).reshape(len(shown), -1)
        labels = self.labels()
        return np.ascontiguousarray(columns[:, labels.index(label) if labels else 0])

    def _shown(self, table: pd.DataFrame) -> Any:
        """Return rows as the model takes them."""
        if self.names is not None:
            return table.set_axis(self.names, axis=1)
        return table.to_numpy()

    # ---- as a line -----------------------------------------------------------------------------------

    def read(self, history: pd.DataFrame, columns: Sequence[SeenColumn], inputs: Floats, label: Any = None) -> Line:
        """Return the line, from what the model says where one column of a past context after the other is changed.

        `columns` are those of the user's table; `inputs` are past contexts as searches see them.
        """
        base = history.iloc[[0]].astype(object)
        places = [(name, at, probes(history[name], own), own is None) for name, at, own in columns]
        frames = [changed(base, name, values) for name, _, values, _ in places]
        said = self.linear(typed_like(pd.concat(frames, ignore_index=True), history), label)
        coefficients, first = np.zeros((1, inputs.shape[1])), 0
        size = float(np.abs(said).max())
        for name, at, values, number in places:
            own = said[first : first + len(values)]
            first += len(values)
            if not number:
                coefficients[0, at : at + len(values)] = own - own[0]
                continue
            spots = np.array([float(value) for value in values])
            slope = (own[-1] - own[0]) / (spots[-1] - spots[0])
            if not (np.abs(own - own[0] - slope * (spots - spots[0])) <= 1e-7 * size).all():
                raise InputError(
                    f"'model' must be a line in {name!r}, or know it as a category. Got {type(self.model).__name__}, "
                    "which is neither."
                )
            coefficients[0, at] = slope
        middle = int(np.argmin(np.abs(inputs - inputs.mean(axis=0)).sum(axis=1)))
        every = self.linear(typed_like(history, history), label)
        line = Line(coefficients, every[middle] - coefficients @ inputs[middle], inputs)
        slack = 10.0 * line.precision() + NEARLY * np.abs(every).max()
        check_on_line(line.sums(inputs), every, slack, self.last)
        return line


def _last(model: Any) -> Any:
    return _last(model.steps[-1][1]) if hasattr(model, "steps") else model


def is_line(model: Any) -> bool:
    """Return whether a fitted model, or the last step of a pipeline, is linear."""
    # A support vector machine has coefficients only where its kernel is a line.
    return all(hasattr(_last(model), name) for name in ("coef_", "intercept_", "predict"))


def check_on_line(read: Floats, said: Floats, slack: Any, model: Any) -> None:
    """Refuse a model that says other than the line that was read of it."""
    if not (np.abs(read - said) <= slack).all():
        raise InputError(
            "'model' must be a tree ensemble or linear in what it is shown. Got "
            f"{type(model).__name__}, whose forecasts are not on a line."
        )


def check_steps(model: Any, refused: Collection[str] = ()) -> None:
    """Refuse steps of a pipeline that may bend a line, and further ones by their name."""
    for step in _transformers(model):
        name = type(step).__name__
        plain = name == "FunctionTransformer" and step.func is None
        if name in refused or (name not in STEPS and not plain) or getattr(step, "clip", False) is True:
            raise InputError(
                "'model' must be a pipeline of scalers, selections and encoders of categories before the model itself. "
                f"Got {step!r} in it."
            )


def _transformers(model: Any) -> list[Any]:
    """Return all transformers of a pipeline and of the column transformers in it."""
    if isinstance(model, str):
        return []
    if hasattr(model, "steps"):
        parts = [step for _, step in model.steps]
        own = [] if not hasattr(parts[-1], "predict") else [parts.pop()]
        # A pipeline may end in another one.
        return [one for part in parts for one in _transformers(part)] + (
            _transformers(own[0]) if own and hasattr(own[0], "steps") else []
        )
    if hasattr(model, "transformers_"):
        return [one for _, part, _ in model.transformers_ for one in _transformers(part)]
    if hasattr(model, "transformer_list"):
        return [one for _, part in model.transformer_list for one in _transformers(part)]
    return [model] if hasattr(model, "transform") and not hasattr(model, "predict") else []


def probes(column: pd.Series, categories: Sequence[Any] | None) -> list[Any]:
    """Return values at which it is looked what a model makes of a column: its categories, or numbers in their order."""
    if categories is not None:
        return list(categories)
    past = np.unique(column.to_numpy(dtype=np.float64))
    if past.size == 1:
        return [0.0, 1.0] if column.dtype == bool else [float(past[0]), float(past[0] + max(1.0, abs(past[0])))]
    if (past == np.round(past)).all():
        # Between whole numbers a model may know nothing: only those of the past are asked about.
        chosen = np.unique([round(share * (past.size - 1)) for share in PLACES])
        return [float(value) for value in past[chosen]]
    return [float(past[0] + share * (past[-1] - past[0])) for share in PLACES]


def changed(row: pd.DataFrame, name: str, values: Sequence[Any]) -> pd.DataFrame:
    """Return a table of one row as often as there are values, which are those of the column `name`."""
    frame = row.iloc[np.zeros(len(values), dtype=int)].reset_index(drop=True)
    frame[name] = pd.Series(list(values), dtype=object)
    return frame


def typed_like(table: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """A table of any values with columns of the kinds that a history has; whole numbers may become any number."""
    made: dict[str, pd.Series] = {}
    for name in like.columns:
        kind = like[name].dtype
        if pd.api.types.is_bool_dtype(kind):
            made[name] = table[name].astype(bool)
        elif pd.api.types.is_numeric_dtype(kind):
            made[name] = table[name].astype(np.float64)
        else:
            made[name] = table[name].astype(kind)
    return pd.DataFrame(made)


#: Steps that mix columns.
MIXING = ("PCA", "TruncatedSVD")
#: Halvings until two neighbouring numbers are left.
HALVINGS = 2100


class PipedTrees(FittedTrees):
    """The trees of the last step of a pipeline, as far as they can be read without its history.

    :meth:`in_columns` gives them in the user's columns.
    """

    def __init__(self, model: Any, inner: FittedTrees) -> None:
        self.model, self.inner, self.trees = model, inner, inner.trees
        self.n_features, self.categories = int(model.n_features_in_), {}
        self.names = names_known_to(model)
        self.kind, self.single = f"{inner.kind} pipeline", False  # type: ignore[misc]
        check_steps(model, MIXING)
        if inner.categories:
            raise InputError("'model' must be a pipeline whose last step sees numbers. Got one that knows categories.")
        self._columns: Sequence[SeenColumn] = ()
        self._like = pd.DataFrame()

    @classmethod
    def of(cls, fitted: Any) -> Self | None:
        if not hasattr(fitted, "steps") or len(fitted.steps) < 2:
            return None
        inner = read(fitted.steps[-1][1])
        return None if inner is None or not inner.trees else cls(fitted, inner)

    def in_columns(self, history: pd.DataFrame, columns: Sequence[SeenColumn]) -> PipedTrees:
        """Return the same with splits of the columns of a table, of which `history` holds past rows."""
        made = PipedTrees(self.model, self.inner)
        made._columns, made._like = columns, history
        made.categories = {j: list(own) for j, (_, _, own) in enumerate(columns) if own is not None}
        made.trees = _Taken(made, history, columns).trees()
        return made

    def transformed(self, table: pd.DataFrame) -> Floats:
        """Return what the last step is shown."""
        shown: Any = table.to_numpy() if self.names is None else table.set_axis(self.names, axis=1)
        found = self.model[:-1].transform(shown)
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)

    def _rows(self, X: Floats) -> Floats:
        """Return rows of numbers and codes as the last step sees them."""
        values: dict[str, Any] = {}
        for j, (name, _, own) in enumerate(self._columns):
            values[name] = X[:, j] if own is None else np.array([own[int(code)] for code in X[:, j]], dtype=object)
        return self.transformed(typed_like(pd.DataFrame(values), self._like))

    def leaves(self, X: Floats) -> NDArray[np.int64]:
        return self.inner.leaves(self._rows(X))

    @property
    def has_second_class(self) -> bool:
        return self.inner.has_second_class

    def labels(self) -> list[Any]:
        return self.inner.labels()

    def forecast(self, label: Any = None) -> Forecast:
        return self.inner.forecast(label)

    def predicted(self, X: Floats, label: Any = None) -> Floats:
        return self.inner.predicted(self._rows(X), label)


class _Taken:
    """Splits of what a pipeline makes of a table, taken back to the columns of that table."""

    def __init__(self, piped: PipedTrees, history: pd.DataFrame, columns: Sequence[SeenColumn]) -> None:
        self.piped, self.history, self.columns = piped, history, columns
        self.base = history.iloc[[0]].astype(object)
        here = self.here = self._made(self.base)[0]
        #: For every column that the trees see: the user's column it comes from (-1: none), by its number.
        self.source = np.full(here.size, -1, dtype=np.int64)
        #: What every category of a column becomes.
        self.levels: dict[int, Floats] = {}
        self.ends: dict[int, tuple[float, float]] = {}
        for j, (name, _, own) in enumerate(columns):
            values = probes(history[name], own)
            found = self._varied(j, values)
            moved = np.flatnonzero((found != here).any(axis=0))
            taken = moved[self.source[moved] >= 0]
            if taken.size:
                raise self._refused(name, "is mixed with others")
            self.source[moved] = j
            if own is not None:
                self.levels[j] = found
            else:
                self.ends[j] = float(values[0]), float(values[-1])
                rising = (np.diff(found[:, moved], axis=0) > 0).all()
                slopes = (found[:, moved] - found[0, moved]).T / (found[-1, moved] - found[0, moved] + 1e-300)[:, None]
                even = (np.array(values) - values[0]) / (values[-1] - values[0])
                if not rising or not (np.abs(slopes - even) <= 1e-6).all():
                    raise self._refused(name, "is not scaled")

    def _refused(self, name: str, why: str) -> InputError:
        return InputError(
            f"'model' must scale the number {name!r} by itself, or know it as a category. Got "
            f"{type(self.piped.model).__name__}, in which it {why}."
        )

    def _made(self, table: pd.DataFrame) -> Floats:
        return self.piped.transformed(typed_like(table, self.history))

    def _varied(self, j: int, values: Sequence[Any]) -> Floats:
        """Return what the trees see where a column has these values."""
        return self._made(changed(self.base, self.columns[j][0], values))

    def trees(self) -> list[RawTree]:
        """Return the trees with splits of the user's columns."""
        old = self.piped.inner.trees
        numbers: dict[int, dict[float, float]] = {}
        for c in range(self.source.size):
            own = [tree.threshold[tree.feature == c] for tree in old]
            j = int(self.source[c])
            if j >= 0 and j not in self.levels:
                cuts = np.unique(np.concatenate(own))
                numbers[c] = dict(zip(cuts.tolist(), self._turns(c, cuts).tolist(), strict=True))
        return [self._taken(tree, numbers) for tree in old]

    def _taken(self, tree: RawTree, numbers: dict[int, dict[float, float]]) -> RawTree:
        feature, threshold = tree.feature.copy(), tree.threshold.copy()
        sets: dict[int, frozenset[int]] = {}
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            c, cut = int(tree.feature[node]), float(tree.threshold[node])
            j = feature[node] = max(int(self.source[c]), 0)
            if self.source[c] < 0:
                # Nothing in the table moves it: whatever stands in the first column, all go the same way.
                left = bool(self._compared(self.here)[c] <= cut)
                threshold[node] = np.inf if left else -np.inf
                if j in self.levels:
                    sets[node] = frozenset(range(len(self.levels[j]) if left else 0))
            elif j in self.levels:
                sets[node] = frozenset(np.flatnonzero(self._compared(self.levels[j][:, c]) <= cut).tolist())
            else:
                threshold[node] = numbers[c][cut]
        return replace(tree, feature=feature, threshold=threshold, sets=sets)

    def _compared(self, values: Floats) -> Floats:
        """Return numbers as the library compares them."""
        return values.astype(np.float32).astype(np.float64) if self.piped.inner.single else values

    def _turns(self, c: int, cuts: Floats) -> Floats:
        """For every threshold of a column that the trees see, the last number of the user's that goes to its left."""
        if not cuts.size:
            return cuts
        j = int(self.source[c])
        first, last = self.ends[j]
        made = self._varied(j, [first, last])[:, c]
        slope = (made[1] - made[0]) / (last - first)
        guess = first + (cuts - made[0]) / slope

        def left_of(numbers: Floats) -> NDArray[np.bool_]:
            return self._compared(self._varied(j, numbers.tolist())[:, c]) <= cuts

        hair = 1e-12 * (np.abs(guess) + abs(last - first)) + 2e-7 * np.abs(cuts) / slope
        low, high = guess - hair, guess + hair
        while not (left_of(low) & ~left_of(high)).all():
            hair *= 10.0
            low, high = guess - hair, guess + hair
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            open_ = (middle > low) & (middle < high)
            if not open_.any():
                break
            left = left_of(middle)
            low, high = np.where(open_ & left, middle, low), np.where(open_ & ~left, middle, high)
        found: Floats = low
        return found
