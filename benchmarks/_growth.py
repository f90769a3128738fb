"""Growth curves: median time of an explanation against one size at a time, as a table and a plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import matplotlib

from _common import Report, Settings, collect, milliseconds

matplotlib.use("Agg")
import matplotlib.pyplot as plt

#: What is drawn: the experiment and the kind of explanation.
LINES = (
    ("shortest_path", "relative", "shortest path, relative"),
    ("shortest_path", "absolute", "shortest path, absolute"),
    ("cvar_shortest_path", "relative", "CVaR path, relative"),
)

LABELS = {
    "n": "past observations n",
    "trees": "trees",
    "depth": "depth of the trees",
    "k": "neighbours k",
    "d": "dimension d of a context",
}

#: From problem, size values and a seed to an instance.
Make = Callable[[str, Mapping[str, int], int], Any]


def curves(
    settings: Settings,
    report: Report,
    make: Make,
    base: Mapping[str, int],
    axes: Mapping[str, Sequence[int]],
    name: str,
    time_limit: float = 30.0,
) -> None:
    """Vary each size in `axes` alone, the others as in `base`; write the table and ``growth-<name>.png``."""
    figure, panels = plt.subplots(1, len(axes), figsize=(3.4 * len(axes), 3.4), sharey=True, layout="constrained")
    for panel, (size, values) in zip(panels, axes.items(), strict=True):
        for problem, kind, label in LINES:
            points = []
            for value in values:
                sizes = {**base, size: value}
                made = partial(make, problem, sizes)
                cell = collect(made, settings.instances, settings.start, (kind,), time_limit=time_limit)[kind]
                report.row(
                    varied=size,
                    value=value,
                    problem=problem.replace("_", " "),
                    kind=kind,
                    median_ms=milliseconds(cell.median),
                    mean_ms=milliseconds(cell.mean),
                    proved=cell.share,
                    not_counted=cell.others,
                )
                if cell.proved:
                    points.append((value, 1e3 * cell.median))
            panel.loglog(*zip(*points, strict=True), marker="o", markersize=3, linewidth=1.2, label=label)
        panel.set_xlabel(LABELS[size])
        panel.set_xticks(list(values), labels=[str(value) for value in values], fontsize=7)
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("median time of one explanation [ms]")
    panels[0].legend(fontsize=7, frameon=False)
    figure.suptitle("One size varied at a time; elsewhere " + ", ".join(f"{k} = {v}" for k, v in base.items()))
    settings.images.mkdir(parents=True, exist_ok=True)
    path = settings.images / f"growth-{name}.png"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"written: {path}", flush=True)
