"""Contexts and outcomes of the past, from one file or two."""

from __future__ import annotations

from pathlib import Path

from tests.project.samples import PROJECT, csv_text, days, write_project

from whence.project import Project, findings

KNN = '[weights]\nkind = "knn"\nk = 3\n'


NEWSVENDOR = '[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 2\n'


def test_contexts_and_outcomes_in_two_files(tmp_path: Path) -> None:
    """Two files are joined by their index where there is one, whatever the order of their rows."""
    (tmp_path / "x.csv").write_text("date,temp\na,1\nb,2\nc,3\nd,4\ne,5\n", "utf-8")
    (tmp_path / "y.csv").write_text("date,sold\ne,50\nd,40\nc,30\nb,20\na,10\n", "utf-8")
    path = tmp_path / "whence.toml"
    path.write_text('[data]\ncontexts = "x.csv"\noutcomes = "y.csv"\nindex = "date"\n' + KNN + NEWSVENDOR, "utf-8")
    project = Project.load(path)
    assert project.Y["sold"].tolist() == [10, 20, 30, 40, 50]
    assert project.Y.index.tolist() == list("abcde")


def test_rows_with_gaps_are_dropped_on_demand(tmp_path: Path) -> None:
    """`missing = "drop"` leaves out rows with a missing value and says how many; otherwise they are errors."""
    rows = days()
    rows[3][0], rows[5][4] = "", "NA"
    path = write_project(tmp_path, data=csv_text(rows))
    assert len([f for f in findings(path) if f.severity == "error"]) == 2
    path.write_text(PROJECT.replace('"days.csv"', '"days.csv"\nmissing = "drop"'), "utf-8")
    project = Project.load(path)
    assert len(project.X) == len(project.Y) == 38
    assert ["2 of 40 rows were left out" in str(w) for w in project.warnings] == [True]


def said(path: Path) -> list[str]:
    """All findings of a project as texts."""
    return [str(finding) for finding in findings(path)]


def test_files_that_do_not_match(tmp_path: Path) -> None:
    """Two files of different length, and an index that one of them lacks, are refused."""
    (tmp_path / "x.csv").write_text("date,temp\na,1\nb,2\nc,3\n", "utf-8")
    (tmp_path / "y.csv").write_text("date,sold\na,1\nb,2\nb,3\n", "utf-8")
    text = '[data]\ncontexts = "x.csv"\noutcomes = "y.csv"\nindex = "date"\n'
    text += '[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 1\n'
    path = tmp_path / "whence.toml"
    path.write_text(text, "utf-8")
    assert said(path) == [
        "y.csv, line 4, column 'date': occurs twice; an index that joins two files must not.",
        "x.csv, line 4, column 'date': has no row of outcomes in y.csv; 1 rows have none.",
    ]
    (tmp_path / "y.csv").write_text("sold\n1\n2\n", "utf-8")
    path.write_text(text.replace('index = "date"', 'ignore = ["date"]'), "utf-8")
    assert any("x.csv has 3 rows and y.csv 2; they must match." in text for text in said(path))


def test_a_column_says_what_rows_count_for(tmp_path: Path) -> None:
    """`weight` names a column that is no feature: the policy, evaluations and what is drawn anew go by it."""
    rows = days()
    rows = [[*rows[0], "age"], *([*row, str(1 + i % 3)] for i, row in enumerate(rows[1:]))]
    path = write_project(tmp_path, PROJECT.replace('"days.csv"', '"days.csv"\nweight = "age"'), csv_text(rows))
    project = Project.load(path)
    assert "age" not in project.X.columns
    weights = project.fitted().weights_at(project.X.iloc[0])
    speaking = [1 + i % 3 for i in range(40) if weights[i] > 0]
    assert sorted((weights[weights > 0] * sum(speaking)).round(9)) == sorted(speaking)


def test_a_column_that_cannot_say_what_rows_count_for(tmp_path: Path) -> None:
    """An unknown column, one with another use, and numbers below 0 are errors of `weight`."""
    rows = days()
    rows = [[*rows[0], "age"], *([*row, "-1"] for row in rows[1:])]
    texts = {'weight = "aeg"': "Did you mean 'age'?", 'weight = "age"\nignore = ["age"]': "another key names too"}
    for text, words in {**texts, 'weight = "age"': "one number of at least 0"}.items():
        path = write_project(tmp_path, PROJECT.replace('"days.csv"', f'"days.csv"\n{text}'), csv_text(rows))
        assert any(words in one and "weight" in one for one in said(path)), said(path)
