"""Where a context may lie."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.features.space import Space


@pytest.fixture
def space() -> Space:
    """A number in [0, 1], one of three levels, and a category of three from its first one."""
    X = pd.DataFrame({"x": [0.0, 1.0, 0.5], "level": [1, 2, 5], "kind": ["a", "b", "c"]})
    schema = wh.Schema.infer(X)
    return schema.space(schema.row({"x": 0.2, "level": 1, "kind": "a"}))


@pytest.mark.parametrize(
    ("point", "allowed"),
    [
        ([0.2, 0.0, 0.5, 0.0, 0.0], True),
        ([1.0, 0.25, 0.0, 0.0, 0.5], True),
        ([0.2, 0.0, 0.0, 0.0, 0.0], False),
        ([0.2, 0.0, 0.5, 0.5, 0.0], False),
        ([0.2, 0.0, 0.0, 0.25, 0.25], False),
        ([0.2, 0.5, 0.5, 0.0, 0.0], False),
        ([1.1, 0.0, 0.5, 0.0, 0.0], False),
        ([-0.1, 0.0, 0.5, 0.0, 0.0], False),
    ],
)
def test_what_is_allowed(space: Space, point: list[float], allowed: bool) -> None:
    """Exactly one category is on, levels are kept, and intervals are closed."""
    assert space.contains(np.array(point)) == allowed


def test_a_start_outside_its_bounds_stays_allowed() -> None:
    """The initial value is always allowed, values between it and the interval are not."""
    start, low, high = np.array([2.0]), np.array([0.0]), np.array([1.0])
    space = Space(start, low, high, (None,), np.array([3.0]), np.array([-1]))
    assert space.contains(start)
    assert not space.contains(np.array([1.5]))
    assert space.distance(np.array([1.0])) == 3.0
