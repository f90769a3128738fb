"""The points of an axis: the nearest allowed one of every cell, and jumps where nothing lies between."""

from __future__ import annotations

import numpy as np

from whence.features.space import Space
from whence.milp.axes import Splits, cell_axis, counted_axis, line_axis
from whence.models.tree_arrays import floor32

#: The last number that rounds to 0.25.
LAST = 0.25 + 2.0**-26


def space(start: float, lower: float, upper: float, levels: list[float] | None = None) -> Space:
    """One coordinate."""
    one = np.ones(1)
    given = None if levels is None else np.array(levels)
    return Space(start * one, lower * one, upper * one, (given,), one, np.array([-1]))


def splits(*thresholds: float, scale: float = 1.0, offset: float = 0.0) -> Splits:
    return Splits(scale, offset, floor32(np.array(thresholds)))


def test_floor32_is_the_largest_float32_not_above() -> None:
    """A float32 number is beyond the rounded threshold exactly where scikit-learn finds it beyond the real one."""
    rng = np.random.default_rng(0)
    thresholds = rng.normal(size=2000)
    found = floor32(thresholds)
    assert (found.astype(np.float64) <= thresholds).all()
    assert (np.nextafter(found, np.float32(np.inf)).astype(np.float64) > thresholds).all()


def test_cells_are_reached_at_their_near_ends() -> None:
    """A cell is entered at the last number that rounds to its side, half-way to the next float32."""
    axis = cell_axis(space(0.5, 0.0, 1.0), 0, [splits(0.25, 0.75)])
    assert axis.points.tolist() == [LAST, 0.5, float(np.nextafter(0.75 + 2.0**-25, 1.0))]


def test_sides_are_neighbouring_numbers() -> None:
    """No number lies between the two sides of a threshold, and the estimator tells them apart; ties go to even."""
    rng = np.random.default_rng(2)
    column = splits(*rng.normal(size=200), 0.25, float(np.nextafter(np.float32(0.25), np.float32(1.0))))
    before, after = column.sides()
    assert (np.nextafter(before, np.inf) == after).all()
    assert (before.astype(np.float32) <= column.thresholds).all()
    assert (after.astype(np.float32) > column.thresholds).all()


def test_bounds_cut_cells_off() -> None:
    """A cell that the bounds leave empty has no point; one that they cut is entered at the bound."""
    assert cell_axis(space(0.5, 0.3, 1.0), 0, [splits(0.25, 0.75)]).points.size == 2
    assert cell_axis(space(0.5, 0.2, 0.6), 0, [splits(0.25, 0.75)]).points.tolist() == [LAST, 0.5]
    far = cell_axis(space(0.1, 0.3, 0.6), 0, [splits(0.2)])
    assert far.points.tolist() == [0.1, 0.3]


def test_levels_are_the_only_points() -> None:
    """Of the levels in one cell the nearest to the start is kept, wherever the threshold lies."""
    axis = cell_axis(space(0.5, 0.0, 1.0, [0.0, 0.25, 0.5, 0.75, 1.0]), 0, [splits(0.3, 0.6)])
    assert axis.points.tolist() == [0.25, 0.5, 0.75]


def test_thresholds_in_other_units_are_carried_over() -> None:
    """Points of an estimator that sees 10 x + 3 lie on the right sides of its thresholds."""
    column = splits(5.5, 9.25, scale=10.0, offset=3.0)
    axis = cell_axis(space(0.5, 0.0, 1.0), 0, [column])
    assert column.passed(axis.points).tolist() == [0, 1, 2]
    assert np.allclose(axis.points, [0.25, 0.5, 0.625])


def test_a_start_outside_its_bounds_is_left_in_one_jump() -> None:
    """Between the start and the interval no value is allowed."""
    axis = line_axis(space(-0.5, 0.0, 1.0), 0, [], np.array([0.2, 0.4, 3.0]))
    assert axis.points.tolist() == [-0.5, 0.0, 0.2, 0.4, 1.0]
    assert axis.jump.tolist() == [True, False, False, False]


def test_a_line_jumps_over_thresholds() -> None:
    """Between the two sides of a threshold there is nothing."""
    axis = line_axis(space(0.5, 0.0, 1.0), 0, [splits(0.25)], np.array([0.3]))
    assert axis.jump.tolist() == [False, True, False, False, False]


def test_levels_are_counted_between_turns() -> None:
    """A step ends where the distance turns, and on both sides of a threshold: there it takes one level alone."""
    levels = [j / 8 for j in range(9)]
    axis = counted_axis(space(0.5, 0.0, 1.0, levels), 0, [splits(0.3)])
    assert axis.points.tolist() == [0.0, 0.25, 0.375, 0.5, 1.0]
    assert axis.counts.tolist() == [2, 1, 1, 4]
