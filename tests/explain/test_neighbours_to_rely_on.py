"""Neighbour policies asked for usual contexts, confidence and refits, from the policy to the certificate."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.errors import InputError
from whence.explain.explanation import Explanation
from whence.explain.robust import KAPPAS


def bakery(seed: int = 0, risk: Any = None, k: int = 12) -> wh.Policy:
    """Demand that rises with the temperature and depends on the day, with noise."""
    rng = np.random.default_rng(seed)
    n = 150
    days = rng.choice(["weekday", "weekend"], n, p=[0.7, 0.3])
    X = pd.DataFrame({"temperature": np.round(rng.normal(18, 5, n), 1), "day": days, "hours": rng.integers(4, 9, n)})
    Y = 20 + 2.0 * X["temperature"] + 15 * (days == "weekend") + rng.normal(0, 6, n)
    given = {} if risk is None else {"risk": risk}
    return wh.Policy(wh.Newsvendor(1.0, 3.0), wh.KNNWeights(k), **given).fit(X, Y.to_numpy()[:, None])


START = {"temperature": 12.0, "day": "weekday", "hours": 6}


@pytest.mark.parametrize("kind", ["relative", "absolute"])
@pytest.mark.parametrize("risk", [None, wh.CVaR(0.6)], ids=str)
def test_a_usual_context(kind: Any, risk: Any) -> None:
    """As usual as asked, never nearer, verified, and kept through JSON."""
    policy = bakery(risk=risk)
    how: dict[str, Any] = {"kind": kind, "within": 0.02 if kind == "absolute" else 0.0}
    before = 0.0
    for share in (None, 0.1, 0.5, 0.8):
        why = policy.explain(START, instead=[72.0], plausible=share, **how)
        assert why.status in ("optimal", "none")
        assert why.distance >= before - 1e-9
        before = why.distance
        if why.context is None:
            continue
        assert why.usual is not None
        assert why.usual >= (share or 0.0)
        assert why.verify(policy, prove=True)
        again = Explanation.from_json(why.to_json())
        assert again.verify(policy)
        assert again.usual == pytest.approx(why.usual)
        for name, (low, high) in why.room.items():
            for value in (low, high):
                moved = policy.schema_.encode_row(pd.Series({**why.context.to_dict(), name: value}))
                assert share is None or why.question is None or why.question.space.plausibility.accepts(moved)  # type: ignore[union-attr]


def test_both_engines_find_the_same_usual_context() -> None:
    """The search and the integer program, on a small history."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.random(14).round(2), "b": rng.choice(["x", "y"], 14)})
    policy = wh.Policy(wh.Newsvendor(1.0, 3.0), wh.KNNWeights(3)).fit(X, 10 * X[["a"]].to_numpy() + rng.random((14, 1)))
    farther = 0
    for at in range(8):
        how: dict[str, Any] = {"instead": [float(2 + at)], "separation": 1e-4}
        plain = policy.explain(X.iloc[at], **how)
        for share in (0.3, 0.7):
            one = policy.explain(X.iloc[at], plausible=share, margin=(0.01, "cost"), **how)
            other = policy.explain(X.iloc[at], plausible=share, margin=(0.01, "cost"), engine="milp", **how)
            assert one.status == other.status
            assert one.distance == pytest.approx(other.distance, abs=1e-6)
            farther += one.distance > plain.distance + 1e-6
    assert farther > 0


@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_confidence(kind: Any) -> None:
    """By so many standard errors over the neighbours, recomputed here, and said so."""
    policy = bakery()
    how: dict[str, Any] = {"kind": kind, "within": 0.03 if kind == "absolute" else 0.0}
    before = 0.0
    for kappa in (0.0, 0.5, 1.0, 2.0):
        why = policy.explain(START, instead=[72.0], confidence=kappa, **how)
        assert why.distance >= before - 1e-9
        before = why.distance
        if why.context is None or why.weights_after is None:
            assert why.status == "none"
            continue
        members = np.flatnonzero(why.weights_after)
        gaps = why.costs_alternative[members] - (1.0 + why.within) * why.costs_decision[members]  # type: ignore[index]
        assert gaps.mean() + kappa * gaps.std(ddof=1) / np.sqrt(12) <= why.tolerance + 1e-9
        assert why.verify(policy, prove=True)
        assert bool(re.search("standard errors? over the neighbours", why._repr_html_())) == bool(kappa)


def test_holds_climbs_the_ladder_with_bootstrap_refits() -> None:
    """More confidence until it holds in the share of refits; reproducible, and verified."""
    policy = bakery()
    climbed = 0
    for amount in (60.0, 66.0, 72.0):
        why = policy.explain(START, instead=[amount], holds=0.9, refits="bootstrap")
        assert why.reliance is not None
        assert why.reliance.refits == "bootstrap"
        tried = [rung.confidence for rung in why.reliance.ladder]
        assert tried[0] == 0.0
        assert tried == sorted(set(tried).intersection(KAPPAS))
        assert why.reliance.reached or len(why.reliance.ladder) > 1
        assert why.reliance.judged.refits == 10
        climbed += len(why.reliance.ladder) > 1
        assert why.verify(policy)
        assert bakery().explain(START, instead=[amount], holds=0.9, refits="bootstrap").reliance == why.reliance
    assert climbed > 0


def test_what_neighbours_cannot_say_is_refused() -> None:
    """Other random numbers, and confidence in the integer program."""
    with pytest.raises(InputError, match="no random numbers to draw anew"):
        bakery().explain(START, instead=[72.0], holds=0.9, refits="seed")
    with pytest.raises(InputError, match="for the search"):
        bakery().explain(START, instead=[72.0], confidence=1.0, engine="milp")


def test_a_tail_has_standard_errors_too() -> None:
    """Under CVaR more of them lead farther away, and `holds` climbs its ladder."""
    policy = bakery(risk=wh.CVaR(0.6))
    distances = [policy.explain(START, instead=[72.0], confidence=kappa).distance for kappa in (0.0, 1.0, 3.0)]
    assert distances == sorted(distances)
    assert distances[0] < distances[-1]
    why = policy.explain(START, instead=[72.0], holds=0.9, refits="bootstrap")
    assert why.reliance is not None
    assert why.reliance.reached or len(why.reliance.ladder) > 1
    assert why.verify(policy)


def test_a_single_neighbour_has_no_standard_error() -> None:
    """With k = 1 any confidence gives the answer without."""
    policy = bakery(k=1)
    plain, sure = (policy.explain(START, instead=[72.0], confidence=kappa) for kappa in (0.0, 5.0))
    assert plain.distance == sure.distance
