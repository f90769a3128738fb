"""How long explanations take: more features, more observations, more products, wider grids."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from paper import charts
from paper.asking import KINDS, ask
from paper.experiment import Family, Label, Row, Setup, Task
from paper.forests import paper_forest
from paper.instances import Study, instance, study
from whence import ForestWeights, KNNWeights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The paper's lists; those of products and widths come from its public code.
DIMENSIONS = (5, 10, 25, 50, 100, 500)
SAMPLES = {"shortest_path": (100, 500, 1000, 5000), "cvar_shortest_path": (100, 500, 1000)}
PRODUCTS = (5, 20, 50, 100)
WIDTHS = (3, 5, 10, 20)
#: Questions that share a history where fitting takes longer than explaining.
SHARED = {100: 1, 500: 2, 1000: 4, 5000: 10}
#: Fewer runs than asked for where one fit takes many seconds.
FEWER = {(5000, 500): 50}
#: Seconds a question.
LIMIT = 30.0
PREDICTORS: dict[str, ForestWeights | KNNWeights] = {"forest": paper_forest(100, 4), "knn": KNNWeights(10)}


def answers(of: Study, numbers: range, settings: dict[str, Any]) -> list[Row]:
    """Both kinds of explanation for every question of these numbers, as rows that start with `settings`."""
    rows = []
    for number in numbers:
        asked = of.question(number)
        for kind in KINDS:
            answered = ask(asked, kind, time_limit=LIMIT)
            step, published = answered.step, answered.published_step
            rows.append(
                {
                    **settings,
                    "question": number,
                    "kind": kind,
                    "status": answered.status,
                    "changed": -1 if np.isnan(step).any() else int(np.count_nonzero(step)),
                    "moved": -1 if np.isnan(step).any() else int(np.count_nonzero(published)),
                    "seconds": answered.seconds,
                }
            )
    return rows


def warm() -> None:
    """Use the searches and the problems with both risks, so that no task is the first to import or load something."""
    for predictor in PREDICTORS.values():
        for problem, sizes in (
            ("newsvendor", {}),
            ("shortest_path", {"features": 12}),
            ("cvar_shortest_path", {"features": 4}),
            ("cvar_shortest_path", {"features": 10}),
        ):
            if isinstance(predictor, KNNWeights) and sizes.get("features", 0) > 4:
                continue
            for seed in range(3):
                asked = instance(problem, 60, seed, predictor=predictor, **sizes)
                for kind in KINDS:
                    ask(asked, kind, time_limit=2.0)


# ---- dimension of the context ------------------------------------------------------------------------------------


def _dimension_tasks(problem: str, setup: Setup) -> list[Task]:
    # The paper draws the CVaR figure from dimension 10 on.
    dimensions: tuple[int, ...] = DIMENSIONS if problem == "shortest_path" else DIMENSIONS[1:]
    samples: tuple[int, ...] = SAMPLES[problem]
    if setup.tiny:
        dimensions, samples = dimensions[:2], samples[:2]
    tasks = []
    for n in samples:
        for features in dimensions:
            runs = min(setup.runs, FEWER.get((n, features), setup.runs))
            for number in range(0, runs, SHARED[n]):
                count = min(SHARED[n], runs - number)
                sizes = {"problem": problem, "n": n, "features": features, "first": number, "count": count}
                tasks.append(Task(f"n{n}-d{features}-{number}+{count}", number, sizes))
    return tasks


def _dimension_run(task: Task) -> list[Row]:
    s = task.sizes
    of = study(s["problem"], s["n"], task.seed, predictor=PREDICTORS["forest"], features=s["features"])
    return answers(of, range(s["first"], s["first"] + s["count"]), {"n": s["n"], "features": s["features"]})


def _summary(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """A row a setting: how many were asked, how many count, and mean, spread and largest time of each kind."""
    lines = []
    for setting, cell in rows.groupby(by, sort=False):
        line: Row = dict(zip(by, setting, strict=True))
        line["asked"] = int((cell["kind"] == "relative").sum())
        line["symmetric"] = int(((cell["kind"] == "relative") & (cell["status"] == "already")).sum())
        for kind in KINDS:
            own = cell[cell["kind"] == kind]
            seconds = own.loc[own["status"] == "optimal", "seconds"].to_numpy()
            line[f"{kind} mean s"] = float(seconds.mean()) if seconds.size else np.nan
            line[f"{kind} sd"] = float(seconds.std()) if seconds.size else np.nan
            line[f"{kind} slowest"] = float(seconds.max()) if seconds.size else np.nan
        line["not proved"] = int((cell["status"] == "time_limit").sum())
        lines.append(line)
    return pd.DataFrame(lines)


def _dimension_table(rows: pd.DataFrame) -> pd.DataFrame:
    return _summary(rows, ["n", "features"])


def _seconds(rows: pd.DataFrame, **setting: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Times of the questions that count."""
    chosen = rows["status"] == "optimal"
    for column, value in setting.items():
        chosen &= rows[column] == value
    return rows.loc[chosen, "seconds"].to_numpy(dtype=np.float64)


