"""What a policy has to beat: rules that need no model, and the decisions of somebody who knew the outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold

from whence.errors import InputError, InputTypeError, WhenceError
from whence.features import Date, Schema
from whence.features.dates import as_day, parts_of
from whence.policy import Policy
from whence.problems.base import DecisionProblem, tail_begins
from whence.risk import Risk
from whence.util.aliases import Floats

#: Fewest rows to learn from.
LEAST_TRAIN = 2
WANTED = "be an int >= 2, a splitter of scikit-learn, or an iterable of (train, test) row numbers"


class Fold(NamedTuple):
    """Row numbers to learn from, and those held out."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def folds_of(cv: Any, X: pd.DataFrame, Y: Floats) -> list[Fold]:
    """Return the folds that `cv` stands for; a number is that many folds of rows drawn at random, always the same ones.

    Examples
    --------
    >>> X, Y = pd.DataFrame({"x": range(6)}), np.zeros((6, 1))
    >>> [fold.test.tolist() for fold in folds_of(3, X, Y)]
    [[2, 5], [1, 3], [0, 4]]
    """
    rows = len(X)
    if isinstance(cv, bool) or (isinstance(cv, int | np.integer) and not 2 <= cv <= rows):
        raise InputError(f"'cv' must {WANTED}, at most the {rows} rows. Got {cv!r} instead.")
    splitter = KFold(int(cv), shuffle=True, random_state=0) if isinstance(cv, int | np.integer) else cv
    try:
        pairs = splitter.split(X, Y) if hasattr(splitter, "split") and not isinstance(splitter, str) else splitter
        if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
            raise InputTypeError(f"'cv' must {WANTED}. Got {cv!r} instead.")
        folds = [Fold(_rows(train, rows), _rows(test, rows)) for train, test in pairs]
    except WhenceError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"'cv' must {WANTED} that fits the {rows} rows: {error}") from None
    if not folds:
        raise InputError(f"'cv' must {WANTED}. Got no fold at all.")
    for number, fold in enumerate(folds, start=1):
        _check(number, fold)
    return folds


def thinned(fold: Fold, most: int) -> Fold:
    """Return `fold` with at most this many rows held out, drawn at random, always the same ones."""
    if fold.test.size <= most:
        return fold
    chosen = np.random.default_rng(0).choice(fold.test.size, most, replace=False)
    return Fold(fold.train, fold.test[np.sort(chosen)])


def _rows(given: Any, rows: int) -> NDArray[np.int64]:
    array = np.asarray(given)
    if array.dtype == bool:
        array = np.flatnonzero(array)
    if array.ndim != 1 or not (array.size == 0 or np.issubdtype(array.dtype, np.integer)):
        raise ValueError("row numbers must be whole numbers in one dimension.")
    if array.size and not (array.min() >= 0 and array.max() < rows):
        raise ValueError(f"row numbers must lie in [0, {rows}).")
    return array.astype(np.int64)


def _check(number: int, fold: Fold) -> None:
    if fold.train.size < LEAST_TRAIN or fold.test.size < 1:
        raise InputError(
            f"Every fold of 'cv' must have at least {LEAST_TRAIN} rows to learn from and 1 to hold out. "
            f"Got {fold.train.size} and {fold.test.size} in fold {number}.",
            parameter="cv",
        )
    if np.intersect1d(fold.train, fold.test).size:
        raise InputError(
            f"No fold of 'cv' may hold out rows that it learns from. Got such rows in fold {number}.", parameter="cv"
        )


AVERAGE, PER_CATEGORY, FORECAST, FORESIGHT = "sample average", "average per category", "point forecast", "foresight"
#: What may be asked for besides the sample average and foresight, between which a policy is placed.
BASELINES = (PER_CATEGORY, FORECAST)

Rows = NDArray[np.int64]

#: Columns with more different values are no categories to take an average of.
MOST_LEVELS = 60
#: Rows that a value must have on average, for the same reason.
LEAST_ROWS = 3


