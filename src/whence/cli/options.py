"""What most commands share: the project, a context, a saved policy, and opening a project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whence.cli.screen import note, waiting
from whence.project import Project
from whence.project.saved import load_policy
from whence.util.files import project_file

ProjectArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PROJECT",
        help="The project file, whence.toml, or its folder.",
        callback=project_file,
    ),
]
ContextOption = Annotated[
    list[str],
    typer.Option(
        "--context",
        "-c",
        metavar="CONTEXT",
        help="A row of the history (1 is the first), name=value pairs, JSON, or a CSV or JSON file; may be repeated.",
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A policy saved by 'whence fit --save'. It is a pickle: open only your own."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]


def open_project(path: Path, policy: Path | None = None) -> Project:
    """The project at `path`, fitted, or with a policy that was saved before."""
    with waiting(f"Reading {path.name} ...") as say:
        project = Project.load(path)
        remarks = [str(finding) for finding in project.warnings]
        if policy is None:
            say(f"Fitting to {len(project.X):,} rows ...")
            project.fitted()
        else:
            remarks += load_policy(project, policy)
    for remark in remarks:
        note(remark)
    return project
