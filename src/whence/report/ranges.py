"""A rule as it is drawn: for every feature that it names, where on the feature's range it holds."""

from __future__ import annotations

from typing import TypeGuard

from whence.report.document import RegionCondition, Report, ShownRange, ShownValue
from whence.report.numbers import plain, value, with_unit

__all__ = ["ranges_of"]

#: Most values of a category that are listed; those that the rule allows for come first.
LISTED = 12


def ranges_of(report: Report) -> list[ShownRange]:
    """The conditions of the report's rule, in the order of the sentence; none where it is not worth telling.

    A document that was written before conditions knew their room has nothing to draw.
    """
    region = report.region
    if region is None or not region.short:
        return []
    drawn = (_range(report, one) for one in region.conditions)
    return [one for one in drawn if one is not None]


def _range(report: Report, condition: RegionCondition) -> ShownRange | None:
    if condition.known is not None:
        return _values(report, condition)
    return None if condition.room is None else _line(report, condition, condition.room)


def _line(report: Report, condition: RegionCondition, room: list[float]) -> ShownRange:
    """A part of a line that reaches from one end of the room to the other, and at least to both contexts."""
    was, found = condition.was, condition.found
    marks = [float(one) for one in (was, found) if _is_number(one)]
    low, high = min(*room, *marks), max(*room, *marks)

    def place(number: float) -> float:
        return min(max((number - low) / (high - low), 0.0), 1.0) if high > low else 0.5

    begin = 0.0 if condition.low is None else place(condition.low)
    unit = report.units.get(condition.feature, "")
    return ShownRange(
        feature=condition.feature,
        text=condition.text,
        ends=[with_unit(plain(number, 4), unit) for number in (low, high)],
        begin=begin,
        end=1.0 if condition.high is None else max(begin, place(condition.high)),
        was=place(float(was)) if _is_number(was) else None,
        found=place(float(found)) if _is_number(found) else None,
    )


def _values(report: Report, condition: RegionCondition) -> ShownRange:
    """The values of a category or switch, in their order; of many, those that matter and the first others."""
    kind, unit = report.kinds.get(condition.feature, ""), report.units.get(condition.feature, "")
    allowed = condition.values or []
    every = [
        ShownValue(
            text=value(one, kind, unit), inside=one in allowed, was=one == condition.was, found=one == condition.found
        )
        for one in condition.known or []
    ]
    matter = sorted(range(len(every)), key=lambda i: not (every[i].was or every[i].found or every[i].inside))
    kept = sorted(matter[:LISTED])
    return ShownRange(
        feature=condition.feature,
        text=condition.text,
        values=[every[i] for i in kept],
        left_out=len(every) - len(kept),
    )


def _is_number(raw: object) -> TypeGuard[int | float]:
    return isinstance(raw, int | float) and not isinstance(raw, bool)
