"""The commands printed in the documentation print what it says."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.project.samples import SAMPLE
from typer.testing import CliRunner

from whence import cli

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("commands.md", "howto/project-file.md")
SESSION = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_printed_sessions(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every `$ whence ...` of a page, run in the sample project, gives the lines printed below it."""
    shutil.copytree(SAMPLE, tmp_path / "sample")
    monkeypatch.chdir(tmp_path / "sample")
    sessions = BLOCK.findall((DOCS / page).read_text("utf-8"))
    assert sessions
    for session in sessions:
        for command, _, printed in (part.partition("\n") for part in session.split("$ ")[1:]):
            program, *arguments = shlex.split(command)
            assert program == "whence"
            done = CliRunner().invoke(cli.app, arguments)
            # Remarks on stderr come before the result.
            assert (done.stderr + done.stdout).split() == printed.split(), command


def test_printed_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The Python session about project files, run in the sample project, gives the output printed there."""
    shutil.copytree(SAMPLE, tmp_path / "sample")
    monkeypatch.chdir(tmp_path / "sample")
    sessions = SESSION.findall((DOCS / "howto" / "project-file.md").read_text("utf-8"))
    assert len(sessions) == 1
    session = doctest.DocTestParser().get_doctest(sessions[0], {}, "project-file.md", None, 0)
    failed = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(session).failed
    assert failed == 0, capsys.readouterr().out


def test_printed_findings(tmp_path: Path) -> None:
    """The findings printed on the page are those of the sample project with three mistakes."""
    shutil.copytree(SAMPLE, tmp_path / "sample")
    project, history = tmp_path / "sample" / "whence.toml", tmp_path / "sample" / "history.csv"
    text = project.read_text("utf-8").replace('[features.rain]\ntype = "binary"', '[features.rain]\ntype = "bool"')
    project.write_text(text.replace("budget =", "bugdet ="), "utf-8")
    lines = history.read_text("utf-8").split("\n")
    day = lines[16].split(",")
    lines[16] = ",".join([*day[:2], "mild", *day[3:]])
    history.write_text("\n".join(lines), "utf-8")
    told = CliRunner().invoke(cli.app, ["check", str(project)])
    assert told.exit_code == 2
    page = " ".join((DOCS / "howto" / "project-file.md").read_text("utf-8").split())
    assert f"```text {' '.join(told.stdout.split())} ```" in page
