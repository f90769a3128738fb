"""`whence front`, `menu`, `reasons` and `compare`: other questions about the same decisions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from whence.cli import options
from whence.cli.exits import FOUND, NONE, STOPPED, TIME_LIMIT
from whence.cli.explain import InsteadOption
from whence.cli.question_options import QuestionOptions, asking
from whence.cli.screen import note, print_json, print_text, searching, waiting
from whence.errors import InputError
from whence.project import Project
from whence.questions.front import Front
from whence.questions.menu import Menu
from whence.questions.reasons import Reasons
from whence.questions.result import Told
from whence.questions.series import SINGLE

ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML report here.", show_default=False)
]


@dataclass(kw_only=True)
class _Asked:
    """What these commands share: what is asked about, in which context, and where the answer goes."""

    project: options.ProjectArgument
    context: options.ContextOption
    instead: InsteadOption = None
    asked: QuestionOptions
    report: ReportOption = None
    policy: options.PolicyOption = None
    as_json: options.JsonOption = False

    def __post_init__(self) -> None:
        #: Whether Ctrl-C has ended the search.
        self.stopped = False

    def answer(self, question: str, **own: Any) -> Any:
        """The policy's answer to a question of that name, which is also printed and written."""
        ready = _opened(self.project, self.policy, self.report)
        more = self.asked.arguments(ready)
        # A project may say of single explanations what nobody has asked for here.
        for name in SINGLE:
            more.pop(name, None)
        given, plan = ready.context(self.context), ready.plan_asked(self.instead)
        for sentence in ready.outside(given):
            note(sentence)
        with searching(more["time_limit"]) as search:
            found = getattr(ready.fitted(), question)(given, plan, on_progress=search, **own, **more)
        self.stopped = search.stopping
        _tell(ready, found, self.report, self.as_json)
        return found


def _command(command: Callable[..., int]) -> Callable[..., None]:
    """A command with the options of `_Asked` around its own, which ends with the exit code that it returns."""
    hints = get_type_hints(_Asked, include_extras=True)
    shared = {name: one.replace(annotation=hints[name]) for name, one in inspect.signature(_Asked).parameters.items()}
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    names = {one.name for one in own}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        asked = _Asked(**{name: value for name, value in given.items() if name not in names})
        code = command(asked, **{name: given[name] for name in names})
        raise typer.Exit(STOPPED if asked.stopped else code)

    kind = inspect.Parameter.KEYWORD_ONLY
    before = [shared.pop(name) for name in ("project", "context", "instead")]
    every = [*before, *(one.replace(kind=kind) for one in own), *shared.values()]
    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    # What belongs to single explanations is not asked of several together.
    return asking(run, without=("holds", "no_holds", "refits", "max_changes"))


@_command
def front(asked: _Asked) -> int:
    """Front: the nearest context with one change, with at most two, and so on, each proved.

    [bold]Examples[/bold]

      whence front whence.toml --context 12 --instead row:40
      whence front whence.toml -c 12 -i row:40 --time-limit 10 --json
    """
    found: Front = asked.answer("front")
    return NONE if found[-1].status == "none" else FOUND if found.complete else TIME_LIMIT


@_command
def menu(
    asked: _Asked,
    up_to: Annotated[
        int, typer.Option("--up-to", metavar="COUNT", min=1, help="The largest number of features in a set.")
    ] = 3,
    apart: Annotated[
        float, typer.Option(metavar="DISTANCE", min=0.0, help="The least distance between any two answers.")
    ] = 0.0,
) -> int:
    """Menu: what else would do; the nearest context for every smallest set of features that suffices.

    [bold]Examples[/bold]

      whence menu whence.toml --context 12 --instead row:40
      whence menu whence.toml -c 12 -i row:40 --up-to 2 --apart 0.2
    """
    found: Menu = asked.answer("menu", up_to=up_to, apart=apart)
    return {"complete": FOUND if len(found) else NONE, "already": FOUND}.get(found.status, TIME_LIMIT)


@_command
def reasons(asked: _Asked) -> int:
    """Reasons: which facts of the context settle that your plan is not better, whatever else changes.

    [bold]Examples[/bold]

      whence reasons whence.toml --context 12 --instead row:40
      whence reasons whence.toml -c 12 -i row:40 --kind absolute --report reasons.html
    """
    found: Reasons = asked.answer("reasons")
    return FOUND if found.status in ("proved", "none", "already") else TIME_LIMIT


def compare(
    project: options.ProjectArgument,
    before: Annotated[
        list[str], typer.Option("--before", "-b", metavar="CONTEXT", help="The first context; see --after.")
    ],
    after: Annotated[
        list[str],
        typer.Option(
            "--after",
            "-a",
            metavar="CONTEXT",
            help="The second one: a row of the history, name=value pairs, JSON, or a file; may be repeated.",
        ),
    ],
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop after this many seconds.")] = None,
    report: ReportOption = None,
    policy: options.PolicyOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Compare: why it is another plan in one context than in another, in contributions that add up.

    [bold]Examples[/bold]

      whence compare whence.toml --before 11 --after 12
      whence compare whence.toml -b 11 -a 12 -a temperature=20 --report since.html
    """
    ready = _opened(project, policy, report)
    contexts = ready.context(before), ready.context(after)
    for given in contexts:
        for sentence in ready.outside(given):
            note(sentence)
    with waiting("Comparing ..."):
        found = ready.fitted().compare(*contexts, time_limit=time_limit)
    _tell(ready, found, report, as_json)


def _opened(project: Path, policy: Path | None, report: Path | None) -> Project:
    """The project, fitted; where the report could not be written, that is said before."""
    if report is not None and (report.is_dir() or not report.parent.is_dir()):
        raise InputError(f"'--report' must be a file in a folder that exists. Got {str(report)!r} instead.")
    return options.open_project(project, policy)


def _tell(ready: Project, found: Told, report: Path | None, as_json: bool) -> None:
    """Print the answer, and write the report where one is wanted."""
    if as_json:
        print_json(found.to_json(indent=2) or "")
    else:
        print_text(str(found))
    if report is not None:
        found.to_html(report, question=ready.question)
        note(f"The report is in {report}.")
