"""`whence explain` and `whence decide`: why not another plan, and which plan at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from whence.cli import STOPPED
from whence.cli.options import (
    ContextOption,
    JsonOption,
    PolicyOption,
    ProjectArgument,
    QuestionOptions,
    ReportOption,
    asking,
    check_target,
    open_project,
    read_context,
)
from whence.cli.screen import console, exit_code, note, print_json, print_text, searching, waiting
from whence.explain.ask import EITHER
from whence.util.json import to_plain

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation
    from whence.project import Project

InsteadOption = Annotated[
    str | None,
    typer.Option(
        "--instead",
        "-i",
        metavar="PLAN",
        help="Your plan: part=value pairs, JSON, a CSV or JSON file, the stops of a route ('A > B > C'), or row:N or "
        "context:... for what is decided there; a set of plans: through:, using: or avoiding: a place, "
        "at-least:part=80, at-most:part=80, between:part=60:80; or any plan, unless the project says otherwise.",
        show_default=False,
    ),
]


@asking
def explain(
    project: ProjectArgument,
    context: ContextOption,
    instead: InsteadOption = None,
    decision: Annotated[
        str | None,
        typer.Option(metavar="PLAN", help="The plan to be explained, where it is not what the policy decides."),
    ] = None,
    *,
    asked: QuestionOptions,
    threads: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="Threads that search together; two where the machine has them."),
    ] = None,
    report: ReportOption = None,
    policy: PolicyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain: the nearest context in which your plan, or some plan of a set, would have been better.

    Without a plan: the nearest context in which today's plan is more than 1 % above the best.
    First comes the nearest context, then where you may rely on it: where 9 of 10 such answers are true, unless --holds
    says otherwise. Ctrl-C or the time limit (60 s unless said otherwise) ends a search with the best found and what is
    proved so far.

    [bold]Examples[/bold]

      whence explain whence.toml --context 12
      whence explain whence.toml --context 12 --instead row:40
      whence explain whence.toml -c 12 -i "rolls=300, rye bread=80"
      whence explain whence.toml -c 12 -i "Depot > Bridge > Hospital"
      whence explain whence.toml -c 12 -i "through:Ring Road" --kind absolute
      whence explain whence.toml -c 12 -i "at-least:croissants=80; at-most:rolls=200"
      whence explain whence.toml -c 12 -i plan.json --report why.html
      whence explain whence.toml -c 12 -i row:40 --fix weekday --json
      whence explain whence.toml -c 12 -i row:40 --holds 0.95 --max-changes 2
      whence explain whence.toml -c 12 -i row:40 --max-changes 1
    """
    check_target("'--report'", report)
    ready = open_project(project, policy)
    arguments = asked.arguments(ready)
    arguments["threads"] = threads or arguments["threads"]
    if arguments["threads"] is None and arguments["engine"] != "milp":
        arguments["threads"] = min(2, os.cpu_count() or 1)
    if decision is not None:
        arguments["decision"] = ready.plan(decision)
    given, plan = read_context(ready, context), ready.plan_asked(instead)
    # A report tells besides what worlds of the question itself say, as far as there is time.
    arguments["own_worlds"] = report is not None
    arguments["known"] = ready.contexts_of(instead or ready.explain_defaults.instead)
    begun = False
    unknown = "" if asked.no_holds else _set_holds(ready, arguments)
    with searching(arguments["time_limit"]) as search:

        def on_nearest(found: Explanation) -> None:
            nonlocal begun
            # A document is printed once, with everything in it.
            if not as_json:
                with search.aside():
                    print_text(str(found))
                begun = True

        why = ready.fitted().explain(given, plan, on_progress=search, on_nearest=on_nearest, rule=True, **arguments)
        if not search.stopping:
            # Both answers are told with their rule; that of the nearest was not waited for.
            why = why.with_rule(nearest=True)
    _tell(why, as_json, begun, unknown)
    if report is not None:
        from whence.evaluation.evaluating import judged

        if not search.stopping:
            with waiting("Judging the policy ..."):
                why = why.with_quality(judged(ready.fitted()))
        texts = {"title": ready.title} if ready.title else {}
        why.to_html(report, question=ready.question, policy=ready.fitted(), **texts)
        note(f"The report is in {report}.")
    # The nearest explanation is what was asked for; Ctrl-C may have come when it was there already.
    status = (why.nearest or why).status
    raise typer.Exit(STOPPED if search.stopping else exit_code(status))


def _set_holds(project: Project, arguments: dict[str, Any]) -> str:
    """Ask for what holds unless the user or the project has spoken; a sentence where that cannot be known."""
    if project.explain_defaults["holds"] is not None or any(arguments[name] for name in EITHER):
        return ""
    from whence.explain.robust import HOLDS, why_not_judged

    unknown = why_not_judged(project.fitted(), arguments["engine"], arguments["refits"])
    if not unknown:
        arguments["holds"] = HOLDS
    return unknown


def _tell(why: Explanation, as_json: bool, begun: bool, unknown: str) -> None:
    """Print the explanation, of which the nearest was printed where that has `begun`."""
    if as_json:
        print_json(why.to_json(indent=2) or "")
        return
    from whence.report.reliance import followed
    from whence.report.words import wrapped

    text = wrapped(followed(why.report)) if begun else str(why)
    for part in (text, unknown if why.found else ""):
        if part:
            print_text(part)


def decide(
    project: ProjectArgument, context: ContextOption, policy: PolicyOption = None, as_json: JsonOption = False
) -> None:
    """Decide: the plan for one context, and what it costs.

    [bold]Examples[/bold]

      whence decide whence.toml --context 12
      whence decide whence.toml -c "temperature=7, rain=no, ..."
      whence decide whence.toml -c 12 -c temperature=20 --json
    """
    from whence.problems.base import cost_unit_of
    from whence.report.numbers import plain, value, with_unit

    ready = open_project(project, policy)
    given = read_context(ready, context)
    fitted = ready.fitted()
    made = fitted.decision(given)
    unit = cost_unit_of(fitted.problem)
    text = fitted.problem.describe(made.plan, fitted.outcome_names_)
    risk = fitted.risk_.name
    if as_json:
        answer = {
            "context": to_plain(given),
            "plan": fitted.problem.to_plain(made.plan),
            "parts": fitted.problem.parts(fitted.outcome_names_),
            "text": text,
            "risk": risk,
            "cost": to_plain(made.cost),
            **({"cost_unit": unit} if unit else {}),
        }
        print_json(json.dumps(answer, ensure_ascii=False, indent=2))
        return
    screen, schema = console(), fitted.schema_
    kinds, values = schema.kinds(), schema.feature_values(given)
    where = ", ".join(f"{name} {value(values[name], kinds[name], schema.unit(name))}" for name in values)
    screen.print(f"[bold]Context[/bold]   {escape(where)}")
    screen.print(f"[bold]Decision[/bold]  {escape(text)}")
    screen.print(f"[bold]Cost[/bold]      {escape(with_unit(plain(made.cost), unit))} ({escape(risk)})")
