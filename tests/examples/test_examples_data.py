"""The built-in examples are reproducible, plausible, and ask a question worth asking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from whence.examples import Example, bakery, city

MODULES = [bakery, city]


@pytest.fixture(params=MODULES, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
def module(request: pytest.FixtureRequest) -> Any:
    """Either example."""
    return request.param


@pytest.fixture
def example(module: Any) -> Example:
    """The example with a short history."""
    loaded: Example = module.load(n=150)
    return loaded


def test_same_seed_same_data(module: Any) -> None:
    """Loading twice gives the same tables and plans; another seed gives others."""
    first, second, other = module.load(n=80), module.load(n=80), module.load(n=80, seed=1)
    pd.testing.assert_frame_equal(first.X, second.X)
    pd.testing.assert_frame_equal(first.Y, second.Y)
    assert np.array_equal(first.problem.vector(first.alternative), second.problem.vector(second.alternative))
    assert not first.Y.equals(other.Y)


def test_tables_fit_together(example: Example) -> None:
    """Contexts and outcomes have a row each, nothing is missing, and nothing is negative."""
    assert len(example.X) == len(example.Y) == 150
    assert not example.X.isna().any().any()
    assert (example.Y.to_numpy() >= 0).all()
    assert list(example.today.index) == list(example.X.columns)


def test_the_plan_is_feasible_and_another_than_the_decision(example: Example) -> None:
    """The planner's plan can be carried out, and is worse than the decision in today's context."""
    policy = example.policy.fit(example.X, example.Y)
    assert example.problem.check(example.alternative) is None
    decision, weights = policy.decide(example.today), policy.weights_at(example.today)
    ours, theirs = (
        policy.risk_.of(example.problem.costs(plan, policy.Y_), weights) for plan in (decision, example.alternative)
    )
    assert ours < theirs


def test_saturdays_sell_more_cake() -> None:
    """In the bakery's data, Saturdays and promotions bring more customers, heat fewer for cake."""
    example = bakery.load()
    cake, X = example.Y["fruit cake"], example.X
    assert cake[X["weekday"] == "Saturday"].mean() > 1.3 * cake[X["weekday"] == "Tuesday"].mean()
    assert cake[X["promotion"]].mean() > cake[~X["promotion"]].mean()
    assert np.corrcoef(X["temperature"], cake)[0, 1] < 0


def test_the_centre_is_jammed_in_the_morning() -> None:
    """In the city's data, the centre suffers from the morning peak far more than the ring."""
    example = city.load()
    working = example.X["day"] == "working day"
    morning, midday = (example.Y[working & (example.X["period"] == p)].mean() for p in ("morning peak", "midday"))
    slower = morning / midday
    assert slower["Market Square -> Town Hall"] > 1.5
    assert slower["Ring South-West -> Ring South"] < 1.2


def test_columns_are_the_streets() -> None:
    """Outcomes of the city are its stretches, in the order of the graph's edges, and every place has a position."""
    example = city.load(n=30)
    assert list(example.Y.columns) == example.problem.parts()
    assert 20 <= len(city.PLACES) <= 25
    assert set(city.streets().nodes) == set(city.PLACES)
