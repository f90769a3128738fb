"""A question with several answers as a page: sentences, charts and tables, in one file or for a notebook."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from markupsafe import Markup
from msgspec import Meta, Struct, field

from whence.report.document import Amount, Count, Number, Report, Scalar
from whence.report.html import fragment_of, page_of, plan_charts
from whence.util.files import write_text

__all__ = [
    "Chart", "ComparisonDocument", "Contribution", "FrontDocument", "MenuDocument", "PlanPair", "ReasonsDocument",
    "Sheet", "Table", "both_plans", "sheet_fragment", "sheet_page", "write_sheet",
]  # fmt: skip


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


@dataclass(frozen=True)
class Sheet:
    """What is shown of a question with several answers."""

    title: str
    text: str
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    certificate: Sequence[tuple[str, str]] = ()


def sheet_fragment(sheet: Sheet, title: str = "", question: str = "") -> str:
    """Return the sheet as one element with its own style, as a notebook shows it.

    Examples
    --------
    >>> "<p>Two &amp; two.</p>" in sheet_fragment(Sheet("Sums", "Two & two."))
    True
    """
    return fragment_of("sheet.html", sheet=sheet, title=title, question=question)


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
