"""Risks of a user's own: those that are weighted means are explained, by every engine; others are refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from tests import oracle
from tests.asking import varied
from tests.blocks import seeds
from tests.cases import TOLERANCE, OneOf, cases

import whence as wh
from whence.errors import InputError, InputTypeError
from whence.risk import Risk

Floats = Any


class Squared(Risk):
    """The mean of the squared costs."""

    name = "mean squared cost"

    def values(self, costs: Floats) -> Floats:
        return np.square(costs)


class Overrun(Risk):
    """By how much costs exceed a limit, on average."""

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def values(self, costs: Floats) -> Floats:
        return np.maximum(costs - self.limit, 0.0)


class WorstHalf(Risk):
    """The mean of the worst half of the exponential costs: a tail of other values than the costs."""

    @property
    def tail(self) -> float:
        return 0.5

    def values(self, costs: Floats) -> Floats:
        return np.exp(0.1 * costs)


class Spread(Risk):
    """The standard deviation: no mean of anything."""

    def of(self, costs: Floats, weights: Floats) -> float:
        mean = np.dot(weights, costs)
        return float(np.sqrt(np.dot(weights, np.square(np.asarray(costs) - mean))))


OWN: list[Risk] = [Squared(), Overrun(9.0), WorstHalf()]


def asked(seed: int, risk: Risk, **options: Any) -> tuple[wh.Policy, Any, dict[str, Any]]:
    """A small policy with the risk of a user's own, and a question about it."""
    case = cases(seed, 1, **options)[0]
    policy = copy.copy(case.policy)  # which other tests ask as it is
    policy.risk_ = risk
    decision = policy.decide(case.context)
    instead = (decision + 1 + seed % (policy.Y_.shape[1] - 1)) % policy.Y_.shape[1]
    kind = ("relative", "absolute")[seed % 2]
    within = 0.05 if kind == "absolute" and seed % 3 == 0 else 0.0
    call = {"instead": instead, "kind": kind, "within": within, "fixed": case.fixed, "bounds": case.bounds}
    return policy, case, call


def expected(policy: wh.Policy, case: Any, call: dict[str, Any]) -> float:
    """The distance of the nearest explanation by looking at every cell; infinite where there is none."""
    risk, costs = policy.risk_, policy.Y_.T
    mine = costs[call["instead"]]
    tau = TOLERANCE * float(np.abs(risk.values(mine)).max())
    decided = costs[policy.decide(case.context)]
    rivals = [decided] if call["kind"] == "relative" else list(costs)
    question = case.but(kind=call["kind"], within=call["within"]).question()
    found = oracle.nearest_by_costs(varied(question, tau=tau), risk, mine, rivals)
    return np.inf if found is None else found.distance


@pytest.mark.parametrize("risk", OWN, ids=lambda risk: type(risk).__name__)
@pytest.mark.parametrize("block", seeds(1, 4))
def test_the_search_equals_brute_force(risk: Risk, block: int) -> None:
    """Over hundreds of small policies, relative and absolute, the distance is that of looking at every cell."""
    away = 0
    for seed in range(20 * block, 20 * block + 20):
        policy, case, call = asked(seed, risk)
        distance = expected(policy, case, call)
        why = policy.explain(case.context, **call)
        assert why.distance == pytest.approx(distance, abs=1e-7), (seed, call)
        assert why.risk == risk.name
        away += 0.0 < distance < np.inf
    assert away >= 4


@pytest.mark.parametrize("risk", OWN, ids=lambda risk: type(risk).__name__)
@pytest.mark.parametrize("weights", ["forest", "knn"])
def test_both_engines_agree(risk: Risk, weights: str) -> None:
    """The integer program and the search give the same distance."""
    tried = 0
    for seed in range(40):
        policy, case, call = asked(seed, risk, weights=weights)
        if policy.weights_.n_samples_ > 9:
            continue
        tried += 1
        found = [policy.explain(case.context, engine=engine, **call) for engine in ("search", "milp")]
        assert found[0].status == found[1].status
        assert found[0].distance == pytest.approx(found[1].distance, abs=1e-6)
    assert tried >= 4


def test_costs_in_an_explanation_are_those_of_the_risk() -> None:
    """Costs before and after are the risk's, and the costs of the observations are the plain ones."""
    policy, case, call = asked(4, Squared())
    why = policy.explain(case.context, **call)
    made = policy.decision(case.context)
    assert why.cost_before.decision == pytest.approx(made.cost)
    assert made.cost == pytest.approx(made.weights @ made.costs**2)
    assert why.costs_decision is not None
    assert why.costs_decision.tolist() == made.costs.tolist()


def test_any_other_risk_decides_but_is_not_explained() -> None:
    """A policy decides by a standard deviation; to explain it is refused, in a sentence that says what would do."""
    policy, case, call = asked(4, Spread())
    plan = policy.decide(case.context)
    spreads = [Spread().of(column, policy.weights_at(case.context)) for column in policy.Y_.T]
    assert spreads[plan] == min(spreads)
    with pytest.raises(InputError, match="'risk' must be a weighted mean to be explained") as caught:
        policy.explain(case.context, **call)
    assert caught.value.parameter == "risk"


def test_built_in_problems_know_two_risks() -> None:
    """A newsvendor does not pretend to minimise a risk that it does not know."""
    X = np.arange(6.0)[:, None]
    policy = wh.Policy(wh.Newsvendor(1.0, 2.0), wh.KNNWeights(2), Squared()).fit(X, X)
    with pytest.raises(InputTypeError, match="must be Expectation or CVaR"):
        policy.decide([1.0])


def test_policies_take_risks_only() -> None:
    """Something that merely has a method 'of' is refused."""
    with pytest.raises(InputTypeError, match="'risk' must be an Expectation, CVaR or other Risk"):
        wh.Policy(OneOf(), wh.KNNWeights(1), risk=np.mean).fit([[0.0], [1.0]], np.eye(2))  # type: ignore[arg-type]
