"""What a plan costs under each past observation, as every number of the package needs it."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.aliases import Floats
from whence.errors import InputError
from whence.problems.base import DecisionProblem

__all__ = ["sample_costs"]


def sample_costs(problem: DecisionProblem, plan: Any, outcomes: Floats, name: str = "decision") -> Floats:
    """One finite cost per row of `outcomes`; whatever else a problem returns is refused, naming the plan `name`.

    Examples
    --------
    >>> import whence as wh
    >>> sample_costs(wh.Newsvendor(1, 3), [10.0], np.array([[8.0], [11.0]]))
    array([2., 3.])
    """
    try:
        costs = np.asarray(problem.costs(plan, outcomes), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"The plan given as {name!r} does not fit the problem: {error}", parameter=name) from error
    if costs.shape != (outcomes.shape[0],) or not np.isfinite(costs).all():
        raise InputError(
            f"The problem's 'costs' must return one finite number per row of Y ({outcomes.shape[0]}) for the plan "
            f"given as {name!r}. Got shape {costs.shape}.",
            parameter=name,
        )
    return costs
