"""Asking a fitted model itself: the nearest context in which its forecast crosses a value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from whence.aliases import Floats
from whence.errors import InputError, InputTypeError, InternalError, NotFittedError
from whence.explain.crossing import Crossing, CrossingRequest, explain
from whence.explain.usual import Usual
from whence.features import Observed, Schema
from whence.plain_values import finite
from whence.question import InputMap, Isolation, Progress
from whence.search.crossing import SummedTrees
from whence.tables import as_pandas, as_table
from whence.weights.adapters import FittedTrees, read
from whence.weights.adapters.base import Forecast, Link
from whence.weights.base import SeenColumn
from whence.weights.forecast import ForecastWeights
from whence.weights.forecasters import TreeForecaster
from whence.weights.layout import Layout, check_names

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["Ensemble"]

#: Half of the distance between 1 and the next float32, and the next float64.
ROUNDING = {True: 6e-8, False: 1.2e-16}


class Ensemble:
    """A fitted tree ensemble whose forecast is asked about directly, without any decision.

    Parameters
    ----------
    model : estimator
        Fitted: a regressor or classifier of XGBoost, LightGBM or CatBoost, or a forest, decision tree,
        GradientBoosting or HistGradientBoosting of scikit-learn.
    schema : Schema, optional
        The features of a context; inferred from the history where it says nothing.
    label : object, optional
        For a model with several classes or outputs: the one whose score is asked about. For boosted trees that is the
        raw score before the probabilities are made of all of them, for forests the probability or the output itself.
        With two classes, boosted trees have one score, and the question is about the probability of the second class.
    unit : str
        Unit of the forecast, for sentences.

    Attributes
    ----------
    schema_ : Schema
        The features with their ranges in the history.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X = np.linspace(0, 10, 50)[:, None]
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, 3 * X.ravel())
    >>> why = wh.Ensemble(model).fit(X).explain([2.0], at_least=20)
    >>> why.status, bool(model.predict(why.context.to_numpy(dtype=float)[None, :])[0] >= 20 - why.tolerance)
    ('optimal', True)
    """

    schema_: Schema
    input_map_: InputMap
    _what: str = ""
    _usual: Usual | None = None

    def __init__(self, model: Any, schema: Schema | None = None, label: Any = None, unit: str = "") -> None:
        self.model, self.schema, self.label, self.unit = model, schema, label, unit
        found = read(model)
        if found is None or not found.trees:
            raise InputTypeError(
                "'model' must be a fitted tree ensemble of scikit-learn, XGBoost, LightGBM or CatBoost. "
                f"Got {type(model).__name__} instead.",
                parameter="model",
            )
        if schema is not None and not isinstance(schema, Schema):
            raise InputTypeError(f"'schema' must be a Schema or None. Got {schema!r} instead.", parameter="schema")
        self._read: FittedTrees = found
        labels = found.labels()
        if (labels and label not in labels) or (not labels and label is not None):
            known = f"one of {', '.join(map(repr, labels))}" if labels else "None: the model has one forecast"
            raise InputError(f"'label' must be {known}. Got {label!r} instead.", parameter="label")
        self._forecast: Forecast = found.forecast(label)

    @classmethod
    def of(cls, policy: Policy, outcome: str | None = None, unit: str = "") -> Ensemble:
        """The forecast that a fitted policy with `ForecastWeights` makes of an outcome, to be asked about directly.

        Parameters
        ----------
        policy : Policy
            Fitted; its weights must forecast by trees.
        outcome : str, optional
            Which outcome; may be left out where there is one.
        unit : str
            Unit of the forecast, for sentences.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X, weights = np.linspace(0, 10, 60)[:, None], wh.ForecastWeights("boosted")
        >>> policy = wh.Policy(wh.Newsvendor(1, 3), weights).fit(X, 20 + 3 * X)
        >>> wh.Ensemble.of(policy).explain([2.0], at_least=40).status
        'optimal'
        """
        weights = getattr(policy, "weights_", None)
        if not isinstance(weights, ForecastWeights) or not isinstance(weights.forecaster_, TreeForecaster):
            got = "a linear model" if isinstance(weights, ForecastWeights) else type(weights or policy).__name__
            raise InputTypeError(
                f"'policy' must be a fitted Policy with ForecastWeights that forecast by trees. Got {got} instead.",
                parameter="policy",
            )
        names = list(policy.outcome_names_)
        if outcome is None and len(names) == 1:
            outcome = names[0]
        if outcome not in names:
            raise InputError(
                f"'outcome' must be one of {', '.join(map(repr, names))}. Got {outcome!r} instead.", parameter="outcome"
            )
        forecaster, k = weights.forecaster_, names.index(outcome)
        model, forecast, label = forecaster.forecasts[k]
        made = cls.__new__(cls)
        made.model, made.schema, made.label, made.unit = weights.models_[model], policy.schema, label, unit
        made._read, made._forecast, made._what = forecaster.read[model], forecast, f"the forecast of {outcome}"
        made._layout, made.input_map_, made.schema_ = forecaster.layout, policy.input_map_, policy.schema_
        made._inputs, made._history, made._usual = forecaster.inputs, policy.X_, None
        made._views = {}
        made._check_read()
        return made

    def fit(self, X: Any) -> Self:
        """Learn from past contexts `X` how far each feature ranges; the model stays as it is."""
        X = as_pandas(X)
        table = as_table(X, "X", missing=self._read.takes_missing)
        if isinstance(X, pd.DataFrame) and all(isinstance(c, str) for c in X.columns):
            check_names(self._read, list(table.columns))
        schema = (self.schema or Schema()).fit(table, missing=self._read.takes_missing, steps=False)
        if schema.dated:
            raise InputError(
                "'schema' must have no dates for an Ensemble, which does not know them yet. Got some.",
                parameter="schema",
            )
        self._layout = Layout.of(self._read, [SeenColumn(*column) for column in schema.seen_columns()])
        offset, scale = schema.affine()
        self.input_map_ = InputMap(np.arange(offset.size), scale, offset)
        self._inputs, self._history = schema.levels_shown(table), table
        self._usual = None
        summed = self._laid(frozenset())
        self._views: dict[frozenset[int], SummedTrees] = {frozenset(): summed}
        names = schema.feature_of_coordinate()
        cuts = {name: _thresholds(summed, names.index(name)) for name in schema.stepped()}
        self.schema_ = schema.cut_at(cuts, True, self._read.single)
        self._check_read()
        return self

    def predict(self, X: Any) -> Floats:
        """The model's own forecast, or the score of `label`, for every row of `X`."""
        self._check_fitted()
        return self._read.predicted(self._layout.model_rows(self.schema_.levels_shown(as_pandas(X))), self.label)

    def explain(
        self,
        context: Any,
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        between: tuple[float, float] | None = None,
        fixed: Collection[str] = (),
        bounds: Mapping[str, Any] | None = None,
        fill: Collection[str] = (),
        relations: Sequence[str | Observed] = (),
        plausible: float | None = None,
        max_changes: int | None = None,
        time_limit: float | None = None,
        node_limit: int | None = None,
        tolerance: float = 1e-6,
        threads: int | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
    ) -> Crossing:
        """The nearest context in which the forecast is at most, at least, or between such values.

        Parameters
        ----------
        context : Series, mapping, one-row table or 1-D array
            Where to start.
        at_most, at_least : float, optional
            A limit of the forecast; give one of these two, or `between`.
        between : pair of float, optional
            Both limits.
        fixed : collection of str
            Features that must stay as they are.
        bounds : mapping, optional
            Feature name to (low, high), or to the categories allowed.
        fill : collection of str
            Features that may be filled in where they are missing, which counts 1 like another category; otherwise
            what is missing stays so.
        relations : list of str or observed
            What must hold between features besides the schema's relations, such as ``"dew_point <= temperature"``.
        plausible : float, optional
            The context must be at least as usual as this share of the history, such as 0.1, by an isolation forest.
        max_changes : int, optional
            How many features may change at most; a category counts as one.
        time_limit, node_limit : float, int, optional
            When to stop with the best found so far and a bound.
        tolerance : float
            A forecast counts as within the limits if it misses them by at most this share of the largest one in the
            history. Where the model has a link, such as log-odds, that is a share of what stands behind it.
        threads : int, optional
            Threads for one question, by default one. The proved distance does not depend on it.
        on_progress : callable, optional
            Called with a `Progress`; returning False stops the search.

        Returns
        -------
        Crossing
        """
        self._check_fitted()
        request = CrossingRequest(
            context=context,
            between=_limits(at_most, at_least, between),
            fixed=fixed,
            bounds=bounds,
            fill=fill,
            relations=relations,
            plausible=plausible,
            max_changes=max_changes,
            time_limit=time_limit,
            node_limit=node_limit,
            tolerance=tolerance,
            threads=threads,
            on_progress=on_progress,
        )
        return explain(self, request)

    # ---- what an explanation is made from ------------------------------------------------------------

    @property
    def link(self) -> Link:
        """What the model makes of the sum over its trees: itself, its exponential, or a probability."""
        return self._forecast.link

    def about(self) -> tuple[str, str, str]:
        """What is forecast, its unit, and the kind of the model."""
        if self._what:
            what = self._what
        elif self.label is not None:
            what = f"the score of {self.label!r}"
        else:
            what = "the probability" if self.link == "logit" else "the forecast"
        return what, self.unit, f"{self._read.kind}, {len(self._forecast.trees)} trees"

    def summed(self, context: pd.Series) -> SummedTrees:
        """The trees with their values, with splits on what a context lacks decided."""
        gone = np.isnan(self.seen(context))
        lacking = frozenset(j for j, place in enumerate(self._layout.places) if gone[place.at])
        if lacking not in self._views:
            self._views[lacking] = self._laid(lacking)
        return self._views[lacking]

    def seen(self, context: pd.Series) -> Floats:
        """One context as the trees see it."""
        return self.schema_.levels_row(context)

    def forecast_of(self, context: pd.Series) -> float:
        """The model's own forecast in one context."""
        rows = self._layout.model_rows(self.schema_.levels_row(context)[None, :])
        return float(self._read.predicted(rows, self.label)[0])

    def precision(self) -> float:
        """By how much the model's own sum may be off: it adds up float32, or float64, one tree after the other."""
        largest = [float(np.abs(own).max()) for own in self._forecast.values]
        total = abs(self._forecast.offset) + sum(largest)
        return ROUNDING[self._read.single] * (len(largest) + 2) * total

    def size(self) -> float:
        """The largest sum over the trees in the history."""
        return float(np.abs(self._past_sums).max())

    @property
    def history(self) -> pd.DataFrame:
        """The past contexts."""
        return self._history

    def usual(self, share: float) -> Isolation:
        """The contexts that are at least as usual as this share of the history."""
        if self._usual is None:
            self._usual = Usual(self.schema_.encode(self._history))
        return self._usual.at_least(share)

    def _laid(self, missing: frozenset[int]) -> SummedTrees:
        forecast = self._forecast
        trees = self._layout.trees(self._read, missing)
        return SummedTrees([trees[t] for t in forecast.trees], forecast.values, forecast.offset, self._inputs)

    def _sums_by_leaves(self, X: Floats) -> Floats:
        """What the library's trees add up to, for rows with missing values too."""
        forecast, rows = self._forecast, self._layout.model_rows(X)
        if self._read.single:
            rows = rows.astype(np.float32).astype(np.float64)
        total = np.full(len(rows), forecast.offset)
        for t, values in zip(forecast.trees, forecast.values, strict=True):
            total += values[self._read.trees[t].apply(rows)]
        return total

    def _check_read(self) -> None:
        """The trees that are searched must add up to what the model forecasts, for every past context."""
        sums = self._past_sums = self._sums_by_leaves(self._inputs)
        if self.link == "log":
            sums = np.exp(sums)
        elif self.link == "logit":
            sums = 1.0 / (1.0 + np.exp(-sums))
        own = self._read.predicted(self._layout.model_rows(self._inputs), self.label)
        slack = max(self.precision(), 1e-9 * float(np.abs(own).max())) + 2e-6 * np.abs(own)
        if not (np.abs(own - sums) <= slack).all():
            worst = int(np.argmax(np.abs(own - sums)))
            raise InternalError(
                f"The trees read from the {self._read.kind} model add up to {sums[worst]:.9g} for row {worst} of 'X', "
                f"for which it forecasts {own[worst]:.9g}: its objective may be one that is not known here."
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "schema_"):
            raise NotFittedError("This Ensemble is not fitted yet; call 'fit' with past contexts first.")


def _thresholds(summed: SummedTrees, column: int) -> Floats:
    return np.concatenate([tree.threshold[tree.feature == column] for tree in summed.trees])


def _limits(at_most: Any, at_least: Any, between: Any) -> tuple[float, float]:
    """The limits of the forecast, of which one kind is given."""
    given = [
        name
        for name, value in (("at_most", at_most), ("at_least", at_least), ("between", between))
        if value is not None
    ]
    if len(given) != 1:
        raise InputError(
            f"Give one of 'at_most', 'at_least' and 'between'. Got {', '.join(map(repr, given)) or 'none of them'}.",
            parameter=given[1] if given else "at_most",
        )
    if between is not None:
        ends = [finite(end) for end in between] if isinstance(between, tuple | list) and len(between) == 2 else []
        if len(ends) != 2 or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
            raise InputError(
                f"'between' must be a pair low <= high of numbers. Got {between!r} instead.", parameter="between"
            )
        return ends[0], ends[1]
    value = finite(at_most if at_most is not None else at_least)
    if value is None:
        raise InputError(
            f"{given[0]!r} must be a finite number. Got {at_most if at_most is not None else at_least!r} instead.",
            parameter=given[0],
        )
    return (-np.inf, value) if at_most is not None else (value, np.inf)
