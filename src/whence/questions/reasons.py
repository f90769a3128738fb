"""Which of today's facts settle it: a smallest set under which the alternative is never better, whatever else changes.

A set of facts settles the question if no context that shares them is an explanation. So it must have a fact in common
with what every explanation changes: a smallest set that does, of the explanations met so far, is tried; either it
settles the question, and no smaller set can, or one more explanation is met.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from whence.certificate import Verification, request_of
from whence.errors import InputError, WhenceError
from whence.explain.ask import Request
from whence.explain.build_question import asked_set, with_margin
from whence.explain.explanation import Explanation
from whence.problems.base import cost_unit_of
from whence.problems.plan_sets import AnyPlan
from whence.questions.menu import features_of, with_others_fixed
from whence.questions.result import Asker, Result, intact_of, read_explanation
from whence.report.document import scalar
from whence.report.numbers import duration, plain, share, value, with_unit
from whence.report.question_words import ended_briefly
from whence.report.reading import document_from
from whence.report.result_pages import ReasonsDocument, Sheet, Table, asked_about, both_plans
from whence.report.words import changes_in_words
from whence.util.frames import TableKind, in_kind, kind_of
from whence.util.text import listed

if TYPE_CHECKING:
    from whence.policy import Policy

#: How a search for reasons ends: a set is proved to settle it, none is needed, none settles it, or a limit was reached.
ReasonsStatus = Literal["proved", "none", "already", "time_limit", "interrupted"]
#: Tries of smallest sets before reasons are looked for that are smallest by inclusion only.
ROUNDS = 60


@dataclass(frozen=True, eq=False)
class Reasons(Result, Sequence[str]):
    """A smallest set of today's facts under which the alternative is never better, or never best.

    Attributes
    ----------
    facts : dict
        Today's values of the features that settle it, by their names.
    status : {"proved", "none", "already", "time_limit", "interrupted"}
        "proved": as long as the facts stay, no context is an explanation. "none": no fact is needed, there is no
        explanation at all. "already": the criterion holds today, so that no facts speak against it. Otherwise a limit
        was reached before any set but that of all facts was proved.
    smallest : bool
        Whether no set of fewer facts settles it, which is proved.
    needed : dict
        For every fact an explanation that changes it and none of the other facts, where one is known: none of the facts
        can be left out. With an entry for every fact, the set is smallest by inclusion, which is proved.
    proofs : int
        Questions that were asked.
    seconds : float
        How long it took.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((80, 3))
    >>> forest = wh.ForestWeights(20, max_features=None, random_state=0)
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), forest).fit(X, 10 + 20 * (X[:, :1] > 0.5))
    >>> print(policy.reasons([0.1, 0.2, 0.1], instead=[30.0]))
    As long as x0 is 0.1, your plan is never as good as the decision, whatever else changes.
    Proved, and no set of fewer facts settles it.
    """

    facts: dict[str, Any]
    status: ReasonsStatus
    smallest: bool
    needed: dict[str, Explanation] = field(default_factory=dict)
    kind: str = "relative"
    #: Who is never what, such as "your plan" and "as good as the decision", and where that was looked for.
    subject: str = "your plan"
    claim: str = "as good as the decision"
    scope: str = ""
    written: tuple[str, ...] = ()
    proofs: int = 0
    seconds: float = 0.0
    #: The kind of its table.
    tables: TableKind = "pandas"
    intact: bool | None = None
    #: The answer "none" to the question with the facts fixed, and further explanations that were met: of all of these
    #: and those in `needed`, every set of fewer facts misses one that changes none of its facts.
    proof: Explanation | None = None
    witnesses: tuple[Explanation, ...] = ()

    def __len__(self) -> int:
        return len(self.facts)

    def __getitem__(self, at: Any) -> Any:
        return list(self.facts)[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __repr__(self) -> str:
        return f"<Reasons {self.status}: {', '.join(self.facts) or 'none'}>"

    @property
    def minimal(self) -> bool:
        """Whether none of the facts can be left out, which is proved."""
        return self.smallest or (self.status == "proved" and all(name in self.needed for name in self.facts))

    @cached_property
    def frame(self) -> Any:
        """One row per fact: the feature, its value, and the nearest change found that undoes it without the others."""
        rows = [
            (name, fact, changes_in_words(self.needed[name].report) if name in self.needed else "")
            for name, fact in self.facts.items()
        ]
        return in_kind(pd.DataFrame(rows, columns=["feature", "value", "without it"]), self.tables)

    @property
    def text(self) -> str:
        """The facts in a sentence, and what is proved about them."""
        if self.status == "already":
            return "No facts speak against it: it holds in the context as it is."
        if self.status == "none":
            where = f"in no context of the history's range{self.scope}"
            return f"No facts are needed: {where} is {self.subject} {self.claim}.\nProved."
        if self.status != "proved":
            stopped = f"within {duration(self.seconds)}" if self.status == "time_limit" else "before it was stopped"
            return f"No set of facts but all of them together was proved to settle it {stopped}."
        if self.smallest:
            sure = "Proved, and no set of fewer facts settles it."
        elif self.minimal:
            sure = "Proved, and none of these facts can be left out."
        else:
            sure = "Proved; whether all of these facts are needed was not settled in time."
        facts = listed(self.written)
        return f"As long as {facts}, {self.subject} is never {self.claim}, whatever else changes{self.scope}.\n{sure}"

    @classmethod
    def from_dict(cls, document: Any) -> Reasons:
        """Return the reasons that :meth:`to_dict` wrote, explanations in their light form; refuse anything else."""
        read = document_from(document, ReasonsDocument, "reasons")
        if len(read.written) != len(read.facts) or not set(read.needed) <= set(read.facts):
            raise InputError("The entries 'written' and 'needed' of the reasons must be about the facts, one by one.")
        return cls(
            facts=read.facts,
            status=read.status,
            smallest=read.smallest,
            needed={name: read_explanation(one, f"needed.{name}") for name, one in read.needed.items()},
            **{name: getattr(read, name) for name in ("kind", "subject", "claim", "scope", "proofs", "seconds")},
            written=tuple(read.written),
            intact=intact_of(document),
            proof=None if read.proof is None else read_explanation(read.proof, "proof"),
            witnesses=tuple(read_explanation(one, f"witnesses[{i}]") for i, one in enumerate(read.witnesses)),
        )

    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Check against a fitted `policy` that the facts settle it, and that no fact can be left out.

        With `prove`, it is searched once more, within `time_limit` for all: for a context that shares the facts and is
        an explanation, of which there must be none, and for the explanations that change one of the facts. That no set
        of fewer facts settles it follows from explanations that need no search, and is checked in any case.
        """
        named = {f"Without {name!r}": why for name, why in self.needed.items()}
        settling = {} if self.proof is None else {"With the facts": self.proof}
        found = self._checked({**named, **settling}, policy, prove, time_limit, self._faults())
        others = {f"Witness {i}": why for i, why in enumerate(self.witnesses, 1)}
        more = replace(self, intact=None)._checked(others, policy, False, None, self._scope_faults(policy))
        remarks = list(found.remarks)
        if self.proof is None and self.status in ("proved", "none"):
            remarks.append("That the facts settle it was not proved again: ask for the reasons once more.")
        return replace(found, differences=[*found.differences, *more.differences], remarks=remarks)

    def _faults(self) -> Iterator[str]:
        for name, why in self.needed.items():
            changed = set(features_of(why))
            if name not in changed:
                yield f"The explanation without {name!r} does not change it."
            yield from (
                f"The explanation without {name!r} also changes the fact {other!r}."
                for other in self.facts
                if other in changed and other != name
            )
        if self.proof is None:
            return
        if self.proof.status != "none":
            yield f"With the facts, the status is {self.proof.status!r}, so that they are not proved to settle it."
        fixed = set(self.proof.asked.get("fixed", ()))
        yield from (f"The fact {name!r} is not fixed in the proof." for name in self.facts if name not in fixed)
        if self.smallest and self.facts:
            changed_by = [features_of(why) for why in (*self.needed.values(), *self.witnesses)]
            names = sorted({name for one in changed_by for name in one})
            if len(smallest_hitting_set(changed_by, names)) < len(self.facts):
                yield "The explanations do not show that no set of fewer facts settles it."

    def _scope_faults(self, policy: Policy) -> Iterator[str]:
        """Yield why the proof is not about the facts as told, or not about all contexts that the sentence speaks of."""
        if self.proof is None:
            return
        try:
            request = request_of(self.proof, policy)
            schema, row = policy.schema_, policy.schema_.row(request.context)
            values = schema.feature_values(row, list(self.facts))
        except (WhenceError, KeyError):
            return  # said where the proof is verified
        for name, fact in self.facts.items():
            if scalar(values[name]) != scalar(fact):
                yield f"The fact {name!r} is {scalar(values[name])!r} in the proof. The reasons say {scalar(fact)!r}."
        fixed = [name for name in request.fixed if name not in self.facts]
        free = schema.space(row, restricted=False).same_as(schema.space(row, fixed, request.bounds))
        if not free and not self.scope:
            yield "The proof is about fewer contexts than the reasons speak of."

    def _document(self) -> dict[str, Any]:
        return {
            "schema": "whence/reasons/1",
            **self._entries("status", "kind"),
            "facts": {name: scalar(fact) for name, fact in self.facts.items()},
            **self._entries("written", "subject", "claim", "scope", "smallest", "minimal", "text"),
            "needed": {name: why.to_dict() for name, why in self.needed.items() if name in self.facts},
            **self._entries("proof", "witnesses", "proofs", "seconds"),
        }

    def _sheet(self) -> Sheet:
        rows = [[text, without] for text, without in zip(self.written, self.frame["without it"], strict=True)]
        head = ["fact", "without it, this would do"]
        ended = "proved: no fact is needed" if self.status == "none" else ended_briefly(self.status, bool(self.facts))
        certificate = [
            ("status", ended),
            ("no smaller set", "proved" if self.smallest else "open"),
            ("none can be left out", "proved" if self.minimal else "open"),
            ("questions asked", plain(self.proofs)),
            ("time", duration(self.seconds)),
        ]
        tables = [Table("The facts that settle it", head, rows)] if rows else []
        known = (self.proof, *self.needed.values(), *self.witnesses)
        report = next((why.report for why in known if why is not None), None)
        charts, told_plans = ([], []) if report is None else both_plans(report)
        tables = [*tables, *told_plans]
        return Sheet("Which facts settle it?", self.text, charts, tables, certificate, **asked_about(report))


