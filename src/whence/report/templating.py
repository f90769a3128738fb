"""The templates of a report; whatever is not markup already is escaped."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from whence.report.colours import ALTERNATIVE, DECISION, THEN

__all__ = ["fragment_of", "page_of", "rendered"]


def rendered(template: str, **values: Any) -> Markup:
    """A template of the folder ``templates`` with these values.

    Examples
    --------
    >>> chart = rendered("map.svg", title="<b>", width=9, height=9, network="", routes=[], nodes=[], labels=[])
    >>> print(chart.split(">")[2])
    &lt;b&gt;</title
    """
    return Markup(_environment().get_template(template).render(values))


def page_of(body: str, **values: Any) -> str:
    """The template `body` as a page of its own, which needs nothing else and never touches the network."""
    return f"{rendered('page.html', body=body, **values)}\n"


def fragment_of(body: str, **values: Any) -> str:
    """The template `body` as one element with its own style, as a notebook shows it."""
    return str(rendered("fragment.html", body=body, **values))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("whence.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True, auto_reload=False
    )
    made.globals |= {"decision": DECISION, "alternative": ALTERNATIVE, "then": THEN}
    made.filters |= {"g": lambda number: f"{number:.5g}", "blocks": _blocks}
    return made


def _blocks(text: str) -> list[tuple[bool, list[str]]]:
    """Lines in blocks: whether they are a list, each beginning with a dash, and the lines without it."""
    return [
        (listed, [line.removeprefix("  - ").strip() for line in lines if line.strip()])
        for listed, lines in groupby(text.split("\n"), key=lambda line: line.startswith("  - "))
    ]
