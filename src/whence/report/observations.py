"""Which past observations speak: those whose weight grows or shrinks most between the two contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whence.report.document import (
    CostPair,
    Observation,
    Panel,
    Report,
    Shown,
    ShownSpeaking,
    ShownTable,
    Spread,
    scalar,
)
from whence.report.numbers import aligned, share, value
from whence.util.aliases import Floats

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

#: How many observations that gain weight, and as many that lose it, a report keeps with their contexts.
KEPT = 8


def most_moved(explanation: Explanation, count: int = 5) -> tuple[list[Observation], list[Observation]]:
    """Return the observations that gain most weight and those that lose most, at most `count` each.

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


def _turn(explanation: Explanation) -> Floats | None:
    """Return share of every observation in the turn from the decision's to the alternative's favour.

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


#: Most columns of a past context that are shown.
COLUMNS = 6
#: Observations that are listed as gaining weight, and as many that lose it.
LISTED = 5
#: What an observation must carry of the turn to be listed, at least.
LEAST_PART = 0.005


def speaking_of(report: Report, cost_headings: Sequence[str]) -> ShownSpeaking:
    """Return how many observations speak, tables of those that move most, and what these carry together."""
    seen = report.observations
    if report.forecast is not None:
        said = (
            f"Each of the {seen.count} past observations counts alike in every context: by what the forecast missed "
            "then (its residual), which is added to the forecast."
        )
        return ShownSpeaking(said=said, tables=[])
    before, after = seen.weights_before, seen.weights_after or seen.weights_before
    moved = report.context is not None and report.status != "already"
    turned = sum(abs(late - early) for early, late in zip(before, after, strict=True)) / 2.0
    said = f"{_speakers(before)} of {seen.count} past observations have a weight in the context as it is"
    said += f", {_speakers(after)} in the changed one; {share(turned)} of the weight moves." if moved else "."
    gaining, losing = seen.gaining[:LISTED], seen.losing[:LISTED]
    lists = [("They gain most weight", gaining), ("They lose most weight", losing)]
    tables = [
        _table(report, heading, chosen, moved, cost_headings)
        for heading, chosen in (lists if moved else [("They weigh most", gaining)])
        if chosen
    ]
    parts = [one.part for one in gaining + losing if one.part is not None]
    return ShownSpeaking(said=said, tables=tables, share=share(sum(parts)) if parts else "", moved=turned)


def mattering_of(report: Report, shown: Shown) -> ShownSpeaking | None:
    """Return the observations by what they carry of the turn, without those that carry next to nothing.

    Where no shares are known, they stay as they are: by how much weight they gain and lose.
    """
    told, seen = shown.speaking, report.observations
    every = sorted((*seen.gaining, *seen.losing), key=lambda one: -abs(one.part or 0.0))
    if told is None or not told.share or not told.tables:
        return told
    chosen = [one for one in every if abs(one.part or 0.0) >= LEAST_PART][: 2 * LISTED]
    carried = share(sum(one.part or 0.0 for one in chosen or every))
    if not chosen:
        said = f"{told.said} None of them matters much by itself: the {len(every)} that move most carry {carried}."
        return ShownSpeaking(said=said, tables=[], moved=told.moved)
    table = _table(report, "They matter most", chosen, True, shown.cost_headings)
    return ShownSpeaking(said=told.said, tables=[table], share=carried, moved=told.moved)


def _speakers(weights: Sequence[float]) -> int:
    return sum(weight > 0.0 for weight in weights)


def _table(
    report: Report, heading: str, chosen: list[Observation], moved: bool, cost_headings: Sequence[str]
) -> ShownTable:
    """Return what changes, then the numbers, then the rest of the context."""
    changed = [change.feature for change in report.changes]
    known = list(chosen[0].values)
    first = [c for c in changed if c in known][:COLUMNS]
    last = [c for c in known if c not in changed][: COLUMNS - len(first)]
    costs = [(o.decision, o.alternative) for o in chosen if o.decision is not None and o.alternative is not None]
    known_costs = len(costs) == len(chosen)
    parts = any(o.part is not None for o in chosen)
    numbers = ["weight", *(cost_headings if known_costs else []), *(["share"] if parts else [])]

    def written(o: Observation, columns: list[str]) -> list[str]:
        return [value(o.values.get(c, ""), report.kinds.get(c, ""), report.units.get(c, "")) for c in columns]

    rows = [
        [
            o.label,
            *written(o, first),
            f"{share(o.before)} → {share(o.after)}" if moved else share(o.before),
            *cost,
            *([share(o.part or 0.0)] if parts else []),
            *written(o, last),
        ]
        for o, cost in zip(chosen, aligned(costs) if known_costs else [()] * len(chosen), strict=True)
    ]
    start = 1 + len(first)
    return ShownTable(
        heading=heading,
        head=["row", *first, *numbers, *last],
        rows=rows,
        numbers=list(range(start, start + len(numbers))),
    )


#: What the initial context is called over its outcomes.
AS_IT_IS = "The context as it is"
#: Bins of a distribution of outcomes.
BINS = 30
#: Costs beyond which no more than this share of the weight lies are not drawn one by one.
RARE = 0.005


def spread_of(explanation: Explanation) -> Spread | None:
    """Return the outcomes of both plans in the initial and the changed context; None where they are not known."""
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
    bins = binned(curves, max(mark for *_, marks in contexts for mark in marks[:2]))
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
    """Return curves of costs and their weights in bins that are common to all of them and reach at least to the `mark`.

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
    """Return bins from the smallest cost to one that is hardly ever exceeded, and at least to the `mark`."""
    low, high = min(float(costs.min()) for costs, _ in curves), float(mark)
    for costs, weights in curves:
        order = np.argsort(costs, kind="stable")
        reached = int(np.searchsorted(np.cumsum(weights[order]), 1.0 - RARE))
        high = max(high, float(costs[order[min(reached, order.size - 1)]]))
    return np.linspace(low, high, BINS + 1) if high > low else np.linspace(low - 0.5, low + 0.5, BINS + 1)
