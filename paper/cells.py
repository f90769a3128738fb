"""The four synthetic problems with every predictor: times, distances and symmetric contexts."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from paper import comparison
from paper.against import against_paper
from paper.asking import KINDS, ask
from paper.experiment import Family, Label, Row, Setup, Task
from paper.forests import paper_forest
from paper.histories import PROBLEMS
from paper.instances import instance
from whence import ForestWeights, KNNWeights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (50, 100, 200)
#: Trees and depth, or neighbours: the paper's hyper-parameters; the first of either are its defaults.
FORESTS = ((100, 4), (200, 4), (100, 3), (100, 5), (100, 6))
NEIGHBOURS = (10, 30)
#: Settings of the main tables, by what a task says of its predictor.
DEFAULTS = ("T=100", "k=10")
MAIN = ("T=100", "T=200", "k=10", "k=30")
DEPTHS = ("depth=3", "T=100", "depth=5", "depth=6")


def predictor(trees: int = 0, depth: int = 0, k: int = 0) -> ForestWeights | KNNWeights:
    """A forest of `trees` trees of that depth, or `k` neighbours."""
    return KNNWeights(k) if k else paper_forest(trees, depth)


def warm() -> None:
    """Load every search that the tasks are timed on: both predictors, both risks, both kinds."""
    for problem, weights in product(PROBLEMS, (paper_forest(20, 4), KNNWeights(10))):
        for seed in range(3):
            asked = instance(problem, 50, seed, predictor=weights)
            for kind in KINDS:
                ask(asked, kind, time_limit=2.0)


def _name(sizes: dict[str, int]) -> str:
    if "k" in sizes:
        return f"k={sizes['k']}"
    return f"T={sizes['trees']}" if sizes["depth"] == 4 else f"depth={sizes['depth']}"


def _tasks(setup: Setup) -> list[Task]:
    """One task a fit. Predictors of a cell share history and contexts, as in the paper."""
    sizes = (20,) if setup.tiny else SIZES
    forests = ((5, 4), (10, 4), (5, 3), (5, 5), (5, 6)) if setup.tiny else FORESTS
    shapes = [{"trees": trees, "depth": depth} for trees, depth in forests]
    shapes += [{"k": k} for k in ((3, 5) if setup.tiny else NEIGHBOURS)]
    # In tiny runs sizes are not the paper's, but cells still bear its names, so that every table has its rows.
    names = [*(_name({"trees": t, "depth": d}) for t, d in FORESTS), *(_name({"k": k}) for k in NEIGHBOURS)]
    tasks = []
    for run, (number, (problem, n)) in product(range(setup.runs), enumerate(product(PROBLEMS, sizes))):
        for name, shape in zip(names, shapes, strict=True):
            shown = 50 if setup.tiny else n
            told = {"problem": problem, "n": n, "shown": shown, "setting": name, **shape}
            tasks.append(Task(f"{problem} n={shown} {name} run={run}", 100_000 * number + run, told))
    return tasks


def _run(task: Task) -> list[Row]:
    """One fit, one question, both kinds of explanation."""
    told = task.sizes
    shape = {name: told[name] for name in ("trees", "depth", "k") if name in told}
    asked = instance(told["problem"], told["n"], task.seed, predictor=predictor(**shape))
    cell = {
        "problem": told["problem"],
        "n": told["shown"],
        "predictor": "knn" if "k" in told else "forest",
        "setting": told["setting"],
    }
    return [{**cell, **ask(asked, kind).row} for kind in KINDS]


CELLS = Family("cells", _tasks, _run, warm)


# ---- tables ------------------------------------------------------------------------------------------------------


def _times(label: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Mean seconds beside the paper's."""
    table = comparison.beside(label, comparison.means(rows, "seconds"))
    return table.rename(columns={"paper": "paper [s]", "ours": "ours [s]", "error": "error [s]"})


def _depths(label: str, rows: pd.DataFrame) -> pd.DataFrame:
    return _times(label, rows.assign(setting=rows["setting"].replace({"T=100": "depth=4"})))


