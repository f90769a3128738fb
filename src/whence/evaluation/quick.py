"""A quick look at how good a fitted policy is, for reports and the page: once, and never for long."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakSet

from whence.evaluation.baselines import PER_CATEGORY
from whence.evaluation.evaluating import evaluate, is_frozen
from whence.policy import Policy
from whence.report.model import QualityEntry

__all__ = ["judged"]

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
