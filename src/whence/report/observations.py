"""Which past observations speak: those whose weight grows or shrinks most between the two contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whence.aliases import Floats
from whence.report.model import Observation, scalar

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["KEPT", "most_moved", "moved_share"]

#: How many observations that gain weight, and as many that lose it, a report keeps with their contexts.
KEPT = 8


def most_moved(explanation: Explanation, count: int = 5) -> tuple[list[Observation], list[Observation]]:
    """The observations that gain most weight and those that lose most, at most `count` each.

    Without a changed context, those that weigh most, and none. An explanation without its source knows only some of
    them.
    """
    if explanation.source is None and explanation.written is not None:
        found = explanation.written.observations
        return found.gaining[:count], found.losing[:count]
    if explanation.forecast is not None:
        # All of them count alike, in every context.
        return [], []
    before = explanation.weights_before
    after = before if explanation.weights_after is None else explanation.weights_after
    moved = after - before
    if not moved.any():
        heaviest = [int(i) for i in np.argsort(-before, kind="stable")[:count] if before[i] > 0]
        return [_observation(explanation, i, None) for i in heaviest], []
    shift = _turn(explanation)
    gain = [int(i) for i in np.argsort(-moved, kind="stable")[:count] if moved[i] > 0]
    loss = [int(i) for i in np.argsort(moved, kind="stable")[:count] if moved[i] < 0]
    parts = {i: None if shift is None else float(shift[i]) for i in gain + loss}
    gaining, losing = ([_observation(explanation, i, parts[i]) for i in rows] for rows in (gain, loss))
    return gaining, losing


def moved_share(explanation: Explanation) -> float:
    """How much of the weight moves from some observations to others."""
    if explanation.weights_after is None:
        return 0.0
    return float(np.abs(explanation.weights_after - explanation.weights_before).sum() / 2)


def _turn(explanation: Explanation) -> Floats | None:
    """Share of every observation in the turn from the decision's to the alternative's favour.

    The risk of a plan is a sum over the observations. What an observation adds to the decision's more than to the
    alternative's, after less before, is its part.
    """
    source, after = explanation.source, explanation.weights_after
    costs, other = explanation.costs_decision, explanation.costs_alternative
    if source is None or after is None or costs is None or other is None:
        return None
    lead = []
    for weights in (explanation.weights_before, after):
        parts = [source.risk.contributions(each, weights) for each in (costs, other)]
        if parts[0] is None or parts[1] is None:
            return None
        lead.append(parts[0] - parts[1])
    turn: Floats = lead[1] - lead[0]
    total = float(turn.sum())
    return turn / total if total > explanation.tolerance else None


def _observation(explanation: Explanation, row: int, part: float | None) -> Observation:
    history = None if explanation.source is None else explanation.source.X
    after, costs, other = explanation.weights_after, explanation.costs_decision, explanation.costs_alternative
    before = float(explanation.weights_before[row])
    return Observation(
        label=str(row if history is None else history.index[row]),
        values={} if history is None else {str(k): scalar(v) for k, v in history.iloc[row].to_dict().items()},
        before=before,
        after=before if after is None else float(after[row]),
        decision=None if costs is None else float(costs[row]),
        alternative=None if other is None else float(other[row]),
        part=part,
    )
