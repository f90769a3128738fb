"""The two plans of a report: as they are computed with, and which parts of them are worth drawing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.report.model import Plans, tupled

__all__ = ["in_form", "most_different", "plan_of"]

#: Most parts of a plan that are drawn as bars; those on which the plans differ most come first.
DRAWN = 24


def plan_of(plans: Plans, name: str) -> Any:
    """The plan of that name: quantities as an array, a route as a list of nodes, anything else as it is."""
    return in_form(getattr(plans, name), plans.form)


def in_form(plan: Any, form: str) -> Any:
    """A plan in plain values as it is computed with."""
    if form == "quantities":
        # A single number that is no list is a plan of its own kind.
        return plan if isinstance(plan, int | float) else np.array(plan, dtype=np.float64)
    return [tupled(node) for node in plan] if form == "route" else plan


def most_different(plans: Plans, most: int = DRAWN) -> tuple[NDArray[np.int64], int]:
    """Which quantities to draw, and how many are left out: not those that are 0 in both plans.

    None at all where the plans are not quantities.
    """
    if plans.form != "quantities":
        return np.zeros(0, dtype=np.int64), 0
    first, second = plan_of(plans, "decision"), plan_of(plans, "alternative")
    used = np.flatnonzero((np.abs(first) > 1e-9) | (np.abs(second) > 1e-9))
    shown = np.sort(used[np.argsort(-np.abs(first - second)[used], kind="stable")][:most])
    return shown, int(used.size - shown.size)
