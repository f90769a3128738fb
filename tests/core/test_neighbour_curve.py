"""An axis whose distances from the start follow a curve."""

from __future__ import annotations

import numpy as np
import pytest

from whence._core import Axis, AxisKind


def test_distances_follow_the_curve() -> None:
    """Of knots and of what lies between them, against numpy."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        knots = np.unique(np.concatenate([[0.0, 1.0], rng.random(int(rng.integers(0, 8)))]))
        passed = np.cumsum(rng.random(knots.size) + 1e-3)
        start, weight = float(rng.random()), float(rng.uniform(0.1, 3.0))
        axis = Axis(AxisKind.CONTINUOUS, start, weight, 0.0, 1.0)
        values = np.concatenate([knots, rng.random(20)])
        assert axis.far(values) == pytest.approx(weight * np.abs(values - start), abs=1e-12)
        axis.follow(knots, passed)
        wanted = weight * np.abs(np.interp(values, knots, passed) - np.interp(start, knots, passed))
        assert axis.far(values) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    ("knots", "passed", "says"),
    [
        ([0.0], [0.0], "at least two"),
        ([0.0, 1.0], [0.0, 0.5, 1.0], "as many"),
        ([0.0, 0.5, 0.5, 1.0], [0.0, 0.1, 0.2, 0.3], "must ascend"),
        ([0.0, 0.5, 1.0], [0.0, 0.3, 0.3], "must ascend"),
        ([0.1, 1.0], [0.0, 1.0], "must span the axis"),
    ],
)
def test_what_is_no_curve_is_refused(knots: list[float], passed: list[float], says: str) -> None:
    """Too few knots, knots that do not rise, and those that leave a part of the axis out."""
    axis = Axis(AxisKind.CONTINUOUS, 0.5, 1.0, 0.0, 1.0)
    with pytest.raises(ValueError, match=says):
        axis.follow(np.array(knots), np.array(passed))
    with pytest.raises(ValueError, match="category axis"):
        Axis(AxisKind.CATEGORY, 0.0, 1.0, 0.0, 1.0, costs=np.array([0.0, 1.0])).follow(
            np.array([0.0, 1.0]), np.array([0.0, 1.0])
        )
