"""Projects: what a good project file gives, in every form in which the data may come."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from tests.project.samples import SAMPLE, csv_text, days, write_city, write_project

import whence as wh
from whence.project import Project, findings


def test_the_sample_project() -> None:
    """The project under examples loads without a word and gives the policy that its file describes."""
    project = Project.load(SAMPLE / "whence.toml")
    assert findings(SAMPLE / "whence.toml") == []
    assert project.title == "Why not bake as on a warm Saturday?"
    assert list(project.X.columns) == ["weekday", "temperature", "rain", "promotion"]
    assert list(project.Y.columns) == ["rolls", "rye bread", "croissants", "fruit cake"]
    assert project.X.index[0] == "2024-01-01"
    assert project.X["rain"].dtype == bool
    assert project.policy.problem.holding == [0.15, 0.70, 0.45, 1.60]
    assert project.policy.weights.n_trees == 50
    assert project.explain_defaults["time_limit"] == 60


def test_it_decides_as_the_policy_built_by_hand(tmp_path: Path) -> None:
    """A project decides exactly as the same policy written in Python."""
    project = Project.load(write_project(tmp_path))
    table = pd.read_csv(tmp_path / "days.csv")
    X = table[["temp", "rain", "day", "events"]].assign(rain=table["rain"] == "yes")
    by_hand = wh.Policy(wh.Newsvendor([1, 2], [3, 4], budget=100), wh.KNNWeights(k=5)).fit(X, table[["rolls", "cakes"]])
    for row in (1, 7, 40):
        context = project.context(row)
        np.testing.assert_array_equal(project.fitted().decide(context), by_hand.decide(X.iloc[row - 1]))
    assert project.fitted() is project.fitted()


def test_the_fingerprint_follows_the_data(tmp_path: Path) -> None:
    """The fingerprint stays while nothing changes and changes with the project file or its data."""
    project = Project.load(write_project(tmp_path))
    before = project.fingerprint()
    assert project.fingerprint() == before
    (tmp_path / "days.csv").write_text(csv_text(days(seed=1)), "utf-8")
    assert project.fingerprint() != before


def test_the_fingerprint_follows_the_network(tmp_path: Path) -> None:
    """Files that the problem names count as well."""
    project = Project.load(write_city(tmp_path))
    before = project.fingerprint()
    (tmp_path / "places.csv").write_text("node,x,y\nhome,0,0\nbridge,1,2\ntunnel,1,-1\nwork,2,0\n", "utf-8")
    assert project.fingerprint() != before
