"""A search that takes too much memory ends like one that takes too long: with the best found, a bound, and a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.asking import searching
from tests.cases import OneOf
from tests.forests import paper_forest
from tests.search.test_potential_phase import wide_policy

import whence as wh
from whence import question
from whence.question import Limits


def rarely_paying(weights: Any, columns: int = 15) -> wh.Explanation | Callable[..., Any]:
    """The question of a plan that pays on single days only, which takes many boxes."""
    rng = np.random.default_rng(0)
    X = rng.random((500, columns))
    Y = np.column_stack([np.zeros(500), 0.8 + rng.normal(size=500)])
    policy = wh.Policy(OneOf(), weights).fit(X, Y)
    return lambda **limits: policy.explain(policy.X_.iloc[0], instead=1, decision=0, **limits)


def of_routes(**limits: Any) -> wh.Explanation:
    """Whether anything would make another route better by some share, for all routes together."""
    policy = wide_policy(3)
    return policy.explain(policy.X_.iloc[1], margin=0.05, **limits)


QUESTIONS = {
    "forest": lambda: rarely_paying(paper_forest(100, None, random_state=0)),
    "neighbours": lambda: rarely_paying(wh.KNNWeights(10)),
    "kernel": lambda: rarely_paying(wh.KernelWeights(bandwidth=0.2), 6),
    "routes": lambda: of_routes,
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_memory_limit_ends_a_search(name: str) -> None:
    """The answer names the memory, where neither time nor boxes are to blame; more of it lets the search go on."""
    ask = QUESTIONS[name]()
    answers = [ask(memory_limit=limit, node_limit=100_000) for limit in (10, 200_000)]
    for why, said in zip(answers, ("10 bytes", "200 kB"), strict=True):
        assert why.status == "time_limit"
        assert why.note == f"the search had used its memory of {said}"
        assert f"until {why.note}" in str(why)
        assert 0.0 <= why.bound <= why.distance
        assert why.nodes < 100_000
    assert answers[0].nodes < answers[1].nodes
    assert answers[0].bound <= answers[1].bound


def test_a_memory_limit_ends_plans_one_by_one() -> None:
    """Potentials of boxes, and the leaves that these meet, count as well."""
    with searching(potentials_after=1):
        whole = of_routes()
        short = of_routes(memory_limit=20_000)
    assert whole.status == "optimal"
    assert short.status == "time_limit"
    assert short.note == "the search had used its memory of 20 kB"
    assert 0.0 <= short.bound <= whole.distance


def test_answers_that_fit_are_the_same() -> None:
    """A limit that is not reached changes nothing."""
    policy = wide_policy(3)
    ask = {"context": policy.X_.iloc[1], "margin": 0.05}
    free, kept = policy.explain(**ask), policy.explain(**ask, memory_limit=500_000_000)
    assert (kept.status, kept.distance, kept.nodes, kept.note) == (free.status, free.distance, free.nodes, "")


def test_the_usual_limit_is_half_of_the_machine_at_most_4_gb() -> None:
    """Nobody has to say anything."""
    assert 2**20 < Limits().memory == question.usual_memory_limit() <= question.MOST_MEMORY == 4 * 2**30


@pytest.mark.parametrize("wrong", [0, -1, "1 GB", np.nan])
def test_a_memory_limit_is_a_positive_number(wrong: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(wh.WhenceError, match="'memory_limit'"):
        of_routes(memory_limit=wrong)
