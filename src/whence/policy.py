"""The pipeline: history to weights, weights to a plan, and back again to the context."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metadata_routing import UNUSED

from whence.aliases import Floats, Kind
from whence.errors import InputError, InputTypeError, NotFittedError, UnknownCategoryError
from whence.explain.compare import compare
from whence.explain.comparison import Comparison
from whence.explain.conductor import explain
from whence.explain.explanation import Explanation
from whence.explain.explanations import Explanations
from whence.explain.front import Front, front
from whence.explain.many import Batch, explain_many
from whence.explain.menu import Menu, menu
from whence.explain.plans import sample_costs
from whence.explain.reasons import Reasons, reasons
from whence.explain.request import Request
from whence.features import Schema, Unknown
from whence.problems.base import DecisionProblem
from whence.question import Progress
from whence.risk import Expectation, Risk
from whence.tables import as_outcomes, as_pandas, as_table, check_order
from whence.weights import ForestWeights, InputMap, Weights
from whence.weights.refits import RefitKind

__all__ = ["Decision", "Policy"]


@dataclass(frozen=True)
class Decision:
    """What a policy decides in one context, and why.

    Attributes
    ----------
    plan : plan
        The plan in its natural form.
    cost : float
        What is minimised: the expected cost, or whatever the policy's risk makes of the costs.
    costs : ndarray of shape (n,)
        What the plan costs under each past observation.
    weights : ndarray of shape (n,)
        How much each past observation counts in the context.
    """

    plan: Any
    cost: float
    costs: Floats
    weights: Floats


class Policy(BaseEstimator):  # type: ignore[misc]
    """A data-driven policy: learns from history which plan is best in a context, and explains it.

    Parameters
    ----------
    problem : DecisionProblem
        What is decided and what it costs.
    weights : Weights, optional
        How a context weighs past observations: `ForestWeights` (the default), `KNNWeights`, or weights of your own.
    risk : Risk, optional
        What is minimised: `Expectation` (the default), `CVaR`, or a risk of your own.
    schema : Schema, optional
        The features of a context; inferred from the training data where it says nothing.
    unknown : {"error", "ignore"}
        What `decide`, `predict`, `score` and `weights_at` do with a category that the training data does not hold:
        refuse it, or take it for none of those known (all its 0/1 columns are 0, as with scikit-learn's
        ``OneHotEncoder(handle_unknown="ignore")``). No explanation starts from such a context.

    Attributes
    ----------
    schema_ : Schema
        The features with their training ranges.
    weights_ : Weights
        The fitted weights.
    X_, Y_ : DataFrame, ndarray
        The history.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 2))
    >>> Y = 10 + 20 * X[:, :1] + rng.random((60, 1))
    >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.KNNWeights(k=5)).fit(X, Y)
    >>> plan = policy.decide([0.2, 0.5])
    >>> why = policy.explain([0.2, 0.5], instead=plan + 5)
    >>> why.status
    'optimal'
    """

    #: The measure of `score` is an argument, nothing that scikit-learn should route from fold to fold.
    __metadata_request__score = {"risk": UNUSED}  # noqa: RUF012

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

    # ---- from context to decision ----------------------------------------------------------------

    def fit(self, X: Any, Y: Any = None) -> Self:
        """Learn from contexts `X` and outcomes `Y`, row by row: tables of pandas or polars, or arrays."""
        self._check_parameters()
        X, Y = as_pandas(X), as_pandas(Y)
        table = as_table(X, "X")
        check_order(X, Y)
        outcomes, names = as_outcomes(Y, len(table))
        columns = self.problem.outcome_columns()
        if columns is not None and outcomes.shape[1] != columns:
            raise InputError(
                f"'Y' must have {columns} columns, as the {type(self.problem).__name__} problem asks. "
                f"Got {outcomes.shape[1]} instead."
            )
        weights = ForestWeights() if self.weights is None else clone(self.weights)
        named = isinstance(X, pd.DataFrame) and all(isinstance(c, str) for c in X.columns)
        if named:
            weights.check_columns(list(table.columns))
        self.schema_ = (self.schema or Schema()).fit(table)
        self.risk_ = Expectation() if self.risk is None else self.risk
        self.n_features_in_ = table.shape[1]
        if named:
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._sees_units = weights.sees_units
        self.input_map_ = self._input_map()
        self.weights_ = weights.fit(self._inputs(table), outcomes)
        self.schema_ = self.schema_.cut_at(self._cuts(), self._sees_units)
        self.X_, self.Y_, self.outcome_names_ = table, outcomes, names
        return self

    def decide(self, context: Any) -> Any:
        """The plan for one context, in its natural form."""
        return self.problem.solve(self._history(), self.weights_at(context), self.risk_)

    def decision(self, context: Any) -> Decision:
        """The plan for one context, with what it costs and the weights that it rests on.

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
        return self.decision_in(self.schema_.row(context))

    def decision_in(self, row: pd.Series) -> Decision:
        """What :meth:`decision` gives for a context that the schema has read (``schema_.row``)."""
        weights = self.weights_.at(self.inputs_of(row, self.unknown))
        plan = self.problem.solve(self.Y_, weights, self.risk_)
        costs = sample_costs(self.problem, plan, self.Y_)
        return Decision(plan, float(self.risk_.of(costs, weights)), costs, weights)

    def predict(self, X: Any) -> Any:
        """Decision vectors for many contexts, one per row: an array, or a DataFrame where `X` is one of pandas.

        Plans that are no numbers, such as names, are returned as they are: an array of objects with one plan per row,
        or a DataFrame with the column "plan".
        """
        plans = self._plans(X)
        named = isinstance(X, pd.DataFrame)
        try:
            vectors = np.array([self.problem.vector(plan) for plan in plans])
        except (TypeError, ValueError):
            vectors = np.empty(len(plans), dtype=object)
            vectors[:] = plans
            return pd.DataFrame({"plan": vectors}, index=X.index) if named else vectors
        if not named:
            return vectors
        names = self.problem.parts(self.outcome_names_)
        return pd.DataFrame(vectors, index=X.index, columns=names or [f"z{j}" for j in range(vectors.shape[1])])

    def weights_at(self, context: Any) -> Floats:
        """Weight of every past observation in one context."""
        self._history()
        return self.weights_.at(self.inputs_of(self.schema_.row(context), self.unknown))

    def score(self, X: Any, Y: Any, risk: Risk | None = None) -> float:
        """Minus the policy's risk over what its decisions for contexts `X` cost under the outcomes `Y` that came.

        Parameters
        ----------
        X, Y : DataFrame or array
            Contexts and outcomes, row by row.
        risk : Risk, optional
            Another measure than the policy's own: ``Expectation()`` for the mean cost, whatever the policy minimises.
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
        """The plan for every row of `X`, in its natural form."""
        history = self._history()
        rows = self.weights_.weights(self._inputs(as_pandas(X), self.unknown), as_sparse=True)
        return [self.problem.solve(history, row.toarray().ravel(), self.risk_) for row in rows]

    # ---- and back again ----------------------------------------------------------------------------

    def explain(
        self,
        context: Any,
        instead: Any,
        *,
        kind: Kind = "relative",
        within: float = 0.0,
        margin: float | tuple[float, str] | None = None,
        confidence: float = 0.0,
        holds: float | None = None,
        refits: RefitKind | None = None,
        plausible: float | None = None,
        max_changes: int | None = None,
        decision: Any = None,
        fixed: Collection[str] = (),
        bounds: Mapping[str, Any] | None = None,
        engine: str = "auto",
        time_limit: float | None = None,
        node_limit: int | None = None,
        tolerance: float = 1e-6,
        separation: float = 1e-6,
        threads: int | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
        on_nearest: Callable[[Explanation], Any] | None = None,
        rule: bool = False,
        **engine_options: Any,
    ) -> Explanation:
        """The nearest context in which the plan `instead` would have been better, or optimal.

        Parameters
        ----------
        context : Series, mapping, one-row table or 1-D array
            The context of the decision.
        instead : plan
            The alternative that the planner has in mind.
        kind : {"relative", "absolute"}
            Whether `instead` must cost no more than the decision, or be optimal.
        within : float
            For ``kind="absolute"``: by which share of the best plan's cost `instead` may cost more and still count as
            good enough; 0.02 asks for the nearest context in which it is within 2 % of the best.
        margin : float or (float, "cost"), optional
            By how much `instead` must cost less than the decision: a share of the decision's cost, such as 0.05, or an
            amount, such as ``(10, "cost")``.
        confidence : float
            By how many standard errors, over the trees of a forest or over the nearest neighbours, `instead` must be
            better; for neighbours under expected cost only.
        holds : float, optional
            In what share of the refits the explanation must hold, such as 0.9. A ladder of confidence is climbed until
            it does in ten refits; ten others judge it (see `Explanation.reliance`).
        refits : {"seed", "bootstrap"}, optional
            What is drawn anew for `holds`: the random numbers of the forest (default), or the data, which is all that
            can be drawn anew for neighbours.
        plausible : float, optional
            The context must not be less usual than this share of the history, such as 0.1: to an isolation forest, or
            for neighbours by the distance of the k-th one.
        max_changes : int, optional
            How many features may change at most; a category counts as one.
        decision : plan, optional
            The plan to be explained where it is not what the policy decides.
        fixed : collection of str
            Features that must stay as they are.
        bounds : mapping, optional
            Feature name to (low, high), or to the categories allowed.
        engine : {"auto", "search", "milp"}
            The native search (auto), or the integer program of the paper.
        time_limit, node_limit : float, int, optional
            When to stop with the best found so far and a bound.
        tolerance : float
            Costs count as equal within this share of the alternative's largest sample cost.
        separation : float
            Neighbours only: least gap between the k-th and the next distance.
        threads : int, optional
            Threads for one question, by default one (with ``engine="milp"`` what the solver takes). The proved distance
            does not depend on it. An absolute question about a forest goes on in one thread once it asks for the best
            plan in every box.
        on_progress : callable, optional
            Called with a `Progress` (nodes, distance, bound, seconds); returning False stops the search.
        on_nearest : callable, optional
            With `holds`: called with the nearest explanation as soon as it is found, before the search for one that
            holds in refits.
        rule : bool
            Whether to find out the rule as well (see `Explanation.region`), so that reports and documents tell it;
            weights without trees have none.
        **engine_options
            For ``engine="milp"``: solver, method, mip_gap, log, confirm, w_max, valid_inequality,
            plausibility.

        Returns
        -------
        Explanation
        """
        self._history()
        self._check_known(context)
        request = Request(
            context=context,
            instead=instead,
            kind=kind,
            within=within,
            margin=margin,
            confidence=confidence,
            holds=holds,
            refits=refits,
            plausible=plausible,
            max_changes=max_changes,
            decision=decision,
            fixed=fixed,
            bounds=bounds,
            engine=engine,
            time_limit=time_limit,
            node_limit=node_limit,
            tolerance=tolerance,
            separation=separation,
            threads=threads,
            on_progress=on_progress,
            on_nearest=on_nearest,
            rule=rule,
            options=engine_options,
        )
        return explain(self, request)

    def explain_many(
        self,
        contexts: Any,
        instead: Any,
        n_jobs: int | None = None,
        *,
        decision: Any = None,
        plan_per_row: bool | None = None,
        batch_size: int | None = None,
        on_progress: Callable[[int, int], Any] | None = None,
        **options: Any,
    ) -> Explanations:
        """One explanation for each of many contexts, on as many workers as wanted, in the order of the contexts.

        A row that cannot be explained does not stop the others: its entry is the error. The result does not depend
        on the number of workers (unless a `time_limit` does; a `node_limit` is the same everywhere).

        Parameters
        ----------
        contexts : DataFrame, 2-D array or list of contexts
            One context per row.
        instead : plan, or one plan per row
            The alternative for all contexts, or a list, 2-D array or DataFrame with one alternative per row. What the
            problem accepts as a plan is taken as one plan; a DataFrame is always one plan per row.
        n_jobs : int, optional
            Worker processes, -1 for all cores; by default one, or what ``joblib.parallel_config`` says. Under
            ``joblib.parallel_config(backend="dask")`` the rows go to the cluster.
        decision : plan, or one plan per row, optional
            The plans to be explained where they are not what the policy decides.
        plan_per_row : bool, optional
            Whether `instead` and `decision` hold one plan per row, where that cannot be found out.
        batch_size : int, optional
            Rows that travel to a worker together; by default chosen from the number of rows and workers.
        on_progress : callable, optional
            Called with the rows done and the rows in all. What it raises ends the batch.
        **options
            As in :meth:`explain`, for all rows: kind, within, fixed, bounds, engine, time_limit, node_limit, tolerance,
            separation, and the options of the engine. Limits are for each row.

        Returns
        -------
        Explanations
            A sequence of explanations and errors with a ``frame`` of all of them.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.linspace(0, 1, 50)[:, None]
        >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.KNNWeights(k=5)).fit(X, 10 + 20 * X)
        >>> whys = policy.explain_many(X[:3], instead=[20.0])
        >>> whys.frame["status"].tolist()
        ['optimal', 'optimal', 'optimal']
        """
        self._history()
        return explain_many(
            self, Batch(contexts, instead, decision, plan_per_row, n_jobs, batch_size, on_progress, options)
        )

    # ---- other questions -------------------------------------------------------------------------

    def front(self, context: Any, instead: Any, **options: Any) -> Front:
        """The nearest explanation with at most one change, with at most two, and so on, each proved.

        Parameters
        ----------
        context, instead : context, plan
            As in :meth:`explain`.
        **options
            As in :meth:`explain`: kind, within, margin, confidence, plausible, decision, fixed, bounds, engine, threads
            and others; `time_limit` is for all answers together.

        Returns
        -------
        Front
            A sequence of explanations, fewest changes first; the last one is the nearest of all.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.random.default_rng(0).random((80, 3))
        >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, 10 + X.sum(1)[:, None])
        >>> front = policy.front([0.1, 0.2, 0.1], instead=[11.8])
        >>> front.frame["status"].tolist()
        ['none', 'optimal', 'optimal']
        """
        self._history()
        self._check_known(context)
        return front(self, context, instead, options)

    def menu(self, context: Any, instead: Any, up_to: int = 3, *, apart: float = 0.0, **options: Any) -> Menu:
        """The nearest explanation for every smallest set of features that suffices, nearest first.

        Parameters
        ----------
        context, instead : context, plan
            As in :meth:`explain`.
        up_to : int
            The largest number of features in a set.
        apart : float
            The least distance between any two answers: one that is nearer to an answer listed before it is left out and
            counted.
        **options
            As in :meth:`front`.

        Returns
        -------
        Menu
            A sequence of explanations.

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.random.default_rng(0).random((80, 3))
        >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, 10 + X.sum(1)[:, None])
        >>> policy.menu([0.1, 0.2, 0.1], instead=[11.5], up_to=2).status
        'complete'
        """
        self._history()
        self._check_known(context)
        return menu(self, context, instead, up_to, apart, options)

    def reasons(self, context: Any, instead: Any, **options: Any) -> Reasons:
        """A smallest set of the facts of a context under which `instead` is never better, or never best.

        Parameters
        ----------
        context, instead : context, plan
            As in :meth:`explain`.
        **options
            As in :meth:`front`.

        Returns
        -------
        Reasons

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.random.default_rng(0).random((80, 3))
        >>> Y = 10 + 20 * (X[:, :1] > 0.5)
        >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, Y)
        >>> policy.reasons([0.1, 0.2, 0.1], instead=[30.0]).facts
        {'x0': 0.1}
        """
        self._history()
        self._check_known(context)
        return reasons(self, context, instead, options)

    def compare(
        self, before: Any, after: Any, *, tolerance: float = 1e-6, time_limit: float | None = None
    ) -> Comparison:
        """Two contexts, the plans decided in them, and what turned the one into the other.

        Parameters
        ----------
        before, after : context
            Two contexts, such as yesterday's and today's.
        tolerance : float
            Costs count as equal within this share of the largest sample cost of the plan after.
        time_limit : float, optional
            Seconds after which to stop with what is known.

        Returns
        -------
        Comparison

        Examples
        --------
        >>> import numpy as np, whence as wh
        >>> X = np.random.default_rng(0).random((80, 3))
        >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, 10 + 20 * X[:, :1])
        >>> policy.compare([0.2, 0.5, 0.5], [0.8, 0.4, 0.5]).turning
        ('x0',)
        """
        self._history()
        return compare(self, before, after, tolerance, time_limit)

    # ---- what the estimators see -----------------------------------------------------------------

    def inputs_of(self, row: pd.Series, unknown: Unknown = "error") -> Floats:
        """One context as the row that the weights' estimator sees."""
        if self._sees_units:
            return self.schema_.numbers_row(row, unknown)
        return self.schema_.encode_row(row, unknown)

    def _inputs(self, X: Any, unknown: Unknown = "error") -> Floats:
        return self.schema_.numbers(X, unknown) if self._sees_units else self.schema_.encode(X, unknown)

    def _cuts(self) -> dict[str, Floats]:
        """The thresholds at which the weights turn along features that go in whole steps, where these are known."""
        names = self.schema_.columns if self._sees_units else self.schema_.feature_of_coordinate()
        cuts = {name: self.weights_.thresholds(names.index(name)) for name in self.schema_.stepped()}
        return {name: found for name, found in cuts.items() if found is not None}

    def _check_known(self, context: Any) -> None:
        """Refuse to explain from a category that the history does not hold, also where decisions ignore that."""
        if self.unknown == "ignore":
            try:
                self.inputs_of(self.schema_.row(context))
            except UnknownCategoryError as error:
                raise UnknownCategoryError(f"No explanation starts from an unknown category. {error}") from None

    def _input_map(self) -> InputMap:
        if not self._sees_units:
            return InputMap.identity(self.schema_.n_coordinates)
        coordinate = self.schema_.coordinate_of_column()
        offset, scale = self.schema_.affine()
        return InputMap(coordinate, scale[coordinate], offset[coordinate])

    def _history(self) -> Floats:
        if not hasattr(self, "weights_"):
            raise NotFittedError("This Policy is not fitted yet; call 'fit' with contexts and outcomes first.")
        return self.Y_

    def _check_parameters(self) -> None:
        if not isinstance(self.problem, DecisionProblem):
            raise InputTypeError(f"'problem' must be a DecisionProblem. Got {self.problem!r} instead.")
        if self.weights is not None and not isinstance(self.weights, Weights):
            raise InputTypeError(
                f"'weights' must be a ForestWeights, KNNWeights or other Weights. Got {self.weights!r} instead.",
                parameter="weights",
            )
        _check_risk(self.risk)
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise InputTypeError(f"'schema' must be a Schema or None. Got {self.schema!r} instead.")
        if self.unknown not in ("error", "ignore"):
            raise InputError(f"'unknown' must be 'error' or 'ignore'. Got {self.unknown!r} instead.")


def _check_risk(risk: Any) -> None:
    if risk is not None and not isinstance(risk, Risk):
        raise InputTypeError(
            f"'risk' must be an Expectation, CVaR or other Risk. Got {risk!r} instead.", parameter="risk"
        )
