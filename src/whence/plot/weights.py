"""Which past observations speak, drawn: those whose weight grows or shrinks most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whence.plot.canvas import LINES, RULE, SOFT, axes_for, empty, fitting, look_of, quiet, report_in, titled
from whence.report.document import Observation, Report
from whence.report.numbers import plain, value, with_unit
from whence.report.observations import KEPT, most_moved

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.explain.explanation import Explanation

__all__ = ["weights"]


def weights(why: Explanation, *, count: int = 6, ax: Axes | None = None) -> Axes:
    """The past observations that gain most weight and those that lose most, from a ring to a dot.

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
    """The observation's row label, and its values of what changes."""
    names = [change.feature for change in report.changes if change.feature in one.values][:2]
    said = ", ".join(_value(report, name, one.values[name]) for name in names)
    return fitting(f"{one.label} ({said})" if said else one.label, 34, 1)


def _value(report: Report, name: str, found: Any) -> str:
    kind, unit = report.kinds.get(name, ""), report.units.get(name, "")
    text = plain(float(found), 4) if kind == "continuous" else value(found, kind)
    # A category, or a number with its unit, speaks for itself.
    return with_unit(text, unit) if kind == "categorical" or unit else f"{name} {text}"
