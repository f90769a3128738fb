"""Contexts outside the history: Python warns of them, once and in a sentence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import whence as wh
from whence.deciding import OutsideHistoryWarning
from whence.report.reliance import outside

X = pd.DataFrame({"temp": np.linspace(20.0, 101.0, 60), "rain": np.arange(60) % 2 == 0})
Y = 10 + X[["temp"]].to_numpy() / 5
SCHEMA = wh.Schema({"temp": wh.Continuous(unit="°F")})
POLICY = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(6, random_state=0, missing=True), schema=SCHEMA).fit(X, Y)
HOT, WARM = ({"temp": temp, "rain": True} for temp in (500.0, 70.0))
SENTENCE = "^temp 500 °F lies outside the history, which has 20 to 101 °F. The nearest past decides there.$"

ASKED: dict[str, Callable[[Any], Any]] = {
    "decide": POLICY.decide,
    "decision": POLICY.decision,
    "explain": lambda context: POLICY.explain(context, instead=[18.0]),
    "front": lambda context: POLICY.front(context, instead=[18.0]),
    "menu": lambda context: POLICY.menu(context, instead=[18.0], up_to=1),
    "reasons": lambda context: POLICY.reasons(context, instead=[18.0]),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=list(ASKED))
def test_a_context_outside_is_told(ask: Callable[[Any], Any]) -> None:
    with pytest.warns(OutsideHistoryWarning, match=SENTENCE) as told:
        ask(HOT)
    assert len(told) == 1
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(WARM)


def test_a_forecast_outside_is_told() -> None:
    ensemble = wh.Ensemble(LinearRegression().fit(X, Y.ravel()), SCHEMA).fit(X)
    with pytest.warns(OutsideHistoryWarning, match=SENTENCE):
        ensemble.explain(HOT, at_most=20.0)


def test_what_is_missing_lies_nowhere() -> None:
    assert outside(POLICY.schema_, POLICY.schema_.row({"temp": None, "rain": True})) == []


def test_a_batch_does_not_warn_of_every_row(recwarn: pytest.WarningsRecorder) -> None:
    POLICY.explain_many([HOT, WARM, HOT], instead=[18.0])
    assert not recwarn.list
