"""An explanation, drawn: what would have to be different, on the range of every feature, and the two plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import InputError
from whence.plot.canvas import (
    BARS,
    INK,
    LINES,
    RULE,
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
from whence.report.document import Observation, RegionCondition, Report
from whence.report.html import THEN
from whence.report.numbers import plain, value, with_unit
from whence.report.observations import KEPT, most_moved
from whence.report.plan_drawings import labels, most_different, placed, visited
from whence.report.question_words import rule_claim

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.explain.explanation import Explanation

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
            "'why' must be about routes through a network whose nodes have positions: give them the attribute 'pos'."
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


#: Where a category or switch starts and ends on a line that has no scale.
SWITCH = (0.15, 0.85)


def changes(why: Explanation, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """Draw every feature that changes, from its value to the changed one, on the range that the history has seen.

    At most `most` features are drawn, those that change most; the others are counted. Where the explanation knows its
    rule (see :meth:`~whence.explain.explanation.Explanation.with_rule`), the part of a feature's range in which that
    holds is shaded, and features that it names without changing them follow.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> ax = changes(policy.explain([0.2], instead=[20.0]))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x0']
    """
    report = report_in(why)
    shown = np.sort(np.argsort([-change.distance for change in report.changes], kind="stable")[:most])
    texts = report.shown.changes if report.shown else []
    asked = {} if report.region is None or not report.region.short else {c.feature: c for c in report.region.conditions}
    changed = {change.feature for change in report.changes}
    further = [one for name, one in asked.items() if name not in changed] if len(shown) else []
    # A few changes on axes of the user's own stay at the top, close to the title.
    rows = max(len(shown) + len(further), 1 if ax is None else 4)
    ax = axes_for(ax, (6.4, 0.9 + 0.62 * rows))
    titled(ax, "What would have to be different")
    if not len(shown):
        already = report.status == "already"
        return empty(ax, "Nothing: it holds as it is." if already else "There is no context to show.")
    for y, row in enumerate(shown):
        change, text = report.changes[row], texts[row]
        unit = report.units.get(change.feature, "")
        after = text.to
        if after.startswith("about "):
            after = with_unit(f"≈ {plain(float(change.to or 0.0), 4)}", unit)
        line = _line(report.ranges.get(change.feature), asked.get(change.feature), (change.from_, change.to))
        _change(ax, y, line, (text.from_, after), unit)
    for y, one in enumerate(further, len(shown)):
        unit, kind = report.units.get(one.feature, ""), report.kinds.get(one.feature, "")
        here = " or ".join(value(each, kind, unit) for each in one.values or [one.found])
        _change(ax, y, _line(one.room, one, (one.found, one.found)), (here,), unit)
    names = [texts[row].feature for row in shown] + [one.feature for one in further]
    ax.set_yticks(range(len(names)), list(map(fitting, names)))
    ax.set_ylim(rows - 0.4, -0.75)
    ax.set_xlim(-0.3, 1.3)
    ax.set_xticks([])
    rest = len(texts) - len(shown)
    said = [f"{rest} more features change less and are not drawn"] if rest else []
    better = rule_claim(report).removesuffix(" than yours")
    said += [f"shaded: {better} wherever all of this holds"] if asked else []
    if said:
        ax.set_xlabel("; ".join(said), color=SOFT, fontsize="small")
    quiet(ax, left=False)
    ax.spines["bottom"].set_visible(False)
    return ax


@dataclass(frozen=True)
class _Line:
    """A feature's line: its ends (None for a category or switch), where it starts and ends, and what a rule allows."""

    ends: tuple[float, float] | None
    start: float
    end: float
    shaded: tuple[float, float] | None


def _line(seen: Sequence[float] | None, asked: RegionCondition | None, values: tuple[Any, Any]) -> _Line:
    if seen is None:
        start, end = SWITCH if values[0] != values[1] else (SWITCH[1], SWITCH[1])
        # Without a scale, what can be said is that the value found is among those allowed.
        return _Line(None, start, end, None if asked is None else (end - 0.06, end + 0.06))
    room = (asked.room or ()) if asked is not None else ()
    low, high = min(*seen, *values, *room), max(*seen, *values, *room)

    def place(number: float) -> float:
        return float((float(number) - low) / ((high - low) or 1.0))

    shaded = None
    if asked is not None and room:
        first, last = (room[i] if found is None else found for i, found in enumerate((asked.low, asked.high)))
        shaded = place(first), place(last)
    return _Line((low, high), place(values[0]), place(values[1]), shaded)


