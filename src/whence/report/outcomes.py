"""How the outcomes of both plans spread in both contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whence.aliases import Floats
from whence.report.model import CostPair, Panel, Spread

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["spread_of"]


#: Bins of a distribution of outcomes.
BINS = 30
#: Costs beyond which no more than this share of the weight lies are not drawn one by one.
RARE = 0.005


class _Curve(NamedTuple):
    """Outcomes of one plan in one context: the costs that have a weight, their weights, and what sums them up."""

    costs: Floats
    weights: Floats
    mark: float


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
        (heading, cost, [_Curve(c[w > 0], w[w > 0], float(mark)) for c, mark in zip((costs, other), cost, strict=True)])
        for heading, w, cost in contexts
    ]
    curves = [curve for *_, pair in panels for curve in pair]
    edges = _edges(curves)
    drawn = [
        Panel(
            heading=heading,
            decision=_masses(pair[0], edges).tolist(),
            alternative=_masses(pair[1], edges).tolist(),
            marks=CostPair(decision=float(cost.decision), alternative=float(cost.alternative)),
        )
        for heading, cost, pair in panels
    ]
    return Spread(
        edges=edges.tolist(),
        highest=max(max(mass) for panel in drawn for mass in (panel.decision, panel.alternative)),
        beyond=any(bool((curve.costs > edges[-1]).any()) for curve in curves),
        panels=drawn,
    )


def _masses(curve: _Curve, edges: Floats) -> Floats:
    """Weight in every bin; the first and the last one also hold what lies further out."""
    inside = np.clip(curve.costs, edges[0], edges[-1])
    mass: Floats = np.histogram(inside, edges, weights=curve.weights)[0]
    return mass


def _edges(curves: list[_Curve]) -> Floats:
    """Bins from the smallest cost to one that is hardly ever exceeded."""
    low = min(float(curve.costs.min()) for curve in curves)
    high = max(curve.mark for curve in curves)
    for costs, weights, _ in curves:
        order = np.argsort(costs, kind="stable")
        reached = int(np.searchsorted(np.cumsum(weights[order]), 1.0 - RARE))
        high = max(high, float(costs[order[min(reached, order.size - 1)]]))
    return np.linspace(low, high, BINS + 1) if high > low else np.linspace(low - 0.5, low + 0.5, BINS + 1)
