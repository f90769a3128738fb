"""Distances by quantiles in the search among neighbours: against every vertex, in any metric, and refused elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.blocks import seeds
from tests.cases import Case, OneOf
from tests.soaking import disagreement, neighbour_case

import whence as wh
from whence.features.kinds import NumberFeature

BLOCKS, EACH = 4, 60


def by_quantiles(seed: int) -> Case | None:
    """A question about a few neighbours in which numbers count by quantiles, most of them; None without numbers."""
    rng = np.random.default_rng([seed, 41])
    case = neighbour_case(seed)
    before = case.policy
    features = {
        name: replace(feature, scale="quantile")
        if isinstance(feature, NumberFeature) and rng.random() < 0.8
        else feature
        for name, feature in before.schema_.features.items()
    }
    if features == before.schema_.features:
        return None
    policy = wh.Policy(before.problem, before.weights, before.risk, wh.Schema(features)).fit(before.X_, before.Y_)
    return replace(case, policy=policy)


@pytest.mark.parametrize("block", seeds(1, BLOCKS))
def test_against_every_vertex(block: int) -> None:
    """Both kinds, both risks, ties, levels, contexts outside, restrictions: the distance of the nearest vertex."""
    looked = 0
    for seed in range(EACH * block, EACH * (block + 1)):
        case = by_quantiles(seed)
        if case is not None:
            wrong = disagreement(case)
            assert not wrong, (seed, wrong)
            looked += 1
    assert looked > EACH // 2


@pytest.mark.parametrize("metric", ["l1", "euclidean"])
@pytest.mark.parametrize("scaled", [True, False])
def test_every_metric_against_the_integer_program(metric: str, scaled: bool) -> None:
    """Neighbours in coordinates and in one's own units: the same distance as by the program, which shares no code."""
    far = 0.0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.exponential(3.0, 12), rng.random(12)])
        Y = np.column_stack([X[:, 0] + rng.random(12), 6.0 - X[:, 0]])
        schema = wh.Schema({"x0": wh.Continuous(scale="quantile"), "x1": wh.Continuous(scale="quantile", weight=0.5)})
        policy = wh.Policy(OneOf(), wh.KNNWeights(3, metric=metric, scaled=scaled), schema=schema).fit(X, Y)
        context = X[seed]
        other = 1 - int(policy.decide(context))
        found = policy.explain(context, other)
        solved = policy.explain(context, other, engine="milp", time_limit=60.0)
        assert found.status == solved.status
        assert found.distance == pytest.approx(solved.distance, abs=2e-6)
        far += found.distance if found.status == "optimal" else 0.0
    assert far > 0.1


def test_a_long_tail_counts_by_those_who_are_in_it() -> None:
    """From 7 minutes, what lies behind half of the past is half a unit away, however far the last one is."""
    delay = np.concatenate([np.arange(40.0), [1e4]])
    X = pd.DataFrame({"delay": delay})
    Y = np.column_stack([delay < 20, delay >= 20]).astype(float)
    for scale, least, most in (("range", 0.0, 0.01), ("quantile", 0.2, 0.5)):
        schema = wh.Schema({"delay": wh.Continuous(scale=scale)})
        policy = wh.Policy(OneOf(), wh.KNNWeights(3), schema=schema).fit(X, Y)
        why = policy.explain({"delay": 7.0}, 0)
        assert why.status == "optimal"
        assert least < why.distance < most


def test_kernels_refuse_quantiles() -> None:
    """Their search needs distances in proportion, and says so."""
    X = np.random.default_rng(0).random((30, 1))
    schema = wh.Schema({"x0": wh.Continuous(scale="quantile")})
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.KernelWeights(), schema=schema).fit(X, 10 * X)
    with pytest.raises(wh.WhenceError, match="'scale' must not be 'quantile' for KernelWeights"):
        policy.explain(X[0], instead=[9.0])
