"""The selection of the k-th smallest, held against numpy's."""

from __future__ import annotations

import numpy as np

from whence._core import smallest_first


def test_the_smallest_come_first() -> None:
    """On 2,000 arrays with and without ties the first m are numpy's m smallest, and nothing is lost."""
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 60))
        values = rng.integers(0, 6, count).astype(float) if seed % 2 else rng.normal(size=count)
        m = int(rng.integers(1, count + 1))
        ordered = values.copy()
        smallest_first(ordered, m)
        assert np.array_equal(np.sort(ordered), np.sort(values))
        assert np.array_equal(np.sort(ordered[:m]), np.sort(np.partition(values, m - 1)[:m]))


def test_nothing_moves_where_there_is_nothing_to_choose() -> None:
    """None or all of the values, or none at all: the order stays as it is."""
    for values in (np.array([3.0, 1.0, 2.0]), np.empty(0)):
        for m in (-1, 0, 3, 7):
            ordered = values.copy()
            smallest_first(ordered, m)
            assert np.array_equal(ordered, values)


def test_the_order_depends_on_the_values_alone() -> None:
    """The same values give the same order, to which sums over the smallest owe that they are the same everywhere."""
    values = np.array([0.3, 0.1, 0.1, 0.7, 0.2, 0.9, 0.1, 0.4])
    ordered = values.copy()
    smallest_first(ordered, 4)
    assert ordered.tolist() == [0.1, 0.1, 0.1, 0.2, 0.3, 0.4, 0.9, 0.7]
