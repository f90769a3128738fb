"""Which features may change together, in the core: against counting, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.forest_cells import ForestScene

from whence import _core


def test_the_nearest_of_all_cells_where_some_features_are_free() -> None:
    """Free features may change beside as many others as are allowed, whether or not a box has used these up."""
    beside = 0
    for seed in range(60):
        scene = ForestScene(seed, ("ccc", "cdb", "crd")[seed % 3])
        columns = scene.grid.columns
        free, most = {seed % columns}, seed % 2
        few = _core.FewChanges(np.arange(columns, dtype=np.int32), most, [], sorted(free))
        changed = scene.cells != scene.located.start
        counted = changed[:, [j for j in range(columns) if j not in free]].sum(axis=1)
        good = scene.holds & (counted <= most)
        search = _core.ForestSearch(scene.located, scene.criterion, scene.tau, few=few)
        reached, bound = search.advance(10**6, np.inf)
        assert (reached, bound) == (bool(good.any()), pytest.approx(scene.distance[good].min(initial=np.inf))), seed
        nearest = good & (scene.distance <= scene.distance[good].min(initial=np.inf) + 1e-12)
        beside += bool(good.any() and (changed[nearest].sum(axis=1) > most).all())
    assert beside > 5


def test_refusals() -> None:
    """Features are counted from 0, sets are not empty, and the columns are those of the grid."""
    columns = np.array([0, 1], dtype=np.int32)
    with pytest.raises(ValueError, match="feature"):
        _core.FewChanges(np.array([0, 7], dtype=np.int32), 1)
    with pytest.raises(ValueError, match="most"):
        _core.FewChanges(columns, -1)
    for barred in ([[]], [[2]], [[-1]]):
        with pytest.raises(ValueError, match="barred"):
            _core.FewChanges(columns, 1, barred)
    with pytest.raises(ValueError, match="'free' must name some of the features"):
        _core.FewChanges(columns, 1, [], [2])
    scene = ForestScene(0)
    wrong = _core.FewChanges(np.arange(scene.grid.columns + 1, dtype=np.int32), 1)
    with pytest.raises(ValueError, match="'few' must name a feature"):
        _core.ForestSearch(scene.located, scene.criterion, scene.tau, few=wrong)
