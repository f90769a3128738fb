"""The forests of the paper, whatever the defaults of the library."""

from __future__ import annotations

import numpy as np

from whence import ForestWeights


def paper_forest(
    n_trees: int = 100, max_depth: int | None = 4, random_state: int | np.random.RandomState | None = None
) -> ForestWeights:
    """A forest as scikit-learn grew it for the paper: the square root of the features at a split, leaves of any size.

    Examples
    --------
    >>> forest = paper_forest(100, 4)
    >>> forest.max_features, forest.min_samples_leaf
    ('sqrt', 1)
    """
    return ForestWeights(n_trees, max_depth, max_features="sqrt", random_state=random_state, min_samples_leaf=1)
