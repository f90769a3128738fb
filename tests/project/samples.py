"""Small projects for the tests: a bakery, a city of four streets, and pieces to break them with."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "bakery-project"

DAYS = ("Monday", "Tuesday", "Wednesday")

PROJECT = """
title = "Why not more?"

[data]
history = "days.csv"

[outcomes]
columns = ["rolls", "cakes"]

[features.temp]
type = "continuous"
unit = "°C"

[weights]
kind = "knn"
k = 5

[problem]
kind = "newsvendor"
holding = [1, 2]
backorder = { rolls = 3, cakes = 4 }
budget = 100

[explain]
time_limit = 30
"""


def days(n: int = 40, seed: int = 0) -> list[list[str]]:
    """A header and rows: temperature, rain, weekday, number of events, rolls and cakes sold."""
    rng = np.random.default_rng(seed)
    rows = [["temp", "rain", "day", "events", "rolls", "cakes"]]
    for i in range(n):
        temp, rain, events = round(float(rng.uniform(-5, 25)), 1), bool(rng.random() < 0.4), int(rng.integers(0, 4))
        rolls = 30 + temp - 8 * rain + 5 * events + float(rng.normal(0, 2))
        cakes = 20 - 0.4 * temp + 3 * events + float(rng.normal(0, 2))
        row = [temp, "yes" if rain else "no", DAYS[i % 3], events, round(rolls, 1), round(cakes, 1)]
        rows.append([str(cell) for cell in row])
    return rows


def csv_text(rows: list[list[str]], separator: str = ",", decimal: str = ".") -> str:
    """Rows as the text of a CSV file."""
    return "".join(separator.join(cell.replace(".", decimal) for cell in row) + "\n" for row in rows)


def write_project(folder: Path, project: str = PROJECT, data: str | None = None) -> Path:
    """A project in `folder`, with the days unless other data is given; the path of its project file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "days.csv").write_text(csv_text(days()) if data is None else data, "utf-8")
    path = folder / "whence.toml"
    path.write_text(project, "utf-8")
    return path


def write_city(folder: Path) -> Path:
    """A project with a network of four streets."""
    rng = np.random.default_rng(1)
    rows = ["rain,bridge in,bridge out,tunnel in,tunnel out"]
    for _ in range(30):
        rain = round(float(rng.uniform(0, 10)), 1)
        minutes = (5 + rain, 5 + rain, 8 + 0.1 * rain, 8 + 0.1 * rain)
        rows.append(",".join([str(rain), *(f"{m + rng.normal(0, 0.3):.2f}" for m in minutes)]))
    (folder / "trips.csv").write_text("\n".join(rows) + "\n", "utf-8")
    # Not in the order of the graph's edges, nor of the columns.
    edges = "from,to,column,name\ntunnel,work,tunnel out,B1\nhome,bridge,bridge in,A1\n"
    edges += "bridge,work,bridge out,A1\nhome,tunnel,tunnel in,B1\n"
    (folder / "streets.csv").write_text(edges, "utf-8")
    (folder / "places.csv").write_text("node,x,y\nhome,0,0\nbridge,1,1\ntunnel,1,-1\nwork,2,0\n", "utf-8")
    path = folder / "city.toml"
    path.write_text(
        '[data]\nhistory = "trips.csv"\n[weights]\nkind = "knn"\nk = 4\n[problem]\nkind = "shortest_path"\n'
        'network = "streets.csv"\nnodes = "places.csv"\nsource = "home"\ntarget = "work"\n'
        '[risk]\nkind = "cvar"\nalpha = 0.5\n',
        "utf-8",
    )
    return path
