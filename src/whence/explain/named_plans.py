"""Plans whose parts are named, put into the order of the problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from whence.problems.base import DecisionProblem
from whence.tables import as_pandas

__all__ = ["in_order"]


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
