"""Out-of-sample cost of policies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakSet

import numpy as np
import pandas as pd

from whence.checks import FUNCTION, JOBS, POSITIVE, collected, one_of, whole
from whence.errors import InputError, InputTypeError, NotFittedError, WhenceError
from whence.evaluation.baselines import (
    BASELINES,
    FORECAST,
    PER_CATEGORY,
    Fold,
    Paid,
    Trial,
    folds_of,
    held_out,
    is_baseline,
    thinned,
)
from whence.evaluation.evaluation import Evaluation
from whence.evaluation.offers import Offer, better_forecast
from whence.policy import Policy
from whence.problems.base import cost_unit_of
from whence.report.document import QualityEntry
from whence.risk import Expectation, Risk
from whence.util.aliases import Floats
from whence.util.frames import as_outcomes, as_pandas, as_table, check_order
from whence.weights.base import as_mass


def evaluate(
    policies: Policy | Mapping[str, Policy],
    X: Any = None,
    Y: Any = None,
    *,
    cv: Any = 5,
    risk: Risk | None = None,
    against: Collection[str] = BASELINES,
    most_rows: int | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int], Any] | None = None,
    sample_weight: Any = None,
) -> Evaluation:
    """Return what the decisions of policies cost on rows that they have not seen, against simple rules and foresight.

    Every policy is fitted anew in each fold, to the rows that the fold does not hold out. Beside the policies stand the
    plan that is best on average over the same rows (the sample average), the best plan on average per value of every
    feature that is no continuous number and per part of every date (its weekday, its month), the best plan for a point
    forecast by the policy's own weights, and the best plan for what really came (foresight). The coefficient of
    prescriptiveness says where a policy stands between the sample average (0) and foresight (1); below 0 it costs more
    than the sample average.

    Parameters
    ----------
    policies : mapping from name to Policy, or Policy
        They decide the same kind of problem. A single policy is called "policy".
    X, Y : DataFrame or array
        Contexts and outcomes, row by row. Left out for a single fitted policy, its own history is used, and the policy
        keeps the result: its explanations then say how good it is.
    cv : int, splitter, or iterable of (train, test)
        How many folds, of rows drawn at random, always the same ones; or any splitter of scikit-learn, such as
        ``TimeSeriesSplit(5)`` for rows that follow each other in time; or row numbers.
    risk : Risk, optional
        What the costs are judged by, and what the baselines minimise; by default the risk of the first policy.
    against : collection of {"average per category", "point forecast"}
        The baselines besides the sample average and foresight.
    most_rows : int, optional
        Hold out at most this many rows in all, drawn at random; for problems that take long to solve.
    time_limit : float, optional
        Seconds after which to stop with the folds that are known by then. A fit that is under way is completed.
    n_jobs : int, optional
        Worker processes, -1 for all cores; by default one, or what ``joblib.parallel_config`` says.
    on_progress : callable, optional
        Called with the parts done and the parts in all. What it raises ends the evaluation.
    sample_weight : array of shape (n,), optional
        What each row counts for where it is learned from, by policies and baselines alike; a single fitted policy
        brings its own. Every row that is held out counts the same.

    Returns
    -------
    Evaluation
        With a table (`frame`), a chart (`plot`) and a sentence (``print``). Where a forecast predicts clearly better
        than the weights of the best policy, `offer` holds the policy that decides by it, and what that costs.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 2))
    >>> Y = 10 + 20 * X[:, :1] + rng.random((200, 1))
    >>> problem = wh.Newsvendor(holding=1, backorder=3)
    >>> good = wh.evaluate({"knn": wh.Policy(problem, wh.KNNWeights(k=10))}, X, Y, cv=4, against=[])
    >>> good.frame["cost"].round(1).to_dict()
    {'knn': 1.4, 'foresight': 0.0, 'sample average': 7.3}
    >>> good.frame.loc["knn", "verdict"]
    'better'
    """
    named = _named(policies)
    own = X is None and Y is None
    if own:
        X, Y = _history(policies)
        sample_weight = next(iter(named.values())).weights_.counts if sample_weight is None else sample_weight
    X, Y = as_pandas(X), as_pandas(Y)
    table = as_table(X, "X")
    check_order(X, Y)
    outcomes, names = as_outcomes(Y, len(table))
    first = next(iter(named.values()))
    judge = (Expectation() if first.risk is None else first.risk) if risk is None else risk
    _check(judge, against, most_rows, time_limit)
    JOBS.or_none(", or None").check("n_jobs", n_jobs)
    FUNCTION.or_none().check("on_progress", on_progress)
    counts = as_mass(as_pandas(sample_weight), len(table))
    folds = folds_of(cv, table, outcomes)
    for number, fold in enumerate(folds, start=1):
        if counts is not None and not (counts[fold.train] > 0.0).any():
            raise InputError(
                f"'sample_weight' must leave something to learn from in every fold. Got only 0 in fold {number}."
            )
    if most_rows is not None:
        folds = [thinned(fold, max(1, int(most_rows) // len(folds))) for fold in folds]
    deadline = None if time_limit is None else time.monotonic() + float(time_limit)
    trial = Trial(table, outcomes, names, first.problem, judge, tuple(against), deadline, counts)
    done = _complete(held_out(trial, named, folds, n_jobs, on_progress), len(named) + 1)
    found = Evaluation(
        _gathered(table.index, folds, done, "costs"),
        _gathered(table.index, folds, done, "begins"),
        policies=tuple(named),
        risk=judge,
        cost_unit=cost_unit_of(first.problem),
        remarks=() if len(done) == len(folds) else (f"The time was up after {len(done)} of {len(folds)} folds.",),
    )
    if own:
        first.quality_ = found.quality(next(iter(named)))
    if FORECAST not in against or len(done) < len(folds):
        return found
    rows = [(fold.train, fold.test) for fold in folds]
    return replace(found, offer=offered(named[found.best], table, outcomes, rows, judge, deadline, counts))


def offered(
    policy: Policy,
    X: pd.DataFrame,
    Y: Floats,
    folds: Any,
    risk: Risk | None = None,
    deadline: float | None = None,
    sample_weight: Any = None,
) -> Offer | None:
    """Return a forecast that predicts clearly better than the policy's own weights, and what deciding by it costs."""
    left = None if deadline is None else deadline - time.monotonic()
    if left is not None and left <= 0.0:
        return None
    found = better_forecast(policy, X, Y)
    left = None if deadline is None else deadline - time.monotonic()
    if found is None or (left is not None and left <= 0.0):
        return found
    both = {"before": policy, "offered": found.policy}
    try:
        judged = evaluate(both, X, Y, cv=folds, risk=risk, against=[], time_limit=left, sample_weight=sample_weight)
    except WhenceError:
        # The time was up, or the problem does not take outcomes that were not among the past ones.
        return found
    costs = judged.totals["offered"], judged.totals["before"]
    return replace(found, costs=costs, verdict=judged.compared("offered", "before"), cost_unit=judged.cost_unit)


