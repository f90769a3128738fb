"""`whence explain`: why not another plan?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from whence.cli.exits import exit_code
from whence.cli.opening import ContextOption, JsonOption, PolicyOption, ProjectArgument, complete_features, opened
from whence.cli.screen import note, print_text, searching
from whence.errors import InputError
from whence.explain.explanation import Explanation
from whence.project import Project
from whence.project.bounds import read_bounds

__all__ = ["EngineName", "KindName", "explain"]


class KindName(StrEnum):
    """What is asked."""

    relative = "relative"
    absolute = "absolute"


class EngineName(StrEnum):
    """Who answers."""

    auto = "auto"
    search = "search"
    milp = "milp"


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
KindOption = Annotated[
    KindName | None,
    typer.Option(help="Better than the decision (relative), or best of all plans (absolute).", show_default=False),
]
WithinOption = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="With --kind absolute: how much more than the best plan yours may cost, such as 0.02 for 2 %.",
        show_default=False,
    ),
]
FixOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FEATURE",
        help="A feature that must stay as it is; may be repeated.",
        show_default=False,
        autocompletion=complete_features,
    ),
]
BoundOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="BOUND",
        help="Where a feature may go: temp=0:20 or day=Saturday|Sunday; may be repeated.",
        show_default=False,
    ),
]
LimitOption = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Seconds after which to stop.", show_default=False)
]
EngineOption = Annotated[
    EngineName | None, typer.Option(help="The native search, or the integer program.", show_default=False)
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
    ready = opened(project, policy)
    options = asked(ready, (kind, within), fix, bound, time_limit, engine)
    if decision is not None:
        options["decision"] = ready.plan(decision)
    given, plan = ready.context(context), ready.plan(instead)
    for sentence in ready.outside(given):
        note(sentence)
    with searching(options["time_limit"]) as search:
        why = ready.fitted().explain(given, plan, on_progress=search, **options)
    _tell(ready, why, report, as_json)
    raise typer.Exit(exit_code(why.status))


def asked(
    project: Project,
    question: tuple[KindName | None, float | None],
    fix: list[str] | None,
    bound: list[str] | None,
    time_limit: float | None,
    engine: EngineName | None,
) -> dict[str, Any]:
    """Arguments of `Policy.explain`: what the command line says, and otherwise the project.

    A `question` is its kind, and the share of the best plan's cost that it allows for.
    """
    kind, within = question
    schema = project.fitted().schema_
    fixed = [name.strip() for names in fix or () for name in ([names] if names in schema.names else names.split(","))]
    return project.explain_defaults.options(
        kind=None if kind is None else kind.value,
        within=within,
        fixed=(*project.explain_defaults.fixed, *fixed),
        bounds=read_bounds(bound or (), schema) or None,
        time_limit=time_limit,
        engine=None if engine is None else engine.value,
    )


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
