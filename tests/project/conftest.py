"""Projects that the tests read only."""

from __future__ import annotations

import pytest
from tests.project.samples import write_city, write_project

from whence.project import Project


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project of the days."""
    return Project.load(write_project(tmp_path_factory.mktemp("days")))


@pytest.fixture(scope="session")
def city(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project of the four streets."""
    return Project.load(write_city(tmp_path_factory.mktemp("city")))