def _named(policies: Any) -> dict[str, Policy]:
    """Return the policies by name; those that cannot be compared are refused."""
    given = {"policy": policies} if isinstance(policies, Policy) else policies
    if not isinstance(given, Mapping):
        raise InputTypeError(
            f"'policies' must be a Policy or a mapping from names to policies. Got {type(policies).__name__} instead."
        )
    if not given:
        raise InputError("'policies' must hold at least one Policy. Got none.")
    for name, policy in given.items():
        if not isinstance(name, str) or not isinstance(policy, Policy):
            raise InputTypeError(
                f"'policies' must map names to policies. Got {name!r}: {type(policy).__name__} instead."
            )
        if is_baseline(name):
            raise InputError(f"'policies' must not name a policy like a baseline. Got {name!r}.")
        policy.check_parameters()
        if is_frozen(policy):
            raise InputError(
                f"The policy {name!r} cannot be evaluated: its model was fitted elsewhere, perhaps to these very rows, "
                "and is not fitted anew. Evaluate weights with the same settings that are.",
                parameter="policies",
            )
    kinds = {type(policy.problem).__name__ for policy in given.values()}
    if len(kinds) > 1:
        raise InputError(
            "'policies' must decide the same kind of problem, or their costs cannot be compared. "
            f"Got {' and '.join(sorted(kinds))} instead."
        )
    return dict(given)


