"""Questions about kernel weights, each held against a fine grid of contexts; weights are written out here once more.

`kernel_case(seed)` always gives the same question: one in three plainly about the mean, the others also about a tail,
few changes, relations or sets of plans. `kernel_disagreement(seed)` says what is wrong with its answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.asking import varied
from tests.knn_reference import _choices
from tests.search.test_few import any_few, ruled_out
from tests.search.test_neighbour_search import random_case

from whence.claims.sets import Plans
from whence.features.relation_trees import Relations, RelationTree
from whence.question import Answer, Question
from whence.risk import CVaR, Expectation
from whence.search.kernel_search import explain, explain_sets
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


def risk_of(costs: np.ndarray, weights: np.ndarray, risk: Any) -> np.ndarray:
    """The risk of costs in each context, a row of weights each."""
    if isinstance(risk, Expectation):
        return np.asarray(weights @ costs)
    tail = 1.0 - risk.alpha
    order = np.argsort(-costs)
    taken = np.minimum(np.cumsum(weights[:, order], axis=1), tail)
    return np.asarray(np.diff(taken, axis=1, prepend=0.0) @ costs[order] / tail)


def grid_of_contexts(question: Question) -> np.ndarray:
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


def _plain_case(seed: int) -> tuple[Question, list[Any], Any]:
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
        return best if question.claim.alternative @ shares > best @ shares + question.claim.tau else None

    return varied(question, weights=weights, risk=Expectation(), better=better), rivals, metric


def _related(rng: np.random.Generator, question: Question) -> Relations | None:
    """A row over numbers, or a tree that forbids a corner."""
    space = question.space
    numbers = np.flatnonzero(space.group < 0)
    if not numbers.size:
        return None
    if rng.random() < 0.5:
        row = np.zeros((1, space.start.size))
        row[0, numbers] = np.round(rng.normal(size=numbers.size), 2)
        return Relations(rows=row, limits=np.array([float(rng.normal() * 0.3)]), texts=("row",))
    first, last = int(numbers[0]), int(numbers[-1])
    nodes = [(first, 0.4, 1, 2), (-1, 0.0, 0, 0), (last, 0.7, 3, 4), (-1, 0.0, 0, 0), (-1, 0.0, 0, 0)]
    tree = RelationTree.of(nodes, [False, bool(rng.random() < 0.5), False, False, True], "tree")
    return Relations(trees=(tree,))


def kernel_case(seed: int) -> tuple[Question, list[Any], Any, list[Any]]:
    question, rivals, metric = _plain_case(seed)
    if seed % 3 == 0:
        return question, rivals, metric, [question.claim.alternative]
    rng = np.random.default_rng([seed, 21])
    risk: Any = CVaR(float(rng.choice([0.3, 0.6, 0.9]))) if rng.random() < 0.6 else question.claim.risk
    plans = [question.claim.alternative]
    if rng.random() < 0.3:
        plans = [question.claim.alternative, *(rng.random(question.claim.alternative.size) for _ in range(2))]
    few = any_few(rng, question) if rng.random() < 0.4 else None
    space = varied(question.space, rules=_related(rng, question) if rng.random() < 0.4 else None)

    def best(of: list[Any], shares: np.ndarray) -> Any:
        return min(of, key=lambda plan: risk.of(plan, shares))

    def better(shares: np.ndarray) -> np.ndarray | None:
        rival = best(rivals, shares)
        return (
            rival if risk.of(question.claim.alternative, shares) > risk.of(rival, shares) + question.claim.tau else None
        )

    asked = varied(question, risk=risk, few=few, space=space, better=better)
    if len(plans) > 1:
        rows = np.array(plans)
        asked = varied(
            asked,
            plans=Plans(lambda shares: best(plans, shares), lambda most: rows, lambda shares: best(rivals, shares)),
        )
    return asked, rivals, metric, plans


def _excess(question: Question, rivals: list[Any], plans: list[Any], metric: Any, contexts: np.ndarray) -> np.ndarray:
    """By how much the best of the plans costs more than the best rival and tau; infinite where it does not count."""
    weights = question.weights
    assert isinstance(weights, KernelWeights)
    values = _values(weights, metric, weights.points_, contexts)
    total = values.sum(axis=1)
    share = values / np.maximum(total, 1e-300)[:, None]
    mine = np.min([risk_of(plan, share, question.claim.risk) for plan in plans], axis=0)
    excess = (
        mine - np.min([risk_of(rival, share, question.claim.risk) for rival in rivals], axis=0) - question.claim.tau
    )
    if weights.kernel != "gaussian":
        excess = np.where(total >= 1e-3, excess, np.inf)
    if question.space.few is not None:
        excess = np.where(ruled_out(question, question.space.few, contexts), np.inf, excess)
    relations = question.space.rules
    if relations is not None:
        kept = np.all([tree.keeps(contexts) for tree in relations.trees], axis=0) if relations.trees else True
        if len(relations.rows):
            kept = kept & (contexts @ relations.rows.T <= relations.limits + 1e-9).all(axis=1)
        excess = np.where(kept, excess, np.inf)
    return np.asarray(excess)


def judged_by_grid(
    question: Question,
    answer: Answer,
    contexts: np.ndarray,
    distance: np.ndarray,
    excess: Callable[[np.ndarray], np.ndarray],
) -> str:
    """What is wrong with an answer proved up to a gap, by contexts at some distances; empty where nothing is."""
    nearest = distance[excess(contexts) <= -1e-9].min(initial=np.inf)
    if answer.status == "none":
        return "" if nearest == np.inf else f"none, but there is one at {nearest!r}"
    if answer.status != "optimal" or answer.point is None:
        return f"status {answer.status}"
    if not question.space.contains(answer.point):
        return f"{answer.point} is not allowed"
    if excess(answer.point[None, :])[0] > 1e-9:
        return f"{answer.point} is no explanation"
    if abs(answer.distance - question.space.distance(answer.point)) > 1e-9:
        return f"{answer.point} is not at {answer.distance!r}"
    # Neighbours are placed with a hair more than the separation.
    if answer.bound > nearest + 1e-8:
        return f"bound {answer.bound!r}, but there is one at {nearest!r}"
    kept = answer.distance * (1.0 - question.weights.capabilities.proof_gap) <= answer.bound + 1e-9
    return "" if kept else f"bound {answer.bound!r} for {answer.distance!r}"


def kernel_disagreement(seed: int) -> str:
    """What is wrong with the answer to the question of `seed`; empty where nothing is."""
    question, rivals, metric, plans = kernel_case(seed)
    contexts = grid_of_contexts(varied(question, space=varied(question.space, rules=None)))
    return judged_by_grid(
        question,
        explain(question) if question.claim.plans is None else explain_sets(question),
        contexts,
        np.abs(contexts - question.space.start) @ question.space.weight,
        lambda rows: _excess(question, rivals, plans, metric, rows),
    )
