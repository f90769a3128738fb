"""The forms that plans have outside of their problem: plain data, typed text, what is drawn, what may be edited.

A plan of quantities, one number per part, has all of them here; :class:`~whence.problems.base.DecisionProblem` uses
them by default. A problem with another kind of plan overrides the methods that do not fit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from whence.aliases import Floats
from whence.errors import InfeasiblePlanError, InputError
from whence.plain_values import quoted, some
from whence.typed_values import pairs

if TYPE_CHECKING:
    from whence.problems.base import DecisionProblem
    from whence.problems.route_map import RouteMap

__all__ = ["PlanEditor", "QuantityLimits", "ShownPlans", "check_feasible"]

#: Reads one number as it is typed, or raises an InputError.
ReadNumber = Callable[[str], float]

#: Room above the largest quantity on record.
HEADROOM = 1.25
#: More parts than this are a table, not bars.
MOST_BARS = 24


@dataclass(frozen=True)
class ShownPlans:
    """Two plans in a form that can be drawn.

    Attributes
    ----------
    form : {"quantities", "route", "other"}
        What a plan is; "other" is shown by its text.
    decision, alternative : ndarray, list or other
        Quantities as arrays, routes as lists of nodes, anything else as it is.
    parts : list of str
        For quantities, the name of each of them.
    map : RouteMap or None
        For routes, their map where it is known.
    """

    form: Literal["quantities", "route", "other"]
    decision: Any
    alternative: Any
    parts: list[str] = field(default_factory=list)
    map: RouteMap | None = None


@dataclass(frozen=True)
class PlanEditor:
    """What somebody needs who wants to see a plan and change it.

    Attributes
    ----------
    form : {"quantities", "route", "table"}
        Bars, a network, or a table of numbers. A table without parts holds plans that only the problem can read.
    parts : list of str
        Name of every quantity.
    lower, upper : list of float or None
        Least and largest value that each quantity may have; None where there is no limit.
    whole : list of bool
        Whether a quantity must be a whole number.
    scale : list of float
        A sensible end of the axis of every quantity.
    budget : float or None
        The most that all quantities may add up to.
    nodes, edges : list of dict
        Of a network: ``id``, ``label``, ``x`` and ``y`` of every node, ``from``, ``to`` and ``name`` of every edge.
    source, target : node
        Where routes begin and end.
    drawn : bool
        Whether the positions of the nodes are the data's own, not a layout made up here.
    """

    form: Literal["quantities", "route", "table"]
    parts: list[str] = field(default_factory=list)
    lower: list[float | None] = field(default_factory=list)
    upper: list[float | None] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    scale: list[float] = field(default_factory=list)
    budget: float | None = None
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)
    source: Any = None
    target: Any = None
    drawn: bool = False


@dataclass(frozen=True)
class QuantityLimits:
    """What the quantities of a plan may be; None for a limit that there is not.

    Attributes
    ----------
    lower, upper : float, array or None
        Least and largest value: one for all quantities, or one each.
    whole : bool or array of bool
        Which quantities must be whole numbers.
    budget : float or None
        The most that all quantities may add up to.
    reach : array or None
        Values that an axis should hold besides those of the plans at hand, such as the largest demands.
    """

    lower: Any = None
    upper: Any = None
    whole: Any = False
    budget: float | None = None
    reach: Floats | None = None


def check_feasible(problem: DecisionProblem, plan: Any) -> None:
    """Raise an InfeasiblePlanError with the problem's own sentence where `plan` cannot be carried out."""
    try:
        reason = problem.check(plan)
    except (TypeError, ValueError) as error:
        reason = str(error)
    if reason:
        raise InfeasiblePlanError(reason)


# ---- quantities ------------------------------------------------------------------------------------------


def quantities_from_plain(problem: DecisionProblem, value: Any, outcomes: Sequence[str]) -> Floats:
    """Quantities from a list of numbers, or from numbers by the names of the parts, where those left out are 0."""
    names = problem.parts(outcomes)
    if isinstance(value, Mapping):
        if names is None:
            raise InputError("The plan must be a list of numbers, since the parts of this problem have no names.")
        known = {str(name): j for j, name in enumerate(names)}
        plan = np.zeros(len(names))
        for name, entry in value.items():
            if name not in known:
                raise InputError(f"The plan must name parts among {some(names)}. Got {quoted(name)} instead.")
            plan[known[name]] = finite_quantity(entry, str(name))
        return plan
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        also = "" if names is None else f", or quantities by name among {some(names)}"
        raise InputError(f"The plan must be a list of numbers{also}. Got {quoted(value)} instead.")
    if names is not None and len(value) != len(names):
        raise InputError(f"The plan must hold {len(names)} numbers, for {some(names)}. Got {len(value)} instead.")
    labels = names or [f"entry {j + 1}" for j in range(len(value))]
    return np.array([finite_quantity(entry, str(name)) for entry, name in zip(value, labels, strict=True)], dtype=float)


