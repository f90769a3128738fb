"""Projects: a TOML file beside CSV data that says what is decided, from what, and how."""

from whence.project.findings import Finding, ProjectError
from whence.project.project import Project, findings

__all__ = ["Finding", "Project", "ProjectError", "findings"]
