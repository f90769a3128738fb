"""What all charts share: matplotlib where it is installed, the colours, and names that fit."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from whence.errors import InputTypeError, MissingDependencyError
from whence.report.document import Report
from whence.report.html import ALTERNATIVE, DECISION
from whence.report.question_words import other_plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, SOFT, RULE = "#1c2126", "#5b6670", "#d5dbe0"

#: How the bars and the lines of either plan look; without colour, fill and dashes tell them apart.
BARS: dict[str, dict[str, Any]] = {
    "d": {"facecolor": DECISION, "edgecolor": DECISION, "label": "decision"},
    "a": {"facecolor": f"{ALTERNATIVE}38", "edgecolor": ALTERNATIVE, "linestyle": "--", "label": "your plan"},
}
LINES: dict[str, dict[str, Any]] = {
    "d": {"color": DECISION, "linestyle": "-", "label": "decision"},
    "a": {"color": ALTERNATIVE, "linestyle": "--", "label": "your plan"},
}


def look_of(looks: dict[str, dict[str, Any]], plan: str, report: Report) -> dict[str, Any]:
    """Return how the bars or lines of a plan look, with what the report calls the plan."""
    return looks[plan] | ({"label": other_plan(report)} if plan == "a" else {})


def matplotlib() -> Any:
    """Return the module ``matplotlib.pyplot``, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise MissingDependencyError(
            "Charts need matplotlib, which is not installed: pip install 'whence[plot]'."
        ) from error
    return pyplot


def axes_for(ax: Any, size: tuple[float, float]) -> Axes:
    """Draw `ax`, or where it is None that of a new figure of that size in inches."""
    pyplot = matplotlib()
    axes: Axes = pyplot.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
    if not hasattr(axes, "transData"):
        raise InputTypeError(f"'ax' must be a matplotlib Axes or None. Got {ax!r} instead.")
    return axes


def report_in(explanation: Any, name: str = "why") -> Report:
    """Return the report of `explanation`, or an error where it is none."""
    report = getattr(explanation, "report", None)
    if not isinstance(report, Report):
        raise InputTypeError(f"{name!r} must be an Explanation. Got {explanation!r} instead.")
    return report


def empty(ax: Axes, said: str) -> Axes:
    """Draw `ax` with nothing but a sentence."""
    ax.axis("off")
    wrapped = "\n".join(textwrap.wrap(said, 44))
    ax.text(0.5, 0.5, wrapped, ha="center", va="center", transform=ax.transAxes, color=SOFT)
    return ax


def fitting(name: str, width: int = 24, lines: int = 2) -> str:
    """Return `name` in at most `lines` lines of `width` letters, shortened with an ellipsis.

    Examples
    --------
    >>> fitting("temperature at noon in the old town", 16)
    'temperature at\\nnoon in the old…'
    """
    wrapped = textwrap.wrap(name, width, break_long_words=True) or [""]
    if len(wrapped) > lines:
        wrapped = wrapped[:lines]
        wrapped[-1] = f"{wrapped[-1][: width - 1]}…"
    return written("\n".join(wrapped))


def written(text: str) -> str:
    """Return `text` as matplotlib has to get it: a dollar sign would begin a formula."""
    return text.replace("$", r"\$")


def titled(ax: Axes, title: str, *, legend: bool = False, pad: float | None = None) -> None:
    """The title at the left, and the legend in one line at its right."""
    ax.set_title(title, loc="left", fontsize="medium", color=INK, pad=pad)
    if legend:
        look = {"ncols": 3, "frameon": False, "fontsize": "small", "labelcolor": SOFT, "columnspacing": 1.2}
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, **look)


def quiet(ax: Axes, *, left: bool = True) -> None:
    """Take away the frame, and with it the left axis where it says nothing."""
    for side in ("top", "right", *(() if left else ("left",))):
        ax.spines[side].set_visible(False)
    if not left:
        ax.tick_params(axis="y", length=0)
