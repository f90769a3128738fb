"""Explanations of kernel weights against a fine grid of contexts, by weights that are written out here once more."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.cases import OneOf
from tests.knn_reference import _choices
from tests.search.test_knn import random_case

from whence.errors import InputError, WhenceError
from whence.policy import Policy
from whence.question import Question
from whence.risk import CVaR, Expectation
from whence.search.kernel import explain
from whence.weights import KernelWeights

#: Contexts along one continuous coordinate, and along each of two.
STEPS = (None, 3001, 121)


def _values(weights: KernelWeights, metric: Any, points: np.ndarray, contexts: np.ndarray) -> np.ndarray:
    """The kernel's value of every past context in every context, from its definition."""
    gaps = contexts[:, None, :] - points[None, :, :]
    if isinstance(metric, str) and metric == "l1":
        away = np.abs(gaps).sum(axis=2)
    else:
        matrix = np.eye(points.shape[1]) if isinstance(metric, str) else metric
        away = np.sqrt(np.maximum(np.einsum("abi,ij,abj->ab", gaps, matrix, gaps), 0.0))
    u = away / weights.bandwidth
    if weights.kernel == "gaussian":
        return np.asarray(np.exp(-(u**2 - u.min(axis=1, keepdims=True) ** 2) / 2.0))
    inside = {"epanechnikov": lambda: 1 - u**2, "biweight": lambda: (1 - u**2) ** 2, "tricube": lambda: (1 - u**3) ** 3}
    return np.asarray(np.where(u < 1.0, inside[weights.kernel](), 0.0))


def _excess(question: Question, rivals: list[Any], metric: Any, contexts: np.ndarray) -> np.ndarray:
    """By how much the alternative costs more than the best rival and tau, in each context; infinite without weights."""
    weights = question.weights
    assert isinstance(weights, KernelWeights)
    values = _values(weights, metric, weights.points_, contexts)
    total = values.sum(axis=1)
    share = values / np.maximum(total, 1e-300)[:, None]
    worst = np.max([share @ (question.alternative - rival) for rival in rivals], axis=0) - question.tau
    if weights.kernel != "gaussian":
        worst = np.where(total >= 1e-3, worst, np.inf)
    return np.asarray(worst)


def _contexts(question: Question) -> np.ndarray:
    """A fine grid of the contexts that are allowed."""
    space = question.space
    free, fillings = _choices(question)
    found = []
    for filled in fillings:
        lines = []
        for j in free:
            steps = STEPS[len(free)]
            low, high = space.lower[j], space.upper[j]
            line = np.linspace(low, high, steps) if low <= high else np.empty(0)
            lines.append(np.append(line, space.start[j]))
        mesh = (
            np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(free)) if free else np.empty((1, 0))
        )
        rows = np.tile(filled, (len(mesh), 1))
        rows[:, free] = mesh
        found.append(rows)
    return np.vstack(found)


def _asked(seed: int) -> tuple[Question, list[Any], Any]:
    question, rivals = random_case(seed, most=9)
    rng = np.random.default_rng([seed, 5])
    kernel = str(rng.choice(["gaussian", "gaussian", "epanechnikov", "biweight", "tricube"]))
    points = question.weights.points_  # type: ignore[attr-defined]
    metric: Any = str(rng.choice(["euclidean", "l1"]))
    if kernel == "gaussian" and rng.random() < 0.3:
        root = rng.normal(size=(points.shape[1], points.shape[1]))
        metric = root.T @ root
    width = float(rng.choice([0.05, 0.2, 0.5, 1.0]))
    weights = KernelWeights(width, kernel, metric, gap=float(rng.choice([0.01, 0.01, 0.1]))).fit(points)

    def better(shares: np.ndarray) -> np.ndarray | None:
        best = min(rivals, key=lambda rival: float(rival @ shares))
        return best if question.alternative @ shares > best @ shares + question.tau else None

    return replace(question, weights=weights, risk=Expectation(), better=better), rivals, metric


