"""Plausibility in the core: path lengths as scikit-learn counts them, refusals, and parts of the cells."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from tests.core.forest_cells import ForestScene

from whence import _core
from whence.search import forest_search as criteria
from whence.search.extend_grid import extended
from whence.search.grid import locate
from whence.weights.plausibility import Isolation


def test_cells_are_plausible_where_scikit_learn_says_so() -> None:
    """At random contexts, the mean path is short exactly where the score is too low."""
    agreed = 0
    for seed in range(20):
        scene = ForestScene(seed)
        points = scene.policy.schema_.encode(scene.policy.X_)
        forest = IsolationForest(n_estimators=7, max_samples=10, random_state=seed).fit(points)
        score = float(np.median(forest.score_samples(points)))
        kept, plausible = extended(scene.question, scene.kept, Isolation(forest, score))
        assert kept is not None
        assert plausible is not None
        for point, found in zip(points, forest.score_samples(points), strict=True):
            columns = range(kept.grid.columns)
            order = scene.question.inputs.coordinate
            cells = [kept.cells_of(c, point[order[c]][None], scene.question.inputs)[0] for c in columns]
            short = plausible.short_by(np.array(cells, dtype=np.int32))
            assert (short <= 0) == (found >= score - 1e-9)
            agreed += 1
    assert agreed > 100


def test_the_nearest_plausible_cell_is_found() -> None:
    """Bounds on the paths drop no box and no leaf that a plausible explanation has: against every cell."""
    found = 0
    for seed in range(40):
        scene = ForestScene(seed, ("cc", "cr", "ck")[seed % 3])
        points = scene.policy.schema_.encode(scene.policy.X_)
        forest = IsolationForest(n_estimators=3, max_samples=5, random_state=seed).fit(points)
        score = float(np.quantile(forest.score_samples(points), 0.6))
        kept, plausible = extended(scene.question, scene.kept, Isolation(forest, score))
        assert kept is not None
        located = locate(scene.question, kept)
        criterion = criteria.criterion_of(scene.question, kept)
        criteria.add_rival(criterion, scene.question, kept, np.ascontiguousarray(scene.policy.Y_[:, 1]))
        ends = [int(kept.face_start[j]) + j for j in range(len(kept.face_start))]
        allowed = [np.flatnonzero(np.isfinite(located.distance[a:b])) for a, b in pairwise(ends)]
        cells = np.stack(np.meshgrid(*allowed, indexing="ij"), axis=-1).reshape(-1, len(allowed)).astype(np.int32)
        for group in np.unique(located.group[located.group >= 0]):
            cells = cells[(cells[:, located.group == group] > 0).sum(axis=1) == 1]
        distance = located.distance[kept.places(cells)].sum(axis=1)
        nearest = np.inf
        for i in np.argsort(distance, kind="stable"):
            leaves = kept.grid.leaves_at(cells[i])[: scene.kept.trees]
            if criterion.excess(leaves).over <= scene.tau and plausible.short_by(cells[i]) <= 0.0:
                nearest = float(distance[i])
                break
        search = _core.ForestSearch(located, criterion, scene.tau, plausible=plausible)
        reached, bound = search.advance(10**6, np.inf)
        assert (reached, bound) == (np.isfinite(nearest), pytest.approx(nearest)), seed
        found += reached and nearest > 0.0
    assert found > 10


def test_refusals() -> None:
    """The isolation trees come after the forest's own, and every leaf of theirs has a number."""
    scene = ForestScene(0)
    grid = scene.grid
    for first in (0, grid.trees):
        with pytest.raises(ValueError, match="first"):
            _core.Plausibility(grid, first, np.zeros(1))
    with pytest.raises(ValueError, match="short_by"):
        _core.Plausibility(grid, 1, np.zeros(grid.leaves))
    with pytest.raises(ValueError, match="finite"):
        _core.Plausibility(grid, 1, np.full(grid.leaves, np.nan))
    first_leaves = int((scene.policy.weights_.trees[0].children_left < 0).sum())
    plausible = _core.Plausibility(grid, 1, np.zeros(grid.leaves - first_leaves))
    with pytest.raises(ValueError, match="leaves of the grid"):
        _core.ForestSearch(scene.located, scene.criterion, scene.tau, plausible=plausible)


def test_a_part_of_the_cells() -> None:
    """Distances count cells of one column from its nearer end; what lies outside is not allowed."""
    scene = ForestScene(9)  # three numbers
    low, high = scene.located.first.copy(), scene.located.last.copy()
    column = int(np.argmax(high - low))
    low[column] += 1
    start = low.copy()
    start[column] -= 1
    part = scene.located.part(low, high, start, column)
    at = scene.kept.face_start[column] + column
    allowed = np.isfinite(scene.columns[column])
    for cell in range(len(allowed)):
        expected = _core.Located.ONE_CELL * (cell - low[column]) if cell >= low[column] and allowed[cell] else np.inf
        assert part.distance[at + cell] == expected
    others = np.delete(np.arange(part.distance.size), np.arange(at, at + len(allowed)))
    assert set(part.distance[others].tolist()) <= {0.0, np.inf}
    with pytest.raises(ValueError, match="column"):
        scene.located.part(low, high, start, 99)
