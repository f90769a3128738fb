"""How the outcomes of both plans spread in both contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whence.aliases import Floats
from whence.report.model import CostPair, Panel, Spread

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["AS_IT_IS", "Binned", "binned", "spread_of"]

#: What the initial context is called over its outcomes.
AS_IT_IS = "The context as it is"
#: Bins of a distribution of outcomes.
BINS = 30
#: Costs beyond which no more than this share of the weight lies are not drawn one by one.
RARE = 0.005


def spread_of(explanation: Explanation) -> Spread | None:
    """The outcomes of both plans in the initial context and in the changed one; None where they are not known."""
    costs, other = explanation.costs_decision, explanation.costs_alternative
    if costs is None or other is None:
        return None
    contexts = [(AS_IT_IS, explanation.weights_before, explanation.cost_before)]
    after = explanation.weights_after
    if after is not None and explanation.cost_after is not None and explanation.status != "already":
        contexts.append(("The changed context", after, explanation.cost_after))
    # Of every plan in every context.
    curves = [(plan, weights) for _, weights, _ in contexts for plan in (costs, other)]
    told = explanation.forecast
    if (
        told is not None
        and len(contexts) > 1
        and told.decision_after is not None
        and told.alternative_after is not None
    ):
        # What may come moves with the context, not its weights.
        curves[2:] = [(told.decision_after, curves[2][1]), (told.alternative_after, curves[2][1])]
    bins = binned(curves, max(mark for *_, marks in contexts for mark in marks))
    panels = [
        Panel(
            heading=heading,
            decision=bins.masses[2 * i],
            alternative=bins.masses[2 * i + 1],
            marks=CostPair(decision=float(cost.decision), alternative=float(cost.alternative)),
        )
        for i, (heading, _, cost) in enumerate(contexts)
    ]
    return Spread(edges=bins.edges, highest=bins.highest, beyond=bins.beyond, panels=panels)


class Binned(NamedTuple):
    """Weighted costs in common bins: their edges, the weight in every bin of each curve, and what sums them up."""

    edges: list[float]
    masses: list[list[float]]
    highest: float
    beyond: bool


def binned(curves: Sequence[tuple[Floats, Floats]], mark: float) -> Binned:
    """Curves of costs and their weights in bins that are common to all of them and reach at least to the `mark`.

    Examples
    --------
    >>> bins = binned([(np.array([1.0, 4.0]), np.array([0.75, 0.25]))], 2.0)
    >>> len(bins.edges), bins.edges[0], bins.edges[-1], bins.highest, bins.beyond
    (31, 1.0, 4.0, 0.75, False)
    """
    speaking = [(costs[weights > 0], weights[weights > 0]) for costs, weights in curves]
    edges = _edges(speaking, mark)
    # The first and the last bin also hold what lies further out.
    masses = [np.histogram(np.clip(c, edges[0], edges[-1]), edges, weights=w)[0].tolist() for c, w in speaking]
    beyond = any(bool((c > edges[-1]).any()) for c, _ in speaking)
    return Binned(edges.tolist(), masses, max(map(max, masses)), beyond)


def _edges(curves: list[tuple[Floats, Floats]], mark: float) -> Floats:
    """Bins from the smallest cost to one that is hardly ever exceeded, and at least to the `mark`."""
    low, high = min(float(costs.min()) for costs, _ in curves), float(mark)
    for costs, weights in curves:
        order = np.argsort(costs, kind="stable")
        reached = int(np.searchsorted(np.cumsum(weights[order]), 1.0 - RARE))
        high = max(high, float(costs[order[min(reached, order.size - 1)]]))
    return np.linspace(low, high, BINS + 1) if high > low else np.linspace(low - 0.5, low + 0.5, BINS + 1)