def reasons(policy: Policy, context: Any, instead: Any, options: dict[str, Any]) -> Reasons:
    """Return a smallest set of today's facts under which `instead` is never better, or never best."""
    return _Inquiry(policy, Asker(policy, context, instead, options)).answer()


class _Inquiry:
    """Explanations met so far, and the facts that they leave to be tried."""

    def __init__(self, policy: Policy, asker: Asker) -> None:
        self.asker, self.schema = asker, policy.schema_
        self.names: list[str] = list(policy.schema_.names)
        self.met: list[Explanation] = []
        #: For sets of facts that settle it, the answer that says so.
        self.settled: dict[frozenset[str], Explanation] = {}
        self.interrupted = False

    @property
    def changed(self) -> list[frozenset[str]]:
        """What the explanations met so far change."""
        return [frozenset(features_of(why)) for why in self.met]

    def answer(self) -> Reasons:
        first = self._settles((), 0.25)
        if first:
            return self._told((), "none", smallest=True)
        if self.met and self.met[0].status == "already":
            return self._told((), "already")
        self._meet_short_ones()
        for _ in range(ROUNDS if self.met else 0):
            tried = smallest_hitting_set(self.changed, self.names)
            settled = self._settles(tried, 0.25)
            if settled:
                return self._told(tried, "proved", smallest=True)
            if settled is None:
                break
        return self._by_deletion()

    def _settles(self, facts: Sequence[str], part: float) -> bool | None:
        """Return whether no context with these facts is an explanation; None where that was not settled in time."""
        if any(not one & set(facts) for one in self.changed):
            return False
        why = None if self.interrupted else self.asker.ask(fixed=facts, share=part)
        if why is None:
            self.interrupted |= self.asker.interrupted
            return None
        self.interrupted |= why.status == "interrupted"
        if why.context is not None:
            self.met.append(why)
            return False
        if why.status == "none":
            self.settled[frozenset(facts)] = why
        return True if why.status == "none" else None

    def _meet_short_ones(self) -> None:
        """Meet explanations that change one feature: each of these features is among the facts that settle it."""
        barred: list[list[str]] = []
        if self.met and self.met[0].question is not None and self.met[0].question.space.rules is not None:
            return  # nothing changes alone
        while not self.interrupted:
            why = self.asker.ask(max_changes=1, barred=barred, share=0.1)
            if why is None or why.context is None:
                return
            self.met.append(with_others_fixed(self.asker, why))
            barred.append(features_of(why))

    def _by_deletion(self) -> Reasons:
        """Return facts that settle it, none of which can be left out as far as there is time to prove it."""
        facts = list(smallest_hitting_set(self.changed, self.names))
        # First add what the explanations change that are met with these facts fixed, until there are none.
        while (settled := self._settles(facts, 0.25) if facts else None) is False:
            more = {name for one in self.changed if not one & set(facts) for name in one}
            facts = [name for name in self.names if name in more or name in facts]
        if settled is None:
            facts = list(self.names)
        counts = {name: sum(name in one for one in self.changed) for name in self.names}
        for name in sorted(facts, key=lambda name: counts[name]):
            rest = [other for other in facts if other != name]
            if self._settles(rest, 0.25):
                facts, settled = rest, True
        if settled is None and len(facts) == len(self.names):
            return self._told((), "interrupted" if self.interrupted else "time_limit")
        if not facts:
            return self._told((), "none", smallest=True)
        return self._told(facts, "proved", smallest=len(facts) == len(smallest_hitting_set(self.changed, self.names)))

    def _told(self, facts: Sequence[str], status: ReasonsStatus, smallest: bool = False) -> Reasons:
        schema, asker = self.schema, self.asker
        row = schema.row(asker.request.context)
        values, kinds = schema.feature_values(row, facts), schema.kinds()
        needed = {}
        for name in facts:
            others = set(facts) - {name}
            own = [why for why in self.met if name in features_of(why) and not others & set(features_of(why))]
            if own:
                needed[name] = min(own, key=lambda why: why.distance)
        written = tuple(f"{name} is {value(values[name], kinds[name], schema.unit(name))}" for name in facts)
        subject, claim = _claim(asker.policy, asker.request)
        allowed = schema.space(row, asker.request.fixed, asker.request.bounds)
        free = not asker.request.relates and schema.space(row, restricted=False).same_as(allowed)
        return Reasons(
            facts=values,
            status=status,
            smallest=smallest,
            needed=needed,
            kind=asker.request.kind,
            subject=subject,
            claim=claim,
            scope="" if free else " within your restrictions",
            written=written,
            proofs=asker.count,
            seconds=asker.seconds,
            tables=kind_of(asker.request.context, asker.policy.tables_),
            proof=self.settled.get(frozenset(facts)),
            witnesses=self._witnesses(len(facts), list(needed.values())) if smallest else (),
        )

    def _witnesses(self, size: int, shown: Sequence[Explanation]) -> tuple[Explanation, ...]:
        """Return explanations that show, with those `shown`, that no set of fewer than `size` facts settles it."""

        def enough(more: Sequence[Explanation]) -> bool:
            return len(smallest_hitting_set([features_of(why) for why in (*shown, *more)], self.names)) >= size

        known = {frozenset(features_of(why)) for why in shown}
        kept = [why for why in self.met if frozenset(features_of(why)) not in known]
        # Those that change most say least.
        for why in sorted(kept, key=lambda why: -len(why.changes)):
            rest = [other for other in kept if other is not why]
            kept = rest if enough(rest) else kept
        return tuple(kept)


