"""The nearest context in which a forecast crosses a value, in sentences and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from whence.report.build import changes_of
from whence.report.document import Change, Distance, Number, Scalar, Searched, ShownChange
from whence.report.html import fragment_of, page_of
from whence.report.numbers import duration, plain, with_unit
from whence.report.question_words import ended, lifted
from whence.report.words import changes_shown
from whence.util.text import listed

if TYPE_CHECKING:
    from whence.forecasts.crossing import Crossing

__all__ = [
    "CrossingDocument", "CrossingFinding", "asked", "certificate", "fragment", "page", "sentences", "shown_changes",
]  # fmt: skip


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
