"""Sensitivity of times: the paper's settings, what counts, and whether the remarks follow the figures."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paper import sensitivity
from paper.experiment import Label, Setup

LABELS = {label.label: label for label in sensitivity.LABELS}


def family_tasks(name: str, setup: Setup) -> list[Any]:
    family = LABELS[name].family
    assert family is not None
    return family.tasks(setup)


def made_up(times: dict[tuple[str, int], list[float]], *, n: int = 100) -> pd.DataFrame:
    """Rows of a dimension figure: seconds a kind and number of features."""
    rows = [
        {"n": n, "features": features, "kind": kind, "status": "optimal", "seconds": seconds}
        for (kind, features), all_seconds in times.items()
        for seconds in all_seconds
    ]
    return pd.DataFrame(rows)


def test_every_setting_of_the_paper_gets_its_runs() -> None:
    """Four sample sizes and six dimensions with 100 questions each, but 50 where a fit takes many seconds."""
    tasks = family_tasks("fig:featSens", Setup(runs=100))
    assert len({task.key for task in tasks}) == len(tasks)
    asked: Counter[tuple[int, int]] = Counter()
    for task in tasks:
        asked[task.sizes["n"], task.sizes["features"]] += task.sizes["count"]
    assert asked.pop((5000, 500)) == 50
    assert set(asked.values()) == {100}
    assert {n for n, _ in asked} == {100, 500, 1000, 5000}
    assert {d for _, d in asked} == {5, 10, 25, 50, 100, 500}


def test_large_histories_are_shared_by_different_questions() -> None:
    """At n = 5,000 ten questions share a fit, and no two questions of a setting have the same number."""
    tasks = [
        t for t in family_tasks("fig:featSens", Setup(runs=100)) if (t.sizes["n"], t.sizes["features"]) == (5000, 5)
    ]
    assert len(tasks) == 10
    numbers = [number for t in tasks for number in range(t.sizes["first"], t.sizes["first"] + t.sizes["count"])]
    assert numbers == list(range(100))


def test_the_cvar_figure_starts_at_ten_features() -> None:
    """As in the paper: 10 to 500 features, up to 1,000 observations."""
    tasks = family_tasks("fig:cvarFeatSens", Setup(runs=1))
    assert {task.sizes["features"] for task in tasks} == {10, 25, 50, 100, 500}
    assert {task.sizes["n"] for task in tasks} == {100, 500, 1000}


@pytest.mark.parametrize(
    ("name", "size", "values"), [("News", "products", (5, 20, 50, 100)), ("Path", "width", (3, 5, 10, 20))]
)
def test_sizes_of_decision_problems(name: str, size: str, values: tuple[int, ...]) -> None:
    """The lists of the paper's public code, both predictors at n = 100."""
    tasks = family_tasks(f"fig:probSens{name}", Setup(runs=3))
    assert Counter(task.sizes["value"] for task in tasks) == dict.fromkeys(values, 3)
    rows = pd.DataFrame(sensitivity._size_run(tasks[0]))
    assert set(rows["predictor"]) == {"forest", "knn"}
    assert set(rows[size]) == {values[0]}
    assert set(rows["kind"]) == {"relative", "absolute"}


def test_only_questions_that_count_enter_the_means() -> None:
    """Symmetric contexts and questions at the limit are counted, and left out of the times."""
    rows = made_up({("relative", 5): [1.0, 3.0], ("absolute", 5): [2.0]})
    left_out = pd.DataFrame(
        [
            {"n": 100, "features": 5, "kind": "relative", "status": "already", "seconds": 1e3},
            {"n": 100, "features": 5, "kind": "absolute", "status": "time_limit", "seconds": 1e3},
        ]
    )
    (line,) = LABELS["fig:featSens"].table(pd.concat([rows, left_out])).to_dict("records")
    assert (line["asked"], line["symmetric"], line["not proved"]) == (3, 1, 1)
    assert (line["relative mean s"], line["relative sd"], line["relative slowest"]) == (2.0, 1.0, 3.0)
    assert line["absolute mean s"] == 2.0


@pytest.mark.parametrize(("last", "verdict"), [(0.5, "agrees"), (2.0, "differs")])
def test_the_remark_on_dimensions_follows_the_times(last: float, verdict: str) -> None:
    """Less time with more features agrees with the paper, more does not."""
    rows = made_up({("relative", 5): [1.0], ("relative", 500): [last], ("absolute", 5): [1.0]})
    (remark,) = [text for text in LABELS["fig:featSens"].remarks(rows) if text.startswith("Less time")]
    assert f"(relative): {verdict};" in remark
    assert f"{last:.3g} s at 500" in remark


def test_the_remark_on_sizes_compares_with_the_number_of_decisions() -> None:
    """Time that grows more slowly than the number of edges counts as scaling well."""

    def rows(last: float) -> pd.DataFrame:
        cells = [("forest", 3, 1.0), ("forest", 20, last)]
        return pd.DataFrame(
            [{"width": w, "predictor": p, "kind": "relative", "status": "optimal", "seconds": s} for p, w, s in cells]
        )

    label = LABELS["fig:probSensPath"]
    assert "agrees; forest 1 s at 3 and 60 s at 20 (60.0 times as long for 63 times" in label.remarks(rows(60.0))[0]
    assert "differs" in label.remarks(rows(70.0))[0]


@pytest.mark.parametrize("label", LABELS.values(), ids=list(LABELS))
def test_figures_show_what_was_measured(label: Label) -> None:
    """Two panels with logarithmic seconds, and a band or box for every series that has times."""
    rng = np.random.default_rng(0)
    family = label.family
    assert family is not None
    rows = []
    for task in family.tasks(Setup(runs=4)):
        sizes = dict(task.sizes)
        own = {sizes["name"]: sizes["value"]} if "name" in sizes else {"n": sizes["n"], "features": sizes["features"]}
        for predictor in ("forest", "knn"):
            for kind in ("relative", "absolute"):
                status = rng.choice(["optimal", "already"], p=[0.8, 0.2])
                rows.append(
                    {**own, "predictor": predictor, "kind": kind, "status": status, "seconds": rng.random() + 0.01}
                )
    assert label.draw is not None
    figure = label.draw(pd.DataFrame(rows))
    assert [ax.get_yscale() for ax in figure.axes] == ["log", "log"]
    assert [ax.get_title() for ax in figure.axes] == ["Relative explanations", "Absolute explanations"]
    assert figure.axes[0].get_ylabel().startswith("Seconds")
    shown = {text.get_text() for text in figure.legends[0].get_texts()}
    assert len(shown) == {"fig:featSens": 4, "fig:cvarFeatSens": 3}.get(label.label, 2)
