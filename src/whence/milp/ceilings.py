"""How large the weight of a past observation can get: the big-M of the CVaR model, four ways."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.errors import InputError
from whence.weights import ForestWeights, KNNWeights
from whence.weights.forest import LeafMembers

__all__ = ["w_max"]


def w_max(weights: ForestWeights | KNNWeights, how: str = "sample") -> Floats:
    """Upper bounds on the weight of every past observation, over all contexts.

    Parameters
    ----------
    weights : ForestWeights or KNNWeights
        Fitted weights. A neighbour never weighs more than 1/k, whatever `how` says, except for "unit".
    how : {"sample", "path", "mean", "unit"}
        "sample" is the exact bound: in every tree a sample weighs either nothing or what it weighs at its own
        context, so that no context gives it more than its own. "path" is the longest path over leaves of
        successive trees that share a sample, and "mean" the mean of the trees' largest weights (both from the
        paper's appendix); "unit" is 1.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> w_max(KNNWeights(k=2).fit(X))
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    if how not in ("sample", "path", "mean", "unit"):
        raise InputError(f"The 'w_max' parameter must be 'sample', 'path', 'mean' or 'unit'. Got {how!r} instead.")
    n = weights.n_samples_
    if how == "unit":
        return np.ones(n)
    if isinstance(weights, KNNWeights):
        return np.full(n, 1.0 / weights.k)
    own = _own_weights(weights.members_)
    if how == "sample":
        bound: Floats = own.mean(axis=0)
        return bound
    if how == "mean":
        return np.full(n, own.max(axis=1).mean())
    return np.full(n, _longest_path(weights.members_, own))


def _leaf_of(members: LeafMembers) -> NDArray[np.int64]:
    """Leaf of every sample in every tree."""
    leaf = np.empty(members.order.shape, dtype=np.int64)
    for t, size in enumerate(members.size):
        leaf[t, members.order[t]] = np.repeat(np.arange(size.size), size)
    return leaf


def _own_weights(members: LeafMembers) -> Floats:
    """Weight of every sample in every tree at its own context."""
    leaf = _leaf_of(members)
    return np.array([1.0 / members.size[t][leaf[t]] for t in range(leaf.shape[0])])


def _longest_path(members: LeafMembers, own: Floats) -> float:
    """Mean weight along the heaviest chain of leaves, one a tree, each sharing a sample with the next."""
    leaf = _leaf_of(members)
    reached = own[0].copy()
    for t in range(1, leaf.shape[0]):
        # The best chain into a leaf comes from any leaf of the tree before that holds one of its samples.
        best = np.zeros(members.size[t].size)
        np.maximum.at(best, leaf[t], reached)
        reached = best[leaf[t]] + own[t]
    return float(reached.max() / leaf.shape[0])
