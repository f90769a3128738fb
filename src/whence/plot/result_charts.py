"""Answers to other questions, drawn: distance against the number of changes, a menu, and contributions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.errors import InputTypeError
from whence.plot.canvas import (
    BARS,
    INK,
    RULE,
    SOFT,
    axes_for,
    empty,
    fitting,
    matplotlib,
    quiet,
    report_in,
    titled,
    written,
)
from whence.plot.plan_chart import changes, costs, outcomes, plans, weights
from whence.report.document import Report
from whence.report.html import ALTERNATIVE, DECISION
from whence.report.numbers import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from whence.explain.explanation import Explanation


def rules(found: Any, *, ax: Axes | None = None) -> Axes:
    """Extra cost over the policy on rows not seen against the number of rules, next to one plan for all.

    `found` is what `Policy.rules` gave.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(9)).fit(X, 10 + 20 * (X[:, :1] > 0.5))
    >>> rules(policy.rules(up_to=2, time_limit=2)).get_title(loc="left")
    'The price of simplicity'
    """
    sizes, average = _part(found, "sizes", "Rules"), _part(found, "average", "Rules")
    ax = axes_for(ax, (5.4, 3.2))
    titled(ax, "The price of simplicity")
    known = [(count, extra) for count, extra, _ in sizes if extra is not None]
    if not known:
        return empty(ax, "No rows were left out to measure it on.")
    at = [count for count, _ in known]
    heights = [100.0 * extra.share for _, extra in known]
    errors = [100.0 * extra.error for _, extra in known]
    ax.axhline(0.0, color=SOFT, linewidth=1.0)
    _beside(ax, "the policy", (max(at) + 0.4, 0.0), -12, ha="right", color=SOFT)
    if average is not None:
        level = 100.0 * average.share
        ax.axhline(level, color=ALTERNATIVE, linewidth=1.2, linestyle="--")
        _beside(ax, f"one plan for all: {plain(level, 2)} %", (max(at) + 0.4, level), 4, ha="right", color=ALTERNATIVE)
    ax.errorbar(at, heights, yerr=errors, color=DECISION, marker="o", linewidth=1.4, capsize=3)
    largest = max([*heights, 0.0 if average is None else 100.0 * average.share])
    for count, height, error in zip(at, heights, errors, strict=True):
        # Below the mark, unless the line of the policy is there.
        above = abs(height - error) < 0.15 * largest
        place, shift = (height + error, 5) if above else (height - error, -12)
        _beside(ax, f"{plain(height, 2)} %", (count, place), shift)
    ax.set_ylim(min(0.0, *heights) - 0.2 * largest - 1e-9, 1.2 * largest + 1e-9)
    ax.set_xlim(0.6, max(at) + 0.45)
    ax.set_xticks(at)
    ax.set_xlabel("number of rules")
    ax.set_ylabel("more than the policy, %")
    quiet(ax)
    return ax


def front(found: Any, *, ax: Axes | None = None) -> Axes:
    """Distance of the nearest context against the number of changes allowed; a cross where so few do not suffice.

    `found` is what `Policy.front` gave.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((80, 3))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, 10 + X.sum(1)[:, None])
    >>> front(policy.front([0.1, 0.2, 0.1], instead=[11.8])).get_title(loc="left")
    'Distance against the number of changes'
    """
    answers, allowed = _part(found, "answers", "Front"), _part(found, "allowed", "Front")
    ax = axes_for(ax, (5.4, 3.2))
    titled(ax, "Distance against the number of changes")
    known = [(k, why) for k, why in zip(allowed, answers, strict=True) if np.isfinite(why.distance)]
    if not known or answers[-1].status == "already":
        already = bool(answers) and answers[-1].status == "already"
        return empty(ax, "Nothing has to change: it holds as it is." if already else "There is no context to show.")
    at, heights = [k for k, _ in known], [why.distance for _, why in known]
    ax.plot(at, heights, color=RULE, linewidth=1.4, zorder=1)
    for k, why in known:
        proved = why.status == "optimal"
        ax.plot(k, why.distance, "o", markersize=8, color=INK, markerfacecolor=INK if proved else "white", zorder=2)
        _beside(ax, plain(why.distance, 3), (k, why.distance), 8)
    top = 1.25 * max(heights)
    for k, why in zip(allowed, answers, strict=True):
        if not np.isfinite(why.distance):
            proved = why.status == "none"
            ax.annotate("none" if proved else "open", (k, 0.08 * top), ha="center", color=SOFT, fontsize=9)
            ax.plot(k, 0.04 * top, "x" if proved else "_", color=SOFT)
    ax.set_ylim(0.0, top)
    ax.set_xlim(min(allowed) - 0.6, max(allowed) + 0.6)
    ax.set_xticks(list(allowed), [*map(str, allowed[:-1]), f"{allowed[-1]} or more"])
    ax.set_xlabel("features that may change")
    ax.set_ylabel("distance")
    quiet(ax)
    return ax


def menu(found: Any, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """Draw every answer of a menu as a row: a bar for its distance, and the features that it changes.

    `found` is what `Policy.menu` gave. At most `most` rows are drawn.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((80, 3))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, 10 + X.sum(1)[:, None])
    >>> menu(policy.menu([0.1, 0.2, 0.1], instead=[11.5])).get_title(loc="left")
    'What would do'
    """
    answers = list(_part(found, "answers", "Menu"))
    drawn = answers[:most]
    ax = axes_for(ax, (6.4, 1.1 + 0.42 * max(len(drawn), 2)))
    titled(ax, "What would do")
    if not drawn or found.status == "already":
        return empty(ax, "Nothing has to change: it holds as it is." if drawn else "There is no context to show.")
    names = [fitting(" + ".join(map(str, why.changes["feature"])), 34) for why in drawn]
    far, rest = [why.distance for why in drawn], len(answers) - len(drawn)
    _rows(ax, names, far, [plain(distance, 3) for distance in far], linewidth=1.2, **_look("a"))
    ax.set_xlabel("distance" + (f"; {rest} more are farther away" if rest else ""))
    return ax


def contributions(found: Any, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """Draw what every changed feature contributes to the turn of a decision, largest first.

    `found` is what `Policy.compare` gave. At most `most` rows are drawn.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((80, 3))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, 10 + 20 * X[:, :1])
    >>> ax = contributions(policy.compare([0.2, 0.5, 0.5], [0.8, 0.4, 0.5]))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['x0\\n0.2 → 0.8', 'x1\\n0.5 → 0.4']
    """
    table, shown = _part(found, "contributions", "Comparison"), _part(found, "shown", "Comparison")
    rows = 1 if table is None else min(len(table), most + 1)
    ax = axes_for(ax, (6.4, 1.2 + 0.5 * max(rows, 2)))
    titled(ax, "What turned the plan" if not found.same else "What changed the cost")
    if table is None or not len(table):
        return empty(ax, found.note or "Nothing differs between the two contexts.")
    amounts = table["contribution"].tolist()
    names = [f"{fitting(name, 28, 1)}\n{fitting(f'{was} → {to}', 30, 1)}" for name, was, to in shown]
    if len(amounts) > most:
        names = [*names[:most], f"{len(amounts) - most} others"]
        amounts = [*amounts[:most], sum(amounts[most:])]
    colours = [ALTERNATIVE if amount > 0 else DECISION for amount in amounts]
    _rows(ax, names, amounts, [_signed(amount) for amount in amounts], color=colours)
    ax.tick_params(axis="y", labelsize="small")
    ax.axvline(0.0, color=INK, linewidth=0.8)
    ax.margins(x=0.16)
    unit = f" ({found.cost_unit})" if found.cost_unit else ""
    what = "cost" if found.same else "gain of the new plan on the old one"
    # In two lines: one of them is wider than the chart.
    ax.set_xlabel(written(f"contribution to the {what}{unit};\ntogether {_signed(found.turn)}"))
    return ax


def _beside(ax: Axes, text: str, at: tuple[float, float], up: float, ha: str = "center", **look: Any) -> None:
    """Write something this many points above a place."""
    ax.annotate(text, at, (0, up), textcoords="offset points", ha=ha, fontsize=9, **look)


def _rows(ax: Axes, names: Sequence[str], amounts: Sequence[float], texts: Sequence[str], **look: Any) -> None:
    """A bar per row, from the top down, with its name before it and its number behind it."""
    made = ax.barh(range(len(amounts)), amounts, 0.6, **look)
    ax.bar_label(made, texts, padding=3, fontsize=9, color=INK)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(amounts) - 0.4, -0.6)
    ax.margins(x=0.12)
    quiet(ax, left=False)


def _part(found: Any, name: str, kind: str) -> Any:
    try:
        return getattr(found, name)
    except AttributeError:
        raise InputTypeError(f"'found' must be a {kind}. Got {found!r} instead.") from None


def _look(plan: str) -> dict[str, Any]:
    return {name: value for name, value in BARS[plan].items() if name != "label"}


def _signed(amount: float) -> str:
    text = plain(amount, 3)
    return text.replace("-", "−") if text.startswith("-") or text == "0" else f"+{text}"


#: Inches that every bar takes.
BAR = 0.36


def evaluation(frame: pd.DataFrame, folds: pd.DataFrame, risk: str, unit: str, *, ax: Axes | None = None) -> Axes:
    """Draw costs as bars, policies filled and baselines hollow, each with the cost of every fold as a dot.

    Parameters
    ----------
    frame, folds : DataFrame
        Of an :class:`~whence.evaluation.Evaluation`, whose ``plot`` is the way here.
    risk, unit : str
        What the costs are judged by, and their unit.
    ax : Axes, optional
        Where to draw.
    """
    ax = axes_for(ax, (6.4, 1.5 + BAR * len(frame)))
    # From the dearest at the top to the cheapest at the bottom, whatever it is.
    names = frame.sort_values("cost", ascending=False, kind="stable").index.tolist()
    at = np.arange(len(names), dtype=np.float64)[::-1]
    looks: dict[str, dict[str, Any]] = {
        "policy": {"facecolor": DECISION, "edgecolor": DECISION, "label": "policy"},
        "baseline": {"facecolor": f"{ALTERNATIVE}30", "edgecolor": ALTERNATIVE, "label": "baseline"},
    }
    costs, kinds = frame["cost"].to_dict(), frame["kind"].to_dict()
    for kind, look in looks.items():
        own = [i for i, name in enumerate(names) if kinds[name] == kind]
        if own:
            ax.barh(at[own], [costs[names[i]] for i in own], 0.62, linewidth=1.2, **look)
    for height, name in zip(at, names, strict=True):
        each = folds[name].to_numpy()
        label = "one fold" if height == at[0] else None
        ax.plot(each, np.full(each.size, height), "o", color=INK, markersize=3, alpha=0.55, label=label)
        end = max(float(costs[name]), float(each.max()), 0.0)
        ax.annotate(
            plain(costs[name], 4), (end, height), (5, 0), textcoords="offset points", va="center", fontsize=9, color=INK
        )
    ax.axvline(float(costs["sample average"]), color=SOFT, linewidth=0.9, linestyle=":")
    ax.set_yticks(at, [fitting(name, 28) for name in names])
    ax.margins(x=0.14)
    said = f"{risk} on rows not seen" + (f" ({unit})" if unit else "")
    ax.set_xlabel(written(said))
    titled(ax, "Out-of-sample cost", legend=True)
    quiet(ax, left=False)
    return ax


def overview(why: Explanation) -> Figure:
    """Return a new figure with the changes, both plans, their costs, their outcomes and the observations that speak.

    Examples
    --------
    >>> import whence as wh
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), wh.KNNWeights(k=1)).fit([[0.0], [1.0]], [[10.0], [20.0]])
    >>> len(overview(policy.explain([0.2], instead=[20.0])).axes)
    6
    """
    report = report_in(why)
    figure: Figure = matplotlib().figure(figsize=(12.5, 11.5), layout="constrained")
    grid: Any = figure.add_gridspec(3, 2, height_ratios=[1.15, 1.0, 0.8])
    changes(why, most=6, ax=figure.add_subplot(grid[0, 0]))
    plans(why, most=10, ax=figure.add_subplot(grid[0, 1]))
    costs(why, ax=figure.add_subplot(grid[1, 0]))
    weights(why, count=5, ax=figure.add_subplot(grid[1, 1]))
    for column, when in enumerate(("before", "after")):
        outcomes(why, when=when, ax=figure.add_subplot(grid[2, column]))
    figure.suptitle(_title(report), x=0.02, ha="left", fontsize="large", fontweight="bold", color=INK)
    return figure


def _title(report: Report) -> str:
    lead = report.shown.verdict.split("\n")[0] if report.shown else ""
    return written("\n".join(textwrap.wrap(lead, 105)[:3]))
