"""Which prices do planners have in mind? Those at which their past plans were least above the best ones."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from msgspec import Struct
from scipy import sparse

from whence import checks
from whence.certificate import Verification
from whence.checks import FLAG, POSITIVE, refused
from whence.errors import InputError, SolverError, WhenceError
from whence.explain.build_question import in_order
from whence.problems.base import cost_unit_of
from whence.problems.pricing import Priced
from whence.questions.price_arguments import held, ranges
from whence.questions.prices import reader
from whence.questions.result import CHANGED, Result, intact_of
from whence.report.document import Amount, Number
from whence.report.html import Bar, bars
from whence.report.numbers import duration, plain, share, with_unit
from whence.report.reading import document_from
from whence.report.result_pages import Chart, Sheet, Table
from whence.util import linear_program as highs
from whence.util.aliases import Floats
from whence.util.frames import TableKind, as_pandas, in_kind, kind_of
from whence.util.json import to_plain
from whence.util.linear_program import LinearProgram, OutOfTime
from whence.util.text import listed

if TYPE_CHECKING:
    from whence.policy import Policy

#: Regrets are known when what is left open is less than this share of the planners' costs.
OPEN = 1e-6
#: Rounds of cuts, at most; the rest is left to the time limit.
ROUNDS = 200
#: Histories that are drawn from the rows to see how well prices are determined.
DRAWN = 40
#: Of which this share lies within the interval that is told.
WITHIN = 0.9
#: Steps of the search under a risk that looks at a tail, where costs bend in the prices: from how far to how near.
FIRST_STEP, LAST_STEP = 0.5, 1e-3


@dataclass(frozen=True)
class ImpliedPrice:
    """A price, today and as planners seem to see it, with the interval that holds 90 % of drawn histories."""

    parameter: str
    group: str
    today: float
    implied: float
    low: float
    high: float
    words: str
    money: bool = True


@dataclass(frozen=True, eq=False)
class Implied(Result):
    """The prices that explain past plans best: at which their costs above the best plans are least in all.

    Only the ratios of prices show in plans. Unless a price is fixed, they are told such that the plans cost in all what
    they cost today.

    Attributes
    ----------
    frame : DataFrame
        One row per price: today, implied, the factor between them, and low and high, between which it lies in 90 % of
        histories drawn from the rows.
    regret_today, regret_implied : float
        By which share the plans cost more than the best ones, at today's prices and at the implied ones.
    proved : bool
        Whether no other prices explain the plans better, which is proved under expected cost.
    rows : int
        How many plans there were.
    seconds : float
        How long it took.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((80, 2))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.KNNWeights(20)).fit(X, 10 + 20 * X[:, :1] + rng.random((80, 1)))
    >>> planners = wh.Policy(wh.Newsvendor(1, 12), wh.KNNWeights(20)).fit(policy.X_, policy.Y_)
    >>> found = policy.implied(X, planners.predict(X), fixed=["holding"])

    The planners have 12 in mind. With 20 neighbours all prices from 9 to 19 give the same plans; told is the nearest.

    >>> round(float(found.frame["implied"].iloc[1]))
    9
    """

    prices: tuple[ImpliedPrice, ...]
    regret_today: float
    regret_implied: float
    proved: bool
    rows: int
    risk: str
    cost_unit: str
    asked: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    tables: TableKind = "pandas"
    intact: bool | None = None

    def __repr__(self) -> str:
        told = ", ".join(f"{one.parameter} {one.today:.4g} -> {one.implied:.4g}" for one in self.prices[:6])
        return f"<Implied {told}>"

    @cached_property
    def frame(self) -> Any:
        """One row per price: today, implied, factor, low, high."""
        rows = [
            (
                one.parameter,
                one.today,
                one.implied,
                one.implied / one.today if one.today else math.nan,
                one.low,
                one.high,
            )
            for one in self.prices
        ]
        columns = ["parameter", "today", "implied", "factor", "low", "high"]
        return in_kind(pd.DataFrame(rows, columns=columns), self.tables)

    @property
    def text(self) -> str:
        """The prices that planners seem to have in mind, and how much better they explain the plans."""
        other = [one for one in self.prices if abs(one.implied - one.today) > 1e-3 * max(abs(one.today), 1e-300)]
        plans = f"The {self.rows} plans" if self.rows > 1 else "The plan"
        costs = (
            f"{plans} cost {_small(self.regret_today)} more than the best ones at today's prices, and "
            f"{_small(self.regret_implied)} more at the prices that explain them best."
        )
        if not other:
            return f"{plans} are explained best by today's prices.\n{costs}"
        said = [self._said(one) for one in sorted(other, key=_change)[:4]]
        more = len(other) - len(said)
        said += [f"{more} other prices changed, too"] if more else []
        first = f"{plans} look as if {listed(said)}."
        sure = (
            "Proved: no other prices explain them better."
            if self.proved
            else "Whether others explain them better is open."
        )
        return f"{first}\n{costs}\n{sure}"

    def _said(self, one: ImpliedPrice) -> str:
        unit = self.cost_unit if one.money else ""
        to, today = (with_unit(plain(number, 3), unit) for number in (one.implied, one.today))
        between = f"{plain(one.low, 3)} to {plain(one.high, 3)}"
        return f"{one.words} {to} ({between}), not {today}"

    @classmethod
    def from_dict(cls, document: Any) -> Implied:
        """The answer that :meth:`to_dict` wrote; an InputError where it is none."""
        read = document_from(document, ImpliedDocument, "implied prices")
        same = ("regret_today", "regret_implied", "proved", "rows", "risk", "cost_unit", "asked", "seconds")
        prices = tuple(
            ImpliedPrice(**{name: getattr(one, name) for name in one.__struct_fields__}) for one in read.prices
        )
        return cls(prices, **{name: getattr(read, name) for name in same}, intact=intact_of(document))

    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Search once more with a fitted `policy`, for the contexts and plans that the answer carries."""
        differences = [CHANGED] if self.intact is False else []
        asked = dict(self.asked)
        try:
            again = ask_implied(
                policy, pd.DataFrame(asked.pop("contexts")), asked.pop("plans"), plain_plans=True, **asked
            )
        except WhenceError as error:
            return Verification([*differences, f"This policy cannot be asked for these prices: {error}"], [])
        for name in ("regret_today", "regret_implied"):
            said, now = getattr(self, name), getattr(again, name)
            if abs(said - now) > 1e-4 * max(1.0, abs(now)):
                differences.append(
                    f"The plans cost {share(now)} more than the best ones. The answer says {share(said)}."
                )
        return Verification(differences, [], again.proved if prove else None)

    def _document(self) -> dict[str, Any]:
        return {
            "schema": "whence/implied/1",
            "text": self.text,
            "prices": [
                {
                    "parameter": one.parameter,
                    "group": one.group,
                    "today": one.today,
                    "implied": one.implied,
                    "low": one.low,
                    "high": one.high,
                    "words": one.words,
                    "money": one.money,
                }
                for one in self.prices
            ],
            "regret_today": self.regret_today,
            "regret_implied": self.regret_implied,
            "proved": self.proved,
            "rows": self.rows,
            "risk": self.risk,
            "cost_unit": self.cost_unit,
            "asked": dict(self.asked),
            "seconds": to_plain(self.seconds),
        }

    def _sheet(self) -> Sheet:
        ordered = sorted(self.prices, key=_change)
        rows = [
            [one.parameter, plain(one.today, 4), plain(one.implied, 4), f"{plain(one.low, 3)} to {plain(one.high, 3)}"]
            for one in ordered
        ]
        drawn = [
            (
                one.parameter,
                [
                    Bar("d", "today", one.today, plain(one.today, 4)),
                    Bar("a", "implied", one.implied, plain(one.implied, 4)),
                ],
            )
            for one in ordered[:8]
        ]
        head = ["price", "today", "as the plans imply", "90 % of drawn histories"]
        certificate = [
            ("plans", str(self.rows)),
            ("above the best plans at today's prices", share(self.regret_today)),
            ("at the implied prices", share(self.regret_implied)),
            ("no other prices explain them better", "proved" if self.proved else "open"),
            ("time", duration(self.seconds)),
        ]
        chart = Chart(bars(drawn, self.text), "Prices today, and as past plans imply them.")
        return Sheet(
            "Which prices do the plans imply?", self.text, [chart], [Table("Prices", head, rows, {1, 2})], certificate
        )


