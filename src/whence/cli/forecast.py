"""`whence forecast`: when would the forecast cross a value?"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated

import typer

from whence.cli import options
from whence.cli.exits import STOPPED, exit_code
from whence.cli.question_options import QuestionOptions, asking
from whence.cli.screen import note, print_json, print_text, searching
from whence.errors import InputError
from whence.forecasts.explainer import Ensemble
from whence.util.parse import number

#: What is about plans and their costs.
_asking = functools.partial(
    asking, without=("kind", "within", "margin", "holds", "no_holds", "confidence", "refits", "engine")
)
#: What a project, or the command line, may say of the context that is looked for.
ASKED = ("fixed", "bounds", "plausible", "max_changes", "time_limit", "memory_limit", "threads")


@_asking
def forecast(
    project: options.ProjectArgument,
    context: options.ContextOption,
    at_least: Annotated[float | None, typer.Option(metavar="VALUE", help="The forecast must be at least this.")] = None,
    at_most: Annotated[float | None, typer.Option(metavar="VALUE", help="The forecast must be at most this.")] = None,
    between: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="The forecast must lie between these two.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which outcome; may be left out where there is one.")
    ] = None,
    *,
    asked: QuestionOptions,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML report here.", show_default=False)
    ] = None,
    policy: options.PolicyOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Forecast: the nearest context in which what is forecast crosses a value, proved.

    For projects whose [weights] are of kind "forecast".

    [bold]Examples[/bold]

      whence forecast whence.toml --context 12 --at-least 300
      whence forecast whence.toml -c 12 --between 250:300 --outcome rolls --fix weekday
      whence forecast whence.toml -c 12 --at-most 100 --plausible 0.1 --report when.html
    """
    if report is not None and (report.is_dir() or not report.parent.is_dir()):
        raise InputError(f"'--report' must be a file in a folder that exists. Got {str(report)!r} instead.")
    ends = None if between is None else _ends(between)
    ready = options.open_project(project, policy)
    more = {name: value for name, value in asked.arguments(ready).items() if name in ASKED}
    given = ready.context(context)
    for sentence in ready.outside(given):
        note(sentence)
    ensemble = Ensemble.of(ready.fitted(), outcome)
    with searching(more["time_limit"]) as search:
        why = ensemble.explain(given, at_most=at_most, at_least=at_least, between=ends, on_progress=search, **more)
    if as_json:
        print_json(why.to_json())
    else:
        print_text(str(why))
    if report is not None:
        why.to_html(report)
        note(f"The report is in {report}.")
    raise typer.Exit(STOPPED if search.stopping else exit_code(why.status))


def _ends(text: str) -> tuple[float, float]:
    """Two numbers with a colon between them."""
    ends = [number(part) for part in text.split(":")]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        raise InputError(f"'--between' must be LOW:HIGH, such as 250:300. Got {text!r} instead.")
    return ends[0], ends[1]
