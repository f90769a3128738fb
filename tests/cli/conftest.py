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
