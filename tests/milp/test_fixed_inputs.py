"""Fix the context in the model, solve, and compare its weights and risks with the predictor's."""

from __future__ import annotations

import numpy as np
import pytest
from tests import oracle
from tests.asking import varied
from tests.blocks import count as drawn
from tests.milp.asked import asked, built, fixed_at, forests, neighbours, value

from whence.milp.criterion_rows import TailCost
from whence.milp.model import Linear
from whence.risk import CVaR


def some_contexts(points: np.ndarray, count: int, seed: int) -> np.ndarray:
    """A few rows of `points`."""
    return points[np.random.default_rng(seed).permutation(len(points))[:count]]


def test_forest_weights() -> None:
    """In every cell tried, the weight variables take the weights of the fitted forest."""
    for case in forests(range(drawn(20, 60)), samples=15):
        question = asked(case)
        model, weighting, _ = built(question)
        columns = weighting.columns
        program = model.program()
        for context in some_contexts(oracle.cells(question), 3, case.seed):
            outcome = fixed_at(program, weighting, context)
            weights = question.weights.at(oracle.estimator_rows(question, context[None, :])[0])
            assert np.allclose(outcome.values[columns], weights, atol=1e-7), case
            assert np.allclose(weighting.context(outcome.values), context, rtol=0.0, atol=1e-12)
            assert abs(outcome.bound - question.space.distance(context)) < 1e-7


def test_neighbour_weights() -> None:
    """At past contexts and at the start, the samples chosen are the neighbours, wherever these are unambiguous."""
    seen = 0
    for case in neighbours(range(200), samples=10):
        question = asked(case)
        model, weighting, _ = built(question)
        columns = weighting.columns
        program = model.program()
        for context in (question.space.start, *some_contexts(question.weights.points_, 2, case.seed)):
            if not question.space.contains(context):
                continue
            weights = weighting.confirmed(context)
            outcome = fixed_at(program, weighting, context)
            assert (outcome.status == "infeasible") == (weights is None), case
            if weights is not None:
                seen += 1
                assert np.allclose(outcome.values[columns], weights, atol=1e-7), case
    assert seen > 20


@pytest.mark.parametrize("w_max", ["sample", "path", "mean", "unit"])
def test_tail_costs(w_max: str) -> None:
    """The alternative's flow costs its CVaR, whatever the bound on the weights; a rival's flow at most its own."""
    tried = 0
    for case in forests(range(drawn(40, 80)), samples=14):
        question = asked(case)
        if not isinstance(question.claim.risk, CVaR) or question.claim.risk.alpha == 0:
            continue
        model, weighting, criterion = built(question, w_max)
        assert isinstance(criterion, TailCost)
        rival = Linear(criterion.flows.made(), question.claim.decision)
        tail = 1.0 - question.claim.risk.alpha
        # With the context fixed, the largest cost that the rival's flow can carry is its CVaR.
        model.minimise(rival * (-1.0 / tail))
        context = some_contexts(oracle.cells(question), 1, case.seed)[0]
        outcome = fixed_at(model.program(), weighting, context)
        weights = question.weights.at(oracle.estimator_rows(question, context[None, :])[0])
        cost = value(criterion.alternative, outcome.values) / tail + criterion.base
        assert abs(cost - question.claim.risk.of(question.claim.alternative, weights)) < 1e-6
        assert (
            abs(value(rival, outcome.values) / tail - question.claim.risk.of(question.claim.decision, weights)) < 1e-6
        )
        tried += 1
    assert tried > drawn(4, 10)


def test_means() -> None:
    """Weighted means of one or of many columns are those under the predictor's weights."""
    rng = np.random.default_rng(0)
    for case in forests(range(20), samples=12):
        question = asked(case)
        model, weighting, _ = built(question)
        values = rng.normal(size=(question.weights.n_samples_, 3))
        means = weighting.means(values)
        context = some_contexts(oracle.cells(question), 1, case.seed)[0]
        outcome = fixed_at(model.program(), weighting, context)
        weights = question.weights.at(oracle.estimator_rows(question, context[None, :])[0])
        assert np.allclose([value(m, outcome.values) for m in means], weights @ values, atol=1e-6)
        assert np.isclose(value(weighting.mean(values[:, 0]), outcome.values), weights @ values[:, 0], atol=1e-6)


def test_a_row_holds_exactly_where_the_criterion_does() -> None:
    """With the context fixed, the row against a rival is feasible just above its excess and infeasible below it."""
    tried = {True: 0, False: 0}
    for case in forests(range(200), samples=12):
        question = asked(case)
        context = some_contexts(oracle.cells(question), 1, case.seed)[0]
        weights = question.weights.at(oracle.estimator_rows(question, context[None, :])[0])
        excess = question.claim.risk.of(question.claim.alternative, weights) - question.claim.risk.of(
            question.claim.decision, weights
        )
        tail = question.claim.risk.tail
        if excess <= 0.1 or tried[tail is None] >= 12:
            continue
        tried[tail is None] += 1
        for tau, feasible in ((0.97 * excess, False), (1.03 * excess, True)):
            model, weighting, criterion = built(varied(question, tau=tau))
            (row,) = criterion.against(question.claim.decision)
            model.row(row.expression, row.lower, row.upper)
            outcome = fixed_at(model.program(), weighting, context)
            assert (outcome.status != "infeasible") == feasible, (case, tau)
    assert tried[True] == tried[False] == 12
