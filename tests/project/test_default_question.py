"""What a project asks about where no plan is given: read with it, used by the command, batches and the page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.support import run
from tests.project.samples import PROJECT, write_project

from whence.problems.plan_sets import AnyPlan, PlanSet
from whence.project import Project
from whence.project.batches import read_questions
from whence.project.project import findings
from whence.web.scenes import project_scene


def project(folder: Path, instead: str) -> Path:
    """A project that asks about `instead`."""
    return write_project(folder, PROJECT.replace("[explain]", f"[explain]\ninstead = {json.dumps(instead)}"))


@pytest.mark.parametrize(
    ("instead", "words"),
    [
        ("any", "another plan"),
        ("at-least:rolls=60; at-most:cakes=20", "at most 20 cakes"),
        ("row:4", ""),
        ("rolls=40", ""),
    ],
)
def test_used_where_no_plan_is_given(tmp_path: Path, instead: str, words: str) -> None:
    """Whatever the command line takes, but for files; a plan that is given goes before it."""
    ready = Project.load(project(tmp_path, instead))
    found = ready.plan_asked()
    if words:
        assert isinstance(found, PlanSet)
        assert words in found.words
    else:
        assert np.array_equal(found, ready.plan(instead))
    assert isinstance(ready.plan_asked("any"), AnyPlan)
    # The scene of the page begins with it.
    scene = project_scene(ready)
    shown = scene.shown()
    assert (shown.alternative is None) == bool(words)
    assert (scene.instead is None) != bool(words)
    if words:
        assert scene.instead_of(None, None) is scene.instead
        assert shown.instead == found.as_plain()
    assert isinstance(scene.instead_of(None, "any"), AnyPlan)


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ("through:Ring", "'through' is not for the plans of Newsvendor: use at-least, at-most, between, any"),
        ("at-least:scones=3", "scones"),
        ("at-least:rolls", "Got 'at-least:rolls' instead"),
        ("rolls=1e9", "100"),
        ("row:99999", "row"),
        ("plan.json", "instead"),
        ("", "instead"),
    ],
)
def test_what_cannot_be_used_is_found_when_the_project_is_read(tmp_path: Path, instead: str, said: str) -> None:
    """One finding, at its line, and no project."""
    (tmp_path / "plan.json").write_text("[30, 20]", "utf-8")
    path = project(tmp_path, instead)
    errors = [str(one) for one in findings(path) if one.severity == "error"]
    assert len(errors) == 1
    assert "explain.instead" in errors[0]
    assert said in errors[0]


def test_by_the_command_and_in_batches(tmp_path: Path) -> None:
    """`whence explain` and `menu` without --instead, and a table of contexts without plans."""
    path = project(tmp_path, "at-least:rolls=60")
    asked = run("explain", path, "-c", 3, "--json", "--no-holds")
    assert json.loads(asked.stdout)["among"] == "a plan with at least 60 rolls"
    other = run("explain", path, "-c", 3, "-i", "any", "--json", "--no-holds")
    assert json.loads(other.stdout)["among"] == "another plan"
    assert "reasons" in json.loads(run("reasons", path, "-c", 3, "--json").stdout)["schema"]
    table = tmp_path / "asked.csv"
    table.write_text("context\n3\n5\n", "utf-8")
    rows = read_questions(Project.load(path), table).rows
    assert [row.plan.words for row in rows] == ["a plan with at least 60 rolls"] * 2
    answers = tmp_path / "answers.csv"
    assert run("batch", path, table, answers).exit_code == 0
    assert set(pd.read_csv(answers)["status"]) <= {"optimal", "already", "none"}
