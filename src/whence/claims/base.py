"""What must hold at a context: the claim that a question is about.

A claim is judged *at* a context by what the predictor says there: the weights of the past observations, or a forecast.
Whatever is asked of plans lives here and nowhere else: margins, shares, tolerances on costs and standard errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from whence.util.aliases import Floats, Kind

__all__ = ["Claim"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Claim(ABC):
    """What must hold at a context.

    Attributes
    ----------
    tau : float
        Tolerance on costs, the same for pruning, cuts and tests.
    confidence : float
        By how many standard errors over the trees of a forest, or over the neighbours, it must hold.
    """

    #: Whether one other plan must be beaten ("relative"), or all there are ("absolute").
    kind: ClassVar[Kind] = "relative"

    tau: float
    confidence: float = 0.0

    @property
    def is_confident(self) -> bool:
        """Whether it must hold by standard errors."""
        return self.confidence > 0.0

    @abstractmethod
    def excess(self, at: Floats) -> float:
        """Return by how much the claim is missed at a context, standard errors and `tau` left aside."""

    def is_satisfied(self, at: Floats) -> bool:
        """Whether the claim holds at a context, up to `tau`; of a plan that must be the best, against the decision."""
        return self.excess(at) <= self.tau

    def rival(self, at: Floats) -> Any:
        """Return what refutes the claim at a context besides what it names itself; None where nothing does."""
        return None

    @abstractmethod
    def with_confidence(self, kappa: float) -> Self:
        """Return the claim that must hold by so many standard errors."""
