"""How the outcomes of both plans spread in both contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whence.aliases import Floats

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["Curve", "Spread", "masses", "spread_of"]


#: Bins of a distribution of outcomes.
BINS = 30
#: Costs beyond which no more than this share of the weight lies are not drawn one by one.
RARE = 0.005


@dataclass(frozen=True)
class Curve:
    """Outcomes of one plan in one context: costs, their weights, and the number that sums them up."""

    plan: str
    costs: Floats
    weights: Floats
    mark: float


@dataclass(frozen=True)
class Spread:
    """The outcomes of both plans, on common bins and a common scale.

    Attributes
    ----------
    panels : list
        A heading and the curves of the decision and the alternative, for either context.
    edges : ndarray
        Edges of the bins; the last one also holds rare costs beyond it.
    highest : float
        Largest weight in a bin of any curve.
    """

    panels: list[tuple[str, list[Curve]]]
    edges: Floats
    highest: float

    @property
    def beyond(self) -> bool:
        """Whether there are costs beyond the last bin."""
        curves = [curve for _, panel in self.panels for curve in panel]
        return any(bool((curve.costs[curve.weights > 0] > self.edges[-1]).any()) for curve in curves)


def spread_of(explanation: Explanation) -> Spread | None:
    """The outcomes of both plans in the initial context and in the changed one; None where they are not known."""
    costs, other = explanation.costs_decision, explanation.costs_alternative
    if costs is None or other is None:
        return None
    contexts = [("The context as it is", explanation.weights_before, explanation.cost_before)]
    after = explanation.weights_after
    if after is not None and explanation.cost_after is not None and explanation.status != "already":
        contexts.append(("The changed context", after, explanation.cost_after))
    panels = [
        (heading, [Curve("d", costs, weights, cost.decision), Curve("a", other, weights, cost.alternative)])
        for heading, weights, cost in contexts
    ]
    curves = [curve for _, panel in panels for curve in panel]
    edges = _edges(curves)
    return Spread(panels, edges, max(float(masses(curve, edges).max()) for curve in curves))


def masses(curve: Curve, edges: Floats) -> Floats:
    """Weight in every bin; the first and the last one also hold what lies further out."""
    speaking = curve.weights > 0
    inside = np.clip(curve.costs[speaking], edges[0], edges[-1])
    mass: Floats = np.histogram(inside, edges, weights=curve.weights[speaking])[0]
    return mass


def _edges(curves: list[Curve]) -> Floats:
    """Bins from the smallest cost to one that is hardly ever exceeded."""
    low = min(float(curve.costs[curve.weights > 0].min()) for curve in curves)
    high = max(curve.mark for curve in curves)
    for curve in curves:
        speaking = curve.weights > 0
        costs, weights = curve.costs[speaking], curve.weights[speaking]
        order = np.argsort(costs, kind="stable")
        reached = int(np.searchsorted(np.cumsum(weights[order]), 1.0 - RARE))
        high = max(high, float(costs[order[min(reached, order.size - 1)]]))
    return np.linspace(low, high, BINS + 1) if high > low else np.linspace(low - 0.5, low + 0.5, BINS + 1)