def _small(part: float) -> str:
    """A share, where what rounding leaves of nothing is nothing."""
    return share(part if abs(part) > 1e-6 else 0.0)


def _change(one: ImpliedPrice) -> float:
    return -abs(one.implied - one.today) / max(abs(one.today), 1e-300)


class _Price(Struct, frozen=True, kw_only=True):
    parameter: str
    group: str
    today: Number
    implied: Number
    low: Number
    high: Number
    words: str
    money: bool


class ImpliedDocument(Struct, frozen=True, kw_only=True):
    """The prices that explain past plans best."""

    schema: Literal["whence/implied/1"]
    text: str
    prices: list[_Price]
    regret_today: Number
    regret_implied: Number
    proved: bool
    rows: int
    risk: str
    cost_unit: str
    asked: dict[str, Any]
    seconds: Amount
    fingerprint: str | None = None


def ask_implied(
    policy: Policy,
    contexts: Any,
    plans: Any,
    *,
    fixed: Collection[str] = (),
    bounds: Mapping[str, Any] | None = None,
    common: bool = True,
    time_limit: float | None = None,
    plain_plans: bool = False,
) -> Implied:
    """The prices at which these plans, one per context, are least above the best ones in all."""
    began = time.perf_counter()
    FLAG.check("common", common)
    POSITIVE.or_none().check("time_limit", time_limit)
    rows = _rows(contexts)
    given = _plans(plans, len(rows))
    cases = []
    for i, (context, plan) in enumerate(zip(rows, given, strict=True)):
        _, priced = reader(policy, context, common)
        free, names = priced.unlimited(), policy.outcome_names_
        plan = free.from_plain(plan, names) if plain_plans else in_order(free, plan, names)
        wrong = free.check(plan)
        if wrong:
            raise InputError(f"'plans' must hold feasible plans. Plan {i + 1} is not: {wrong}", parameter="plans")
        cases.append((priced, plan))
    first = cases[0][0]
    stays = held(fixed, first)
    low, high = ranges(first, bounds, stays)
    deadline = math.inf if time_limit is None else began + float(time_limit)
    search = _Search(policy, cases, low, high, level=not stays, deadline=deadline)
    x = search.run()
    drawn = search.drawn(x)
    today, best_today = search.regrets(np.zeros(low.size))
    then, best_then = search.regrets(x)
    return Implied(
        prices=tuple(_prices(first, cases, x, drawn)),
        regret_today=float(today.sum() / max(abs(best_today.sum()), 1e-300)),
        regret_implied=float(then.sum() / max(abs(best_then.sum()), 1e-300)),
        proved=search.proved,
        rows=len(cases),
        risk=policy.risk_.name,
        cost_unit=cost_unit_of(policy.problem),
        asked=to_plain(
            {
                "contexts": [{str(name): value for name, value in policy.schema_.row(c).items()} for c in rows],
                "plans": [p.unlimited().to_plain(plan) for p, plan in cases],
                "fixed": [str(name) for name in fixed],
                "bounds": bounds,
                "common": common,
            }
        ),
        seconds=time.perf_counter() - began,
        tables=kind_of(contexts, policy.tables_),
    )


