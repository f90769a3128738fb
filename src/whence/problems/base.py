"""What a decision problem must offer to be learned, solved and explained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from whence.aliases import Floats
from whence.errors import InputError
from whence.risk import Risk

__all__ = ["DecisionProblem", "check_samples", "cost_unit_of"]


#: So many quantities are named where all of them are 0.
FEW_PARTS = 8


class DecisionProblem(ABC):
    """A decision under uncertainty: what a plan costs, and which plan is best for weighted samples.

    A problem of your own needs the two methods :meth:`costs` and :meth:`solve`. The others have
    defaults that fit plans which are arrays of quantities.

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
        """`decision` as a flat array of numbers, one a part."""
        return np.asarray(decision, dtype=np.float64).ravel()

    def parts(self, outcomes: Sequence[str] = ()) -> list[str] | None:
        """Names of the entries of :meth:`vector`, where the problem knows them.

        Parameters
        ----------
        outcomes : sequence of str
            Names of the columns of Y, for problems that decide one quantity a column.
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
        raise InputError(f"The 'cost_unit' parameter of {type(problem).__name__} must be a str. Got {unit!r} instead.")
    return unit.strip()


def check_samples(Y: Any, weights: Any, columns: int | None, problem: str) -> tuple[Floats, Floats]:
    """`Y` and `weights` as float arrays of matching shapes, or a sentence naming what is wrong."""
    y = np.asarray(Y, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    if y.ndim != 2 or (columns is not None and y.shape[1] != columns):
        wanted = "columns" if columns is None else f"{columns} columns"
        raise InputError(f"The 'Y' argument of {problem} must be 2-D with {wanted}. Got shape {y.shape} instead.")
    if w.shape != (y.shape[0],):
        raise InputError(
            f"The 'weights' argument of {problem} must hold one weight a row of Y ({y.shape[0]}). Got shape {w.shape}."
        )
    if not np.isfinite(y).all():
        raise InputError(f"The 'Y' argument of {problem} must be finite. Got NaN or infinity.")
    if not np.isfinite(w).all() or (w < 0).any() or abs(w.sum() - 1.0) > 1e-6:
        raise InputError(f"The 'weights' argument of {problem} must be non-negative and sum to 1. Got sum {w.sum():g}.")
    return y, w
