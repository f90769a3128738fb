"""What was proved of the same question with fewer standard errors: with more of them, nothing nearer holds.

The steps of a ladder of confidence ask one question again and again. The answer to one step bounds all later ones from
below; where it holds by as many standard errors as a later one asks for, it is the answer to that one as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from whence.question import Answer, Question

__all__ = ["Earlier", "earlier", "remember"]

#: What may differ between the steps of a ladder: what is asked for, how hard it is tried, and what only absolute
#: questions need.
BESIDE = ("confidence", "better", "best", "linear")


@dataclass(frozen=True)
class Earlier:
    """What a question was about, its standard errors and its answer, and what its engine knows of the point found."""

    about: tuple[Any, ...]
    confidence: float
    answer: Answer
    there: Any

    def settles(self, holds: Callable[[Any], bool]) -> bool:
        """Whether the answer is that with more standard errors, too: there is none, or it `holds` by these."""
        status = self.answer.status
        return status == "none" or (status == "optimal" and holds(self.there))


def remember(question: Question, answer: Answer, there: Any) -> None:
    """Keep the answer for the same question with more standard errors; `there` is for the engine to say."""
    if question.claim.kind == "relative":
        known = Earlier(_about(question), question.claim.confidence, answer, there)
        question.memo.setdefault("earlier", []).append(known)


def earlier(question: Question) -> Earlier | None:
    """What was proved with at most as many standard errors and says most, if anything was.

    Only of relative questions: which plans refute an absolute one depends on the course of the search.
    """
    about = _about(question)
    found: list[Earlier] = question.memo.get("earlier", [])
    known = [
        one
        for one in found
        if one.confidence <= question.claim.confidence
        and all(mine is other for mine, other in zip(one.about, about, strict=True))
    ]
    return max(known, key=lambda one: one.answer.bound, default=None)


def _about(question: Question) -> tuple[Any, ...]:
    """All that answers depend on beside confidence: the very same objects where a question is the same."""
    claim, settings = question.claim, question.settings
    claimed = (getattr(claim, one.name) for one in fields(claim) if one.name not in BESIDE)
    searched = settings.separation, settings.options
    return question.space, question.weights, question.inputs, question.nearer_than, type(claim), *claimed, *searched
