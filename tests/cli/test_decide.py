"""`whence decide`: the plan for one context."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from tests.cli.support import ENVIRONMENT, run

from whence.project import Project


def test_decide(small: Path) -> None:
    """The plan is the policy's own, in words and as JSON."""
    project = Project.load(small)
    told = run("decide", small, "-c", "3", "-c", "temp=20")
    assert told.exit_code == 0
    assert "temp 20 °C" in told.stdout
    answer = json.loads(run("decide", small, "-c", "3", "-c", "temp=20", "--json").stdout)
    np.testing.assert_array_equal(answer["plan"], project.fitted().decide(project.context(["3", "temp=20"])))
    assert answer["parts"] == ["rolls", "cakes"]
    assert answer["context"]["temp"] == 20.0
    assert small.name == "whence.toml"
    assert run("decide", small.parent, "-c", "3", "-c", "temp=20").stdout == told.stdout


def test_a_context_outside_the_history_is_pointed_out(small: Path) -> None:
    """What lies beyond the past is decided as at its edge; the command says so on stderr, for every such feature."""
    held = Project.load(small).X["temp"]
    told = run("decide", small, "-c", "3", "-c", "temp=200")
    assert told.exit_code == 0
    assert f"temp 200 °C lies outside the history, which has {held.min():g} to {held.max():g} °C." in " ".join(
        told.stderr.split()
    )
    assert "outside" not in run("decide", small, "-c", "3").stderr


def test_in_a_pipe(bakery: Path) -> None:
    """As a program: plain letters on stdout, nothing on stderr, and `python -m whence.cli` is the command."""
    command = [sys.executable, "-m", "whence.cli", "decide", str(bakery), "--context", "2024-01-04"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["Context", "Decision", "Cost"]
