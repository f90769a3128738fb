"""How usual contexts are by the distance of their neighbours, from plain distances."""

from __future__ import annotations

import numpy as np
import pytest
from tests.blocks import seeds

from whence.weights import ForestWeights, KNNWeights
from whence.weights.plausibility import Nearby


def own_distances(points: np.ndarray, k: int) -> list[float]:
    """Of every past context, the distance of its k-th neighbour among the others."""
    out = []
    for i, point in enumerate(points):
        others = [float(np.abs(point - other).sum()) for j, other in enumerate(points) if j != i]
        out.append(sorted(others)[k - 1])
    return out


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_shares_and_radii_by_the_definition(seed: int) -> None:
    """Ties and duplicates included: the radius is the largest that a context of that share can have."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 20))
    points = np.round(rng.random((n, 2)) * 4) / 4 if seed % 2 else rng.random((n, 2))
    k = int(rng.integers(1, n))
    usual, own = Nearby(points, k), np.array(own_distances(points, k))
    assert sorted(own) == pytest.approx(sorted(usual.own))
    for share in (0.05, 0.1, 0.3, 0.5, 2 / n, 0.9, 1.0):
        near = usual.at_least(share)
        allowed = [value for value in own if (own >= value - 1e-9).mean() >= share - 1e-12]
        assert near.radius == pytest.approx(max(allowed))
        for point in rng.random((20, 2)):
            assert near.accepts(point) == (usual.share(point) >= share - 1e-12)
    for point in rng.random((20, 2)):
        kth = sorted(np.abs(points - point).sum(axis=1))[k - 1]
        assert usual.share(point) == pytest.approx((own >= kth - 1e-9).mean())


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_the_part_of_a_box_that_stays_near(seed: int) -> None:
    """Every corner of what is kept is near enough; a box that was near enough is kept whole."""
    rng = np.random.default_rng(seed)
    points, point = rng.random((12, 2)), rng.random(2)
    distance = float(np.sort(np.abs(points - point).sum(axis=1))[2])
    box = (point - 1e-3, point + 1e-3)
    whole = Nearby(points, 3, distance + 0.1).kept(point, box)
    assert whole is not None
    assert np.array_equal(whole, box)
    near = Nearby(points, 3, distance + 1e-4)
    part = near.kept(point, box)
    assert part is not None
    low, high = part
    assert all(near.accepts(np.array([x, y])) for x in (low[0], high[0]) for y in (low[1], high[1]))
    assert Nearby(points, 3, distance - 0.01).kept(point, box) is None


def test_each_neighbour_alone() -> None:
    """The mean over the neighbours is the weights; how far they disagree is known of a mean and of a tail."""
    weights = KNNWeights(k=2).fit(np.array([[0.0], [0.4], [1.0]]))
    alone = weights.per_tree(np.array([0.1]))
    assert alone.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert alone.mean(axis=0).tolist() == weights.at([0.1]).tolist()
    assert weights.capabilities.knows_spread
    assert weights.capabilities.knows_spread
    assert ForestWeights().capabilities.knows_spread
    assert ForestWeights().usual_measure(np.zeros((3, 1))) is None
