"""The paper's integer programs: iterative against dual, and how large a weight can get."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper import charts
from paper.asking import ask
from paper.experiment import Family, Label, Row, Setup, Task
from paper.forests import paper_forest
from paper.instances import instance, study
from whence import ForestWeights, KNNWeights
from whence.milp.weighting import w_max

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = ("iterative", "dual")
#: Predictor, its name in the tables, and the sample sizes that an open solver manages; the paper has 50, 100 and 200.
SETTINGS: dict[str, tuple[str, ForestWeights | KNNWeights, tuple[int, ...]]] = {
    "forest": ("Random forest, 100 trees", paper_forest(100, 4), (50,)),
    "knn": ("Nearest neighbours, k = 10", KNNWeights(10), (20, 50)),
}
#: Most runs of a setting, and seconds a question.
MOST, LIMIT = 10, 60.0
#: Bounds on a weight, loosest first, and what they are.
BOUNDS = {
    "unit": "1, without any thought",
    "mean": "mean of the trees' largest weights (paper)",
    "path": "longest path over leaves (paper)",
    "sample": "largest weight at an own context (exact)",
}
SAMPLES = (50, 100, 200)


# ---- iterative against dual --------------------------------------------------------------------------------------


def _method_tasks(setup: Setup) -> list[Task]:
    tasks = []
    for name, (_, _, samples) in SETTINGS.items():
        for n in samples[:1] if setup.tiny else samples:
            for seed in range(min(setup.runs, MOST)):
                tasks.append(Task(f"{name}-n{n}-{seed}", seed, {"predictor": name, "n": n, "tiny": setup.tiny}))
    return tasks


def _method_run(task: Task) -> list[Row]:
    name, n, tiny = task.sizes["predictor"], task.sizes["n"], task.sizes["tiny"]
    predictor = (paper_forest(5, 3) if name == "forest" else KNNWeights(3)) if tiny else SETTINGS[name][1]
    asked = instance("shortest_path", n, task.seed, predictor=predictor, width=4 if tiny else 8)
    searched = ask(asked, "absolute")
    row: Row = {"predictor": name, "n": n, "status": searched.status, "distance": searched.why.distance}
    for method in METHODS:
        row |= {f"status_{method}": "", f"distance_{method}": np.nan, f"seconds_{method}": np.nan}
        if searched.status == "optimal":
            # One solve each: the distance is held against that of the search below.
            options = {"engine": "milp", "solver": "highs", "method": method, "threads": 1, "confirm": False}
            solved = ask(asked, "absolute", time_limit=LIMIT, **options)
            row[f"status_{method}"] = solved.status
            row[f"distance_{method}"] = solved.why.distance
            row[f"seconds_{method}"] = solved.seconds
    return [row]


def _counted(rows: pd.DataFrame) -> pd.DataFrame:
    """The questions that both methods answered, with the ratio of their times."""
    both = rows[(rows["status_iterative"] == "optimal") & (rows["status_dual"] == "optimal")]
    return both.assign(ratio=both["seconds_iterative"] / both["seconds_dual"])


def _method_table(rows: pd.DataFrame) -> pd.DataFrame:
    lines = []
    for (predictor, n), cell in rows.groupby(["predictor", "n"], sort=False):
        both = _counted(cell)
        asked = cell[cell["status"] == "optimal"]
        line: Row = {
            "predictor": predictor,
            "n": n,
            "runs": len(cell),
            "symmetric": int((cell["status"] == "already").sum()),
        }
        line |= {
            f"{method} proved": f"{(asked[f'status_{method}'] == 'optimal').sum()} of {len(asked)}"
            for method in METHODS
        }
        for method in METHODS:
            line[f"{method} mean s"] = float(both[f"seconds_{method}"].mean())
        line["median ratio"] = float(both["ratio"].median())
        line["smallest"], line["largest"] = float(both["ratio"].min()), float(both["ratio"].max())
        line["iterative faster"] = f"{(both['ratio'] < 1).sum()} of {len(both)}"
        lines.append(line)
    return pd.DataFrame(lines)


def _method_remarks(rows: pd.DataFrame) -> list[str]:
    both = _counted(rows)
    if both.empty:
        return ["No question was answered both ways: more runs are needed."]
    found = both[["distance_iterative", "distance_dual"]].to_numpy(dtype=np.float64)
    gap = float(np.abs(found - both[["distance"]].to_numpy(dtype=np.float64)).max())
    remarks = []
    for predictor, better, expected in (("forest", "the iterative algorithm", True), ("knn", "the dual", False)):
        part = both[both["predictor"] == predictor]
        if len(part):
            median = float(part["ratio"].median())
            means = float(part["seconds_iterative"].mean() / part["seconds_dual"].mean())
            holds = [(ratio < 1) == expected for ratio in (median, means)]
            verdict = "agrees" if all(holds) else "agrees in part" if any(holds) else "differs"
            remarks.append(
                f"{SETTINGS[predictor][0]}: {better} is faster: {verdict}; the iterative algorithm takes {median:.2f} "
                f"times as long as the dual in the median question, {means:.2f} times in the mean."
            )
    spread = both["ratio"].max() / both["ratio"].min()
    remarks.append(
        f"The ratio varies a lot: {'agrees' if spread > 5 else 'differs'}; from {both['ratio'].min():.2f} to "
        f"{both['ratio'].max():.2f}."
    )
    remarks.append(
        f"HiGHS with one thread, at most {MOST} runs a setting, {LIMIT:.0f} s a question and smaller samples than the "
        f"paper's (50, 100 and 200 with Gurobi). Both methods and the search agree on the distance to {gap:.0e}."
    )
    return remarks


def _method_figure(rows: pd.DataFrame) -> Figure:
    figure, axes = charts.panels([shown for shown, _, _ in SETTINGS.values()], (8.2, 3.4))
    both = _counted(rows)
    for ax, predictor in zip(axes, SETTINGS, strict=True):
        sizes = sorted(rows.loc[rows["predictor"] == predictor, "n"].unique())
        ratios = [
            both.loc[(both["predictor"] == predictor) & (both["n"] == n), "ratio"].to_numpy(dtype=np.float64)
            for n in sizes
        ]
        charts.boxes(ax, sizes, {"ratio": ratios})
        for place, values in enumerate(ratios):
            ax.plot(np.full(len(values), place), values, ".", color=charts.BLACK, markersize=5, alpha=0.7)
        ax.axhline(1.0, color=charts.BLACK, linewidth=1, linestyle="--")
        charts.logarithmic(ax)
        ax.set_xlabel("Observations n")
    axes[0].set_ylabel("Time, iterative / dual")
    axes[0].annotate("below 1: iterative is faster", (0.03, 0.03), xycoords="axes fraction", fontsize=9)
    return figure


# ---- the weighted leaf graph -------------------------------------------------------------------------------------


def _bound_tasks(setup: Setup) -> list[Task]:
    samples = SAMPLES[:1] if setup.tiny else SAMPLES
    return [Task(f"n{n}-{seed}", seed, {"n": n}) for n in samples for seed in range(setup.runs)]


def _bound_run(task: Task) -> list[Row]:
    n = task.sizes["n"]
    weights = study("cvar_shortest_path", n, task.seed, predictor=paper_forest(100, 4)).policy.weights_
    return [{"n": n, **{how: float(w_max(weights, how).max()) for how in BOUNDS}}]


def _bound_table(rows: pd.DataFrame) -> pd.DataFrame:
    lines = []
    for how, told in BOUNDS.items():
        line: Row = {"bound": how, "what": told}
        for n, cell in rows.groupby("n"):
            line[f"mean, n = {n}"] = float(cell[how].mean())
        line["smallest"], line["largest"] = float(rows[how].min()), float(rows[how].max())
        lines.append(line)
    return pd.DataFrame(lines)


def _bound_remarks(rows: pd.DataFrame) -> list[str]:
    mean, path, sample = (float(rows[how].mean()) for how in ("mean", "path", "sample"))
    tighter = float((rows["path"] < rows["mean"]).mean())
    return [
        f"The mean of the trees' largest weights is close to 1: {'agrees' if mean > 0.8 else 'differs'}; {mean:.2f}.",
        f"The longest path is tighter: {'agrees' if tighter == 1 else 'differs'}; {path:.2f}, smaller in "
        f"{100 * tighter:.0f} % of {len(rows)} forests. It needs the factor 1/T, which the text leaves out.",
        f"The paper calls the lowest bound intractable; it is not. In every tree a sample weighs nothing or what it "
        f"weighs at its own context, so the lowest bound is the largest of these weights: {sample:.2f}.",
    ]


def _leaves(weights: ForestWeights) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """The leaf of every sample in every tree, numbered from 0 within the tree, and the samples in every leaf."""
    members = weights.members_
    leaf = np.empty(members.order.shape, dtype=np.int64)
    sizes = []
    for t, size in enumerate(members.size):
        used = size[size > 0].astype(np.int64)
        leaf[t, members.order[t]] = np.repeat(np.arange(used.size), used)
        sizes.append(used)
    return leaf, sizes


@cache
def _example() -> ForestWeights:
    """A forest small enough to draw: 7 samples, 4 trees."""
    rng = np.random.default_rng(5)
    X, Y = rng.random((7, 2)), rng.random((7, 1))
    return paper_forest(4, 2, random_state=3).fit(X, Y)


def heaviest_path(leaf: NDArray[np.int64], sizes: list[NDArray[np.int64]]) -> tuple[list[int], float]:
    """The chain of leaves, one a tree, each sharing a sample with the next, whose weights 1/size have the largest mean.

    Parameters
    ----------
    leaf : ndarray of shape (trees, samples)
        Leaf of every sample in every tree.
    sizes : list of ndarray
        Samples in every leaf of a tree.

    Examples
    --------
    >>> heaviest_path(np.array([[0, 0, 1], [0, 1, 1]]), [np.array([2, 1]), np.array([1, 2])])
    ([0, 0], 0.75)
    """
    reached = 1.0 / sizes[0]
    back: list[NDArray[np.int64]] = []
    for t in range(1, len(sizes)):
        met = np.zeros((len(sizes[t - 1]), len(sizes[t])), dtype=bool)
        met[leaf[t - 1], leaf[t]] = True
        gains = np.where(met, reached[:, None], -np.inf)
        back.append(gains.argmax(axis=0))
        reached = gains.max(axis=0) + 1.0 / sizes[t]
    path = [int(reached.argmax())]
    for previous in reversed(back):
        path.append(int(previous[path[-1]]))
    return path[::-1], float(reached.max() / len(sizes))


def _graph(ax: Axes) -> None:
    """Leaves as nodes with their samples, arcs between leaves of successive trees that share one, the heaviest path."""
    leaf, sizes = _leaves(_example())
    path, length = heaviest_path(leaf, sizes)
    trees = len(sizes)
    height = [[(len(size) - 1) / 2 - number for number in range(len(size))] for size in sizes]
    columns = [*height, [0.0]]
    chosen = [*path, 0]
    for t in range(trees):
        following = np.zeros(leaf.shape[1], dtype=np.int64) if t == trees - 1 else leaf[t + 1]
        for a, b in sorted({(int(u), int(v)) for u, v in zip(leaf[t], following, strict=True)}):
            heavy = (chosen[t], chosen[t + 1]) == (a, b)
            ends = ([t, t + 1], [columns[t][a], columns[t + 1][b]])
            ax.plot(
                *ends, color=charts.RED if heavy else charts.GREY, linewidth=3 if heavy else 1, zorder=2 if heavy else 1
            )
            at = (t + 0.5, (ends[1][0] + ends[1][1]) / 2)
            if heavy:
                box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
                ax.text(
                    *at, f"1/{sizes[t][a]}", color=charts.RED, ha="center", va="center", fontsize=9, bbox=box, zorder=3
                )
    for t, size in enumerate(sizes):
        for number in range(len(size)):
            held = ", ".join(str(i + 1) for i in np.flatnonzero(leaf[t] == number))
            heavy = path[t] == number
            style: dict[str, Any] = {"facecolor": "#FBE3D3" if heavy else "white", "edgecolor": charts.BLACK}
            box = {"boxstyle": "round,pad=0.35", **style}
            ax.text(t, height[t][number], held, ha="center", va="center", fontsize=9, bbox=box, zorder=4)
        ax.text(t, 2.25, f"tree {t + 1}", ha="center", fontsize=10)
    ax.text(
        trees,
        0.0,
        "sink",
        ha="center",
        va="center",
        fontsize=9,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": "#E4E8EB"},
        zorder=4,
    )
    ax.set_xlim(-0.5, trees + 0.4)
    ax.set_ylim(-2.3, 2.6)
    ax.axis("off")
    ax.set_title(f"Leaves with their samples; longest path / 4 trees = {length:.2f}", fontsize=11)


def _bound_figure(rows: pd.DataFrame) -> Figure:
    figure, axes = charts.panels(["", "Bound on a weight, 100 trees of depth 4"], (9.6, 3.8), share=False)
    _graph(axes[0])
    ax = axes[1]
    sizes = sorted(rows["n"].unique())
    shown = {"mean": "mean of trees", "path": "longest path", "sample": "exact"}
    series = {
        shown[how]: [rows.loc[rows["n"] == n, how].to_numpy(dtype=np.float64) for n in sizes]
        for how in list(BOUNDS)[1:]
    }
    charts.boxes(ax, sizes, series)
    ax.axhline(1.0, color=charts.BLACK, linewidth=1, linestyle="--")
    ax.set_ylim(0.0, 1.08)
    ax.set_xlabel("Observations n")
    ax.legend(frameon=False, ncols=3, loc="lower center")
    return figure


LABELS = (
    Label(
        label="fig:dualVsIter",
        title="Time of the iterative algorithm relative to the dual, absolute explanations, shortest path",
        statement=(
            "The iterative algorithm is best for forests with large samples, the dual reformulation is faster on "
            "average for nearest neighbours; the ratio has a large variance."
        ),
        table=_method_table,
        family=Family("methods", _method_tasks, _method_run, depends=lambda setup: {"limit": LIMIT}),
        draw=_method_figure,
        remarks=_method_remarks,
    ),
    Label(
        label="fig:weightFlow",
        title="The weighted graph of leaves and the bounds on a weight, CVaR shortest path",
        statement=(
            "Averaging the trees' largest weights often gives a bound close to 1; the longest path over leaves of "
            "successive trees that share a sample is tighter; the lowest bound is intractable."
        ),
        table=_bound_table,
        family=Family("weight-bounds", _bound_tasks, _bound_run),
        draw=_bound_figure,
        remarks=_bound_remarks,
    ),
)
