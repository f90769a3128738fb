"""Relations in the user's own units, to the last digit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tests.cases import OneOf
from tests.forests import paper_forest

import whence as wh
from whence.features.relation_text import Movable, Statement, kept_exactly, parse
from whence.policy import Policy
from whence.weights import KNNWeights

NAMES = ["a", "b", "c"]
#: What numbers are counted in: seconds, nanometres, whole euros of a state, degrees with an offset.
UNITS = ((1.0, 0.0), (0.1, 0.0), (1e-9, 0.0), (1e9, 0.0), (0.1, 273.15))


def said(text: str) -> Statement:
    return Statement(parse(text, NAMES), text)


def test_numbers_are_moved_to_where_relations_hold() -> None:
    """Random sums of decimals a hair away from their limit: afterwards every order of adding up keeps them."""
    rng = np.random.default_rng(0)
    texts = ("a <= b", "a + 2 <= b", "a + b <= c", "2 * a - 0.3 * b <= c + 0.1", "a == b", "a < b", "a + b == c")
    for case in range(700):
        text = texts[case % len(texts)]
        factor, offset = UNITS[int(rng.integers(len(UNITS)))]
        a, b = (float(v) for v in rng.integers(-30, 30, 2) * factor + offset)
        c = a + b
        if text == "2 * a - 0.3 * b <= c + 0.1":
            c = 2 * a - 0.3 * b - 0.1
        if text in ("a <= b", "a == b", "a < b"):
            b = a
        if text == "a + 2 <= b":
            b = a + 2
        size = max(abs(a), abs(b), abs(c), factor)
        # What rounding may have done to it on the way through the coordinates.
        hair = size * float(rng.choice([0.0, 1e-16, 1e-13, 1e-11])) * float(rng.choice([-1.0, 1.0]))
        values = {"a": a + hair, "b": b, "c": c}
        movable = [Movable(name, v - 1e-9 * size, v + 1e-9 * size) for name, v in values.items()]
        moved = kept_exactly([said(text)], values, movable)
        assert moved is not None, (text, values)
        a, b, c = ({**values, **moved}[name] for name in NAMES)
        # Evaluated as Python does, in every order.
        kept = {
            "a <= b": a <= b,
            "a + 2 <= b": a + 2 <= b,
            "a + b <= c": a + b <= c and b + a <= c and a <= c - b + 2 * np.spacing(abs(c)),
            "2 * a - 0.3 * b <= c + 0.1": 2 * a - 0.3 * b <= c + 0.1 and -0.3 * b + 2 * a - 0.1 <= c,
            "a == b": a == b,
            "a < b": a < b,
            "a + b == c": a + b == c,
        }
        assert kept[text], (text, values, moved)
        assert all(abs(value - values[name]) <= 1e-9 * size for name, value in moved.items())


def test_chains_and_fixed_numbers() -> None:
    """One relation after the other; what may not move stays, and decimals that add up as typed are left alone."""
    up = 1.0 + 1e-12
    free = [Movable(name, 0.9, 1.1) for name in NAMES]
    moved = kept_exactly([said("a <= b"), said("b <= c")], {"a": up, "b": 1.0 + 5e-13, "c": 1.0}, free)
    assert moved is not None
    values = {"a": up, "b": 1.0 + 5e-13, "c": 1.0, **moved}
    assert values["a"] <= values["b"] <= values["c"]
    assert kept_exactly([said("a <= b")], {"a": up, "b": 1.0, "c": 0.0}, free[2:]) is None
    assert kept_exactly([said("a + b <= c")], {"a": 0.1, "b": 0.2, "c": 0.3}, []) == {}
    assert kept_exactly([said("a + b <= c")], {"a": 0.1, "b": 0.2, "c": 0.3}, [Movable("c", 0.2, 0.4)]) == {
        "c": 0.1 + 0.2
    }
    # The number that has moved anyway goes on; the other one stays where it was.
    some = [Movable("a", 0.9, 1.1, first=False), Movable("b", 0.9, 1.1)]
    assert list(kept_exactly([said("a <= b")], {"a": up, "b": 1.0, "c": 0.0}, some) or {}) == ["b"]


@pytest.mark.parametrize("weights", ["forest", "knn"])
def test_explanations_keep_relations_to_the_last_digit(weights: str) -> None:
    """Decimals, units of 1e-9 and 1e9, offsets: whoever evaluates a relation on the context finds it kept."""
    tied, any_number = 0, {name: wh.Continuous() for name in ("low", "high", "more")}
    for seed in range(60):
        rng = np.random.default_rng([seed, 4])
        factor, offset = UNITS[seed % len(UNITS)]
        n = 30
        high = (rng.normal(15, 6, n)).round(1)
        low = (high - np.abs(rng.normal(0, 2, n))).round(1)
        X = pd.DataFrame({"low": low * factor + offset, "high": high * factor + offset, "more": rng.random(n).round(2)})
        by = float(0.3 * factor)
        Y = np.column_stack([3 * low - 2 * high + rng.normal(0, 1, n), 5 * rng.random(n)]).round(1)
        relations = ["low <= high", f"high - low <= {float(5 * factor)!r}", f"low + {by!r} <= high"][: 1 + seed % 3]
        chosen = paper_forest(5, 4, random_state=0) if weights == "forest" else KNNWeights(3)
        policy = Policy(OneOf(), chosen, schema=wh.Schema(any_number, relations)).fit(X, Y)
        for at in range(3):
            context = X.iloc[at]
            why = policy.explain(context, instead=1 - policy.decide(context))
            if why.context is None or why.status == "already":
                continue
            a, b = float(why.context["low"]), float(why.context["high"])
            assert a <= b, (seed, at)
            if len(relations) > 1:
                assert b - a <= float(5 * factor), (seed, at)
            if len(relations) > 2:
                assert a + by <= b, (seed, at)
            tied += min(abs(a - b), abs(b - a - 5 * factor), abs(a + by - b)) <= 1e-9 * factor
    assert tied >= 5, "the relations hardly ever matter"


def test_steps_stay_as_they_are_typed() -> None:
    """Multiples of 0.1 are those that people type, whatever floats make of their sum."""
    rng = np.random.default_rng(1)
    low = rng.integers(0, 30, 60)
    X = pd.DataFrame({"low": low / 10, "high": (low + rng.integers(0, 20, 60)) / 10})
    Y = np.column_stack([10 * X["low"] - 8 * X["high"], rng.normal(0, 3, 60)])
    features = {name: wh.Continuous(step=0.1) for name in X.columns}
    policy = Policy(OneOf(), paper_forest(5, 4, random_state=0), schema=wh.Schema(features, ["low + 0.2 <= high"]))
    policy.fit(X, Y)
    found = 0
    for i in range(20):
        why = policy.explain(X.iloc[i], instead=1 - policy.decide(X.iloc[i]))
        if why.context is None or why.status == "already":
            continue
        values = [float(why.context[name]) for name in X.columns]
        assert [len(repr(value)) <= 4 for value in values] == [True, True]
        assert Fraction(repr(values[0])) + Fraction(1, 5) <= Fraction(repr(values[1]))
        found += 1
    assert found >= 5
