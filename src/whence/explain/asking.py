"""One question asked again and again, with other restrictions, within one time limit; and what such answers share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from json import dumps
from typing import TYPE_CHECKING, Any

from whence.errors import InputError
from whence.explain.conductor import explain
from whence.explain.explanation import Explanation
from whence.explain.request import Request
from whence.files import write_text
from whence.report.sheets import Sheet, sheet_fragment, write_sheet
from whence.report.words import wrapped

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["ENDED", "Asker", "Told", "listed"]

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
        known = {name: value for name, value in options.items() if name in Request.__dataclass_fields__}
        others = {name: value for name, value in options.items() if name not in known}
        self.policy = policy
        self.request = Request(context=context, instead=instead, **{**known, "options": others})
        self.began = time.perf_counter()
        self.count = 0

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
        if left <= 0 and self.count > 0:
            return None
        self.count += 1
        kept = self.request.fixed
        request = replace(
            self.request,
            fixed=(*((kept,) if isinstance(kept, str) else kept), *fixed),
            max_changes=max_changes,
            time_limit=None if left == float("inf") else max(share * left, SHORTEST),
        )
        return explain(self.policy, request, barred=barred, relax=False)


class Told(ABC):
    """What answers to several questions share: they are printed, shown in a notebook, and written to files."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The answer in sentences."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The answer as plain dicts, lists, numbers and texts: strict JSON."""

    @abstractmethod
    def _sheet(self) -> Sheet:
        """What a page shows of it."""

    def __str__(self) -> str:
        return wrapped(self.text)

    def _repr_html_(self) -> str:
        return sheet_fragment(self._sheet())

    def to_html(self, path: Any, *, title: str = "", question: str = "") -> None:
        """Write a self-contained report to `path`, under `title` and after a sentence that says what was asked."""
        write_sheet(self._sheet(), path, title=title, question=question)

    def to_json(self, path: Any = None, indent: int | None = None) -> str | None:
        """:meth:`to_dict` as JSON text: returned, or written to `path` in one go."""
        text = dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)
        if path is None:
            return text
        write_text(path, f"{text}\n", "an answer")
        return None


def listed(items: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c".

    Examples
    --------
    >>> listed(["rain", "weekday", "month"])
    'rain, weekday and month'
    """
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))
