"""An explanation on one page: the charts that have something to say, side by side."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from whence.plot.canvas import INK, matplotlib, report_in, written
from whence.plot.change_chart import changes
from whence.plot.costs import costs, outcomes
from whence.plot.plan_chart import plans
from whence.plot.weights import weights
from whence.report.document import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from whence.explain.explanation import Explanation

__all__ = ["overview"]


def overview(why: Explanation) -> Figure:
    """A new figure with the changes, both plans, their costs, their outcomes and the observations that speak.

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
