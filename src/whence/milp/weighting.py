"""What the rest of the model needs from the weights, whichever estimator they come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from whence.aliases import Floats
from whence.milp.axes import Axis, Splits
from whence.milp.model import Columns, Linear, Model, Row, scaled
from whence.question import Question

__all__ = ["Parts", "Weighting"]


@dataclass(frozen=True)
class Parts:
    """What weights are made of, in groups: the leaves of each tree, of which one is met, or all neighbours.

    Attributes
    ----------
    columns : ndarray of int
        The variables that say whether a part is met, 0 or 1.
    shares : sparse array of shape (parts, n)
        The weights that each of them gives.
    groups : list of slice
        Which parts belong together.
    met : int
        How many of a group are met.
    """

    columns: Columns
    shares: sparse.csr_array
    groups: list[slice]
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
        """Weighted mean of `values`, one per past observation."""

    def at_most(self, values: Floats, limit: float) -> Row:
        """The row that says: the weighted mean of `values` is at most `limit`."""
        return scaled(self.mean(values), limit)

    def means(self, values: Floats) -> list[Linear]:
        """Weighted mean of every column of `values`."""
        return [self.mean(column) for column in values.T]

    @abstractmethod
    def parts(self) -> Parts:
        """What weights are made of: leaves of trees, or neighbours."""

    def by_parts(self, value: Callable[[Floats], float]) -> Linear:
        """Sum of what `value` says of the weights of the parts, each times its share."""
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
        """Upper bounds on the weights over all contexts (see :func:`whence.milp.w_max`)."""

    def context(self, x: Floats) -> Floats:
        """The context where the variables are `x`, in coordinates."""
        return np.array([axis.position(x) for axis in self.axes])

    @abstractmethod
    def chosen(self, x: Floats) -> Floats:
        """The weights that the model has settled on where the variables are `x`."""

    @abstractmethod
    def confirmed(self, context: Floats) -> Floats | None:
        """Weights at `context` by the fitted estimator; None where they are ambiguous."""

    @abstractmethod
    def leave(self, x: Floats) -> Row:
        """The row that cuts off all contexts with the weights that the model has where the variables are `x`."""
