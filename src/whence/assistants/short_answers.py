"""Answers as assistants get them: short, structured, with the proof and with how far to rely on it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from whence.certificate import ENDED
from whence.explain.explanation import Explanation
from whence.report.words import changes_in_words
from whence.util.json import finite, to_plain
from whence.web.wire import told

#: Answers of a menu that are told; the whole menu is in its document.
TOLD = 10


class ProjectEntry(BaseModel):
    """One project that may be asked about."""

    project: str = Field(description="What other tools call it.")
    title: str
    question: str
    observations: int = Field(description="Past observations; the first is number 1.")


class Projects(BaseModel):
    """The projects that may be asked about."""

    projects: list[ProjectEntry]


class FeatureEntry(BaseModel):
    """One feature of a context."""

    name: str
    kind: str = Field(description="continuous, discrete, categorical, binary or date")
    unit: str = ""
    values: list[Any] = told("The values on record, where there are few of them.", [])
    low: Any = told("The smallest value on record.")
    high: Any = told("The largest value on record.")
    change: str = Field(description="How an explanation may change it: free, fixed, increase or decrease.")


class Features(BaseModel):
    """What a context consists of, and what a plan does."""

    project: str
    features: list[FeatureEntry]
    last: dict[str, Any] = Field(description="The last context of the history; context 'row:N' is any other one.")
    plan_form: Literal["quantities", "route", "table"]
    plan_parts: list[str] = told("Names of the quantities of a plan, in their order.", [])
    plan_places: list[str] = told("Places that a route may lead through, at most 200.", [])
    plan_streets: list[str] = told("Streets that a route may use, at most 200.", [])
    plan_example: Any = Field(description="What the policy decides in the last context, as plans are given.")
    minimised: str = Field(description="Such as 'Expected cost'.")
    cost_unit: str = ""
    quality: str = Field(description="How good the decisions are on rows that the policy has not seen.")


class Planned(BaseModel):
    """A plan and what it costs in a context."""

    plan: Any
    text: str
    cost: float


class Decided(BaseModel):
    """What the policy decides in a context, and what a plan of one's own would cost there."""

    project: str
    context: dict[str, Any]
    decision: Planned
    own: Planned | None = told("The plan that was asked about.")
    own_refused: str = told("Why that plan cannot be carried out.", "")
    minimised: str
    cost_unit: str = ""
    remarks: list[str] = told("What to know of the context, such as that it lies outside the history.", [])


class EvaluatedEntry(BaseModel):
    """One policy or simple rule on rows that it has not seen."""

    name: str
    cost: float
    saves: float | None = told("By which share it costs less than the plan that is best on average.")
    verdict: str = told("Against the plan that is best on average: better, worse or unclear.", "")


class Evaluated(BaseModel):
    """How good the decisions are on rows that the policy has not seen."""

    project: str
    text: str
    rows: int
    table: list[EvaluatedEntry]
    cost_unit: str = ""
    remarks: list[str] = []


class Change(BaseModel):
    """One feature of the context that would have to change."""

    feature: str
    before: Any
    after: Any


class Proof(BaseModel):
    """How sure an answer is: a distance that was reached, and one below which it was proved that nothing would do."""

    status: str = Field(description="optimal, already, none, time_limit or interrupted; see whence://docs/answers")
    proved: bool = Field(description="Whether it is settled: nearest, or that there is none.")
    sentence: str
    distance: float | None = told("Of the context found.")
    bound: float | None = told("No context nearer than this would do, which is proved.")


class Reliance(BaseModel):
    """How often such answers are true in the world, not only in the model."""

    sentence: str = Field(description="To be told with the answer.")
    reliable: bool = Field(description="Whether one may rely on it.")
    share: float | None = told("The share of such answers that are true.")
    low: float | None = told("The lower end of what that share may be.")
    high: float | None = None


class _Kept(BaseModel):
    """An answer that is kept for a while."""

    answer: str = Field(
        description="Give this to 'verify'; the whole answer is the resource whence://answers/{answer}."
    )
    project: str


class Explained(_Kept):
    """The nearest context in which another plan would have been better, and how sure that is."""

    sentence: str = Field(description="The answer.")
    details: str = Field(description="What stays, what both plans cost, and what the policy itself would plan there.")
    decision: str
    alternative: str
    changes: list[Change] = told("What has to change; none where there is no such context, or nothing has to.", [])
    proof: Proof
    reliance: Reliance
    remarks: list[str] = told("What to know of the context, such as that it lies outside the history.", [])


class WayOut(BaseModel):
    """One of several answers."""

    changes: str
    proof: Proof


class Answered(_Kept):
    """An answer to another question than "why not my plan?"."""

    text: str
    status: str = Field(description="How far it is settled; see whence://docs/answers")
    proved: bool
    ways: list[WayOut] = told("Of a menu: its first answers. Of reasons: what would do without each fact.", [])
    reliance: str = Field(description="How far to rely on it; to be told with the answer.")
    remarks: list[str] = []


class Verified(BaseModel):
    """Whether an answer is still what the project says."""

    project: str
    agrees: bool
    differences: list[str]
    proved: bool | None = told("Whether its proof was made again; null where that was not asked for.")
    remarks: list[str] = []


def proof_of(why: Explanation) -> Proof:
    """Return how sure an explanation is."""
    shown = why.report.shown
    return Proof(
        status=why.status,
        proved=why.status in ENDED,
        sentence="" if shown is None else shown.certainty,
        distance=finite(why.distance),
        bound=finite(why.bound),
    )


def reliance_of(why: Explanation, unknown: str) -> Reliance:
    """Return how far an explanation can be relied on, or else why that is not known."""
    shown, found = why.report.shown, why.reliance
    if found is None or shown is None or not shown.reliance:
        settled = "There is nothing to rely on beyond the proof, which is about the model as it was fitted."
        return Reliance(sentence=unknown or settled, reliable=False)
    low, high = (None, None) if found.interval is None else found.interval
    return Reliance(sentence=shown.reliance, reliable=shown.reliable, share=found.share, low=low, high=high)


def explained(name: str, project: str, why: Explanation, unknown: str, remarks: list[str]) -> Explained:
    """Return an explanation as an assistant gets it."""
    shown = why.report.shown
    assert shown is not None
    more = (shown.staying, shown.costs, shown.there, shown.poor, shown.remedy, shown.usual, shown.rule)
    return Explained(
        answer=name,
        project=project,
        sentence=shown.verdict,
        details=" ".join(text for text in more if text),
        decision=why.decision_text,
        alternative=why.alternative_text,
        changes=[
            Change(feature=feature, before=to_plain(was), after=to_plain(to)) for feature, was, to, _ in why.changed
        ],
        proof=proof_of(why),
        reliance=reliance_of(why, unknown),
        remarks=remarks,
    )


def ways_of(answers: list[tuple[str, Explanation]]) -> list[WayOut]:
    """Return the first of several explanations, each with what it is the answer for."""
    found = []
    for name, why in answers[:TOLD]:
        changes = changes_in_words(why.report) if why.context is not None else "nothing would do"
        found.append(WayOut(changes=f"{name}: {changes}" if name else changes, proof=proof_of(why)))
    return found
