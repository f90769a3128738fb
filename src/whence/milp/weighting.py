"""What the rest of the model needs from the weights, whichever estimator they come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from whence.checks import one_of
from whence.engines import part_of
from whence.errors import InputError
from whence.milp.axes import Axis, Splits
from whence.milp.model import Columns, Linear, Model, Row, scaled
from whence.question import Question
from whence.util.aliases import Floats
from whence.weights import Weights
from whence.weights.trees import LeafMembers


@dataclass(frozen=True)
class Parts:
    """What weights are made of, in groups: the leaves of each tree, of which one is met, or all neighbours."""

    #: The variables that say whether a part is met, 0 or 1.
    columns: Columns
    #: The weights that each of them gives.
    shares: sparse.csr_array
    #: Which parts belong together.
    groups: list[slice]
    #: How many of a group are met.
    met: int


class Weighting(ABC):
    """The weights of the past observations as part of an integer program."""

    #: The coordinates of the context.
    axes: list[Axis]

    @abstractmethod
    def __init__(self, model: Model, question: Question, more: Sequence[tuple[int, Splits]] = ()) -> None:
        """Add the weights to `model`; other parts of it compare coordinates with the thresholds of `more`."""

    @abstractmethod
    def mean(self, values: Floats) -> Linear:
        """Return the weighted mean of `values`, one per past observation."""

    def at_most(self, values: Floats, limit: float) -> Row:
        """Return the row that says: the weighted mean of `values` is at most `limit`."""
        return scaled(self.mean(values), limit)

    def means(self, values: Floats) -> list[Linear]:
        """Return the weighted mean of every column of `values`."""
        return [self.mean(column) for column in values.T]

    @abstractmethod
    def parts(self) -> Parts:
        """Return what weights are made of: leaves of trees, or neighbours."""

    def by_parts(self, value: Callable[[Floats], float]) -> Linear:
        """Return the sum of what `value` says of the weights of the parts, each times its share."""
        parts, known = self.parts(), dict[bytes, float]()
        share = np.asarray(parts.shares.sum(axis=1)).ravel()
        found = np.empty(share.size)
        for i in range(share.size):
            own = parts.shares[[i]].toarray().ravel() / share[i]
            if own.tobytes() not in known:
                known[own.tobytes()] = value(own)
            found[i] = share[i] * known[own.tobytes()]
        return Linear(parts.columns, found)

    @cached_property
    @abstractmethod
    def columns(self) -> Columns:
        """Variables that hold the weights, one per past observation; added to the model when first asked for."""

    @staticmethod
    @abstractmethod
    def ceilings(weights: Any, how: str) -> Floats:
        """Return the upper bounds on the weights over all contexts (see :func:`whence.milp.w_max`)."""

    def context(self, x: Floats) -> Floats:
        """Return the context where the variables are `x`, in coordinates."""
        return np.array([axis.position(x) for axis in self.axes])

    @abstractmethod
    def chosen(self, x: Floats) -> Floats:
        """Return the weights that the model has settled on where the variables are `x`."""

    @abstractmethod
    def confirmed(self, context: Floats) -> Floats | None:
        """Return weights at `context` by the fitted estimator; None where they are ambiguous."""

    @abstractmethod
    def leave(self, x: Floats) -> Row:
        """Return the row that cuts off all contexts with the weights that the model has where the variables are `x`."""


#: The ways to bound the weights.
WAYS = ("sample", "path", "mean", "unit")


def w_max(weights: Weights, how: str = "sample") -> Floats:
    """Return the upper bounds on the weight of every past observation, over all contexts.

    "sample" is the exact bound: in every tree a sample weighs either nothing or what it weighs at its own context, so
    that no context gives it more than its own. "path" is the longest path over leaves of successive trees that share a
    sample, and "mean" the mean of the trees' largest weights (both from the paper's appendix); "unit" is 1. A neighbour
    never weighs more than 1/k, whatever `how` says, except for "unit".

    >>> from whence.weights import KNNWeights
    >>> w_max(KNNWeights(k=2).fit(np.arange(6.0)[:, None]))
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    ways = one_of(*WAYS)
    if not ways.fits(how):
        raise InputError(f"The 'w_max' parameter must be {ways.wanted}. Got {how!r} instead.")
    if how == "unit":
        return np.ones(weights.n_samples_)
    ceilings: Floats = part_of(weights, "milp").ceilings(weights, how)
    return ceilings


def largest_in_leaves(members: LeafMembers, how: str) -> Floats:
    """Return the same for trees, in the way `how`."""
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
    """Return the mean weight along the heaviest chain of leaves, one per tree, each sharing a sample with the next."""
    reached = own[0].copy()
    for t in range(1, leaf.shape[0]):
        # The best chain into a leaf comes from any leaf of the tree before that holds one of its samples.
        best = np.zeros(members.size[t].size)
        np.maximum.at(best, leaf[t], reached)
        reached = best[leaf[t]] + own[t]
    return float(reached.max() / leaf.shape[0])
