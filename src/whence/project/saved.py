"""The fitted policy of a project in a file, with the fingerprint of the project that it was fitted to."""

from __future__ import annotations

import hashlib
from pathlib import Path

from whence.policy import Policy
from whence.project.project import Project
from whence.saving import read_saved, write_saved
from whence.util.files import read_file


def save_policy(project: Project, path: Path) -> None:
    """Write the project's fitted policy to `path`, complete or not at all."""
    write_saved(path, project.fitted(), of=project.fingerprint())


def load_policy(project: Project, path: Path) -> list[str]:
    """Let `project` use the policy saved at `path`; returns remarks on it.

    Opening the file runs whatever code it holds: open only what you have saved yourself.
    """
    digest = hashlib.sha256(read_file(path)).hexdigest()
    content = read_saved(path, Policy)
    project.use(content["policy"], digest)
    if content.get("of") != project.fingerprint():
        return [f"{path.name} was fitted before {project.path.name} or its data changed; it is used as it is."]
    return []
