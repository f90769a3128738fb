"""Correlation and relevance: the measures, the spurious features, and what the remarks conclude."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from paper import correlation
from paper.correlation import relevant_share, with_spurious
from paper.experiment import Setup, Task
from paper.histories import newsvendor

LABELS = {label.label: label for label in correlation.LABELS}


def test_correlation_is_a_cosine() -> None:
    """1 along the same line, 0 across, -1 against it, whatever the lengths."""
    east = np.array([2.0, 0.0])
    assert correlation.correlation(east, 0.1 * east) == pytest.approx(1.0)
    assert correlation.correlation(east, np.array([0.0, 5.0])) == 0.0
    assert correlation.correlation(east, -east) == pytest.approx(-1.0)
    assert correlation.correlation(np.array([1.0, 1.0]), east) == pytest.approx(np.sqrt(0.5))


def test_relevance_is_measured_in_l1() -> None:
    """Three of the four units of change are on the first two features; L2 would give another share."""
    assert relevant_share(np.array([1.0, -2.0, 0.0, 1.0])) == 0.75


def test_spurious_features_leave_the_demand_alone() -> None:
    """The same demands and first two features as without them, and two more that nothing depends on."""
    plain = newsvendor(400, np.random.default_rng([7, 0]))
    study = with_spurious(400, 7)
    assert np.array_equal(study.history.Y, plain.Y)
    assert np.array_equal(study.history.X[:, :2], plain.X)
    assert study.history.X.shape == (400, 4)
    spread = np.abs(plain.Y - 3.0).mean(axis=1)
    assert abs(np.corrcoef(study.history.X[:, 2], spread)[0, 1]) < 0.15
    assert study.question().context.shape == (4,)
    again = with_spurious(400, 7).question()
    assert np.array_equal(study.question().alternative_context, again.alternative_context)


def test_sample_sizes_of_the_paper() -> None:
    """Three sizes and both predictors without spurious features, six sizes and the forest with them."""
    plain, spurious = LABELS["fig:newsCorr"].family, LABELS["fig:appCorr"].family
    assert plain is not None
    assert spurious is not None
    assert [task.sizes["n"] for task in plain.tasks(Setup(runs=1))] == [50, 100, 200]
    assert [task.sizes["n"] for task in spurious.tasks(Setup(runs=1))] == [50, 100, 200, 400, 600, 800]
    assert LABELS["fig:corrExample"].family is plain
    assert LABELS["fig:appPerc"].family is spurious


@pytest.mark.parametrize(("name", "predictors"), [("fig:newsCorr", ["forest", "knn"]), ("fig:appPerc", ["forest"])])
def test_rows_measure_the_explanation_that_was_found(name: str, predictors: list[str]) -> None:
    """The correlation in a row is that of its own points, and absolute explanations point to the other context."""
    family = LABELS[name].family
    assert family is not None
    rows = pd.DataFrame([row for seed in range(3) for row in family.run(Task(f"n50-{seed}", seed, {"n": 50}))])
    assert list(rows["predictor"].unique()) == predictors
    found = rows[rows["status"] == "optimal"]
    assert len(found) > 3
    assert found.loc[found["kind"] == "absolute", "correlation"].min() > 0.5
    if len(predictors) == 2:
        for row in found.to_dict("records"):
            step = np.array([row[f"there_{j}"] - row[f"context_{j}"] for j in (1, 2)])
            towards = np.array([row[f"other_{j}"] - row[f"context_{j}"] for j in (1, 2)])
            assert row["correlation"] == pytest.approx(correlation.correlation(step, towards))
            assert row["relevant"] == pytest.approx(1.0)
    else:
        assert found["relevant"].between(0.0, 1.0).all()
        assert found["relevant"].min() < 1.0


def made_up(relative: float, absolute: float) -> pd.DataFrame:
    """Two questions at n = 100, the first with explanations along one axis only."""
    rows: list[dict[str, Any]] = []
    for number, slant in enumerate((0.0, 0.8)):
        for kind, value, reach in (("relative", relative, 0.5), ("absolute", absolute, 1.0)):
            there = {"there_1": reach, "there_2": slant * reach}
            points = {"context_1": 0.0, "context_2": 0.0, "other_1": 1.1, "other_2": slant, **there}
            row: dict[str, Any] = {
                "key": f"n100-{number}",
                "n": 100,
                "predictor": "forest",
                "kind": kind,
                "status": "optimal",
            }
            rows.append({**row, "correlation": value, "relevant": value, "distance": reach, **points})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("relative", "absolute", "verdict"),
    [(0.6, 0.97, "agrees"), (0.6, 0.8, "agrees in part"), (0.98, 0.97, "agrees in part"), (0.85, 0.8, "differs")],
)
def test_the_remark_on_correlation_follows_the_means(relative: float, absolute: float, verdict: str) -> None:
    """Absolute explanations must be near 1 and above relative ones."""
    remark = LABELS["fig:newsCorr"].remarks(made_up(relative, absolute))[0]
    assert f"relative ones: {verdict}; mean {absolute:.3f}" in remark


@pytest.mark.parametrize(("relative", "absolute", "verdict"), [(0.9, 0.5, "agrees"), (0.4, 0.5, "differs")])
def test_the_remark_on_relevance_follows_the_shares(relative: float, absolute: float, verdict: str) -> None:
    """Relative explanations must put more of their change on relevant features than absolute ones."""
    remark = LABELS["fig:appPerc"].remarks(made_up(relative, absolute))[0]
    assert f"favour relevant features: {verdict}; {100 * relative:.0f} %" in remark


def test_the_example_is_one_that_shows_both_features() -> None:
    """The first question whose absolute explanation changes both features, with its four points."""
    label = LABELS["fig:corrExample"]
    table = label.table(made_up(0.8, 0.9))
    assert table["point"].tolist() == ["context", "alternative context", "relative explanation", "absolute explanation"]
    assert table["feature 2"].tolist() == [0.0, 0.8, 0.4, 0.8]
    assert "agrees; correlation relative 0.800, absolute 0.900" in label.remarks(made_up(0.8, 0.9))[0]
    assert label.draw is not None
    (ax,) = label.draw(made_up(0.8, 0.9)).axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Feature 1", "Feature 2")


def test_without_any_explanation_tables_stay_empty() -> None:
    """All contexts symmetric: no mean is made up, and the remarks say what was left out."""
    rows = made_up(0.5, 0.5).assign(status="already", correlation=np.nan, relevant=np.nan)
    for label in LABELS.values():
        table = label.table(rows)
        assert label.draw is not None
        label.draw(rows)
        assert label.remarks(rows)
        if label.label != "fig:corrExample":
            assert table["relative counted"].tolist() == [0]
            assert table["relative mean"].isna().all()
    assert LABELS["fig:newsCorr"].remarks(rows)[-1].endswith("4 already, of 4.")
