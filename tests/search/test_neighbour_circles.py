"""Neighbours where numbers go round: both engines against every vertex of the lines that matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cases import OneOf
from tests.circle_reference import circle_disagreement, round_gap

import whence as wh


def test_the_integer_program_agrees_with_every_vertex() -> None:
    """So it is for the integer program, which shares no code with the search."""
    for seed in range(400, 415):
        assert circle_disagreement(seed, "milp") == "", f"circle_case({seed})"


def _hours() -> tuple[pd.DataFrame, np.ndarray]:
    """A night shift: from 22 to 2 o'clock the second plan is the better one."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"hour": rng.integers(0, 24, 300), "load": rng.random(300)})
    night = round_gap(X["hour"].to_numpy(float), 0.0, 24.0) <= 2.0
    return X, np.column_stack([np.where(night, 9.0, 1.0), np.where(night, 1.0, 9.0)])


def test_neighbours_and_distances_go_the_short_way_round() -> None:
    """At 20 o'clock the nearest hour of the night is 22, at 5 it is 2; and midnight has neighbours on both sides."""
    X, Y = _hours()
    policy = wh.Policy(OneOf(), wh.KNNWeights(5), schema=wh.Schema({"hour": wh.Cyclic(24, unit="h")})).fit(X, Y)
    assert set(X["hour"][policy.weights_at({"hour": 0, "load": 0.5}) > 0]) <= {22, 23, 0, 1, 2}
    alone = policy.weights_at({"hour": 0, "load": float(X["load"][X["hour"] == 23].iloc[0])})
    assert alone[X["hour"] == 23].sum() > 0.0
    for hour, to in ((20, 22), (5, 2)):
        why = policy.explain({"hour": hour, "load": 0.5}, instead=1)
        assert (why.status, int(why.context["hour"])) == ("optimal", to)
        assert why.distance == pytest.approx(round_gap(np.array(hour), to, 24.0) / 12.0, abs=0.1)
        assert why.verify(policy, prove=True)
        region = why.region()
        assert region.proved
        inside = next((one for one in region.conditions if one.feature == "hour"), None)
        hours = [h for h in range(24) if inside is None or (inside.low or 0) <= h <= (inside.high or 23)]
        fixed = {"load": float(why.context["load"])}
        assert to in hours
        assert all(policy.decide({"hour": h, **fixed}) == 1 for h in hours)


def test_forecasts_see_the_number_itself() -> None:
    """What goes round is told to forecasts as a number; distances are the short way all the same."""
    X, Y = _hours()
    policy = wh.Policy(
        wh.Newsvendor(1, 3), wh.ForecastWeights("forest"), schema=wh.Schema({"hour": wh.Cyclic(24, unit="h")})
    ).fit(X, Y[:, :1])
    mine, today = policy.decide({"hour": 12, "load": 0.5}), {"hour": 23, "load": 0.5}
    why = policy.explain(today, instead=mine, fixed=["load"])
    theirs = policy.decide(today)

    def better(hour: int) -> bool:
        outcomes = policy.outcomes_in(policy.schema_.row({"hour": hour, "load": 0.5}))
        costs = [policy.problem.costs(plan, outcomes).mean() for plan in (mine, theirs)]
        return bool(costs[0] <= costs[1] + why.tolerance)

    ways = {hour: float(round_gap(np.array(23.0), hour, 24.0)) / 12.0 for hour in range(24) if better(hour)}
    assert why.distance == pytest.approx(min(ways.values()))
    assert ways[int(why.context["hour"])] == min(ways.values())


@pytest.mark.parametrize(
    "weights", [wh.KNNWeights(5, metric="euclidean"), wh.KNNWeights(5, scaled=False), wh.KernelWeights()]
)
def test_other_metrics_are_refused(weights: Any) -> None:
    """Only sums of differences in coordinates are measured the short way round."""
    X, Y = _hours()
    with pytest.raises(wh.WhenceError, match="What goes round, here 'hour', needs weights made of trees, forecasts"):
        wh.Policy(OneOf(), weights, schema=wh.Schema({"hour": wh.Cyclic(24)})).fit(X, Y)
