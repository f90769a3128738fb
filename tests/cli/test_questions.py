"""The options of a question: the same ones for `explain` and `batch`, and what they become for the policy."""

from __future__ import annotations

import inspect
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.support import refused, run
from tests.forests import PAPER_KEYS
from tests.project.samples import PROJECT, SAMPLE
from typer.testing import CliRunner

from whence.cli import root
from whence.cli.explain import explain
from whence.cli.many_rows import batch
from whence.cli.options import QuestionOptions
from whence.errors import InputError
from whence.explain.ask import OPTIONS
from whence.project import Project

FOREST = PROJECT.replace('kind = "knn"\nk = 5', f'kind = "forest"\nn_trees = 10\n{PAPER_KEYS}')


def test_both_commands_take_them() -> None:
    """Every option in the table is one of both commands, and the object that holds them is none."""
    names = {one.name for one in OPTIONS.values() if one.flag} | {"no_holds"}
    for command in (explain, batch):
        options = set(inspect.signature(command).parameters)
        assert names < options
        assert "asked" not in options


def test_what_the_policy_gets(small: Path) -> None:
    """Names, bounds and margins are read; what is not given comes from the project, and `no_holds` takes its holds."""
    small.write_text(f"{FOREST}holds = 0.8\nfixed = ['rain']\n", "utf-8")
    project = Project.load(small)
    given = QuestionOptions(fixed=["day, events"], bounds=["temp=0:20"], margin="5%", kind="absolute", within=0.02)
    found = given.arguments(project)
    assert found["fixed"] == ("rain", "day", "events")
    assert found["bounds"] == {"temp": (0.0, 20.0)}
    assert (found["margin"], found["kind"], found["within"], found["holds"]) == (0.05, "absolute", 0.02, 0.8)
    assert QuestionOptions(no_holds=True).arguments(project)["holds"] is None
    assert not {"fix", "bound", "no_holds"} & set(found)
    with pytest.raises(InputError, match="leave out '--holds' and '--refits'"):
        QuestionOptions(no_holds=True, refits="seed")


def test_a_batch_without_refits(small: Path, tmp_path: Path) -> None:
    """`--no-holds` keeps a batch from asking refits where the project would, and excludes `--holds`."""
    small.write_text(f'{FOREST}holds = 0.5\nrefits = "seed"\n', "utf-8")
    questions, answers = tmp_path / "asked.csv", tmp_path / "answered.csv"
    questions.write_text('context,instead\n3,"rolls=20, cakes=30"\n', "utf-8")
    for more, asked_refits in (((), True), (("--no-holds", "--overwrite"), False)):
        assert run("batch", small, questions, answers, *more).exit_code == 0
        assert pd.read_csv(answers)["refits"].notna().all() == asked_refits
    both = run("batch", small, questions, tmp_path / "other.csv", "--no-holds", "--holds", "0.9")
    assert "'--no-holds' asks for no refits" in refused(both)


def test_shell_completion() -> None:
    """The shell is offered commands, and the features of the project for `--fix`."""
    environment = {
        "_WHENCE_COMPLETE": "complete_bash",
        "COMP_WORDS": f"whence explain {SAMPLE}/whence.toml --fix t",
        "COMP_CWORD": "4",
    }
    told = CliRunner().invoke(root.app, [], env=environment, prog_name="whence")
    assert told.stdout.split() == ["temperature"]
    environment |= {"COMP_WORDS": "whence ch", "COMP_CWORD": "1"}
    assert CliRunner().invoke(root.app, [], env=environment, prog_name="whence").stdout.split() == ["check"]


def test_best_of_all_quantities_is_within_a_hundredth(small: Path) -> None:
    """Where plans may take any value and nobody says otherwise: the answer says so, and `--within 0` asks for less."""
    project = Project.load(small)
    assert QuestionOptions(kind="absolute").arguments(project)["within"] == 0.01
    assert QuestionOptions(kind="absolute", within=0.0).arguments(project)["within"] == 0.0
    assert QuestionOptions().arguments(project)["within"] == 0.0
    told = run("explain", small, "-c", "3", "-i", "row:20", "--kind", "absolute", "--no-holds")
    assert "within 1 % of the best" in " ".join(told.stdout.split())
    small.write_text(f"{PROJECT}within = 0\n", "utf-8")
    assert QuestionOptions(kind="absolute").arguments(Project.load(small))["within"] == 0.0


def test_the_context_of_a_plan_is_handed_over(small: Path) -> None:
    """Plans that are told by their contexts bring them along; others bring none."""
    project = Project.load(small)
    found = project.contexts_of("row:20", " context: 3", "rolls=20, cakes=30", None)
    assert found is not None
    assert sorted(found["temp"]) == sorted([project.X["temp"].iloc[2], project.X["temp"].iloc[19]])
    assert project.contexts_of("any") is None