@pytest.mark.parametrize("block", range(5))
def test_agrees_with_a_fine_grid(block: int) -> None:
    """300 questions: what is found holds, no context of the grid is nearer than the bound, and the gap is kept."""
    for seed in range(60 * block, 60 * (block + 1)):
        question, rivals, metric = _asked(seed)
        answer = explain(question)
        contexts = _contexts(question)
        excess = _excess(question, rivals, metric, contexts)
        distance = np.abs(contexts - question.space.start) @ question.space.weight
        nearest = distance[excess <= -1e-9].min(initial=np.inf)
        if answer.status == "none":
            assert nearest == np.inf, seed
            continue
        assert answer.status == "optimal", seed
        assert answer.point is not None
        assert question.space.contains(answer.point)
        assert _excess(question, rivals, metric, answer.point[None, :])[0] <= 1e-9, seed
        assert answer.bound <= nearest + 1e-9, seed
        assert answer.distance * (1.0 - question.weights.proof_gap) <= answer.bound + 1e-9, seed
        assert answer.distance == pytest.approx(question.space.distance(answer.point), abs=1e-9)


def _policy(kernel: str = "gaussian", scaled: bool = True, width: float = 0.2, n: int = 200, d: int = 3) -> Policy:
    rng = np.random.default_rng(1)
    X = rng.random((n, d)) * np.array([1.0, 50.0, 1e-3, 9.0])[:d]
    Z = X / np.array([1.0, 50.0, 1e-3, 9.0])[:d]
    Y = np.column_stack([Z[:, 0] + 0.1 * rng.normal(size=n), Z[:, 1] + 0.1 * rng.normal(size=n)])
    return Policy(OneOf(), KernelWeights(width, kernel, scaled=scaled), None, None).fit(X, Y)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "biweight", "tricube"])
def test_policies_are_explained_and_verified(kernel: str) -> None:
    """From a policy: proved up to the gap, said so in words, and found the same when it is verified."""
    policy = _policy(kernel)
    for kind in ("relative", "absolute"):
        why = policy.explain([0.1, 45.0, 5e-4], 1, kind=kind, time_limit=20)
        assert why.status == "optimal"
        assert 0.0 <= why.distance - why.bound <= 0.01 * why.distance + 1e-9
        assert why.cost_after.alternative <= why.cost_after.decision + why.tolerance
        assert "Near enough for the gap that was allowed" in why.report.text
        assert why.verify(policy, prove=True)


def test_own_units_are_those_of_the_columns() -> None:
    """Unscaled, the column with the largest numbers decides who is near."""
    policy = _policy(scaled=False, width=5.0)
    why = policy.explain([0.1, 45.0, 5e-4], 1, time_limit=20)
    assert why.status == "optimal"
    assert why.changes["feature"].tolist() == ["x1"]


def test_a_time_limit_holds() -> None:
    """However hard the question, the search ends in time, with a bound."""
    policy = _policy(n=1500, d=4, width=0.05)
    began = time.perf_counter()
    why = policy.explain(policy.X_.iloc[0], 1 - policy.decide(policy.X_.iloc[0]), time_limit=0.3)
    assert time.perf_counter() - began < 1.5
    assert why.bound <= why.distance


def test_far_from_the_history_a_compact_kernel_has_no_weights() -> None:
    """A context beyond the reach of a kernel is refused, and a Gaussian one still has weights there."""
    with pytest.raises(InputError, match="must lie near enough to the history"):
        _policy("tricube").decide([9.0, 500.0, 0.0])
    assert _policy().weights_at([9.0, 500.0, 0.0]).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"max_changes": 1}, "'max_changes' needs weights made of trees or of neighbours"),
        ({"confidence": 1.0}, "'confidence' needs weights made of trees or of neighbours"),
        ({"plausible": 0.1}, "'plausible' needs weights made of trees"),
        ({"engine": "milp"}, r"'weights' must be TreeWeights, .* for engine='milp'. Got KernelWeights"),
        ({"relations": ["x0 <= x1"]}, "'relations', and features that follow from others, need weights"),
    ],
)
def test_what_no_bound_is_made_for_is_refused(how: dict[str, Any], words: str) -> None:
    """In one sentence, before any search."""
    with pytest.raises(WhenceError, match=words):
        _policy().explain([0.1, 45.0, 5e-4], 1, **how)


def test_a_tail_is_refused() -> None:
    """Kernel weights are explained for the expected cost."""
    policy = _policy().set_params(risk=CVaR(0.8))
    policy.fit(policy.X_, policy.Y_)
    with pytest.raises(InputError, match="'risk' must be the expected cost"):
        policy.explain([0.1, 45.0, 5e-4], 1)
