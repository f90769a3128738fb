"""Which past observations speak: those whose weight grows or shrinks most between the two contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whence.aliases import Floats
from whence.risk import Expectation, tail_flow

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["Observation", "most_moved", "moved_share", "speaking"]


@dataclass(frozen=True)
class Observation:
    """One past observation: its label and context, its weights, what either plan cost, its part in the verdict.

    Attributes
    ----------
    label : str
        Its row label in the history.
    values : dict
        Its context by column, empty where the history is not at hand.
    before, after : float
        Its weight in the initial context and in the changed one.
    decision, alternative : float or None
        What either plan costs under it, where that is known.
    part : float or None
        The share of the turn in the expected costs (or the CVaR) that it carries, where there is a turn.
    """

    label: str
    values: dict[str, object]
    before: float
    after: float
    decision: float | None
    alternative: float | None
    part: float | None


def most_moved(explanation: Explanation, count: int = 5) -> tuple[list[Observation], list[Observation]]:
    """The observations that gain most weight and those that lose most, at most `count` each.

    Without a changed context, those that weigh most, and none. An explanation that has let go of its history knows some
    of them only.
    """
    if explanation.material is not None:
        return explanation.material.gaining[:count], explanation.material.losing[:count]
    before = explanation.weights_before
    after = before if explanation.weights_after is None else explanation.weights_after
    moved = after - before
    if not moved.any():
        heaviest = [int(i) for i in np.argsort(-before, kind="stable")[:count] if before[i] > 0]
        return [_observation(explanation, i, None) for i in heaviest], []
    shift = _turn(explanation)
    gain = [int(i) for i in np.argsort(-moved, kind="stable")[:count] if moved[i] > 0]
    loss = [int(i) for i in np.argsort(moved, kind="stable")[:count] if moved[i] < 0]
    gaining, losing = (
        [_observation(explanation, i, None if shift is None else float(shift[i])) for i in rows]
        for rows in (gain, loss)
    )
    return gaining, losing


def moved_share(explanation: Explanation) -> float:
    """How much of the weight moves from some observations to others."""
    if explanation.weights_after is None:
        return 0.0
    return float(np.abs(explanation.weights_after - explanation.weights_before).sum() / 2)


def speaking(explanation: Explanation) -> tuple[int, int | None]:
    """How many observations have a weight in the initial context and in the changed one."""
    after = explanation.weights_after
    return int((explanation.weights_before > 0).sum()), None if after is None else int((after > 0).sum())


def _turn(explanation: Explanation) -> Floats | None:
    """Share of every observation in the turn from the decision's to the alternative's favour.

    The cost (or CVaR) of a plan is a sum over the observations: weight, or weight in the tail, times cost. What the
    observation adds to the decision's cost more than to the alternative's, after less before, is its part.
    """
    before, after, tail = explanation.weights_before, explanation.weights_after, _tail(explanation.risk)
    costs, other = explanation.costs_decision, explanation.costs_alternative
    if tail is None or after is None or costs is None or other is None:
        return None
    lead = [_parts(costs, weights, tail) - _parts(other, weights, tail) for weights in (before, after)]
    turn: Floats = lead[1] - lead[0]
    total = float(turn.sum())
    return turn / total if total > explanation.tolerance else None


def _tail(risk: str) -> float | None:
    """The share of the worst outcomes that a risk, by its name, is the mean of."""
    if risk == Expectation.name:
        return 1.0
    try:
        tail = 1.0 - float(risk.removeprefix("CVaR at "))
    except ValueError:
        return None
    return tail if 0.0 < tail <= 1.0 else None


def _parts(costs: Floats, weights: Floats, tail: float) -> Floats:
    """What every observation adds to the mean of the worst `tail` of the costs."""
    order = np.argsort(-costs, kind="stable")
    parts = np.zeros(costs.size)
    parts[order] = tail_flow(weights[order], tail) * costs[order] / tail
    return parts


def _observation(explanation: Explanation, row: int, part: float | None) -> Observation:
    history, after = explanation.history, explanation.weights_after
    costs, other = explanation.costs_decision, explanation.costs_alternative
    before = float(explanation.weights_before[row])
    return Observation(
        label=str(row if history is None else history.index[row]),
        values={} if history is None else {str(k): v for k, v in history.iloc[row].to_dict().items()},
        before=before,
        after=before if after is None else float(after[row]),
        decision=None if costs is None else float(costs[row]),
        alternative=None if other is None else float(other[row]),
        part=part,
    )
