"""Asking a fitted model itself: the nearest context in which its forecast crosses a value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from whence.deciding import tell_outside
from whence.errors import InputError, InputTypeError, NotFittedError
from whence.explain.ask import OPTIONS
from whence.features import Observed, Schema
from whence.forecasts.crossing import Crossing, CrossingRequest, explain
from whence.forecasts.sources import AskedForecast, AskedLine, AskedTrees, LineOfPolicy, Sums
from whence.models import FittedTrees, read
from whence.models.lines import FittedLine, PipedTrees
from whence.models.tree_arrays import Layout, Link, check_order, check_width
from whence.question import Progress
from whence.util.aliases import Floats
from whence.util.frames import as_pandas, as_table
from whence.util.json import finite, to_plain
from whence.weights import InputMap
from whence.weights.forecast_weights import ForecastWeights
from whence.weights.forecasters import LinearForecaster, TreeForecaster
from whence.weights.plausibility import Isolation

if TYPE_CHECKING:
    from whence.policy import Policy


class Ensemble:
    """A fitted model, of trees or a line, whose forecast is asked about directly, without any decision.

    Parameters
    ----------
    model : estimator
        Fitted: a regressor or classifier of XGBoost, LightGBM or CatBoost, or a forest, decision tree,
        GradientBoosting or HistGradientBoosting of scikit-learn; or a linear model of scikit-learn. Also as the last
        step of a pipeline of scalers, selections and encoders of categories.
    schema : Schema, optional
        The features of a context; inferred from the history where it says nothing.
    label : object, optional
        For a model with several classes or outputs: the one whose score is asked about. For boosted trees and lines
        that is the raw score before the probabilities are made of all of them, for forests the probability or the
        output itself. With two classes it may be left out: the question is about the probability of the second class,
        or about its score where a model with one score makes no probability of it. It may be named, too; forests may
        name either class.
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
    X_: pd.DataFrame
    input_map_: InputMap
    asked: AskedForecast
    _what: str = ""
    _usual: Isolation | None = None

    def __init__(self, model: Any, schema: Schema | None = None, label: Any = None, unit: str = "") -> None:
        self.model, self.schema, self.label, self.unit = model, schema, label, unit
        # A pipeline of one step is that step.
        steps: Sequence[Any] = getattr(model, "steps", ())
        found: FittedTrees | FittedLine | None = read(steps[0][1] if len(steps) == 1 else model)
        if found is None or (isinstance(found, FittedTrees) and not found.trees):
            found = PipedTrees.of(model) or FittedLine.of(model)
        if found is None:
            raise InputTypeError(
                "'model' must be a fitted tree ensemble of scikit-learn, XGBoost, LightGBM or CatBoost, or a linear "
                f"model of scikit-learn. Got {type(model).__name__} instead."
            )
        if schema is not None and not isinstance(schema, Schema):
            raise InputTypeError(f"'schema' must be a Schema or None. Got {schema!r} instead.")
        self._read = found
        labels, classes = found.labels(), list(getattr(model, "classes_", ()))
        unnamed = not labels or (isinstance(found, FittedTrees) and found.has_second_class)
        # The one score of a model of two classes is that of the second, which may be named.
        choice = labels or (classes[1:] if len(classes) == 2 else [])
        if not (unnamed if label is None else isinstance(label, Hashable) and label in choice):
            named = ", ".join(repr(to_plain(one)) for one in choice)
            wanted = f"one of {named}" if labels else "None" + (f" or {named}" if named else "")
            wanted += "" if labels else ": the model has one forecast"
            raise InputError(f"'label' must be {wanted}. Got {label!r} instead.")
        self._label = label if labels else None
        if isinstance(found, FittedTrees):
            # What it cannot forecast, it should refuse at once.
            found.forecast(self._label)

    @classmethod
    def of(cls, policy: Policy, outcome: str | None = None, unit: str = "") -> Ensemble:
        """Return the explainer of what a fitted policy with `ForecastWeights` forecasts of an outcome.

        Parameters
        ----------
        policy : Policy
            Fitted; its weights must be `ForecastWeights`.
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
        if not isinstance(weights, ForecastWeights):
            raise InputTypeError(
                "'policy' must be a fitted Policy with ForecastWeights. "
                f"Got {type(policy if weights is None else weights).__name__} instead."
            )
        names = list(policy.outcome_names_)
        if outcome is None and len(names) == 1:
            outcome = names[0]
        if outcome not in names:
            raise InputError(f"'outcome' must be one of {', '.join(map(repr, names))}. Got {outcome!r} instead.")
        made, k = cls.__new__(cls), names.index(outcome)
        made.schema, made.unit, made.label, made._what = policy.schema, unit, None, f"the forecast of {outcome}"
        made._label = None
        made.input_map_, made.schema_, made.X_ = policy.input_map_, policy.schema_, policy.X_
        own = weights.forecaster_
        if isinstance(own, TreeForecaster):
            m, forecast, made.label = own.forecasts[k]
            made.model, made._read = weights.models_[m], own.read[m]
            made.asked = AskedTrees(own.read[m], forecast, made.label, own.layout, policy.schema_, own.inputs)
            return made
        assert isinstance(own, LinearForecaster)
        source = LineOfPolicy(own, k, policy.schema_)
        made.model = weights.models_[min(k, len(weights.models_) - 1)]
        made.asked = AskedLine(source, source.line(), None, policy.schema_, policy.X_)
        return made

    def fit(self, X: Any) -> Self:
        """Learn from past contexts `X` how far each feature ranges; the model stays as it is."""
        X, found = as_pandas(X), self._read
        # What a pipeline makes of missing numbers is not known.
        missing = isinstance(found, FittedTrees) and not isinstance(found, PipedTrees) and found.takes_missing
        table = as_table(X, "X", missing=missing)
        if isinstance(X, pd.DataFrame) and all(isinstance(c, str) for c in X.columns):
            check_order(found.names, list(table.columns), f"{found.kind} model has")
        schema = (self.schema or Schema()).fit(table, missing, steps=False, recorded=isinstance(X, pd.DataFrame))
        if schema.dated:
            raise InputError("'schema' must have no dates for an Ensemble, which does not know them yet. Got some.")
        inputs, columns = schema.levels_shown(table), schema.seen_columns()
        check_width(found.n_features, len(columns), f"{found.kind} model")
        if isinstance(found, PipedTrees):
            found = found.in_columns(table, columns)
        if isinstance(found, FittedTrees):
            layout = Layout.of(found, columns)
            asked = AskedTrees(found, found.forecast(self._label), self._label, layout, schema, inputs)
            names = schema.feature_of_coordinate()
            cuts = {name: asked.thresholds(names.index(name)) for name in schema.stepped()}
            asked.schema = schema = schema.cut_at(cuts, True, found.single)
            self.asked = asked
        else:
            self.asked = AskedLine(found, found.read(table, columns, inputs, self._label), self._label, schema, table)
        offset, scale = schema.affine()
        self.input_map_ = InputMap(np.arange(offset.size), scale, offset)
        self.schema_, self.X_, self._usual = schema, table, None
        return self

    def predict(self, X: Any) -> Floats:
        """Return the model's own forecast, or the score of `label`, for every row of `X`."""
        self._check_fitted()
        return self.asked.predicted(as_table(as_pandas(X), "X", list(self.X_.columns), missing=True))

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
        memory_limit: int | None = None,
        tolerance: float = 1e-6,
        threads: int | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
    ) -> Crossing:
        """Return the nearest context in which the forecast is at most, at least, or between such values.

        Parameters
        ----------
        context : Series, mapping, one-row table or 1-D array
            Where to start.
        at_most, at_least : float, optional
            A limit of the forecast; give one of these two, or `between`.
        between : pair of float, optional
            Both limits.
        fixed, bounds, fill, relations, plausible, max_changes
            As in :meth:`Policy.explain`; how usual a context is is judged by an isolation forest.
        time_limit, node_limit, memory_limit, threads, on_progress
            As in :meth:`Policy.explain`.
        tolerance : float
            A forecast counts as within the limits if it misses them by at most this share of the largest one in the
            history. Where the model has a link, such as log-odds, that is a share of what stands behind it.

        Returns
        -------
        Crossing
        """
        given = {name: value for name, value in locals().items() if name in OPTIONS}
        self._check_fitted()
        why = explain(self, CrossingRequest(context=context, between=limits_of(at_most, at_least, between), **given))
        tell_outside(self.schema_, why.initial)
        return why

    # ---- what an explanation is made from ------------------------------------------------------------

    @property
    def link(self) -> Link:
        """What the model makes of the sum over its trees, or of its line: itself, its exponential, or a probability."""
        return self.asked.link

    def about(self) -> tuple[str, str, str]:
        """Return what is forecast, its unit, and the kind of the model."""
        found = getattr(self, "_read", None)
        classes = found.classes if isinstance(found, FittedLine) else []
        if self._what:
            what = self._what
        elif self._label is not None:
            what = f"the score of {self._label!r}"
        elif classes and self.link == "identity":
            what = f"the score of {classes[-1]!r}"
        else:
            second = isinstance(found, FittedTrees) and found.has_second_class
            what = "the probability" if self.link == "logit" or second else "the forecast"
        return what, self.unit, self.asked.kind

    def predictor_for(self, row: pd.Series) -> Sums:
        """Return what is searched, where a context lacks what this one lacks."""
        return self.asked.view(row)

    def at_least_usual(self, share: float) -> Isolation:
        """Return the contexts that are at least as usual as this share of the history."""
        if self._usual is None:
            self._usual = Isolation.of(self.schema_.encode(self.X_))
        return self._usual.at_least(share)

    def _check_fitted(self) -> None:
        if not hasattr(self, "schema_"):
            raise NotFittedError("This Ensemble is not fitted yet; call 'fit' with past contexts first.")


def limits_of(at_most: Any, at_least: Any, between: Any) -> tuple[float, float]:
    """Return the limits of the forecast, of which one kind is given."""
    limits = {"at_most": at_most, "at_least": at_least, "between": between}
    given = [name for name, value in limits.items() if value is not None]
    if len(given) != 1:
        raise InputError(
            f"Give one of 'at_most', 'at_least' and 'between'. Got {', '.join(map(repr, given)) or 'none of them'}.",
            parameter=given[1] if given else "at_most",
        )
    if between is not None:
        ends = [finite(end) for end in between] if isinstance(between, tuple | list) and len(between) == 2 else []
        if len(ends) != 2 or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
            raise InputError(f"'between' must be a pair low <= high of numbers. Got {between!r} instead.")
        return ends[0], ends[1]
    value = finite(at_most if at_most is not None else at_least)
    if value is None:
        raise InputError(
            f"{given[0]!r} must be a finite number. Got {at_most if at_most is not None else at_least!r} instead.",
            parameter=given[0],
        )
    return (-np.inf, value) if at_most is not None else (value, np.inf)
