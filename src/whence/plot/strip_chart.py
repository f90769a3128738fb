"""Verdict strips as a chart: along every feature, which plan is best."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import pandas as pd

from whence.errors import InputTypeError
from whence.plot.canvas import INK, SOFT, axes_for, fitting, quiet, titled
from whence.report.html import ALTERNATIVE, DECISION, THEN
from whence.report.numbers import plain, value
from whence.search.verdict_strips import NEAR, Strip
from whence.search.verdict_strips import strips as strips_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.policy import Policy

#: How the stretches look; without colour, height and hatching tell them apart.
LOOKS: dict[str, dict[str, Any]] = {
    "decision": {"facecolor": DECISION, "label": "the decision is best"},
    "alternative": {"facecolor": f"{ALTERNATIVE}66", "hatch": "///", "label": "your plan is best"},
    "another": {"facecolor": f"{THEN}55", "label": "another plan is best"},
}
#: The line where another plan is best, and your plan is cheaper than the decision.
AHEAD: dict[str, Any] = {"color": ALTERNATIVE, "linestyle": "--", "linewidth": 1.4}
#: Height of a strip, of 1 for each feature; other plans' are lower.
HEIGHT = {"decision": 0.5, "alternative": 0.5, "another": 0.3}
#: How far apart numbers below a strip must be, as a share of it.
APART = 0.09


def strips(
    policy: Policy,
    context: Any,
    instead: Any = None,
    *,
    features: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Where along each feature the decision, the plan `instead` or another one is best, the others as they are.

    A forest is asked in every cell between its thresholds, so that each strip is exact. Another plan counts as better
    than both from 1 % of the cost on; below it, a dashed line says where `instead` is cheaper than the decision.

    Parameters
    ----------
    policy : Policy
        A fitted policy.
    context : context
        One context, as `decide` takes it.
    instead : plan, optional
        A plan of your own.
    features : sequence of str, optional
        The features to draw; all of them by default.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((40, 2))
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=3)).fit(X, 10 * X[:, :1])
    >>> ax = strips(policy, [0.2, 0.5], instead=[7.0])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x0', 'x1']
    """
    if not hasattr(policy, "explain_many"):
        raise InputTypeError(f"'policy' must be a Policy. Got {policy!r} instead.")
    policy._history()
    row = policy.schema_.row(context)
    plan = None
    if instead is not None:
        plan = policy.problem.from_plain(policy.problem.to_plain(instead), policy.outcome_names_)
    drawn = strips_of(policy, row, plan, features=features)
    ax = axes_for(ax, (7.2, 0.9 + 0.62 * len(drawn)))
    for place, strip in enumerate(drawn):
        _draw(ax, policy, strip, place, row)
    names = [
        f"{strip.feature} ({unit})" if (unit := policy.schema_.unit(strip.feature)) else strip.feature
        for strip in drawn
    ]
    ax.set_yticks(range(len(drawn)), [fitting(name, 22) for name in names])
    ax.set_ylim(len(drawn) - 0.35, -0.6)
    ax.set_xlim(-0.01, 1.01)
    ax.set_xticks([])
    quiet(ax, left=False)
    ax.spines["bottom"].set_visible(False)
    titled(ax, "Which plan is best along each feature", pad=44)
    _legend(ax, drawn)
    return ax


def _draw(ax: Axes, policy: Policy, strip: Strip, place: int, row: pd.Series) -> None:
    """Draw one strip over the width of the chart, the context's own value and where the verdict turns."""
    from matplotlib.patches import Rectangle

    now = policy.schema_.feature_values(row)[strip.feature]
    for (left, right), one in zip(strip.spans(), strip.stretches, strict=True):
        tall = HEIGHT[one.verdict]
        gap = 0.0 if strip.ordered else 0.004
        box = (left + gap, place - tall / 2), right - left - 2 * gap, tall
        ax.add_patch(Rectangle(*box, linewidth=0.8, edgecolor="white", **LOOKS[one.verdict]))
        if one.verdict == "another" and one.ahead == "alternative":
            ax.plot([left, right], [place + 0.21] * 2, **AHEAD)
        if not strip.ordered:
            text = fitting(value(one.begin, policy.schema_.kinds()[strip.feature]), 12, 1)
            ax.text((left + right) / 2, place + 0.3, text, ha="center", va="top", fontsize=7, color=SOFT)
    at = strip.place(now)
    if at is not None:
        ax.plot([at], [place], marker="o", markersize=7, markerfacecolor="white", markeredgecolor=INK, linestyle="")
    if strip.ordered:
        _numbers(ax, strip, place)


def _numbers(ax: Axes, strip: Strip, place: int) -> None:
    """Write both ends below a strip, and where it turns where there is room."""
    for at, entry in strip.numbers(APART):
        text = " | ".join(map(_written, entry if isinstance(entry, tuple) else [entry]))
        side = {0.0: "left", 1.0: "right"}.get(at, "center")
        ax.text(at, place + 0.3, text, ha=side, va="top", fontsize=7, color=SOFT)


def _written(entry: Any) -> str:
    """Return a number or a day in a few letters."""
    return plain(float(entry), 3) if isinstance(entry, Real) else f"{pd.Timestamp(entry):%d %b}"


def _legend(ax: Axes, drawn: Sequence[Strip]) -> None:
    """Say what the looks mean, of those that are there."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    seen = {one.verdict for strip in drawn for one in strip.stretches}
    handles: list[Any] = [Patch(**look) for name, look in LOOKS.items() if name in seen]
    ahead = any(one.verdict == "another" and one.ahead == "alternative" for strip in drawn for one in strip.stretches)
    if ahead:
        handles.append(Line2D([], [], **AHEAD, label="your plan is cheaper than the decision"))
    handles.append(
        Line2D([], [], marker="o", markerfacecolor="white", markeredgecolor=INK, linestyle="", label="as it is")
    )
    look: dict[str, Any] = {"frameon": False, "fontsize": "small", "labelcolor": SOFT, "columnspacing": 1.2}
    columns = 2 if ahead else 4
    ax.legend(handles=handles, ncols=columns, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, **look)
    if not all(strip.exact for strip in drawn):
        said = f"Numbers were asked at some values; another plan is better by {NEAR:.0%}."
        ax.set_xlabel(said, fontsize=7, color=SOFT)
