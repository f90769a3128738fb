"""Fitted policies in files.

A saved policy is a pickle, and a pickle can run any code when it is opened. Only a file that the user names as a saved
policy is ever opened as one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import joblib

import whence
from whence.errors import InputError
from whence.policy import Policy
from whence.project.project import Project
from whence.util.files import complete, read_file

MARK = "whence policy"


def save_policy(project: Project, path: Path) -> None:
    """Write the project's fitted policy to `path`, complete or not at all."""
    if not path.parent.is_dir() or path.is_dir():
        raise InputError(f"The policy must be saved in a folder that exists. Got {str(path)!r} instead.")
    content = {"mark": MARK, "version": whence.__version__, "of": project.fingerprint(), "policy": project.fitted()}
    with complete(path) as partial:
        joblib.dump(content, partial, compress=3)


def load_policy(project: Project, path: Path) -> list[str]:
    """Let `project` use the policy saved at `path`; returns remarks on it.

    Opening the file runs whatever code it holds: open only what you have saved yourself.
    """
    digest = hashlib.sha256(read_file(path)).hexdigest()
    try:
        content: Any = joblib.load(path)
    except Exception:  # whatever a damaged or foreign pickle does, it is no policy
        content = None
    if not isinstance(content, dict) or content.get("mark") != MARK or not isinstance(content.get("policy"), Policy):
        raise InputError(f"{str(path)!r} is not a policy that 'whence fit --save' has written.")
    saved, this = content.get("version"), whence.__version__
    if saved != this:
        raise InputError(f"{str(path)!r} was saved by whence {saved}, this is {this}: fit the policy again.")
    project.use(content["policy"], digest)
    if content.get("of") != project.fingerprint():
        return [f"{path.name} was fitted before {project.path.name} or its data changed; it is used as it is."]
    return []