def finite_quantity(entry: Any, name: str) -> float:
    """A number from plain data, finite."""
    if isinstance(entry, int | float | np.number) and not isinstance(entry, bool):
        try:
            number = float(entry)
        except (OverflowError, TypeError):
            number = math.nan
        if math.isfinite(number):
            return number
    raise InputError(f"The plan's quantity of {quoted(name)} must be a finite number. Got {quoted(entry)} instead.")


def quantities_from_text(text: str, number: ReadNumber) -> Any:
    """Plain quantities from `part=value` pairs, or from numbers with spaces, commas or semicolons between them.

    Examples
    --------
    >>> quantities_from_text("rolls=300, rye bread=80", float), quantities_from_text("300 80", float)
    ({'rolls': 300.0, 'rye bread': 80.0}, [300.0, 80.0])
    """
    if "=" in text:
        return {name: number(entry) for name, entry in pairs(text, "The plan").items()}
    return [number(entry) for entry in re.split(r"[;\s]+|,\s*", text)]


def quantities_from_cells(cells: pd.DataFrame, number: ReadNumber) -> dict[str, float]:
    """Plain quantities from a table of texts: one row with a column per part, or two columns, part and value."""
    if len(cells) == 1:
        return {name: number(cells[name].iloc[0]) for name in cells.columns}
    if cells.shape[1] == 2:
        return {name: number(entry) for name, entry in cells.itertuples(index=False)}
    raise InputError(
        "A table must hold one row with a column per part of the plan, or two columns, part and value. "
        f"Got {len(cells)} rows of {cells.shape[1]} columns instead."
    )


def shown_quantities(problem: DecisionProblem, pair: tuple[Any, Any], outcomes: Sequence[str]) -> ShownPlans:
    """Two plans as quantities to be drawn; as "other" where they are none."""
    other = ShownPlans("other", *pair)
    try:
        first, second = (problem.vector(plan) for plan in pair)
    except (TypeError, ValueError):
        return other
    if first.shape != second.shape or not first.size:
        return other
    names = problem.parts(outcomes) or [f"z{i}" for i in range(first.size)]
    return ShownPlans("quantities", first, second, list(map(str, names))) if len(names) == first.size else other


def quantities_editor(
    problem: DecisionProblem, outcomes: Sequence[str], plans: Sequence[Any], limits: QuantityLimits
) -> PlanEditor:
    """What to edit of a plan of quantities, with axes that hold `plans`; a bare table where plans are no numbers."""
    try:
        vectors = np.array([problem.vector(plan) for plan in plans])
        flat = all(np.ndim(plan) == 1 and len(plan) == vectors.shape[1] for plan in plans)
    except (TypeError, ValueError):
        return PlanEditor("table")
    size = vectors.shape[1]
    parts = problem.parts(outcomes) or [f"z{j}" for j in range(size)]
    if not flat or not size or len(parts) != size:
        return PlanEditor("table")
    largest = np.maximum(np.abs(vectors).max(axis=0), np.abs(vectors).max() / 10)
    if limits.reach is not None and limits.reach.size == size:
        largest = np.maximum(largest, limits.reach / HEADROOM)
    return PlanEditor(
        form="quantities" if size <= MOST_BARS else "table",
        parts=parts,
        lower=_one_each(limits.lower, size),
        upper=_one_each(limits.upper, size),
        whole=np.broadcast_to(limits.whole, size).tolist(),
        scale=[float(f"{value:.2g}") if value > 0 else 1.0 for value in HEADROOM * largest],
        budget=None if limits.budget is None else float(limits.budget),
    )


def _one_each(limit: Any, size: int) -> list[float | None]:
    values = np.broadcast_to(math.nan if limit is None else limit, size).tolist()
    return [value if math.isfinite(value) else None for value in values]
