"""A forest in cells: which leaf a cell belongs to."""

from __future__ import annotations

import numpy as np
from tests.core.forest_scene import scenes

from whence import _core


def test_cells_have_the_leaves_that_the_trees_send_them_to() -> None:
    """At every allowed cell the leaf of every tree is that of scikit-learn's own walk."""
    for scene in scenes(25):
        for cells, leaves in zip(scene.cells, scene.leaves, strict=True):
            assert scene.grid.leaves_at(cells).tolist() == leaves.tolist()


def test_trees_ask_for_the_columns_that_they_split() -> None:
    """`asks` says which trees split which columns."""
    for scene in scenes(10, 200):
        for t, tree in enumerate(scene.question.weights.trees):
            split = set(tree.feature[tree.feature >= 0].tolist())
            assert set(np.flatnonzero(scene.grid.asks[:, t]).tolist()) == split


def small(**changed: np.ndarray) -> _core.Grid:
    """Two trees over two columns with two faces and one: a split in each, and one tree with two."""
    given = {
        "face_start": [0, 2, 3],
        "column": [0, -1, 1, -1, -1, 0, -1, -1],
        "split": [1, 0, 0, 0, 0, 0, 0, 0],
        "left": [1, 0, 3, 0, 0, 6, 0, 0],
        "right": [2, 0, 4, 0, 0, 7, 0, 0],
        "root": [0, 5],
    }
    arrays = {name: np.array(numbers, dtype=np.int32) for name, numbers in given.items()}
    return _core.Grid(**{**arrays, "cut": np.array([0.25, 0.5, 0.5], dtype=np.float32), **changed})


def test_paths_can_be_laid_out_a_few_trees_at_a_time() -> None:
    """One tree a step, or all in one go."""
    steps, whole = small(), small()
    assert not steps.lay_paths(1)
    assert steps.lay_paths(1)
    assert whole.lay_paths(1000)
    assert whole.leaves == 5
    assert whole.leaves_at(np.array([2, 1], dtype=np.int32)).tolist() == [2, 4]


def test_cells_alike_are_those_with_the_same_leaves() -> None:
    """The box around a cell holds exactly the cells in which every tree has the same leaf."""
    for scene in scenes(10, 300):
        for i in range(0, len(scene.cells), max(1, len(scene.cells) // 20)):
            low, high = scene.grid.cells_alike(scene.cells[i])
            inside = ((scene.cells >= low) & (scene.cells <= high)).all(axis=1)
            assert (inside == (scene.leaves == scene.leaves[i]).all(axis=1)).all()
