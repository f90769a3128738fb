"""What several commands share: their options, and opening a project."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from whence.aliases import Kind
from whence.cli.screen import note, waiting
from whence.engines import engine_names
from whence.errors import WhenceError
from whence.files import project_file
from whence.project import Project
from whence.project.contexts import read_bounds
from whence.project.margins import read_margin
from whence.project.saved import load_policy


def complete_features(incomplete: str) -> list[str]:
    """Names of features of the project in the line that is being typed, for completion in the shell."""
    # The line is not complete, so that its arguments cannot be asked for: shells hand over its words.
    words = (os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")).split()
    projects = [word for word in words if word.endswith(".toml")]
    with suppress(WhenceError):
        return [name for path in projects[:1] for name in Project.load(path).X.columns if name.startswith(incomplete)]
    return []


def _option(help: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, **settings)


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
    _option(
        "A row of the history (1 is the first), name=value pairs, JSON, or a CSV or JSON file; may be repeated.",
        "--context",
        "-c",
        metavar="CONTEXT",
    ),
]
PolicyOption = Annotated[
    Path | None,
    _option("A policy saved by 'whence fit --save'. It is a pickle: open only your own.", metavar="FILE"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
KindOption = Annotated[
    str | None,
    _option(
        "Better than the decision (relative), or the best of all plans (absolute).", metavar="|".join(get_args(Kind))
    ),
]
WithinOption = Annotated[
    float | None,
    _option(
        "With --kind absolute: how much more than the best plan yours may cost, such as 0.02 for 2 %.", metavar="SHARE"
    ),
]
MarginOption = Annotated[
    str | None,
    _option(
        "Cheaper by at least so much: a share of the decision's cost (0.05 or 5%), or an amount (10cost).",
        metavar="MARGIN",
    ),
]
ConfidenceOption = Annotated[
    float | None,
    _option("Forests: better by so many standard errors over the trees, instead of --holds.", metavar="ERRORS"),
]
HoldsOption = Annotated[
    float | None,
    _option("The share of refits in which an answer to rely on must hold, such as 0.9.", metavar="SHARE"),
]
RefitsOption = Annotated[
    str | None,
    _option("What is drawn anew in refits: the random numbers, or the data.", metavar="seed|bootstrap"),
]
PlausibleOption = Annotated[
    float | None,
    _option("Forests: no context less usual than this share of the history, such as 0.1.", metavar="SHARE"),
]
MaxChangesOption = Annotated[
    int | None, _option("How many features may change at most; a category counts as one.", min=1, metavar="COUNT")
]
FixOption = Annotated[
    list[str] | None,
    _option("A feature that must stay as it is; may be repeated.", metavar="FEATURE", autocompletion=complete_features),
]
BoundOption = Annotated[
    list[str] | None,
    _option("Where a feature may go: temp=0:20 or day=Saturday|Sunday; may be repeated.", metavar="BOUND"),
]
LimitOption = Annotated[float | None, _option("Stop after this many seconds.", metavar="SECONDS")]
EngineOption = Annotated[
    str | None, _option("The native search, or the integer program.", metavar="|".join(engine_names()))
]
ThreadsOption = Annotated[
    int | None, _option("Threads that search together; 1 unless the project says otherwise.", min=1, max=256)
]


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


def explain_options(
    project: Project, fix: list[str] | None = None, bound: list[str] | None = None, **given: Any
) -> dict[str, Any]:
    """Arguments of `Policy.explain`: what the command line says, and otherwise the project."""
    schema, defaults = project.fitted().schema_, project.explain_defaults
    fixed = [name.strip() for names in fix or () for name in ([names] if names in schema.names else names.split(","))]
    bounds = read_bounds(bound or (), schema) or None
    if given.get("margin") is not None:
        given["margin"] = read_margin(given["margin"])
    return defaults.options(fixed=(*defaults.fixed, *fixed), bounds=bounds, **given)
