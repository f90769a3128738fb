"""What most commands share: the project, a context, how a question is asked, where its answer goes."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import pandas as pd
import typer

from whence.cli.screen import note, shown, waiting
from whence.engines import engine_names
from whence.errors import InputError, WhenceError
from whence.explain.ask import read_margin
from whence.project import Project
from whence.project.project import load_policy
from whence.project.typed_questions import read_bounds
from whence.util.aliases import Kind
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
ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML report here.", show_default=False)
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", help="Processes; -1 for as many as there are cores.")]


def check_target(option: str, path: Path | None) -> None:
    """Refuse a file that could not be written in the end."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise InputError(f"{option} must be a file in a folder that exists. Got {str(path)!r} instead.")


def check_jobs(jobs: int) -> None:
    """Refuse no processes at all."""
    if jobs == 0:
        raise InputError("'--jobs' must be a whole number other than 0. Got 0 instead.")


def read_context(project: Project, given: list[str]) -> pd.Series:
    """Return one context, and note what of it lies outside the history."""
    context = project.context(given)
    for sentence in project.outside(context):
        note(sentence)
    return context


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


def complete_features(incomplete: str) -> list[str]:
    """Names of features of the project in the line that is being typed, for completion in the shell."""
    # The line is not complete, so that its arguments cannot be asked for: shells hand over its words.
    words = (os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")).split()
    projects = [word for word in words if word.endswith(".toml")]
    with suppress(WhenceError):
        names = [name for path in projects[:1] for name in map(str, Project.load(path).X.columns)]
        # A shell shows names as they are; one that a terminal would obey is none to offer.
        return [name for name in names if name.startswith(incomplete) and shown(name) == name]
    return []


def _option(help: str, metavar: str, **settings: Any) -> Any:
    return typer.Option(help=help, metavar=metavar, **settings)


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """What the command line says about a question; None where it leaves that to the project.

    Each field is an option of the commands that are :func:`asking`. One that is an argument of `Policy.explain` needs
    no further line to get there.
    """

    kind: Annotated[
        str | None,
        _option("Better than the decision (relative), or the best of all plans (absolute).", "|".join(get_args(Kind))),
    ] = None
    within: Annotated[
        float | None,
        _option(
            "With --kind absolute: how much more than the best plan yours may cost, such as 0.02 for 2 %.", "SHARE"
        ),
    ] = None
    margin: Annotated[
        str | None,
        _option(
            "Cheaper by at least this much: a share of the decision's cost (0.05 or 5%), or an amount (10cost).",
            "MARGIN",
        ),
    ] = None
    holds: Annotated[
        float | None, _option("The share of refits in which an answer to rely on must hold, such as 0.9.", "SHARE")
    ] = None
    no_holds: Annotated[bool, typer.Option("--no-holds", help="Only the nearest, without any refits.")] = False
    confidence: Annotated[
        float | None,
        _option("Better by this many standard errors over the trees or neighbours, instead of --holds.", "ERRORS"),
    ] = None
    refits: Annotated[
        str | None, _option("What is drawn anew in refits: the random numbers, or the data.", "seed|bootstrap")
    ] = None
    plausible: Annotated[
        float | None, _option("No context less usual than this share of the history, such as 0.1.", "SHARE")
    ] = None
    max_changes: Annotated[
        int | None, _option("How many features may change at most; a category counts as one.", "COUNT", min=1)
    ] = None
    fix: Annotated[
        list[str] | None,
        _option("A feature that must stay as it is; may be repeated.", "FEATURE", autocompletion=complete_features),
    ] = None
    bound: Annotated[
        list[str] | None,
        _option("The values a feature may take: temp=0:20 or day=Saturday|Sunday; may be repeated.", "BOUND"),
    ] = None
    time_limit: Annotated[float | None, _option("Stop after this many seconds.", "SECONDS")] = None
    memory_limit: Annotated[int | None, _option("Stop where the search takes more bytes.", "BYTES", min=1)] = None
    engine: Annotated[str | None, _option("The native search, or the integer program.", "|".join(engine_names()))] = (
        None
    )

    def __post_init__(self) -> None:
        if self.no_holds and (self.holds is not None or self.refits is not None):
            raise InputError("'--no-holds' asks for no refits: leave out '--holds' and '--refits'.")

    def arguments(self, project: Project) -> dict[str, Any]:
        """Arguments of `Policy.explain`: what the command line says, and otherwise the project."""
        schema, defaults = project.fitted().schema_, project.explain_defaults
        given = {**vars(self)}
        named, bounds, no_holds = given.pop("fix") or (), given.pop("bound") or (), given.pop("no_holds")
        fixed = [name.strip() for names in named for name in ([names] if names in schema.names else names.split(","))]
        if self.margin is not None:
            given["margin"] = read_margin(self.margin)
        if no_holds:
            given["holds"] = False
        return defaults.options(fixed=(*defaults.fixed, *fixed), bounds=read_bounds(bounds, schema) or None, **given)


def asking(command: Callable[..., None], *, without: Collection[str] = ()) -> Callable[..., None]:
    """`command` with an option for each field of the `QuestionOptions` that it takes as its argument `asked`.

    Fields in `without` are left to the project.
    """
    parameters = dict(inspect.signature(command, eval_str=True).parameters)
    hints = get_type_hints(QuestionOptions, include_extras=True)
    shared = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(QuestionOptions)
        if one.name not in without
    ]
    names = {one.name for one in shared}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        asked = QuestionOptions(**{name: given.pop(name) for name in list(given) if name in names})
        command(**given, asked=asked)

    # Typer reads the options from the signature, where the shared ones stand in the place of `asked`.
    every = [one for name, own in parameters.items() for one in (shared if name == "asked" else [own])]
    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in every}
    return run
