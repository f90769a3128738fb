"""What a plan turned out to cost where one outcome came: also of a risk that looks at a tail, which one row has not."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.problems.base import DecisionProblem
from whence.risk import SAME_SHARE, Risk
from whence.util.aliases import Floats

__all__ = ["losses", "tail_begins"]


def tail_begins(problem: DecisionProblem, risk: Risk, plan: Any, Y: Floats, weights: Floats) -> float:
    """From which value on the worst share of what `plan` costs begins, where row i of `Y` has weight ``weights[i]``.

    Examples
    --------
    >>> from whence.problems import Newsvendor
    >>> from whence.risk import CVaR
    >>> demands = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> tail_begins(Newsvendor(1, 1), CVaR(0.75), [0.0], demands, np.full(4, 0.25))
    3.0
    """
    if risk.tail is None:
        return np.nan
    speaking = np.flatnonzero(weights)
    values = risk.values(np.asarray(problem.costs(plan, Y[speaking]), dtype=np.float64))
    assert values is not None
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[speaking][order])
    return float(values[order[int(np.argmax(upto >= (1.0 - risk.tail) * upto[-1] - SAME_SHARE))]])


def losses(risk: Risk, costs: Floats, begins: Floats) -> Floats | None:
    """Return what each row counts for, whose tail was seen to begin at `begins`; None for a risk that is no mean.

    For a tail it is the loss of Rockafellar and Uryasev, with the threshold of whoever decided: its mean is least for
    the plans of least CVaR, and thresholds that are right.

    Examples
    --------
    >>> from whence.risk import CVaR
    >>> losses(CVaR(0.5), np.array([1.0, 5.0]), np.array([2.0, 2.0])).tolist()
    [2.0, 8.0]
    """
    values, tail = risk.values(costs), risk.tail
    if values is None or tail is None:
        return values
    return np.asarray(begins + np.maximum(values - begins, 0.0) / tail)
