"""The context that a report is about: which past observation it is, where it is one, and all of its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from whence.report.document import Report, scalar
from whence.report.numbers import value

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["context_rows", "observation_named"]


def observation_named(explanation: Explanation, report: Report) -> str:
    """Return what the history calls the context, such as "2025-06-14 (observation 97)"; "" where it is not one of it.

    Of an explanation without its history, only the observations that a report keeps are known.
    """
    if explanation.source is None:
        kept = [*report.observations.gaining, *report.observations.losing]
        return next((one.label for one in kept if one.values == report.initial), "")
    history = explanation.source.X
    alike = pd.Series(True, index=history.index)
    for name, entry in explanation.initial.items():
        if name not in history.columns:
            return ""
        alike &= history[name] == entry
    rows = alike.to_numpy().nonzero()[0]
    if not rows.size:
        return ""
    # Where several are the same, the last one is the day that somebody speaks of.
    row, label = int(rows[-1]), scalar(history.index[int(rows[-1])])
    return f"observation {row + 1}" if isinstance(label, int) else f"{label} (observation {row + 1})"


def context_rows(report: Report) -> list[tuple[str, str, str]]:
    """Return every feature with its value as it is, and in the context found where it changes.

    Columns that stand for a category together are the features that they are.
    """
    changed = {change.feature: change.to for change in (report.shown.changes if report.shown else ())}
    before = {change.feature: change.from_ for change in (report.shown.changes if report.shown else ())}

    def written(name: str, entry: Any) -> str:
        return before.get(name) or value(entry, report.kinds.get(name, ""), report.units.get(name, ""))

    return [(name, written(name, entry), changed.get(name, "")) for name, entry in report.initial.items()]
