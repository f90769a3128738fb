"""`whence explain`: why not another plan?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from whence.cli import options
from whence.cli.exits import STOPPED, exit_code
from whence.cli.screen import note, print_text, searching
from whence.errors import InputError
from whence.explain.explanation import Explanation
from whence.explain.reliance import why_not_refitted
from whence.project import Project
from whence.report.reliance import followed
from whence.report.words import wrapped

#: The share of refits in which an answer to rely on must hold, unless somebody says otherwise.
HOLDS = 0.9

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
    margin: options.MarginOption = None,
    holds: options.HoldsOption = None,
    no_holds: Annotated[bool, typer.Option("--no-holds", help="Only the nearest, without any refits.")] = False,
    confidence: options.ConfidenceOption = None,
    refits: options.RefitsOption = None,
    plausible: options.PlausibleOption = None,
    max_changes: options.MaxChangesOption = None,
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

    First comes the nearest context, then where you may rely on it: in 9 of 10 refits of the forest, unless --holds
    says otherwise. Ctrl-C or the time limit ends a search with the best found so far, and with what is proved by then.

    [bold]Examples[/bold]

      whence explain whence.toml --context 12 --instead row:40
      whence explain whence.toml -c 12 -i "rolls=300, rye bread=80"
      whence explain whence.toml -c 12 -i "Depot > Bridge > Hospital"
      whence explain whence.toml -c 12 -i plan.json --report why.html
      whence explain whence.toml -c 12 -i row:40 --fix weekday --json
      whence explain whence.toml -c 12 -i row:40 --margin 5% --holds 0.95
      whence explain whence.toml -c 12 -i row:40 --max-changes 1
    """
    if report is not None and (report.is_dir() or not report.parent.is_dir()):
        raise InputError(f"'--report' must be a file in a folder that exists. Got {str(report)!r} instead.")
    ready = options.open_project(project, policy)
    if no_holds and (holds is not None or refits is not None):
        raise InputError("'--no-holds' asks for no refits: leave out '--holds' and '--refits'.")
    asked = options.explain_options(
        ready,
        fix,
        bound,
        kind=kind,
        within=within,
        margin=margin,
        confidence=confidence,
        holds=False if no_holds else holds,
        refits=refits,
        plausible=plausible,
        max_changes=max_changes,
        time_limit=time_limit,
        engine=engine,
        threads=threads,
    )
    if decision is not None:
        asked["decision"] = ready.plan(decision)
    given, plan = ready.context(context), ready.plan(instead)
    for sentence in ready.outside(given):
        note(sentence)
    told = _Told(as_json)
    unknown = _set_holds(ready, asked, no_holds)
    with searching(asked["time_limit"]) as search:

        def on_nearest(found: Explanation) -> None:
            with search.aside():
                told.nearest(found)

        why = ready.fitted().explain(given, plan, on_progress=search, on_nearest=on_nearest, rule=True, **asked)
    told.all_of(why, unknown)
    if report is not None:
        texts = {"title": ready.title} if ready.title else {}
        why.to_html(report, question=ready.question, **texts)
        note(f"The report is in {report}.")
    # The nearest explanation is what was asked for; Ctrl-C may have come when it was there already.
    status = (why.nearest or why).status
    raise typer.Exit(STOPPED if search.stopping else exit_code(status))


def _set_holds(project: Project, asked: dict[str, Any], no_holds: bool) -> str:
    """Ask for what holds unless the user or the project has spoken; a sentence where nothing can be known of refits."""
    said = project.explain_defaults.holds is not None or asked["holds"] is not None
    if no_holds or said or asked["confidence"]:
        return ""
    unknown = why_not_refitted(project.fitted().weights_, asked["engine"])
    if not unknown:
        asked["holds"] = HOLDS
    return unknown


class _Told:
    """What was printed so far: the nearest explanation at once, the rest when it is known."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.first = False

    def nearest(self, why: Explanation) -> None:
        """Print the nearest explanation; a document is printed once, with everything in it."""
        if not self.as_json:
            print_text(str(why))
            self.first = True

    def all_of(self, why: Explanation, unknown: str) -> None:
        """Print what is left to say."""
        if self.as_json:
            print(why.to_json(indent=2), flush=True)
            return
        text = wrapped(followed(why.report)) if self.first else str(why)
        if text:
            print_text(text)
        if unknown and why.found:
            print_text(unknown)
