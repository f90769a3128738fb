"""At which prices would a plan be right? The nearest cost parameters, in the context as it is."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec import field as entry

from whence.certificate import Verification
from whence.checks import FLAG, POSITIVE, at_least, one_of
from whence.errors import InputError, InputTypeError, WhenceError
from whence.explain.build_question import in_order
from whence.problems.base import cost_unit_of
from whence.problems.plan_sets import PlanSet
from whence.problems.pricing import Limit, Moved, Parameter, Priced
from whence.questions.nearest_prices import FoundPrices, PricesQuestion, best_gap, nearest_prices, quick_gap
from whence.questions.price_arguments import beyond, counted, held, named, ranges
from whence.questions.result import CHANGED, Result, intact_of
from whence.report.document import Amount, Number, Scalar, scalar
from whence.report.html import Bar, bars
from whence.report.numbers import duration, plain, share, with_unit
from whence.report.question_words import ended_briefly
from whence.report.reading import document_from
from whence.report.result_pages import Chart, Sheet, Table
from whence.risk import known_tail
from whence.util.aliases import Floats, Kind
from whence.util.frames import TableKind, in_kind, kind_of
from whence.util.json import to_plain
from whence.util.text import listed

if TYPE_CHECKING:
    from whence.policy import Policy

PricesStatus = Literal["optimal", "already", "none", "time_limit"]
#: Changes that a sentence names; a table has all of them.
NAMED = 4
#: Prices at whose ends a plan is looked for that is better than the one asked about at all prices.
GUESSES = 4
#: A change that counts less is none.
NO_CHANGE = 1e-7


@dataclass(frozen=True)
class PriceChange:
    """A price that would have to be another one."""

    parameter: str
    before: float
    after: float
    #: How a sentence says it, such as "a unit short cost 2.9 €, not 1.2 €".
    words: str
    counts: float


@dataclass(frozen=True, eq=False)
class Prices(Result):
    """The nearest prices at which a plan would be the best one, or better than the decision, in a context as it is.

    Attributes
    ----------
    status : {"optimal", "already", "none", "time_limit"}
        "optimal": no prices nearer to today's would do, which is proved. "already": the plan is right at today's
        prices. "none": it is at no prices that were looked at, which is proved (see `reason`). Otherwise the time was
        up, with the nearest prices found so far, if any.
    changes : DataFrame
        One row per price that changes: parameter, from, to, and the factor between them.
    distance, bound : float
        The sum of the relative changes, such as 0.5 for one price that rises by half; and what is proved of it.
    reason : str
        Why there are no such prices.
    cost_before, cost_after : dict
        What the plan and the decision, or the best plan, cost at today's prices and at those found.
    seconds : float
        How long it took.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((80, 3))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(20)).fit(X, 10 + 20 * X[:, :1])
    >>> found = policy.prices([0.5, 0.5, 0.5], instead=[21.0])
    >>> found.status, found.changes["parameter"].tolist()
    ('optimal', ['backorder'])
    """

    status: PricesStatus
    kind: Kind
    moved: tuple[PriceChange, ...]
    distance: float
    bound: float
    alternative: Any
    decision: Any
    plan_texts: tuple[str, str]
    cost_before: Mapping[str, float]
    cost_after: Mapping[str, float] | None
    risk: str
    cost_unit: str
    reason: str = ""
    #: The context and the arguments that it was asked with.
    context: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    solves: int = 0
    tolerance: float = 1e-6
    tables: TableKind = "pandas"
    intact: bool | None = None

    def __repr__(self) -> str:
        told = ", ".join(f"{one.parameter} {one.before:.4g} -> {one.after:.4g}" for one in self.moved[:NAMED])
        return f"<Prices {self.status}: {told or 'no changes'}>"

    @cached_property
    def changes(self) -> Any:
        """One row per price that changes: parameter, from, to, factor."""
        rows = [
            (one.parameter, one.before, one.after, one.after / one.before if one.before else math.nan)
            for one in self.moved
        ]
        return in_kind(pd.DataFrame(rows, columns=["parameter", "from", "to", "factor"]), self.tables)

    @property
    def claim(self) -> str:
        """What the plan is to be."""
        return "the best plan" if self.kind == "absolute" else "as good as the decision"

    @property
    def text(self) -> str:
        """The prices in a sentence, what the plan costs there, and what is proved."""
        if self.status == "already":
            return f"Your plan is {self.claim} at today's prices already."
        if self.status == "none":
            return f"At no prices that were looked at is your plan {self.claim}: {self.reason}\nProved."
        if not self.moved and self.cost_after is None:
            return (
                f"No prices at which your plan is {self.claim} were found within {duration(self.seconds)}; if there "
                f"are any, they differ from today's by {share(self.bound)} or more in all."
            )
        said = [one.words for one in sorted(self.moved, key=lambda one: -one.counts) if one.words]
        more = len(said) - NAMED
        said = said if more < 2 else [*said[:NAMED], f"{len(said) - NAMED} other prices changed, too"]
        first = f"Your plan is right today, that is {self.claim}, if {listed(said)}."
        return "\n".join(filter(None, [first, self._costs(), self._sure()]))

    def _priced(self, amount: float) -> str:
        return with_unit(plain(amount, 4), self.cost_unit)

    def _costs(self) -> str:
        before, after = self.cost_before, self.cost_after
        now = (
            f"{self.risk[:1].upper()}{self.risk[1:]} at today's prices: {self._priced(before['alternative'])} for your "
            f"plan, {self._priced(before['decision'])} for the decision"
        )
        if after is None:
            return f"{now}."
        then = f"at those: {self._priced(after['alternative'])} and {self._priced(after['decision'])}"
        if self.kind == "absolute" and abs(after["best"] - after["decision"]) > 1e-9 * abs(after["best"]):
            then += f", and {self._priced(after['best'])} for the best plan"
        return f"{now}; {then}."

    def _sure(self) -> str:
        if self.status == "optimal":
            return "Proved: no prices nearer to today's, by the sum of their relative changes, would do."
        return f"Not proved nearest: others that differ by {share(self.bound)} or more in all might do."

    # ---- for others ---------------------------------------------------------------------------------------------

    @classmethod
    def from_dict(cls, document: Any) -> Prices:
        """The answer that :meth:`to_dict` wrote; an InputError where it is none."""
        read = document_from(document, PricesDocument, "prices")
        changes = tuple(PriceChange(one.parameter, one.from_, one.to, one.words, one.counts) for one in read.changes)
        same = ("status", "kind", "cost_before", "cost_after", "risk", "cost_unit", "reason", "context", "asked")
        return cls(
            moved=changes,
            distance=math.inf if read.distance is None else read.distance,
            bound=math.inf if read.bound is None else read.bound,
            alternative=read.plans.alternative,
            decision=read.plans.decision,
            plan_texts=(read.told.alternative, read.told.decision),
            **{name: getattr(read, name) for name in (*same, "seconds", "solves", "tolerance")},
            intact=intact_of(document),
        )

    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Solve the problem again at the prices found, with a fitted `policy`; with `prove`, search again as well.

        Parameters
        ----------
        policy : Policy
            The one that gave the answer, or one that should be the same.
        prove : bool
            Whether to search once more, and compare the distance.
        time_limit : float, optional
            Seconds for that search.

        Returns
        -------
        Verification
        """
        differences = [CHANGED] if self.intact is False else []
        try:
            asking = _Asking.of(policy, self.context, self.alternative, {**self.asked, "kind": self.kind}, plain=True)
            differences += self._checked_again(asking)
            if not prove:
                return Verification(differences, [])
            again = asking.answer(time_limit)
        except WhenceError as error:
            return Verification([*differences, f"This policy cannot be asked for these prices: {error}"], [])
        if again.status != self.status:
            differences.append(f"The search ends with {again.status!r}. The answer says {self.status!r}.")
        elif self.status == "optimal" and abs(again.distance - self.distance) > 1e-5 * max(1.0, self.distance):
            differences.append(
                f"The nearest prices are {again.distance:.6g} away. The answer says {self.distance:.6g}."
            )
        return Verification(differences, [], again.status in ("optimal", "already", "none"))

    def _checked_again(self, asking: _Asking) -> Iterator[str]:
        if self.status == "none" or (self.cost_after is None and self.status != "already"):
            return
        x, moved = asking.place({one.parameter: one.after for one in self.moved})
        gap, _ = best_gap(asking.question, x, moved)
        if gap > 2.0 * asking.question.tau:
            yield f"At these prices your plan costs {gap:.6g} more than it may to be {self.claim}."

    def _document(self) -> dict[str, Any]:
        return {
            "schema": "whence/prices/1",
            "status": self.status,
            "kind": self.kind,
            "text": self.text,
            "changes": [
                {
                    "parameter": one.parameter,
                    "from": one.before,
                    "to": one.after,
                    "words": one.words,
                    "counts": one.counts,
                }
                for one in self.moved
            ],
            "distance": self.distance if math.isfinite(self.distance) else None,
            "bound": self.bound if math.isfinite(self.bound) else None,
            "plans": {"alternative": to_plain(self.alternative), "decision": to_plain(self.decision)},
            "told": {"alternative": self.plan_texts[0], "decision": self.plan_texts[1]},
            "cost_before": dict(self.cost_before),
            "cost_after": None if self.cost_after is None else dict(self.cost_after),
            "risk": self.risk,
            "cost_unit": self.cost_unit,
            "reason": self.reason,
            "context": dict(self.context),
            "asked": dict(self.asked),
            "seconds": to_plain(self.seconds),
            "solves": self.solves,
            "tolerance": self.tolerance,
        }

    def _sheet(self) -> Sheet:
        ordered = sorted(self.moved, key=lambda one: -one.counts)
        rows = [
            [one.parameter, plain(one.before, 4), plain(one.after, 4), _times(one.before, one.after)] for one in ordered
        ]
        tables = (
            [Table("Prices that would be others", ["price", "today", "then", "factor"], rows, {1, 2, 3})]
            if rows
            else []
        )
        drawn = [
            (
                one.parameter,
                [Bar("d", "today", one.before, plain(one.before, 4)), Bar("a", "then", one.after, plain(one.after, 4))],
            )
            for one in ordered[:8]
        ]
        charts = (
            [Chart(bars(drawn, self.text), "Prices today, and at which your plan would be right.")] if drawn else []
        )
        plans = [["your plan", self.plan_texts[0]], ["the decision", self.plan_texts[1]]]
        tables.append(Table("Plans", [], plans))
        certificate = [
            ("status", ended_briefly(self.status, self.cost_after is not None)),
            ("sum of the relative changes", plain(self.distance, 4) if math.isfinite(self.distance) else "none"),
            ("proved bound", plain(self.bound, 4)),
            (
                "checked by the problem's own solve",
                "yes" if self.cost_after is not None or self.status == "already" else "",
            ),
            ("solves", str(self.solves)),
            ("time", duration(self.seconds)),
        ]
        return Sheet("At which prices?", self.text, charts, tables, [line for line in certificate if line[1]])


