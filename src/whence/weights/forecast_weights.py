"""Forecasts with the residuals of the past: what may come is the forecast plus what it once missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from whence.checks import Rule, one_of, whole
from whence.errors import InputError, InputTypeError, NotFittedError, parameter_error
from whence.util.aliases import Floats
from whence.weights.base import Capabilities, SeenColumn, Weights, as_matrix
from whence.weights.forecasters import (
    Forecaster,
    LinearForecaster,
    Training,
    TreeForecaster,
    check_seen,
    cross_fitted,
    forecaster_of,
    out_of_bag,
)
from whence.weights.trees import BareMembers, TreeWeights

ResidualKind = Literal["oob", "cross", "in-sample"]
KINDS = ("oob", "cross", "in-sample")

#: Models by name.
NAMED: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestRegressor(n_estimators=100, min_samples_leaf=5, random_state=0),
    "boosted": lambda: HistGradientBoostingRegressor(random_state=0),
    "linear": LinearRegression,
}


class ForecastWeights(Weights):
    """Forecasts of a model, and what they missed in the past (residuals): forecast first, then optimise.

    In a context, what may come is the model's forecast plus the residual of each past observation, all with the same
    weight (ER-SAA; Kannan, Bayraksan and Luedtke). So a context moves what may come as a whole, where other weights
    choose among past outcomes.

    Parameters
    ----------
    model : estimator, or {"forest", "boosted", "linear"}
        A regressor to be fitted: a tree ensemble of scikit-learn, XGBoost, LightGBM or CatBoost, or a linear model,
        also as the last step of a pipeline of scalers. It sees numbers in their own units, and a 0/1 column per
        category. Where it forecasts only one number, each column of the outcomes has a copy of its own. The names stand
        for a RandomForestRegressor with at least five samples per leaf, a HistGradientBoostingRegressor and a
        LinearRegression of scikit-learn.
    residuals : {"oob", "cross", "in-sample"}, optional
        Where the residual of an observation comes from: trees that have not seen it, models fitted without its fold,
        or the model itself, which is too sure of what it has seen. By default out of bag where the model is a forest
        that draws its samples, otherwise cross-fitted.
    cv : int
        Number of folds for cross-fitting.

    Attributes
    ----------
    residuals_ : ndarray of shape (n, outcomes)
        What the forecasts missed.
    models_ : list
        The fitted models.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.linspace(0, 10, 40)[:, None]
    >>> Y = 20 + 3 * X + np.tile([[-2.0], [2.0]], (20, 1))
    >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.ForecastWeights(LinearRegression())).fit(X, Y)
    >>> policy.decide([4.0]).round(0)
    array([34.])
    >>> why = policy.explain([4.0], instead=[40.0])
    >>> why.status, round(float(why.context["x0"]), 1)
    ('optimal', 4.9)
    """

    kind: ClassVar[str] = "forecast"
    label: ClassVar[str] = "forecast"
    dtype: DTypeLike = np.float64

    def __init__(self, model: Any, residuals: ResidualKind | None = None, cv: int = 5) -> None:
        self.model = model
        self.residuals = residuals
        self.cv = cv

    #: The models that were given fitted (see `of`).
    frozen: list[Any] | None = None

    forecaster_: Forecaster
    residuals_: Floats
    models_: list[Any]
    _columns: Sequence[SeenColumn] | None = None
    _views: dict[frozenset[int], Weights]

    @classmethod
    def of(cls, fitted: Any, residuals: ResidualKind | None = None, cv: int = 5) -> ForecastWeights:
        """Return forecasts of a model that is already fitted, or of a list with one for each column of the outcomes.

        It stays as it is, and sees the user's own columns in their own units. Out-of-bag residuals need the rows that
        a forest was fitted to, in their order. Cross-fitting fits copies of the model.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.ensemble import RandomForestRegressor
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> forest = RandomForestRegressor(50, random_state=0).fit(X, X.ravel())
        >>> ForecastWeights.of(forest).fit(X, X).residuals_.shape
        (30, 1)
        """
        models = list(fitted) if isinstance(fitted, list | tuple) else [fitted]
        if not models:
            raise InputError("'fitted' must be a fitted model or a list of them. Got an empty list.")
        for model in models:
            try:
                check_is_fitted(model)
            except SklearnNotFittedError:
                raise NotFittedError(f"'fitted' must be fitted. Got an unfitted {type(model).__name__}.") from None
            except TypeError:
                raise InputTypeError(
                    f"'fitted' must be a fitted regressor. Got {type(model).__name__} instead."
                ) from None
        weights = cls(fitted, residuals, cv)
        weights.frozen = models
        return weights

    def __sklearn_clone__(self) -> ForecastWeights:
        if self.frozen is not None:
            made = type(self)(self.model, self.residuals, self.cv)
            made.frozen = self.frozen
            return made
        model = self.model if isinstance(self.model, str) else clone(self.model, safe=False)
        return type(self)(model, self.residuals, self.cv)

    # ---- how a context is seen -----------------------------------------------------------------------

    @property
    def capabilities(self) -> Capabilities:
        """Return what forecasts can do: the models see numbers in their own units, and a 0/1 column per category.

        No explanation is held against refits of a forecast.
        """
        return Capabilities(
            forecasts=True,
            can_refit=False,
            sees_units=True,
            sees_levels=True,
            knows_missing=self._takes_missing(),
            follows_circles=True,
        )

    @property
    def compared_as(self) -> DTypeLike:
        single = hasattr(self, "forecaster_") and self.forecaster_.single
        return np.float32 if single else np.float64

    def _takes_missing(self) -> bool:
        """Return whether the models take NaN."""
        models = self.frozen or [self._estimator]
        try:
            return all(bool(get_tags(model).input_tags.allow_nan) for model in models)
        except (AttributeError, TypeError):
            return False

    def take_columns(self, columns: Sequence[SeenColumn]) -> None:
        """Where the columns of models that were given fitted stand."""
        self._columns = list(columns)

    def check_columns(self, names: Sequence[str]) -> None:
        if self.frozen is not None:
            check_seen(self.frozen, names)

    def thresholds(self, column: int) -> Floats | None:
        """Return the thresholds of trees; a line turns anywhere."""
        view = self.lacking(frozenset())
        return view.thresholds(column)

    # ---- learning ------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        """Fit the model to contexts `X` and outcomes `Y`, and take note of what it misses."""
        self._check_parameters()
        inputs = as_matrix(X, self.dtype, missing=self._takes_missing())
        outcomes = np.asarray(Y, dtype=np.float64)
        outcomes = outcomes[:, None] if outcomes.ndim == 1 else outcomes
        if len(outcomes) != len(inputs):
            raise InputError(f"'Y' must have a row for each of the {len(inputs)} rows of 'X'. Got {len(outcomes)}.")
        columns = self._columns if self.frozen is not None else None
        if self.frozen is not None and columns is None:
            columns = [SeenColumn(f"x{j}", j, None) for j in range(inputs.shape[1])]
        training = Training(self.frozen or [self._estimator], self.frozen is not None, outcomes.shape[1], columns)
        self.models_ = list(self.frozen) if self.frozen is not None else training.fitted(inputs, outcomes)
        self.forecaster_ = forecaster_of(self.models_, outcomes.shape[1], inputs, columns)
        forecast = self.forecaster_.check(inputs, "a row of 'X'")
        kind = self.residuals or ("oob" if training.draws_samples(self.models_) else "cross")
        if kind == "oob":
            forecast = out_of_bag(self.models_, self.forecaster_, inputs, outcomes.shape[1])
        elif kind == "cross":
            forecast = cross_fitted(training, inputs, outcomes, self.cv)
        self.residuals_ = outcomes - forecast
        self.residual_kind_ = kind
        self.n_samples_, self.n_features_in_ = inputs.shape
        self.inputs_ = inputs
        self._views = {}
        return self

    def _check_parameters(self) -> None:
        known = f"one of {', '.join(map(repr, KINDS))} or None"
        Rule(known, one_of(*KINDS, None).fits).check_all("ForecastWeights", self, "residuals")
        whole(2).check_all("ForecastWeights", self, "cv")
        named = isinstance(self.model, str)
        if self.frozen is None and (
            self.model not in NAMED if named else not (hasattr(self.model, "fit") and hasattr(self.model, "predict"))
        ):
            wanted = f"be a regressor with 'fit' and 'predict', or one of {', '.join(map(repr, NAMED))}"
            kind = InputError if named else InputTypeError
            raise parameter_error("ForecastWeights", "model", wanted, repr(self.model), kind)

    @property
    def _estimator(self) -> Any:
        """The model to be fitted."""
        return NAMED[self.model]() if isinstance(self.model, str) and self.model in NAMED else self.model

    # ---- forecasts and weights -----------------------------------------------------------------------

    def forecast(self, X: ArrayLike) -> Floats:
        """Return the forecast for every row of `X`, as the models see it: one column per outcome."""
        self._check_fitted()
        return self.forecaster_.forecast(as_matrix(X, self.dtype, self.n_features_in_, self._takes_missing()))

    def outcomes(self, row: Floats, Y: Floats) -> Floats:
        """Return what may come in a context: its forecast, plus each residual of the past."""
        return self.forecast(np.asarray(row, dtype=np.float64)[None, :]) + self.residuals_

    def rows(self, X: NDArray[Any]) -> Floats:
        return np.full((len(X), self.n_samples_), 1.0 / self.n_samples_)

    def lacking(self, columns: frozenset[int]) -> Weights:
        """Return the forecast itself, as the searches see it, where these columns are missing."""
        if columns not in self._views:
            own = self.forecaster_
            if isinstance(own, TreeForecaster):
                self._views[columns] = ForecastTrees(own, columns)
            else:
                assert isinstance(own, LinearForecaster)
                self._views[columns] = ForecastLine(own)
        return self._views[columns]

    def state(self) -> Iterator[Any]:
        yield {"kind": self.kind, "residuals": self.residual_kind_}
        yield from self.forecaster_.state()
        yield self.residuals_.ravel()

    def describe(self) -> str:
        said = {"oob": "out-of-bag", "cross": "cross-fitted", "in-sample": "in-sample"}[self.residual_kind_]
        return f"forecasts by {self.forecaster_.words}, with {self.n_samples_} {said} residuals"

    def __getstate__(self) -> dict[str, Any]:
        # The views are made again when they are needed.
        state: dict[str, Any] = {**super().__getstate__()}
        if "_views" in state:
            state["_views"] = {}
        return state


class _Forecasting(Weights):
    """A forecast as an engine sees it: in the place of weights stands the forecast of every outcome."""

    kind: ClassVar[str] = "forecast"
    label: ClassVar[str] = "forecast"
    dtype: DTypeLike = np.float64

    forecaster: Forecaster

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        return self

    def rows(self, X: NDArray[Any]) -> Floats:
        return self.forecaster.forecast(np.asarray(X, dtype=np.float64))

    def at(self, row: ArrayLike) -> Floats:
        found: Floats = self.rows(np.asarray(row, dtype=np.float64)[None, :])[0]
        return found

    def confirmed(self, row: Floats, separation: float) -> Floats:
        found: Floats = self.forecaster.check(np.asarray(row, dtype=np.float64)[None, :], "the context found")[0]
        return found

    @property
    def capabilities(self) -> Capabilities:
        """Return what others must know: forecasts stand in the place of weights, missing numbers are decided already.

        Trees of a forecast add up: by how much they disagree says little.
        """
        return replace(super().capabilities, forecasts=True, knows_missing=True, knows_spread=False)


class ForecastTrees(_Forecasting, TreeWeights):
    """A forecast that is a sum over trees, where some columns are missing."""

    def __init__(self, forecaster: TreeForecaster, missing: frozenset[int]) -> None:
        self.forecaster, self.missing = forecaster, missing
        trees, self.leaf_values, self.offsets = forecaster.laid(missing)
        self.members_ = BareMembers(trees)  # type: ignore[assignment]
        self.inputs_ = forecaster.inputs  # type: ignore[assignment]
        self.n_samples_, self.n_features_in_ = forecaster.inputs.shape


class ForecastLine(_Forecasting):
    """A forecast that is a line."""

    def __init__(self, forecaster: LinearForecaster) -> None:
        self.forecaster: LinearForecaster = forecaster
        self.n_samples_, self.n_features_in_ = forecaster.inputs.shape
