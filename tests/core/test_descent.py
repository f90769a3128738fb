"""One context in all trees of several forests; `tests/weights/test_refits_descent.py` holds it against fitted ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence import _core


def arrays(**changes: Any) -> dict[str, Any]:
    """Two forests of one tree each: a split at 0.5, with the right child before the left one, and a lone leaf."""
    plain = {
        "column": np.array([0, -1, -1, -1]),
        "threshold": np.array([0.5, 0.0, 0.0, 0.0]),
        "left": np.array([2, -1, -1, -1]),
        "right": np.array([1, -1, -1, -1]),
        "missing_left": np.array([1, 0, 0, 0]),
        "roots": np.array([0, 3]),
        "first": np.array([0, 2, 0, 0]),
        "size": np.array([0, 1, 2, 3]),
        "orders": (np.array([[2, 0, 1]], dtype=np.int32), np.array([[0, 1, 2]], dtype=np.int32)),
    }
    return {**plain, **changes}


@pytest.mark.parametrize(("value", "leaf"), [(0.5, 2), (0.75, 1), (np.nan, 2), (-np.inf, 2)])
def test_leaves_and_weights(value: float, leaf: int) -> None:
    """Left up to the threshold, a missing number where the node sends it; the samples of a leaf count alike."""
    descent = _core.Descent(**arrays())
    row = np.array([value], dtype=np.float32)
    assert descent.leaves(row).tolist() == [leaf, 3]
    wanted = [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]][leaf == 1]
    np.testing.assert_array_equal(descent.weights(row), [wanted, [1 / 3] * 3])


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": np.zeros(3)},
        {"left": np.array([0, -1, -1, -1])},  # its own child
        {"left": np.array([1, -1, -1, -1])},  # one child twice
        {"left": np.array([3, -1, -1, -1])},  # in another tree
        {"roots": np.array([0])},
        {"roots": np.array([0, 3, 3])},
        {"first": np.array([0, 3, 0, 0])},
        {"orders": (np.array([[2, 0, 3]], dtype=np.int32), np.array([[0, 1, 2]], dtype=np.int32))},
        {"orders": (np.array([[2, 0, 1]], dtype=np.int32), np.array([[0, 1]], dtype=np.int32))},
        {"orders": ()},
    ],
)
def test_arrays_that_are_no_forests(changes: dict[str, Any]) -> None:
    """What would lead out of an array, or round and round, is refused."""
    with pytest.raises(ValueError, match="must"):
        _core.Descent(**arrays(**changes))


def test_a_context_without_a_column_of_the_trees() -> None:
    """It is refused, and so are numbers of another type."""
    descent = _core.Descent(**arrays())
    with pytest.raises(ValueError, match="all columns"):
        descent.weights(np.zeros(0, dtype=np.float32))
    with pytest.raises(TypeError):
        descent.leaves(np.zeros(1))  # type: ignore[arg-type]
