"""Nearest-neighbour weights, held against their definition written out with loops."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.blocks import seeds

from whence.errors import InputError, NotFittedError
from whence.weights import InputMap, KNNWeights


def definition(points: np.ndarray, row: np.ndarray, k: int) -> np.ndarray:
    """1/k for the k nearest in the L1 norm, the earlier sample first where two are as near."""
    distance = [sum(abs(a - b) for a, b in zip(point, row, strict=True)) for point in points]
    order = sorted(range(len(points)), key=lambda i: (round(distance[i], 12), i))
    out = np.zeros(len(points))
    out[order[:k]] = 1.0 / k
    return out


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_definition(seed: int) -> None:
    """Weights are those of the definition, ties and duplicates included."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    points = rng.random((n, d)).round(1 if seed % 2 else 8)
    rows = np.vstack([rng.random((4, d)).round(1), points[:2]])
    k = int(rng.integers(1, n))
    found = KNNWeights(k).fit(points).weights(rows)
    np.testing.assert_array_equal(found, [definition(points, row, k) for row in rows])
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


def test_ties_go_to_the_earlier_observation() -> None:
    """Of samples that are as near, those that come first in the data speak."""
    points = np.array([[1.0], [0.0], [1.0], [0.0]])
    np.testing.assert_array_equal(KNNWeights(1).fit(points).weights([[0.5]]), [[1, 0, 0, 0]])
    np.testing.assert_array_equal(KNNWeights(3).fit(points).weights([[0.5]]) > 0, [[True, True, True, False]])
    np.testing.assert_array_equal(KNNWeights(1).fit(points[::-1]).weights([[0.0]]), [[1, 0, 0, 0]])


def test_ties_survive_rounding() -> None:
    """Distances that differ only in the last bits of a sum count as equal."""
    points = np.array([[0.3, 0.0, 0.0], [0.1, 0.1, 0.1]])
    assert np.abs(points).sum(axis=1)[0] != np.abs(points).sum(axis=1)[1]
    np.testing.assert_array_equal(KNNWeights(1).fit(points).weights(np.zeros((1, 3))), [[1, 0]])
    np.testing.assert_array_equal(KNNWeights(1).fit(points[::-1]).weights(np.zeros((1, 3))), [[1, 0]])


def test_sparse_is_dense() -> None:
    """One row, a batch and the sparse form agree; clones and pickles keep k."""
    rng = np.random.default_rng(0)
    points, rows = rng.random((12, 3)), rng.random((5, 3))
    weights = KNNWeights(4).fit(points)
    found = weights.weights(rows)
    np.testing.assert_array_equal(weights.weights(rows, as_sparse=True).toarray(), found)
    np.testing.assert_array_equal([weights.at(row) for row in rows], found)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(weights)).weights(rows), found)
    np.testing.assert_array_equal(clone(weights).fit(points).weights(rows), found)


@pytest.mark.parametrize("k", [0, -1, 5, 6, 2.0, "3", None, True])
def test_k_is_checked(k: Any) -> None:
    """k must be an int, at least 1 and less than the number of observations."""
    with pytest.raises(InputError) as error:
        KNNWeights(k).fit(np.zeros((5, 1)))
    assert f"The 'k' parameter of KNNWeights must be an int in [1, n_samples) with n_samples = 5. Got {k!r}" in str(
        error.value
    )


def test_rows_are_checked() -> None:
    """Rows of the wrong width, or that are not finite, are refused; so are weights before `fit`."""
    with pytest.raises(NotFittedError, match="not fitted"):
        KNNWeights(1).weights([[0.0]])
    weights = KNNWeights(1).fit(np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"'X' must be of shape \(rows, 2\). Got shape \(1, 1\)"):
        weights.weights([[0.0]])
    with pytest.raises(InputError, match="finite"):
        weights.weights([[0.0, np.inf]])
    with pytest.raises(InputError, match=r"'X' must be 2-D. Got shape \(3,\)"):
        KNNWeights(1).fit([0.0, 1.0, 2.0])


def test_neighbours_stay_the_same_in_the_whole_rounding_box() -> None:
    """At its corners and at random places of the box, the neighbours are those of the context found."""
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 6))
        weights = KNNWeights(k=int(rng.integers(1, 8))).fit(rng.random((60, d)))
        start, point = rng.random(d), rng.random(d)
        free = rng.random(d) < 0.8
        point = np.where(rng.random(d) < 0.3, start, point)
        box = weights.rounding_box(start, point, point, InputMap.identity(d), free)
        if box is None:
            continue
        found += 1
        low, high = box
        assert ((low <= point) & (point <= high)).all()
        assert (low == high)[~free | (point == start)].all()
        assert (np.abs(high - low) <= 0.05 * np.abs(point - start) + 1e-12).all()
        members = set(weights.neighbours(point).tolist())
        places = [
            low,
            high,
            *(low + rng.random((50, d)) * (high - low)),
            *np.where(rng.random((50, d)) < 0.5, low, high),
        ]
        assert all(set(weights.neighbours(place).tolist()) == members for place in places)
    assert found > 40


def test_no_rounding_box_at_a_tie() -> None:
    """Where two observations are equally far, and where nothing moves, there is no box."""
    weights = KNNWeights(k=1).fit(np.array([[0.0, 0.0], [1.0, 0.0]]))

    def box(start: list[float], point: list[float]) -> object:
        at = np.array(point)
        return weights.rounding_box(np.array(start), at, at, InputMap.identity(2), np.array([True, True]))

    assert box([0.5, 0.2], [0.5, 0.9]) is None
    assert box([0.2, 0.2], [0.2, 0.2]) is None


def test_words() -> None:
    """One neighbour is a row, several are rows."""
    points = np.arange(4.0)[:, None]
    assert KNNWeights(k=1).fit(points).describe() == "the nearest row"
    assert KNNWeights(k=1, weights="distance", scaled=False).fit(points).describe() == "the nearest row in your units"
    assert KNNWeights(k=3).fit(points).describe() == "the 3 nearest rows"