def _claim(policy: Policy, request: Request) -> tuple[str, str]:
    """Return who is asked about and what was asked, as both stand around "is never"."""
    plans, unit = asked_set(policy, request), cost_unit_of(policy.problem)
    if plans is not None:
        request = with_margin(request, plans)
    part, amount = request.margin_parts
    least = f"{plain(100.0 * part, 4)} %" if part else with_unit(plain(amount, 6), unit)
    sure = ""
    if request.confidence:
        sure = f" by {plain(request.confidence, 3)} standard error{'s' * (request.confidence != 1.0)}"
    if request.plausible is not None:
        sure += f" in a context at least as usual as {share(request.plausible)} of the history"
    if isinstance(plans, AnyPlan):
        said = f"more than {least} above the best" if part or amount else "beaten by another"
        return "today's plan", said + sure
    nearly, more = request.within_parts
    within = f"within {plain(100.0 * nearly, 4)} % of the best" if nearly else "the best"
    within = f"within {with_unit(plain(more, 6), unit)} of the best" if more else within
    parts = [within] if request.kind == "absolute" else []
    if part or amount:
        parts.append(f"at least {least} cheaper than the decision")
    elif request.kind == "relative":
        parts.append("as good as the decision")
    return "your plan" if plans is None else plans.words, listed(parts) + sure


