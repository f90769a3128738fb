"""The result: the nearest context in which the alternative would have been better, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.explain.question import Kind, Status
from whence.problems.base import DecisionProblem

__all__ = ["Costs", "Explanation"]

Floats = NDArray[np.float64]


class Costs(NamedTuple):
    """Cost (or CVaR) of the explained decision and of the alternative in one context."""

    decision: float
    alternative: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Answer to "why not my plan?".

    Attributes
    ----------
    status : {"optimal", "already", "none", "time_limit", "interrupted"}
        "optimal": the nearest context, proved. "already": the criterion holds in the initial context. "none":
        proved that there is no such context. "time_limit", "interrupted": the best found, if any, and a bound.
    kind : {"relative", "absolute"}
        Whether the alternative had to be better than the decision, or optimal.
    context : Series or None
        The nearest context, in the user's units.
    changes : DataFrame
        One row a feature that changes: feature, from, to, distance.
    distance, bound : float
        Distance found, and proved lower bound on the true optimum.
    cost_before, cost_after : Costs
        Of the decision and the alternative in the initial context and in `context`.
    weights_before, weights_after : ndarray of shape (n,)
        Which past observations speak in either context.
    costs_decision, costs_alternative : ndarray of shape (n,)
        What either plan costs under each past observation.
    """

    status: Status
    kind: Kind
    initial: pd.Series
    context: pd.Series | None
    changes: pd.DataFrame
    distance: float
    bound: float
    decision: Any
    alternative: Any
    cost_before: Costs
    cost_after: Costs | None
    weights_before: Floats
    weights_after: Floats | None
    risk: str
    engine: str
    seconds: float
    nodes: int
    cuts: int = 0
    tolerance: float = 0.0
    separation: float | None = None
    #: Readable text of either plan.
    decision_text: str = ""
    alternative_text: str = ""
    #: Units of the features that have one.
    units: dict[str, str] = field(default_factory=dict)
    #: Kind of every feature: "continuous", "discrete", "categorical" or "binary".
    kinds: dict[str, str] = field(default_factory=dict)
    #: For continuous features that change: between these two values (in the user's units) the verdict stays the same.
    room: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: Cost of either plan under each past observation.
    costs_decision: Floats | None = None
    costs_alternative: Floats | None = None
    #: What the report draws from: past contexts, the problem and the names of its outcomes (references, not copies).
    history: pd.DataFrame | None = None
    problem: DecisionProblem | None = None
    outcomes: list[str] = field(default_factory=list)
    #: Restrictions that rule out every explanation, where freeing them would help (status "none").
    blocking: list[str] = field(default_factory=list)
    #: The explanation without the user's restrictions, where the restricted question has none.
    unrestricted: Explanation | None = None
    note: str = ""

    @property
    def gap(self) -> float:
        """Distance minus bound: 0 where the answer is proved."""
        return 0.0 if self.distance == self.bound else self.distance - self.bound

    @property
    def found(self) -> bool:
        """Whether there is a context to show."""
        return self.context is not None

    def __str__(self) -> str:
        from whence.report.words import sentences

        return sentences(self)

    def __repr__(self) -> str:
        return f"<Explanation {self.kind} {self.status} distance={self.distance:.6g} bound={self.bound:.6g}>"

    def _repr_html_(self) -> str:
        from whence.report.html import fragment

        return fragment(self)

    def to_html(self, path: Any, *, title: str = "Why not my plan?", question: str = "") -> None:
        """Write a self-contained report to `path`, under `title` and after a sentence that says what was asked."""
        from whence.report.html import write

        write(self, path, title=title, question=question)
