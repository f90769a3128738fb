"""Neighbours by other metrics than the plain one: the integer program against every vertex, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.asking import varied
from tests.cases import OneOf
from tests.knn_reference import judge
from tests.metric_reference import measured, nearest_by_lines
from tests.metric_soaking import any_matrix
from tests.search.test_neighbour_search import random_case

from whence.engines import engine_named
from whence.errors import InputError
from whence.policy import Policy
from whence.question import Question
from whence.weights import KNNWeights


def _asked(seed: int) -> tuple[Question, list[Any], Any]:
    question, rivals = random_case(seed, most=7)
    rng = np.random.default_rng([seed, 3])
    before = question.weights
    assert isinstance(before, KNNWeights)
    metric: Any = "euclidean" if rng.random() < 0.5 else any_matrix(rng, before.points_.shape[1])
    return varied(question, weights=KNNWeights(before.k, metric).fit(before.points_)), rivals, metric


def _agrees(question: Question, rivals: list[Any], metric: Any) -> None:
    expected = nearest_by_lines(question, rivals, metric, scaled=True)
    answer = engine_named("milp").answer(question)
    if expected == np.inf:
        assert (answer.status, answer.point) == ("none", None)
        return
    assert answer.status == "optimal"
    assert answer.distance == pytest.approx(expected, abs=1e-6)
    assert answer.point is not None
    assert question.space.contains(answer.point)
    weights = question.weights
    assert isinstance(weights, KNNWeights)
    distance = measured(weights, metric, True, answer.point)
    order = np.argsort(distance)
    assert distance[order[weights.k]] - distance[order[weights.k - 1]] >= question.settings.separation
    assert judge(question, rivals)(order[: weights.k])


@pytest.mark.parametrize("seed", range(300, 318))
def test_the_integer_program_agrees_with_every_vertex(seed: int) -> None:
    """Euclidean and Mahalanobis neighbours; the search is held against the vertices in tests/agreement."""
    _agrees(*_asked(seed))


def test_many_observations_are_proved_quickly() -> None:
    """500 observations in four dimensions: proved nearest, confirmed, and no context drawn at random is nearer."""
    rng = np.random.default_rng(0)
    X = rng.random((500, 4))
    Y = np.column_stack([X[:, 0] + 0.1 * rng.normal(size=500), X[:, 1] + 0.1 * rng.normal(size=500)])
    policy = Policy(OneOf(), KNNWeights(10, "euclidean")).fit(X, Y)
    why = policy.explain([0.1, 0.9, 0.5, 0.5], 1, time_limit=20)
    assert why.status == "optimal"
    assert why.verify(policy)
    # No nearer context among many random ones is one.
    near = np.array([0.1, 0.9, 0.5, 0.5]) + (why.distance * 0.999) * rng.dirichlet(np.ones(4), 4000) * rng.choice(
        [-1, 1], (4000, 4)
    )
    near = near[((near >= 0.0) & (near <= 1.0)).all(axis=1)]
    weights = policy.weights_in(near)
    assert ((weights @ (Y[:, 1] - Y[:, 0])) > 1e-6).all()


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("cosine", "Got 'cosine' instead"),
        (np.eye(3), r"of shape \(2, 2\) and finite. Got shape \(3, 3\)"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "has the eigenvalue -1"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "not symmetric"),
        (3, r"Got shape \(\) instead"),
    ],
)
def test_metrics_that_are_none_are_refused(metric: Any, words: str) -> None:
    """A metric is a name, or a symmetric matrix of the right size without negative eigenvalues."""
    with pytest.raises(InputError, match=words):
        KNNWeights(1, metric).fit(np.eye(2))


def test_usual_contexts_are_refused_by_other_metrics() -> None:
    """How usual a context is, is told by plain neighbours only."""
    X = np.random.default_rng(0).random((30, 2))
    policy = Policy(OneOf(), KNNWeights(3, "euclidean")).fit(X, X)
    with pytest.raises(InputError, match="'plausible' needs weights made of trees, or of neighbours in the L1 norm"):
        policy.explain(X[0], 1 - policy.decide(X[0]), plausible=0.1)
