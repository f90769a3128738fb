"""What policies and baselines cost on held-out rows, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.plot.canvas import INK, SOFT, axes_for, fitting, quiet, titled, written
from whence.report.numbers import plain
from whence.report.svg import ALTERNATIVE, DECISION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["evaluation"]

#: Inches that every bar takes.
BAR = 0.36


def evaluation(frame: pd.DataFrame, folds: pd.DataFrame, risk: str, unit: str, *, ax: Axes | None = None) -> Axes:
    """Costs as bars, policies filled and baselines hollow, each with the cost of every fold as a dot.

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
            plain(costs[name], 4), (end, height), (5, 0), textcoords="offset points", va="center",
            fontsize=9, color=INK,
        )  # fmt: skip
    ax.axvline(float(costs["sample average"]), color=SOFT, linewidth=0.9, linestyle=":")
    ax.set_yticks(at, [fitting(name, 28) for name in names])
    ax.margins(x=0.14)
    said = f"{risk} on rows not seen" + (f" ({unit})" if unit else "")
    ax.set_xlabel(written(said))
    titled(ax, "Out-of-sample cost", legend=True)
    quiet(ax, left=False)
    return ax
