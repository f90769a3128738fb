"""The document of a question about a forecast, "whence/forecast/1", entry by entry."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from whence.report.model import Amount, Change, Count, Distance, Number, Scalar

__all__ = ["CrossingDocument"]

#: A limit of the forecast, which may be none.
Limit = Number | Literal["Infinity", "-Infinity"]


class CrossingDocument(Struct, frozen=True, kw_only=True):
    """The nearest context in which a forecast crosses a value."""

    schema: Literal["whence/forecast/1"]
    status: Literal["optimal", "already", "none", "time_limit", "interrupted"]
    initial: dict[str, Scalar]
    context: dict[str, Scalar] | None
    changes: list[Change]
    distance: Distance
    bound: Distance
    between: Annotated[list[Limit], Meta(min_length=2, max_length=2)]
    forecast_before: Number
    forecast_after: Number | None
    what: str
    unit: str
    model: str
    engine: str
    seconds: Amount
    nodes: Count
    tolerance: Amount
    kinds: dict[str, str]
    units: dict[str, str]
    room: dict[str, Annotated[list[Number], Meta(min_length=2, max_length=2)]]
    blocking: list[str]
    unrestricted: Any
    question: dict[str, Any]
    text: str
    fingerprint: str | None = None