def _ratios(table: pd.DataFrame, rows: pd.DataFrame) -> list[str]:
    """Smallest, median and largest ratio by name, and what was left out."""
    kept = table.dropna(subset=["paper / ours"]).sort_values("paper / ours").reset_index(drop=True)
    sentences = []
    if len(kept):
        named = {
            "smallest": kept.iloc[0],
            "median": kept.iloc[(len(kept) - 1) // 2],
            "largest": kept.iloc[-1],
        }
        told = [
            f"{name} {row['paper / ours']:.0f} ({row['problem']} n={row['n']} {row['setting']} {row['kind']}: "
            f"{row['paper [s]']:g} s against {1e3 * row['ours [s]']:.1f} ms)"
            for name, row in named.items()
        ]
        sentences.append(f"Ratio paper / ours: {'; '.join(told)}.")
    return sentences + _left_out(rows)


def _left_out(rows: pd.DataFrame) -> list[str]:
    """How many questions of each outcome there are."""
    symmetric = int((rows["status"] == "already").sum())
    cut = int((rows["status"] == "time_limit").sum())
    without = int((rows["status"] == "none").sum())
    runs = rows["key"].str.rpartition("=")[2].nunique()
    return [
        f"{runs} runs a cell, {len(rows)} questions: {symmetric} with symmetric contexts are not counted, "
        f"{without} have no answer, {cut} were cut off after a minute and count as a minute. The paper's times are the "
        "solver's alone on four cores; ours are of the whole call on one core: tables, search and re-check."
    ]


def _time_remarks(label: str, rows: pd.DataFrame) -> list[str]:
    return _ratios(_times(label, rows), rows)


def _depth_remarks(rows: pd.DataFrame) -> list[str]:
    return _ratios(_depths("tab:depthCompTimes", rows), rows)


def _distances(rows: pd.DataFrame) -> pd.DataFrame:
    return comparison.distances("tab:fullDist", rows, symmetric="tab:percSymm")


def _distance_remarks(rows: pd.DataFrame) -> list[str]:
    table = _distances(rows)
    return [
        "L1 in the units of the data divided by the number of features, over runs that are not symmetric: the paper's "
        "measure, not the scaled distance that is minimised. Predictors of the same problem and n share their "
        "contexts, in the paper as here, so that their cells deviate together.",
        comparison.chance(table),
        *_rows_apart(rows),
    ]


def _rows_apart(rows: pd.DataFrame) -> list[str]:
    """The mean over the four predictors of a problem and n, which share contexts: how far it is from the paper's."""
    table = _distances(rows)
    mean = table.groupby(["problem", "n", "kind"], sort=False)[["paper", "ours"]].mean().dropna().reset_index()
    if mean.empty:
        return []
    mean = mean.assign(ratio=mean["ours"] / mean["paper"]).sort_values("ratio")
    low, high = (
        f"{row['ratio']:.2f} ({row['problem']} n={row['n']} {row['kind']})" for row in (mean.iloc[0], mean.iloc[-1])
    )
    middle = float(np.exp(np.log(mean["ratio"]).mean()))
    return [f"Means over the four predictors, ours / paper: from {low} to {high}, geometric mean {middle:.2f}."]


def _symmetric(rows: pd.DataFrame) -> pd.DataFrame:
    return comparison.shares("tab:percSymm", rows)


def _symmetric_remarks(rows: pd.DataFrame) -> list[str]:
    table = _symmetric(rows)
    counted = round(float((table["ours"] * table["runs"]).sum()) / 100.0)
    return [
        comparison.chance(table),
        "Predictors of the same problem and n share their contexts, in the paper as here, so that their cells deviate "
        f"together. Counted as in the paper's public code: {counted} of {len(rows)}.",
    ]


# ---- figures -----------------------------------------------------------------------------------------------------


def _draw_times(label: str, rows: pd.DataFrame) -> Figure:
    table = _depths(label, rows) if label == "tab:depthCompTimes" else _times(label, rows)
    cells = table.rename(columns={"paper [s]": "paper", "ours [s]": "ours", "error [s]": "error"})
    return against_paper(cells, "mean seconds", log=True)


def _draw_distances(rows: pd.DataFrame) -> Figure:
    return against_paper(_distances(rows), "mean distance (L1 / features)", log=True)


def _draw_symmetric(rows: pd.DataFrame) -> Figure:
    return against_paper(_symmetric(rows), "symmetric contexts [%]", log=False)


def _with(settings: tuple[str, ...], task: Task) -> bool:
    return task.sizes["setting"] in settings


LABELS = (
    Label(
        "tab:compTimes",
        "Mean time of an explanation, default predictors",
        "Explanations take from fractions of a second to minutes; forests scale well with the number of observations, "
        "neighbours do not, and CVaR is harder than the mean.",
        partial(_times, "tab:compTimes"),
        CELLS,
        partial(_draw_times, "tab:compTimes"),
        partial(_time_remarks, "tab:compTimes"),
        partial(_with, DEFAULTS),
    ),
    Label(
        "tab:percSymm",
        "Symmetric contexts in percent",
        "Rare where decisions are continuous, common for routes; more trees change little, more neighbours mean more "
        "symmetric contexts.",
        _symmetric,
        CELLS,
        _draw_symmetric,
        _symmetric_remarks,
        partial(_with, MAIN),
    ),
    Label(
        "tab:fullCompTimes",
        "Mean time of an explanation by trees and neighbours",
        "Larger forests take longer, but times stay small where the expected cost is minimised.",
        partial(_times, "tab:fullCompTimes"),
        CELLS,
        partial(_draw_times, "tab:fullCompTimes"),
        partial(_time_remarks, "tab:fullCompTimes"),
        partial(_with, MAIN),
    ),
    Label(
        "tab:depthCompTimes",
        "Mean time of an explanation by depth of the trees",
        "Deeper trees take longer; a few seconds to a few minutes.",
        partial(_depths, "tab:depthCompTimes"),
        CELLS,
        partial(_draw_times, "tab:depthCompTimes"),
        _depth_remarks,
        partial(_with, DEPTHS),
    ),
    Label(
        "tab:fullDist",
        "Mean distance of an explanation by trees and neighbours",
        "The predictors' parameters have little effect on the distance.",
        _distances,
        CELLS,
        _draw_distances,
        _distance_remarks,
        partial(_with, MAIN),
    ),
)
