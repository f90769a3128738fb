"""Numbers of a context that was found can be rounded inside their room."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from whence.explain.room import forest_room, neighbour_room

import whence as wh
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


@pytest.mark.parametrize("frozen", [False, True])
def test_leaves_stay_the_same_in_the_whole_cell(frozen: bool) -> None:
    """In the corners of its cell the weights are those of the context, and just beyond they are mostly not."""
    beyond = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(100.0, 7.0, (50, 3))
        Y = X[:, :1] + rng.random((50, 1))
        forest = ExtraTreesRegressor(8, max_depth=3, bootstrap=False, random_state=seed).fit(X, Y[:, 0])
        weights = wh.ForestWeights.of(forest) if frozen else wh.ForestWeights(n_trees=8, random_state=seed)
        policy = wh.Policy(wh.Newsvendor(1, 1), weights).fit(X, Y)
        row = policy.schema_.row(X[0] + rng.normal(0, 1, 3))
        point = policy.schema_.encode_row(row)
        question = SimpleNamespace(weights=policy.weights_, inputs=policy.input_map_)
        low, high = forest_room(question, point, policy.inputs_of(row))
        assert ((low <= point) & (point <= high)).all()
        offset, scale = policy.schema_.affine()
        inside = np.clip(np.array([low, high]), -0.5, 1.5)
        expected = policy.weights_at(row)
        for _ in range(30):
            corner = np.where(rng.random(3) < 0.5, inside[0] + 1e-9, inside[1] - 1e-9)
            assert np.array_equal(policy.weights_at(offset + scale * corner), expected)
        ends = np.where(np.isfinite([low, high]), [low, high], point)
        for j, end in product(range(3), ends):
            at = np.where(np.arange(3) == j, end, point)
            seen = at * policy.input_map_.scale + policy.input_map_.offset
            assert np.array_equal(policy.weights_.at(seen), expected)
        for j in range(3):
            outside = point.copy()
            outside[j] = high[j] + 1e-5
            if np.isfinite(outside[j]):
                beyond += not np.array_equal(policy.weights_at(offset + scale * outside), expected)
    assert beyond > 12


def test_both_engines_say_the_same() -> None:
    """The integer program's numbers are rounded as those of the search are, and none is only about right."""
    rng = np.random.default_rng(2)
    X = rng.random((60, 2)) * 30
    policy = wh.Policy(wh.Newsvendor(1, 1), wh.ForestWeights(n_trees=6, random_state=0)).fit(X, X[:, :1])
    answers = [policy.explain([5.0, 9.0], instead=[20.0], engine=engine) for engine in ("search", "milp")]
    told = [str(why).split("\n")[2] for why in answers]
    assert told[0] == told[1]
    assert "about" not in told[1]
