"""Forests with the paper's settings, so that tests neither change nor slow down with the defaults of the library."""

from __future__ import annotations

from typing import Any

from whence.weights import ForestWeights

#: The same in the table [weights] of a project file.
PAPER_KEYS = 'max_depth = 4\nmin_samples_leaf = 1\nmax_features = "sqrt"\n'


def paper_forest(n_trees: int = 100, max_depth: int | None = 4, **given: Any) -> ForestWeights:
    """Shallow trees that see the square root of the features at a split and may end in leaves of a single row."""
    return ForestWeights(n_trees, max_depth, **{"max_features": "sqrt", "min_samples_leaf": 1, **given})
