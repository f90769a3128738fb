"""`whence demo`, in a pipe and interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.support import program, refused, run
from tests.processes import usual_signals

REPORTS = {"bakery-relative.html", "bakery-absolute.html", "city-relative.html", "city-absolute.html"}


def test_demo_in_a_pipe(tmp_path: Path) -> None:
    """The demo prints decisions, plans and explanations without colour, and writes a report for each explanation."""
    done = program("demo", "--out", "reports", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert done.stdout.count("Decision   ") == 2
    assert done.stdout.count("Your plan  ") == 2
    assert done.stdout.count("Proved nearest, at distance ") == 4
    assert "if weekday were Saturday rather than Thursday" in done.stdout
    assert "if period were morning peak rather than midday. Nothing else has to change" in done.stdout
    assert {path.name for path in (tmp_path / "reports").iterdir()} == REPORTS
    for name in REPORTS:
        assert name in done.stdout
        assert "</html>" in (tmp_path / "reports" / name).read_text("utf-8")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in the place of the folder is an error of one sentence on stderr, with exit code 2."""
    (tmp_path / "taken").write_text("", "utf-8")
    said = refused(run("demo", "--out", tmp_path / "taken"))
    assert said.startswith("whence: The folder given as '--out' cannot be made:")
    assert said.count("\n") == 1


def test_ctrl_c_while_it_runs(tmp_path: Path) -> None:
    """A real interrupt of the running demo ends it at once with exit code 130 and without a traceback."""
    running = subprocess.Popen(
        [sys.executable, "-m", "whence", "demo"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"},
        # Tests that run in the background inherit that Ctrl-C is ignored; the demo must not.
        preexec_fn=usual_signals,
    )
    assert running.stdout is not None
    assert running.stdout.readline().startswith("Why not")
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    # Where the signal comes in the midst of an `exec`, Python ends by the signal itself: a shell says 130 to both.
    assert running.returncode in (130, -signal.SIGINT), said
    assert "Traceback" not in said


def test_ctrl_c_while_python_tidies_up() -> None:
    """An interrupt that comes where errors are told and forgotten, such as in a destructor, ends the command too."""
    source = """
import signal, time
from whence.cli import main, root


class Freed:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def app():
    Freed()
    time.sleep(50)
    print("never said")


root.app = app
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=60, preexec_fn=usual_signals
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "whence: stopped.\n")


@pytest.mark.parametrize("after", [0.0, 0.3, 0.8])
def test_ctrl_c_while_it_imports(after: float, tmp_path: Path) -> None:
    """An interrupt in the seconds in which the command still imports ends it like any other."""
    running = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "whence", "demo"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background inherit that Ctrl-C is ignored; the command must not.
        preexec_fn=usual_signals,
    )
    assert running.stderr is not None
    # The command has begun, and a module that it needs first of all is there.
    while "numpy.version" not in (line := running.stderr.readline()):
        assert line
    time.sleep(after)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    told = [line for line in said.splitlines() if not line.startswith("import time:")]
    assert told == ["whence: stopped."]
