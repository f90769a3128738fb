"""The context that a report is about: which past observation it is, where it is one, and all of its values."""

from __future__ import annotations

from typing import Any

from whence.report.document import Report
from whence.report.numbers import value

__all__ = ["context_rows", "observation_named"]


def observation_named(report: Report) -> str:
    """Return what the history calls the context, such as "2025-06-14"; "" where no observation that is kept is it.

    An observation weighs most in its own context, so that it is among those whose weight a report tells of.
    """
    kept = (*report.observations.losing, *report.observations.gaining)
    label = next((one.label for one in kept if one.values == report.initial), "")
    return f"row {label}" if label.isdigit() else label


def context_rows(report: Report) -> list[tuple[str, str, str]]:
    """Return every feature with its value as it is, and in the context found where it changes.

    Columns that stand for a category together are the features that they are.
    """
    changed = {change.feature: change.to for change in (report.shown.changes if report.shown else ())}
    before = {change.feature: change.from_ for change in (report.shown.changes if report.shown else ())}

    def written(name: str, entry: Any) -> str:
        return before.get(name) or value(entry, report.kinds.get(name, ""), report.units.get(name, ""))

    return [(name, written(name, entry), changed.get(name, "")) for name, entry in report.initial.items()]
