"""`whence init`: a first project file that can be used as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.support import refused, run
from tests.project.samples import csv_text, days

from whence.project import Project
from whence.weights import ForestWeights


def test_init_then_check_then_fit(tmp_path: Path) -> None:
    """From a CSV file to a fitted policy without touching the project file in between."""
    (tmp_path / "days.csv").write_text(csv_text(days()), "utf-8")
    made = run("init", tmp_path / "days.csv", "--outcomes", "rolls, cakes")
    assert made.exit_code == 0, made.output
    project = tmp_path / "whence.toml"
    usable, offer = run("check", project).stdout.splitlines()
    assert usable == "whence.toml can be used: 40 rows, 4 columns of context, 2 outcomes."
    assert offer.startswith("A linear forecast predicts rows not seen clearly better than the policy's own weights")
    fitted = run("fit", project)
    assert fitted.exit_code == 0
    assert "to 40 rows of 4 columns and 2 outcomes." in fitted.stdout
    assert "events" in fitted.stdout
    again = run("init", tmp_path / "days.csv")
    assert "already exists; use --overwrite" in refused(again)
    assert run("init", tmp_path / "days.csv", "--overwrite").exit_code == 0


def test_forests_have_the_same_defaults_everywhere(tmp_path: Path) -> None:
    """In Python, in a new project file, and in one that says nothing of weights; those of the evidence."""
    wanted = ForestWeights(random_state=0).get_params()
    assert (wanted["max_depth"], wanted["min_samples_leaf"], wanted["max_features"]) == (None, 5, 0.5)
    (tmp_path / "days.csv").write_text(csv_text(days()), "utf-8")
    assert run("init", tmp_path / "days.csv", "--outcomes", "rolls, cakes").exit_code == 0
    project = tmp_path / "whence.toml"
    text = project.read_text("utf-8")
    weights = text[text.index("[weights]") : text.index("[problem]")]
    for written in (text, text.replace(weights, "")):
        project.write_text(written, "utf-8")
        assert Project.load(project).policy.weights.get_params() == wanted
    assert "max_depth" in weights


def test_init_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project file in another folder names the data from there; without a name the only CSV file is taken."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "days.csv").write_text(csv_text(days()), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("init", "data/days.csv", "--out", "whence.toml").exit_code == 0
    assert 'history = "data/days.csv"' in Path("whence.toml").read_text("utf-8")
    assert run("check", "whence.toml").exit_code == 0
    assert "Name the CSV file: 'whence init days.csv'. This folder has none." in refused(run("init"))
    monkeypatch.chdir(tmp_path / "data")
    assert run("init").exit_code == 0
    assert "must lie in a folder that exists" in refused(run("init", "--out", "no/such/whence.toml"))


def test_a_large_file_is_judged_by_a_part_of_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so; categories and values that may not be all there are, are not declared, so that `check` is content."""
    monkeypatch.setattr("whence.project.starter.JUDGED", 4_000)
    rows = [["temp", "day", "events", "sold"]]
    for i in range(900):
        day, events = ("holiday", 9) if i == 601 else (f"day {i % 7}", i % 3)
        rows.append([f"{i % 90 / 10}", day, str(events), str(i % 50)])
    data = tmp_path / "days.csv"
    data.write_text(csv_text(rows), "utf-8")
    told = run("init", data)
    assert told.exit_code == 0, told.output
    assert "Judged days.csv by one row in 4 (225 rows); 'whence check' looks at all." in told.stderr
    assert "holiday" not in (tmp_path / "whence.toml").read_text("utf-8")
    checked = run("check", tmp_path / "whence.toml")
    assert checked.exit_code == 0, checked.output
