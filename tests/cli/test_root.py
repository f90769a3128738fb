"""The commands as a whole: versions, help, and how errors are told."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.support import refused, run
from tests.project.samples import csv_text, write_project
from typer.testing import CliRunner

import whence
from whence import cli
from whence.cli import root
from whence.cli.options import complete_features
from whence.errors import InputError


def test_version_lists_everything() -> None:
    """`whence version` names the versions of whence, Python and what they need, a line each."""
    result = CliRunner().invoke(root.app, ["version"])
    assert result.exit_code == 0
    lines = dict(line.split(maxsplit=1) for line in result.output.splitlines())
    assert lines["whence"] == whence.__version__
    assert {"python", "numpy", "scikit-learn", "highspy"} <= set(lines)


def test_runs_as_a_module(tmp_path: Path) -> None:
    """`python -m whence` is the command, where its script is not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "whence", "version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("whence ")


def test_help_shows_examples() -> None:
    """`whence --help` says what it is for and how it is called, and so does the help of a command."""
    result = CliRunner().invoke(root.app, ["--help"])
    assert result.exit_code == 0
    assert "whence explain whence.toml --context 12 --instead row:40" in result.output
    assert "whence demo --out reports" in CliRunner().invoke(root.app, ["demo", "--help"]).output


def test_an_unknown_command() -> None:
    """A command that does not exist ends with exit code 2 and no traceback."""
    assert "dmeo" in refused(run("dmeo"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("The 'x' is wrong."), 2),
        (OSError(errno.ENOSPC, "No space left on device", "why.html"), 2),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("division by zero"), 1),
    ],
)
def test_errors_become_exit_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    """An error of whence's own is a sentence and exit code 2, Ctrl-C 130, a defect 1; none of them is a traceback."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("whence.cli.projects._make_folder", fail)
    monkeypatch.setattr(sys, "argv", ["whence", "demo"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    said = capsys.readouterr().err
    assert said.count("\n") <= 2
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "command",
    ["demo", "init", "check", "fit", "evaluate", "tune", "decide", "explain", "batch", "serve", "version"],
)
def test_every_command_has_help_with_examples(command: str) -> None:
    """The help of every command shows how it is called; those that explain say what their exit codes mean."""
    told = run(command, "--help")
    assert told.exit_code == 0
    # Indented by two, after the one that every line of a help has.
    assert f"\n   whence {command}" in told.stdout.split("Example", 1)[1]
    assert ("Exit codes" in told.stdout) == (command == "explain")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A project whose names and categories hold what a terminal obeys: it would clear the screen, or set a title."""
    rows = [["temp\x1b[2J", "day", "rolls\x9b2J"]]
    rows += [
        [f"{i % 7}.5", ("low\x1b]0;owned\x07", "high\u202e")[i % 2], str(20 + i % 7 + 9 * (i % 2))] for i in range(40)
    ]
    project = """
title = "Why\\u001b[2J"
[data]
history = "days.csv"
[outcomes]
columns = ["rolls\\u009b2J"]
[weights]
kind = "knn"
k = 3
[problem]
kind = "newsvendor"
holding = 1
backorder = 3
"""
    return write_project(tmp_path / "hostile", project, csv_text(rows))


QUESTION = ("--context", "2", "--instead", "40")


@pytest.mark.parametrize(
    "words",
    [
        ("check",),
        ("fit",),
        ("evaluate", "--rows", "10"),
        ("tune", "--dry-run", "--only", "knn"),
        ("decide", "--context", "2"),
        ("decide", "--context", "temp\x1b[2J=999, day=high\u202e"),
        ("decide", "--context", "none\x1b[2J=3"),
        ("explain", *QUESTION),
        ("front", *QUESTION),
        ("menu", *QUESTION),
        ("reasons", *QUESTION),
        ("compare", "--before", "1", "--after", "2"),
        ("stability",),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_names_do_not_reach_the_terminal_as_commands(
    hostile: Path, words: tuple[str, ...], as_json: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever names hold, no command prints what a terminal would obey; JSON says the same as before."""
    if as_json and words[0] in ("fit", "tune"):
        words = ("check",)
    # As on a terminal, without colours, so that no sequence is rich's own.
    monkeypatch.setenv("NO_COLOR", "1")
    told = run(words[0], hostile, *words[1:], *(["--json"] if as_json else []))
    assert told.output
    assert "bug in whence" not in told.output
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", told.output)
    if as_json and told.exit_code == 0 and words[0] == "decide":
        assert json.loads(told.stdout)["parts"] == ["rolls\x9b2J"]


def test_completion_offers_only_names_that_can_be_typed(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell shows names as they are, so those that a terminal would obey are left out."""
    monkeypatch.setenv("COMP_WORDS", f"whence explain {hostile} --fix")
    assert complete_features("") == ["day"]
