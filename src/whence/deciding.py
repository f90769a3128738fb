"""From history to weights, and from weights to a plan: the half of a policy that decides."""

from __future__ import annotations

import copy
import sys
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metadata_routing import UNUSED

from whence.checks import one_of
from whence.errors import InputError, InputTypeError, NotFittedError
from whence.features import Schema, Unknown
from whence.problems.base import DecisionProblem, sample_costs
from whence.report.document import QualityEntry
from whence.report.reliance import outside
from whence.risk import Expectation, Risk
from whence.util.aliases import Floats
from whence.util.frames import TableKind, as_outcomes, as_pandas, as_table, check_order, in_kind, kind_of
from whence.weights import ForestWeights, InputMap, Weights
from whence.weights.plausibility import Isolation, Nearby, usual_in


@dataclass(frozen=True)
class Decision:
    """What a policy decides in one context, and why."""

    #: The plan in its natural form.
    plan: Any
    #: What is minimised: the expected cost, or whatever the policy's risk makes of the costs.
    cost: float
    #: What the plan costs under each past observation.
    costs: Floats
    #: How much each past observation counts in the context.
    weights: Floats


class Decider(BaseEstimator):  # type: ignore[misc]
    """What a :class:`~whence.Policy` does as an estimator: learn from a history, decide, and score its decisions."""

    #: The measure of `score` is an argument, not something that scikit-learn should route from fold to fold.
    __metadata_request__score = {"risk": UNUSED}  # noqa: RUF012

    #: The kind of tables that it was fitted to, in which answers about several contexts come.
    tables_: TableKind = "pandas"
    #: How good it is on rows that it was not fitted to, once `whence.evaluate` has found that out.
    quality_: QualityEntry | None = None

    def __init__(
        self,
        problem: DecisionProblem,
        weights: Weights | None = None,
        risk: Risk | None = None,
        schema: Schema | None = None,
        unknown: Unknown = "error",
    ) -> None:
        self.problem = problem
        self.weights = weights
        self.risk = risk
        self.schema = schema
        self.unknown = unknown

    def fit(self, X: Any, Y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from contexts `X` and outcomes `Y`, row by row: tables of pandas or polars, or arrays.

        Parameters
        ----------
        X, Y : DataFrame or array
            Contexts and outcomes.
        sample_weight : array of shape (n,), optional
            What each row counts for, such as 0.5 for days that are long past. A forest is grown with it, and the rows
            of a leaf share its weight in proportion to it; so do the k nearest rows, which are the same ones.
        """
        self.check_parameters()
        tables = kind_of(X)
        X, Y = as_pandas(X), as_pandas(Y)
        missing = self.weights is not None and self.weights.capabilities.knows_missing
        table = as_table(X, "X", missing=missing)
        check_order(X, Y)
        if isinstance(table.index, pd.DatetimeIndex) and isinstance(X, pd.DataFrame):
            _tell_unused_dates(table)
        outcomes, names = as_outcomes(Y, len(table))
        columns = self.problem.outcome_columns()
        if columns is not None and outcomes.shape[1] != columns:
            raise InputError(
                f"'Y' must have {columns} columns, as the {type(self.problem).__name__} problem asks. "
                f"Got {outcomes.shape[1]} instead."
            )
        weights = ForestWeights() if self.weights is None else _copied(self.weights)
        named = isinstance(X, pd.DataFrame) and all(isinstance(c, str) for c in X.columns)
        if named:
            weights.check_columns(list(table.columns))
        by_name = not weights.capabilities.sees_units
        self.schema_ = (self.schema or Schema()).fit(table, missing, by_name, recorded=isinstance(X, pd.DataFrame))
        if self.schema_.dated and weights.capabilities.sees_units:
            raise InputError(
                f"Weights that see columns in their own units know no dates. Got the date {self.schema_.dated[0]!r}: "
                "give the parts of it that count as columns instead.",
                parameter="schema",
            )
        if self.schema_.cyclic and not weights.capabilities.follows_circles:
            raise InputError(
                f"What goes round, here {self.schema_.cyclic[0]!r}, needs weights made of trees, forecasts, or "
                f"neighbours in the L1 norm of the coordinates. Got {type(weights).__name__}, which tells contexts "
                "apart along a line: declare it as Discrete for these, or leave such parts of a date out.",
                parameter="schema",
            )
        self.risk_ = Expectation() if self.risk is None else self.risk
        self.n_features_in_ = table.shape[1]
        if named:
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._learn(weights, self.schema_.shown(table, weights.capabilities), outcomes, sample_weight)
        self.input_map_ = self._input_map()
        self.X_, self.Y_, self.outcome_names_ = table, outcomes, names
        self.tables_ = tables
        # What was found out of an earlier fit is not true of this one.
        for name in ("quality_", "worlds_"):
            self.__dict__.pop(name, None)
        return self

    def _learn(self, weights: Weights, inputs: Floats, outcomes: Floats, sample_weight: Any) -> None:
        """Fit weights that know what the policy is about, and note where they turn."""
        weights.take_columns(self.schema_.seen_columns())
        weights.take_circles(self.schema_.circles)
        weights.take_problem(self.problem, self.risk_)
        self.weights_ = weights.fitted_to(inputs, outcomes, as_pandas(sample_weight))
        #: What the fitted weights can do.
        self.abilities_ = self.weights_.capabilities
        single = np.dtype(self.weights_.compared_as) == np.float32
        self.schema_ = self.schema_.cut_at(self._cuts(), self.abilities_.sees_units, single)

    def with_outcomes(self, outcomes: Floats, seed: int, rows: NDArray[np.int64] | None = None) -> Self:
        """Return this policy as it would be had other outcomes followed the past contexts, with other random numbers.

        Where `rows` are given, it has seen no other past contexts than these.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(k=3)).fit(X, 10 * X)
        >>> policy.with_outcomes(20 * X, seed=0).decide([0.5]) > policy.decide([0.5])
        array([ True])
        """
        other = copy.copy(self)
        other.__dict__.pop("worlds_", None)
        inputs, counts = self.past_inputs(), self.weights_.counts
        if rows is not None:
            other.X_, inputs, outcomes = self.X_.iloc[rows], inputs[rows], outcomes[rows]
            counts = None if counts is None else counts[rows]
        other._learn(self.weights_.for_outcomes(inputs, outcomes, seed), inputs, outcomes, counts)
        other.Y_ = outcomes
        return other

    def past_inputs(self) -> Floats:
        """The past contexts as the weights' estimator sees them."""
        return self._inputs(self.X_)

    def decide(self, context: Any) -> Any:
        """Return the plan for one context, in its natural form.

        A warning tells of numbers that lie outside the history. For many contexts see :meth:`predict`, which returns
        the same plans as vectors, in a table where `X` is one.
        """
        self._history()
        row = self.schema_.row(context)
        plan = self.problem.solve(self.outcomes_in(row), self._weights_in_row(row), self.risk_)
        tell_outside(self.schema_, row)
        return plan

    def decision(self, context: Any) -> Decision:
        """Return the plan for one context, with what it costs and the weights that it rests on.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[10.0], [12.0], [30.0]])
        >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.KNNWeights(k=2)).fit(X, Y)
        >>> made = policy.decision([0.2])
        >>> made.plan, made.cost, made.weights
        (array([12.]), 1.0, array([0.5, 0.5, 0. ]))
        """
        self._history()
        row = self.schema_.row(context)
        made = self.decision_in(row)
        tell_outside(self.schema_, row)
        return made

    def decision_in(self, row: pd.Series) -> Decision:
        """Return what :meth:`decision` gives for a context that the schema has read (``schema_.row``)."""
        weights, outcomes = self._weights_in_row(row), self.outcomes_in(row)
        plan = self.problem.solve(outcomes, weights, self.risk_)
        costs = sample_costs(self.problem, plan, outcomes)
        return Decision(plan, float(self.risk_.of(costs, weights)), costs, weights)

    def predict(self, X: Any) -> Any:
        """Return decision vectors, one per row of `X`: an array, or a table of pandas or polars where `X` is one.

        As scikit-learn has it, this is for tables; :meth:`decide` returns the plan of one context in its natural form,
        such as an array of quantities or a route, of which a row of this is the vector.

        Plans that are not numbers, such as names, are returned as they are: an array of objects with one plan per row,
        or a DataFrame with the column "plan".
        """
        kind, X = kind_of(X), as_pandas(X)
        plans = self._plans(X)
        named = isinstance(X, pd.DataFrame)
        try:
            vectors = np.array([self.problem.vector(plan) for plan in plans])
        except (TypeError, ValueError, OverflowError):
            vectors = np.empty(len(plans), dtype=object)
            vectors[:] = plans
            return in_kind(pd.DataFrame({"plan": vectors}, index=X.index), kind) if named else vectors
        if not named:
            return vectors
        names = self.problem.parts(self.outcome_names_)
        columns = names or [f"z{j}" for j in range(vectors.shape[1])]
        return in_kind(pd.DataFrame(vectors, index=X.index, columns=columns), kind)

    def weights_at(self, context: Any) -> Floats:
        """Return the weight of every past observation in one context."""
        self._history()
        return self._weights_in_row(self.schema_.row(context))

    def _weights_in_row(self, row: pd.Series) -> Floats:
        return self.weights_.at(self.inputs_of(row, self.unknown))

    def outcomes_in(self, row: pd.Series) -> Floats:
        """Return what may come in a context that the schema has read, by past observation: what came then.

        Where the weights forecast, it is the forecast plus what forecasts missed then (see `ForecastWeights`).
        """
        if not self.abilities_.forecasts:
            return self.Y_
        return self.weights_.outcomes(self.inputs_of(row, self.unknown), self.Y_)

    def score(self, X: Any, Y: Any, risk: Risk | None = None) -> float:
        """Return minus the policy's risk of what its decisions for `X` cost under the outcomes `Y` that followed.

        Parameters
        ----------
        X, Y : DataFrame or array
            Contexts and outcomes, row by row.
        risk : Risk, optional
            A measure other than the policy's own: ``Expectation()`` for the mean cost, whatever the policy minimises.
            In a grid search: ``scoring=lambda policy, X, Y: policy.score(X, Y, risk=wh.Expectation())``.

        Returns
        -------
        float
            The higher, the better; every row counts alike.
        """
        _check_risk(risk)
        X, Y = as_pandas(X), as_pandas(Y)
        plans = self._plans(X)
        check_order(X, Y)
        outcomes, names = as_outcomes(Y, len(plans))
        if sorted(names) == sorted(self.outcome_names_):
            outcomes = outcomes[:, [names.index(name) for name in self.outcome_names_]]
        if outcomes.shape[1] != self.Y_.shape[1]:
            raise InputError(
                f"'Y' must have the {self.Y_.shape[1]} columns seen in fit. Got {outcomes.shape[1]} instead."
            )
        costs = [self.problem.costs(plan, outcomes[i : i + 1])[0] for i, plan in enumerate(plans)]
        measure = self.risk_ if risk is None else risk
        return -float(measure.of(costs, np.full(len(costs), 1.0 / len(costs))))

    def _plans(self, X: Any) -> list[Any]:
        """Return the plan for every row of `X`, in its natural form."""
        self._history()
        inputs = self._inputs(as_pandas(X), self.unknown)
        rows = self.weights_.weights(inputs, as_sparse=True)
        return [
            self.problem.solve(self.weights_.outcomes(seen, self.Y_), row.toarray().ravel(), self.risk_)
            for seen, row in zip(inputs, rows, strict=True)
        ]

    def weights_in(self, X: Any) -> Any:
        """Return weights of the past observations in many contexts: a CSR matrix of shape (rows of `X`, n)."""
        self._history()
        return self.weights_.weights(self._inputs(as_pandas(X), self.unknown), as_sparse=True)

    # ---- what the estimators see -----------------------------------------------------------------

    def inputs_of(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """Return one context as the row that the weights' estimator sees."""
        return self.schema_.row_shown(row, self.abilities_, unknown)

    def predictor_for(self, row: pd.Series) -> Weights:
        """Return the weights, with splits on what a context lacks decided."""
        lacking = np.isnan(self.inputs_of(row)) if self.schema_.takes_missing else ()
        return self.weights_.lacking(frozenset(np.flatnonzero(lacking).tolist() if len(lacking) else ()))

    def at_least_usual(self, share: float) -> Isolation | Nearby:
        """Return the contexts that are at least as usual as this share of the history."""
        return usual_in(self.weights_, self.schema_, self.X_).at_least(share)

    def _inputs(self, X: Any, unknown: Unknown = "error") -> Floats:
        return self.schema_.shown(X, self.abilities_, unknown)

    def _cuts(self) -> dict[str, Floats]:
        """Return the known thresholds at which the weights turn along features that go in whole steps."""
        in_columns = self.abilities_.sees_units and not self.abilities_.sees_levels
        names = self.schema_.columns if in_columns else self.schema_.feature_of_coordinate()
        cuts = {name: self.weights_.thresholds(names.index(name)) for name in self.schema_.stepped()}
        return {name: found for name, found in cuts.items() if found is not None}

    def _input_map(self) -> InputMap:
        if not self.abilities_.sees_units:
            return InputMap.identity(self.schema_.n_coordinates)
        offset, scale = self.schema_.affine()
        if self.abilities_.sees_levels:
            return InputMap(np.arange(offset.size), scale, offset)
        coordinate = self.schema_.coordinate_of_column()
        return InputMap(coordinate, scale[coordinate], offset[coordinate])

    def _history(self) -> Floats:
        if not hasattr(self, "weights_"):
            raise NotFittedError("This Policy is not fitted yet; call 'fit' with contexts and outcomes first.")
        return self.Y_

    def check_parameters(self) -> None:
        """Refuse parameters that are not what they must be, as `fit` does."""
        if not isinstance(self.problem, DecisionProblem):
            raise InputTypeError(f"'problem' must be a DecisionProblem. Got {self.problem!r} instead.")
        if self.weights is not None and not isinstance(self.weights, Weights):
            raise InputTypeError(
                f"'weights' must be a ForestWeights, KNNWeights or other Weights. Got {self.weights!r} instead."
            )
        _check_risk(self.risk)
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise InputTypeError(f"'schema' must be a Schema or None. Got {self.schema!r} instead.")
        one_of("error", "ignore").check("unknown", self.unknown)


def _tell_unused_dates(table: pd.DataFrame) -> None:
    """Warn of dates that only name the rows, where no column holds any."""
    if not any(pd.api.types.is_datetime64_any_dtype(dtype) for dtype in table.dtypes):
        warnings.warn(
            "The dates in the index of 'X' name its rows, and no decision depends on them: where they matter, put them "
            "in a column, such as by X.reset_index().",
            UserWarning,
            stacklevel=3,
        )


def _copied(weights: Any) -> Any:
    try:
        return clone(weights)
    except TypeError as error:
        raise InputTypeError(
            f"'weights' must be weights that can be copied, such as ForestWeights(). {error}."
        ) from None


def _check_risk(risk: Any) -> None:
    if risk is not None and not isinstance(risk, Risk):
        raise InputTypeError(f"'risk' must be an Expectation, CVaR or other Risk. Got {risk!r} instead.")


class OutsideHistoryWarning(UserWarning):
    """A context lies beyond what the history holds: the nearest past decides there."""


def tell_outside(schema: Schema, context: pd.Series) -> None:
    """Warn whoever called the function that calls this of what lies outside the history in a context.

    The command and the page, which are in this package themselves, say it beside their answers.
    """
    if sys._getframe(2).f_globals.get("__name__", "").startswith("whence."):
        return
    if schema.beyond(context):
        said = outside(schema, context)
        warnings.warn(f"{' '.join(said)} The nearest past decides there.", OutsideHistoryWarning, stacklevel=3)
