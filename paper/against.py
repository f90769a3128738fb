"""A figure for every table of numbers: ours against the paper's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from paper import charts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEM_NAMES = {
    "newsvendor": "Newsvendor",
    "shipment": "Shipment",
    "shortest_path": "Shortest path",
    "cvar_shortest_path": "CVaR shortest path",
}
KIND_NAMES = {"relative": "Relative explanations", "absolute": "Absolute explanations"}


def against_paper(cells: pd.DataFrame, what: str, *, log: bool) -> Figure:
    """Every cell as a point: the paper's value across, ours upwards, and the line where they are equal.

    Parameters
    ----------
    cells : DataFrame
        With the columns problem, kind, paper, ours and error.
    what : str
        What is compared, for the axes.
    log : bool
        Whether both axes are logarithmic.
    """
    drawn, axes = charts.panels(list(KIND_NAMES.values()), (8.6, 4.2))
    shown = cells[(cells["paper"] > 0) & (cells["ours"] > 0)] if log else cells.dropna(subset=["ours"])
    for ax, kind in zip(axes, KIND_NAMES, strict=True):
        for number, (problem, name) in enumerate(PROBLEM_NAMES.items()):
            part = shown[(shown["kind"] == kind) & (shown["problem"] == problem)]
            ax.errorbar(
                part["paper"],
                part["ours"],
                yerr=part["error"].fillna(0.0),
                fmt=charts.MARKERS[number],
                color=charts.COLOURS[number],
                markersize=5,
                elinewidth=0.8,
                alpha=0.85,
                label=name,
            )
        ax.set_xlabel(f"Paper: {what}")
        if log:
            ax.set_xscale("log")
            ax.set_yscale("log")
        _diagonal(ax, shown)
    axes[0].set_ylabel(f"whence: {what}")
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return drawn


def _diagonal(ax: Any, cells: pd.DataFrame) -> None:
    values = np.concatenate([cells["paper"].to_numpy(float), cells["ours"].to_numpy(float)])
    if len(values):
        ends = [values.min(), values.max()]
        ax.plot(ends, ends, color=charts.GREY, linewidth=1, linestyle="--", label="equal")
