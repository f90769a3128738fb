"""What both plans cost, drawn: one number per plan and context, and how their outcomes spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import InputError
from whence.plot.canvas import BARS, INK, LINES, axes_for, empty, look_of, quiet, report_in, titled, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.explain.explanation import Explanation

__all__ = ["costs", "outcomes"]


def costs(why: Explanation, *, ax: Axes | None = None) -> Axes:
    """Cost of both plans in the context as it is and in the changed one.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> ax = costs(policy.explain([0.2], instead=[20.0]))
    >>> [text.get_text() for text in ax.texts]
    ['0', '10', '10', '0']
    """
    report = report_in(why)
    ax = axes_for(ax, (5.0, 3.4))
    shown = report.shown
    assert shown is not None
    pairs = [
        (cost, texts)
        for cost, texts in ((report.cost_before, shown.cost_before), (report.cost_after, shown.cost_after))
        if cost is not None and texts
    ]
    at = np.arange(len(pairs), dtype=np.float64)
    for j, (plan, name) in enumerate((("d", "decision"), ("a", "alternative"))):
        lengths = [getattr(cost, name) for cost, _ in pairs]
        drawn = ax.bar(at + (j - 0.5) * 0.36, lengths, 0.32, linewidth=1.5, **look_of(BARS, plan, report))
        ax.bar_label(drawn, [texts[j] for _, texts in pairs], padding=3, fontsize=9, color=INK)
    ax.set_xticks(at, ["as it is", "in the changed context"][: len(pairs)])
    ax.set_xlim(-0.6, len(pairs) - 0.4)
    ax.axhline(0.0, color=INK, linewidth=0.8)
    ax.margins(y=0.14)
    ax.set_ylabel(written(shown.axis))
    titled(ax, "What both plans cost", legend=True)
    quiet(ax)
    return ax


def outcomes(why: Explanation, *, when: str = "before", ax: Axes | None = None) -> Axes:
    """How the costs of both plans spread over the past observations, as the context weighs them.

    `when` is "before" for the context as it is and "after" for the changed one. Both have the same scales.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> ax = outcomes(policy.explain([0.2], instead=[20.0]), when="after")
    >>> ax.get_title(loc="left")
    'The changed context'
    """
    if when not in ("before", "after"):
        raise InputError(f"'when' must be 'before' or 'after'. Got {when!r} instead.")
    report = report_in(why)
    spread = report.spread
    ax = axes_for(ax, (5.0, 3.0))
    if spread is None:
        return empty(ax, "The costs of the individual observations are not available.")
    if when == "after" and len(spread.panels) == 1:
        return empty(ax, "There is no changed context.")
    panel = spread.panels[0 if when == "before" else 1]
    _steps(ax, "d", panel.decision, panel.marks.decision, spread.edges, look_of(LINES, "d", report))
    _steps(ax, "a", panel.alternative, panel.marks.alternative, spread.edges, look_of(LINES, "a", report))
    ax.set_xlim(spread.edges[0], spread.edges[-1])
    ax.set_ylim(0.0, 112.0 * spread.highest)
    notes = "; ".join(filter(None, [report.cost_unit, "last bar: and beyond" if spread.beyond else ""]))
    under = "past observations" if report.forecast is None else "the forecast plus past residuals"
    ax.set_xlabel(written(f"cost under {under}" + (f" ({notes})" if notes else "")))
    ax.set_ylabel("weight (%)")
    titled(ax, panel.heading, legend=True)
    quiet(ax)
    return ax


def _steps(ax: Axes, plan: str, masses: list[float], mark: float, edges: list[float], look: dict[str, Any]) -> None:
    percent = [100.0 * mass for mass in masses]
    ax.stairs(percent, edges, fill=True, color=look["color"], alpha=0.18)
    ax.stairs(percent, edges, linewidth=1.8, **look)
    ax.axvline(mark, linewidth=1.3, color=look["color"], linestyle=look["linestyle"])
    marker = "v" if plan == "d" else "^"
    ax.plot(mark, 0.97, marker, transform=ax.get_xaxis_transform(), color=look["color"], clip_on=False)
