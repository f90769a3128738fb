"""A certificate checked later: what an explanation says, against a policy that computes it again."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from msgspec import structs, to_builtins

from whence.certificate.diff import differing
from whence.certificate.recompute import recomputed, request_of
from whence.engines import engine_named
from whence.errors import WhenceError
from whence.explain.ask import Request
from whence.explain.explanation import Explanation
from whence.explain.pipeline import explain
from whence.explain.provenance import Source
from whence.report.build import document_digest, question_digest
from whence.report.document import QualityEntry, Report

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["Verification", "verify"]

#: Distances of two searches may differ by this much.
NEAR = 1e-6
#: How a search ends that came to an end.
ENDED = ("optimal", "already", "none")
#: What is not compared entry by entry: told by a search, or dealt with in a sentence of its own.
LEFT_OUT = (
    *("schema", "status", "bound", "note", "seconds", "nodes", "cuts", "versions", "question", "fingerprints"),
    # As many rows as there was time for: compared only where there are as many again.
    "quality",
)


@dataclass(frozen=True)
class Verification:
    """How an explanation compares with a policy; it is true where nothing differs.

    Attributes
    ----------
    differences : list of str
        What does not agree, one sentence each; empty where everything does.
    remarks : list of str
        What else is worth knowing: what the certificate does not carry, and what was not checked.
    proved : bool or None
        Whether a new search came to an end; None where none was asked for.
    """

    differences: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    proved: bool | None = None

    @property
    def agrees(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.agrees

    def __str__(self) -> str:
        return "\n".join(self.differences or ["Everything that was computed again agrees."])


def verify(
    said: Explanation,
    policy: Policy,
    *,
    document: Mapping[str, Any] | None = None,
    prove: bool = False,
    time_limit: float | None = None,
    on_progress: Any = None,
    judge: Callable[[], QualityEntry | None] | None = None,
    barred: Sequence[Collection[str]] = (),
) -> Verification:
    """Compare the explanation `said`, or the `document` that it was read from, with what `policy` says now.

    With `prove`, the policy searches once more, within `time_limit`, and tells `on_progress` how far it has come.
    `judge` finds out how good the policy is, where the explanation says so; otherwise it is what is known of it. None
    of the `barred` sets of features may change as a whole.
    """
    policy._history()
    written = said.to_dict() if document is None else document
    differences, remarks = _fingerprints(said, written, policy)
    proved: bool | None = None
    try:
        differences += _recomputed(said, written, policy)
        if prove:
            found, said_so, proved = _proof(said, policy, time_limit, on_progress, barred)
            differences, remarks = differences + found, remarks + said_so
    except WhenceError as error:
        differences.append(f"The question cannot be put to this policy: {error}")
    found, said_so = _quality(written, policy.quality_ if judge is None or not written.get("quality") else judge())
    differences, remarks = differences + found, remarks + said_so
    if proved is None:
        remarks.append("Whether anything is nearer was not searched for again.")
    return Verification(differences, remarks, proved)


def _fingerprints(said: Explanation, written: Mapping[str, Any], policy: Policy) -> tuple[list[str], list[str]]:
    """What differs in the fingerprints, and what is to be said of them."""
    from whence import __version__

    differences, remarks = [], []
    claimed = written.get("fingerprints") or {}
    here = Source.of(policy).fingerprints(afresh=True)
    if said.intact is False or ("document" in claimed and claimed["document"] != document_digest(written)):
        differences.append("The document was changed after it was written: its fingerprint does not fit its content.")
    elif claimed and "document" not in claimed:
        differences.append("The document carries fingerprints, but none of itself: it was taken out.")
    for name in ("model", "history", "problem"):
        if name in claimed and claimed[name] != here[name]:
            differences.append(f"The {name} is not the one behind the explanation.")
    if "question" in claimed and ("question" not in written or claimed["question"] != question_digest(written)):
        differences.append("The question is not the one that was asked.")
    if written.get("question", {}).get("kind", said.kind) != said.kind:
        differences.append(f"The question was {written['question']['kind']!r}, the answer is {said.kind!r}.")
    lacking = [name for name in ("model", "history", "problem") if name not in claimed]
    if lacking:
        remarks.append(f"The document carries no fingerprint of {', '.join(lacking)}, so that was not compared.")
    if not said.asked:
        remarks.append("The document does not say what was fixed or bounded, so this was not checked.")
    if claimed.get("not_covered"):
        parts = ", ".join(claimed["not_covered"])
        remarks.append(f"The problem's fingerprint does not cover {parts}, whose state cannot be read.")
    version = said.report.versions.get("whence")
    if version != __version__:
        remarks.append(f"The explanation was written by whence {version}; this is {__version__}.")
    return differences, remarks


def _recomputed(said: Explanation, written: Mapping[str, Any], policy: Policy) -> list[str]:
    """What differs where everything but the search is done again."""
    from whence import __version__

    fresh, faults = recomputed(said, policy)
    fresh = replace(fresh, engine=_engine(said, policy) if said.asked else said.engine)
    if fresh.unrestricted is not None:
        # What the restrictions keep away was found by the same engine.
        fresh = replace(fresh, unrestricted=replace(fresh.unrestricted, engine=fresh.engine))
    costs = [cost for array in (fresh.costs_decision, fresh.costs_alternative) if array is not None for cost in array]
    largest = max(map(abs, costs), default=1.0)
    # The words of another version may be others.
    left_out = [*LEFT_OUT, *([] if said.report.versions.get("whence") == __version__ else ["text", "shown"])]
    computed = to_builtins(_in_the_words_of(said.report, fresh.report))
    return faults + differing(dict(written), computed, largest, left_out)


def _quality(written: Mapping[str, Any], fresh: QualityEntry | None) -> tuple[list[str], list[str]]:
    """What differs in how good the policy is said to be, and what is to be said of that."""
    told = written.get("quality")
    if not told:
        return [], []
    if fresh is None:
        return [], ["How good the policy is was not found out again."]
    again = to_builtins(fresh)
    if (told.get("rows"), told.get("folds")) != (again["rows"], again["folds"]):
        return [], [
            f"How good the policy is was found out on {told.get('rows')} rows then and on {again['rows']} now, so that "
            "was not compared."
        ]
    return differing({"quality": told}, {"quality": again}, max(abs(fresh.cost), abs(fresh.average))), []


def _in_the_words_of(said: Report, fresh: Report) -> Report:
    """`fresh` with the sentences and charts that follow from `said`: whether they are true is told once, by entry."""
    inner, free = said.unrestricted, fresh.unrestricted
    if inner is not None and free is not None:
        free = _in_the_words_of(inner, free)
    near, again = said.nearest, fresh.nearest
    if near is not None and again is not None:
        again = _in_the_words_of(near, again)
    words = {"text": said.text, "shown": said.shown, "spread": said.spread}
    return structs.replace(fresh, **words, unrestricted=free, nearest=again)


def _engine(said: Explanation, policy: Policy) -> str:
    """The name of the engine that the question asked for."""
    record = said.asked
    options = {"solver": record["solver"]} if record.get("solver") else {}
    return engine_named(str(record.get("engine", "auto"))).label(policy.weights_, options)


# ---- a new search --------------------------------------------------------------------------------------------------


def _proof(
    said: Explanation, policy: Policy, time_limit: float | None, on_progress: Any, barred: Sequence[Collection[str]]
) -> tuple[list[str], list[str], bool]:
    """What differs where the same question is asked once more, what is to be said of it, and whether it ended."""
    record, request = said.asked, request_of(said, policy)
    options = {name: value for name, value in record.items() if name not in Request.__dataclass_fields__}
    dropped = [name for name, value in options.items() if not _askable(value)]
    remarks = [f"The option {name!r} cannot be read back, so it was left out." for name in dropped]
    again = explain(
        policy,
        replace(
            request,
            decision=None if record.get("decision") == "policy" else request.decision,
            engine=str(record.get("engine", "auto")),
            options={name: value for name, value in options.items() if name not in dropped},
            time_limit=time_limit,
            on_progress=on_progress,
        ),
        barred=barred,
    )
    ended, had_ended = again.status in ENDED, said.status in ENDED
    differences = []
    if ended and had_ended and said.status != again.status:
        differences.append(f"A new search ends as {again.status!r}, the explanation as {said.status!r}.")
    if again.distance < said.bound - _near(said.bound):
        differences.append(
            f"A new search finds a context at distance {again.distance:.9g}, where the bound is {said.bound:.9g}."
        )
    if ended and said.distance < again.bound - _near(again.bound):
        differences.append(
            f"A new search proves that nothing is nearer than {again.bound:.9g}, the distance is {said.distance:.9g}."
        )
    if ended and not had_ended:
        remarks.append(f"A new search ends as {again.status!r}, at distance {again.distance:.9g}.")
    if not ended:
        remarks.append(f"A new search did not end; it proved that nothing is nearer than {again.bound:.9g}.")
    return differences, remarks, ended


def _near(distance: float) -> float:
    return NEAR * max(1.0, abs(distance)) if math.isfinite(distance) else 0.0


def _askable(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and "<" not in value)
