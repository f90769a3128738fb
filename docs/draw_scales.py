"""The chart of what counts as one unit of change: ``python docs/draw_scales.py`` writes ``docs/images/scales.png``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import whence as wh

#: Minutes of delay today, and the ways to count a change of them.
TODAY = 7.0
SCALES = {"range": "range", "iqr": "interquartile range", 10: "10 minutes"}


def main() -> None:
    """Draw the distance of every delay from today's, and the past delays under it."""
    delays = np.random.default_rng(2).lognormal(1.6, 1.1, 300).round(1)
    X = pd.DataFrame({"delay": delays})
    at = np.linspace(0, 60, 601)
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(7, 4.2), sharex=True, height_ratios=(4, 1), layout="constrained"
    )
    for scale, name in SCALES.items():
        schema = wh.Schema({"delay": wh.Continuous(scale=scale)}).fit(X)
        space = schema.space(schema.row({"delay": TODAY}))
        points = schema.encode(pd.DataFrame({"delay": at}))
        top.plot(at, [space.distance(point) for point in points], label=name, linewidth=1.4)
    top.axvline(TODAY, color="grey", linewidth=0.8, linestyle=":")
    top.set(ylabel="distance", ylim=(0, 2.2), title=f"How far a delay is from {TODAY:g} minutes, by 'scale'")
    top.legend(frameon=False)
    bottom.hist(delays[delays <= at[-1]], bins=60, color="silver")
    bottom.set(xlabel="delay [min]", ylabel="past days", xlim=(0, at[-1]))
    figure.savefig(Path(__file__).parent / "images" / "scales.png", dpi=150)


if __name__ == "__main__":
    main()
