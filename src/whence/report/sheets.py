"""A question with several answers as a page: sentences, charts and tables, in one file or for a notebook."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from markupsafe import Markup

from whence.files import write_text
from whence.report.templating import fragment_of, page_of

__all__ = ["Chart", "Sheet", "Table", "sheet_fragment", "sheet_page", "write_sheet"]


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


@dataclass(frozen=True)
class Sheet:
    """What is shown of a question with several answers."""

    title: str
    text: str
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    certificate: Sequence[tuple[str, str]] = ()


def sheet_fragment(sheet: Sheet, title: str = "", question: str = "") -> str:
    """The sheet as one element with its own style, as a notebook shows it.

    Examples
    --------
    >>> "<p>Two &amp; two.</p>" in sheet_fragment(Sheet("Sums", "Two & two."))
    True
    """
    return fragment_of("sheet.html", sheet=sheet, title=title, question=question)


def sheet_page(sheet: Sheet, *, title: str = "", question: str = "") -> str:
    """The sheet as a page that needs nothing else."""
    now = f"Written on {datetime.now(UTC):%Y-%m-%d at %H:%M} UTC."
    return page_of("sheet.html", sheet=sheet, title=title or sheet.title, question=question, now=now)


def write_sheet(sheet: Sheet, path: Any, *, title: str = "", question: str = "") -> None:
    """Write the sheet to `path`: a file that needs nothing else, and is there complete or not at all."""
    write_text(path, sheet_page(sheet, title=title, question=question), "a report")