def _times(before: float, after: float) -> str:
    return f"× {plain(after / before, 3)}" if before else ""


class _Change(Struct, frozen=True, kw_only=True):
    parameter: str
    from_: Number = entry(name="from")
    to: Number
    words: str
    counts: Amount


class _Pair(Struct, frozen=True, kw_only=True):
    alternative: Any
    decision: Any


class _Told(Struct, frozen=True, kw_only=True):
    alternative: str
    decision: str


class PricesDocument(Struct, frozen=True, kw_only=True):
    """The nearest prices at which a plan would be right."""

    schema: Literal["whence/prices/1"]
    status: PricesStatus
    kind: Literal["relative", "absolute"]
    text: str
    changes: list[_Change]
    distance: Amount | None
    bound: Amount | None
    plans: _Pair
    told: _Told
    cost_before: dict[str, Number]
    cost_after: dict[str, Number] | None
    risk: str
    cost_unit: str
    reason: str
    context: dict[str, Scalar]
    asked: dict[str, Any]
    seconds: Amount
    solves: int
    tolerance: Amount
    fingerprint: str | None = None


def ask_prices(
    policy: Policy,
    context: Any,
    instead: Any,
    *,
    kind: Kind = "absolute",
    fixed: Collection[str] = (),
    bounds: Mapping[str, Any] | None = None,
    weights: Mapping[str, float] | None = None,
    common: bool = True,
    time_limit: float | None = None,
    tolerance: float = 1e-6,
) -> Prices:
    """The nearest prices at which `instead` is the best plan, or no worse than the decision, in a context."""
    one_of("relative", "absolute").check("kind", kind)
    FLAG.check("common", common)
    POSITIVE.or_none().check("time_limit", time_limit)
    at_least(0).check("tolerance", tolerance)
    if instead is None or isinstance(instead, PlanSet):
        raise InputTypeError("'instead' must be a plan, to be asked for its prices. Got none or a set of plans.")
    asked = {"kind": kind, "fixed": fixed, "bounds": bounds, "weights": weights, "common": common}
    asking = _Asking.of(policy, context, instead, {**asked, "tolerance": tolerance})
    return asking.answer(time_limit, kind_of(context, policy.tables_))


