"""What does the policy do in general? A few rules, what they cost more than the policy, and where they fail."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pandas as pd
from msgspec import Struct

from whence.certificate import Verification
from whence.checks import FUNCTION, POSITIVE, whole
from whence.checks import share as share_rule
from whence.errors import InputError, WhenceError
from whence.problems.base import cost_unit_of
from whence.question import Progress
from whence.questions.result import CHANGED, Result, intact_of
from whence.questions.rule_folds import Crossed, Extra
from whence.questions.rule_tree import (
    CONTEXTS,
    Condition,
    Leaf,
    PlanCosts,
    axes_of,
    grow,
    holds_in,
)  # fmt: skip
from whence.questions.worst_case import Worst, over_best, share_over, worst_case
from whence.report.document import Amount, Number, Scalar, scalar
from whence.report.html import Bar, bars
from whence.report.numbers import at_least as rounded_down
from whence.report.numbers import duration, plain, share, value
from whence.report.reading import document_from
from whence.report.result_pages import Chart, Sheet, Table
from whence.util.frames import TableKind, in_kind
from whence.util.json import to_plain
from whence.util.text import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.policy import Policy

#: Shares of the time that go to growing, and to rows not seen; the rest proves worst cases.
GROWING, CROSSING = 0.25, 0.35
#: Of the time of a worst case: for past contexts that the tree was not grown on.
LOOKING = 0.3
#: Quantities of a plan that have a column each.
COLUMNS = 6


@dataclass(frozen=True)
class Rule:
    """Where some conditions hold, one plan.

    Attributes
    ----------
    conditions : mapping
        Of every feature that the rule asks for, what must hold.
    condition, told : str
        Conditions and plan in words.
    plan : plan
        The plan in its natural form.
    share : float
        The share of the history that the rule is about.
    extra : Extra
        What the rule costs more than the policy on rows not seen, as a share, with its standard error; None where no
        row was left out.
    worst : Worst
        The largest share by which the plan is above the best one anywhere in these contexts: at least, at most, and a
        context that shows the first.
    """

    conditions: Mapping[str, Condition]
    condition: str
    plan: Any
    told: str
    parts: Mapping[str, float]
    share: float
    extra: Extra | None
    worst: Worst


@dataclass(frozen=True, eq=False)
class Rules(Result, Sequence[Rule]):
    """The policy as a few rules.

    Attributes
    ----------
    rules : tuple of Rule
        In the order of the tree, left before right. Every context keeps exactly one of them.
    curve : DataFrame
        For every number of rules: what they cost more than the policy on rows not seen (share and standard error), and
        on the rows they were grown on. The row "average" is one plan for all, from all outcomes alike.
    seconds : float
        How long it took.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((80, 2))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(10, random_state=0)).fit(X, 10 + 20 * (X[:, :1] > 0.5))
    >>> rules = policy.rules(up_to=3, time_limit=10)
    >>> rules.decide([0.9, 0.1])
    array([30.])
    """

    rules: tuple[Rule, ...]
    #: By number of rules: extra cost on rows not seen (None where none was left out), and on those they were grown on.
    sizes: tuple[tuple[int, Extra | None, float], ...]
    average: Extra | None
    overall: Extra | None
    risk: str
    cost_unit: str
    min_share: float
    up_to: int
    history: int
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    tables: TableKind = "pandas"
    intact: bool | None = None
    policy: Policy | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.rules)

    @overload
    def __getitem__(self, at: int) -> Rule: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Rule]: ...
    def __getitem__(self, at: int | slice) -> Rule | Sequence[Rule]:
        return self.rules[at]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __repr__(self) -> str:
        return f"<Rules: {len(self.rules)} for {self.history:,} contexts>"

    @cached_property
    def frame(self) -> Any:
        """One row per rule: condition, plan, share, extra cost on unseen rows and its error, worst case."""
        rows = [
            (
                rule.condition,
                rule.told,
                rule.share,
                math.nan if rule.extra is None else rule.extra.share,
                math.nan if rule.extra is None else rule.extra.error,
                rule.worst.at_least,
                rule.worst.at_most,
            )
            for rule in self.rules
        ]
        columns = ["condition", "plan", "share", "extra", "error", "worst at least", "worst at most"]
        return in_kind(pd.DataFrame(rows, columns=columns), self.tables)

    @cached_property
    def curve(self) -> Any:
        """By number of rules: extra cost on rows not seen, its error, and on the rows they were grown on."""
        rows = [("average", *_pair(self.average), math.nan)]
        rows += [(str(count), *_pair(extra), grown) for count, extra, grown in self.sizes]
        return in_kind(pd.DataFrame(rows, columns=["rules", "extra", "error", "grown on"]), self.tables)

    def decide(self, context: Any) -> Any:
        """The plan of the rule that a context keeps."""
        row = context if self.policy is None else self.policy.schema_.row(context)
        for rule in self.rules:
            if holds_in(rule.conditions, row):
                return rule.plan
        raise InputError("No rule is about this context.", parameter="context")

    @property
    def text(self) -> str:
        """Every rule on a line, what all of them cost more than the policy, and where the worst of them fails."""
        lines = [
            f"  - {rule.condition}: {rule.told} ({share(rule.share)} of the history{_failing(rule)})."
            for rule in self.rules
        ]
        count = "One rule stands" if len(self.rules) == 1 else f"{len(self.rules)} rules stand"
        head = f"{count} for the policy."
        if self.overall is not None:
            they = "it costs" if len(self.rules) == 1 else "they cost"
            head += f" On rows not seen {they} {_told(self.overall)} more than the policy itself"
            head += f", one plan for all {_told(self.average)} more." if self.average is not None else "."
        return "\n".join([head, *lines, *self.notes])

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the price of simplicity on `ax`: extra cost by the number of rules."""
        from whence.plot import rules as draw

        return draw(self, ax=ax)

    # ---- for others ---------------------------------------------------------------------------------------------

    @classmethod
    def from_dict(cls, document: Any) -> Rules:
        """The rules that :meth:`to_dict` wrote, plans as plain values; an InputError where it is none."""
        read = document_from(document, RulesDocument, "rules")
        rules = []
        for one in read.rules:
            conditions = {
                part.feature: Condition(
                    part.feature,
                    -math.inf if part.above is None else part.above,
                    math.inf if part.up_to is None else part.up_to,
                    None if part.among is None else tuple(part.among),
                )
                for part in one.conditions
            }
            at_most = math.inf if one.worst_at_most is None else one.worst_at_most
            at_least = math.inf if one.worst_at_least is None else one.worst_at_least
            worst = Worst(at_least, at_most, one.worst_context)
            extra = _extra(one.extra, one.error)
            rules.append(Rule(conditions, one.condition, one.plan, one.told, one.parts, one.share, extra, worst))
        sizes = tuple((one.rules, _extra(one.extra, one.error), one.grown_on) for one in read.curve)
        return cls(
            rules=tuple(rules),
            sizes=sizes,
            average=_extra(read.average, read.average_error),
            overall=_extra(read.overall, read.overall_error),
            notes=tuple(read.notes),
            **{name: getattr(read, name) for name in ("risk", "cost_unit", "min_share", "up_to", "history", "seconds")},
            intact=intact_of(document),
        )

    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Check against a fitted `policy` that the rules part its history as they say, and what their contexts show.

        Parameters
        ----------
        policy : Policy
            The one whose rules these are, or one that should be the same.
        prove : bool
            Whether to prove the worst case of every rule once more.
        time_limit : float, optional
            Seconds for that.

        Returns
        -------
        Verification
        """
        differences = [CHANGED] if self.intact is False else []
        proved: bool | None = True if prove else None
        deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
        try:
            rows = [policy.schema_.row(policy.X_.iloc[i]) for i in range(len(policy.X_))]
            for i, rule in enumerate(self.rules, 1):
                there = sum(holds_in(rule.conditions, row) for row in rows) / len(rows)
                if abs(there - rule.share) > 1e-6:
                    differences.append(f"Rule {i} is about {share(there)} of the history. It says {share(rule.share)}.")
                plan = policy.problem.from_plain(to_plain(rule.plan), policy.outcome_names_)
                if rule.worst.context is None or not math.isfinite(rule.worst.at_least):
                    continue
                row = policy.schema_.row(dict(rule.worst.context))
                shown = over_best(policy, plan, row)
                if abs(shown - rule.worst.at_least) > 1e-6 * max(1.0, shown):
                    differences.append(
                        f"The context of rule {i} shows {share(shown)} above the best. "
                        f"It says {share(rule.worst.at_least)}."
                    )
                if prove and math.isfinite(rule.worst.at_most):
                    again = worst_case(policy, plan, rule.conditions, (shown, row), deadline)
                    if again.at_least > rule.worst.at_most * (1.0 + 1e-6) + 1e-9:
                        differences.append(f"Rule {i} is {share(again.at_least)} above the best somewhere.")
                    proved = proved and again.at_most <= rule.worst.at_most * 1.05 + 0.01
        except WhenceError as error:
            differences.append(f"These are no rules of this policy: {error}")
        return Verification(differences, [], proved)

    def _document(self) -> dict[str, Any]:
        return {
            "schema": "whence/rules/1",
            "text": self.text,
            "rules": [_written(rule) for rule in self.rules],
            "curve": [
                {"rules": count, "extra": _number(extra, "share"), "error": _number(extra, "error"), "grown_on": grown}
                for count, extra, grown in self.sizes
            ],
            "average": _number(self.average, "share"),
            "average_error": _number(self.average, "error"),
            "overall": _number(self.overall, "share"),
            "overall_error": _number(self.overall, "error"),
            "risk": self.risk,
            "cost_unit": self.cost_unit,
            "min_share": self.min_share,
            "up_to": self.up_to,
            "history": self.history,
            "notes": list(self.notes),
            "seconds": to_plain(self.seconds),
        }

    def _sheet(self) -> Sheet:
        names = list(dict.fromkeys(name for rule in self.rules for name in rule.parts))
        columns = names if 0 < len(names) <= COLUMNS else []
        head = ["if", *(columns or ["plan"]), "share of the history", "more than the policy", "above the best, at most"]
        rows = []
        for rule in self.rules:
            shown = [plain(rule.parts.get(name, 0.0), 4) for name in columns] or [rule.told]
            rows.append([rule.condition, *shown, share(rule.share), _told(rule.extra), _most(rule.worst)])
        first = len(columns) or 0
        numbers = set(range(1, 1 + first)) | {len(head) - 3, len(head) - 2, len(head) - 1}
        tables = [Table("The rules", head, rows, numbers)]
        shown_worst = [
            [
                rule.condition,
                ", ".join(f"{name} {_value(x)}" for name, x in (rule.worst.context or {}).items()),
                _shown(rule.worst),
            ]
            for rule in self.rules
            if rule.worst.context
        ]
        if shown_worst:
            tables.append(
                Table(
                    "Where each rule is farthest from the best plan that was found",
                    ["rule", "context", "above the best"],
                    shown_worst,
                    {2},
                )
            )
        charts = []
        drawn = [Bar("d", _count(count), extra.share, share(extra.share)) for count, extra, _ in self.sizes if extra]
        if drawn:
            if self.average is not None:
                drawn = [Bar("a", "one plan for all", self.average.share, share(self.average.share)), *drawn]
            caption = "The price of simplicity: how much more than the policy they cost on rows not seen."
            charts.append(Chart(bars([("", drawn)], caption), caption))
        certificate = [
            ("contexts of the history", f"{self.history:,}"),
            ("measured by", self.risk),
            ("worst cases", "proved where a bound is told"),
            ("time", duration(self.seconds)),
        ]
        return Sheet("What does the policy do in general?", self.text, charts, tables, certificate)


def _count(count: int) -> str:
    return "1 rule" if count == 1 else f"{count} rules"


def _value(raw: Any) -> str:
    return value(raw)


def _pair(extra: Extra | None) -> tuple[float, float]:
    return (math.nan, math.nan) if extra is None else (extra.share, extra.error)


def _number(extra: Extra | None, name: str) -> float | None:
    return None if extra is None else float(getattr(extra, name))


def _extra(found: float | None, error: float | None) -> Extra | None:
    return None if found is None else Extra(found, error or 0.0)


def _told(extra: Extra | None) -> str:
    return "unknown" if extra is None else f"{share(extra.share)} ± {share(extra.error)}".replace(" % ±", " ±")


def _failing(rule: Rule) -> str:
    if not math.isfinite(rule.worst.at_most):
        return f"; somewhere {_shown(rule.worst)} above the best"
    return f"; never more than {_most(rule.worst)} above the best, proved"


def _most(worst: Worst) -> str:
    """The proved bound, rounded up, so that what is said is never less than was proved."""
    if not math.isfinite(worst.at_most):
        return "not proved"
    percent = 100.0 * worst.at_most
    step = 10.0 ** (math.floor(math.log10(percent)) - 1) if percent > 0.0 else 1.0
    return f"{plain(math.ceil(percent / step - 1e-9) * step, 3)} %"


def _shown(worst: Worst) -> str:
    """What a context shows, rounded down."""
    return f"at least {rounded_down(100.0 * worst.at_least, 2)} %" if math.isfinite(worst.at_least) else "far"


def _written(rule: Rule) -> dict[str, Any]:
    return {
        "conditions": [
            {
                "feature": one.feature,
                "above": None if math.isinf(one.low) else one.low,
                "up_to": None if math.isinf(one.high) else one.high,
                "among": None if one.among is None else [scalar(level) for level in one.among],
            }
            for one in rule.conditions.values()
        ],
        "condition": rule.condition,
        "plan": to_plain(rule.plan),
        "told": rule.told,
        "parts": dict(rule.parts),
        "share": rule.share,
        "extra": _number(rule.extra, "share"),
        "error": _number(rule.extra, "error"),
        "worst_at_least": rule.worst.at_least if math.isfinite(rule.worst.at_least) else None,
        "worst_at_most": rule.worst.at_most if math.isfinite(rule.worst.at_most) else None,
        "worst_context": None
        if rule.worst.context is None
        else {str(name): scalar(x) for name, x in rule.worst.context.items()},
    }


class _Part(Struct, frozen=True, kw_only=True):
    feature: str
    above: Number | None
    up_to: Number | None
    among: list[Scalar] | None


class _Rule(Struct, frozen=True, kw_only=True):
    conditions: list[_Part]
    condition: str
    plan: Any
    told: str
    parts: dict[str, Number]
    share: Amount
    extra: Number | None
    error: Amount | None
    worst_at_least: Amount | None
    worst_at_most: Amount | None
    worst_context: dict[str, Scalar] | None


class _Size(Struct, frozen=True, kw_only=True):
    rules: int
    extra: Number | None
    error: Amount | None
    grown_on: Number


class RulesDocument(Struct, frozen=True, kw_only=True):
    """The policy as a few rules."""

    schema: Literal["whence/rules/1"]
    text: str
    rules: list[_Rule]
    curve: list[_Size]
    average: Number | None
    average_error: Amount | None
    overall: Number | None
    overall_error: Amount | None
    risk: str
    cost_unit: str
    min_share: Amount
    up_to: int
    history: int
    notes: list[str]
    seconds: Amount
    fingerprint: str | None = None


# ---- asking ------------------------------------------------------------------------------------------------------


def ask_rules(
    policy: Policy,
    up_to: int = 6,
    min_share: float = 0.02,
    time_limit: float | None = 60,
    on_progress: Callable[[Progress], Any] | None = None,
) -> Rules:
    """The policy as at most `up_to` rules."""
    began = time.perf_counter()
    whole(1).check("up_to", up_to)
    share_rule("[)", "a share of the history in [0, 1), such as 0.02").check("min_share", min_share)
    POSITIVE.or_none().check("time_limit", time_limit)
    FUNCTION.or_none().check("on_progress", on_progress)
    seconds = math.inf if time_limit is None else float(time_limit)

    def goes_on() -> bool:
        told = Progress(0, math.inf, 0.0, time.perf_counter() - began)
        return on_progress is None or on_progress(told) is not False

    costs = PlanCosts(policy, CONTEXTS, began + 0.5 * GROWING * seconds)
    axes = axes_of(policy, costs.contexts)
    grown = grow(costs, axes, int(up_to), float(min_share), began + GROWING * seconds)
    leaves = grown.with_leaves(int(up_to))
    crossed = Crossed.of(policy, int(up_to), float(min_share), began + (GROWING + CROSSING) * seconds, goes_on)
    rows = [policy.schema_.row(policy.X_.iloc[i]) for i in range(len(policy.X_))]
    best = float(costs.least.sum())
    sizes = tuple(
        (
            len(tree),
            crossed.extra(f"{min(len(tree), up_to)}"),
            (sum(leaf.cost for leaf in tree) - best) / max(abs(best), 1e-300),
        )
        for tree in grown.trees
    )
    rules = []
    deadline = began + seconds
    for k, leaf in enumerate(leaves):
        left = deadline - time.perf_counter()
        until = math.inf if math.isinf(left) else time.perf_counter() + max(left, 0.0) / (len(leaves) - k)
        rules.append(_rule(policy, costs, leaf, rows, crossed, len(leaves), until, goes_on))
    notes = list(dict.fromkeys(f"No worst case was proved: {rule.worst.note}" for rule in rules if rule.worst.note))
    return Rules(
        rules=tuple(rules),
        sizes=sizes,
        average=crossed.extra("average"),
        overall=crossed.extra(str(len(leaves))),
        risk=policy.risk_.name,
        cost_unit=cost_unit_of(policy.problem),
        min_share=float(min_share),
        up_to=int(up_to),
        history=len(policy.X_),
        notes=tuple(notes),
        seconds=time.perf_counter() - began,
        tables=policy.tables_,
        policy=policy,
    )


def _rule(
    policy: Policy,
    costs: PlanCosts,
    leaf: Leaf,
    rows: Sequence[pd.Series],
    crossed: Crossed,
    count: int,
    until: float,
    goes_on: Callable[[], bool],
) -> Rule:
    """A leaf as a rule, with what it costs on rows not seen and its worst case."""
    plan, problem, names = costs.plans[leaf.plan], policy.problem, policy.outcome_names_
    inside = np.array([holds_in(leaf.conditions, row) for row in rows])
    known = _worst_past(policy, costs, leaf, rows, inside, until, goes_on)
    return Rule(
        conditions=leaf.conditions,
        condition=_in_words(policy, leaf.conditions),
        plan=plan,
        told=problem.describe(plan, names),
        parts=_parts(policy, plan),
        share=float(inside.mean()),
        extra=crossed.extra(str(count), inside),
        worst=worst_case(policy, plan, leaf.conditions, known, until, goes_on),
    )


def _worst_past(
    policy: Policy,
    costs: PlanCosts,
    leaf: Leaf,
    rows: Sequence[pd.Series],
    inside: Any,
    until: float,
    goes_on: Callable[[], bool],
) -> tuple[float, pd.Series]:
    """The largest share by which a leaf's plan is above the best in its past contexts, and the context that shows it.

    Those that the tree was not grown on are looked at as far as a part of the time allows.
    """
    over = [share_over(float(costs.matrix[i, leaf.plan]), float(costs.least[i])) for i in leaf.rows]
    at = int(np.argmax(over))
    most, shown = over[at], int(costs.rows[leaf.rows[at]])
    began = time.perf_counter()
    for i in costs.others(leaf.plan, np.flatnonzero(inside)):
        if time.perf_counter() - began > LOOKING * (until - began) or not goes_on():
            break
        found = over_best(policy, costs.plans[leaf.plan], rows[i])
        if found > most:
            most, shown = found, i
    return most, rows[shown]


def _parts(policy: Policy, plan: Any) -> dict[str, float]:
    """The quantities of a plan by name; none where it does not consist of a few of them."""
    shown = policy.problem.shown(plan, plan, policy.outcome_names_)
    if shown.form != "quantities" or not shown.parts:
        return {}
    return {str(name): float(x) for name, x in zip(shown.parts, policy.problem.vector(plan), strict=True)}


def _in_words(policy: Policy, conditions: Mapping[str, Condition]) -> str:
    said = [_said(policy, one) for one in conditions.values()]
    return listed(said) if said else "always"


def _said(policy: Policy, one: Condition) -> str:
    kinds, unit = policy.schema_.kinds(), policy.schema_.unit(one.feature)

    def shown(raw: Any) -> str:
        return value(raw, kinds.get(one.feature, ""), unit)

    if one.among is not None:
        levels = [shown(level) for level in one.among]
        return (
            f"{one.feature} is {levels[0] if len(levels) == 1 else ' or '.join([', '.join(levels[:-1]), levels[-1]])}"
        )
    if math.isinf(one.low):
        return f"{one.feature} is at most {shown(one.high)}"
    if math.isinf(one.high):
        return f"{one.feature} is above {shown(one.low)}"
    return f"{one.feature} is above {shown(one.low)} and at most {shown(one.high)}"
