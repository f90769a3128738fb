"""Boxes of contexts: what is said about a whole box, held against the contexts in it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.neighbour_scene import Scene

from whence.risk import CVaR, Expectation

SHAPES = ["c", "cc", "ccc", "cd", "ck", "gc", "kk", "dk", "cgdk"]


def _scene(seed: int, n: int = 9) -> Scene:
    k = 1 + seed % (n - 1)
    risk = CVaR(0.6) if seed % 3 == 0 else Expectation()
    return Scene(seed, SHAPES[seed % len(SHAPES)], n, k, 1 + seed % 2, risk)


@pytest.mark.parametrize("shape", SHAPES)
def test_contexts_stand_as_plain_arithmetic_says(shape: str) -> None:
    """Of 300 contexts a shape, those where the alternative stands are told from the others."""
    found = set()
    for seed in range(6):
        scene = Scene(seed, shape, n=11, k=1 + seed, rivals=2, risk=CVaR(0.5) if seed % 2 else Expectation())
        low = np.array([axis.lower for axis in scene.axes])
        high = np.array([axis.upper for axis in scene.axes])
        contexts = np.array(list(scene.contexts(low, high, 50)))
        expected = [scene.is_explanation(context) for context in contexts]
        assert scene.search.standing(contexts).tolist() == expected
        found.update(expected)
    assert found == {True, False}