def _dimension_figure(rows: pd.DataFrame) -> Figure:
    figure, axes = charts.panels(["Relative explanations", "Absolute explanations"], (8.2, 3.6))
    dimensions = sorted(rows["features"].unique())
    for ax, kind in zip(axes, KINDS, strict=True):
        for number, n in enumerate(sorted(rows["n"].unique())):
            samples = [_seconds(rows, kind=kind, n=n, features=d) for d in dimensions]
            charts.band(ax, dimensions, samples, f"n = {n:,}", number)
        ax.set_xscale("log")
        charts.logarithmic(ax)
        ax.set_xticks(dimensions, [str(d) for d in dimensions])
        ax.minorticks_off()
        ax.set_xlabel("Features of the context")
    axes[0].set_ylabel("Seconds (mean, ± 1 s.d. shaded)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _dimension_remarks(rows: pd.DataFrame) -> list[str]:
    counted = rows[rows["status"] == "optimal"]
    if counted.empty:
        return ["All contexts were symmetric: more runs are needed."]
    cells = counted.groupby(["kind", "n", "features"])["seconds"].mean()
    remarks = [
        f"Short times at every size: agrees. The slowest mean of a setting is {cells.max():.3g} s, "
        f"the slowest question {counted['seconds'].max():.3g} s."
    ]
    falling, compared = [], []
    for n in sorted(counted["n"].unique()):
        own = cells.get(("relative", n), pd.Series(dtype=float))
        if len(own) > 1:
            compared.append(
                f"{own.iloc[0]:.3g} s at {own.index[0]} features and {own.iloc[-1]:.3g} s at {own.index[-1]}"
            )
            falling.append(own.iloc[-1] < own.iloc[0])
            compared[-1] = f"n = {n:,}: " + compared[-1]
    if falling:
        verdict = "agrees" if all(falling) else "agrees in part" if any(falling) else "differs"
        remarks.append(
            f"Less time with more features (relative): {verdict}; " + "; ".join(compared) + ". "
            "The paper's reason is a tighter linear relaxation, which our search does not have."
        )
    late = int((rows["status"] == "time_limit").sum())
    remarks.append(f"Questions that were not proved within {LIMIT:.0f} s, and left out of the means: {late}.")
    shared = ", ".join(f"{count} at n = {n:,}" for n, count in SHARED.items() if count > 1 and (rows["n"] == n).any())
    if shared:
        remarks.append(f"Questions that share a history and its forest, with contexts of their own: {shared}.")
    largest = rows[(rows["n"] == 5000) & (rows["features"] == 500) & (rows["kind"] == "relative")]
    if len(largest):
        remarks.append(f"n = 5,000 with 500 features was asked {len(largest)} times, because a fit takes many seconds.")
    return remarks


# ---- size of the decision problem --------------------------------------------------------------------------------


def _size_tasks(problem: str, name: str, values: tuple[int, ...], setup: Setup) -> list[Task]:
    chosen = values[:2] if setup.tiny else values
    return [
        Task(f"{name}{value}-{seed}", seed, {"problem": problem, "name": name, "value": value})
        for value in chosen
        for seed in range(setup.runs)
    ]


def _size_run(task: Task) -> list[Row]:
    s = task.sizes
    rows = []
    for name, predictor in PREDICTORS.items():
        of = study(s["problem"], 100, task.seed, predictor=predictor, **{s["name"]: s["value"]})
        rows += answers(of, range(1), {s["name"]: s["value"], "predictor": name})
    return rows


def _size_table(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    return _summary(rows, [name, "predictor"])


def _size_figure(name: str, caption: str, rows: pd.DataFrame) -> Figure:
    figure, axes = charts.panels(["Relative explanations", "Absolute explanations"], (8.2, 3.6))
    values = sorted(rows[name].unique())
    shown = {"forest": "Random forest, 100 trees", "knn": "Nearest neighbours, k = 10"}
    for ax, kind in zip(axes, KINDS, strict=True):
        series = {
            shown[predictor]: [_seconds(rows, kind=kind, predictor=predictor, **{name: v}) for v in values]
            for predictor in PREDICTORS
        }
        charts.boxes(ax, values, series)
        charts.logarithmic(ax)
        ax.set_xlabel(caption)
    axes[0].set_ylabel("Seconds (box: quartiles, dot: mean)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def _decisions(name: str, value: int) -> int:
    """Components of a decision vector: products, or edges of the grid."""
    return value if name == "products" else 2 * value * (value - 1)


def _size_remarks(name: str, rows: pd.DataFrame) -> list[str]:
    counted = rows[rows["status"] == "optimal"]
    cells = counted.groupby(["kind", "predictor", name])["seconds"].mean()
    told, slower = [], []
    for predictor in PREDICTORS:
        own = cells.get(("relative", predictor), pd.Series(dtype=float))
        if len(own) > 1:
            more = _decisions(name, own.index[-1]) / _decisions(name, own.index[0])
            longer = own.iloc[-1] / own.iloc[0]
            slower.append(longer < more)
            told.append(
                f"{predictor} {own.iloc[0]:.3g} s at {own.index[0]} and {own.iloc[-1]:.3g} s at {own.index[-1]} "
                f"({longer:.1f} times as long for {more:.0f} times as many decisions)"
            )
    if not told:
        return ["Too few contexts were not symmetric: more runs are needed."]
    verdict = "agrees" if all(slower) else "agrees in part" if any(slower) else "differs"
    late = int((rows["status"] == "time_limit").sum())
    return [
        f"Relative explanations scale well with the decision problem: {verdict}; " + "; ".join(told) + ".",
        f"Questions that were not proved within {LIMIT:.0f} s, and left out of the means: {late}.",
    ]


def _label(name: str, title: str, statement: str, problem: str, family: str) -> Label:
    """A figure of times against the dimension of the context."""
    return Label(
        label=name,
        title=title,
        statement=statement,
        table=_dimension_table,
        family=Family(
            name=family,
            tasks=partial(_dimension_tasks, problem),
            run=_dimension_run,
            warm=warm,
            depends=lambda setup: {"limit": LIMIT},
        ),
        draw=_dimension_figure,
        remarks=_dimension_remarks,
    )


def _size_label(name: str, title: str, problem: str, size: str, values: tuple[int, ...]) -> Label:
    """A figure of times against the size of the decision problem."""
    return Label(
        label=name,
        title=title,
        statement="The time of relative explanations scales remarkably well with the size of the decision problem.",
        table=partial(_size_table, size),
        family=Family(
            name=f"sizes-{size}",
            tasks=partial(_size_tasks, problem, size, values),
            run=_size_run,
            warm=warm,
            depends=lambda setup: {"limit": LIMIT},
        ),
        draw=partial(_size_figure, size, {"products": "Products", "width": "Nodes a side of the grid"}[size]),
        remarks=partial(_size_remarks, size),
    )


LABELS = (
    _label(
        "fig:featSens",
        "Time against the dimension of the context, shortest path",
        "Explanations of forest policies take a short time even with many features or observations (n to 5,000, d to "
        "500), and relative ones take less time the more features there are.",
        "shortest_path",
        "dimensions",
    ),
    _label(
        "fig:cvarFeatSens",
        "Time against the dimension of the context, CVaR shortest path",
        "As with expected costs: reasonable times with many informative features, which tend to fall as the dimension "
        "grows.",
        "cvar_shortest_path",
        "dimensions-cvar",
    ),
    _size_label(
        "fig:probSensNews",
        "Time against the number of products, newsvendor, n = 100",
        "newsvendor",
        "products",
        PRODUCTS,
    ),
    _size_label(
        "fig:probSensPath",
        "Time against the width of the grid, shortest path, n = 100",
        "shortest_path",
        "width",
        WIDTHS,
    ),
)
