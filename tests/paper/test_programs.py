"""Integer programs of the paper: two methods with one answer, and bounds on a weight that hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.blocks import seeds

from paper import programs
from paper.experiment import Setup, Task
from paper.forests import paper_forest
from paper.programs import heaviest_path
from whence.milp.weighting import w_max

LABELS = {label.label: label for label in programs.LABELS}


@pytest.mark.parametrize("seed", seeds(2, 6))
def test_the_drawn_path_is_the_bound_of_the_integer_program(seed: int) -> None:
    """The longest path over the leaf graph has the length that the CVaR model takes as its bound."""
    rng = np.random.default_rng(seed)
    X, Y = rng.random((15, 3)), rng.random((15, 2))
    weights = paper_forest(6, 3, random_state=seed).fit(X, Y)
    leaf, sizes = programs._leaves(weights)
    path, length = heaviest_path(leaf, sizes)
    assert length == pytest.approx(w_max(weights, "path")[0])
    assert length == pytest.approx(np.mean([1.0 / size[step] for size, step in zip(sizes, path, strict=True)]))
    for t in range(len(path) - 1):
        assert np.any((leaf[t] == path[t]) & (leaf[t + 1] == path[t + 1]))


def test_bounds_are_ordered_and_hold() -> None:
    """Unit, mean of trees, longest path and own weight: each at most the one before, and no weight beyond the last."""
    (row,) = programs._bound_run(Task("n50-3", 3, {"n": 50}))
    values = [row[how] for how in ("unit", "mean", "path", "sample")]
    assert values == sorted(values, reverse=True)
    table = LABELS["fig:weightFlow"].table(pd.DataFrame([row]))
    assert table["mean, n = 50"].tolist() == values
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    weights = paper_forest(10, 3, random_state=0).fit(X, rng.random((30, 1)))
    assert weights.weights(rng.random((500, 2))).max() <= w_max(weights, "sample").max() + 1e-12


def test_both_methods_find_the_distance_of_the_search() -> None:
    """Iterative and dual end optimal, at the distance that the search has proved."""
    family = LABELS["fig:dualVsIter"].family
    assert family is not None
    tasks = [task for task in family.tasks(Setup(runs=8, tiny=True)) if task.sizes["predictor"] == "forest"]
    rows = pd.DataFrame([row for task in tasks for row in family.run(task)])
    asked = rows[rows["status"] == "optimal"]
    assert len(asked)
    for method in ("iterative", "dual"):
        assert (asked[f"status_{method}"] == "optimal").all()
        assert np.allclose(asked[f"distance_{method}"], asked["distance"], atol=1e-6)
        assert (asked[f"seconds_{method}"] > 0).all()
    assert rows.loc[rows["status"] != "optimal", "seconds_dual"].isna().all()


def test_no_more_than_ten_runs() -> None:
    """A hundred runs would take hours; ten of each setting are made, at n of at most 50."""
    family = LABELS["fig:dualVsIter"].family
    assert family is not None
    tasks = family.tasks(Setup(runs=100))
    counts = pd.DataFrame([dict(task.sizes) for task in tasks]).groupby(["predictor", "n"]).size()
    assert (counts == 10).all()
    assert counts.index.get_level_values("n").max() == 50
    assert len({task.key for task in tasks}) == len(tasks)


def made_up(forest: list[float], knn: list[float]) -> pd.DataFrame:
    """Questions of both predictors with these seconds of the iterative method, one second of the dual."""
    rows = []
    for predictor, all_seconds in (("forest", forest), ("knn", knn)):
        for seconds in all_seconds:
            row = {"predictor": predictor, "n": 50, "status": "optimal", "distance": 0.3}
            for method, value in (("iterative", seconds), ("dual", 1.0)):
                row |= {f"status_{method}": "optimal", f"distance_{method}": 0.3, f"seconds_{method}": value}
            rows.append(row)
    return pd.DataFrame(rows)


def test_remarks_and_table_follow_the_ratio() -> None:
    """Below 1 the iterative method is the faster one; a question at the limit has no ratio."""
    rows = made_up([0.2, 0.5, 3.0], [2.0, 4.0])
    label = LABELS["fig:dualVsIter"]
    remarks = label.remarks(rows)
    assert "agrees in part; the iterative algorithm takes 0.50 times" in remarks[0]
    assert ": agrees; the iterative algorithm takes 3.00 times" in remarks[1]
    assert "agrees; from 0.20 to 4.00" in remarks[2]
    assert "differs" in label.remarks(made_up([2.0], [0.5]))[0]
    rows.loc[0, "status_dual"] = "time_limit"
    line = label.table(rows).to_dict("records")[0]
    assert line["dual proved"] == "2 of 3"
    assert line["median ratio"] == 1.75
    assert line["iterative faster"] == "1 of 2"
    assert label.remarks(rows.assign(status_dual="time_limit")) == [
        "No question was answered both ways: more runs are needed."
    ]


def test_figures() -> None:
    """One panel a predictor with the ratio, and the graph of leaves beside the bounds."""
    ratios, graph = LABELS["fig:dualVsIter"].draw, LABELS["fig:weightFlow"].draw
    assert ratios is not None
    assert graph is not None
    assert [ax.get_yscale() for ax in ratios(made_up([0.2, 0.5], [2.0])).axes] == ["log", "log"]
    bounds = pd.DataFrame([{"n": n, "unit": 1.0, "mean": 0.9, "path": 0.6, "sample": 0.4} for n in (50, 100)])
    left, right = graph(bounds).axes
    written = {text.get_text() for text in left.texts}
    assert {"tree 1", "tree 4", "sink"} <= written
    assert right.get_xlabel() == "Observations n"
