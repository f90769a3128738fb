"""The command `whence`, in this process and as a program of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from whence import cli

#: In which the command runs as a program.
ENVIRONMENT = {**os.environ, "PYTHONUTF8": "1", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}


def run(*arguments: Any) -> Result:
    """The command in this process."""
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def refused(result: Result) -> str:
    """The sentence of a command that was refused, without a traceback."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def program(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it in a pipe that knows nothing but plain letters."""
    return subprocess.run(
        [sys.executable, "-m", "whence.cli", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
