"""Boxes: restricting, projecting, tightening, the leaves they meet, and the hull of those."""

from __future__ import annotations

import numpy as np
from tests.core.forest_scene import reached, scenes, tree_of_leaves

from whence import _core


def test_restricting_keeps_exactly_the_cells_between() -> None:
    """A box holds the allowed cells that satisfy all its restrictions, and is refused only where there are none."""
    rng = np.random.default_rng(1)
    empty = 0
    for scene in scenes(40):
        for _ in range(8):
            box, kept, keeps = scene.box(), np.ones(len(scene.cells), dtype=bool), True
            for j in rng.integers(0, scene.grid.columns, 3).tolist():
                first, last = np.sort(rng.integers(0, scene.located.last[j] + 1, 2)).tolist()
                kept &= (scene.cells[:, j] >= first) & (scene.cells[:, j] <= last)
                keeps = keeps and box.restrict(j, first, last)
            assert keeps or not kept.any()
            if keeps:
                assert (scene.inside(box) == kept).all()
                ends = np.concatenate([box.low, box.high]).tolist()
                columns = [*range(scene.grid.columns)] * 2
                assert all(cell in scene.allowed[j] for j, cell in zip(columns, ends, strict=True))
            empty += not keeps
    assert empty >= 10


def test_the_projection_is_the_nearest_cell() -> None:
    """It lies in the box, is allowed, and no other cell of the box is nearer."""
    rng = np.random.default_rng(2)
    for scene in scenes(40, 100):
        for box in scene.random_boxes(rng, 8):
            inside = scene.inside(box)
            assert inside.any()
            distance, cells = box.project()
            assert distance == scene.distance[inside].min()
            (at,) = np.flatnonzero((scene.cells == cells).all(axis=1))
            assert inside[at]
            assert scene.distance[at] == distance


def test_tightening_loses_nothing_near() -> None:
    """All cells less than `room` farther than the projection stay; a room of 0 leaves nothing."""
    rng = np.random.default_rng(3)
    narrowed = 0
    for scene in scenes(40, 200):
        for box in scene.random_boxes(rng, 8):
            near, cells = box.project()
            before, room = scene.inside(box), float(rng.uniform(0.0, 1.5))
            assert box.tighten(cells, room)
            after = scene.inside(box)
            assert not (after & ~before).any()
            assert not (before & ~after & (scene.distance < near + room - 1e-12)).any()
            numbers = np.flatnonzero(scene.located.group < 0)
            for j in numbers.tolist():
                # A column by itself goes no farther than the room.
                low, high = (
                    scene.located.distance[scene.kept.face_start[j] + j + c] for c in (box.low[j], box.high[j])
                )
                here = scene.located.distance[scene.kept.face_start[j] + j + cells[j]]
                assert max(low, high) - here < room
            narrowed += (before & ~after).any()
            assert not box.tighten(cells, 0.0)
    assert narrowed >= 20


def test_reach_is_what_the_box_meets() -> None:
    """Gathered, or kept of those of a larger box, the leaves are those whose paths meet the box."""
    rng = np.random.default_rng(4)
    for scene in scenes(30, 300):
        for box in scene.random_boxes(rng, 5):
            reach = _core.Reach(scene.located)
            reach.gather(box)
            wanted = reached(scene.kept, scene.located.dead, box)
            assert set(reach.leaves.tolist()) == wanted
            assert set(scene.leaves[scene.inside(box)].ravel().tolist()) <= wanted
            kept = _core.Reach(scene.located)
            kept.gather(scene.box())
            kept.keep_box(box)
            assert kept.leaves.tolist() == reach.leaves.tolist()


def test_far_leaves_hold_no_near_cell() -> None:
    """No cell less than `room` farther than the projection has a leaf that was dropped as too far."""
    rng = np.random.default_rng(5)
    dropped = 0
    for scene in scenes(40, 400):
        for box in scene.random_boxes(rng, 5):
            near, cells = box.project()
            room = float(rng.uniform(0.05, 1.0))
            reach = _core.Reach(scene.located)
            reach.gather(box)
            before = set(reach.leaves.tolist())
            reach.gather_near(box, cells, room)
            after = set(reach.leaves.tolist())
            close = scene.inside(box) & (scene.distance < near + room - 1e-12)
            assert set(scene.leaves[close].ravel().tolist()) <= after <= before
            dropped += len(before - after)
    assert dropped >= 50


def test_the_hull_is_that_of_the_leaves_left() -> None:
    """With some leaves dropped, the box shrinks to what every tree's remaining leaves leave, and no less."""
    rng = np.random.default_rng(6)
    smaller = 0
    for scene in scenes(40, 500):
        trees = tree_of_leaves(scene)
        for box in scene.random_boxes(rng, 5):
            _, cells = box.project()
            reach = _core.Reach(scene.located)
            reach.gather_near(box, cells, float(rng.uniform(0.02, 0.6)))
            left = reach.leaves.tolist()
            low, high = box.low.copy(), box.high.copy()
            for t in range(scene.grid.trees):
                paths = [{j: (a, b) for j, a, b in scene.grid.path(i).tolist()} for i in left if trees[i] == t]
                for j in range(scene.grid.columns):
                    if all(j in path for path in paths):
                        low[j] = max(low[j], min(path[j][0] for path in paths))
                        high[j] = min(high[j], max(path[j][1] for path in paths))
            shrinks = bool((low > box.low).any() or (high < box.high).any())
            assert _core.Hull(scene.grid).narrow(reach, box) == shrinks
            assert (box.low.tolist(), box.high.tolist()) == (low.tolist(), high.tolist())
            smaller += shrinks
    assert smaller >= 20
