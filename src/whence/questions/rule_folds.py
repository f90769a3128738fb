"""What rules cost on rows not seen: parts of the history are left out in turn, and decided by what knows the others."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold

from whence.errors import WhenceError
from whence.features import Schema
from whence.problems.base import losses, tail_begins
from whence.questions.rule_tree import PlanCosts, axes_of, grow, holds_in
from whence.risk import Expectation
from whence.util.aliases import Floats

if TYPE_CHECKING:
    from whence.policy import Policy

#: Parts of the history that are left out in turn, and how many of their rows are looked at in all.
FOLDS, UNSEEN = 5, 1_500
#: Past contexts that the trees of the folds are grown on.
FOLD_CONTEXTS = 400
#: Rows that are drawn again to see how far an extra cost is known.
DRAWN = 200


@dataclass(frozen=True)
class Extra:
    """By which share something costs more than the policy on rows not seen, and the standard error of that."""

    share: float
    error: float


@dataclass(frozen=True)
class Crossed:
    """What was paid on rows that were left out: by the policy, by rules of every number, and by one plan for all."""

    policy: Policy
    rows: Any
    paid: Mapping[str, Floats]

    @classmethod
    def of(cls, policy: Policy, up_to: int, min_share: float, deadline: float, goes_on: Callable[[], bool]) -> Crossed:
        """Fit policy and rules to parts of the history, and let them decide in the others, until the time is up."""
        n = len(policy.X_)
        paid: dict[str, list[float]] = {name: [] for name in ("policy", "average", *map(str, range(1, up_to + 1)))}
        rows: list[int] = []
        if n >= 2 * FOLDS:
            folds = KFold(min(FOLDS, n), shuffle=True, random_state=0)
            rng = np.random.default_rng(0)
            for train, test in folds.split(np.arange(n)):
                if time.perf_counter() > deadline or not goes_on():
                    break
                try:
                    fold = _Fold(policy, train, up_to, min_share, deadline)
                    for i in rng.permutation(test)[: max(1, UNSEEN // FOLDS)].tolist():
                        if time.perf_counter() > deadline or not goes_on():
                            break
                        found = fold.paid(i)
                        rows.append(i)
                        for name, cost in found.items():
                            paid[name].append(cost)
                except WhenceError:
                    continue
        return cls(policy, np.array(rows, dtype=np.intp), {name: np.array(costs) for name, costs in paid.items()})

    def extra(self, name: str, inside: Any = None) -> Extra | None:
        """By which share something costs more than the policy, on all rows or on those of a rule."""
        if not self.rows.size:
            return None
        chosen = np.ones(self.rows.size, dtype=np.bool_) if inside is None else np.asarray(inside)[self.rows]
        ours, theirs = self.paid[name][chosen], self.paid["policy"][chosen]
        if not theirs.size:
            return None
        # A risk that is no mean over rows is one of all of them together.
        risk = self.policy.risk_ if self.policy.risk_.values(theirs) is None else Expectation()

        nothing = 1e-12 * float(np.abs(ours).max())

        def more(rows: Any) -> float | None:
            even = np.full(rows.size, 1.0 / rows.size)
            base = risk.of(theirs[rows], even)
            # Of nothing there is no share.
            return None if abs(base) <= nothing else float((risk.of(ours[rows], even) - base) / abs(base))

        whole = more(np.arange(theirs.size))
        if whole is None:
            return None
        rng = np.random.default_rng(0)
        drawn = [more(rng.integers(0, theirs.size, theirs.size)) for _ in range(DRAWN)] if theirs.size > 1 else []
        shares = [one for one in drawn if one is not None]
        return Extra(whole, float(np.std(shares)) if shares else 0.0)


class _Fold:
    """A policy and its rules that know only some of the rows."""

    def __init__(self, policy: Policy, train: Any, up_to: int, min_share: float, deadline: float) -> None:
        kinds = Schema({name: policy.schema_.kind(name) for name in policy.schema_.names})
        fitted = clone(policy)
        fitted.set_params(schema=kinds, unknown="ignore")
        X = policy.X_.iloc[train].reset_index(drop=True)
        Y = pd.DataFrame(policy.Y_[train], columns=policy.outcome_names_)
        fitted.fit(X, Y)
        self.whole, self.fitted = policy, fitted
        costs = PlanCosts(fitted, FOLD_CONTEXTS, deadline)
        axes = axes_of(fitted, costs.contexts)
        self.grown = grow(costs, axes, up_to, min_share, math.inf)
        self.plans, self.up_to = costs.plans, up_to
        even = np.full(len(train), 1.0 / len(train))
        self.average = policy.problem.solve(policy.Y_[train], even, policy.risk_)

    def paid(self, i: int) -> dict[str, float]:
        """What was paid in a row that was left out."""
        row = self.fitted.schema_.row(self.whole.X_.iloc[i])
        weights = self.fitted.weights_.at(self.fitted.inputs_of(row, "ignore"))
        outcomes = self.fitted.outcomes_in(row)
        plans = {"policy": self.whole.problem.solve(outcomes, weights, self.whole.risk_), "average": self.average}
        for count in range(1, self.up_to + 1):
            leaves = self.grown.with_leaves(count)
            # A category that no row of the fold has keeps no rule: it gets the plan of the largest one.
            mine = next((leaf for leaf in leaves if holds_in(leaf.conditions, row)), None)
            mine = mine or max(leaves, key=lambda leaf: leaf.rows.size)
            plans[str(count)] = self.plans[mine.plan]
        return {name: self._paid(plan, self.whole.Y_[i], outcomes, weights) for name, plan in plans.items()}

    def _paid(self, plan: Any, came: Floats, outcomes: Floats, weights: Floats) -> float:
        """What a plan cost, judged by where its tail begins in this context: the same for whoever has planned it."""
        problem, risk = self.whole.problem, self.whole.risk_
        costs = np.asarray(problem.costs(plan, came[None, :]), dtype=np.float64)
        begins = np.array([tail_begins(problem, risk, plan, outcomes, weights)])
        counted = losses(risk, costs, begins)
        return float(costs[0] if counted is None else counted[0])
