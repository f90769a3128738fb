"""Which past observations speak, as it is written: how many, and tables of those that move most."""

from __future__ import annotations

from collections.abc import Sequence

from whence.report.model import Observation, Report, ShownSpeaking, ShownTable
from whence.report.numbers import aligned, share, value

__all__ = ["speaking_of"]

#: Most columns of a past context that are shown.
COLUMNS = 6
#: Observations that are listed as gaining weight, and as many that lose it.
LISTED = 5


def speaking_of(report: Report, cost_headings: Sequence[str]) -> ShownSpeaking:
    """How many observations speak, tables of those that move most, and what these carry together.

    Parameters
    ----------
    report : Report
        With its other entries filled in.
    cost_headings : sequence of str
        Of the columns with the costs of the decision and of the alternative.
    """
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


def _speakers(weights: Sequence[float]) -> int:
    return sum(weight > 0.0 for weight in weights)


def _table(
    report: Report, heading: str, chosen: list[Observation], moved: bool, cost_headings: Sequence[str]
) -> ShownTable:
    """What changes, then the numbers, then the rest of the context."""
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
