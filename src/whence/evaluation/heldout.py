"""What policies and baselines cost on the rows that a fold holds out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from whence.errors import InputError, WhenceError
from whence.evaluation.baselines import (
    FORECAST,
    PER_CATEGORY,
    Fold,
    Paid,
    category_costs,
    fixed_costs,
    grouped_by,
    tail_begins,
)
from whence.features import Schema
from whence.policy import Policy
from whence.problems.base import DecisionProblem
from whence.risk import Risk
from whence.util.aliases import Floats

__all__ = ["Trial", "Work", "held_out"]

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
        """Costs of the baselines that need no model."""
        found = fixed_costs(self.problem, self.risk, self.Y, fold, self.counts)
        if PER_CATEGORY in self.against:
            for name, groups in grouped_by(schema, self.X):
                if self.late:
                    return None
                label = f"average per {name}"
                found[label] = category_costs(self.problem, self.risk, self.Y, fold, groups, self.counts)
        return None if self.late else found

    def policy(self, name: str, policy: Policy, fold: Fold) -> Costs:
        """Costs of a policy that is fitted to the rows to learn from, and of the point forecast of its weights.

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
            if fitted.weights_.forecasts:
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
    """The costs of every fold, as they come in, each with the number of its fold."""
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
