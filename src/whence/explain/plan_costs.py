"""Plans as a problem takes them, and what they cost under each past observation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from whence.errors import InputError
from whence.problems.base import DecisionProblem
from whence.problems.plan_sets import AnyPlan, PlanSet
from whence.util.aliases import Floats
from whence.util.frames import as_pandas

__all__ = ["in_order", "sample_costs", "share_below"]


def in_order(problem: DecisionProblem, plan: Any, outcomes: Sequence[str]) -> Any:
    """A Series, a one-row DataFrame or a mapping with the names of the parts as the problem's plan.

    Any other plan, and every plan of a problem whose parts have no names, is left as it is.

    Examples
    --------
    >>> import whence as wh
    >>> in_order(wh.Newsvendor(1, 2), pd.Series({"rye": 55.0, "rolls": 100.0}), ["rolls", "rye"])
    array([100.,  55.])
    """
    plan = as_pandas(plan)
    if isinstance(plan, pd.DataFrame) and len(plan) == 1:
        plan = plan.iloc[0]
    if isinstance(plan, pd.Series):
        named = {name: value for name, value in plan.items() if isinstance(name, str)}
        if len(named) < len(plan):
            return plan.to_numpy()
    elif isinstance(plan, Mapping):
        named = dict(plan)
    else:
        return plan
    return plan if problem.parts(outcomes) is None else problem.from_plain(named, outcomes)


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


def share_below(plans: PlanSet, share: float) -> float:
    """By which share of the decision's cost some plan of the set must be cheaper, where `share` was asked for.

    Where it is any plan, the decision must be more than so much above the best, which then is less than
    ``1 / (1 + share)`` of it.

    Examples
    --------
    >>> import whence as wh
    >>> share_below(wh.Newsvendor(1, 2).at_least(0, 5.0), 0.25), share_below(AnyPlan(wh.Newsvendor(1, 2)), 0.25)
    (0.25, 0.2)
    """
    return share / (1.0 + share) if isinstance(plans, AnyPlan) else share
