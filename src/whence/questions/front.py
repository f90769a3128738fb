"""The nearest distance against the number of changes: what every further change saves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.certificate.verify import NEAR
from whence.errors import InputError
from whence.explain.explanation import Explanation
from whence.questions.result import Answers, intact_of, read_explanation
from whence.questions.series import ENDED, Asker
from whence.report.numbers import duration, plain
from whence.report.reading import document_from
from whence.report.result_pages import Chart, FrontDocument, Sheet, Table
from whence.report.svg import Bar, bars
from whence.report.words import changes_in_words
from whence.util.frames import TableKind, in_kind, kind_of
from whence.util.json import to_plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.policy import Policy

__all__ = ["Front", "front"]


@dataclass(frozen=True, eq=False)
class Front(Answers):
    """The nearest explanation for every number of changes: with at most one, with at most two, and so on.

    The last entry is the nearest of all: more changes bring it no nearer. An entry whose status is "none" proves that
    so few changes do not suffice.

    Attributes
    ----------
    answers : tuple of Explanation
        Entry i is the nearest explanation with at most i + 1 changes.
    complete : bool
        Whether every entry is proved; otherwise the time was up, and entries may be missing before the last one.
    seconds : float
        How long it took.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((80, 3))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, 10 + X.sum(1)[:, None])
    >>> front = policy.front([0.1, 0.2, 0.1], instead=[11.8])
    >>> [why.status for why in front], front.complete
    (['optimal', 'optimal'], True)
    >>> print(front)
    With one change: x2 0.492 rather than 0.1 (distance 0.3941, proved nearest).
    With 2 changes or more: x1 0.427 rather than 0.2 and x2 0.215 rather than 0.1 (distance 0.3478, proved nearest).
    """

    answers: tuple[Explanation, ...]
    complete: bool
    seconds: float
    #: How many changes each entry allows; the last one allows any number.
    allowed: tuple[int, ...]
    #: The kind of its table.
    tables: TableKind = "pandas"
    intact: bool | None = None

    def __repr__(self) -> str:
        told = ", ".join(f"{k}: {why.distance:.4g}" for k, why in zip(self.allowed, self.answers, strict=True))
        return f"<Front {told}>"

    @cached_property
    def frame(self) -> Any:
        """One row per number of changes allowed: status, distance, bound, how many features change, and which."""
        rows = [
            (why.status, why.distance, why.bound, len(why.changes), changes_in_words(why.report))
            for why in self.answers
        ]
        columns = ["status", "distance", "bound", "changed", "changes"]
        index = pd.Index(self.allowed, name="changes allowed")
        return in_kind(pd.DataFrame(rows, columns=columns, index=index), self.tables)

    @property
    def text(self) -> str:
        """What this many changes achieve, one line each."""
        pairs = list(zip(self.allowed, self.answers, strict=True))
        lines = [self._line(k, why, last=i == len(pairs) - 1) for i, (k, why) in enumerate(pairs)]
        if not self.complete:
            lines.append(f"Not everything was settled within {duration(self.seconds)}.")
        return "\n".join(lines)

    def _line(self, allowed: int, why: Explanation, last: bool) -> str:
        if why.status == "already":
            return "Nothing has to change: it holds in the context as it is."
        if last and why.status == "none":
            return "Proved: no context would do, however many features change."
        count = "one change" if allowed == 1 else f"{allowed} changes"
        head = f"With {count} or more" if last else f"With {count}" if allowed == 1 else f"With at most {count}"
        if why.status == "none":
            return f"{head}: nothing would do (proved)."
        if why.context is None:
            return f"{head}: nothing found in time; if there is something, it is no nearer than {plain(why.bound, 3)}."
        sure = "proved nearest" if why.status == "optimal" else f"none nearer than {plain(why.bound, 3)} exists"
        return f"{head}: {changes_in_words(why.report)} (distance {plain(why.distance, 4)}, {sure})."

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """The front as a chart on `ax`; see :func:`whence.plot.front`."""
        from whence.plot import front as draw

        return draw(self, ax=ax)

    @classmethod
    def from_dict(cls, document: Any) -> Front:
        """The front that :meth:`to_dict` wrote, its explanations in their light form; an InputError if it is none."""
        read = document_from(document, FrontDocument, "front")
        if len(read.allowed) != len(read.answers) or list(read.allowed) != sorted(set(read.allowed)):
            raise InputError("The entry 'allowed' of the front must be a rising list, one number per answer.")
        answers = tuple(read_explanation(one, f"answers[{i}]") for i, one in enumerate(read.answers))
        return cls(answers, read.complete, read.seconds, tuple(read.allowed), intact=intact_of(document))

    def _faults(self) -> Iterator[str]:
        pairs = list(zip(self.allowed, self.answers, strict=True))
        for i, (allowed, why) in enumerate(pairs, 1):
            if len(why.changes) > allowed:
                yield f"Answer {i} changes {len(why.changes)} features, where {allowed} may change."
        for i, (first, second) in enumerate(pairwise(self.answers), 2):
            # Within a gap, or when the time was up, the second may be the farther one, but not proved to be.
            if second.bound > first.distance + NEAR:
                yield f"Answer {i} is farther away than the one with fewer changes."
        if self.complete and any(why.status not in ENDED for why in self.answers):
            yield "Not every answer is proved, where the front is said to be complete."

    def _document(self) -> dict[str, Any]:
        return {
            "schema": "whence/front/1",
            "complete": self.complete,
            "seconds": to_plain(self.seconds),
            "text": self.text,
            "allowed": list(self.allowed),
            "answers": [why.to_dict() for why in self.answers],
        }

    def _sheet(self) -> Sheet:
        found = [(k, why) for k, why in zip(self.allowed, self.answers, strict=True) if np.isfinite(why.distance)]
        drawn = [Bar("a", f"{k} change{'s' * (k > 1)}", why.distance, plain(why.distance, 4)) for k, why in found]
        charts = [Chart(bars([("", drawn)], self.text), "Distance of the nearest context.")] if drawn else []
        rows = [
            [str(k), why.status, plain(why.distance, 4), plain(why.bound, 4), changes_in_words(why.report)]
            for k, why in zip(self.allowed, self.answers, strict=True)
        ]
        head = ["changes allowed", "status", "distance", "proved bound", "what changes"]
        return Sheet(
            "How few changes would do?",
            self.text,
            charts,
            [Table("Distance against the number of changes", head, rows, {0, 2, 3})],
            [("every entry proved", "yes" if self.complete else "no"), ("time", duration(self.seconds))],
        )


def front(policy: Policy, context: Any, instead: Any, options: dict[str, Any]) -> Front:
    """The nearest explanation for every number of changes, fewest first."""
    asker = Asker(policy, context, instead, options)
    nearest = asker.ask(share=0.5)
    assert nearest is not None
    most = max(1, len(nearest.changes))
    found: list[tuple[int, Explanation]] = []
    if nearest.context is not None and nearest.status != "already":
        for k in range(1, most):
            why = asker.ask(max_changes=k, share=1.0 / (most - k))
            if why is None or why.status == "interrupted":
                break
            found.append((k, why))
    if not found or nearest.distance < found[-1][1].distance or nearest.status in ENDED:
        found.append((most, nearest))
    complete = len(found) == most and all(why.status in ENDED for _, why in found)
    answers, allowed = tuple(why for _, why in found), tuple(k for k, _ in found)
    return Front(answers, complete, asker.seconds, allowed, kind_of(context, policy.tables_))