def _change(ax: Axes, y: int, line: _Line, texts: Sequence[str], unit: str) -> None:
    """One feature: its range as a line, a ring where it is, an arrow to a dot where it would have to be."""
    start, end = line.start, line.end
    beside: dict[str, Any] = {"textcoords": "offset points"}
    if line.ends is not None:
        ax.plot([0, 1], [y, y], color=RULE, linewidth=5, solid_capstyle="round", zorder=1)
        for x, number, side in ((0.0, line.ends[0], "left"), (1.0, line.ends[1], "right")):
            edge = written(with_unit(plain(number, 4), unit))
            ax.annotate(edge, (x, y), (0, -8), ha=side, va="top", color=SOFT, fontsize=7, **beside)
    else:
        ax.plot(SWITCH, [y, y], color=RULE, linewidth=1.5, linestyle=":", zorder=1)
    if line.shaded is not None:
        first, last = line.shaded
        look: dict[str, Any] = {"facecolor": f"{THEN}38", "edgecolor": THEN, "linewidth": 1.0, "zorder": 1.5}
        ax.barh(y, max(last - first, 0.005), height=0.22, left=first, label="rule", **look)
    if len(texts) == 2:
        arrow = {"arrowstyle": "-|>", "color": INK, "shrinkA": 4, "shrinkB": 3, "linewidth": 1.4}
        ax.annotate("", (end, y), (start, y), arrowprops=arrow, zorder=2)
        ax.plot(start, y, "o", markersize=7, markerfacecolor="white", markeredgecolor=INK, zorder=3)
    ax.plot(end, y, "o", markersize=7, color=INK, zorder=3)
    forward = end >= start
    # Numbers of values that are close stand away from each other, those of others over their marks.
    apart = abs(end - start) > 0.2
    both = ((start, texts[0], not forward, "normal"), (end, texts[-1], forward, "bold"))
    for x, text, to_the_right, weight in both if len(texts) == 2 else ((end, texts[0], end < 0.5, "normal"),):
        place, side = (-3 if to_the_right == apart else 3, 6), "left" if to_the_right else "right"
        words: dict[str, Any] = {"va": "bottom", "fontsize": 9, "fontweight": weight, "color": INK, **beside}
        ax.annotate(fitting(text, 22, 1), (x, y), place, ha=side, **words)


def weights(why: Explanation, *, count: int = 6, ax: Axes | None = None) -> Axes:
    """Draw the past observations that gain most weight and those that lose most, from a ring to a dot.

    The colour is that of the plan which would have been cheaper under the observation. `count` of them gain and as
    many lose, up to 8 where the explanation is a light one.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> ax = weights(policy.explain([0.2], instead=[20.0]))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['1 (x0 1)', '0 (x0 0)']
    """
    report = report_in(why)
    if report.forecast is not None:
        return empty(axes_for(ax, (6.4, 1.6)), "Past residuals count alike in every context.")
    kept, speaking = report.observations, report.shown.speaking if report.shown else None
    turned = speaking.moved if speaking else 0.0
    gaining, losing = kept.gaining[:count], kept.losing[:count]
    if count > KEPT:
        gaining, losing = most_moved(why, count)
    chosen = gaining + losing
    ax = axes_for(ax, (6.4, 1.3 + 0.3 * len(chosen)))
    moved = report.context is not None and report.status != "already"
    seen: set[str] = set()
    for y, one in enumerate(chosen):
        plan = _cheaper(one)
        look = {"color": SOFT, "label": "for neither plan"} if plan is None else look_of(LINES, plan, report)
        label = f"for {'the ' if plan == 'd' else ''}{look['label']}" if plan else look["label"]
        colour = look["color"]
        before, after = 100 * one.before, 100 * one.after
        ax.plot([before, after], [y, y], color=colour, linewidth=2, zorder=2)
        if moved:
            ax.plot(before, y, "o", markerfacecolor="white", markeredgecolor=colour, zorder=3)
        marker = "s" if plan == "a" else "o"
        ax.plot(after, y, marker, color=colour, label=label if label not in seen else None, zorder=4)
        seen.add(label)
    ax.set_yticks(range(len(chosen)), [_named(report, one) for one in chosen], fontsize=8)
    ax.set_ylim(len(chosen) - 0.4, -0.6)
    ax.set_xlim(left=-0.03 * max((100 * max(o.before, o.after) for o in chosen), default=1.0))
    if gaining and losing:
        ax.axhline(len(gaining) - 0.5, color=RULE, linewidth=1)
    share = f", from the ring to the mark; {100 * turned:.0f} % of all weight moves" if moved else ""
    ax.set_xlabel(fitting(f"weight (%){share}", 44))
    ax.grid(axis="x", color=RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    titled(ax, "Which past observations speak", legend=bool(chosen), pad=20)
    quiet(ax, left=False)
    return ax


def _cheaper(one: Observation) -> str | None:
    if one.decision is None or one.alternative is None or one.decision == one.alternative:
        return None
    return "d" if one.decision < one.alternative else "a"


def _named(report: Report, one: Observation) -> str:
    """Return the observation's row label, and its values of what changes."""
    names = [change.feature for change in report.changes if change.feature in one.values][:2]
    said = ", ".join(_value(report, name, one.values[name]) for name in names)
    return fitting(f"{one.label} ({said})" if said else one.label, 34, 1)


def _value(report: Report, name: str, found: Any) -> str:
    kind, unit = report.kinds.get(name, ""), report.units.get(name, "")
    text = plain(float(found), 4) if kind == "continuous" else value(found, kind)
    # A category, or a number with its unit, speaks for itself.
    return with_unit(text, unit) if kind == "categorical" or unit else f"{name} {text}"
