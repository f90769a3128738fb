"""What the decision maker minimises: the mean of the costs, or the mean of their worst tail."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from whence.aliases import Floats
from whence.errors import InputError, InputTypeError

__all__ = ["CVaR", "Expectation", "Risk", "tail_flow", "tail_of"]


@runtime_checkable
class Risk(Protocol):
    """What a risk measure offers: one number for costs that occur with given weights."""

    def of(self, costs: ArrayLike, weights: ArrayLike) -> float:
        """Risk of `costs`, one a sample, under `weights` that sum to one."""
        ...


@dataclass(frozen=True)
class Expectation:
    """Expected cost.

    Examples
    --------
    >>> Expectation().of([1.0, 3.0], [0.25, 0.75])
    2.5
    """

    name = "expected cost"

    def of(self, costs: ArrayLike, weights: ArrayLike) -> float:
        """Weighted mean of `costs`."""
        c, w = _checked(costs, weights)
        return float(w @ c)


@dataclass(frozen=True)
class CVaR:
    """Conditional value-at-risk: the mean of the worst ``1 - alpha`` share of the costs.

    The atom at which the tail begins is split, so that exactly ``1 - alpha`` of the weight counts
    (Rockafellar and Uryasev, 2002). ``CVaR(0)`` is the expected cost, and is treated as such everywhere.

    Parameters
    ----------
    alpha : float
        Share of the outcomes that is left out, in [0, 1).

    Examples
    --------
    >>> CVaR(0.5).of([1.0, 2.0, 3.0, 4.0], [0.25] * 4)
    3.5
    """

    alpha: float

    def __post_init__(self) -> None:
        wanted = f"The 'alpha' parameter of CVaR must be a float in [0, 1). Got {self.alpha!r} instead."
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, Real):
            raise InputTypeError(wanted)
        if not 0.0 <= float(self.alpha) < 1.0:
            raise InputError(wanted)

    @property
    def name(self) -> str:
        """How reports call it."""
        return Expectation.name if tail_of(self) is None else f"CVaR at {self.alpha:g}"

    def of(self, costs: ArrayLike, weights: ArrayLike) -> float:
        """Mean of the ``1 - alpha`` tail of `costs`."""
        tail = tail_of(self)
        if tail is None:
            return Expectation().of(costs, weights)
        c, w = _checked(costs, weights)
        # Most weights of a forest or of neighbours are zero, and only the others need sorting.
        speaking = np.flatnonzero(w)
        c, w = c[speaking], w[speaking]
        order = np.argsort(-c, kind="stable")
        return float(tail_flow(w[order], tail) @ c[order] / tail)


def tail_of(risk: Risk) -> float | None:
    """The share of the worst outcomes that a CVaR is the mean of; None where all outcomes count, as in ``CVaR(0)``.

    Examples
    --------
    >>> tail_of(CVaR(0.75)), tail_of(CVaR(0)), tail_of(Expectation())
    (0.25, None, None)
    """
    tail = 1.0 - float(risk.alpha) if isinstance(risk, CVaR) else 1.0
    return tail if tail < 1.0 else None


def tail_flow(weights: Floats, tail: float) -> Floats:
    """Share of each weight, in the given order, that fills a tail of mass `tail`, the last one split.

    Weights that sum to a hair less than `tail` are stretched, so that the tail is never short.
    """
    upto = np.cumsum(weights)
    if weights.size and 0.0 < upto[-1] < tail:
        stretched: Floats = weights * (tail / upto[-1])
        return stretched
    flow: Floats = np.clip(tail - (upto - weights), 0.0, weights)
    return flow


def _checked(costs: ArrayLike, weights: ArrayLike) -> tuple[Floats, Floats]:
    c = np.asarray(costs, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    if c.ndim != 1 or c.shape != w.shape:
        raise InputError(
            f"'costs' and 'weights' must be 1-D and of the same length. Got shapes {c.shape} and {w.shape} instead."
        )
    return c, w