def _history(policies: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what a single policy was fitted to."""
    if not isinstance(policies, Policy):
        raise InputError(
            "'X' and 'Y' must be given; only for a single fitted Policy they may be left out.", parameter="X"
        )
    if not hasattr(policies, "weights_"):
        raise NotFittedError("'X' and 'Y' may be left out for a fitted Policy only. Got one that is not fitted.")
    return policies.X_, pd.DataFrame(policies.Y_, columns=policies.outcome_names_, index=policies.X_.index)


def _check(risk: Any, against: Any, most_rows: Any, time_limit: Any) -> None:
    if not isinstance(risk, Risk):
        raise InputTypeError(f"'risk' must be an Expectation, CVaR or other Risk. Got {risk!r} instead.")
    given = collected(against)
    wrong = [against] if given is None else [one for one in given if not one_of(*BASELINES).fits(one)]
    if wrong:
        known = " and ".join(map(repr, BASELINES))
        raise InputError(f"'against' must be a collection of {known}. Got {wrong[0]!r} instead.")
    whole(1).or_none().check("most_rows", most_rows)
    POSITIVE.or_none().check("time_limit", time_limit)


def _complete(results: Any, parts: int) -> dict[int, dict[str, Paid]]:
    """Return the costs of every fold of which all parts are known."""
    known: dict[int, dict[str, Paid]] = {}
    counts: dict[int, int] = {}
    for fold, costs in results:
        if costs is not None:
            known.setdefault(fold, {}).update(costs)
            counts[fold] = counts.get(fold, 0) + 1
    done = {fold: costs for fold, costs in known.items() if counts[fold] == parts}
    if not done:
        raise InputError("'time_limit' must leave time for at least one fold. The time was up before.")
    return done


def _gathered(labels: pd.Index, folds: list[Fold], done: Mapping[int, Mapping[str, Paid]], what: str) -> pd.DataFrame:
    """Return one row per held-out row, one column for everything that was tried."""
    parts = []
    for number, paid in done.items():
        index = pd.MultiIndex.from_arrays(
            [np.full(folds[number].test.size, number + 1), labels[folds[number].test]], names=["fold", "row"]
        )
        parts.append(pd.DataFrame({name: getattr(one, what) for name, one in paid.items()}, index=index))
    return pd.concat(parts)


def is_frozen(policy: Policy) -> bool:
    """Return whether the model was fitted elsewhere, so that no row is surely new to it."""
    return getattr(policy.weights, "frozen", None) is not None


#: Rows that are held out in all, and seconds after which to stop with the folds that are known.
ROWS, SECONDS = 500, 5.0

#: One policy is judged once, however many ask at the same time.
_ONE_AT_A_TIME = threading.Lock()
#: Policies of which nothing could be found out.
_UNKNOWN: WeakSet[Any] = WeakSet()


def judged(policy: Policy, seconds: float = SECONDS) -> QualityEntry | None:
    """How good a fitted policy is on rows of its history that it has not seen, from five folds of at most 500 rows.

    It is found out once and kept with the policy. None where that is not possible: for a model that was fitted
    elsewhere, where the time does not suffice for a single fold, or where a problem of the user's own fails.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.KNNWeights(k=5)).fit(X, 10 + 20 * X)
    >>> judged(policy).verdict
    'better'
    """
    with _ONE_AT_A_TIME:
        if policy.quality_ is None and policy not in _UNKNOWN and not is_frozen(policy):
            try:
                evaluate(policy, against=[PER_CATEGORY], most_rows=ROWS, time_limit=seconds)
            except Exception:  # what a report says beside its answer must not keep it from being written
                _UNKNOWN.add(policy)
        return policy.quality_
