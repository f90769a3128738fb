"""The unit of costs belongs to the problem, and goes from there into every explanation."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

import whence as wh
from whence.errors import InputError
from whence.problems.base import cost_unit_of

PROBLEMS: dict[str, Callable[..., wh.DecisionProblem]] = {
    "newsvendor": lambda **given: wh.Newsvendor(1, 1, **given),
    "shipment": wh.Shipment,
    "shortest_path": lambda **given: wh.ShortestPath(nx.DiGraph([("a", "b")]), "a", "b", **given),
    "linear": lambda **given: wh.LinearProblem(A_eq=[[1, 1]], b_eq=[1], **given),
}


class Median(wh.DecisionProblem):
    """A problem of the user's own, with its unit in the class."""

    cost_unit = "min"

    def costs(self, decision: Any, Y: Any) -> Any:
        """The distance to the outcome."""
        return np.abs(Y[:, 0] - decision[0])

    def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
        """The outcome that weighs most."""
        return Y[int(np.argmax(weights)), :1]


def asked(problem: wh.DecisionProblem) -> wh.Explanation:
    """A question about one outcome."""
    policy = wh.Policy(problem, wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    return policy.explain([0.2], instead=[20.0])


@pytest.mark.parametrize("name", PROBLEMS)
def test_built_in_problems_keep_their_unit(name: str) -> None:
    """Given or set later, the unit outlives clones and pickles, and without one nothing is said about it."""
    problem = PROBLEMS[name](cost_unit="€")
    bare = PROBLEMS[name]()
    assert cost_unit_of(bare) == ""
    assert "cost_unit" not in repr(bare)
    bare.cost_unit = "€"
    for one in (problem, bare):
        assert [cost_unit_of(p) for p in (one, clone(one), pickle.loads(pickle.dumps(one)))] == ["€"] * 3


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_unit_is_a_text(name: str) -> None:
    """What is no text is refused in one sentence."""
    with pytest.raises(InputError, match=r"The 'cost_unit' parameter of \w+ must be a str. Got 5 instead."):
        PROBLEMS[name](cost_unit=5)


@pytest.mark.parametrize("problem", [Median(), wh.Newsvendor(1, 1, cost_unit="min")], ids=["own", "built-in"])
def test_explanations_name_the_unit(problem: wh.DecisionProblem) -> None:
    """The unit of the problem is that of the explanation, and stands behind every cost."""
    why = asked(problem)
    assert why.cost_unit == "min"
    assert "as it is: 0 min for the decision, 10 min for your plan. In the changed context: 10 min for" in str(why)


def test_a_unit_set_later_that_is_no_text() -> None:
    """A unit that is no text is found when something is asked."""
    problem = Median()
    problem.cost_unit = 5  # type: ignore[assignment]
    with pytest.raises(InputError, match="'cost_unit' parameter of Median must be a str"):
        asked(problem)
