"""`whence explain`: why not another plan?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whence.cli import options
from whence.cli.exits import exit_code
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
    project: options.ProjectArgument,
    context: options.ContextOption,
    instead: InsteadOption,
    decision: Annotated[
        str | None,
        typer.Option(metavar="PLAN", help="The plan to be explained, where it is not what the policy decides."),
    ] = None,
    kind: options.KindOption = None,
    within: options.WithinOption = None,
    fix: options.FixOption = None,
    bound: options.BoundOption = None,
    time_limit: options.LimitOption = None,
    engine: options.EngineOption = None,
    threads: options.ThreadsOption = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML report here.", show_default=False)
    ] = None,
    policy: options.PolicyOption = None,
    as_json: options.JsonOption = False,
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
    ready = options.open_project(project, policy)
    asked = options.explain_options(
        ready, fix, bound, kind=kind, within=within, time_limit=time_limit, engine=engine, threads=threads
    )
    if decision is not None:
        asked["decision"] = ready.plan(decision)
    given, plan = ready.context(context), ready.plan(instead)
    for sentence in ready.outside(given):
        note(sentence)
    with searching(asked["time_limit"]) as search:
        why = ready.fitted().explain(given, plan, on_progress=search, **asked)
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
