"""The quick look that reports and the page take at a policy."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

import whence as wh
from whence.evaluation.evaluating import ROWS, judged


class Counting(wh.Newsvendor):
    """A newsvendor that counts how often it was asked to solve."""

    solved = 0

    def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
        type(self).solved += 1
        return super().solve(Y, weights, risk)


def test_judged_once_however_many_ask() -> None:
    """Four threads get one answer, which was worked out once and is kept with the policy."""
    rng = np.random.default_rng(0)
    X = rng.random((900, 1))
    policy = wh.Policy(Counting(1, 3), wh.KNNWeights(k=10)).fit(X, 10 + 5 * X)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: judged(policy), range(4)))
    assert found == [policy.quality_] * 4
    assert policy.quality_ is not None
    assert policy.quality_.rows == ROWS
    # Every held-out row is solved for the policy and for foresight, every fold for the average.
    assert Counting.solved == 2 * ROWS + 5


def test_nothing_is_known_of_what_fails_or_was_fitted_elsewhere() -> None:
    """A problem that fails, a model from elsewhere, and too little time give no answer and no error."""

    class Broken(wh.Newsvendor):
        def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
            raise RuntimeError("no")

    rng = np.random.default_rng(0)
    X, Y = rng.random((50, 1)), rng.random((50, 1))
    assert judged(wh.Policy(Broken(1, 3), wh.KNNWeights(k=3)).fit(X, Y)) is None
    frozen = wh.ForestWeights.of(RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, Y.ravel()))
    assert judged(wh.Policy(wh.Newsvendor(1, 3), frozen).fit(X, Y)) is None

    solved = [0]

    class Slow(wh.Newsvendor):
        def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
            solved[0] += 1
            time.sleep(0.05)
            return super().solve(Y, weights, risk)

    assert judged(wh.Policy(Slow(1, 3), wh.KNNWeights(k=3)).fit(X, Y), seconds=0.1) is None
    assert solved[0] <= 20, "a fold of five, which is not broken off"
