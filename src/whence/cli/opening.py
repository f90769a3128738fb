"""What several commands share: opening a project, and the options that they have in common."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from whence.cli.screen import note, waiting
from whence.errors import WhenceError
from whence.files import project_file
from whence.project import Project
from whence.project.saved import load_policy

__all__ = ["ContextOption", "JsonOption", "PolicyOption", "ProjectArgument", "opened"]

ProjectArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PROJECT",
        help="The project file, whence.toml, or its folder.",
        callback=project_file,
        show_default=False,
    ),
]
ContextOption = Annotated[
    list[str],
    typer.Option(
        "--context",
        "-c",
        metavar="CONTEXT",
        help="A row of the history (1 is the first), name=value pairs, JSON, or a CSV or JSON file; may be repeated.",
        show_default=False,
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="A policy saved by 'whence fit --save'; a pickle: open only your own.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def opened(path: Path, policy: Path | None = None) -> Project:
    """The project at `path`, fitted, or with a policy that was saved before."""
    with waiting(f"Reading {path.name} ...") as shown:
        project = Project.load(path)
        remarks = [str(finding) for finding in project.warnings]
        if policy is None:
            shown.say(f"Fitting to {len(project.X):,} rows ...")
            project.fitted()
        else:
            remarks += load_policy(project, policy)
    for remark in remarks:
        note(remark)
    return project


def complete_features(incomplete: str) -> list[str]:
    """Names of features of the project in the line that is being typed, for completion in the shell."""
    # The line is not complete, so that its arguments cannot be asked for: shells hand over its words.
    words = (os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")).split()
    project = next((word for word in words if word.endswith(".toml")), None)
    if project is None:
        return []
    try:
        names = Project.load(project).X.columns
    except WhenceError:
        return []
    return [name for name in names if str(name).startswith(incomplete)]
