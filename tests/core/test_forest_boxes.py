"""Boxes of cells, the leaves that they meet, and their hull, held against every cell there is."""

from __future__ import annotations

import numpy as np
import pytest
from tests.asking import varied
from tests.core.forest_cells import ForestScene, forest_scene, scenes
from tests.oracle import cells as oracle_cells

from whence._core import Box, Hull, Reach
from whence.search.grid import locate

SCENES = 20


def test_a_leaf_holds_the_cells_that_its_path_allows() -> None:
    """In every tree the leaf at a cell is the only one whose path allows the cell in all columns."""
    for scene, _ in scenes(SCENES):
        for tree, leaves in enumerate(scene.tree_of(np.arange(scene.grid.leaves, dtype=np.int32))):
            allows = np.zeros((len(leaves), len(scene.cells)), dtype=bool)
            for i, leaf in enumerate(leaves.tolist()):
                path = scene.grid.path(leaf)
                allows[i] = (
                    (path[:, 1] <= scene.cells[:, path[:, 0]]) & (scene.cells[:, path[:, 0]] <= path[:, 2])
                ).all(axis=1)
            assert (allows.sum(axis=0) == 1).all()
            assert np.array_equal(leaves[allows.argmax(axis=0)], scene.leaves[:, tree])


def test_cells_are_as_far_as_their_nearest_context() -> None:
    """Cells and distances are those of the oracle, which shares nothing with the core; values lie in their cells."""
    for scene, _ in scenes(SCENES):
        space = scene.question.space
        expected = np.sort(np.abs(oracle_cells(scene.question) - space.start) @ space.weight)
        assert np.unique(scene.distance) == pytest.approx(np.unique(expected.round(12)), abs=1e-9)
        value, inputs, start = scene.located.value, scene.question.inputs, scene.kept.face_start
        for j, column in enumerate(scene.columns):
            cuts = scene.kept.cut[start[j] : start[j + 1]]
            for cell in np.flatnonzero(np.isfinite(column)).tolist():
                at = np.float32(value[start[j] + j + cell] * inputs.scale[j] + inputs.offset[j])
                assert np.searchsorted(cuts, at) == cell


def test_dead_leaves_hold_no_allowed_cell() -> None:
    """A leaf is dead only where no allowed cell has it; without categories, exactly there."""
    dead = 0
    for scene, _ in scenes(SCENES):
        unseen = np.setdiff1d(np.arange(scene.grid.leaves), scene.leaves)
        assert np.isin(scene.located.dead, unseen).all()
        if (scene.located.group < 0).all():
            assert np.array_equal(scene.located.dead, unseen)
        dead += scene.located.dead.size
    assert dead > 10


def test_restrictions_leave_exactly_the_cells_within_them() -> None:
    """A box ends at its outermost allowed cells in every column, and is empty where none is left."""
    ends = set()
    for scene, rng in scenes(SCENES):
        for _ in range(20):
            box, left = Box(scene.located), np.ones(len(scene.cells), dtype=bool)
            for _ in range(6):
                j = int(rng.integers(len(scene.columns)))
                first, last = np.sort(rng.integers(0, len(scene.columns[j]), 2)).tolist()
                left &= (first <= scene.cells[:, j]) & (scene.cells[:, j] <= last)
                ends.add(bool(left.any()))
                assert box.restrict(j, first, last) == left.any()
                if not left.any():
                    break
                assert np.array_equal(box.low, scene.cells[left].min(axis=0))
                assert np.array_equal(box.high, scene.cells[left].max(axis=0))
                assert np.array_equal(scene.inside(box), left)
    assert ends == {True, False}


def test_a_category_is_never_empty_nor_double() -> None:
    """Ruling out all categories of a feature, or asking for two of them, leaves nothing."""
    tried = 0
    for scene, _ in scenes(SCENES, plain=True):
        groups = scene.located.group
        for g in np.unique(groups[groups >= 0]).tolist():
            members = np.flatnonzero(groups == g).tolist()
            box = Box(scene.located)
            assert [box.restrict(j, 0, 0) for j in members] == [True] * (len(members) - 1) + [False]
            box = Box(scene.located)
            on = [len(scene.columns[j]) - 1 for j in members]
            assert box.restrict(members[0], on[0], on[0])
            assert box.high[members[1:]].tolist() == [0] * (len(members) - 1)
            assert not box.restrict(members[1], on[1], on[1])
            tried += 1
    assert tried > 5


@pytest.mark.parametrize("count", [0, 2])
def test_a_feature_with_no_category_or_with_two_allows_nothing(count: int) -> None:
    """Where a question asks for no category of a feature, or for two at once, there is no box at all."""
    scene = forest_scene(4, plain=True)
    space = scene.question.space
    category = space.group >= 0
    value = np.where(category & (np.cumsum(category) <= count), 0.5, 0.0)
    impossible = varied(
        space,
        start=np.where(category, value, space.start),
        lower=np.where(category, value, space.lower),
        upper=np.where(category, value, space.upper),
        levels=tuple(value[[j]] if category[j] else levels for j, levels in enumerate(space.levels)),
    )
    with pytest.raises(ValueError, match="allows nothing"):
        Box(locate(varied(scene.question, space=impossible), scene.kept))


def test_the_projection_is_the_nearest_cell() -> None:
    """No cell of a box is nearer than its projection, which is one of them and lies where it is said to."""
    for scene, rng in scenes(SCENES):
        for _ in range(20):
            box = scene.box(rng, int(rng.integers(0, 5)))
            distance, cells = box.project()
            inside = scene.inside(box)
            assert distance == pytest.approx(scene.distance[inside].min(), abs=1e-12)
            same = inside & (scene.cells == cells).all(axis=1)
            assert scene.distance[same] == pytest.approx([distance], abs=1e-12)


