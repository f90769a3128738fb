"""One question asked again and again, with other restrictions, within one time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whence.errors import InputError
from whence.explain.ask import Request
from whence.explain.explanation import Explanation
from whence.explain.pipeline import explain
from whence.question import Progress

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["ENDED", "Asker"]

#: How a question ends that is settled.
ENDED = ("optimal", "already", "none")
#: Seconds that the first question is asked for, however little time there is.
SHORTEST = 1e-6
#: What belongs to a single explanation.
SINGLE = ("holds", "refits", "on_nearest", "rule", "max_changes")


class Asker:
    """Asks what `Policy.explain` is asked, with further restrictions, until the time is up.

    Parameters
    ----------
    policy : Policy
        Whom to ask.
    context, instead : context, plan
        What the question is about.
    options : mapping
        Options of `Policy.explain`; ``time_limit`` is for all questions together.
    """

    def __init__(self, policy: Policy, context: Any, instead: Any, options: Mapping[str, Any]) -> None:
        for name in SINGLE:
            if options.get(name) is not None:
                raise InputError(
                    f"{name!r} is for a single explanation: leave it out, or call 'explain'.", parameter=name
                )
        self.policy = policy
        self.request = Request.of(context, instead, options)
        self.began = time.perf_counter()
        self.count = 0
        #: What an engine keeps from one question to the next.
        self.shared: dict[str, Any] = {}
        #: Whether somebody wants it stopped.
        self.interrupted = False

    @property
    def seconds(self) -> float:
        """Seconds since the first question could be asked."""
        return time.perf_counter() - self.began

    @property
    def remaining(self) -> float:
        """Seconds left for all further questions, infinite without a time limit."""
        limit = self.request.time_limit
        return float("inf") if limit is None else float(limit) - self.seconds

    def ask(
        self,
        *,
        fixed: Collection[str] = (),
        max_changes: int | None = None,
        barred: Sequence[Collection[str]] = (),
        share: float = 1.0,
    ) -> Explanation | None:
        """The nearest explanation with these further restrictions, in a share of the time left; None after that.

        The first question is asked in any case, so that there is always an answer.
        """
        left = self.remaining
        if self.count > 0 and (left <= 0 or self._told(Progress(0, math.inf, 0.0, self.seconds)) is False):
            return None
        self.count += 1
        request = replace(
            self.request,
            fixed=(*self.request.fixed, *fixed),
            max_changes=max_changes,
            time_limit=None if left == float("inf") else max(share * left, SHORTEST),
            on_progress=None if self.request.on_progress is None else self._told,
        )
        return explain(self.policy, request, barred=barred, relax=False, shared=self.shared)

    def _told(self, progress: Progress) -> Any:
        """Pass on how far one question has come, with the seconds of all of them; False where it is to stop."""
        if self.request.on_progress is None:
            return None
        said = self.request.on_progress(replace(progress, seconds=self.seconds))
        self.interrupted |= said is False
        return said
