"""From coordinates to what an estimator sees, and back again on the right side of every turn."""

from __future__ import annotations

import numpy as np

from whence.weights import InputMap


def test_both_sides_of_a_turn_stay_apart() -> None:
    """Whatever scaling loses, coordinates lie on the side of their inputs, and no input of the other side on them."""
    rng = np.random.default_rng(6)
    size = 4000
    offset = rng.choice([0.0, 1.0, -3.5, 1000.0, 1.7e9], size) + rng.normal(size=size)
    scale = 10.0 ** rng.uniform(-9, 9, size)
    inputs = InputMap(np.arange(size), scale, offset)
    last = offset + scale * rng.uniform(-0.2, 1.2, size)
    first = np.nextafter(last, np.inf)
    below, beyond = inputs.sides(np.arange(size), last, first)
    assert (below * scale + offset <= last).all()
    assert (beyond * scale + offset >= first).all()
    assert ((first - offset) / scale > below).all()
    assert ((last - offset) / scale < beyond).all()
    # They are as near to the turn as the numbers on either side of it allow.
    wide = 8.0 * (np.spacing(np.abs(last) + np.abs(offset)) / scale + np.spacing(np.abs(below) + 1.0))
    assert (beyond - below <= wide).all()


def test_coordinates_that_are_inputs_are_left_alone() -> None:
    """Without scaling the sides of a turn are the inputs themselves."""
    last = np.array([0.5, -2.25, 1e-9])
    first = np.nextafter(last, np.inf)
    below, beyond = InputMap.identity(3).sides(np.arange(3), last, first)
    assert np.array_equal(below, last)
    assert np.array_equal(beyond, first)
