"""`whence front`, `menu`, `reasons`, `compare` and `forecast`: other questions about the same decisions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from whence.cli import STOPPED
from whence.cli.explain import InsteadOption
from whence.cli.options import (
    SECONDS,
    ContextOption,
    JsonOption,
    LimitOption,
    PolicyOption,
    ProjectArgument,
    QuestionOptions,
    ReportOption,
    asking,
    check_target,
    open_project,
    read_context,
    read_limit,
)
from whence.cli.screen import (
    FOUND,
    NONE,
    TIME_LIMIT,
    exit_code,
    note,
    print_json,
    print_text,
    searching,
    waiting,
)
from whence.errors import InputError
from whence.explain.ask import OF_PLANS
from whence.forecasts.explainer import Ensemble
from whence.project import Project
from whence.questions.menu import Front, Menu
from whence.questions.reasons import Reasons
from whence.questions.result import SINGLE, Result
from whence.util.text import number


@dataclass(kw_only=True)
class Answering:
    """What commands share that answer from a project: its policy, and where the answer goes."""

    project: ProjectArgument
    report: ReportOption = None
    policy: PolicyOption = None
    as_json: JsonOption = False

    #: Its options that come before those of a command's own.
    first: ClassVar[tuple[str, ...]] = ("project",)

    def __post_init__(self) -> None:
        #: Whether Ctrl-C has ended the search.
        self.stopped = False

    @functools.cached_property
    def ready(self) -> Project:
        """The project, fitted; where the report could not be written, that is said before."""
        check_target("'--report'", self.report)
        return open_project(self.project, self.policy)

    def tell(self, found: Result) -> None:
        """Print the answer, and write the report where one is wanted."""
        if self.as_json:
            print_json(found.to_json(indent=2) or "")
        else:
            print_text(str(found))
        if self.report is not None:
            found.to_html(self.report, question=self.ready.question)
            note(f"The report is in {self.report}.")


@dataclass(kw_only=True)
class Timed(Answering):
    """What is asked within a time limit of its own, which no project says."""

    time_limit: LimitOption = f"{SECONDS:g}"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.seconds = read_limit(self.time_limit)


@dataclass(kw_only=True)
class _Asked(Answering):
    """What is asked about a plan, or a set of plans, in which context."""

    context: ContextOption
    instead: InsteadOption = None
    asked: QuestionOptions
    first = ("project", "context", "instead")

    def answer(self, question: str, **own: Any) -> Any:
        """Return the policy's answer to a question of that name, which is also printed and written."""
        ready = self.ready
        more = self.asked.arguments(ready)
        # A project may say of single explanations what nobody has asked for here.
        for name in SINGLE:
            more.pop(name, None)
        given, plan = read_context(ready, self.context), ready.plan_asked(self.instead)
        more["known"] = ready.contexts_of(self.instead or ready.explain_defaults.instead)
        with searching(more["time_limit"]) as search:
            found = getattr(ready.fitted(), question)(given, plan, on_progress=search, **own, **more)
        self.stopped = search.stopping
        self.tell(found)
        return found


def answering(command: Callable[..., int]) -> Callable[..., None]:
    """Return a command with the options of its first argument around its own, which ends with the code that it returns.

    That argument is a kind of `Answering`.
    """
    shared, *own = inspect.signature(command, eval_str=True).parameters.values()
    kind: type[Answering] = shared.annotation
    hints = get_type_hints(kind, include_extras=True)
    options = {name: one.replace(annotation=hints[name]) for name, one in inspect.signature(kind).parameters.items()}
    names = {one.name for one in own}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        asked = kind(**{name: value for name, value in given.items() if name not in names})
        code = command(asked, **{name: given[name] for name in names})
        raise typer.Exit(STOPPED if asked.stopped else code)

    before = [options.pop(name) for name in kind.first]
    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    # Where the answer goes comes last.
    after = sorted(options, key=lambda name: name in Answering.__dataclass_fields__)
    every = [*before, *own, *(options[name] for name in after)]
    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    # What belongs to single explanations is not asked of several together.
    return asking(run, without=("holds", "no_holds", "refits", "max_changes")) if "asked" in options else run


@answering
def front(asked: _Asked) -> int:
    """Front: the nearest context with one change, with at most two, and so on, each proved.

    [bold]Examples[/bold]

      whence front whence.toml --context 12 --instead row:40
      whence front whence.toml -c 12 -i row:40 --time-limit 10 --json
    """
    found: Front = asked.answer("front")
    return NONE if found[-1].status == "none" else FOUND if found.complete else TIME_LIMIT


@answering
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


@answering
def reasons(asked: _Asked) -> int:
    """Reasons: which facts of the context settle that your plan is not better, whatever else changes.

    [bold]Examples[/bold]

      whence reasons whence.toml --context 12 --instead row:40
      whence reasons whence.toml -c 12 -i row:40 --kind absolute --report reasons.html
    """
    found: Reasons = asked.answer("reasons")
    return FOUND if found.status in ("proved", "none", "already") else TIME_LIMIT


@answering
def compare(
    shared: Timed,
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
) -> int:
    """Compare: why it is another plan in one context than in another, in contributions that add up.

    [bold]Examples[/bold]

      whence compare whence.toml --before 11 --after 12
      whence compare whence.toml -b 11 -a 12 -a temperature=20 --report since.html
    """
    contexts = read_context(shared.ready, before), read_context(shared.ready, after)
    with waiting("Comparing ..."):
        found = shared.ready.fitted().compare(*contexts, time_limit=shared.seconds)
    shared.tell(found)
    return FOUND


#: What is about plans and their costs.
_asking = functools.partial(asking, without=(*OF_PLANS, "no_holds"))
#: What a project, or the command line, may say of the context that is looked for.
ASKED = ("fixed", "bounds", "plausible", "max_changes", "time_limit", "memory_limit", "threads")


@_asking
def forecast(
    project: ProjectArgument,
    context: ContextOption,
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
    report: ReportOption = None,
    policy: PolicyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forecast: the nearest context in which what is forecast crosses a value, proved.

    For projects whose [weights] are of kind "forecast".

    [bold]Examples[/bold]

      whence forecast whence.toml --context 12 --at-least 300
      whence forecast whence.toml -c 12 --between 250:300 --outcome rolls --fix weekday
      whence forecast whence.toml -c 12 --at-most 100 --plausible 0.1 --report when.html
    """
    check_target("'--report'", report)
    ends = None if between is None else _ends(between)
    ready = open_project(project, policy)
    more = {name: value for name, value in asked.arguments(ready).items() if name in ASKED}
    given = read_context(ready, context)
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
    """Return two numbers with a colon between them."""
    ends = [number(part) for part in text.split(":")]
    if len(ends) != 2 or ends[0] is None or ends[1] is None:
        raise InputError(f"'--between' must be LOW:HIGH, such as 250:300. Got {text!r} instead.")
    return ends[0], ends[1]
