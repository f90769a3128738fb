"""The re-check is as strict as it says: what is wrong by more than rounding never leaves the package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.asking import asking, varied
from tests.cases import OneOf
from tests.forests import paper_forest

import whence as wh
from whence.errors import InternalError
from whence.explain.recheck import confirmed
from whence.question import Answer, Limits, Question


def asked(policy: wh.Policy, start: list[float], **given: Any) -> Question:
    """A relative question about plan 1 instead of plan 0."""
    space = policy.schema_.space(policy.schema_.row(start), (), given.pop("bounds", None))
    costs = np.ascontiguousarray(policy.Y_.T)
    fields: dict[str, Any] = {
        "space": space,
        "weights": policy.weights_,
        "inputs": policy.input_map_,
        "alternative": costs[1],
        "decision": costs[0],
        "risk": policy.risk_,
        "kind": "relative",
        "tau": 0.0,
        "separation": 1e-6,
        "better": lambda weights: None,
        "limits": Limits(),
    }
    return asking(**{**fields, **given})


def at(question: Question, point: list[float], away: float = 0.0) -> Answer:
    """An answer at `point`, said to be `away` farther than it is."""
    here = np.asarray(point, dtype=np.float64)
    return Answer("optimal", here, question.space.distance(here) + away, 0.0)


def check(policy: wh.Policy, question: Question, answer: Answer, start: list[float]) -> float:
    """The distance that the re-check confirms."""
    return confirmed(question, answer, policy.schema_, policy.schema_.row(start), policy.inputs_of).distance


@pytest.fixture(params=[wh.Expectation(), wh.CVaR(0.5)], ids=["mean", "tail"])
def one_leaf(request: pytest.FixtureRequest) -> wh.Policy:
    """A forest without splits, so that all weights are equal wherever one stands; costs of plan 0 and of plan 1."""
    X = np.linspace(0.0, 1.0, 8)[:, None]
    Y = np.column_stack([np.full(8, 100.0), np.full(8, 100.0)])
    return wh.Policy(OneOf(), paper_forest(2, min_samples_leaf=8, random_state=0), request.param).fit(X, Y)


@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_costs_may_differ_by_rounding_only(one_leaf: wh.Policy, kind: str) -> None:
    """A billionth of the largest cost is rounding; a ten-millionth above the tolerance is a wrong answer."""
    question = asked(one_leaf, [0.0])
    for over, wrong in ((1e-10, False), (1e-7, True)):
        dearer = question.claim.alternative * (1.0 + over)
        given = varied(question, alternative=dearer)
        if kind == "absolute":
            given = varied(
                question, kind="absolute", decision=dearer, alternative=dearer, better=lambda w: question.claim.decision
            )
        if wrong:
            with pytest.raises(InternalError, match=r"costs .* more than the decision|from optimal"):
                check(one_leaf, given, at(given, [0.5]), [0.0])
        else:
            assert check(one_leaf, given, at(given, [0.5]), [0.0]) == 0.5


def test_the_tolerance_of_the_question_counts(one_leaf: wh.Policy) -> None:
    """What lies within tau passes; what lies beyond it does not."""
    question = asked(one_leaf, [0.0])
    dearer = varied(question, alternative=question.claim.alternative + 1.0)
    assert check(one_leaf, varied(dearer, tau=1.01), at(dearer, [0.5]), [0.0]) == 0.5
    with pytest.raises(InternalError, match="costs 1 more than the decision"):
        check(one_leaf, varied(dearer, tau=0.99), at(dearer, [0.5]), [0.0])


def test_the_distance_must_be_the_one_said(one_leaf: wh.Policy) -> None:
    """A distance that is off by more than rounding is refused, in either direction."""
    question = asked(one_leaf, [0.0])
    assert check(one_leaf, question, at(question, [0.5], 1e-8), [0.0]) == 0.5
    for away in (-1e-5, 1e-5):
        with pytest.raises(InternalError, match=r"lies at distance 0\.5, not at"):
            check(one_leaf, question, at(question, [0.5], away), [0.0])


def test_contexts_outside_the_bounds_are_refused(one_leaf: wh.Policy) -> None:
    """A context that lies outside by more than rounding is no answer."""
    question = asked(one_leaf, [0.0], bounds={"x0": (0.0, 0.5)})
    assert check(one_leaf, question, at(question, [0.5]), [0.0]) == 0.5
    with pytest.raises(InternalError, match="outside the allowed contexts"):
        check(one_leaf, question, at(question, [0.500001]), [0.0])


def test_neighbours_must_be_separated() -> None:
    """The k nearest must be set apart from the others by the separation, up to the rounding of distances."""
    X = np.array([[0.0], [1.0]])
    policy = wh.Policy(OneOf(), wh.KNNWeights(1)).fit(X, np.array([[2.0, 3.0], [3.0, 2.0]]))
    question = asked(policy, [0.0])
    assert check(policy, question, at(question, [0.5 + 0.6e-6]), [0.0]) == pytest.approx(0.5000006)
    with pytest.raises(InternalError, match="only 8e-07 apart"):
        check(policy, question, at(question, [0.5 + 0.4e-6]), [0.0])
    wide = varied(question, separation=0.1)
    assert check(policy, wide, at(wide, [0.551]), [0.0]) == pytest.approx(0.551)
    with pytest.raises(InternalError, match=r"only 0\.09 apart"):
        check(policy, wide, at(wide, [0.545]), [0.0])
