"""What would have to be different, drawn: every change on the range of its feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from whence.plot.canvas import INK, RULE, SOFT, axes_for, empty, fitting, quiet, report_in, written
from whence.report.model import Change
from whence.report.numbers import plain, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.explain.explanation import Explanation

__all__ = ["changes"]

#: Both ends of a line, and what is written there.
Ends: TypeAlias = tuple[tuple[float, str], tuple[float, str]]
#: Where a category or switch starts and ends on a line that has no scale.
SWITCH = (0.15, 0.85)


def changes(why: Explanation, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """Every feature that changes, from its value to the changed one, on the range that the history has seen.

    Parameters
    ----------
    why : Explanation
        What to draw.
    most : int
        Most features to draw; those that change most come first, and the others are counted.
    ax : Axes, optional
        Where to draw; a new figure otherwise.

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
    ax.set_title("What would have to be different", loc="left", fontsize="medium", color=INK)
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
        seen = _range(change, unit, report.ranges.get(change.feature))
        _change(ax, y, (change.from_, change.to), (text.from_, after), seen)
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


def _range(change: Change, unit: str, seen: Sequence[float] | None) -> Ends | None:
    """Both ends of the line of a feature that has a scale, and what is written at them."""
    if seen is None:
        return None
    numbers = [*seen, *(float(x) for x in (change.from_, change.to) if isinstance(x, int | float))]
    low, high = min(numbers), max(numbers)
    return (low, written(with_unit(plain(low, 4), unit))), (high, written(with_unit(plain(high, 4), unit)))


def _change(ax: Axes, y: int, values: Any, texts: tuple[str, str], seen: Ends | None) -> None:
    """One feature: its range as a line, a ring where it is, an arrow to a dot where it would have to be."""
    start, end = SWITCH
    if seen is not None:
        (low, lowest), (high, highest) = seen
        wide = (high - low) or 1.0
        start, end = ((float(value) - low) / wide for value in values)
        ax.plot([0, 1], [y, y], color=RULE, linewidth=5, solid_capstyle="round", zorder=1)
        for x, edge, side in ((0.0, lowest, "left"), (1.0, highest, "right")):
            ax.annotate(edge, (x, y), (0, -8), textcoords="offset points", ha=side, va="top", color=SOFT, fontsize=7)
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
        ax.annotate(
            fitting(text, 22, 1),
            (x, y),
            (-3 if to_the_right == apart else 3, 6),
            textcoords="offset points",
            ha="left" if to_the_right else "right",
            va="bottom",
            fontsize=9,
            fontweight=weight,
            color=INK,
        )
