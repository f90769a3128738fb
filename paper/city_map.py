"""The road network with the routes of an experiment, and what the period of the day does to them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from paper import charts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "published": charts.RED,
    "mended": charts.PINK,
    "south": charts.ORANGE,
    "peak": charts.GREEN,
    "ring": charts.ORANGE,
}
SHORT = {
    "published": "published south",
    "mended": "mended south",
    "south": "best real south",
    "peak": "afternoon peak",
    "ring": "ring road",
}


def draw(rows: pd.DataFrame) -> Figure:
    """Maps of the first sample: every alternative beside the decision, and the gaps if only the period changes.

    Parameters
    ----------
    rows : DataFrame
        Of the family "city".
    """
    from matplotlib.figure import Figure

    first = rows[rows["seed"] == rows["seed"].min()]
    network = json.loads(first.loc[first["what"] == "network", "details"].iloc[0])
    answers = first[(first["what"] == "answer") & (first["kind"] == "relative")].set_index("alternative")
    names = list(answers.index)
    # Two maps a line; the gaps take what is left of the last one.
    lines = (len(names) + 2) // 2
    figure = Figure(figsize=(10.0, 4.2 * lines), layout="constrained")
    grid = figure.add_gridspec(lines, 2)
    for number, name in enumerate(names):
        ax = figure.add_subplot(grid[number // 2, number % 2])
        _map(ax, network)
        _routes(ax, network, first, answers.loc[name], name)
    _gaps(figure.add_subplot(grid[-1, :] if len(names) % 2 == 0 else grid[-1, 1]), rows)
    return figure


def _map(ax: Axes, network: dict[str, Any]) -> None:
    """Ways in grey, places as dots."""
    places = network["places"]
    for u, v in network["ways"]:
        ax.plot(*zip(places[u], places[v], strict=True), color="#C9CFD4", linewidth=1.0, zorder=1)
    ax.plot(*np.array(list(places.values())).T, "o", color="#9AA3AB", markersize=3, zorder=2)
    x, y = np.array(list(places.values())).T
    # A degree of longitude is shorter than one of latitude away from the equator; kilometres are not touched.
    ax.set_aspect(1.0 / np.cos(np.radians(y.mean())) if abs(x.mean()) > 90 else 1.0)
    ax.set_axis_off()


def _routes(ax: Axes, network: dict[str, Any], first: pd.DataFrame, answer: Any, name: str) -> None:
    """The decision and one alternative, with their costs today and in the context of the explanation."""
    places, ways = network["places"], {tuple(way) for way in network["ways"]}
    told = json.loads(answer["details"])
    today = first[
        (first["what"] == "period") & (first["alternative"] == name) & (first["period"] == network["context"]["period"])
    ].iloc[0]
    decision = network["decision"]
    points = np.array([places[p] for p in decision])
    ax.plot(*points.T, color=charts.BLUE, linewidth=6, alpha=0.6, solid_capstyle="round", zorder=3)
    label = f"decision: {today['cost_decision']:.1f} min"
    ax.plot([], [], color=charts.BLUE, linewidth=6, alpha=0.6, label=label)
    colour = COLOURS[name]
    for hop in pairwise(told["route"]):
        missing = hop not in ways
        style = ":" if missing else "-"
        ax.plot(*zip(places[hop[0]], places[hop[1]], strict=True), style, color=colour, linewidth=2.6, zorder=4)
        if missing:
            middle = (np.array(places[hop[0]]) + np.array(places[hop[1]])) / 2
            ax.annotate(
                "no such road",
                middle,
                (14, -62),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                color=colour,
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8},
                bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"},
            )
    ax.plot([], [], color=colour, linewidth=2.6, label=f"{SHORT[name]}: {today['cost_alternative']:.1f} min")
    (x0, _), (x1, _) = places[decision[0]], places[decision[-1]]
    for place, word, side in ((decision[0], "start", np.sign(x0 - x1)), (decision[-1], "end", np.sign(x1 - x0))):
        ax.plot(*places[place], "o", color=charts.BLACK, markersize=8, zorder=5)
        towards = "left" if side > 0 else "right"
        ax.annotate(word, places[place], (8 * side, -3), textcoords="offset points", ha=towards, weight="bold")
    ax.set_title(_caption(network, answer, told, name), fontsize=10.5)
    ax.legend(loc="upper right", fontsize=9, framealpha=0.9, title="CVaR today", title_fontsize=9)
    ax.margins(0.09)


def _caption(network: dict[str, Any], answer: Any, told: dict[str, Any], name: str) -> str:
    shown = SHORT[name][0].upper() + SHORT[name][1:]
    if answer["status"] == "optimal" and told["changes"]:
        changes = ", ".join(
            f"{feature} {network['context'][feature]} → {to}" for feature, to in told["changes"].items()
        )
        return (
            f"{shown}: better with {changes}\n"
            f"({answer['cost_alternative']:.1f} min, decision {answer['cost_decision']:.1f} min)"
        )
    if answer["status"] == "none":
        return f"{shown}: better in no context\n(proved)"
    return f"{shown}: no context found where it is better,\nnone within distance {answer['bound']:.2f} (proved)"


def _gaps(ax: Axes, rows: pd.DataFrame) -> None:
    """Minutes by which every alternative is slower than the decision if only the period changes, over all samples."""
    own = rows[rows["what"] == "period"].assign(gap=lambda f: f["cost_alternative"] - f["cost_decision"])
    periods, names = list(own["period"].unique()), list(own["alternative"].unique())
    width = 0.75 / len(names)
    for number, name in enumerate(names):
        cells = [own.loc[(own["alternative"] == name) & (own["period"] == p), "gap"] for p in periods]
        places = np.arange(len(periods)) + (number - (len(names) - 1) / 2) * width
        mean = np.array([cell.mean() for cell in cells])
        reach = np.array([[m - cell.min(), cell.max() - m] for m, cell in zip(mean, cells, strict=True)]).T
        ax.bar(places, mean, 0.9 * width, color=COLOURS[name], alpha=0.8, label=SHORT[name])
        ax.errorbar(places, mean, reach, fmt="none", ecolor=charts.BLACK, elinewidth=1, capsize=2)
    ax.axhline(0.0, color=charts.BLACK, linewidth=1)
    ax.set_xticks(range(len(periods)), [p.replace("EarlyMorning", "Early\nmorning") for p in periods])
    ax.set_ylabel("Slower than the decision (min)")
    samples = rows["seed"].nunique()
    ax.set_title(f"Only the period changes; {samples} samples\n(bar: mean, line: smallest to largest)", fontsize=10.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=9, frameon=False)


def draw_changes(rows: pd.DataFrame) -> Figure:
    """Share of the samples in which an explanation changes a feature, for every alternative and kind.

    Parameters
    ----------
    rows : DataFrame
        Of the family "city".
    """
    from matplotlib.figure import Figure

    answers = rows[rows["what"] == "answer"]
    network = json.loads(rows.loc[rows["what"] == "network", "details"].iloc[0])
    features = list(network["context"])
    cells = list(answers.groupby(["alternative", "kind"], sort=False))
    figure = Figure(figsize=(2.6 + 1.15 * len(cells), 3.6), layout="constrained")
    ax = figure.subplots()
    share = np.full((len(features), len(cells)), np.nan)
    for column, (_, cell) in enumerate(cells):
        found = [json.loads(text)["changes"] for text in cell.loc[cell["status"] == "optimal", "details"]]
        if found:
            share[:, column] = [np.mean([feature in changes for changes in found]) for feature in features]
        for row in range(len(features)):
            word = f"{100 * share[row, column]:.0f} %" if found else "-"
            ax.text(
                column, row, word, ha="center", va="center", color="white" if share[row, column] > 0.6 else charts.BLACK
            )
    ax.imshow(np.nan_to_num(share), cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    ax.set_xticks(range(len(cells)), [f"{SHORT[str(name)]}\n{kind}".replace(" ", "\n", 1) for (name, kind), _ in cells])
    ax.set_yticks(range(len(features)), [feature.replace("_", " ") for feature in features])
    samples = answers["seed"].nunique()
    ax.set_title(
        f"Samples in which the explanation changes a feature (of those explained; {samples} asked)", fontsize=10.5
    )
    return figure
