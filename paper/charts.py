"""Figures of the experiments: axes, lines and boxes that look alike, in colours that everybody can tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

# Okabe and Ito: distinct for every kind of colour blindness.
BLUE, ORANGE, GREEN, PINK, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
BLACK, GREY = "#222222", "#8A8F94"
#: For series, in this order; markers tell them apart without colour.
COLOURS = (BLUE, RED, GREEN, BLACK, PINK, ORANGE)
MARKERS = ("o", "s", "^", "D", "v", "P")


def panels(titles: Sequence[str], size: tuple[float, float], *, share: bool = True) -> tuple[Figure, list[Axes]]:
    """A figure with a row of axes, one per title.

    Parameters
    ----------
    titles : sequence of str
        Of the panels, left to right.
    size : tuple of float
        Width and height in inches.
    share : bool
        Whether all have the same vertical axis.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(1, len(titles), sharey=share)))
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=11)
        ax.grid(True, which="major", color="#DDE1E4", linewidth=0.7)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def band(ax: Axes, x: Sequence[float], samples: Sequence[Floats], label: str, number: int) -> None:
    """The mean over `samples` at each `x`, with one standard deviation to either side, never below the smallest."""
    kept = [(at, values) for at, values in zip(x, samples, strict=True) if len(values)]
    if not kept:
        return
    where = [at for at, _ in kept]
    mean = np.array([values.mean() for _, values in kept])
    spread = np.array([values.std() for _, values in kept])
    least = np.array([values.min() for _, values in kept])
    colour = COLOURS[number]
    ax.fill_between(where, np.maximum(mean - spread, least), mean + spread, color=colour, alpha=0.13, linewidth=0)
    ax.plot(where, mean, color=colour, marker=MARKERS[number], markersize=5, linewidth=1.6, label=label)


def boxes(ax: Axes, names: Sequence[Any], series: Mapping[str, Sequence[Floats]]) -> None:
    """Boxes from quartile to quartile at every name, side by side for the series; a white dot marks the mean."""
    width = 0.7 / len(series)
    for number, (label, samples) in enumerate(series.items()):
        places = [i + (number - (len(series) - 1) / 2) * width for i in range(len(names))]
        kept = [(at, values) for at, values in zip(places, samples, strict=True) if len(values)]
        if not kept:
            continue
        drawn = ax.boxplot(
            [values for _, values in kept],
            positions=[at for at, _ in kept],
            widths=0.86 * width,
            showmeans=True,
            patch_artist=True,
            manage_ticks=False,
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": COLOURS[number]},
            meanprops={"marker": "o", "markersize": 4.5, "markerfacecolor": "white", "markeredgecolor": BLACK},
            medianprops={"color": BLACK, "linewidth": 1.3},
        )
        for box in drawn["boxes"]:
            box.set(facecolor=COLOURS[number], alpha=0.55, edgecolor=COLOURS[number])
        for line in (*drawn["whiskers"], *drawn["caps"]):
            line.set(color=COLOURS[number])
        ax.plot([], [], "s", color=COLOURS[number], alpha=0.55, markersize=8, label=label)
    ax.set_xticks(range(len(names)), [str(name) for name in names])
    ax.set_xlim(-0.6, len(names) - 0.4)


def logarithmic(ax: Axes) -> None:
    """A logarithmic vertical axis with plain numbers at 1, 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
