"""Neighbours that count by their distance, and axes that go round: what is said of a box holds for its contexts."""

from __future__ import annotations

import numpy as np
import pytest

from whence._core import Axis, AxisKind, NeighbourSearch, Places

N, K = 9, 4


def _weighed(far: np.ndarray) -> np.ndarray:
    """Weights of the K nearest, by the inverse of their distance."""
    order = np.argsort(far, axis=1, kind="stable")[:, :K]
    with np.errstate(divide="ignore"):
        inverse = 1.0 / np.take_along_axis(far, order, axis=1)
    alone = np.isinf(inverse)
    inverse = np.where(alone.any(axis=1, keepdims=True), alone.astype(float), inverse)
    weights = np.zeros_like(far)
    np.put_along_axis(weights, order, inverse / inverse.sum(axis=1, keepdims=True), axis=1)
    return weights


def _tail_mean(costs: np.ndarray, weights: np.ndarray, tail: float) -> np.ndarray:
    order = np.argsort(-costs)
    taken = np.minimum(np.cumsum(weights[:, order], axis=1), tail)
    return np.asarray(np.diff(taken, axis=1, prepend=0.0) @ costs[order] / tail)


def _far(contexts: np.ndarray, points: np.ndarray, period: float, euclidean: bool) -> np.ndarray:
    gaps = np.abs(contexts[:, None, :] - points[None, :, :])
    if period:
        gaps[:, :, 0] = np.minimum(gaps[:, :, 0], period - gaps[:, :, 0])
    return np.asarray(np.sqrt((gaps**2).sum(axis=2)) if euclidean else gaps.sum(axis=2))


def _search(rng: np.random.Generator, points: np.ndarray, period: float, euclidean: bool, tail: float | None):
    axes = [
        Axis(AxisKind.CONTINUOUS, float(rng.random()), 1.0, 0.0, 1.0, period=period if j == 0 else 0.0)
        for j in range(2)
    ]
    mine, other = rng.random(N) + 0.2, rng.random(N)
    how = {}
    base = np.zeros(N)
    if euclidean:
        base = (points**2).sum(axis=1)
        how = {"slopes": -2.0 * points, "places": Places(axes, points, np.eye(2), None, np.zeros(2))}
    search = NeighbourSearch(axes, points, base, K, 0.0, 1e-9, mine, 0.0, tail, by_nearness=True, **how)
    search.cut(other)
    return search, mine, other


RANKS = 4


def _with_category(rng: np.random.Generator, euclidean: bool, tail: float | None):
    """A search over a number and a category, and the distances of all past contexts by the definition."""
    axes = [
        Axis(AxisKind.CONTINUOUS, float(rng.random()), 1.0, 0.0, 1.0),
        Axis(AxisKind.CATEGORY, 0.0, 1.0, 0.0, RANKS - 1.0, costs=np.arange(float(RANKS))),
    ]
    points = np.column_stack([rng.random(N), rng.integers(RANKS, size=N).astype(float)])
    mine, other = rng.random(N) + 0.2, rng.random(N)
    base, how, ranks = np.zeros(N), {}, np.zeros((RANKS, 1 + RANKS))
    if euclidean:
        # Categories as places of their own, which need not be equally far from each other.
        ranks[:, 1:] = np.diag(rng.uniform(0.2, 0.8, RANKS))
        members = ranks[points[:, 1].astype(int)]
        members[:, 0] = points[:, 0]
        columns = np.array([[1.0, *[0.0] * RANKS], [0.0] * (1 + RANKS)])
        base = (members**2).sum(axis=1)
        how = {
            "slopes": np.column_stack([-2.0 * points[:, 0], np.zeros(N)]),
            "entries": (ranks**2).sum(axis=1) - 2.0 * members @ ranks.T,
            "places": Places(axes, members, columns, ranks, np.zeros(1 + RANKS)),
        }
    search = NeighbourSearch(axes, points, base, K, 0.0, 1e-9, mine, 0.0, tail, by_nearness=True, **how)
    search.cut(other)

    def far(contexts: np.ndarray) -> np.ndarray:
        along = np.abs(contexts[:, None, 0] - points[None, :, 0])
        if not euclidean:
            return along + (contexts[:, None, 1] != points[None, :, 1])
        apart = ranks[contexts[:, 1].astype(int)][:, None, :] - ranks[points[:, 1].astype(int)][None, :, :]
        return np.sqrt(along**2 + (apart**2).sum(axis=2))

    return search, mine, other, far


def test_what_does_not_fit_together_is_refused() -> None:
    """A period shorter than the range, a tail that is no share, and places of another width."""
    rng = np.random.default_rng(0)
    points = rng.random((N, 2))
    with pytest.raises(ValueError, match="'period' of an axis must be at least its range"):
        Axis(AxisKind.CONTINUOUS, 0.0, 1.0, 0.0, 1.0, period=0.5)
    axes = [Axis(AxisKind.CONTINUOUS, 0.5, 1.0, 0.0, 1.0)] * 2
    with pytest.raises(ValueError, match="'tail' must be a share"):
        NeighbourSearch(axes, points, np.zeros(N), K, 0.0, 1e-9, np.zeros(N), 0.0, 2.0, by_nearness=True)
    with pytest.raises(ValueError, match="'members' and 'columns' must be as wide as 'origin'"):
        Places(axes, points, np.eye(2), None, np.zeros(3))
