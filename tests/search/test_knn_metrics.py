"""Neighbours by other metrics than the plain one: both engines against every vertex of the lines that matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from tests.cases import Case, OneOf, schema
from tests.knn_reference import judge
from tests.metric_reference import measured, nearest_by_lines
from tests.search.test_knn import random_case
from tests.soaking import OUTSIDE, RISKS, asked, costs, outside, resolution, table

from whence.engines import engine_named
from whence.errors import InputError, WhenceError
from whence.policy import Policy
from whence.question import Question
from whence.weights import KNNWeights


def _matrix(rng: np.random.Generator, columns: int) -> np.ndarray:
    """A metric with correlations; now and then one that does not see every direction."""
    root = rng.normal(size=(columns if rng.random() < 0.8 else max(1, columns - 1), columns))
    found: np.ndarray = root.T @ root * float(rng.choice([1e-3, 1.0, 50.0]))
    return found


def _asked(seed: int) -> tuple[Question, list[Any], Any]:
    question, rivals = random_case(seed, most=7)
    rng = np.random.default_rng([seed, 3])
    before = question.weights
    assert isinstance(before, KNNWeights)
    metric: Any = "euclidean" if rng.random() < 0.5 else _matrix(rng, before.points_.shape[1])
    return replace(question, weights=KNNWeights(before.k, metric).fit(before.points_)), rivals, metric


def _agrees(question: Question, rivals: list[Any], metric: Any, engine: str = "search") -> None:
    expected = nearest_by_lines(question, rivals, metric, scaled=True)
    answer = engine_named(engine).answer(question)
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
    assert distance[order[weights.k]] - distance[order[weights.k - 1]] >= question.separation
    assert judge(question, rivals)(order[: weights.k])


@pytest.mark.parametrize("block", range(4))
def test_agrees_with_every_vertex(block: int) -> None:
    """Euclidean and Mahalanobis neighbours: 240 answers are those of the best vertex."""
    for seed in range(60 * block, 60 * (block + 1)):
        _agrees(*_asked(seed))


@pytest.mark.parametrize("seed", range(300, 318))
def test_the_integer_program_agrees_with_every_vertex(seed: int) -> None:
    """So it is for the integer program, which shares no code with the search."""
    _agrees(*_asked(seed), engine="milp")


# ---- through the policy, with data as people have it -----------------------------------------------------------------


def metric_case(seed: int) -> tuple[Case, Any, bool]:
    """A question about a few neighbours by some metric, scaled or not, frozen or not."""
    rng = np.random.default_rng([seed, 31])
    n = int(rng.integers(4, 11))
    kinds = "".join(rng.choice(list("cr"), int(rng.integers(1, 3)))) + "".join(
        rng.choice(list("dbk"), int(rng.integers(0, 2)))
    )
    how = str(rng.choice(["scaled", "own", "frozen"]))
    X = table(rng, n, kinds, spread=how == "frozen")
    declared = schema(rng, X, kinds, spread=how == "frozen")
    Y = costs(rng, declared.fit(X).encode(X), int(rng.integers(2, 5)))
    columns = declared.fit(X).n_coordinates
    k = int(rng.integers(1, n))
    metric: Any = str(rng.choice(["l1", "euclidean"]))
    if rng.random() < 0.35:
        metric = _matrix(rng, columns)
    if how == "frozen":
        fitted = _fitted(rng, X.to_numpy(dtype=np.float64), Y, k, metric)
        weights = KNNWeights.of(fitted)
    else:
        weights = KNNWeights(k, metric, scaled=how == "scaled")
    policy = Policy(OneOf(), weights, RISKS[int(rng.integers(len(RISKS)))], declared).fit(X, Y)
    return asked(rng, seed, policy, OUTSIDE[:2]), metric, how == "scaled"


def _fitted(rng: np.random.Generator, X: np.ndarray, Y: np.ndarray, k: int, metric: Any) -> Any:
    how: dict[str, Any] = {"metric": "mahalanobis", "metric_params": {"VI": metric}, "algorithm": "brute"}
    if isinstance(metric, str):
        how = {"p": 1 if metric == "l1" else 2, "algorithm": "kd_tree"}
    if rng.random() < 0.5:
        return KNeighborsClassifier(k, **how).fit(X, Y.argmin(axis=1))
    return KNeighborsRegressor(k, **how).fit(X, Y)


def _disagreement(case: Case, metric: Any, scaled: bool) -> str:
    question = case.question()
    before = case.policy.weights_at(case.context)
    rivals = [question.decision, *(case.policy.Y_.T if case.kind == "absolute" else ())]
    if question.better(before) is None if case.kind == "absolute" else question.holds(before):
        wanted = 0.0
    else:
        wanted = nearest_by_lines(question, rivals, metric, scaled)
    given: dict[str, Any] = {"decision": case.decision, "kind": case.kind, "fixed": case.fixed, "bounds": case.bounds}
    try:
        why = case.policy.explain(case.context, case.instead, **given)
    except WhenceError as error:
        return f"{type(error).__name__}: {error} (brute force: {wanted!r})"
    if why.status not in ("optimal", "already", "none"):
        return f"status {why.status}"
    allowed = 1e-6 * float(question.space.weight.max()) * (1.0 + (0.0 if np.isinf(wanted) else wanted))
    if not (why.distance == wanted or abs(why.distance - wanted) <= allowed + resolution(case, question)):
        return f"{why.status} at {why.distance!r}, brute force {wanted!r}"
    return outside(case, why)


@pytest.mark.parametrize("block", range(4))
def test_policies_agree_with_brute_force(block: int) -> None:
    """120 questions over metrics, own units of any size, models given fitted, ties, restrictions and far contexts."""
    for seed in range(30 * block, 30 * (block + 1)):
        assert _disagreement(*metric_case(seed)) == "", f"metric_case({seed})"


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
