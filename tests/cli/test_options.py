"""What several commands share: opening a project, saved policies."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.blocks import examples
from tests.cli.support import refused, run
from tests.project.samples import csv_text, days

PIECES = ("1", "row:2", "context:3", "20,30", "rolls=20, cakes=30", "[20, 30]", "[]", "{}", "temp=1", "0", "row:", "-1")


@pytest.mark.parametrize("command", ["check", "fit", "evaluate", "tune", "decide", "explain", "batch"])
def test_a_project_that_is_not_there(tmp_path: Path, command: str) -> None:
    """A missing project file, and a folder without one, are sentences with exit code 2."""
    more = {"decide": ["-c", "1"], "explain": ["-c", "1", "-i", "row:2"], "batch": ["in.csv", tmp_path / "out.csv"]}
    for path, expected in ((tmp_path / "absent.toml", "absent.toml' does"), (tmp_path, "whence.toml' does not exist")):
        result = run(command, path, *more.get(command, []))
        assert result.exit_code == 2
        assert expected in (result.stdout if command == "check" else refused(result))


@pytest.mark.skipif(sys.platform == "win32", reason="pipes that are files are a matter of POSIX")
def test_a_pipe_is_no_file(small: Path) -> None:
    """A pipe as project, history, context, plan or input is refused in a sentence; nobody waits for it."""
    pipe = small.parent / "pipe.csv"
    os.mkfifo(pipe)
    said = "pipe.csv' is a pipe; a file was expected."
    other = small.with_name("other.toml")
    other.write_text(small.read_text("utf-8").replace("days.csv", "pipe.csv"), "utf-8")
    for path in (other, pipe):
        told = run("check", path)
        assert told.exit_code == 2
        assert said in told.stdout
    assert said in refused(run("decide", small, "-c", pipe))
    assert said in refused(run("explain", small, "-c", "3", "-i", pipe))
    assert said in refused(run("batch", small, pipe, small.with_name("out.csv")))
    assert said in refused(run("init", pipe, "--out", small.with_name("new.toml")))
    assert said in refused(run("verify", pipe, small))
    assert "is a folder; a file was expected" in refused(run("verify", small.parent, small))


def test_a_saved_policy(small: Path, tmp_path: Path) -> None:
    """A policy saved by `fit` is used by the other commands, and only where it is named."""
    policy = tmp_path / "policy.joblib"
    assert run("fit", small, "--save", policy).exit_code == 0
    fresh = run("decide", small, "-c", "3", "--json")
    assert run("decide", small, "-c", "3", "--json", "--policy", policy).stdout == fresh.stdout
    (small.parent / "days.csv").write_text(csv_text(days(seed=5)), "utf-8")
    old = run("decide", small, "-c", "temp=3, rain=no, day=Monday, events=1", "--policy", policy)
    assert old.exit_code == 0
    assert "was fitted before whence.toml or its data changed" in old.stderr
    policy.write_bytes(b"rubbish")
    assert "is not a policy that 'whence fit --save' has written" in refused(
        run("decide", small, "-c", "3", "--policy", policy)
    )


@examples(15, 30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    context=st.one_of(st.text(max_size=20), st.sampled_from(PIECES)),
    plan=st.one_of(st.text(max_size=20), st.sampled_from(PIECES)),
)
def test_any_text_on_the_command_line(small: Path, context: str, plan: str) -> None:
    """Whatever stands for context and plan, the command ends with one of its exit codes, never with a traceback."""
    told = run("explain", small, f"--context={context}", f"--instead={plan}", "--no-holds")
    assert told.exit_code in (0, 2, 3), (told.output, told.exception)
    assert (told.stderr.strip() != "") == (told.exit_code == 2)
