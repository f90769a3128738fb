"""Neighbours that count by the inverse of their distance, each question held against a fine grid of contexts.

`nearness_case(seed)` always gives the same question; `nearness_disagreement(seed)` says what is wrong with its answer.
The weights are written out here once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.asking import varied
from tests.circle_reference import round_gap
from tests.kernel_soaking import grid_of_contexts, judged_by_grid, risk_of
from tests.search.test_neighbour_search import random_case

from whence.engines import engine_named
from whence.question import Question
from whence.risk import Expectation
from whence.weights import KNNWeights

Circles = dict[int, float]


def _far(metric: Any, points: np.ndarray, contexts: np.ndarray, circles: Circles) -> np.ndarray:
    """How far all past contexts are from each context, from the definitions."""
    gaps = contexts[:, None, :] - points[None, :, :]
    if isinstance(metric, str) and metric == "l1":
        columns = range(points.shape[1])
        along = [round_gap(contexts[:, None, j], points[None, :, j], circles.get(j)) for j in columns]
        return np.asarray(np.sum(along, axis=0))
    matrix = np.eye(points.shape[1]) if isinstance(metric, str) else metric
    return np.asarray(np.sqrt(np.maximum(np.einsum("abi,ij,abj->ab", gaps, matrix, gaps), 0.0)))


def nearness_excess(
    question: Question, rivals: list[Any], metric: Any, contexts: np.ndarray, circles: Circles
) -> np.ndarray:
    """By how much the alternative costs more than the best rival and tau; infinite where neighbours are not apart."""
    weights = question.weights
    assert isinstance(weights, KNNWeights)
    k = weights.k
    far = _far(metric, weights.points_, contexts, circles)
    order = np.argsort(far, axis=1, kind="stable")
    ranked = np.take_along_axis(far, order, axis=1)
    squared = not (isinstance(metric, str) and metric == "l1")
    unit = 1.0
    if not isinstance(metric, str):
        # The separation is in units of the column with the largest range, as the metric measures it.
        unit = float((np.sqrt(np.diag(metric)) * np.ptp(weights.points_, axis=0)).max()) or 1.0
    apart = (ranked / unit) ** 2 if squared else ranked
    clear = apart[:, k] - apart[:, k - 1] >= question.settings.separation
    share = np.zeros_like(far)
    with np.errstate(divide="ignore"):
        inverse = 1.0 / ranked[:, :k]
    alone = np.isinf(inverse)
    inverse = np.where(alone.any(axis=1, keepdims=True), alone.astype(float), inverse)
    if weights.mass_ is not None:
        inverse = inverse * weights.mass_[order[:, :k]]
    np.put_along_axis(share, order[:, :k], inverse / inverse.sum(axis=1, keepdims=True), axis=1)
    mine = risk_of(question.claim.alternative, share, question.claim.risk)
    worst = np.max([mine - risk_of(rival, share, question.claim.risk) for rival in rivals], axis=0) - question.claim.tau
    return np.where(clear, worst, np.inf)


def nearness_case(seed: int) -> tuple[Question, list[Any], Any, Circles]:
    question, rivals = random_case(seed, most=9)
    rng = np.random.default_rng([seed, 11])
    before, space = question.weights, question.space
    assert isinstance(before, KNNWeights)
    points = before.points_
    metric: Any = str(rng.choice(["l1", "l1", "euclidean"]))
    if rng.random() < 0.2:
        root = rng.normal(size=(points.shape[1], points.shape[1]))
        metric = root.T @ root
    weights = KNNWeights(before.k, metric, weights="distance", gap=float(rng.choice([0.01, 0.01, 0.1])))
    circles: Circles = {}
    if metric is not None and isinstance(metric, str) and metric == "l1" and rng.random() < 0.3:
        circles = {0: 1.25} if space.group[0] < 0 else {}
        weights.take_circles(circles)
        space = varied(space, circles=circles)
    risk = question.claim.risk
    mass = rng.random(len(points)) + 0.1 if isinstance(risk, Expectation) and rng.random() < 0.2 else None
    weights.fit(points, sample_weight=mass)

    def better(shares: np.ndarray) -> np.ndarray | None:
        best = min(rivals, key=lambda rival: risk.of(rival, shares))
        return (
            best if risk.of(question.claim.alternative, shares) > risk.of(best, shares) + question.claim.tau else None
        )

    return varied(question, weights=weights, space=space, better=better), rivals, metric, circles


def _contexts(question: Question, rng: np.random.Generator) -> np.ndarray:
    """Contexts of a grid, and around past ones, where weights change fastest."""
    space, grid = question.space, grid_of_contexts(question)
    points = question.weights.points_  # type: ignore[attr-defined]
    free = (space.group < 0) & np.array([levels is None for levels in space.levels])
    near = grid[rng.integers(len(grid), size=2000)]
    chosen = points[rng.integers(len(points), size=2000)]
    near[:, free] = (chosen + rng.normal(size=chosen.shape) * 10.0 ** rng.uniform(-9, -1, (2000, 1)))[:, free]
    inside = (near >= space.lower) & (near <= space.upper) | (near == space.start)
    return np.vstack([grid, near[inside.all(axis=1)]])


def nearness_disagreement(seed: int) -> str:
    """What is wrong with the answer to the question of `seed`; empty where nothing is."""
    question, rivals, metric, circles = nearness_case(seed)
    contexts, space = _contexts(question, np.random.default_rng([seed, 12])), question.space
    gaps = [round_gap(contexts[:, j], space.start[j], circles.get(j)) for j in range(len(space.start))]
    return judged_by_grid(
        question,
        engine_named("search").answer(question),
        contexts,
        space.weight @ np.array(gaps),
        lambda rows: nearness_excess(question, rivals, metric, rows, circles),
    )
