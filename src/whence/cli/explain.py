"""`whence explain`: why not another plan?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whence.cli.exits import exit_code
from whence.cli.options import (
    BoundOption,
    ContextOption,
    EngineOption,
    FixOption,
    JsonOption,
    KindOption,
    LimitOption,
    PolicyOption,
    ProjectArgument,
    ThreadsOption,
    WithinOption,
    explain_options,
    open_project,
)
from whence.cli.screen import note, print_text, searching
from whence.errors import InputError
from whence.explain.explanation import Explanation
from whence.project import Project

__all__ = ["explain"]


InsteadOption = Annotated[
    str,
    typer.Option(
        "--instead",
        "-i",
        metavar="PLAN",
        help="Your plan: part=value pairs, JSON, a CSV or JSON file, the stops of a route ('A > B > C'), or row:N or "
        "context:... for what is decided there.",
        show_default=False,
    ),
]


def explain(
    project: ProjectArgument,
    context: ContextOption,
    instead: InsteadOption,
    decision: Annotated[
        str | None,
        typer.Option(metavar="PLAN", help="The plan to be explained, where it is not what the policy decides."),
    ] = None,
    kind: KindOption = None,
    within: WithinOption = None,
    fix: FixOption = None,
    bound: BoundOption = None,
    time_limit: LimitOption = None,
    engine: EngineOption = None,
    threads: ThreadsOption = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML report here.", show_default=False)
    ] = None,
    policy: PolicyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain: the nearest context in which your plan would have been the better one.

    Ctrl-C or the time limit ends a search with the best found so far, and with what is proved by then.

    [bold]Examples[/bold]

      whence explain whence.toml --context 12 --instead row:40
      whence explain whence.toml -c 12 -i "rolls=300, rye bread=80"
      whence explain whence.toml -c 12 -i "Depot > Bridge > Hospital"
      whence explain whence.toml -c 12 -i plan.json --report why.html
      whence explain whence.toml -c 12 -i row:40 --fix weekday --json
    """
    if report is not None and (report.is_dir() or not report.parent.is_dir()):
        raise InputError(f"'--report' must be a file in a folder that exists. Got {str(report)!r} instead.")
    ready = open_project(project, policy)
    options = explain_options(
        ready, fix, bound, kind=kind, within=within, time_limit=time_limit, engine=engine, threads=threads
    )
    if decision is not None:
        options["decision"] = ready.plan(decision)
    given, plan = ready.context(context), ready.plan(instead)
    for sentence in ready.outside(given):
        note(sentence)
    with searching(options["time_limit"]) as search:
        why = ready.fitted().explain(given, plan, on_progress=search, **options)
    _tell(ready, why, report, as_json)
    raise typer.Exit(exit_code(why.status))


def _tell(project: Project, why: Explanation, report: Path | None, as_json: bool) -> None:
    # The answer first: a disk that is full must not cost it.
    if as_json:
        print(why.to_json(indent=2), flush=True)
    else:
        print_text(str(why))
    if report is not None:
        texts = {"title": project.title} if project.title else {}
        why.to_html(report, question=project.question, **texts)
        note(f"The report is in {report}.")
