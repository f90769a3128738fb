"""The two plans, drawn: routes on their map, quantities as bars, others in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import InputError
from whence.plot.canvas import (
    BARS,
    INK,
    LINES,
    SOFT,
    axes_for,
    empty,
    fitting,
    look_of,
    quiet,
    report_in,
    titled,
    written,
)
from whence.report.document import Report
from whence.report.numbers import plain
from whence.report.plan_drawings import labels, most_different, placed, visited

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.explain.explanation import Explanation

__all__ = ["costs", "outcomes", "plans", "routes"]


#: Width of the map in its own units, those of the report's maps.
WIDTH = 400.0
STREET = "#b9c2ca"


def plans(why: Explanation, *, most: int = 16, ax: Axes | None = None) -> Axes:
    """Draw both plans: quantities as bars, routes on their map, all others in words.

    At most `most` quantities are drawn: those on which the plans differ most.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> ax = plans(policy.explain([0.2], instead=[20.0]))
    >>> [text.get_text() for text in ax.texts]
    ['10', '20']
    """
    report = report_in(why)
    both = report.plans
    if both.map is not None:
        return routes(why, ax=ax)
    shown, rest = most_different(both, most)
    if not shown.size:
        return _in_words(report, ax)
    ax = axes_for(ax, (6.4, 1.0 + 0.45 * max(shown.size, 1)))
    at = np.arange(shown.size, dtype=np.float64)
    for j, (plan, vector) in enumerate((("d", both.decision), ("a", both.alternative))):
        quantities = [vector[i] for i in shown]
        drawn = ax.barh(at + (j - 0.5) * 0.38, quantities, 0.34, linewidth=1.3, **look_of(BARS, plan, report))
        texts = [plain(quantity, 4) for quantity in quantities]
        ax.bar_label(drawn, texts, padding=3, fontsize=8 if shown.size <= 8 else 7, color=INK)
    ax.set_yticks(at, [fitting(both.parts[j]) for j in shown])
    ax.set_ylim(shown.size - 0.5, -0.5)
    ax.axvline(0.0, color=INK, linewidth=0.8)
    ax.margins(x=0.12)
    left_out = f"; {rest} more parts, on which the plans differ less, are not drawn" if rest else ""
    ax.set_xlabel(fitting(f"quantity{left_out}", 44))
    titled(ax, "The two plans", legend=True)
    quiet(ax)
    return ax


def _in_words(report: Report, ax: Axes | None) -> Axes:
    """Draw both plans as text, in the colours of their bars."""
    both = report.plans
    ax = axes_for(ax, (6.4, 2.6))
    ax.axis("off")
    titled(ax, "The two plans")
    for plan, text, y in (("d", both.decision_text, 0.92), ("a", both.alternative_text, 0.42)):
        look: dict[str, Any] = {"transform": ax.transAxes, "va": "top", "ha": "left"}
        own = look_of(LINES, plan, report)
        ax.text(0.0, y, own["label"], color=own["color"], fontweight="bold", fontsize="small", **look)
        ax.text(0.0, y - 0.1, fitting(text, 60, 5), color=INK, fontsize="medium", **look)
    return ax


def routes(why: Explanation, *, ax: Axes | None = None) -> Axes:
    """Draw both routes on the map of their network.

    The nodes of the `ShortestPath` must have positions: the attribute ``pos``, or pairs of whole numbers as nodes.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> Y = np.random.default_rng(0).random((20, 12))
    >>> policy = wh.Policy(wh.ShortestPath.grid(3), wh.KNNWeights(k=2)).fit(Y[:, :2], Y)
    >>> ax = routes(policy.explain(Y[0, :2], instead=[(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)]))
    >>> ax.get_title(loc="left")
    'The two routes'
    """
    report = report_in(why)
    city = report.plans.map
    if city is None:
        raise InputError(
            "'why' must be about routes through a network whose nodes have positions: give them the attribute 'pos'.",
            parameter="why",
        )
    place, height = placed(city, WIDTH)
    ax = axes_for(ax, (6.0, 6.0 * height / WIDTH + 0.4))
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    lines = [(place[u], place[v]) for u, v in city.edges]
    ax.add_collection(LineCollection(lines, color=STREET, linewidth=1))
    unit = ax.get_window_extent().width / ax.figure.dpi * 72 / WIDTH
    for plan, route, wide in (("d", city.decision, 7.0), ("a", city.alternative, 3.2)):
        look = look_of(LINES, plan, report) | ({"linestyle": (0, (2.4, 1.6))} if plan == "a" else {"alpha": 0.75})
        ax.add_collection(LineCollection([lines[edge] for edge in route], linewidth=wide * unit, **look))
    seen = visited(city)
    for node, (x, y) in enumerate(place):
        if node in (city.source, city.target):
            ax.plot(x, y, "o", markersize=11 * unit, color=INK, markeredgecolor="white", zorder=3)
        elif node in seen or len(place) <= 200:
            ax.plot(x, y, "o", markersize=6 * unit, markerfacecolor="white", markeredgecolor=SOFT, zorder=3)
    halo = [withStroke(linewidth=2.5, foreground="white")]
    for label in labels(place, city, (WIDTH, height)):
        weight = "bold" if label.end else "normal"
        look = {"fontsize": min(10.5 * unit, 11), "fontweight": weight, "color": INK, "zorder": 4}
        ax.text(label.x, label.y, written(label.text), path_effects=halo, **look)
    ax.set_xlim(0, WIDTH)
    ax.set_ylim(height, 0)
    ax.set_aspect("equal")
    ax.axis("off")
    titled(ax, "The two routes", legend=True)
    return ax


def costs(why: Explanation, *, ax: Axes | None = None) -> Axes:
    """Draw the cost of both plans in the context as it is and in the changed one.

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
    """Draw how the costs of both plans spread over the past observations, as the context weighs them.

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
