"""Neighbours that count by their distance, and axes that go round: what is said of a box holds for its contexts."""

from __future__ import annotations

import numpy as np
import pytest

from whence._core import Axis, AxisKind, BoxVerdict, NeighbourSearch, Places

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


@pytest.mark.parametrize("euclidean", [False, True])
def test_a_box_that_is_dropped_holds_no_explanation(euclidean: bool) -> None:
    """Boxes of every size, around past contexts too, for means and tails: nothing in a dropped box stands."""
    dropped = feasible = 0
    for seed in range(150):
        rng = np.random.default_rng([seed, euclidean])
        points = rng.random((N, 2)).round(2 if seed % 2 else 12)
        period = 0.0 if euclidean else float(rng.choice([0.0, 1.1, 1.5]))
        tail = None if seed % 3 else 0.4
        search, mine, other = _search(rng, points, period, euclidean, tail)
        for _ in range(8):
            middle = points[rng.integers(N)] if rng.random() < 0.5 else rng.random(2)
            reach = 10.0 ** rng.uniform(-3, -0.3, 2)
            low, high = np.clip(middle - reach, 0.0, 1.0), np.clip(middle + reach, 0.0, 1.0)
            look = search.examine(low, high, 10.0)
            contexts = np.vstack([low + (high - low) * rng.random((60, 2)), np.clip(middle, low, high)])
            weights = _weighed(_far(contexts, points, period, euclidean))
            if tail is None:
                excess = weights @ (mine - other)
            else:
                excess = _tail_mean(mine, weights, tail) - _tail_mean(other, weights, tail)
            if look.verdict is BoxVerdict.PRUNED:
                dropped += 1
                # Where the next neighbour is as near as the last, there is no telling.
                ranked = np.sort(_far(contexts, points, period, euclidean) ** (2 if euclidean else 1), axis=1)
                clear = ranked[:, K] - ranked[:, K - 1] > 1e-6
                assert excess[clear].min(initial=1.0) > -1e-9, seed
            if look.verdict is BoxVerdict.FEASIBLE:
                feasible += 1
                assert search.standing(look.nearest[None, :])[0]
            stands = search.standing(np.ascontiguousarray(contexts))
            assert (excess[stands] <= 1e-9).all(), seed
    assert dropped > 100
    assert feasible > 50


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


@pytest.mark.parametrize("euclidean", [False, True])
def test_boxes_of_categories(euclidean: bool) -> None:
    """The same with a category: nothing in a dropped box stands, in any category of it."""
    dropped = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, euclidean, 7])
        tail = None if seed % 3 else 0.4
        search, mine, other, far = _with_category(rng, euclidean, tail)
        for _ in range(8):
            low, high = np.sort(rng.random(2)), np.sort(rng.integers(RANKS, size=2))
            low, high = np.array([low[0], high[0]]), np.array([low[0] + rng.choice([0.05, 0.3]), high[1]])
            low, high = low.astype(float), np.minimum(high, [1.0, RANKS - 1.0]).astype(float)
            contexts = np.array(
                [[x, r] for x in np.linspace(low[0], high[0], 15) for r in range(int(low[1]), int(high[1]) + 1)]
            )
            weights = _weighed(far(contexts))
            excess = weights @ (mine - other)
            if tail is not None:
                excess = _tail_mean(mine, weights, tail) - _tail_mean(other, weights, tail)
            if search.examine(low, high, 10.0).verdict is BoxVerdict.PRUNED:
                dropped += 1
                ranked = np.sort(far(contexts) ** (2 if euclidean else 1), axis=1)
                clear = ranked[:, K] - ranked[:, K - 1] > 1e-6
                assert excess[clear].min(initial=1.0) > -1e-9, seed
            stands = search.standing(contexts)
            assert (excess[stands] <= 1e-9).all(), seed
    assert dropped > 100


def test_what_does_not_fit_together_is_refused() -> None:
    """A period shorter than the range, a tail that is no share, places of another width, and sets without a context."""
    rng = np.random.default_rng(0)
    points = rng.random((N, 2))
    with pytest.raises(ValueError, match="'period' of an axis must be at least its range"):
        Axis(AxisKind.CONTINUOUS, 0.0, 1.0, 0.0, 1.0, period=0.5)
    search, _, _ = _search(rng, points, 0.0, False, None)
    with pytest.raises(ValueError, match="judged in a context"):
        search.satisfied(np.arange(K))
    with pytest.raises(ValueError, match="judged in a box"):
        search.hopeless(np.arange(K), np.arange(0))
    axes = [Axis(AxisKind.CONTINUOUS, 0.5, 1.0, 0.0, 1.0)] * 2
    with pytest.raises(ValueError, match="'tail' must be a share"):
        NeighbourSearch(axes, points, np.zeros(N), K, 0.0, 1e-9, np.zeros(N), 0.0, 2.0, by_nearness=True)
    with pytest.raises(ValueError, match="'members' and 'columns' must be as wide as 'origin'"):
        Places(axes, points, np.eye(2), None, np.zeros(3))
