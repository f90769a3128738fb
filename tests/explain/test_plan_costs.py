"""Plans by the names of their parts, and rows by their labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.errors import InputError

RNG = np.random.default_rng(5)
X = pd.DataFrame({"heat": RNG.normal(15, 5, 40), "rain": RNG.random(40)})
Y = pd.DataFrame({"rolls": 40 + 2 * X["heat"] + RNG.normal(0, 2, 40), "rye": 90 - X["heat"] + RNG.normal(0, 2, 40)})


@pytest.fixture(scope="module")
def policy() -> wh.Policy:
    """Two products that are not to be mixed up."""
    return wh.Policy(wh.Newsvendor(holding=[1, 1], backorder=[3, 4]), wh.KNNWeights(k=5)).fit(X, Y)


@pytest.mark.parametrize(
    "plan",
    [
        pd.Series({"rye": 80.0, "rolls": 90.0}),
        {"rye": 80.0, "rolls": 90.0},
        pd.DataFrame({"rye": [80.0], "rolls": [90.0]}),
        pd.Series([90.0, 80.0]),
        np.array([90.0, 80.0]),
    ],
)
def test_named_parts_are_put_in_order(policy: wh.Policy, plan: object) -> None:
    """Whatever order the names come in, the quantities go to their own products; without names, to their places."""
    why = policy.explain(X.iloc[0], instead=plan)
    assert why.alternative_text == "rolls 90, rye 80"


def test_names_that_are_no_parts_are_refused(policy: wh.Policy) -> None:
    """A misspelt product is an error, not the product in that place."""
    with pytest.raises(InputError, match=r"must name parts among 'rolls', 'rye'\. Got 'cheese'"):
        policy.explain(X.iloc[0], instead=pd.Series({"rolls": 90.0, "cheese": 80.0}))


def test_tables_of_plans_go_by_their_columns(policy: wh.Policy) -> None:
    """`explain_many` takes what `predict` gives, with its columns in any order."""
    plans = policy.predict(X.iloc[10:12]) + 5.0
    there = policy.explain_many(X.head(2), instead=plans)
    back = policy.explain_many(X.head(2), instead=plans[["rye", "rolls"]])
    assert there.frame["alternative"].tolist() == back.frame["alternative"].tolist()
    assert there.frame["distance"].tolist() == back.frame["distance"].tolist()


def test_rows_in_another_order_are_refused() -> None:
    """Rows are paired by position: outcomes with the same labels in another order would be paired wrongly."""
    policy = wh.Policy(wh.Newsvendor(1, 2), wh.KNNWeights(k=5))
    with pytest.raises(InputError, match="must be in the order of those of 'X'"):
        policy.fit(X, Y.iloc[::-1])
    assert policy.fit(X, Y.iloc[::-1].reset_index(drop=True)).X_.shape == X.shape
