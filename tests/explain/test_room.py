"""Numbers found by nearest neighbours can be rounded inside their room."""

from __future__ import annotations

import numpy as np

from whence.explain.room import neighbour_room
from whence.weights import KNNWeights


def test_neighbours_stay_the_same_in_the_whole_room() -> None:
    """At its corners and at random places of the room, the neighbours are those of the context found."""
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 6))
        weights = KNNWeights(k=int(rng.integers(1, 8))).fit(rng.random((60, d)))
        start, point = rng.random(d), rng.random(d)
        free = rng.random(d) < 0.8
        point = np.where(rng.random(d) < 0.3, start, point)
        room = neighbour_room(weights, start, point, free)
        if room is None:
            continue
        found += 1
        low, high = room
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


def test_no_room_at_a_tie() -> None:
    """Where two observations are equally far, and where nothing moves, there is no room."""
    weights = KNNWeights(k=1).fit(np.array([[0.0, 0.0], [1.0, 0.0]]))
    free = np.array([True, True])
    assert neighbour_room(weights, np.array([0.5, 0.2]), np.array([0.5, 0.9]), free) is None
    assert neighbour_room(weights, np.array([0.2, 0.2]), np.array([0.2, 0.2]), free) is None
