"""Answers as pages, in one file or for a notebook: questions with several answers, and forecasts that cross a value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from markupsafe import Markup
from msgspec import Meta, Struct, field

from whence.report.build import changes_of
from whence.report.document import Amount, Change, Count, Distance, Number, Report, Scalar, Searched, ShownChange
from whence.report.html import context_rows, fragment_of, observation_named, page_of, plan_charts
from whence.report.numbers import duration, plain, with_unit
from whence.report.question_words import ended, lifted
from whence.report.words import changes_shown
from whence.util.files import write_text
from whence.util.text import listed

if TYPE_CHECKING:
    from whence.forecasts.crossing import Crossing


class Chart(NamedTuple):
    """A drawing, and what it shows."""

    drawing: Markup
    caption: str


class Table(NamedTuple):
    """Rows of texts under a heading; columns in `numbers` are set flush right."""

    heading: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Collection[int] = ()


def both_plans(report: Report) -> tuple[list[Chart], list[Table]]:
    """Return the decision and the plan that it is compared with: drawn where they can be, else in words.

    Where any plan of a set counts, each answer has one of its own: only the decision is told.
    """
    said = [["decision", report.plans.decision_text]]
    if report.among:
        return [], [Table("The plan", ["", ""], said)]
    drawn = plan_charts(report)
    if not drawn:
        return [], [Table("The two plans", ["", ""], [*said, ["your plan", report.plans.alternative_text]])]
    look = (
        "Broad line: the decision. Dashed: your plan." if report.plans.map else "Filled: the decision. Dashed: yours."
    )
    return [Chart(one, f"The two plans. {look}" if one is drawn[-1] else "") for one in drawn], []


def asked_about(report: Report | None) -> dict[str, Any]:
    """Return which day a question is about, and all values of its context, as arguments of a :class:`Sheet`."""
    if report is None:
        return {}
    return {
        "day": observation_named(report),
        "context": [(name, was, "") for name, was, _ in context_rows(report)],
    }


@dataclass(frozen=True)
class Sheet:
    """What is shown of a question with several answers."""

    title: str
    text: str
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    certificate: Sequence[tuple[str, str]] = ()
    #: What the history calls the context that was asked about; "" where it is none of the past.
    day: str = ""
    #: Every feature with its value and, of two contexts, the value that it has now where that is another one.
    context: Sequence[tuple[str, str, str]] = ()
    #: What these values are called.
    contexts: str = "All values of the context"


def sheet_fragment(sheet: Sheet) -> str:
    """Return the sheet as one element with its own style, as a notebook shows it.

    Examples
    --------
    >>> "<p>Two &amp; two.</p>" in sheet_fragment(Sheet("Sums", "Two & two."))
    True
    """
    return fragment_of("sheet.html", sheet=sheet, title="", question="")


def sheet_page(sheet: Sheet, *, title: str = "", question: str = "") -> str:
    """Return the sheet as a page that needs nothing else."""
    now = f"Written on {datetime.now(UTC):%Y-%m-%d at %H:%M} UTC."
    return page_of("sheet.html", sheet=sheet, title=title or sheet.title, question=question, now=now)


def write_sheet(sheet: Sheet, path: Any, *, title: str = "", question: str = "") -> None:
    """Write the sheet to `path`: a file that needs nothing else, and is there complete or not at all."""
    write_text(path, sheet_page(sheet, title=title, question=question), "a report")


#: How many features may change, or belong to a set.
Size: TypeAlias = Annotated[int, Meta(ge=1, le=10_000)]


class _Document(Struct, frozen=True, kw_only=True):
    """What all of them hold."""

    text: str
    seconds: Amount
    fingerprint: str | None = None


class FrontDocument(_Document, frozen=True, kw_only=True):
    """Distance against the number of changes."""

    schema: Literal["whence/front/1"]
    complete: bool
    allowed: list[Size]
    answers: list[Any]


class MenuDocument(_Document, frozen=True, kw_only=True):
    """Every smallest set of features that suffices."""

    schema: Literal["whence/menu/1"]
    status: Literal["complete", "already", "time_limit", "interrupted"]
    up_to: Size
    complete_up_to: Count
    apart: Amount
    left_out: Count
    features: list[list[str]]
    answers: list[Any]
    #: All smallest sets, also of answers that were left out, and the explanation that says that there are no others.
    sets: list[list[str]] | None = None
    proof: Any = None


class ReasonsDocument(_Document, frozen=True, kw_only=True):
    """A smallest set of facts that settles a question."""

    schema: Literal["whence/reasons/1"]
    status: Literal["proved", "none", "already", "time_limit", "interrupted"]
    kind: Literal["relative", "absolute"]
    facts: dict[str, Scalar]
    written: list[str]
    subject: str
    claim: str
    scope: str
    smallest: bool
    minimal: bool
    needed: dict[str, Any]
    proofs: Count
    #: The explanation that says that the facts settle it, and further ones, of which every smaller set misses one.
    proof: Any = None
    witnesses: list[Any] = []


class PlanPair(Struct, frozen=True, kw_only=True):
    """Of the plan before and of the plan after."""

    before: Any
    after: Any


class Contribution(Struct, frozen=True, kw_only=True):
    """What a feature that differs contributes."""

    feature: str
    from_: Scalar = field(name="from")
    to: Scalar
    contribution: Number


class _Costs(Struct, frozen=True, kw_only=True):
    before: Number
    after: Number


class ComparisonDocument(_Document, frozen=True, kw_only=True):
    """Two contexts, and what turned the one plan into the other."""

    schema: Literal["whence/comparison/1"]
    before: dict[str, Scalar]
    after: dict[str, Scalar]
    form: Literal["quantities", "route", "other"]
    decided: PlanPair
    plans: dict[Literal["before", "after"], str]
    same: bool
    risk: str
    cost_unit: str
    costs: dict[Literal["plan before", "plan after"], _Costs]
    turn: Number
    contributions: list[Contribution] | None
    shown: list[Annotated[list[str], Meta(min_length=3, max_length=3)]]
    turning: list[str] | None
    proved: bool
    note: str


#: Up to this many changes are told in one sentence, more of them one per line.
IN_A_SENTENCE = 3


def shown_changes(why: Crossing) -> list[ShownChange]:
    """Return every feature that changes, as it is written."""
    return changes_shown(changes_of(why.changes), why.kinds, why.units, why.room)


def asked(why: Crossing) -> str:
    """Return what was asked of the forecast: "at most 100"."""
    low, high = why.between
    if np.isinf(low):
        return f"at most {with_unit(plain(high, 9), why.unit)}"
    if np.isinf(high):
        return f"at least {with_unit(plain(low, 9), why.unit)}"
    return f"between {plain(low, 9)} and {with_unit(plain(high, 9), why.unit)}"


def sentences(why: Crossing) -> str:
    """Return the verdict, both forecasts, and how sure it is."""
    parts = [_verdict(why), _forecasts(why), _certainty(why), _remedy(why)]
    return "\n".join(part for part in parts if part)


def _verdict(why: Crossing) -> str:
    what, wanted = why.what, asked(why)
    if why.status == "already":
        return f"Nothing has to change: {what} is {wanted} in the context as it is."
    if why.context is None and why.status == "none":
        where = "Within the ranges of the history" + (" and your restrictions" if why.unrestricted else "")
        return f"{where}, there is no context in which {what} would be {wanted}."
    if why.context is None:
        return f"No context was found in which {what} would be {wanted}."
    changes = shown_changes(why)
    would = f"{what[0].upper()}{what[1:]} would be {wanted} if"
    if len(changes) <= IN_A_SENTENCE:
        return f"{would} {listed([f'{one.feature} were {one.to} rather than {one.from_}' for one in changes])}."
    lines = [f"  - {one.feature}: {one.to} rather than {one.from_}" for one in changes]
    return f"{would} these {len(changes)} things were different together:\n" + "\n".join(lines)


def _forecasts(why: Crossing) -> str:
    what = f"{why.what[0].upper()}{why.what[1:]}"
    before = with_unit(plain(why.forecast_before, 6), why.unit)
    if why.forecast_after is None or why.status == "already":
        return f"{what}: {before}."
    after = with_unit(plain(why.forecast_after, 6), why.unit)
    return f"{what}, as it is: {before}. In the changed context: {after}."


def _certainty(why: Crossing) -> str:
    return ended(why, why.distance, why.bound, why.context is not None)


def _remedy(why: Crossing) -> str:
    free = why.unrestricted
    if free is None:
        return ""
    return lifted(free, free.context is not None, why.blocking, _verdict(free), _certainty(free))


def certificate(why: Crossing) -> list[tuple[str, str]]:
    """Return the lines of the certificate: what, and its value as it is written."""
    lines: Mapping[str, str] = {
        "status": why.status,
        "asked for": asked(why),
        "distance": plain(why.distance, 9),
        "proved lower bound": plain(why.bound, 9),
        "gap": plain(why.gap, 3),
        "tolerance on the forecast": f"{why.tolerance:.3g}",
        "model": why.model,
        "engine": why.engine,
        "boxes searched": str(why.nodes),
        "time": duration(why.seconds),
    }
    return list(lines.items())


def fragment(why: Crossing) -> str:
    """Return the report as one element with its own style, as a notebook shows it."""
    return fragment_of("crossing.html", **_content(why, ""))


def page(why: Crossing, title: str, question: str = "") -> str:
    """Return the report as the text of a file that needs nothing else."""
    return page_of("crossing.html", **_content(why, title, question))


def _content(why: Crossing, title: str, question: str = "") -> dict[str, Any]:
    shown = why if why.context is not None or why.unrestricted is None else why.unrestricted
    return {
        "title": title,
        "question": question,
        "text": sentences(why),
        "changes": [] if shown.context is None else shown_changes(shown),
        "unrestricted": shown is not why,
        "nothing": "Nothing: it holds as it is." if why.status == "already" else "There is no context to show.",
        "certificate": certificate(why),
    }


#: A limit of the forecast, which may be none.
Limit = Number | Literal["Infinity", "-Infinity"]


class CrossingFinding(Searched, frozen=True, kw_only=True):
    """What an answer about a forecast and its document have in common."""

    forecast_before: Number
    forecast_after: Number | None
    what: str
    unit: str
    model: str
    kinds: dict[str, str]
    units: dict[str, str]


class CrossingDocument(CrossingFinding, frozen=True, kw_only=True):
    """The nearest context in which a forecast crosses a value."""

    schema: Literal["whence/forecast/1"]
    initial: dict[str, Scalar]
    context: dict[str, Scalar] | None
    changes: list[Change]
    distance: Distance
    bound: Distance
    between: Annotated[list[Limit], Meta(min_length=2, max_length=2)]
    room: dict[str, Annotated[list[Number], Meta(min_length=2, max_length=2)]]
    unrestricted: Any
    question: dict[str, Any]
    text: str
    fingerprint: str | None = None