def is_baseline(name: str) -> bool:
    """Return whether a baseline may be called so.

    Examples
    --------
    >>> is_baseline("average per weekday"), is_baseline("forest")
    (True, False)
    """
    return name in (AVERAGE, FORESIGHT) or name.startswith(("average per ", f"{FORECAST} ("))


@dataclass(frozen=True)
class Paid:
    """What decisions cost on the held-out rows, and where whoever decided saw the tail of that cost begin."""

    #: One per held-out row.
    costs: Floats
    #: The value from which on the worst share begins, by the weights of the past rows that were decided with; NaN
    #: where the risk looks at no tail.
    begins: Floats


def fixed_costs(
    problem: DecisionProblem, risk: Risk, Y: Floats, fold: Fold, counts: Floats | None = None
) -> dict[str, Paid]:
    """Return costs on the held-out rows of the one plan that is best on average, and of the best plan for each row.

    Rows are learned from alike, or for as much as they `counts` for.
    """
    sure = np.ones(1)
    foreseen = np.empty(fold.test.size)
    for place, i in enumerate(fold.test):
        row = Y[i : i + 1]
        foreseen[place] = problem.costs(problem.solve(row, sure, risk), row)[0]
    # Whoever knows the outcome knows its tail.
    known = risk.values(foreseen) if risk.tail is not None else None
    return {
        AVERAGE: _averaged(problem, risk, Y, counts, fold.train, fold.test),
        FORESIGHT: Paid(foreseen, np.full(foreseen.size, np.nan) if known is None else known),
    }


def _averaged(problem: DecisionProblem, risk: Risk, Y: Floats, counts: Floats | None, among: Rows, held: Rows) -> Paid:
    """Return what the plan that is best on average over the rows `among` costs in the rows `held`."""
    seen, came = Y[among], Y[held]
    weights = np.full(len(seen), 1.0 / len(seen)) if counts is None else counts[among] / counts[among].sum()
    plan = problem.solve(seen, weights, risk)
    begins = tail_begins(problem, risk, plan, seen, weights)
    return Paid(np.asarray(problem.costs(plan, came), dtype=np.float64), np.full(len(came), begins))


