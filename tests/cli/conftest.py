"""Projects for the command to work on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.project.samples import SAMPLE, write_project


@pytest.fixture
def bakery(tmp_path: Path) -> Path:
    """A copy of the sample project; its project file."""
    shutil.copytree(SAMPLE, tmp_path / "bakery")
    return tmp_path / "bakery" / "whence.toml"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The project of the days; its project file."""
    return write_project(tmp_path / "small")


@pytest.fixture(autouse=True)
def _no_lines_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that is busy, lines of progress would come between those that are compared."""
    monkeypatch.setattr("whence.cli.screen.LINES", 1e6)
