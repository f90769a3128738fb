"""Few changes where a feature is several axes: the parts of a date move together and count once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.errors import InputError

PARTS = wh.Date(parts=("weekday", "month"))


def _policy(seed: int, weights: wh.KNNWeights | wh.KernelWeights, date: wh.Date = PARTS) -> wh.Policy:
    rng = np.random.default_rng(seed)
    n = 30
    days = pd.date_range("2024-01-01", periods=n, freq="11D")[rng.permutation(n)]
    X = pd.DataFrame({"temp": rng.normal(15, 8, n).round(), "size": rng.choice(["S", "L"], n), "day": days})
    Y = X["temp"] + 9 * (X["size"] == "L") + 3 * days.month + 5 * (days.day_of_week > 4) + rng.normal(0, 2, n)
    return wh.Policy(wh.Newsvendor(1, 3), weights, schema=wh.Schema({"day": date})).fit(X, Y.to_frame("demand"))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_a_date_is_one_change(weights: str) -> None:
    """For so many changes as is allowed, the nearest of what is found with all other features held fixed."""
    names, found = ["temp", "size", "day"], 0
    for seed in range(6):
        policy = _policy(seed, wh.KNNWeights(4, weights=weights, gap=1e-6))
        today, plan = policy.X_.iloc[seed], policy.decide(policy.X_.iloc[int(np.argmax(policy.Y_))])
        alone = [policy.explain(today, plan, fixed=[n for n in names if n != name]) for name in names]
        pairs = [policy.explain(today, plan, fixed=[name]) for name in names]
        for most, answers in ((1, alone), (2, alone + pairs)):
            why = policy.explain(today, plan, max_changes=most)
            assert why.distance == pytest.approx(min(one.distance for one in answers), rel=1e-5), (seed, most)
            found += why.status == "optimal" and "day" in set(why.changes["feature"])
        assert policy.menu(today, plan, up_to=3).verify(policy), seed
    assert found > 2


def test_weights_that_count_every_part_say_so() -> None:
    """A kernel's search knows axes only; a date with one part is one."""
    several = _policy(0, wh.KernelWeights(0.3), wh.Date(parts=("weekday", "year")))
    with pytest.raises(InputError, match="need a date with one part, or weights made of trees or of neighbours"):
        several.explain(several.X_.iloc[0], [60.0], max_changes=1)
    single = _policy(0, wh.KernelWeights(0.3), wh.Date(parts=("weekday",)))
    assert len(single.explain(single.X_.iloc[0], [30.0], max_changes=1).changes) <= 1
