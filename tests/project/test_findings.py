"""What is wrong with a project is said in a sentence with file, line, and key or column, and all of it at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.project.samples import PROJECT, csv_text, days, write_project

from whence.project import Project, ProjectError, findings


def said(path: Path) -> list[str]:
    """All findings of a project as texts."""
    return [str(finding) for finding in findings(path)]


def test_everything_at_once(tmp_path: Path) -> None:
    """Six mistakes in four places give six findings, and `load` lists the same ones."""
    text = (
        PROJECT.replace('kind = "knn"', 'kind = "kNN"')
        .replace("budget", "bugdet")
        .replace("holding = [1, 2]", "holding = -1")
    )
    text = text.replace('unit = "°C"', "unit = 3\nlow = 5\nhigh = 1")
    rows = days()
    rows[4][4] = "many"
    path = write_project(tmp_path, text, csv_text(rows))
    found = said(path)
    assert len(found) == 6, found
    lines = text.splitlines()
    for finding, line, words in [
        ("days.csv, line 5, column 'rolls'", None, "must be a number with a decimal point. Got 'many' instead."),
        ("weights.kind", 'kind = "kNN"', "'knn', 'kernel' or 'forecast'. Got 'kNN' instead."),
        ("features.temp.unit", "unit = 3", "must be a text in quotes. Got 3 instead."),
        ("features.temp", "[features.temp]", "must not exceed 'high'"),
        ("problem.bugdet", "bugdet = 100", "Did you mean 'budget'?"),
        ("problem.holding", "holding = -1", "must be finite and non-negative. Got -1 instead."),
    ]:
        where = finding if line is None else f"whence.toml, line {lines.index(line) + 1}, {finding}"
        assert any(f.startswith(where + ":") and words in f for f in found), (where, found)
    with pytest.raises(ProjectError) as refused:
        Project.load(path)
    assert str(refused.value).startswith("whence.toml cannot be used; 6 things are wrong:\n  ")
    assert all(text in str(refused.value) for text in found)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"days.csv"', '"dyas.csv"', "dyas.csv: The file '{}/dyas.csv' does not exist."),
        ('"days.csv"', '"."', "is a folder; a file was expected."),
        ("[data]", "[dta]", "whence.toml, line 4, dta: 'dta' is not known here. Did you mean 'data'?"),
        ('["rolls", "cakes"]', '["rolls", "cake"]', "which days.csv does not have. Did you mean 'cakes'?"),
        ('["rolls", "cakes"]', '["rolls", "rolls"]', "names 'rolls' twice"),
        ('["rolls", "cakes"]', '"rolls"', "outcomes.columns: must be a list of texts in quotes. Got 'rolls' instead."),
        ('["rolls", "cakes"]', "[]", "must name at least one column."),
        (
            "[features.temp]",
            "[features.tmp]",
            "'tmp' is not a column of the contexts, so it cannot be a feature. Did",
        ),
        ("[features.temp]", "[features.rolls]", "'rolls' is an outcome, so it cannot be a feature."),
        (
            'type = "continuous"',
            'type = "number"',
            "'ordered', 'cyclic', 'binary', 'date' or 'derived'.",
        ),
        ("k = 5", "k = 40", "weights.k: The 'k' parameter of KNNWeights must be an int in [1, n_samples)"),
        ("k = 5", "k = 0", "weights.k: must be a whole number of at least 1. Got 0 instead."),
        ("k = 5", "k = true", "weights.k: must be a whole number of at least 1. Got True instead."),
        (
            "[1, 2]",
            "[1, 2, 3]",
            "problem.holding: The 'holding' and 'backorder' parameters of Newsvendor must be of the",
        ),
        (
            "[1, 2]",
            "[1, -2]",
            "problem.holding: The 'holding' parameter of Newsvendor must be finite and non-negative.",
        ),
        ("cakes = 4", "cake = 4", "problem.backorder: names 'cake', which is not an outcome. Did you mean 'cakes'?"),
        ("cakes = 4", "cake = 4", "problem.backorder: needs a number for the outcome 'cakes'."),
        ("budget = 100", "budget = -1", "problem.budget: The 'budget' parameter of Newsvendor must be"),
        (
            "time_limit = 30",
            "time_limit = 0",
            "explain.time_limit: must be a positive number of seconds, or 'none'. Got 0 instead.",
        ),
        ("time_limit = 30", "memory_limit = -1", "explain.memory_limit: must be a positive number. Got -1 instead."),
        (
            "time_limit = 30",
            'fixed = ["tmp"]',
            "explain.fixed: names 'tmp', which is not a feature. Did you mean 'temp'?",
        ),
        ("title =", "title ==", "whence.toml: is not valid TOML: "),
        (
            'kind = "newsvendor"',
            "",
            "whence.toml, line 18, problem: needs 'kind', 'newsvendor', 'shipment', 'shortest_path' or 'linear'.",
        ),
        (
            'history = "days.csv"',
            'contexts = "days.csv"',
            "needs 'history', a CSV file of contexts and outcomes, or both",
        ),
        (
            '"days.csv"',
            '"days.csv"\nindex = "date"',
            "data.index: names the column 'date', which days.csv does not have.",
        ),
        ('"days.csv"', '"days.csv"\nencoding = "klingon"', "'klingon' is not a text encoding, such as 'utf-8'."),
        (
            '"days.csv"',
            '"days.csv"\nignore = ["temp", "rain", "day", "events"]',
            "leaves no column of days.csv for the",
        ),
    ],
)
def test_one_mistake(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """Every mistake in a project file is named where it stands, with what was expected."""
    assert old in PROJECT
    path = write_project(tmp_path, PROJECT.replace(old, new, 1))
    found = said(path)
    assert any(expected.format(tmp_path) in text for text in found), found
