"""What most commands share: the project, a context, how a question is asked, where its answer goes."""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import typer

from whence.checks import POSITIVE
from whence.cli.screen import note, shown, waiting
from whence.errors import InputError, WhenceError
from whence.explain.ask import OPTIONS, SearchRequest, read_seconds
from whence.util.files import project_file

if TYPE_CHECKING:
    import pandas as pd

    from whence.project import Project

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


LimitOption = Annotated[str, typer.Option("--time-limit", metavar="SECONDS", help=OPTIONS["time_limit"].words)]


def read_limit(text: str) -> float | None:
    """Return the seconds that a command may take; None where it has no limit."""
    seconds: float = POSITIVE.check("time_limit", read_seconds(text))
    return None if math.isinf(seconds) else seconds


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
    """Return the project at `path`, fitted, or with a policy that was saved before."""
    from whence.project.project import Project, load_policy

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
    """Return names of features of the project in the line that is being typed, for completion in the shell."""
    # The line is not complete, so that its arguments cannot be asked for: shells hand over its words.
    words = (os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")).split()
    projects = [word for word in words if word.endswith(".toml")]
    from whence.project import Project

    with suppress(WhenceError):
        names = [name for path in projects[:1] for name in map(str, Project.load(path).X.columns)]
        # A shell shows names as they are; one that a terminal would obey is none to offer.
        return [name for name in names if name.startswith(incomplete) and shown(name) == name]
    return []


#: Seconds for a question of which neither the command line nor the project says how long it may take.
SECONDS = 60.0


class QuestionOptions:
    """What the command line says about a question, by the names of `ask.OPTIONS`; the project says the rest."""

    def __init__(self, *, no_holds: bool = False, **given: Any) -> None:
        self.no_holds = no_holds
        self.given = {name: value for name, value in given.items() if value is not None}
        if no_holds and ("holds" in self.given or "refits" in self.given):
            raise InputError("'--no-holds' asks for no refits: leave out '--holds' and '--refits'.")

    def arguments(self, project: Project) -> dict[str, Any]:
        """Return arguments of `Policy.explain`: what the command line says, and otherwise the project."""
        from whence.project.typed_questions import read_bounds

        schema, defaults = project.fitted().schema_, project.explain_defaults
        given = {name: OPTIONS[name].read(value) for name, value in self.given.items()}
        named, bounds = given.pop("fixed", ()), given.pop("bounds", ())
        fixed = [name.strip() for names in named for name in ([names] if names in schema.names else names.split(","))]
        if self.no_holds:
            given["holds"] = False
        if "time_limit" not in defaults.said:
            given.setdefault("time_limit", SECONDS)
        found = defaults.options(
            fixed=(*defaults["fixed"], *fixed), bounds=read_bounds(bounds, schema) or None, **given
        )
        if "within" not in given:
            found["within"] = defaults.within(found["kind"], project.policy)
        return found


def _parameters() -> Iterator[inspect.Parameter]:
    """Yield the options of commands that ask a question, as parameters of a function: the claim, then the search."""
    asked = [one for one in OPTIONS.values() if one.flag]
    for one in sorted(asked, key=lambda one: one.name in SearchRequest.__dataclass_fields__):
        many = get_origin(one.typed) is list
        option = typer.Option(
            f"--{one.flag.replace('_', '-')}",
            help=f"{one.words[:-1]}; may be repeated." if many else one.words,
            metavar=one.metavar,
            min=1 if one.typed is int else None,
            autocompletion=complete_features if one.name == "fixed" else None,
        )
        yield _parameter(one.name, Annotated[one.typed | None, option], None)
        if one.name == "holds":
            only = typer.Option("--no-holds", help="Only the nearest, however often such answers are true.")
            yield _parameter("no_holds", Annotated[bool, only], False)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def asking(command: Callable[..., None], *, without: Collection[str] = ()) -> Callable[..., None]:
    """Return `command` with an option for each that the `QuestionOptions` it takes as its argument `asked` may hold.

    Those in `without` are left to the project.
    """
    parameters = dict(inspect.signature(command, eval_str=True).parameters)
    shared = [one for one in _parameters() if one.name not in without]
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
