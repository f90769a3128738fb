"""What else would do: the nearest explanation for every smallest set of features that suffices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from msgspec import structs

from whence.certificate import NEAR, Verification
from whence.checks import at_least, whole
from whence.errors import InputError
from whence.explain.explanation import Explanation
from whence.questions.result import ENDED, Answers, Asker, intact_of, read_explanation
from whence.report.html import Bar, bars
from whence.report.numbers import duration, plain
from whence.report.question_words import ended_briefly
from whence.report.reading import document_from
from whence.report.result_pages import Chart, FrontDocument, MenuDocument, Sheet, Table, asked_about, both_plans
from whence.report.words import above_best, changes_in_words
from whence.util.frames import TableKind, in_kind, kind_of
from whence.util.text import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.policy import Policy

#: How a menu ends: everything is listed, the criterion holds as it is, or a limit was reached.
MenuStatus = Literal["complete", "already", "time_limit", "interrupted"]
#: What is said of a menu that does not carry its proof.
OPEN = "That no other set would do was not proved again: ask for the menu once more."
#: Answers that a text lists at most.
LISTED = 12


@dataclass(frozen=True, eq=False)
class Menu(Answers):
    """The nearest explanation for every smallest set of features that suffices, nearest first.

    A set of features suffices if some explanation changes no other features; it is a smallest one if no part of it
    suffices.

    Attributes
    ----------
    answers : tuple of Explanation
        One per smallest set, nearest first; each is proved nearest among those that change its features only.
    status : {"complete", "already", "time_limit", "interrupted"}
        "complete": every smallest set of up to `up_to` features is listed, which is proved. "already": the criterion
        holds in the context as it is. Otherwise a limit was reached, and sets may be missing.
    up_to : int
        The largest size of sets that was asked for.
    complete_up_to : int
        All smallest sets of up to this many features are known.
    apart : float
        Answers that are nearer than this to one listed before them are left out.
    left_out : int
        How many that were.
    seconds : float
        How long it took.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((80, 3))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, 10 + X.sum(1)[:, None])
    >>> menu = policy.menu([0.1, 0.2, 0.1], instead=[11.5], up_to=2)
    >>> menu.status, menu.complete_up_to
    ('complete', 2)
    """

    answers: tuple[Explanation, ...]
    status: MenuStatus
    up_to: int
    complete_up_to: int
    apart: float = 0.0
    left_out: int = 0
    seconds: float = 0.0
    #: The kind of its table.
    tables: TableKind = "pandas"
    intact: bool | None = None
    #: All smallest sets of features, also of the answers that were left out, and the answer "none" to the question
    #: whether any other context would do, which is what makes a menu complete.
    sets: tuple[tuple[str, ...], ...] | None = None
    proof: Explanation | None = None

    def __repr__(self) -> str:
        told = ", ".join("+".join(features_of(why)) for why in self.answers)
        return f"<Menu {self.status}: {told or 'nothing'}>"

    @cached_property
    def frame(self) -> Any:
        """One row per answer: the features that change, their number, status, distance, bound, and the changes."""
        rows = [
            (
                ", ".join(features_of(why)),
                len(why.changes),
                why.status,
                why.distance,
                why.bound,
                changes_in_words(why.report),
            )
            for why in self.answers
        ]
        columns = ["features", "changed", "status", "distance", "bound", "changes"]
        return in_kind(pd.DataFrame(rows, columns=columns), self.tables)

    @property
    def text(self) -> str:
        """The answers, one line each, and what is proved about them."""
        if self.status == "already":
            return "Nothing has to change: it holds in the context as it is."
        lines = [f"  - {_line(why)}" for why in self.answers[:LISTED]]
        if len(self.answers) > LISTED:
            lines.append(f"  - and {len(self.answers) - LISTED} more, farther away")
        heads = ("Nothing of the kind was found.", "This would do:", "Any of these would do:")
        return "\n".join([heads[min(len(lines), 2)], *lines, self._certainty()])

    def _certainty(self) -> str:
        size = self.complete_up_to
        sets = "one feature" if size == 1 else f"up to {size} features"
        if not self.answers:
            said = f"Proved: no change of {sets} would do." if size else ""
        elif size <= 1:
            said = "Proved: no other feature would do alone." if size else ""
        else:
            these = "one of these" if len(self.answers) > 1 else "this one"
            said = f"Proved: no other set of {sets} would do, unless it includes {these}."
        if self.left_out:
            one, apart = "answer lies" if self.left_out == 1 else "answers lie", plain(self.apart, 4)
            said += (
                f" {self.left_out} more {one} nearer than {apart} to one of these that is no farther from the start."
            )
        if self.status != "complete":
            open_ = "one feature" if size == 0 else f"{size + 1} features"
            stopped = f"within {duration(self.seconds)}" if self.status == "time_limit" else "before it was stopped"
            said += f" Which sets of {open_} or more suffice was not settled {stopped}."
        return said.strip()

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Return the menu as a chart on `ax`; see :func:`whence.plot.menu`."""
        from whence.plot import menu as draw

        return draw(self, ax=ax)

    @classmethod
    def from_dict(cls, document: Any) -> Menu:
        """Return the menu that :meth:`to_dict` wrote, its explanations in their light form; refuse anything else."""
        read = document_from(document, MenuDocument, "menu")
        answers = tuple(read_explanation(one, f"answers[{i}]") for i, one in enumerate(read.answers))
        if [features_of(why) for why in answers] != read.features:
            raise InputError("The entry 'features' of the menu must list the features that every answer changes.")
        numbers = read.up_to, read.complete_up_to, read.apart, read.left_out, read.seconds
        sets = None if read.sets is None else tuple(tuple(one) for one in read.sets)
        proof = None if read.proof is None else read_explanation(read.proof, "proof")
        return cls(answers, read.status, *numbers, intact=intact_of(document), sets=sets, proof=proof)

    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Check every explanation against a fitted `policy`, and whether they are what they are listed as.

        With `prove`, every explanation is searched for once more, within `time_limit` for all, and where the menu is
        complete a context that changes at most `up_to` features and none of the sets as a whole: there must be none.
        """
        named = {f"Answer {i}": why for i, why in enumerate(self.answers, 1)}
        if self.status != "complete":
            return self._checked(named, policy, prove, time_limit, self._faults())
        if self.proof is None or self.sets is None:
            found = self._checked(named, policy, prove, time_limit, self._faults())
            return replace(found, remarks=[*found.remarks, OPEN])
        others = {"Other sets": self.proof}
        return self._checked({**named, **others}, policy, prove, time_limit, self._faults(), {"Other sets": self.sets})

    def _faults(self) -> Iterator[str]:
        sets = [set(features_of(why)) for why in self.answers]
        for i, own in enumerate(sets):
            if len(own) > self.up_to:
                yield f"Answer {i + 1} changes {len(own)} features, where {self.up_to} may change."
            yield from (
                f"Answer {i + 1} changes all features of answer {j + 1}, so that it is no smallest set."
                for j, other in enumerate(sets)
                if i != j and other <= own and self.status != "already"
            )
        for i, (first, second) in enumerate(pairwise(self.answers), 2):
            if second.distance < first.distance - NEAR:
                yield f"Answer {i} is nearer than the one before it."
        if self.status == "complete" and self.complete_up_to < self.up_to:
            yield f"Only sets of up to {self.complete_up_to} features are known, where the menu is said to be complete."
        if self.status == "complete" and self.proof is not None and self.sets is not None:
            known = {frozenset(one) for one in self.sets}
            if not {frozenset(own) for own in sets} <= known or len(known) != len(sets) + self.left_out:
                yield "The smallest sets are not those of the answers and of the answers that were left out."
            if self.proof.status != "none" or self.proof.max_changes not in (None, self.up_to):
                yield f"It is not proved that no other set of up to {self.up_to} features would do."

    def _document(self) -> dict[str, Any]:
        asked = self._entries("status", "up_to", "complete_up_to", "apart", "left_out", "seconds", "text")
        features = [features_of(why) for why in self.answers]
        return {"schema": "whence/menu/1", **asked, "features": features, **self._entries("answers", "sets", "proof")}

    def _sheet(self) -> Sheet:
        drawn = [
            (listed(features_of(why)), [Bar("a", "", why.distance, plain(why.distance, 4))])
            for why in self.answers[:LISTED]
        ]
        charts = (
            [Chart(bars(drawn, self.text), "Distance of the nearest context for each set of features.")]
            if drawn
            else []
        )
        rows = [
            [
                changes_in_words(why.report),
                plain(why.distance, 4),
                ended_briefly(why.status),
                why.report.plans.after_text,
            ]
            for why in self.answers
        ]
        head = ["what changes", "distance", "proof", "the policy's own plan there"]
        if any(why.report.among for why in self.answers):
            head.append("takes over")
            rows = [[*row, why.report.plans.alternative_text] for row, why in zip(rows, self.answers, strict=True)]
        certificate = [
            ("sets of features asked for", f"up to {self.up_to}"),
            ("complete up to", f"{self.complete_up_to}"),
            ("status", ended_briefly(self.status, bool(self.answers))),
            ("time", duration(self.seconds)),
        ]
        tables = [Table("Every way that would do", head, rows, {1})] if rows else []
        report = next((why.report for why in (*self.answers, self.proof) if why is not None), None)
        if self.answers:
            drawn_plans, told_plans = both_plans(self.answers[0].report)
            charts, tables = [*charts, *drawn_plans], [*tables, *told_plans]
        return Sheet("What else would do?", self.text, charts, tables, certificate, **asked_about(report))


def features_of(why: Explanation) -> list[str]:
    """Return the names of the features that an explanation changes."""
    return [str(name) for name in why.changes["feature"]]


def _line(why: Explanation) -> str:
    sure = "" if why.status == "optimal" else ", not proved nearest"
    over = above_best(why.report)
    best = f", {plain(100.0 * over, 2)} % above the best plan there" if over else ""
    return f"{changes_in_words(why.report)} (distance {plain(why.distance, 4)}{sure}{best})"


def menu(policy: Policy, context: Any, instead: Any, up_to: int, apart: float, options: dict[str, Any]) -> Menu:
    """Return the nearest explanation for every smallest set of up to `up_to` features that suffices."""
    whole(1).check("up_to", up_to)
    at_least(0, "a finite number >= 0").check("apart", apart)
    asker = Asker(policy, context, instead, options)
    up_to, tables = min(int(up_to), len(policy.schema_.names)), kind_of(context, policy.tables_)
    found: list[Explanation] = []
    proof: Explanation | None = None
    complete, status = 0, "complete"
    # Sets are met by their size, each nearest first. All smaller ones are known when a set is met, and none that holds
    # one of them is looked at: so it is a smallest set, and its explanation the nearest one that it has.
    for size in range(1, up_to + 1):
        ended, proof = _collect(asker, size, found)
        if ended != "none":
            status = ended
            break
        complete = size
    if status == "already":
        return Menu(tuple(found), "already", up_to, up_to, float(apart), 0, asker.seconds, tables)
    found.sort(key=lambda why: why.distance)
    kept = _apart(policy, found, float(apart))
    left_out = len(found) - len(kept)
    sets = tuple(tuple(features_of(why)) for why in found)
    menu = Menu(tuple(kept), status, up_to, complete, float(apart), left_out, asker.seconds, tables)  # type: ignore[arg-type]
    return replace(menu, sets=sets, proof=proof) if status == "complete" else menu


def _collect(asker: Asker, size: int, found: list[Explanation]) -> tuple[str, Explanation | None]:
    """Add the explanations of all smallest sets of this many features to `found`.

    How that ended, "none" for all of them, and the last answer, which is the proof of that.
    """
    while True:
        why = asker.ask(max_changes=size, barred=[features_of(one) for one in found])
        if why is None:
            return "interrupted" if asker.interrupted else "time_limit", None
        if why.status == "none":
            return "none", why
        if why.context is not None:
            found.append(with_others_fixed(asker, why))
        if why.status != "optimal":
            return str(why.status), None


def with_others_fixed(asker: Asker, why: Explanation) -> Explanation:
    """Return `why` as the answer to what it is proved to be nearest of: contexts in which nothing else changes."""
    if why.status == "already":
        return why
    changed = features_of(why)
    asked = {name: value for name, value in why.asked.items() if name != "max_changes"}
    asked["fixed"] = sorted(name for name in asker.policy.schema_.names if name not in changed)
    return structs.replace(why, asked=asked, max_changes=None)


def _apart(policy: Policy, found: list[Explanation], apart: float) -> list[Explanation]:
    """Return those of the answers, nearest first, that are at least so far from all that are kept before them."""
    kept: list[Explanation] = []
    points: list[Any] = []
    for why in found:
        assert why.context is not None and why.question is not None  # noqa: PT018
        point, weight = policy.schema_.encode_row(why.context), why.question.space.weight
        if all(float(np.abs(point - other) @ weight) >= apart for other in points):
            kept.append(why)
            points.append(point)
    return kept


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
        """Return the front as a chart on `ax`; see :func:`whence.plot.front`."""
        from whence.plot import front as draw

        return draw(self, ax=ax)

    @classmethod
    def from_dict(cls, document: Any) -> Front:
        """Return the front that :meth:`to_dict` wrote, its explanations in their light form; refuse anything else."""
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
        return {"schema": "whence/front/1", **self._entries("complete", "seconds", "text", "allowed", "answers")}

    def _sheet(self) -> Sheet:
        found = [(k, why) for k, why in zip(self.allowed, self.answers, strict=True) if np.isfinite(why.distance)]
        drawn = [Bar("a", f"{k} change{'s' * (k > 1)}", why.distance, plain(why.distance, 4)) for k, why in found]
        charts = [Chart(bars([("", drawn)], self.text), "Distance of the nearest context.")] if drawn else []
        rows = [
            [
                str(k),
                ended_briefly(why.status, why.context is not None),
                plain(why.distance, 4) if math.isfinite(why.distance) else "none",
                plain(why.bound, 4),
                changes_in_words(why.report),
            ]
            for k, why in zip(self.allowed, self.answers, strict=True)
        ]
        head = ["changes allowed", "proof", "distance", "proved bound", "what changes"]
        report = self.answers[0].report if self.answers else None
        drawn_plans, told_plans = ([], []) if report is None else both_plans(report)
        return Sheet(
            "How few changes would do?",
            self.text,
            [*charts, *drawn_plans],
            [Table("Distance against the number of changes", head, rows, {0, 2, 3}), *told_plans],
            [("every entry proved", "yes" if self.complete else "no"), ("time", duration(self.seconds))],
            **asked_about(report),
        )


def front(policy: Policy, context: Any, instead: Any, options: dict[str, Any]) -> Front:
    """Return the nearest explanation for every number of changes, fewest first."""
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