def grouped_by(schema: Schema, X: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Yield the features, and the parts of dates, that rows may be grouped by, each with the group of every row."""
    for name, groups in _groups(schema, X):
        different = groups.nunique()
        if 2 <= different <= MOST_LEVELS and len(X) >= LEAST_ROWS * different:
            yield name, groups


def _groups(schema: Schema, X: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    for name, kind in schema.kinds().items():
        feature = schema.kind(name)
        if isinstance(feature, Date):
            days = [as_day(value) for value in X[feature.column or name].tolist()]
            known = [day for day in days if day is not None]
            if len(known) == len(days):
                for part, values in parts_of(feature, known).items():
                    yield f"{part} of {name}", pd.Series(values)
        elif kind != "continuous":
            parts = getattr(feature, "columns", None)
            # A category in 0/1 columns: which of them is on.
            yield name, pd.Series(X[list(parts)].to_numpy().argmax(axis=1)) if parts else X[name]


def category_costs(
    problem: DecisionProblem, risk: Risk, Y: Floats, fold: Fold, groups: pd.Series, counts: Floats | None = None
) -> Paid:
    """Costs of the plan that is best on average among the rows of the same group, all rows where there is none."""
    values = groups.to_numpy()
    costs, begins = np.empty(fold.test.size), np.empty(fold.test.size)
    for group in pd.unique(values[fold.test]):
        among = fold.train[values[fold.train] == group]
        if counts is not None:
            among = among[counts[among] > 0.0]
        here = values[fold.test] == group
        paid = _averaged(problem, risk, Y, counts, among if among.size else fold.train, fold.test[here])
        costs[here], begins[here] = paid.costs, paid.begins
    return Paid(costs, begins)


#: Costs on the held-out rows of one fold, by name; None where the time was up before they were known.
Costs = dict[str, Paid] | None


@dataclass(frozen=True)
class Trial:
    """Data, and what is common to all policies that are tried on it."""

    X: pd.DataFrame
    Y: Floats
    names: list[str]
    problem: DecisionProblem
    risk: Risk
    #: Which baselines are wanted.
    against: tuple[str, ...]
    #: A moment of `time.monotonic`.
    deadline: float | None = None
    #: What each row counts for when it is learned from; None where all count alike.
    counts: Floats | None = None

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def baselines(self, fold: Fold, schema: Schema) -> Costs:
        """Return costs of the baselines that need no model."""
        found = fixed_costs(self.problem, self.risk, self.Y, fold, self.counts)
        if PER_CATEGORY in self.against:
            for name, groups in grouped_by(schema, self.X):
                if self.late:
                    return None
                label = f"average per {name}"
                found[label] = category_costs(self.problem, self.risk, self.Y, fold, groups, self.counts)
        return None if self.late else found

    def policy(self, name: str, policy: Policy, fold: Fold) -> Costs:
        """Return costs of a policy that is fitted to the rows to learn from, and of the point forecast of its weights.

        The kinds of the features, and which categories there are, come from all rows; outcomes from those to learn
        from alone.
        """
        table = pd.DataFrame(self.Y, columns=self.names, index=self.X.index)
        fitted = clone(policy)
        whole = (policy.schema or Schema()).fit(self.X)
        # Relations between features say which contexts can exist, which is no matter for a decision.
        fitted.set_params(schema=Schema({name: whole.kind(name) for name in whole.names}), unknown="ignore")
        counts = None if self.counts is None else self.counts[fold.train]
        # What the rows are called is told to nobody here.
        X, Y = (part.iloc[fold.train].reset_index(drop=True) for part in (self.X, table))
        fitted.fit(X, Y, sample_weight=counts)
        problem, risk = fitted.problem, fitted.risk_
        seen, sure, rows = fitted.Y_, np.ones(1), self.X.iloc[fold.test]
        entries = [name, f"{FORECAST} ({name})"] if FORECAST in self.against else [name]
        paid = {entry: Paid(np.empty(fold.test.size), np.empty(fold.test.size)) for entry in entries}
        for place, row in enumerate(fitted.weights_in(rows)):
            if self.late:
                return None
            weights = row.toarray().ravel()
            if fitted.weights_.capabilities.forecasts:
                seen = fitted.outcomes_in(fitted.schema_.row(rows.iloc[place]))
            came = self.Y[fold.test[place]][None, :]
            for entry in entries:
                outcomes = (seen, weights) if entry == name else ((weights @ seen)[None, :], sure)
                plan = problem.solve(*outcomes, risk)
                paid[entry].costs[place] = problem.costs(plan, came)[0]
                paid[entry].begins[place] = tail_begins(problem, self.risk, plan, seen, weights)
        return paid


@dataclass(frozen=True)
class Work:
    """One fold of one policy, or of the baselines where no policy is named."""

    fold: int
    name: str | None = None


def held_out(
    trial: Trial,
    policies: Mapping[str, Policy],
    folds: list[Fold],
    n_jobs: int | None,
    on_progress: Callable[[int, int], Any] | None,
) -> Iterator[tuple[int, Costs]]:
    """Yield the costs of every fold, as they come in, each with the number of its fold."""
    schema = (next(iter(policies.values())).schema or Schema()).fit(trial.X)
    # Fold by fold, so that where the time is up whole folds are known.
    todo = [Work(fold, name) for fold in range(len(folds)) for name in (None, *policies)]
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    jobs = (
        delayed(_done)(trial, None if work.name is None else policies[work.name], folds[work.fold], schema, work)
        for work in todo
    )
    with closing(parallel(jobs)) as results:
        for count, (work, costs) in enumerate(zip(todo, results, strict=True), start=1):
            yield work.fold, costs
            if on_progress is not None:
                on_progress(count, len(todo))


def _done(trial: Trial, policy: Policy | None, fold: Fold, schema: Schema, work: Work) -> Costs:
    if trial.late:
        return None
    if policy is None or work.name is None:
        return trial.baselines(fold, schema)
    try:
        return trial.policy(work.name, policy, fold)
    except WhenceError as error:
        raise InputError(
            f"The policy {work.name!r} cannot be evaluated in fold {work.fold + 1}: {error}", parameter="policies"
        ) from None
