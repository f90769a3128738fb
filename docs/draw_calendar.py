"""Distances round the clock and the year: ``python docs/draw_calendar.py`` writes ``docs/images/calendar.png``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import whence as wh

#: The hour and the day from which distances are measured.
HOUR, DAY = 22, "2025-06-13"
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def main() -> None:
    """Draw the distance of every hour from one, and of every day of a year from one."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.2), width_ratios=(2, 3), layout="constrained")
    hours = pd.DataFrame({"hour": range(24)})
    for kind, name in ((wh.Cyclic(24), "Cyclic(24)"), (wh.Discrete(step=1), "Discrete(step=1)")):
        schema = wh.Schema({"hour": kind}).fit(hours)
        space = schema.space(schema.row({"hour": HOUR}))
        left.plot(
            hours["hour"], [space.distance(point) for point in schema.encode(hours)], ".-", label=name, linewidth=1.2
        )
    left.axvline(HOUR, color="grey", linewidth=0.8, linestyle=":")
    left.set(xlabel="hour", ylabel="distance", title=f"Hours from {HOUR} o'clock", xticks=range(0, 24, 4))
    left.legend(frameon=False)
    days = pd.DataFrame({"date": pd.date_range("2025-01-01", "2025-12-31")})
    schema = wh.Schema({"date": wh.Date(parts=("weekday", "month"))}).fit(days)
    space = schema.space(schema.row({"date": DAY}))
    far = np.full((12, 31), np.nan)
    for day, point in zip(days["date"], schema.encode(days), strict=True):
        far[day.month - 1, day.day - 1] = space.distance(point)
    image = right.imshow(far, aspect="auto", cmap="viridis_r", extent=(0.5, 31.5, 12.5, 0.5))
    start = pd.Timestamp(DAY)
    right.plot(start.day, start.month, "o", color="white", markeredgecolor="black")
    right.set(xlabel="day of the month", title="Days from Friday 13 June 2025, by weekday and month")
    right.set_yticks(range(1, 13), MONTHS, fontsize="small")
    figure.colorbar(image, ax=right, label="distance")
    figure.savefig(Path(__file__).parent / "images" / "calendar.png", dpi=150)


if __name__ == "__main__":
    main()
