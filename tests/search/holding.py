"""Explanations that hold, by the definition: every cell, every tree, and nothing that the search uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from tests.oracle import cells, estimator_rows

from whence.question import Question
from whence.risk import CVaR

#: Shares of the tail that differ by less are the same number, computed in two ways.
SAME = 1e-12


@dataclass(frozen=True)
class Cells:
    """Every allowed cell of a question, by its nearest point."""

    points: np.ndarray
    distance: np.ndarray
    members: np.ndarray  # weight of each sample in the leaf of every tree, by point, tree and sample


def all_cells(question: Question, forest: IsolationForest | None = None) -> Cells:
    """The cells of the forest, and of an isolation forest on the same coordinates."""
    points = cells(question, thresholds_of(forest) if forest is not None else None)
    distance = np.abs(points - question.space.start) @ question.space.weight
    rows = estimator_rows(question, points).astype(np.float32)
    past = question.weights.inputs_
    members = np.stack([_shares(tree, rows, past) for tree in question.weights.trees], axis=1)
    return Cells(points, distance, members)


def _shares(tree: Any, rows: np.ndarray, past: np.ndarray) -> np.ndarray:
    together = (tree.apply(rows)[:, None] == tree.apply(past)[None, :]).astype(float)
    return together / together.sum(axis=1, keepdims=True)


def thresholds_of(forest: IsolationForest) -> dict[int, np.ndarray]:
    """The thresholds of an isolation forest by coordinate."""
    found: dict[int, list[float]] = {}
    for tree, features in zip(forest.estimators_, forest.estimators_features_, strict=True):
        for feature, threshold in zip(tree.tree_.feature, tree.tree_.threshold, strict=True):
            if feature >= 0:
                found.setdefault(int(features[feature]), []).append(float(threshold))
    return {j: np.unique(values) for j, values in found.items()}


def excess(question: Question, at: Cells, kappa: float, rival: np.ndarray | None = None) -> np.ndarray:
    """Difference of both risks plus kappa standard errors over the trees, at every cell."""
    rival = (1.0 + question.claim.within) * question.claim.decision if rival is None else rival
    if isinstance(question.claim.risk, CVaR):
        values = tail_values(question, at, question.claim.alternative) - tail_values(question, at, rival)
    else:
        values = at.members @ (question.claim.alternative - rival)
    trees = values.shape[1]
    spread = values.std(axis=1, ddof=1) / np.sqrt(trees) if trees > 1 else np.zeros(len(values))
    return np.asarray(values.mean(axis=1) + kappa * spread)


def tail_values(question: Question, at: Cells, costs: np.ndarray) -> np.ndarray:
    """What each tree says about a CVaR, at the threshold that suits the whole forest: the smallest cost above which
    there is no more than the tail."""
    assert isinstance(question.claim.risk, CVaR)
    tail = 1.0 - question.claim.risk.alpha
    etas = np.unique(costs)
    above = at.members.mean(axis=1) @ (costs[:, None] > etas + SAME * np.abs(costs).max())
    eta = etas[(above <= tail + SAME).argmax(axis=1)]
    over = np.maximum(costs[None, :] - eta[:, None], 0.0)
    return np.asarray(eta[:, None] + np.einsum("ptn,pn->pt", at.members, over) / tail)


def nearest_between(distance: np.ndarray, excess: np.ndarray, tau: float, hair: float) -> tuple[float, float]:
    """The nearest distance, from below and from above where rounding decides at some cell."""
    maybe = distance[excess <= tau + hair].min(initial=np.inf)
    surely = distance[excess <= tau - hair].min(initial=np.inf)
    return float(maybe), float(surely)
