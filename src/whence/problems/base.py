"""What a decision problem must offer to be learned, solved and explained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.aliases import Floats
from whence.errors import argument_error, parameter_error
from whence.plain_values import to_plain
from whence.problems import plan_forms
from whence.problems.plan_forms import PlanEditor, QuantityLimits, ShownPlans
from whence.risk import Risk

if TYPE_CHECKING:
    from whence.problems.linear import Polytope

__all__ = ["DecisionProblem", "check_outcomes", "check_samples", "cost_unit_of"]


#: So many quantities are named where all of them are 0.
FEW_PARTS = 8


class DecisionProblem(ABC):
    """A decision under uncertainty: what a plan costs, and which plan is best for weighted samples.

    A problem of your own needs the two methods :meth:`costs` and :meth:`solve`. The others have
    defaults that fit plans which are arrays of quantities; a problem with another kind of plan says with them how its
    plans are written, read, drawn and edited.

    Attributes
    ----------
    cost_unit : str
        Unit of the costs, such as "€" or "min", as texts, charts and files show it; "" for none. A problem of your own
        may set it in its class, and any problem on an object.

    Examples
    --------
    >>> import numpy as np
    >>> class Median(DecisionProblem):
    ...     def costs(self, decision, Y):
    ...         return np.abs(Y[:, 0] - decision[0])
    ...     def solve(self, Y, weights, risk):
    ...         order = np.argsort(Y[:, 0])
    ...         half = np.searchsorted(np.cumsum(weights[order]), 0.5)
    ...         return Y[order[half], :1]
    """

    cost_unit: str = ""

    @abstractmethod
    def costs(self, decision: Any, Y: Floats) -> Floats:
        """Cost of `decision` under every row of `Y` (recourse included), as a 1-D array."""

    @abstractmethod
    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> Any:
        """A plan that minimises `risk` of the costs when row i of `Y` has weight ``weights[i]``."""

    def outcome_columns(self) -> int | None:
        """How many columns the outcomes must have; None where any number will do."""
        return None

    def check(self, decision: Any) -> str | None:
        """None where `decision` is feasible, otherwise one sentence that says why it is not."""
        return None

    def vector(self, decision: Any) -> Floats:
        """`decision` as a flat array of numbers, one per part."""
        return np.asarray(decision, dtype=np.float64).ravel()

    def parts(self, outcomes: Sequence[str] = ()) -> list[str] | None:
        """Names of the entries of :meth:`vector`, where the problem knows them.

        Parameters
        ----------
        outcomes : sequence of str
            Names of the columns of Y, for problems that decide one quantity per column.
        """
        return None

    def describe(self, decision: Any, outcomes: Sequence[str] = ()) -> str:
        """`decision` as short readable text: its quantities, or what it says of itself where it is no numbers."""
        try:
            values = self.vector(decision)
        except (TypeError, ValueError):
            return str(decision)
        names = self.parts(outcomes) or [f"z{i}" for i in range(values.size)]
        shown = [f"{name} {value:g}" for name, value in zip(names, values, strict=True) if abs(value) > 1e-9]
        if not shown and len(names) > FEW_PARTS:
            return f"0 of each of {len(names)} parts"
        return ", ".join(shown or [f"{name} 0" for name in names])

    # ---- plans outside of the problem: as plain data, as typed text, on paper and on the page -------------------

    def to_plain(self, plan: Any) -> Any:
        """`plan` as lists, numbers and texts, which JSON can hold.

        Examples
        --------
        >>> from whence.problems import Newsvendor
        >>> Newsvendor(1, 2).to_plain(np.array([3.0, 4.5]))
        [3.0, 4.5]
        """
        try:
            return to_plain(self.vector(plan))
        except (TypeError, ValueError):
            return to_plain(plan)

    def from_plain(self, value: Any, outcomes: Sequence[str] = ()) -> Any:
        """The feasible plan that `value`, as read from JSON, stands for; an InputError says why where it is none.

        Parameters
        ----------
        value : list or dict
            A list of numbers, or a dict from the names of the parts to numbers, where those left out are 0.
        outcomes : sequence of str
            Names of the columns of Y, after which some problems name their parts.

        Examples
        --------
        >>> from whence.problems import Newsvendor
        >>> Newsvendor(holding=[1, 1], backorder=[2, 3], names=["rolls", "rye bread"]).from_plain({"rye bread": 40})
        array([ 0., 40.])
        """
        plan = plan_forms.quantities_from_plain(self, value, outcomes)
        plan_forms.check_feasible(self, plan)
        return plan

    def plain_from_text(self, text: str, number: Callable[[str], float]) -> Any:
        """What :meth:`from_plain` takes, from a plan as people type it; `number` reads a number in it."""
        return plan_forms.quantities_from_text(text, number)

    def plain_from_cells(self, cells: pd.DataFrame, number: Callable[[str], float]) -> Any:
        """What :meth:`from_plain` takes, from the texts of a table that holds one plan."""
        return plan_forms.quantities_from_cells(cells, number)

    def shown(self, decision: Any, alternative: Any, outcomes: Sequence[str] = ()) -> ShownPlans:
        """Two plans in a form that reports and charts can draw; by their text alone where none of the forms fits."""
        return plan_forms.shown_quantities(self, (decision, alternative), outcomes)

    def editor(self, Y: Floats, outcomes: Sequence[str], plans: Sequence[Any]) -> PlanEditor:
        """What the page offers to see and change of a plan.

        Parameters
        ----------
        Y : ndarray
            The outcomes on record, for sensible axes.
        outcomes : sequence of str
            Names of the columns of Y.
        plans : sequence of plans
            Some that axes must hold, at least one.
        """
        return plan_forms.quantities_editor(self, outcomes, plans, self.quantity_limits(Y))

    def quantity_limits(self, Y: Floats) -> QuantityLimits:
        """What the quantities of a plan may be, for the page: no limits unless the problem knows better."""
        return QuantityLimits()

    # ---- problems that are linear programs ----------------------------------------------------------------------

    def polytope(self) -> Polytope | None:
        """What :meth:`vector` of a plan must satisfy, where the best plans are corners of a polytope; otherwise None.

        Absolute explanations of such a problem may use ``engine="milp", method="dual"`` under expected cost.
        """
        return None

    def cost_rows(self, Y: Floats) -> Floats:
        """Cost of one unit of every entry of :meth:`vector`, one row per row of `Y`; goes with :meth:`polytope`."""
        raise InputError(f"A problem with a polytope must define 'cost_rows'. Got {type(self).__name__} without it.")


def cost_unit_of(problem: Any) -> str:
    """Unit of the costs of `problem`, "" where it has none.

    Examples
    --------
    >>> from whence.problems import Newsvendor
    >>> cost_unit_of(Newsvendor(holding=1, backorder=4, cost_unit="€"))
    '€'
    """
    unit = getattr(problem, "cost_unit", "")
    if not isinstance(unit, str):
        raise parameter_error(type(problem).__name__, "cost_unit", "be a str", repr(unit))
    return unit.strip()


def check_outcomes(Y: Any, columns: int | None, problem: str) -> Floats:
    """`Y` as a 2-D float array with so many columns, or a sentence naming what is wrong."""
    y = np.asarray(Y, dtype=np.float64)
    if y.ndim != 2 or (columns is not None and y.shape[1] != columns):
        wanted = "columns" if columns is None else f"{columns} columns"
        raise argument_error(problem, "Y", f"be 2-D with {wanted}", f"shape {y.shape}")
    return y


def check_samples(Y: Any, weights: Any, columns: int | None, problem: str) -> tuple[Floats, Floats]:
    """`Y` and `weights` as float arrays of matching shapes, or a sentence naming what is wrong."""
    y = check_outcomes(Y, columns, problem)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (y.shape[0],):
        raise argument_error(problem, "weights", f"hold one weight per row of Y ({y.shape[0]})", f"shape {w.shape}")
    if not np.isfinite(y).all():
        raise argument_error(problem, "Y", "be finite", "NaN or infinity")
    if not np.isfinite(w).all() or (w < 0).any() or abs(w.sum() - 1.0) > 1e-6:
        raise argument_error(problem, "weights", "be non-negative and sum to 1", f"sum {w.sum():g}")
    return y, w