def smallest_hitting_set(sets: Sequence[Collection[str]], order: Sequence[str]) -> tuple[str, ...]:
    """Return a smallest set of names that has a name in common with each of `sets`, in the order of `order`.

    Examples
    --------
    >>> smallest_hitting_set([{"a", "b"}, {"b", "c"}, {"d"}], "abcd")
    ('b', 'd')
    """
    wanted = [frozenset(one) for one in sets]
    # A set that holds another one is met with it.
    wanted = [one for one in set(wanted) if not any(other < one for other in wanted)]
    best = _search(wanted, frozenset(), len(order) + 1)
    assert best is not None
    return tuple(name for name in order if name in best)


def _search(sets: list[frozenset[str]], chosen: frozenset[str], fewer_than: int) -> frozenset[str] | None:
    """Return the smallest set with all of `chosen` that meets `sets`, if it has fewer names than that."""
    left = [one for one in sets if not one & chosen]
    if not left:
        return chosen if len(chosen) < fewer_than else None
    if len(chosen) + _disjoint(left) >= fewer_than:
        return None
    best = None
    # Of one of the smallest sets a name has to be chosen; those in many sets first.
    one = min(left, key=lambda one: (len(one), sorted(one)))
    for name in sorted(one, key=lambda name: (-sum(name in other for other in left), name)):
        found = _search(left, chosen | {name}, fewer_than)
        if found is not None:
            best, fewer_than = found, len(found)
    return best


def _disjoint(sets: list[frozenset[str]]) -> int:
    """Return how many of the sets have nothing in common: at least that many names are needed."""
    seen: frozenset[str] = frozenset()
    count = 0
    for one in sorted(sets, key=len):
        if not one & seen:
            seen |= one
            count += 1
    return count