def _rows(contexts: Any) -> list[Any]:
    rows = _each(contexts)
    if not rows:
        raise refused("contexts", "a table with a row per context, or a list of them", contexts)
    return rows


def _plans(plans: Any, wanted: int) -> list[Any]:
    found = _each(plans)
    if found is None:
        raise refused("plans", "a list with one plan per context", plans)
    if len(found) != wanted:
        raise InputError(f"'plans' must hold one plan per context ({wanted}). Got {len(found)}.", parameter="plans")
    return found


def _each(given: Any) -> list[Any] | None:
    """Return the rows of a table, or what a list holds; None of what is neither."""
    table = as_pandas(given)
    if isinstance(table, pd.DataFrame):
        return [table.iloc[i] for i in range(len(table))]
    found = None if isinstance(table, Mapping) else checks.collected(table)
    return None if found is None else list(found)


def _prices(first: Priced, cases: Sequence[tuple[Priced, Any]], x: Floats, drawn: Floats) -> list[ImpliedPrice]:
    """Every price, in the mean over the contexts where it differs between them."""
    values = np.mean([priced.values for priced, _ in cases], axis=0)
    scale = np.mean([[one.scale for one in priced.parameters] for priced, _ in cases], axis=0)
    low, high = np.quantile(drawn, [(1 - WITHIN) / 2, (1 + WITHIN) / 2], axis=0)
    found = []
    for j, one in enumerate(first.parameters):
        to, least, most = (
            float(values[j] + scale[j] * changes[j]) for changes in (x, np.minimum(low, x), np.maximum(high, x))
        )
        if one.members:
            found += [
                ImpliedPrice(name, one.group, today, today * to, today * least, today * most, f"{name} were")
                for name, today in one.members
            ]
        else:
            words = f"{one.words} {one.verb}"
            found.append(ImpliedPrice(one.name, one.group, float(values[j]), to, least, most, words, one.money))
    return found


