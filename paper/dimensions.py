"""How large the four synthetic problems are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from paper import charts
from paper.against import PROBLEM_NAMES
from paper.experiment import Label
from paper.histories import PROBLEMS
from paper.published import published

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _measured(problem: str) -> dict[str, str]:
    """Features, outcomes and decision variables of one problem, taken from an instance of it."""
    history = PROBLEMS[problem](10, np.random.default_rng(0))
    n, outcomes = history.Y.shape
    plan = history.problem.solve(history.Y, np.full(n, 1.0 / n), history.risk)
    decisions = len(history.problem.vector(plan))
    # Shipment: for every observation what is shipped from each warehouse to each location, and made there at the last
    # minute.
    recourse = f"+{decisions * (outcomes + 1)}n" if problem == "shipment" else ""
    return {"d_x": str(history.X.shape[1]), "d_y": str(outcomes), "d_z": f"{decisions}{recourse}"}


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    table = published("tab:expDim")[["problem", "setting", "value"]].rename(
        columns={"setting": "dimension", "value": "paper"}
    )
    ours = {problem: _measured(problem) for problem in PROBLEMS}
    table["ours"] = [ours[p][d] for p, d in zip(table["problem"], table["dimension"], strict=True)]
    table["same"] = ["yes" if a == b else "NO" for a, b in zip(table["paper"], table["ours"], strict=True)]
    return table


def _remarks(rows: pd.DataFrame) -> list[str]:
    return [
        "d_x features of a context, d_y outcomes, d_z decision variables, n observations. The paper prints 8+48n for "
        "the shipment; its public code has 4+52n, as here: production at 4 warehouses beforehand and, for every "
        "observation, 48 shipments and last-minute production at 4 warehouses. The alternative of a question is the 4 "
        "first-stage quantities alone."
    ]


def _draw(rows: pd.DataFrame) -> Figure:
    drawn, (ax,) = charts.panels([""], (7.0, 3.4))
    table = _table(rows)
    places = np.arange(len(PROBLEMS))
    for number, dimension in enumerate(("d_x", "d_y", "d_z")):
        texts = table.loc[table["dimension"] == dimension, "ours"].tolist()
        heights = [_size(text, 100) for text in texts]
        bars = ax.bar(places + 0.27 * (number - 1), heights, 0.25, color=charts.COLOURS[number], label=dimension)
        ax.bar_label(bars, texts, fontsize=8)
    ax.set_xticks(places, list(PROBLEM_NAMES.values()))
    ax.set_yscale("log")
    ax.set_ylabel("Size (n = 100)")
    ax.legend(frameon=False)
    return drawn


def _size(text: str, n: int) -> int:
    """The number that such a text as "4+52n" stands for."""
    fixed, _, growing = text.partition("+")
    return int(fixed) + n * int(growing.rstrip("n") or 0)


LABELS = (
    Label(
        "tab:expDim",
        "Dimensions of contexts, outcomes and decisions",
        "Two to four features, 12 to 112 outcomes, 20 to 112 decision variables and more with recourse.",
        _table,
        draw=_draw,
        remarks=_remarks,
    ),
)
