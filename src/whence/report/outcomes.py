"""How the outcomes of both plans spread in both contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def spread_of(explanation: Explanation) -> Spread | None:
    """The outcomes of both plans in the initial context and in the changed one; None where they are not known."""
    costs, other = explanation.costs_decision, explanation.costs_alternative
    if costs is None or other is None:
        return None
    contexts = [("The context as it is", explanation.weights_before, explanation.cost_before)]
    after = explanation.weights_after
    if after is not None and explanation.cost_after is not None and explanation.status != "already":
        contexts.append(("The changed context", after, explanation.cost_after))
    # Of every plan in every context: the costs that have a weight, and their weights.
    curves = [(plan[weights > 0], weights[weights > 0]) for _, weights, _ in contexts for plan in (costs, other)]
    edges = _edges(curves, max(mark for *_, marks in contexts for mark in marks))
    # The first and the last bin also hold what lies further out.
    masses = [np.histogram(np.clip(c, edges[0], edges[-1]), edges, weights=w)[0].tolist() for c, w in curves]
    panels = [
        Panel(
            heading=heading,
            decision=masses[2 * i],
            alternative=masses[2 * i + 1],
            marks=CostPair(decision=float(cost.decision), alternative=float(cost.alternative)),
        )
        for i, (heading, _, cost) in enumerate(contexts)
    ]
    beyond = any(bool((c > edges[-1]).any()) for c, _ in curves)
    return Spread(edges=edges.tolist(), highest=max(map(max, masses)), beyond=beyond, panels=panels)


def _edges(curves: list[tuple[Floats, Floats]], mark: float) -> Floats:
    """Bins from the smallest cost to one that is hardly ever exceeded, and at least to the `mark`."""
    low, high = min(float(costs.min()) for costs, _ in curves), float(mark)
    for costs, weights in curves:
        order = np.argsort(costs, kind="stable")
        reached = int(np.searchsorted(np.cumsum(weights[order]), 1.0 - RARE))
        high = max(high, float(costs[order[min(reached, order.size - 1)]]))
    return np.linspace(low, high, BINS + 1) if high > low else np.linspace(low - 0.5, low + 0.5, BINS + 1)
