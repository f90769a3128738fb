"""Instances of the paper's experiments: reproducible, and the alternative is what is best in the second context."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from paper import PROBLEMS, instance, study
from paper.forests import paper_forest
from whence import KNNWeights
from whence.errors import InputError, InputTypeError

FOREST = paper_forest(n_trees=8, max_depth=3)
NEIGHBOURS = KNNWeights(k=5)


@pytest.mark.parametrize("predictor", [FOREST, NEIGHBOURS], ids=["forest", "knn"])
@pytest.mark.parametrize("problem", list(PROBLEMS))
def test_same_arguments_same_instance(problem: str, predictor: Any) -> None:
    """History, forest, contexts and alternative are a function of the arguments; another seed gives others."""
    first, second, other = (instance(problem, 40, seed, predictor=predictor) for seed in (3, 3, 4))
    vector = first.policy.problem.vector
    assert np.array_equal(first.policy.Y_, second.policy.Y_)
    assert np.array_equal(first.context, second.context)
    assert np.array_equal(first.alternative_context, second.alternative_context)
    assert np.array_equal(vector(first.alternative), vector(second.alternative))
    assert np.array_equal(first.policy.weights_at(first.context), second.policy.weights_at(first.context))
    assert not np.array_equal(first.policy.Y_, other.policy.Y_)
    assert not np.array_equal(first.context, other.context)


@pytest.mark.parametrize("problem", list(PROBLEMS))
def test_the_alternative_is_best_in_its_own_context(problem: str) -> None:
    """In the second context no plan that is decided in a past context costs less."""
    asked = instance(problem, 40, 0, predictor=FOREST)
    policy = asked.policy
    weights = policy.weights_at(asked.alternative_context)

    def cost(plan: Any) -> float:
        return policy.risk_.of(policy.problem.costs(plan, policy.Y_), weights)

    assert policy.problem.check(asked.alternative) is None
    others = [cost(policy.decide(row)) for row in policy.X_.to_numpy()]
    assert cost(asked.alternative) <= min(others) + 1e-9
    assert cost(asked.alternative) < max(others)


@pytest.mark.parametrize("problem", list(PROBLEMS))
def test_instances_can_be_explained(problem: str) -> None:
    """Most of a few instances have a proved explanation that is no farther than where the alternative comes from."""
    statuses = []
    for seed in range(8):
        asked = instance(problem, 40, seed, predictor=FOREST)
        why = asked.policy.explain(asked.context, instead=asked.alternative)
        statuses.append(why.status)
        if why.status == "optimal":
            schema = asked.policy.schema_
            there, here = (schema.encode_row(schema.row(x)) for x in (asked.alternative_context, asked.context))
            inside = np.all((there >= 0) & (there <= 1))
            assert not inside or why.distance <= np.abs(there - here).sum() + 1e-6
    assert set(statuses) <= {"optimal", "already", "none"}
    assert statuses.count("optimal") >= 2


def test_one_forest_answers_several_questions() -> None:
    """Questions of one study share the fitted policy and have contexts of their own."""
    of_grids = study("shortest_path", 40, 0, predictor=FOREST, width=3)
    questions = [of_grids.question(number) for number in range(3)]
    assert all(question.policy is of_grids.policy for question in questions)
    assert len({tuple(question.context) for question in questions}) == 3
    again = instance("shortest_path", 40, 0, predictor=FOREST, width=3)
    assert np.array_equal(questions[0].context, again.context)


def test_predictors_are_compared_on_the_same_history() -> None:
    """The history and the contexts depend on the experiment and the seed, not on the predictor."""
    forest, knn = (instance("newsvendor", 40, 7, predictor=p, products=6) for p in (FOREST, NEIGHBOURS))
    assert np.array_equal(forest.policy.Y_, knn.policy.Y_)
    assert np.array_equal(forest.context, knn.context)


def test_the_predictor_is_left_as_it_is() -> None:
    """A copy of the predictor is fitted, with the seed as the forest's unless it has its own."""
    assert study("newsvendor", 40, 5, predictor=FOREST).policy.weights_.random_state == 5
    own = paper_forest(n_trees=3, random_state=11)
    assert study("newsvendor", 40, 5, predictor=own).policy.weights_.random_state == 11
    assert FOREST.random_state is None
    assert not hasattr(FOREST, "members_")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"problem": "lottery"}, "'problem' must be one of 'newsvendor'.*Got 'lottery'"),
        ({"n": 1}, "'n' must be an int of at least 2. Got 1"),
        ({"width": 3}, "experiment 'newsvendor' must be one of: 'products', 'most'. Got 'width'"),
        ({"problem": "shipment", "features": 3}, "must be one of: none. Got 'features'"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    """One sentence names the argument, what was expected and what came."""
    given = {"problem": "newsvendor", "n": 20, "seed": 0, "predictor": FOREST, **arguments}
    with pytest.raises(InputError, match=message):
        instance(**given)


def test_a_predictor_that_is_none_is_refused() -> None:
    """Only the two kinds of weights are predictors."""
    with pytest.raises(InputTypeError, match="'predictor' must be a ForestWeights or KNNWeights"):
        instance("newsvendor", 20, 0, predictor="forest")  # type: ignore[arg-type]
