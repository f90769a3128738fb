"""What would have to be different, drawn: every change on the range of its feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.plot.canvas import INK, RULE, SOFT, axes_for, empty, fitting, quiet, report_in, titled, written
from whence.report.numbers import plain, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.explain.explanation import Explanation

__all__ = ["changes"]

#: Where a category or switch starts and ends on a line that has no scale.
SWITCH = (0.15, 0.85)


def changes(why: Explanation, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """Every feature that changes, from its value to the changed one, on the range that the history has seen.

    At most `most` features are drawn, those that change most; the others are counted.

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
    # A few changes on axes of the user's own stay at the top, close to the title.
    rows = max(len(shown), 1 if ax is None else 4)
    ax = axes_for(ax, (6.4, 0.9 + 0.62 * rows))
    titled(ax, "What would have to be different")
    if not len(shown):
        already = report.status == "already"
        return empty(ax, "Nothing: it holds as it is." if already else "There is no context to show.")
    texts = report.shown.changes if report.shown else []
    for y, row in enumerate(shown):
        change, text = report.changes[row], texts[row]
        unit = report.units.get(change.feature, "")
        after = text.to
        if after.startswith("about "):
            after = with_unit(f"≈ {plain(float(change.to or 0.0), 4)}", unit)
        _change(ax, y, (change.from_, change.to), (text.from_, after), report.ranges.get(change.feature), unit)
    ax.set_yticks(range(len(shown)), [fitting(texts[row].feature) for row in shown])
    ax.set_ylim(rows - 0.4, -0.75)
    ax.set_xlim(-0.3, 1.3)
    ax.set_xticks([])
    rest = len(texts) - len(shown)
    if rest:
        ax.set_xlabel(f"{rest} more features change less and are not drawn", color=SOFT, fontsize="small")
    quiet(ax, left=False)
    ax.spines["bottom"].set_visible(False)
    return ax


def _change(
    ax: Axes, y: int, values: Sequence[Any], texts: Sequence[str], seen: Sequence[float] | None, unit: str
) -> None:
    """One feature: the range `seen` as a line, a ring where it is, an arrow to a dot where it would have to be."""
    start, end = SWITCH
    beside: dict[str, Any] = {"textcoords": "offset points"}
    if seen is not None:
        low, high = min(*seen, *values), max(*seen, *values)
        start, end = ((float(value) - low) / ((high - low) or 1.0) for value in values)
        ax.plot([0, 1], [y, y], color=RULE, linewidth=5, solid_capstyle="round", zorder=1)
        for x, number, side in ((0.0, low, "left"), (1.0, high, "right")):
            edge = written(with_unit(plain(number, 4), unit))
            ax.annotate(edge, (x, y), (0, -8), ha=side, va="top", color=SOFT, fontsize=7, **beside)
    else:
        ax.plot([start, end], [y, y], color=RULE, linewidth=1.5, linestyle=":", zorder=1)
    arrow = {"arrowstyle": "-|>", "color": INK, "shrinkA": 4, "shrinkB": 3, "linewidth": 1.4}
    ax.annotate("", (end, y), (start, y), arrowprops=arrow, zorder=2)
    ax.plot(start, y, "o", markersize=7, markerfacecolor="white", markeredgecolor=INK, zorder=3)
    ax.plot(end, y, "o", markersize=7, color=INK, zorder=3)
    forward = end >= start
    # Numbers of values that are close stand away from each other, those of others over their marks.
    apart = abs(end - start) > 0.2
    for x, text, to_the_right, weight in ((start, texts[0], not forward, "normal"), (end, texts[1], forward, "bold")):
        place, side = (-3 if to_the_right == apart else 3, 6), "left" if to_the_right else "right"
        look = {"ha": side, "va": "bottom", "fontsize": 9, "fontweight": weight, "color": INK, **beside}
        ax.annotate(fitting(text, 22, 1), (x, y), place, **look)
