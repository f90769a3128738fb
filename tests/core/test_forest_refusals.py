"""What the forest's parts of the core refuse: arrays of another type or layout, and sizes that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.core.forest_scene import Scene, scenes
from tests.core.test_grid import small

from whence import _core


def scene(tail: bool = False) -> Scene:
    """A small question."""
    return next(scenes(1, tail=tail))


def wrong_versions(array: np.ndarray) -> dict[str, Any]:
    """The same numbers as something that must not be taken."""
    other = np.float32 if array.dtype == np.float64 else np.float64
    return {
        "another type": array.astype(other),
        "strided": np.repeat(array, 2, axis=-1)[..., ::2],
        "a list": array.tolist(),
        "one axis more": array[None],
        "None": None,
    }


WRONG = sorted(wrong_versions(np.zeros(2)))


@pytest.mark.parametrize("how", WRONG)
@pytest.mark.parametrize("name", ["face_start", "cut", "column", "split", "left", "right", "root"])
def test_a_grid_takes_arrays_only_as_they_are(name: str, how: str) -> None:
    """Nothing is converted or copied silently."""
    array = np.zeros(2, dtype=np.float32 if name == "cut" else np.int32)
    with pytest.raises(TypeError):
        small(**{name: wrong_versions(array)[how]})


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("face_start", [0, 2, 1]),
        ("face_start", [1, 2, 3]),
        ("face_start", [0, 2, 9]),
        ("face_start", [0]),
        ("column", [2, -1, 1, -1, -1, 0, -1, -1]),
        ("column", [0, -1, 1]),
        ("split", [2, 0, 0, 0, 0, 0, 0, 0]),
        ("split", [-1, 0, 0, 0, 0, 0, 0, 0]),
        ("left", [0, 0, 3, 0, 0, 6, 0, 0]),
        ("left", [2, 0, 3, 0, 0, 6, 0, 0]),
        ("left", [6, 0, 3, 0, 0, 6, 0, 0]),
        ("right", [2, 0, 4, 0, 0, 99, 0, 0]),
        ("root", []),
        ("root", [1, 5]),
        ("root", [0, 9]),
        ("root", [0, 3]),
    ],
)
def test_a_grid_refuses_trees_that_are_none(name: str, numbers: list[int]) -> None:
    """Columns, faces, children and roots that do not exist, and cycles, are refused with a sentence."""
    with pytest.raises(ValueError, match="must"):
        small(**{name: np.array(numbers, dtype=np.int32)})


def test_a_grid_refuses_cuts_that_do_not_ascend() -> None:
    """Within a column cuts ascend."""
    with pytest.raises(ValueError, match="ascend"):
        small(cut=np.array([0.5, 0.25, 0.5], dtype=np.float32))


@pytest.mark.parametrize("cells", [[0], [0, 2], [-1, 0], [3, 0], [0, 0, 0]])
def test_cells_outside_the_grid_are_refused(cells: list[int]) -> None:
    """One cell a column, each of them in the grid."""
    with pytest.raises(ValueError, match="'cells'"):
        small().leaves_at(np.array(cells, dtype=np.int32))


def locating(grid: _core.Grid, **changed: Any) -> _core.Located:
    """A question on the small grid: start 0.1, everything between 0 and 1 allowed."""
    given: dict[str, Any] = {
        "below": np.array([0.25, 0.5, 0.5]),
        "beyond": np.array([0.26, 0.51, 0.51]),
        "limits": np.array([[0.1, 0.0, 1.0, 1.0, 1.0, 0.0]] * 2),
        "group": np.full(2, -1, dtype=np.int32),
        "discrete": np.zeros(2, dtype=np.bool_),
        "level_start": np.zeros(3, dtype=np.int64),
        "level": np.zeros(0),
    }
    return _core.Located(grid, **{**given, **changed})


@pytest.mark.parametrize("how", WRONG)
@pytest.mark.parametrize("name", ["below", "beyond", "limits", "group", "level_start", "level"])
def test_a_located_question_takes_arrays_only_as_they_are(name: str, how: str) -> None:
    """Nothing is converted or copied silently."""
    grid = small()
    grid.lay_paths(100)
    assert locating(grid).start.tolist() == [0, 0]
    kind = {"group": np.int32, "level_start": np.int64}.get(name, np.float64)
    array = np.zeros((2, 6) if name == "limits" else 2, dtype=kind)
    with pytest.raises(TypeError):
        locating(grid, **{name: wrong_versions(array)[how]})


@pytest.mark.parametrize(
    "changed",
    [
        {"below": np.zeros(2)},
        {"beyond": np.zeros(4)},
        {"limits": np.zeros((3, 6))},
        {"limits": np.zeros((2, 5))},
        {"group": np.zeros(1, dtype=np.int32)},
        {"discrete": np.zeros(3, dtype=np.bool_)},
        {"level_start": np.zeros(2, dtype=np.int64)},
        {"level_start": np.array([0, 1, 0], dtype=np.int64)},
        {"level_start": np.array([0, 5, 3], dtype=np.int64), "level": np.zeros(3)},
        {"level": np.zeros(3)},
    ],
)
def test_a_located_question_refuses_sizes_that_do_not_fit(changed: dict[str, Any]) -> None:
    """One entry a column, a face, a level."""
    grid = small()
    grid.lay_paths(100)
    with pytest.raises(ValueError, match="must"):
        locating(grid, **changed)


def test_a_question_needs_the_paths_of_its_grid() -> None:
    """A grid that a time limit has interrupted is not searched."""
    with pytest.raises(ValueError, match="laid out"):
        locating(small())


def test_criteria_refuse_what_is_not_about_the_leaves() -> None:
    """Types, sizes, ranks and samples are checked when a plan comes in."""
    mean = _core.MeanCriterion(5)
    with pytest.raises(ValueError, match="leaf"):
        mean.add_rival(np.zeros(4))
    with pytest.raises(TypeError):
        mean.add_rival(np.zeros(5, dtype=np.float32))
    with pytest.raises(ValueError, match="rival"):
        mean.excess(np.zeros(2, dtype=np.int32))
    mean.add_rival(np.zeros(5))
    with pytest.raises(ValueError, match="'leaves'"):
        mean.excess(np.full(2, 5, dtype=np.int32))


def tails(**changed: Any) -> _core.TailCriterion:
    """Two leaves of two samples each, of two trees."""
    given: dict[str, Any] = {
        "samples": np.array([0, 1, 1, 0], dtype=np.int32),
        "first": np.array([0, 2], dtype=np.int64),
        "size": np.array([2, 2], dtype=np.int64),
        "trees": 2,
    }
    tail = changed.pop("tail", 0.5)
    return _core.TailCriterion(_core.LeafSamples(**{**given, **changed}), tail)


@pytest.mark.parametrize(
    "changed",
    [
        {"first": np.array([0, 3], dtype=np.int64)},
        {"first": np.array([-1, 2], dtype=np.int64)},
        {"first": np.array([0], dtype=np.int64)},
        {"size": np.array([2, 0], dtype=np.int64)},
        {"tail": 0.0},
        {"tail": 1.5},
        {"tail": np.nan},
        {"trees": 0},
    ],
)
def test_a_tail_criterion_refuses_leaves_without_samples(changed: dict[str, Any]) -> None:
    """Every leaf has samples that exist, and the tail is a share."""
    with pytest.raises(ValueError, match="must"):
        tails(**changed)


@pytest.mark.parametrize(
    ("etas", "rank"),
    [
        ([], [0, 0]),
        ([2.0, 1.0], [0, 1]),
        ([1.0, 1.0], [0, 1]),
        ([1.0, 2.0], [0, 2]),
        ([1.0, 2.0], [-1, 1]),
        ([1.0, 2.0], [0]),
    ],
)
def test_a_tail_criterion_refuses_ranks_without_an_eta(etas: list[float], rank: list[int]) -> None:
    """Etas ascend, and every sample has one."""
    with pytest.raises(ValueError, match="must"):
        tails().add_plan(np.array(etas), np.array(rank, dtype=np.int32), kept=True)


def test_plans_about_other_samples_are_refused() -> None:
    """All plans of a criterion are about the same samples."""
    criterion = tails()
    criterion.add_plan(np.array([1.0, 2.0]), np.array([0, 1], dtype=np.int32), kept=True)
    with pytest.raises(ValueError, match="same samples"):
        criterion.add_plan(np.array([1.0]), np.zeros(3, dtype=np.int32), kept=True)


def test_a_search_needs_a_rival_and_a_criterion_about_its_leaves() -> None:
    """Both are said, not run into."""
    one = scene()
    with pytest.raises(ValueError, match="leaves of the grid"):
        _core.ForestSearch(one.located, _core.MeanCriterion(one.grid.leaves + 1), 0.0)
    with pytest.raises(ValueError, match="rival"):
        _core.ForestSearch(one.located, _core.MeanCriterion(one.grid.leaves), 0.0).advance(1, np.inf)
    with pytest.raises(ValueError, match="rival"):
        _core.Proposals(one.located, _core.MeanCriterion(one.grid.leaves), 0.0, 1)


def test_parts_of_two_questions_do_not_mix() -> None:
    """Shares of another question are refused."""
    one, two = scene(), scene(tail=True)
    with pytest.raises(ValueError, match="must belong"):
        _core.ForestSearch(two.located, two.criterion, 0.0).advance(1, np.inf, one.shares())


def test_shares_refuse_buckets_that_do_not_exist() -> None:
    """A bucket of every cell, and a share of every bucket and tree."""
    one = scene()
    cells, trees = one.located.distance.size, one.grid.trees
    bucket, edge, begin = np.zeros(cells, dtype=np.int32), np.zeros(1), np.zeros(1, dtype=np.int32)
    part = np.full((1, trees), 1.0 / trees)
    _core.Shares(one.located, bucket, edge, begin, part)
    for wrong in (
        (bucket[:-1], edge, begin, part),
        (bucket + 1, edge, begin, part),
        (bucket, edge, begin + 1, part),
        (bucket, edge, np.zeros(2, dtype=np.int32), part),
        (bucket, edge, begin, part[:, :-1].copy()),
    ):
        with pytest.raises(ValueError, match="must"):
            _core.Shares(one.located, *wrong)
    with pytest.raises(TypeError):
        _core.Shares(one.located, bucket.astype(np.int64), edge, begin, part)


def test_starts_of_proposals_are_allowed_cells() -> None:
    """One cell a column, between the first and the last allowed one."""
    one = scene()
    looking = _core.Proposals(one.located, one.criterion, one.tau, 100)
    with pytest.raises(ValueError, match="'starts'"):
        looking.pull_back(np.zeros((1, one.grid.columns + 1), dtype=np.int32), 1)
    with pytest.raises(ValueError, match="allowed"):
        looking.pull_back((one.located.last + 1)[None].astype(np.int32), 1)
    with pytest.raises(TypeError):
        looking.pull_back(np.zeros((1, one.grid.columns)), 1)
