"""The search with bounds by potentials, held against every cell."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.forest_scene import Floats, Scene, scenes

from whence import _core
from whence.search.grid import leaf_means


def worth_of(scene: Scene) -> Floats:
    """What every leaf adds to the excess of the alternative over the decision."""
    return leaf_means(scene.kept, scene.question.claim.alternative) - leaf_means(
        scene.kept, scene.question.claim.decision
    )


def sums(scene: Scene, worth: Floats) -> Floats:
    """The excess at every cell."""
    total: Floats = worth[scene.leaves].sum(axis=1)
    return total


def test_the_search_finds_the_nearest_cell_of_any_plan() -> None:
    """However small the slices are, whether or not a bound is known before, and however near it must be."""
    rng = np.random.default_rng(2)
    found = nothing = 0
    for scene in scenes(80, 117_000, tail=False):
        rows = np.stack([worth_of(scene), *rng.normal(0.3, 1.0, (2, scene.grid.leaves)) / scene.grid.trees])
        counts = np.any([sums(scene, row) <= scene.tau for row in rows], axis=0)
        nearest = scene.distance[counts].min() if counts.any() else np.inf
        for known, cutoff in ((0.0, 1.01), (0.3, 1e9), (0.3, np.inf), (0.9, 1.2), (0.0, 0.9)):
            limit = cutoff if cutoff == np.inf else cutoff * min(nearest, 2.0) + 1e-6 * (cutoff > 1.0)
            search = _core.PotentialSearch(scene.located, rows, scene.tau, known * min(nearest, 1.0))
            ended, bound = False, -1.0
            while not ended and bound < limit:
                ended, bound = search.advance(int(rng.integers(1, 9)), limit)
                assert bound <= nearest + 1e-12 or bound >= limit
                assert search.distance >= nearest - 1e-12
            assert ended == (nearest < limit)
            nothing += not ended
            if ended:
                assert search.distance == pytest.approx(nearest, abs=1e-12)
                assert counts[(scene.cells == search.cells).all(axis=1)].all()
                found += 1
    assert found >= 160
    assert nothing >= 80


def test_wrong_rows_are_refused() -> None:
    """A plan has a finite number for every leaf."""
    scene = next(scenes(1, 300, tail=False))
    with pytest.raises(ValueError, match="one number a leaf"):
        _core.PotentialSearch(scene.located, np.zeros((1, scene.grid.leaves + 1)), 0.0)
    with pytest.raises(ValueError, match="must be finite"):
        _core.PotentialSearch(scene.located, np.full((1, scene.grid.leaves), np.nan), 0.0)
