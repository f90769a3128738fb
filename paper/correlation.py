"""Whether explanations point to the context that the alternative comes from, and leave spurious features alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from paper import charts
from paper.asking import KINDS, ask
from paper.experiment import Family, Label, Row, Setup, Task
from paper.forests import paper_forest
from paper.histories import History, newsvendor
from paper.instances import Instance, Study, study
from paper.sensitivity import PREDICTORS, warm
from whence import Policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

SAMPLES = (50, 100, 200)
SPURIOUS_SAMPLES = (50, 100, 200, 400, 600, 800)
#: Features of the newsvendor that drive the demand, and features added to it that drive nothing.
RELEVANT, SPURIOUS = 2, 2
#: The sample size of the example that is drawn.
EXAMPLE = 100
#: A correlation from here on counts as almost perfect, or as largely positive.
ALMOST_ONE, LARGE = 0.9, 0.4
#: What the example must have: correlations from here on, and this much change in either feature.
SHOWN_FROM, SLANTED = 0.7, 0.3
SHOWN = {"forest": "Random forest, 100 trees", "knn": "Nearest neighbours, k = 10"}


def correlation(step: Floats, direction: Floats) -> float:
    """Cosine of the angle between the step to an explanation and that to the alternative context.

    Examples
    --------
    >>> correlation(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    1.0
    """
    return float(step @ direction / (np.linalg.norm(step) * np.linalg.norm(direction)))


def relevant_share(step: Floats) -> float:
    """Share of a change, in the L1 norm, that is made on the relevant features, which come first.

    Examples
    --------
    >>> relevant_share(np.array([1.0, 0.0, 1.0, -2.0]))
    0.25
    """
    return float(np.abs(step[:RELEVANT]).sum() / np.abs(step).sum())


def with_spurious(n: int, seed: int) -> Study:
    """The newsvendor with two more features, standard normal and of no influence, and a forest fitted to it.

    Parameters
    ----------
    n, seed : int
        Observations, and the seed of everything.
    """
    rng = np.random.default_rng([seed, 0])
    plain = newsvendor(n, rng)

    def contexts(source: np.random.Generator, count: int) -> Floats:
        return source.standard_normal((count, RELEVANT + SPURIOUS))

    X = np.hstack([plain.X, rng.standard_normal((n, SPURIOUS))])
    history = History(plain.problem, plain.risk, X, plain.Y, contexts)
    weights = paper_forest(100, 4, random_state=seed)
    return Study(history, Policy(history.problem, weights, history.risk).fit(X, plain.Y), seed)


def _answers(asked: Instance, settings: Row) -> list[Row]:
    """Both explanations of a question: where they lie, and how they correlate."""
    direction = asked.alternative_context - asked.context
    rows = []
    for kind in KINDS:
        answered = ask(asked, kind)
        counts = answered.status == "optimal"
        row: Row = {**settings, "kind": kind, "status": answered.status}
        row["correlation"] = correlation(answered.published_step, direction) if counts else np.nan
        row["relevant"] = relevant_share(answered.published_step) if counts else np.nan
        row["distance"] = answered.why.distance
        explained = asked.context + answered.step
        for place, points in (("context", asked.context), ("other", asked.alternative_context), ("there", explained)):
            row |= {f"{place}_{j + 1}": float(points[j]) for j in range(RELEVANT)}
        row["seconds"] = answered.seconds
        rows.append(row)
    return rows


def _plain_tasks(setup: Setup) -> list[Task]:
    # The example is drawn from n = 100, so that tiny runs keep it.
    samples = (50, EXAMPLE) if setup.tiny else SAMPLES
    return [Task(f"n{n}-{seed}", seed, {"n": n}) for n in samples for seed in range(setup.runs)]


def _plain_run(task: Task) -> list[Row]:
    rows = []
    for name, predictor in PREDICTORS.items():
        asked = study("newsvendor", task.sizes["n"], task.seed, predictor=predictor).question()
        rows += _answers(asked, {"n": task.sizes["n"], "predictor": name})
    return rows


def _spurious_tasks(setup: Setup) -> list[Task]:
    samples = SPURIOUS_SAMPLES[:2] if setup.tiny else SPURIOUS_SAMPLES
    return [Task(f"n{n}-{seed}", seed, {"n": n}) for n in samples for seed in range(setup.runs)]


def _spurious_run(task: Task) -> list[Row]:
    n = task.sizes["n"]
    return _answers(with_spurious(n, task.seed).question(), {"n": n, "predictor": "forest"})


# ---- tables ------------------------------------------------------------------------------------------------------


def _by_size(column: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and quartiles of `column` for both kinds, a row a sample size and predictor."""
    lines = []
    for (n, predictor), cell in rows.groupby(["n", "predictor"], sort=False):
        line: Row = {"n": n, "predictor": predictor, "asked": len(cell) // len(KINDS)}
        for kind in KINDS:
            values = _values(rows, column, n=n, predictor=predictor, kind=kind)
            line[f"{kind} counted"] = len(values)
            line[f"{kind} mean"] = float(values.mean()) if len(values) else np.nan
            quartiles = np.quantile(values, (0.25, 0.5, 0.75)) if len(values) else ()
            line[f"{kind} quartiles"] = ", ".join(f"{value:.3f}" for value in quartiles) or "-"
        lines.append(line)
    return pd.DataFrame(lines)


def _values(rows: pd.DataFrame, column: str, **setting: Any) -> Floats:
    chosen = rows[column].notna()
    for name, value in setting.items():
        chosen &= rows[name] == value
    return rows.loc[chosen, column].to_numpy(dtype=np.float64)


def _means(rows: pd.DataFrame, column: str) -> tuple[float, float]:
    """Over all questions that count: of relative and of absolute explanations."""
    relative, absolute = (_values(rows, column, kind=kind) for kind in KINDS)
    return float(relative.mean()) if len(relative) else np.nan, float(absolute.mean()) if len(absolute) else np.nan


def _cell_means(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean of `column` a sample size and predictor, with a column a kind."""
    counted = rows[rows[column].notna()]
    return counted.pivot_table(column, ["n", "predictor"], "kind").reindex(columns=list(KINDS))


def _aligned(rows: pd.DataFrame) -> str:
    """Whether absolute explanations point to the alternative context, and more than relative ones."""
    relative, absolute = _means(rows, "correlation")
    cells = _cell_means(rows, "correlation")
    above = int((cells["absolute"] > cells["relative"]).sum())
    holds = (absolute >= ALMOST_ONE, above == len(cells))
    verdict = "agrees" if all(holds) else "agrees in part" if any(holds) else "differs"
    return (
        f"Absolute explanations almost perfectly correlated, and more than relative ones: {verdict}; mean "
        f"{absolute:.3f} for absolute explanations, {relative:.3f} for relative ones; absolute above relative in "
        f"{above} of {len(cells)} settings."
    )


def _correlation_remarks(rows: pd.DataFrame) -> list[str]:
    relative, _ = _means(rows, "correlation")
    verdict = "agrees" if relative >= LARGE else "differs"
    return [
        _aligned(rows),
        f"Relative explanations largely positive: {verdict}; mean {relative:.3f}.",
        _excluded(rows),
    ]


def _spurious_remarks(rows: pd.DataFrame) -> list[str]:
    relative = _values(rows, "correlation", kind="relative")
    astray = float((relative < LARGE).mean()) if len(relative) else np.nan
    return [
        _aligned(rows),
        f"Relative explanations do not always move towards the alternative context: "
        f"{'agrees' if astray > 0 else 'differs'}; {100 * astray:.0f} % have a correlation below {LARGE}.",
        _excluded(rows),
    ]


def _excluded(rows: pd.DataFrame) -> str:
    counts = rows.loc[rows["status"] != "optimal", "status"].value_counts()
    told = ", ".join(f"{count} {status}" for status, count in counts.items()) or "none"
    return f"Left out (symmetric contexts, or no such explanation): {told}, of {len(rows)}."


def _share_remarks(rows: pd.DataFrame) -> list[str]:
    relative, absolute = _means(rows, "relevant")
    cells = _cell_means(rows, "relevant")
    above = int((cells["relative"] > cells["absolute"]).sum())
    agrees = above == len(cells)
    return [
        f"Relative explanations favour relevant features: {'agrees' if agrees else 'differs'}; {100 * relative:.0f} % "
        f"of their change is on relevant features, {100 * absolute:.0f} % of that of absolute ones (half of the "
        f"features are relevant); more in {above} of {len(cells)} sample sizes.",
        "The share is measured in L1 on the explanation, as in the paper's public code; the text prints L2 and the "
        "alternative context.",
        _excluded(rows),
    ]


# ---- figures -----------------------------------------------------------------------------------------------------


def _figure(column: str, caption: str, scale: float, rows: pd.DataFrame) -> Figure:
    figure, axes = charts.panels(["Relative explanations", "Absolute explanations"], (8.2, 3.6))
    sizes = sorted(rows["n"].unique())
    predictors = [name for name in SHOWN if (rows["predictor"] == name).any()]
    for ax, kind in zip(axes, KINDS, strict=True):
        series = {
            SHOWN[name]: [scale * _values(rows, column, n=n, predictor=name, kind=kind) for n in sizes]
            for name in predictors
        }
        charts.boxes(ax, sizes, series)
        ax.set_xlabel("Observations n")
    axes[0].set_ylabel(caption)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def _example(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first question that shows something, or else of the one with the largest correlations."""
    found = rows[(rows["n"] == EXAMPLE) & (rows["predictor"] == "forest") & rows["correlation"].notna()]
    both = found.groupby("key")["correlation"].agg(["size", "min"])
    both = both[both["size"] == len(KINDS)]
    if both.empty:
        return rows.iloc[:0]
    # Where the absolute explanation changes one feature only, all lies on one line and shows little.
    absolute = found[found["kind"] == "absolute"].set_index("key")
    moves = pd.DataFrame({j: (absolute[f"there_{j}"] - absolute[f"context_{j}"]).abs() for j in (1, 2)})
    slanted = moves.min(axis=1).reindex(both.index) > SLANTED
    large = both[(both["min"] >= SHOWN_FROM) & slanted]
    key = large.index[0] if len(large) else both["min"].idxmax()
    return found[found["key"] == key]


def _example_table(rows: pd.DataFrame) -> pd.DataFrame:
    chosen = _example(rows).set_index("kind")
    if chosen.empty:
        return pd.DataFrame(columns=["point", "feature 1", "feature 2", "correlation", "distance"])
    one = chosen.iloc[0]
    lines = [
        {"point": "context", "feature 1": one["context_1"], "feature 2": one["context_2"]},
        {"point": "alternative context", "feature 1": one["other_1"], "feature 2": one["other_2"]},
    ]
    for kind in KINDS:
        row = chosen.loc[kind]
        line = {"point": f"{kind} explanation", "feature 1": row["there_1"], "feature 2": row["there_2"]}
        lines.append({**line, "correlation": row["correlation"], "distance": row["distance"]})
    return pd.DataFrame(lines)


def _example_remarks(rows: pd.DataFrame) -> list[str]:
    chosen = _example(rows).set_index("kind")
    if chosen.empty:
        return ["No question of this size has both explanations: more runs are needed."]
    told = ", ".join(f"{kind} {float(chosen['correlation'][kind]):.3f}" for kind in KINDS)
    agrees = "agrees" if chosen["correlation"].min() > LARGE else "differs"
    return [
        f"Both explanations lie in the direction of the alternative context: {agrees}; correlation {told}. "
        f"Drawn is the first question at n = {EXAMPLE} whose correlations are both at least {SHOWN_FROM} and whose "
        f"absolute explanation changes both features, if there is one."
    ]


def _example_figure(rows: pd.DataFrame) -> Figure:
    figure, (ax,) = charts.panels([f"Newsvendor, n = {EXAMPLE}"], (5.6, 4.2))
    ax.set_xlabel("Feature 1")
    ax.set_ylabel("Feature 2")
    chosen = _example(rows).set_index("kind")
    if chosen.empty:
        ax.text(0.5, 0.5, "no such question among these runs", ha="center", transform=ax.transAxes)
        return figure
    one = chosen.iloc[0]
    start = (one["context_1"], one["context_2"])
    ends = [("alternative context", (one["other_1"], one["other_2"]), charts.GREEN, "^", ":")]
    for kind, colour, marker in zip(KINDS, (charts.BLUE, charts.RED), ("o", "s"), strict=True):
        row = chosen.loc[kind]
        told = f"{kind} explanation, correlation {row['correlation']:.2f}"
        ends.append((told, (row["there_1"], row["there_2"]), colour, marker, "-"))
    for told, end, colour, marker, style in ends:
        ax.plot(*zip(start, end, strict=True), style, color=colour, linewidth=1.8)
        ax.plot(*end, marker, color=colour, markersize=9, label=told)
    ax.plot(*start, "D", color=charts.BLACK, markersize=8, label="context of the decision")
    ax.margins(0.12)
    ax.set_aspect("equal", adjustable="datalim")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


PLAIN = Family("correlation", _plain_tasks, _plain_run, warm)
WITH_SPURIOUS = Family("spurious", _spurious_tasks, _spurious_run, warm)

LABELS = (
    Label(
        label="fig:corrExample",
        title="An example of explanations and the alternative context",
        statement=(
            "Explanations with a large positive correlation lie in the direction of the context that the alternative "
            "comes from."
        ),
        table=_example_table,
        family=PLAIN,
        draw=_example_figure,
        remarks=_example_remarks,
    ),
    Label(
        label="fig:newsCorr",
        title="Correlation of explanations with the alternative context, newsvendor",
        statement=(
            "Absolute explanations and alternative contexts are almost perfectly correlated; relative explanations "
            "have a largely positive correlation, lower than absolute ones."
        ),
        table=partial(_by_size, "correlation"),
        family=PLAIN,
        draw=partial(_figure, "correlation", "Correlation (box: quartiles, dot: mean)", 1.0),
        remarks=_correlation_remarks,
    ),
    Label(
        label="fig:appCorr",
        title="The same correlation with two spurious features",
        statement=(
            "Absolute explanations stay almost completely aligned with the alternative context; relative ones do not "
            "always move towards it."
        ),
        table=partial(_by_size, "correlation"),
        family=WITH_SPURIOUS,
        draw=partial(_figure, "correlation", "Correlation (box: quartiles, dot: mean)", 1.0),
        remarks=_spurious_remarks,
    ),
    Label(
        label="fig:appPerc",
        title="Share of the change on relevant rather than spurious features",
        statement=(
            "Relative explanations tend to change only relevant features and avoid spurious ones; absolute ones change "
            "all features equally."
        ),
        table=partial(_by_size, "relevant"),
        family=WITH_SPURIOUS,
        draw=partial(_figure, "relevant", "Change on relevant features (%)", 100.0),
        remarks=_share_remarks,
    ),
)
