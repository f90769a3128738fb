"""What answers to several questions share: they are printed, shown, written to files, read again and verified."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from json import dumps
from typing import TYPE_CHECKING, Any, Self, overload

from whence.certificate import Verification, verify
from whence.errors import InputError
from whence.explain.ask import Request
from whence.explain.explanation import Explanation
from whence.explain.pipeline import explain
from whence.question import Progress
from whence.report.fingerprint import digest
from whence.report.reading import loaded
from whence.report.result_pages import Sheet, sheet_fragment, sheet_page, write_sheet
from whence.report.words import wrapped
from whence.util.files import write_text
from whence.util.json import to_plain

if TYPE_CHECKING:
    from whence.policy import Policy

#: What a document that was changed is said to be.
CHANGED = "The document was changed after it was written: its fingerprint does not fit its content."


class Result(ABC):
    """What answers to several questions share."""

    #: Whether the document from which it was read is as it was written; None where it was not read from one.
    intact: bool | None = None

    @property
    @abstractmethod
    def text(self) -> str:
        """The answer in sentences."""

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """Return the answer as plain values, without its fingerprint."""

    def _entries(self, *names: str) -> dict[str, Any]:
        """Return what it holds under these names as plain values."""
        return {name: _plain(getattr(self, name)) for name in names}

    @abstractmethod
    def _sheet(self) -> Sheet:
        """Return what a page shows of it."""

    @classmethod
    @abstractmethod
    def from_dict(cls, document: Any) -> Self:
        """Return the answer that :meth:`to_dict` wrote, its explanations in their light form; refuse anything else."""

    @abstractmethod
    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Check the answer against a fitted `policy`: everything but the searches is computed again.

        With `prove`, every explanation is searched for once more as well, within `time_limit` for all of them.
        """

    def __str__(self) -> str:
        return wrapped(self.text)

    def _repr_html_(self) -> str:
        return sheet_fragment(self._sheet())

    def page(self, *, title: str = "", question: str = "") -> str:
        """Return the text of the report that :meth:`to_html` writes."""
        return sheet_page(self._sheet(), title=title, question=question)

    def to_html(self, path: Any, *, title: str = "", question: str = "") -> None:
        """Write a self-contained report to `path`, under `title` and after a sentence that says what was asked."""
        write_sheet(self._sheet(), path, title=title, question=question)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain dicts, lists, numbers and texts: strict JSON, with a fingerprint of all of it."""
        document = self._document()
        # What was changed must not become sound by being read and written once more.
        return {**document, "fingerprint": "" if self.intact is False else digest(document)}

    def to_json(self, path: Any = None, indent: int | None = None) -> str | None:
        """Return :meth:`to_dict` as JSON text, or write it to `path` in one go."""
        text = dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)
        if path is None:
            return text
        write_text(path, f"{text}\n", "an answer")
        return None

    @classmethod
    def from_json(cls, source: Any) -> Self:
        """Return the answer in a JSON text or in the file of that path; an InputError where there is none."""
        return cls.from_dict(loaded(source, "answer"))

    def _checked(
        self,
        explanations: Mapping[str, Explanation],
        policy: Policy,
        prove: bool,
        time_limit: float | None,
        claims: Iterable[str],
        barred: Mapping[str, Sequence[Collection[str]]] | None = None,
    ) -> Verification:
        """Return what is found out about the explanations, each under its name, and about what is claimed of them.

        Of some of them it is known which sets of features were `barred` from changing as a whole.
        """
        differences = [CHANGED] if self.intact is False else []
        remarks: list[str] = []
        proved: bool | None = True if prove else None
        left = len(explanations)
        for name, why in explanations.items():
            limit = None if time_limit is None else time_limit / left
            found = verify(why, policy, prove=prove, time_limit=limit, barred=(barred or {}).get(name, ()))
            differences += [f"{name}: {text}" for text in found.differences]
            remarks += [text for text in found.remarks if text not in remarks]
            proved = proved and found.proved
        return Verification([*differences, *claims], remarks, proved)


def _plain(value: Any) -> Any:
    """Return a value as a document holds it, explanations as documents of their own."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.to_dict() if isinstance(value, Explanation) else to_plain(value)


class Answers(Result, Sequence[Explanation]):
    """An answer that is a sequence of explanations."""

    answers: tuple[Explanation, ...]

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, at: int) -> Explanation: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Explanation]: ...
    def __getitem__(self, at: int | slice) -> Explanation | Sequence[Explanation]:
        return self.answers[at]

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.answers)

    @abstractmethod
    def _faults(self) -> Iterator[str]:
        """Return what does not fit together, a sentence each."""

    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Check every explanation against a fitted `policy`, and whether they are what they are listed as.

        Parameters
        ----------
        policy : Policy
            The one that gave the answer, or one that should be the same.
        prove : bool
            Whether to search for every explanation once more.
        time_limit : float, optional
            Seconds for all of these searches together.

        Returns
        -------
        Verification
        """
        named = {f"Answer {i}": why for i, why in enumerate(self.answers, 1)}
        return self._checked(named, policy, prove, time_limit, self._faults())


def intact_of(document: Mapping[str, Any]) -> bool | None:
    """Return whether a document is as it was written; None where it carries no fingerprint."""
    if document.get("fingerprint") is None:
        return None
    return bool(document["fingerprint"] == digest({k: v for k, v in document.items() if k != "fingerprint"}))


def read_explanation(document: Any, place: str) -> Explanation:
    """Return the explanation at a place of a document; an InputError names both."""
    try:
        return Explanation.from_dict(document)
    except InputError as error:
        raise InputError(f"In {place!r}: {error}") from None


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
        policy.check_start(context)
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
        """Return the nearest explanation with these further restrictions, in a share of the time left; None after that.

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