def test_tightening_keeps_what_is_in_reach_and_no_more() -> None:
    """Along numbers the cells less than the room farther than the projection are left; no cell in reach is lost."""
    cut = 0
    for scene, rng in scenes(SCENES):
        for _ in range(20):
            box = scene.box(rng, int(rng.integers(0, 3)))
            low, high, inside = box.low, box.high, scene.inside(box)
            distance, cells = box.project()
            room = float(rng.choice([0.02, 0.1, 0.3, 0.7, 1.5]))
            assert box.tighten(cells, room)
            near = inside & (scene.distance - distance < room - 1e-12)
            assert (scene.inside(box) >= near).all()
            for j in np.flatnonzero(scene.located.group < 0).tolist():
                column = scene.columns[j]
                left = np.flatnonzero(column - column[cells[j]] < room)
                left = left[(left >= low[j]) & (left <= high[j])]
                assert (box.low[j], box.high[j]) == (left[0], left[-1])
                cut += int(len(left) < high[j] - low[j] + 1)
        assert not box.tighten(box.project()[1], 0.0)
    assert cut > 100


def _reached(scene: ForestScene, box: Box) -> list[int]:
    """Leaves that a box meets in every column on their paths, but for the dead."""
    dead = set(scene.located.dead.tolist())
    return [leaf for leaf in range(scene.grid.leaves) if leaf not in dead and scene.meets(leaf, box)]


def test_a_box_meets_the_leaves_of_its_cells() -> None:
    """The leaves gathered are those whose paths the box meets, among them those of all its cells."""
    for scene, rng in scenes(SCENES):
        for _ in range(10):
            box = scene.box(rng)
            leaves = scene.reach(box).leaves
            assert leaves.tolist() == _reached(scene, box)
            assert np.isin(scene.leaves[scene.inside(box)], leaves).all()


def test_a_restricted_column_drops_the_leaves_beyond_it() -> None:
    """Dropping what a restriction rules out leaves what gathering again would."""
    dropped = 0
    for scene, rng in scenes(SCENES):
        for _ in range(20):
            box = scene.box(rng, 1)
            reach = scene.reach(box)
            j = int(rng.integers(len(scene.columns)))
            first, last = np.sort(rng.integers(0, len(scene.columns[j]), 2)).tolist()
            if not box.restrict(j, first, last):
                continue
            before = reach.leaves.size
            reach.keep_box(box)
            assert reach.leaves.tolist() == _reached(scene, box)
            dropped += before - reach.leaves.size
    assert dropped > 100


def test_far_leaves_are_dropped_at_the_room_and_not_before() -> None:
    """A leaf goes where its way along numbers takes up the room; those of the cells in reach all stay."""
    dropped = 0
    for scene, rng in scenes(SCENES):
        for _ in range(20):
            box = scene.box(rng, 1)
            distance, cells = box.project()
            far = [sum(scene.extra(leaf, cells).values()) for leaf in range(scene.grid.leaves)]
            ways = [way for way in far if 0.0 < way < np.inf]
            # A leaf just within the room, or just beyond it.
            room = float(rng.choice(ways)) * float(rng.choice([0.95, 1.05])) if ways else 0.5
            reach = scene.reach(box)
            before = reach.leaves.tolist()
            reach.gather_near(box, cells, room)
            assert reach.leaves.tolist() == [leaf for leaf in before if far[leaf] < room]
            # From the leaves of a box around it, they are the same.
            around = scene.reach(Box(scene.located))
            around.keep_near(box, cells, room)
            assert around.leaves.tolist() == reach.leaves.tolist()
            near = scene.inside(box) & (scene.distance - distance < room - 1e-12)
            assert np.isin(scene.leaves[near], reach.leaves).all()
            dropped += len(before) - reach.leaves.size
    assert dropped > 100


def _hull(scene: ForestScene, reach: Reach, box: Box) -> tuple[list[int], list[int]]:
    """A box within the smallest intervals that hold the reached leaves of every tree."""
    low, high = box.low.tolist(), box.high.tolist()
    for leaves in scene.tree_of(reach.leaves):
        spans = [scene.spans(leaf) for leaf in leaves.tolist()]
        for j in range(len(low)):
            # A leaf whose path does not ask for a column reaches over all of it.
            if spans and all(j in span for span in spans):
                low[j] = max(low[j], min(span[j][0] for span in spans))
                high[j] = min(high[j], max(span[j][1] for span in spans))
    return low, high


def test_the_hull_holds_all_cells_of_the_leaves_left() -> None:
    """A box is narrowed to what the leaves of every tree span, and loses no cell whose leaves are all left."""
    narrowed = 0
    for scene, rng in scenes(SCENES):
        for _ in range(20):
            box = scene.box(rng, 1)
            _, cells = box.project()
            reach = scene.reach(box)
            reach.gather_near(box, cells, float(rng.choice([0.05, 0.2, 0.5])))
            low, high = box.low.tolist(), box.high.tolist()
            kept = scene.inside(box) & np.isin(scene.leaves, reach.leaves).all(axis=1)
            expected = _hull(scene, reach, box)
            smaller = Hull(scene.grid).narrow(reach, box)
            assert (box.low.tolist(), box.high.tolist()) == expected
            assert smaller == (expected != (low, high))
            assert (scene.inside(box) >= kept).all()
            narrowed += smaller
    assert narrowed > 50