def reader(policy: Policy, context: Any, common: bool) -> tuple[pd.Series, Priced]:
    """A context as the schema reads it, and the policy's problem in it as a function of its prices."""
    row = policy.schema_.row(context)
    known_tail(policy.risk_, "prices")
    weights = policy.weights_at(row)
    return row, policy.problem.priced(policy.outcomes_in(row), weights, policy.outcome_names_, common)


@dataclass(frozen=True)
class _Asking:
    """A question about prices, read and checked."""

    policy: Policy
    row: pd.Series
    plan: Any
    decision: Any
    question: PricesQuestion
    #: Limits that the plan breaks and that are fixed.
    barred: tuple[Limit, ...]
    asked: Mapping[str, Any]

    @classmethod
    def of(cls, policy: Policy, context: Any, instead: Any, asked: Mapping[str, Any], plain: bool = False) -> _Asking:
        """The question that these arguments ask; `plain` where the plan comes from a document."""
        row, priced = reader(policy, context, bool(asked["common"]))
        free, names = priced.unlimited(), policy.outcome_names_
        plan = free.from_plain(instead, names) if plain else in_order(free, instead, names)
        wrong = free.check(plan)
        if wrong:
            raise InputError(f"'instead' must be a feasible plan. {wrong}", parameter="instead")
        relative = asked["kind"] == "relative"
        decision = priced.solve(priced.values, policy.risk_)
        limits = priced.limits(plan)
        if relative:
            limits = [one for one in limits if one.needed]
        stays = held(asked["fixed"], priced, limits)
        low, high = ranges(priced, asked["bounds"], stays)
        kept = [one for one in limits if named(one, stays) or beyond(one, asked["bounds"])]
        barred = tuple(one for one in kept if one.needed)
        limits = [one for one in limits if one not in kept]
        given = counted(asked["weights"], priced)
        costs = priced.costs(plan, priced.values)
        question = PricesQuestion(
            priced,
            plan,
            decision if relative else None,
            policy.risk_,
            np.array([given.get(one.name, given.get(one.group, 1.0)) for one in priced.parameters]),
            low,
            high,
            float(asked["tolerance"]) * max(float(np.abs(costs).max(initial=0.0)), 1e-300),
            tuple(limits),
            tuple(given.get(one.name, given.get(one.group, 1.0)) for one in limits),
        )
        return cls(policy, row, plan, decision, question, barred, asked)

    def answer(self, time_limit: float | None = None, tables: TableKind = "pandas") -> Prices:
        """Search, check what was found by the problem's own solve, and say it."""
        began = time.perf_counter()
        question = self.question
        nothing = np.zeros(question.low.size)
        if self.barred:
            stays = [
                f"may not be {plain(one.to, 4)}" if beyond(one, self.asked["bounds"]) else "is fixed"
                for one in self.barred
            ]
            broken = zip(self.barred, stays, strict=True)
            said = listed([f"it breaks {one.words}, {plain(one.value, 4)}, which {why}" for one, why in broken])
            return self._told(FoundPrices("none", None, Moved(), math.inf, math.inf), f"{said}.", began, tables)
        if not any(one.needed for one in question.limits) and quick_gap(question, nothing, Moved())[0] <= question.tau:
            return self._told(FoundPrices("already", nothing, Moved(), 0.0, 0.0), "", began, tables)
        if time_limit is not None:
            question = replace(question, deadline=began + float(time_limit))
        found = nearest_prices(question)
        reason = self._reason(found) if found.status == "none" else ""
        return self._told(found, reason, began, tables)

    def _told(self, found: FoundPrices, reason: str, began: float, tables: TableKind) -> Prices:
        question, policy = self.question, self.policy
        priced, names = question.priced, policy.outcome_names_
        free = priced.unlimited()
        costs_now = self._costs(priced.values, None)
        after = None
        if found.x is not None and found.status != "already":
            after = self._costs(question.values(found.x), found.moved)
        shown = {key: value for key, value in self.asked.items() if key != "kind"}
        shown["fixed"] = [str(name) for name in shown["fixed"]]
        return Prices(
            status=found.status,  # type: ignore[arg-type]
            kind=self.asked["kind"],
            moved=tuple(self._changes(found)) if found.x is not None else (),
            distance=found.distance,
            bound=found.bound,
            alternative=free.to_plain(self.plan),
            decision=free.to_plain(self.decision),
            plan_texts=(free.describe(self.plan, names), free.describe(self.decision, names)),
            cost_before=costs_now,
            cost_after=after,
            risk=policy.risk_.name,
            cost_unit=cost_unit_of(policy.problem),
            reason=reason,
            context={str(name): scalar(value) for name, value in self.row.items()},
            asked=to_plain(shown),
            seconds=time.perf_counter() - began,
            solves=found.solves,
            tolerance=float(self.asked["tolerance"]),
            tables=tables,
        )

    def _costs(self, values: Floats, moved: Moved | None) -> dict[str, float]:
        """What plan, decision and best plan cost at these values; the best one by the problem's own solve."""
        question = self.question
        priced, risk = question.priced, question.risk
        plans = {"alternative": self.plan, "decision": self.decision}
        if moved is not None:
            plans["best"] = priced.solve(values, risk, moved)
        return {name: float(risk.of(priced.costs(plan, values), priced.weights)) for name, plan in plans.items()}

    def _changes(self, found: FoundPrices) -> Iterator[PriceChange]:
        question, unit = self.question, cost_unit_of(self.policy.problem)
        assert found.x is not None
        values = question.values(found.x)
        for one, value, x, weight in zip(question.priced.parameters, values, found.x, question.weight, strict=True):
            counts = float(weight * abs(x))
            if abs(x) <= NO_CHANGE:
                continue
            if not one.members:
                yield PriceChange(one.name, one.value, float(value), _said(one, float(value), unit), counts)
                continue
            # A price of 0 is 0 at every factor: it is none of those that change.
            for i, (name, today) in enumerate((name, today) for name, today in one.members if today):
                words = f"{one.words} cost {plain(float(value), 3)} times what it costs today" if not i else ""
                yield PriceChange(name, today, today * float(value), words, counts if not i else 0.0)
        for limit, weight in zip(question.limits, question.limit_weights, strict=True):
            if limit in found.moved.limits:
                counts = weight * abs(limit.to - limit.value) / limit.scale
                words = f"{limit.words} were {plain(limit.to, 4)}, not {plain(limit.value, 4)}"
                yield PriceChange(limit.name, limit.value, limit.to, words, counts)

    def _reason(self, found: FoundPrices) -> str:
        """Why no prices would do: a rival that is cheaper at all of them, or that no price suits all parts at once."""
        question = self.question
        names = self.policy.outcome_names_
        # Under a risk that looks at a tail, costs bend in the prices, and no two plans are compared at all of them.
        straight = question.priced.straight and known_tail(question.risk, "prices") is None
        for rival in (*found.rivals, self.decision, *self._guesses()) if straight else ():
            if self._dominated(rival):
                return f"another plan ({question.priced.problem.describe(rival, names)}) costs less at all of them."
        kinds = {one.group for one in question.priced.parameters}
        alone = len(question.priced.parameters) == len(kinds) and len(question.priced.names) > 1
        hint = " Prices of each product by itself might do." if alone and self.asked["common"] else ""
        return f"whatever they are, some other plan costs less.{hint}"

    def _guesses(self) -> Iterator[Any]:
        """Best plans at corners of the range, where one price is at an end and the others are at the other one."""
        question = self.question
        for j in range(min(question.low.size, GUESSES)):
            for one, others in ((question.low, question.high), (question.high, question.low)):
                x = others.copy()
                x[j] = one[j]
                yield question.priced.solve(question.values(x), question.risk)

    def _dominated(self, rival: Any) -> bool:
        """Whether a rival costs less, by more than the tolerance, at all prices that were looked at."""
        question, priced = self.question, self.question.priced
        own, other = priced.lines(question.plan), priced.lines(rival)
        slope = own.shift - other.shift
        if own.slopes is not None and other.slopes is not None:
            slope = slope + priced.weights @ (own.slopes - other.slopes)
        constant = float(priced.weights @ (own.base - other.base))
        values = question.values(np.where(slope * question.scale > 0.0, question.low, question.high))
        return constant + float(slope @ values) > question.tau

    def place(self, to: Mapping[str, float]) -> tuple[Floats, Moved]:
        """Where prices of these names lie among the changes."""
        question = self.question
        x = np.zeros(question.low.size)
        for j, one in enumerate(question.priced.parameters):
            if one.members:
                factors = [to[name] / today for name, today in one.members if name in to and today]
                x[j] = (factors[0] - one.value) / one.scale if factors else 0.0
            elif one.name in to:
                x[j] = (to[one.name] - one.value) / one.scale
        return x, Moved(tuple(one for one in question.limits if one.name in to))


def _said(one: Parameter, value: float, unit: str) -> str:
    before, after = (with_unit(plain(number, 4), unit if one.money else "") for number in (one.value, value))
    return f"{one.words} {one.verb} {after}, not {before}"
