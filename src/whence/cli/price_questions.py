"""`whence prices`, `implied` and `rules`: prices at which plans are right, and what the policy does in general."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from whence.cli.options import ContextOption, read_context
from whence.cli.other_questions import Timed, answering
from whence.cli.screen import FOUND, NONE, TIME_LIMIT, searching, waiting
from whence.errors import InputError
from whence.problems.plan_sets import PlanSet
from whence.util.json import quoted
from whence.util.text import number

FixOption = Annotated[
    list[str] | None, typer.Option("--fix", metavar="PRICE", help="A price that stays; may be repeated.")
]
BoundOption = Annotated[
    list[str] | None,
    typer.Option("--bound", metavar="PRICE=LOW:HIGH", help="Between what a price may lie; may be repeated."),
]
EachOption = Annotated[
    bool, typer.Option("--each", help="A price for every product or edge by itself, not one factor for all.")
]


@answering
def prices(
    shared: Timed,
    context: ContextOption,
    instead: Annotated[
        str, typer.Option("--instead", "-i", metavar="PLAN", help="Your plan, as for 'whence explain'; see its help.")
    ],
    kind: Annotated[
        str,
        typer.Option(metavar="absolute|relative", help="The best plan there, or as good as the decision."),
    ] = "absolute",
    fix: FixOption = None,
    bound: BoundOption = None,
    weight: Annotated[
        list[str] | None,
        typer.Option("--weight", metavar="PRICE=NUMBER", help="What a relative change counts; may be repeated."),
    ] = None,
    each: EachOption = False,
) -> int:
    """Prices: at which prices your plan would be right, in the context as it is; the nearest to today's, proved.

    [bold]Examples[/bold]

      whence prices whence.toml --context 12 --instead row:40
      whence prices whence.toml -c 12 -i row:40 --kind relative --fix holding --report prices.html
      whence prices whence.toml -c 12 -i row:40 --each --bound backorder=1:9
    """
    ready = shared.ready
    given, plan = read_context(ready, context), ready.plan_asked(instead)
    with waiting("Looking for prices ..."):
        found = ready.fitted().prices(
            given,
            plan,
            kind=kind,  # type: ignore[arg-type]
            fixed=fix or (),
            bounds=_ends(bound or ()),
            weights={name: _number("--weight", text, value) for text, name, value in _named("--weight", weight or ())},
            common=not each,
            time_limit=shared.seconds,
        )
    shared.tell(found)
    return {"none": NONE, "time_limit": TIME_LIMIT}.get(found.status, FOUND)


@answering
def implied(
    shared: Timed,
    plans: Annotated[
        Path,
        typer.Argument(metavar="PLANS.csv", help="Past contexts and what was planned there, as for 'whence batch'."),
    ],
    fix: FixOption = None,
    bound: BoundOption = None,
    each: EachOption = False,
) -> int:
    """Implied: which prices planners seem to have in mind; those at which their past plans were least above the best.

    PLANS.csv has a column for every feature, or a column 'context'; and a column 'instead', or one for every part of
    the plan. Plans tell no more than ratios of prices: fix one of them with '--fix', or prices are such that the plans
    cost in all what they cost today.

    [bold]Examples[/bold]

      whence implied whence.toml planned.csv --fix holding
      whence implied whence.toml planned.csv --each --report implied.html
    """
    from whence.project.batches import read_questions

    ready = shared.ready
    with waiting("Looking for prices ..."):
        rows = read_questions(ready, plans).rows
        wrong = next((row for row in rows if row.error or isinstance(row.plan, PlanSet)), None)
        if wrong is not None:
            why = wrong.error or "A set of plans is no plan that somebody has made."
            raise InputError(f"Row {wrong.row} of {plans.name} cannot be used: {why}")
        found = ready.fitted().implied(
            [row.context for row in rows],
            [row.plan for row in rows],
            fixed=fix or (),
            bounds=_ends(bound or ()),
            common=not each,
            time_limit=shared.seconds,
        )
    shared.tell(found)
    return FOUND


@answering
def rules(
    shared: Timed,
    up_to: Annotated[int, typer.Option("--up-to", metavar="COUNT", min=1, help="The largest number of rules.")] = 6,
    min_share: Annotated[
        float, typer.Option("--min-share", metavar="SHARE", help="The least share of the history that a rule is about.")
    ] = 0.02,
) -> int:
    """Rules: what the policy does in general, as a few rules, what they cost more, and where they fail.

    [bold]Examples[/bold]

      whence rules whence.toml
      whence rules whence.toml --up-to 4 --report rules.html
    """
    policy = shared.ready.fitted()
    with searching(shared.seconds) as search:
        found = policy.rules(up_to, min_share=min_share, time_limit=shared.seconds, on_progress=search)
    shared.stopped = search.stopping
    shared.tell(found)
    return FOUND


def _named(option: str, texts: Iterable[str]) -> list[tuple[str, str, str]]:
    found = []
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise InputError(f"{option!r} must be given as price=value. Got {quoted(text)} instead.")
        found.append((text, name, value))
    return found


def _ends(texts: Iterable[str]) -> dict[str, tuple[float, float]] | None:
    found = {}
    for text, name, value in _named("--bound", texts):
        low, colon, high = value.partition(":")
        if not colon:
            raise InputError(f"'--bound' must be given as price=low:high. Got {quoted(text)} instead.")
        found[name] = _number("--bound", text, low), _number("--bound", text, high)
    return found or None


def _number(option: str, text: str, value: str) -> float:
    read = number(value.strip())
    if read is None:
        raise InputError(f"{option!r} must hold numbers. Got {quoted(text)} instead.")
    return read
