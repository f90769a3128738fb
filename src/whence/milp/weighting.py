"""What the rest of the model needs from the weights, whichever estimator they come from."""

from __future__ import annotations

from typing import Any, Protocol

from whence.aliases import Floats
from whence.milp.axes import Axis
from whence.milp.model import Columns, Linear
from whence.milp.solvers.base import Row

__all__ = ["Weighting"]


class Weighting(Protocol):
    """The weights of the past observations as part of an integer program.

    It is made from the model, the question, and pairs of a coordinate and the thresholds (see
    :class:`whence.milp.axes.Splits`) that other parts of the model compare it with.

    Attributes
    ----------
    axes : list of Axis
        The coordinates of the context.
    """

    axes: list[Axis]

    def mean(self, values: Floats) -> Linear:
        """Weighted mean of `values`, one per past observation."""
        ...

    def means(self, values: Floats) -> list[Linear]:
        """Weighted mean of every column of `values`."""
        ...

    def columns(self) -> Columns:
        """Variables that hold the weights, one per past observation; added to the model when first asked for."""
        ...

    @staticmethod
    def ceilings(weights: Any, how: str) -> Floats:
        """Upper bounds on the weights, over all contexts."""
        ...

    def context(self, x: Floats) -> Floats:
        """The context where the variables are `x`, in coordinates."""
        ...

    def chosen(self, x: Floats) -> Floats:
        """The weights that the model has settled on where the variables are `x`."""
        ...

    def confirmed(self, context: Floats) -> Floats | None:
        """Weights at `context` by the fitted estimator; None where they are ambiguous."""
        ...

    def leave(self, x: Floats) -> Row:
        """The row that cuts off all contexts with the weights that the model has where the variables are `x`."""
        ...
