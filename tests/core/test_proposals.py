"""Contexts found without proof: they hold, they are allowed, and they are what they say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.forest_scene import Scene, scenes

from whence import _core


def proposals(scene: Scene, looks: int = 10**6) -> _core.Proposals:
    """Ready to look, with nothing found yet."""
    return _core.Proposals(scene.located, scene.criterion, scene.tau, looks)


def row(scene: Scene, cells: np.ndarray) -> int:
    """Which of the allowed cells it is."""
    (at,) = np.flatnonzero((scene.cells == cells).all(axis=1))
    return int(at)


def test_the_nearest_single_change_is_found() -> None:
    """Of the cells that hold and differ from the start in one feature, the nearest is found."""
    some = 0
    for scene in scenes(60):
        start, group = scene.located.start, scene.located.group
        differs = scene.cells != start
        features = np.where(group >= 0, 1000 + group, np.arange(start.size))
        single = np.array([len(set(features[d].tolist())) <= 1 and d.any() for d in differs])
        holds = scene.excess <= scene.tau
        found = proposals(scene)
        found.try_lines()
        wanted = scene.distance[single & holds].min(initial=np.inf)
        assert found.found == pytest.approx(wanted)
        if np.isfinite(wanted):
            some += 1
            at = row(scene, found.best)
            assert single[at]
            assert holds[at]
    assert some >= 20


def test_what_is_pulled_back_holds_and_is_no_farther() -> None:
    """From any cell that holds, the descent ends at one that holds and is no farther; from others it does not begin."""
    rng = np.random.default_rng(1)
    nearer = 0
    for scene in scenes(60, 100):
        for at in rng.integers(0, len(scene.cells), 5).tolist():
            found = proposals(scene)
            found.pull_back(scene.cells[at : at + 1], 1)
            assert np.isfinite(found.found) == (scene.excess[at] <= scene.tau)
            if np.isfinite(found.found):
                end = row(scene, found.best)
                assert scene.excess[end] <= scene.tau + 1e-9
                assert found.found == pytest.approx(scene.distance[end])
                assert scene.distance[end] <= scene.distance[at] + 1e-12
                nearer += scene.distance[end] < scene.distance[at]
    assert nearer >= 30


def test_pulling_back_stops_after_as_many_as_asked_for() -> None:
    """With none to be improved nothing is found; a cutoff hides what is farther."""
    for scene in scenes(30, 200):
        holding = np.flatnonzero(scene.surely & (scene.distance > 0))
        if not holding.size:
            continue
        none = proposals(scene)
        none.pull_back(scene.cells[holding], 0)
        assert none.found == np.inf
        near = proposals(scene)
        near.found = 1e-12
        near.pull_back(scene.cells[holding], 3)
        assert near.found <= 1e-12


def test_a_climb_arrives_where_the_criterion_holds() -> None:
    """Where it says that it has arrived, the cell is allowed, holds, and lies nearer than the cutoff."""
    arrived = 0
    for scene in scenes(80, 300):
        climbing = proposals(scene)
        if climbing.climb(3.0):
            arrived += 1
            at = row(scene, climbing.cells)
            assert scene.excess[at] <= scene.tau + 1e-9
            assert scene.distance[at] < 3.0
    assert arrived >= 20


def test_looks_run_out() -> None:
    """Every look counts; without any left nothing more is found."""
    for scene in scenes(20, 400):
        looking = proposals(scene, 2)
        looking.try_lines()
        looking.pull_back(scene.cells, 3)
        assert looking.looks <= 0
        assert looking.looks >= -2
