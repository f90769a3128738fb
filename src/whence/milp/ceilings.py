"""How large the weight of a past observation can get: the big-M of the CVaR model, four ways."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.aliases import Floats
from whence.engines import part_of
from whence.errors import InputError
from whence.weights import Weights
from whence.weights.trees import LeafMembers

__all__ = ["WAYS", "largest_in_leaves", "w_max"]

#: The ways to bound the weights.
WAYS = ("sample", "path", "mean", "unit")


def w_max(weights: Weights, how: str = "sample") -> Floats:
    """Upper bounds on the weight of every past observation, over all contexts.

    Parameters
    ----------
    weights : Weights
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
    >>> from whence.weights import KNNWeights
    >>> w_max(KNNWeights(k=2).fit(np.arange(6.0)[:, None]))
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    if how not in WAYS:
        names = ", ".join(map(repr, WAYS[:-1]))
        raise InputError(
            f"The 'w_max' parameter must be {names} or {WAYS[-1]!r}. Got {how!r} instead.", parameter="w_max"
        )
    if how == "unit":
        return np.ones(weights.n_samples_)
    ceilings: Floats = part_of(weights, "milp").ceilings(weights, how)
    return ceilings


def largest_in_leaves(members: LeafMembers, how: str) -> Floats:
    """The same for trees, in the way `how`."""
    leaf = members.leaf_of()
    own = np.array([1.0 / np.maximum(size[at], 1) for size, at in zip(members.size, leaf, strict=True)])
    total = members.totals()
    if total is not None:
        assert members.mass is not None
        ends = np.cumsum([size.size for size in members.size])[:-1]
        shared = zip(np.split(total, ends), leaf, strict=True)
        own = np.array([members.mass / np.where(at < 0, 1.0, part[at]) for part, at in shared])
    # A sample that does not count in a tree, or that no context shares a leaf with, gets no weight from it.
    own[leaf < 0] = 0.0
    if how == "sample":
        bound: Floats = own.mean(axis=0)
        return bound
    return np.full(members.n_samples, own.max(axis=1).mean() if how == "mean" else _longest_path(members, leaf, own))


def _longest_path(members: LeafMembers, leaf: NDArray[np.int64], own: Floats) -> float:
    """Mean weight along the heaviest chain of leaves, one per tree, each sharing a sample with the next."""
    reached = own[0].copy()
    for t in range(1, leaf.shape[0]):
        # The best chain into a leaf comes from any leaf of the tree before that holds one of its samples.
        best = np.zeros(members.size[t].size)
        np.maximum.at(best, leaf[t], reached)
        reached = best[leaf[t]] + own[t]
    return float(reached.max() / leaf.shape[0])
