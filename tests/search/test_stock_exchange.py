"""Sets of quantities with one limit that are to hold the best plan: answers against looking at every cell."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.blocks import seeds
from tests.cases import contexts, schema
from tests.forests import paper_forest
from tests.oracle import cells, estimator_rows
from tests.set_soaking import SetCase, question_of
from tests.soaking import OUTSIDE, initial

import whence as wh
from whence.problems.base import Stock

SHAPES = ("cc", "cd", "dd", "rd", "cdb", "crd")


def least(w: Any, Y: Any, rates: Any, lower: Any, upper: Any, budget: float) -> float:
    """Return the least expected cost of quantities between limits: the steepest falls are bought first."""
    holding, backorder = rates
    plan, falls = lower.copy(), []
    for j in range(Y.shape[1]):
        points = np.unique(np.append(np.clip(Y[:, j], lower[j], upper[j]), lower[j]))
        for a, b in pairwise(points):
            slope = (holding[j] + backorder[j]) * w[Y[:, j] <= a].sum() - backorder[j]
            falls.append((slope, j, b - a))
    left = budget - lower.sum()
    for slope, j, width in sorted(falls):
        if slope < 0.0 and left > 0.0:
            plan[j] += min(width, left)
            left -= min(width, left)
    over = plan - Y
    return float(w @ np.maximum(holding * over, -backorder * over).sum(axis=1))


def drawn(seed: int) -> tuple[SetCase, tuple[Any, ...]]:
    """Draw a question about a deep forest, and the rates, limits and budget that its judge needs."""
    rng = np.random.default_rng([seed, 32])
    shape, n, products = SHAPES[seed % len(SHAPES)], int(rng.integers(12, 36)), int(rng.integers(1, 4))
    X = contexts(rng, n, shape)
    declared = schema(rng, X, shape)
    points = declared.fit(X).encode(X)
    unit = (1.0, 1e-9, 1e9)[seed % 3]
    Y = 10.0 + 4.0 * (points - points.mean(axis=0)) @ rng.normal(size=(points.shape[1], products))
    Y = np.maximum(0.0, Y + rng.normal(size=Y.shape)).round((0, 1, 9)[seed % 5 % 3]) * unit
    rates = rng.integers(1, 4, products).astype(float), rng.integers(1, 8, products).astype(float)
    total = float(np.median(Y, axis=0).sum())
    budget = np.inf if seed % 4 == 0 else total * float(rng.uniform(0.5, 1.2))
    problem = wh.Newsvendor(*rates, budget=None if np.isinf(budget) else budget)
    forest = paper_forest(int(rng.integers(3, 7)), None, random_state=seed, min_samples_leaf=int(rng.integers(1, 4)))
    policy = wh.Policy(problem, forest, schema=declared).fit(X, Y)
    j = int(rng.integers(products))
    quantity = min(float(rng.choice(Y[:, j])) * float(rng.choice([1.0, 1.05])), 0.9 * budget)
    lower, upper = np.zeros(products), np.full(products, np.inf)
    if rng.random() < 0.5:
        lower[j], chosen = quantity, problem.at_least(j, quantity)
    else:
        upper[j], chosen = quantity, problem.at_most(j, quantity)
    context = initial(rng, policy, OUTSIDE)
    return SetCase(seed, policy, context, chosen, Y, Y, "absolute"), (rates, lower, upper, budget)


def nearest(case: SetCase, judge: tuple[Any, ...]) -> tuple[float, float]:
    """Return the nearest distances with a little more and a little less than what is tolerated."""
    question, (rates, lower, upper, budget) = question_of(case), judge
    points, Y = cells(question), case.policy.Y_
    free = np.zeros(len(lower)), np.full(len(lower), np.inf)
    distance = np.abs(points - question.space.start) @ question.space.weight
    order, found, known = np.argsort(distance, kind="stable"), np.inf, {}
    for i, w in zip(order, question.weights.weights(estimator_rows(question, points[order])), strict=True):
        key = w.tobytes()
        if key not in known:
            known[key] = least(w, Y, rates, lower, upper, budget) - least(w, Y, rates, *free, budget)
        if known[key] <= 1.001 * question.claim.tau:
            found = min(found, float(distance[i]))
        if known[key] <= 0.999 * question.claim.tau:
            return found, float(distance[i])
    return found, np.inf


@pytest.mark.parametrize("block", seeds(4, 100))
def test_exchanges_rule_out_no_answer(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status and distance are those of brute force; with exchanges the search takes another course."""
    used = 0
    for seed in range(40 * block, 40 * block + 40):
        case, judge = drawn(seed)
        first, last = nearest(case, judge)
        why = case.policy.explain(case.context, case.instead, kind="absolute")
        assert why.status in ("optimal", "already", "none"), seed
        hair = 1e-6 * (1.0 + (0.0 if np.isinf(last) else last))
        assert first - hair <= why.distance <= last + hair, (seed, why.status, why.distance, first, last)
        with monkeypatch.context() as patch:
            patch.setattr(Stock, "limit_beside", lambda self, everything: None)
            plain = case.policy.explain(case.context, case.instead, kind="absolute")
        assert plain.status == why.status, seed
        used += why.nodes != plain.nodes
    assert used >= 1
