"""The forms that plans have outside of their problem: what is drawn, and what may be edited.

:class:`~whence.problems.base.DecisionProblem` makes them of a plan of quantities, one number per part. A problem with
another kind of plan overrides the methods that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from whence.aliases import Floats
from whence.errors import InfeasiblePlanError, InputError
from whence.plain_values import finite, quoted

if TYPE_CHECKING:
    from whence.problems.base import DecisionProblem
    from whence.problems.route_map import RouteMap

__all__ = ["PlanEditor", "QuantityLimits", "ShownPlans", "check_feasible", "finite_quantity", "plan_numbers"]


@dataclass(frozen=True)
class ShownPlans:
    """Two plans in a form that can be drawn: quantities as arrays, routes as lists of nodes, anything else as it is."""

    #: What a plan is; "other" is shown by its text.
    form: Literal["quantities", "route", "other"]
    decision: Any
    alternative: Any
    #: For quantities, the name of each of them.
    parts: list[str] = field(default_factory=list)
    #: For routes, their map where it is known.
    map: RouteMap | None = None


@dataclass(frozen=True)
class PlanEditor:
    """What somebody needs who wants to see a plan and change it."""

    #: Bars, a network, or a table of numbers. A table without parts holds plans that only the problem can read.
    form: Literal["quantities", "route", "table"]
    #: Name of every quantity, the least and the largest value that it may have, and whether it must be a whole number.
    parts: list[str] = field(default_factory=list)
    lower: list[float | None] = field(default_factory=list)
    upper: list[float | None] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    #: A sensible end of the axis of every quantity.
    scale: list[float] = field(default_factory=list)
    #: The most that all quantities may add up to.
    budget: float | None = None
    #: Of a network: ``id``, ``label``, ``x`` and ``y`` of every node, ``from``, ``to`` and ``name`` of every edge.
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)
    #: Where routes begin and end.
    source: Any = None
    target: Any = None
    #: Whether the positions of the nodes are the data's own, not a layout made up here.
    drawn: bool = False


@dataclass(frozen=True)
class QuantityLimits:
    """What the quantities of a plan may be, all of them or each; None where there is no limit."""

    lower: Any = None
    upper: Any = None
    #: Which quantities must be whole numbers.
    whole: Any = False
    #: The most that all quantities may add up to.
    budget: float | None = None
    #: Values that an axis should hold besides those of the plans at hand, such as the largest demands.
    reach: Floats | None = None


def check_feasible(problem: DecisionProblem, plan: Any) -> None:
    """Raise an InfeasiblePlanError with the problem's own sentence where `plan` cannot be carried out."""
    try:
        reason = problem.check(plan)
    except (TypeError, ValueError) as error:
        reason = str(error)
    if reason:
        raise InfeasiblePlanError(reason)


def finite_quantity(entry: Any, name: str) -> float:
    """A number from plain data, finite."""
    number = finite(entry)
    if number is None:
        raise InputError(f"The plan's quantity of {quoted(name)} must be a finite number. Got {quoted(entry)} instead.")
    return number


def plan_numbers(plan: Any, size: int | None, what: str, name: Callable[[int], str]) -> Floats | str:
    """The finite numbers of a plan, or one sentence that says what is wrong with them.

    `what` they are reads like "quantities, one per product", and `name` gives that of each of them.
    """
    try:
        numbers = np.asarray(plan, dtype=np.float64)
    except (TypeError, ValueError):
        return f"The plan must be an array of numbers, but it is {plan!r}."
    if numbers.ndim != 1 or (size is not None and numbers.size != size):
        return f"The plan must hold {f'{size} ' if size is not None else ''}{what}, but its shape is {numbers.shape}."
    for j in np.flatnonzero(~np.isfinite(numbers)).tolist():
        return f"{name(j)} must be a finite number, but it is {numbers[j]:g}."
    return numbers
