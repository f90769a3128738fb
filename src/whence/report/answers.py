"""The documents of answers to several questions: "whence/front/1", "whence/menu/1" and so on, entry by entry.

Explanations inside them are documents of their own, "whence/explanation/1", and read as such.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, field

from whence.report.model import Amount, Count, Number, Scalar

__all__ = ["ComparisonDocument", "Contribution", "FrontDocument", "MenuDocument", "PlanPair", "ReasonsDocument"]

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