@dataclass
class _Search:
    """The least total regret, by cuts: what every plan costs more than plans that are known to be better."""

    policy: Policy
    cases: Sequence[tuple[Priced, Any]]
    low: Floats
    high: Floats
    #: Whether the plans are to cost in all what they cost today, since they tell no more than ratios.
    level: bool
    deadline: float
    proved: bool = False
    #: By case, slopes and constants of cuts: regret >= slope @ x + constant.
    cuts: list[list[tuple[Floats, float]]] = field(default_factory=list)
    #: By case, what the plan costs more where a price changes by 1.
    own: Floats = field(default_factory=lambda: np.empty((0, 0)))
    #: What was found out, by changes; the best plans at the last ones; and the changes that explain the plans best.
    known: dict[bytes, tuple[Floats, Floats]] = field(default_factory=dict)
    rivals: list[Any] = field(default_factory=list)
    x: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.x = np.zeros(self.low.size)

    def run(self) -> Floats:
        """The changes that explain the plans best, those nearest to today among them, or the best so far."""
        self.cuts = [[] for _ in self.cases]
        try:
            if self.policy.risk_.tail is None and self.cases[0][0].straight:
                self._by_cuts()
            else:
                self._by_steps()
        except OutOfTime:
            pass
        return self.x

    def _by_cuts(self) -> None:
        x, counts = self.x, np.ones(len(self.cases))
        self.own = np.array([self._line(priced, plan)[0] for priced, plan in self.cases])
        least = math.inf
        for _ in range(ROUNDS):
            regret, best = self.regrets(x)
            if regret.sum() < least:
                self.x, least = x, float(regret.sum())
            for (priced, plan), rival, cuts in zip(self.cases, self.rivals, self.cuts, strict=True):
                mine, other = (self._line(priced, z) for z in (plan, rival))
                cuts.append((mine[0] - other[0], mine[1] - other[1]))
            following, bound = self._least(counts)
            if regret.sum() - bound <= OPEN * max(1e-300, abs(float(best.sum()))):
                self.x, self.proved = x, True
                return
            x = following

    def regrets(self, x: Floats) -> tuple[Floats, Floats]:
        """By how much every plan costs more than the best one, and what that costs, at changes `x`."""
        if (key := x.tobytes()) in self.known:
            return self.known[key]
        risk = self.policy.risk_
        over, best = np.empty(len(self.cases)), np.empty(len(self.cases))
        self.rivals = []
        for k, (priced, plan) in enumerate(self.cases):
            # What the plans cost today is told in any case.
            if self.known and time.perf_counter() > self.deadline:
                raise OutOfTime("The time limit passed before prices were found that explain the plans best.")
            values = priced.values + np.array([one.scale for one in priced.parameters]) * x
            self.rivals.append(priced.solve(values, risk))
            own, best[k] = (risk.of(priced.costs(z, values), priced.weights) for z in (plan, self.rivals[-1]))
            over[k] = own - best[k]
        self.known[key] = over, best
        return over, best

    def _line(self, priced: Priced, plan: Any) -> tuple[Floats, float]:
        """What a plan costs in the mean: by changes, and today."""
        terms, scale = priced.lines(plan), np.array([one.scale for one in priced.parameters])
        slope = terms.shift if terms.slopes is None else terms.shift + priced.weights @ terms.slopes
        return slope * scale, float(priced.weights @ terms.base) + float(slope @ priced.values)

    def _least(self, counts: Floats) -> tuple[Floats, float]:
        """The changes at which the cuts allow the least total regret, nearest to today's, and that regret."""
        size, cases = self.low.size, len(self.cases)
        slopes = np.array([slope for cuts in self.cuts for slope, _ in cuts])
        constants = np.array([constant for cuts in self.cuts for _, constant in cuts])
        case = np.array([k for k, cuts in enumerate(self.cuts) for _ in cuts])
        money = max(float(np.abs(slopes).max(initial=0.0)), 1e-300)
        slopes, constants = slopes / money, constants / money
        each = sparse.csr_array((np.ones(case.size), (np.arange(case.size), case)), shape=(case.size, cases))
        prices = sparse.csr_array(slopes)
        rows = [sparse.hstack([-prices, prices, each])]
        row_lower, row_upper = constants, np.full(case.size, np.inf)
        if self.level:
            level = counts @ self.own * (self.high > self.low)
            level /= max(float(np.abs(level).max(initial=0.0)), 1e-300)
            rows.append(sparse.csr_array(np.concatenate([level, -level, np.zeros(cases)])[None, :]))
            row_lower, row_upper = np.append(row_lower, 0.0), np.append(row_upper, 0.0)
        cost = np.concatenate([np.zeros(2 * size), counts])
        total = sparse.csr_array(cost[None, :])
        near = np.concatenate([np.ones(2 * size), np.zeros(cases)])

        def solved(cost: Floats, rows: Any, lower: Floats, upper: Floats) -> Floats:
            program = LinearProgram(
                cost=cost,
                lower=np.zeros(2 * size + cases),
                upper=np.concatenate([np.maximum(self.high, 0.0), np.maximum(-self.low, 0.0), np.full(cases, np.inf)]),
                rows=sparse.csr_array(rows),
                row_lower=lower,
                row_upper=upper,
            )
            ended = highs.run(program, None, {"parallel": "off"})
            if ended.values is None:
                raise SolverError(f"The implied prices were not found: HiGHS ended with status {ended.status}.")
            return ended.values

        stacked = sparse.vstack(rows)
        least = float(cost @ solved(cost, stacked, row_lower, row_upper))
        # Of all that explain the plans as well, the nearest to today's.
        both = sparse.vstack([stacked, total])
        limit = least + 1e-9 * max(1.0, abs(least))
        found = solved(near, both, np.append(row_lower, -np.inf), np.append(row_upper, limit))
        return np.clip(found[:size] - found[size : 2 * size], self.low, self.high), least * money

    def drawn(self, x: Floats) -> Floats:
        """The changes for histories that are drawn from the rows with replacement, by what is known."""
        cases = len(self.cases)
        if cases < 2:
            return x[None, :]
        rng = np.random.default_rng(0)
        found = []
        for _ in range(DRAWN):
            counts = np.bincount(rng.integers(0, cases, cases), minlength=cases).astype(np.float64)
            found.append(self._least(counts)[0] if any(self.cuts) else self._likeliest(counts))
            if time.perf_counter() > self.deadline:
                break
        return np.array(found)

    def _likeliest(self, counts: Floats) -> Floats:
        """Of all changes that were tried, those that explain the plans best that often."""

        def above(x: Floats) -> float:
            over, best = (float(counts @ part) for part in self.known[x.tobytes()])
            return over / max(abs(best), 1e-300) if self.level else over

        tried = min((np.frombuffer(key) for key in self.known), key=above)
        return self._levelled(tried) if self.level else tried

    def _by_steps(self) -> None:
        """Go on until no step along one price makes it better: costs bend in the prices."""
        size = self.low.size
        steps = [sign * np.eye(size)[j] for j in np.flatnonzero(self.high > self.low) for sign in (1.0, -1.0)]
        best, step = self._above(self.x), FIRST_STEP
        while step > LAST_STEP and steps:
            tried = [np.clip(self.x + step * one, self.low, self.high) for one in steps]
            found = [self._above(one) for one in tried]
            at = int(np.argmin(found))
            if found[at] < best * (1.0 - 1e-9) - 1e-15:
                self.x, best = tried[at], found[at]
            else:
                step *= 0.5
        if self.level:
            level = self._levelled(self.x)
            self.x = level if self._above(level) <= best + OPEN else self.x

    def _above(self, x: Floats) -> float:
        """By how much the plans cost more than the best ones in all; as a share where only ratios count."""
        over, best = self.regrets(x)
        return float(over.sum() / max(abs(best.sum()), 1e-300) if self.level else over.sum())

    def _levelled(self, x: Floats) -> Floats:
        """The same ratios of prices, where the plans cost in all what they cost today."""
        now, then = (float(np.sum(self.known[at.tobytes()])) for at in (np.zeros(x.size), x))
        parameters = self.cases[0][0].parameters
        values, scale = np.array([one.value for one in parameters]), np.array([one.scale for one in parameters])
        level = (now / max(then, 1e-300) * (values + scale * x) - values) / scale
        return np.asarray(np.clip(level, self.low, self.high))
