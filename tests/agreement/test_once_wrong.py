"""Questions that were once answered wrongly, as they were: rounding that random questions meet now and then only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.agreement.generator import Asked, draw, observed
from tests.agreement.reference import disagreement, truth
from tests.asking import searching
from tests.cases import OneOf
from tests.forests import paper_forest

import whence as wh

DAYS = ("Thu", "Fri", "Sat", "Sun")


def policy(low: wh.Continuous, high: wh.Continuous, relations: list[str], rows: str, weights: Any, risk: Any) -> Any:
    """A policy of two numbers, an hour, a day and whether it is a weekend; `rows` hold them and the costs of plans."""
    cells = [line.split() for line in rows.strip().splitlines()]
    X = pd.DataFrame(
        {
            "low": [float(row[0]) for row in cells],
            "high": [float(row[1]) for row in cells],
            "hour": [int(row[2]) for row in cells],
            "day": [row[3] for row in cells],
            "weekend": [row[3] in ("Sat", "Sun") for row in cells],
        }
    )
    Y = [[float(cost) for cost in row[4:]] for row in cells]
    features = {"low": low, "high": high, "hour": wh.Discrete(range(6, 10)), "day": wh.Categorical(DAYS)}
    schema = wh.Schema({**features, "weekend": wh.Binary()}, relations)
    return wh.Policy(OneOf(), weights, risk, schema).fit(X, Y)


@pytest.mark.parametrize("engine", ["search", "milp"])
def test_the_end_of_the_range_is_far_enough(engine: str) -> None:
    """20.3 and a least change of 7.4 are 27.7, where the history ends, though their sum in binary is a little more."""
    asked = policy(
        wh.Continuous(),
        wh.Continuous(least_change=7.4),
        ["low + 1.6 <= high"],
        """
        11.9 12.8 7 Sat 14.999 16.721
        17.900000000000002 20.6 8 Thu 11.868 2.584
        11.9 15.5 6 Fri 15.107 2.512
        17.2 17.7 6 Sat 8.011 16.23
        25.2 27.7 9 Thu 4.883 2.474
        17.2 20.3 6 Sun 2.829 15.034
        """,
        paper_forest(1, 2, random_state=2116),
        wh.CVaR(0.5),
    )
    today = {"low": 17.2, "high": 20.3, "hour": 6, "day": "Sun", "weekend": True}
    why = asked.explain(today, 1, kind="absolute", engine=engine)
    assert (why.status, why.context["high"]) == ("optimal", 27.7)
    assert why.distance == pytest.approx(7.4 / (27.7 - 12.8), abs=1e-9)


def test_values_that_differ_in_the_last_digit_are_told_apart() -> None:
    """Today is a rounding error beside a value on the grid: such boxes of neighbours were split for ever."""
    asked = policy(
        wh.Continuous(change="decrease", step=0.001),
        wh.Continuous(weight=3.0, scale=2.5, step=0.0003),
        ["low <= high"],
        """
        0.013000000000000001 0.013000000000000001 6 Thu 20.616 -2.85 1.055
        0.005 0.006 7 Thu 7.14 9.761 8.436
        0.008 0.009000000000000001 7 Thu 13.039 5.802 6.461
        0.007 0.007 9 Sat 11.497 9.64 12.635
        0.005 0.006 8 Thu 7.352 10.105 12.292
        0.009000000000000001 0.011 8 Sat 10.375 7.866 13.337
        0.005 0.007 7 Fri 8.375 14.328 10.256
        0.008 0.01 8 Sat 10.083 10.103 13.322
        0.005 0.005 7 Thu 9.318 10.414 6.833
        0.005 0.007 8 Sun 6.297 16.808 14.372
        0.007 0.011 6 Sun 9.643 14.375 9.751
        """,
        wh.KNNWeights(1),
        wh.Expectation(),
    )
    today = {"low": 0.009000000000000001, "high": 0.011, "hour": 8, "day": "Sat", "weekend": True}
    why = asked.explain(today, 0, kind="absolute", node_limit=10_000)
    assert why.status == "optimal"
    assert why.distance == pytest.approx(0.12524, abs=1e-9)


def test_a_grid_beside_which_the_history_lies() -> None:
    """The same with other steps, tables and a tail."""
    asked = policy(
        wh.Continuous(step=0.0005),
        wh.Continuous(step=0.0003),
        ["low <= high", "observed(weekend, day, low)", "day is Sun => high >= 0.01"],
        """
        0.008 0.01 7 Thu 17.873 13.069
        0.01 0.014 8 Sat 9.817 9.85
        0.009000000000000001 0.01 9 Fri 8.747 7.334
        0.002 0.006 7 Fri 15.771 12.579
        0.008 0.01 7 Sat 9.375 11.215
        0.006 0.008 9 Sat 0.172 5.507
        """,
        wh.KNNWeights(3),
        wh.CVaR(0.5),
    )
    today = {"low": 0.009000000000000001, "high": 0.01, "hour": 9, "day": "Fri", "weekend": False}
    why = asked.explain(today, 0, node_limit=10_000)
    assert (why.status, why.context["low"], why.context["weekend"]) == ("optimal", 0.0085, True)
    assert why.distance == pytest.approx(1.0625, abs=1e-9)


def test_what_is_filled_in_lies_on_its_grid() -> None:
    """A missing heat was once filled in with a number between two steps."""
    heat = [13.0, np.nan, 7.1, 9.7, 11.2, 10.4, np.nan, np.nan, 5.3]
    X = pd.DataFrame(
        {
            "turn": [1e6, 2e6, 2e6, 2e6, 1e6, 1e6, 1e6, 2e6, 1e6],
            "level": ["top", "low", "low", "high", "low", "mid", "high", "mid", "low"],
            "heat": [1e6 * value for value in heat],
            "day": ["Sat", "Sun", "Sun", "Sat", "Fri", "Sat", "Sun", "Sat", "Sun"],
        }
    )
    first = [30.046, 17.66, 20.256, 22.506, 18.651, 22.757, 28.444, 16.121, 23.015]
    second = [28.578, 18.246, 20.146, 21.412, 23.396, 22.609, 19.7, 15.176, 18.115]
    level = wh.Categorical(("low", "mid", "high", "top"))
    schema = wh.Schema({"turn": wh.Continuous(step=1e6), "level": level, "heat": wh.Continuous(step=2e6)})
    weights = wh.DecisionForest(n_trees=2, max_depth=3, min_samples_leaf=1, missing=True, random_state=10018)
    asked = wh.Policy(OneOf(), weights, schema=schema).fit(X, np.column_stack([first, second]))
    today = {"turn": 1321702.7949796477, "level": "mid", "heat": np.nan, "day": "Sat"}
    why = asked.explain(today, 0, kind="absolute", fill=["heat"])
    assert (why.status, why.distance) == ("optimal", 1.0)
    assert why.context["heat"] % 2e6 == 0.0


def test_what_was_never_on_stays_off() -> None:
    """No past day is a weekend, so none is suggested: brute force once switched it on.

    Rows are alike by twos and threes, so that three neighbours are told apart as the Fridays only. The `low` of these,
    0.005, is no multiple of its step: all that is left are Fridays on a weekend, of which the history says nothing.
    """
    asked = policy(
        wh.Continuous(step=0.00035),
        wh.Continuous(step=0.00015),
        ["observed(weekend, day, low)"],
        """
        0.006 0.006 9 Thu 7.741 11.575 5.570 5.653
        0.005 0.006 9 Fri 11.261 11.858 8.314 16.334
        0.004 0.005 8 Thu 13.347 6.493 21.405 5.762
        0.005 0.006 9 Fri 11.393 12.789 7.513 15.790
        0.006 0.006 9 Thu 6.467 11.789 4.368 6.594
        0.005 0.006 9 Fri 10.498 12.590 7.099 16.228
        0.004 0.005 8 Thu 13.128 4.595 18.205 6.187
        """,
        wh.KNNWeights(3),
        wh.CVaR(0.5),
    )
    today = {"low": 0.004, "high": 0.005, "hour": 8, "day": "Thu", "weekend": False}
    relation = observed(asked.X_, ["weekend", "day"], "low")
    question = Asked(asked, today, 3, (0, 2), "best set", (relation,), given={"fixed": ("hour",)})
    assert truth(question) == np.inf
    for engine in ("search", "milp"):
        assert not disagreement(question, engine=engine)
        freed = question.explain(engine=engine, bounds={"weekend": (0, 1)})
        assert (freed.status, freed.context["weekend"]) == ("optimal", True)
        assert freed.distance == pytest.approx(2.8, abs=1e-9)


@pytest.mark.parametrize("predictor", ["forest", "neighbours", "kernel", "distance"])
def test_what_follows_from_a_change_is_no_change_of_its_own(predictor: str) -> None:
    """With at most so many changes, a weekend that follows from the day was counted besides the day."""
    for claim in ("relative", "absolute", "best set"):
        for seed in range(2077000, 2077010):
            assert disagreement(draw(seed, predictor, claim, "df")) == "", (claim, seed)


def test_less_than_is_less_where_past_contexts_are_answers() -> None:
    """A past context at the very end of "less than" was pulled to an answer that is no less."""
    with searching(recall_after=0):
        assert disagreement(draw(2077600, "kernel", "best set", "t")) == ""


def test_a_plan_that_is_surely_better_today_where_neighbours_tie() -> None:
    """Today is known as the estimator knows it, also where another past context is as near as the k-th neighbour."""
    for seed, options in ((2077700, "ck"), (2077705, "uk")):
        assert disagreement(draw(seed, "neighbours", "relative", options)) == "", seed
