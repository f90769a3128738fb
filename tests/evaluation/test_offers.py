"""A forecast that predicts clearly better than the policy's own weights is said to, and offered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.evaluation.offers import Offer, better_forecast


def history(noise: float, slope: float = 30.0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Demands that are linear in two of four features."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.random((150, 4)), columns=list("abcd"))
    Y = 60 + slope * (X["a"] - X["b"]).to_numpy() + noise * rng.normal(size=150)
    return X, pd.DataFrame({"demand": Y})


PROBLEM = wh.Newsvendor(1, 3, cost_unit="€")


def test_evaluate_offers_what_predicts_better() -> None:
    """Where demands are linear, neighbours lose to a line: it is said, with what deciding by it costs, and usable."""
    X, Y = history(noise=4.0)
    found = wh.evaluate(wh.Policy(PROBLEM, wh.KNNWeights(k=40)), X, Y)
    offer = found.offer
    assert offer is not None
    assert offer.model == "linear"
    assert offer.verdict == "better"
    assert offer.explained > offer.own + 0.05
    assert offer.costs is not None
    assert offer.costs[1] == pytest.approx(found.totals["policy"])
    assert offer.sentence in str(found)
    assert "ForecastWeights('linear')" in offer.sentence
    again = wh.evaluate(offer.policy, X, Y)
    assert again.totals["policy"] == pytest.approx(offer.costs[0])
    # It is the better forecast already.
    assert again.offer is None


@pytest.mark.parametrize(
    ("noise", "slope", "weights"),
    [(30.0, 0.0, wh.KNNWeights(k=40)), (1.0, 30.0, wh.ForecastWeights("linear"))],
    ids=["nothing to predict", "forecasts already"],
)
def test_nothing_is_offered_without_reason(noise: float, slope: float, weights: Any) -> None:
    """Noise predicts nothing, and who forecasts already is offered no forecast."""
    X, Y = history(noise, slope)
    assert better_forecast(wh.Policy(PROBLEM, weights), X, Y.to_numpy()) is None


def test_tune_says_so_as_well() -> None:
    """The best forest is still worse than a line; one kind of weights alone is not told of others."""
    X, Y = history(noise=1.0)
    policy = wh.Policy(PROBLEM, wh.KNNWeights(k=20))
    found = wh.tune(policy, X, Y, cv=3, only="knn")
    assert found.offer is None
    free = wh.tune(policy, X.iloc[:60], Y.iloc[:60], cv=2)
    assert free.offer is not None
    assert str(free).endswith(free.offer.sentence)


def test_what_costs_more_is_not_offered() -> None:
    """A forecast that predicts better and decides worse is no better policy, and the sentence says so."""
    policy = wh.Policy(PROBLEM)
    said = Offer("boosted", 0.5, 0.3, policy, (12.0, 11.0), "worse", "€").sentence
    assert "costs more all the same: 12 € against 11 €" in said
    assert "ForecastWeights" not in said
    assert "not clearly less" in Offer("boosted", 0.5, 0.3, policy, (11.0, 11.5), "unclear").sentence
