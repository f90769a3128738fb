"""The result of a comparison: two contexts, the plans decided in them, and what turned the one into the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, factorial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.certificate import Verification
from whence.checks import FUNCTION, POSITIVE, at_least
from whence.claims.plans import PlanBeats
from whence.engines import AUTO, engine_named
from whence.errors import InputError, InputTypeError, WhenceError
from whence.features.space import Space
from whence.problems.base import cost_unit_of, sample_costs
from whence.question import Limits, Progress, Question
from whence.questions.result import CHANGED, Result, intact_of
from whence.report.document import scalar
from whence.report.html import Bar, bars
from whence.report.numbers import duration, plain, value, with_unit
from whence.report.plan_drawings import in_form
from whence.report.reading import document_from
from whence.report.result_pages import Chart, ComparisonDocument, Sheet, Table
from whence.util.aliases import Floats
from whence.util.json import to_plain
from whence.util.text import listed
from whence.weights import TreeWeights
from whence.weights.forecast_weights import ForecastWeights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from whence.deciding import Decision
    from whence.policy import Policy

#: What a document holds as it is.
SAME = ("same", "turn", "proved", "note", "risk", "cost_unit", "seconds", "form")


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Two contexts, the plans decided in them, and what turned the one into the other.

    Attributes
    ----------
    before, after : Series
        Both contexts, in the user's units.
    plan_before, plan_after : plan
        What is decided in them.
    same : bool
        Whether it is the same plan, as far as costs can tell.
    costs : DataFrame
        What either plan (rows) costs in either context (columns).
    contributions : DataFrame or None
        One row per feature that differs: feature, from, to, contribution. Contributions are exact Shapley values, in
        the unit of the costs, of what the plan before costs more than the plan after; they add up to `turn`. Where the
        plan stays the same, they are those of its cost. None where they cannot be had, as `note` says.
    turn : float
        By how much the difference of costs, or the cost of the plan that stays, changes from `before` to `after`.
    turning : tuple of str or None
        The smallest set of changes after which the plan after is as good as the plan before; none at all where it was
        as good before. None where the plan stays the same, or where the set was not found.
    proved : bool
        Whether no smaller set does.
    note : str
        What is missing, and why.

    Examples
    --------
    >>> import numpy as np, whence as wh
    >>> X = np.random.default_rng(0).random((80, 3))
    >>> policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0)).fit(X, 10 + 20 * X[:, :1])
    >>> found = policy.compare([0.2, 0.5, 0.5], [0.8, 0.4, 0.5])
    >>> found.turning, found.proved
    (('x0',), True)
    >>> bool(np.isclose(found.contributions["contribution"].sum(), found.turn))
    True
    """

    before: pd.Series
    after: pd.Series
    plan_before: Any
    plan_after: Any
    plan_texts: tuple[str, str]
    same: bool
    costs: pd.DataFrame
    contributions: pd.DataFrame | None
    turn: float
    turning: tuple[str, ...] | None
    proved: bool
    note: str
    risk: str
    cost_unit: str
    shown: tuple[tuple[str, str, str], ...]
    seconds: float
    #: What both plans are: "quantities", a "route", or "other".
    form: str = "other"
    intact: bool | None = None

    def __repr__(self) -> str:
        how = "same plan" if self.same else "another plan"
        return f"<Comparison {how} turn={self.turn:.6g} turning={self.turning}>"

    # ---- in words --------------------------------------------------------------------------------------

    def _priced(self, amount: float) -> str:
        return with_unit(plain(amount, 4), self.cost_unit)

    @property
    def text(self) -> str:
        """Both plans and their costs, what contributed to the turn, and which changes are enough for it."""
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        """Return both plans on two lines, and a line for everything else."""
        first, second = self.plan_texts
        plans = f"Before: {first}.\nNow: {'the same plan' if self.same else second}."
        return [plans, *filter(None, [self._turn(), self._smallest(), self._costs(), self.note])]

    def _costs(self) -> str:
        table = self.costs.to_numpy(dtype=float).tolist()
        if self.same:
            return f"{self.risk}: {self._priced(table[0][0])} before, {self._priced(table[0][1])} now."
        when = [
            "{}: {} for the old plan, {} for the new one".format(name, *(self._priced(row[j]) for row in table))
            for j, name in enumerate(("before", "now"))
        ]
        return f"{self.risk}, {when[0]}; {when[1]}."

    def _turn(self) -> str:
        if not self.shown:
            return "Nothing differs between the two contexts."
        if self.contributions is None:
            return ""
        parts = [
            f"{name} ({was} → {to}) {_signed(amount, self.cost_unit)}"
            for (name, was, to), amount in zip(self.shown, self.contributions["contribution"], strict=True)
        ]
        turn = self._priced(self.turn)
        what = (
            f"The cost of the plan has changed by {turn}"
            if self.same
            else f"The new plan has gained {turn} on the old one"
        )
        return f"{what}: {listed(parts)}."

    def _smallest(self) -> str:
        if self.turning is None:
            return ""
        if not self.turning:
            return "The new plan was as good as the old one before."
        names, sure = listed(self.turning), "" if self.proved else " (whether fewer are enough was not settled)"
        if len(self.turning) == 1:
            return f"The change of {names} alone makes the new plan as good as the old one{sure}."
        fewer = "; fewer changes do not" if self.proved else sure
        return f"The changes of {names} together make the new plan as good as the old one{fewer}."

    # ---- for others ------------------------------------------------------------------------------------

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Return the contributions as a chart on `ax`; see :func:`whence.plot.contributions`."""
        from whence.plot import contributions as draw

        return draw(self, ax=ax)

    @classmethod
    def from_dict(cls, document: Any) -> Comparison:
        """Return the comparison that :meth:`to_dict` wrote; an InputError where it is none."""
        read = document_from(document, ComparisonDocument, "comparison")
        frame = None
        if read.contributions is not None:
            entries = [(one.feature, one.from_, one.to, one.contribution) for one in read.contributions]
            frame = pd.DataFrame(entries, columns=["feature", "from", "to", "contribution"])
            if [name for name, *_ in entries] != [name for name, *_ in read.shown]:
                raise InputError("The entry 'shown' of the comparison must be about the features that contribute.")
        names = ("plan before", "plan after")
        costs = [[read.costs[name].before, read.costs[name].after] for name in names if name in read.costs]
        if len(costs) < 2 or len(read.plans) < 2:
            raise InputError("The entries 'costs' and 'plans' of the comparison must be about both plans.")
        return cls(
            before=pd.Series(read.before, dtype=object),
            after=pd.Series(read.after, dtype=object),
            plan_before=_plan(read.decided.before, read.form),
            plan_after=_plan(read.decided.after, read.form),
            plan_texts=(read.plans["before"], read.plans["after"]),
            costs=pd.DataFrame(costs, index=list(names), columns=["before", "after"]),
            contributions=frame,
            turning=None if read.turning is None else tuple(read.turning),
            shown=tuple((name, was, to) for name, was, to in read.shown),
            **{name: getattr(read, name) for name in SAME},
            intact=intact_of(document),
        )

    def verify(self, policy: Policy, *, prove: bool = False, time_limit: float | None = None) -> Verification:
        """Compare both contexts once more with a fitted `policy`: whether plans, costs and contributions agree.

        Everything is computed again in any case, the search for the smallest set of changes included, within
        `time_limit`; with `prove`, the result says whether that search came to an end.
        """
        from whence.questions.comparison import compare

        changed = [CHANGED] if self.intact is False else []
        try:
            again = compare(policy, self.before, self.after, time_limit=time_limit)
        except WhenceError as error:
            return Verification([*changed, f"The contexts cannot be compared by this policy: {error}"])
        proved = (again.same or again.proved) if prove else None
        return Verification([*changed, *self._differences(again)], proved=proved)

    def _differences(self, again: Comparison) -> Iterator[str]:
        costs, here = self.costs.to_numpy(dtype=float), again.costs.to_numpy(dtype=float)
        near = 1e-6 * max(1e-300, float(np.abs(here).max()))
        for when, said, now in zip(("before", "after"), self.plan_texts, again.plan_texts, strict=True):
            if said != now:
                yield f"The plan {when} is {now}. The comparison says {said}."
        if np.abs(costs - here).max() > near:
            yield f"The costs are {here.tolist()}. The comparison says {costs.tolist()}."
        both = [{} if one.contributions is None else _by_feature(one.contributions) for one in (self, again)]
        if set(both[0]) != set(both[1]) and self.contributions is not None and again.contributions is not None:
            yield f"The features that differ are {sorted(both[1])}. The comparison says {sorted(both[0])}."
        for name in sorted(set(both[0]) & set(both[1])):
            if abs(both[0][name] - both[1][name]) > near:
                yield f"{name!r} contributes {both[1][name]:.9g}. The comparison says {both[0][name]:.9g}."
        if self.proved and again.proved and len(self.turning or ()) != len(again.turning or ()):
            yield f"The smallest set of changes is {again.turning}. The comparison says {self.turning}."

    def _document(self) -> dict[str, Any]:
        rows = [] if self.contributions is None else self.contributions.itertuples(index=False)
        return {
            "schema": "whence/comparison/1",
            "text": self.text,
            "before": {str(name): scalar(entry) for name, entry in self.before.items()},
            "after": {str(name): scalar(entry) for name, entry in self.after.items()},
            "plans": {"before": self.plan_texts[0], "after": self.plan_texts[1]},
            "form": self.form,
            "decided": {"before": to_plain(self.plan_before), "after": to_plain(self.plan_after)},
            "same": self.same,
            "risk": self.risk,
            "cost_unit": self.cost_unit,
            "costs": {
                plan: dict(zip(("before", "after"), map(to_plain, row), strict=True))
                for plan, row in zip(
                    ("plan before", "plan after"), self.costs.to_numpy(dtype=float).tolist(), strict=True
                )
            },
            "turn": to_plain(self.turn),
            "contributions": None
            if self.contributions is None
            else [
                {"feature": name, "from": scalar(was), "to": scalar(to), "contribution": float(amount)}
                for name, was, to, amount in rows
            ],
            "shown": [list(texts) for texts in self.shown],
            "turning": None if self.turning is None else list(self.turning),
            "proved": self.proved,
            "note": self.note,
            "seconds": to_plain(self.seconds),
        }

    def _sheet(self) -> Sheet:
        tables = []
        charts = []
        if self.contributions is not None and self.shown:
            amounts = self.contributions["contribution"].tolist()
            rows = [[*texts, _signed(x, self.cost_unit)] for texts, x in zip(self.shown, amounts, strict=True)]
            rows.append(["together", "", "", _signed(self.turn, self.cost_unit)])
            tables.append(Table("What every change contributes", ["", "before", "now", "contribution"], rows, {3}))
            drawn = [
                (f"{name}: {was} → {to}", [Bar("a" if x > 0 else "d", "", x, _signed(x, self.cost_unit))])
                for (name, was, to), x in zip(self.shown, amounts, strict=True)
            ]
            charts.append(Chart(bars(drawn, self._turn()), "Exact Shapley values, which add up to the turn."))
        smallest = "" if self.turning is None else "proved" if self.proved else "open"
        certificate = [
            ("contributions", "exact, adding up" if self.contributions is not None else "not computed"),
            ("no smaller set of changes turns it", smallest),
            ("time", duration(self.seconds)),
        ]
        first, *others = self._lines()
        title = "Why another cost?" if self.same else "Why another plan?"
        # On a page the answer comes first, then both plans.
        text = "\n".join([*others, first])
        changed = {name: (was, to) for name, was, to in self.shown}
        context = [(str(name), *changed.get(str(name), (value(entry), ""))) for name, entry in self.after.items()]
        lines = [line for line in certificate if line[1]]
        return Sheet(title, text, charts, tables, lines, context=context, contexts="All values of both contexts")


def _plan(plan: Any, form: str) -> Any:
    try:
        return in_form(plan, form)
    except (TypeError, ValueError, OverflowError):
        wanted = "a list of numbers" if form == "quantities" else "a list of nodes"
        raise InputError(f"The entries 'decided' of the comparison must be {wanted} each.") from None


def _by_feature(contributions: pd.DataFrame) -> dict[str, float]:
    return {str(name): float(amount) for name, _, _, amount in contributions.itertuples(index=False)}


def _signed(amount: float, unit: str) -> str:
    text = plain(amount, 4)
    return with_unit(text if text.startswith("-") or text == "0" else f"+{text}", unit)


#: Features that may differ where every combination of old and new values has to be looked at.
MOST = 12


def compare(
    policy: Policy,
    before: Any,
    after: Any,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    on_progress: Callable[[Progress], Any] | None = None,
) -> Comparison:
    """Return what `policy` decides in two contexts, and what turned the one plan into the other."""
    at_least(0).check("tolerance", tolerance)
    POSITIVE.or_none().check("time_limit", time_limit)
    FUNCTION.or_none().check("on_progress", on_progress)
    comparing = _ComparingForecasts if policy.weights_.capabilities.forecasts else _Comparing
    return comparing(policy, before, after, float(tolerance), Limits(time_limit, None, on_progress)).told()


class _Comparing:
    """Two contexts of one policy."""

    def __init__(self, policy: Policy, before: Any, after: Any, tolerance: float, limits: Limits) -> None:
        self.policy, self.limits = policy, limits
        schema = policy.schema_
        self.rows = schema.row(before, "before"), schema.row(after, "after")
        self.made: tuple[Decision, Decision] = (policy.decision_in(self.rows[0]), policy.decision_in(self.rows[1]))
        #: What either plan costs under every past observation.
        self.costs = self._costs()
        self.same = bool(np.array_equal(*self.costs))
        self.tau = tolerance * float(np.abs(self.costs[1]).max(initial=0.0))
        self.points = tuple(schema.encode_row(row, policy.unknown) for row in self.rows)
        self.inputs = tuple(policy.inputs_of(row, policy.unknown) for row in self.rows)
        self.feature = schema.feature_of_coordinate()
        moved = schema.by_feature(np.abs(self.points[1] - self.points[0]))
        #: The features that differ: the players.
        self.names = [name for name in schema.names if name in moved]
        number = {name: j for j, name in enumerate(self.names)}
        columns = [self.feature[j] for j in policy.input_map_.coordinate.tolist()]
        self.player = np.array([number.get(name, -1) for name in columns], dtype=np.int64)
        self.notes: list[str] = []

    def _costs(self) -> tuple[Floats, Floats]:
        return self.made[0].costs, self.made[1].costs

    def paid(self, plan: int, at: int) -> float:
        """Return what either plan costs in either context."""
        return float(self.policy.risk_.of(self.costs[plan], self.made[at].weights))

    def worths(self, rows: Floats) -> list[float]:
        """Return what the plan before costs more than the plan after, or where they are the same what it costs."""
        cost, (first, second) = self.policy.risk_.of, self.costs
        found = self.policy.weights_.weights(rows)
        return [float(cost(first, w) - (0.0 if self.same else cost(second, w))) for w in found]

    @cached_property
    def table(self) -> Floats | None:
        """The worth of every combination of old and new values; None where there are too many, or no time for them."""
        if len(self.names) > MOST:
            return None
        chosen = coalitions(len(self.names))
        rows = np.where(self._owned(chosen), self.inputs[1], self.inputs[0])
        found = np.empty(len(rows))
        for at in range(0, len(rows), 256):
            if self.limits.reached(at, np.inf, 0.0) is not None:
                return None
            found[at : at + 256] = self.worths(rows[at : at + 256])
        return found

    def _owned(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which columns have the new value, for rows of chosen players."""
        # Columns that do not differ belong to nobody, who is never chosen.
        nobody = np.zeros((len(chosen), 1), dtype=np.bool_)
        return np.hstack([chosen, nobody])[:, self.player]

    def told(self) -> Comparison:
        """Return everything there is to say."""
        policy, schema = self.policy, self.policy.schema_
        ends = [self.paid(0, at) - (0.0 if self.same else self.paid(1, at)) for at in (0, 1)]
        shares = self._shares(ends[1] - ends[0])
        order = list(range(len(self.names))) if shares is None else np.argsort(-np.abs(shares), kind="stable").tolist()
        names = [self.names[j] for j in order]
        turning, proved = (None, False) if self.same else self._turning(ends[0])
        old, new = (schema.feature_values(row, names) for row in self.rows)
        frame = None
        if shares is not None:
            frame = pd.DataFrame({"feature": names, "from": [old[n] for n in names], "to": [new[n] for n in names]})
            frame["contribution"] = shares[order]
        costs = [[self.paid(plan, at) for at in (0, 1)] for plan in (0, 1)]
        texts = [policy.problem.describe(made.plan, policy.outcome_names_) or str(made.plan) for made in self.made]
        return Comparison(
            before=self.rows[0],
            after=self.rows[1],
            plan_before=self.made[0].plan,
            plan_after=self.made[1].plan,
            plan_texts=(texts[0], texts[1]),
            same=self.same,
            costs=pd.DataFrame(costs, index=["plan before", "plan after"], columns=["before", "after"]),
            contributions=frame,
            turn=ends[1] - ends[0],
            turning=turning,
            proved=proved,
            note=" ".join(self.notes),
            risk=policy.risk_.words,
            cost_unit=cost_unit_of(policy.problem),
            shown=tuple((name, self._shown(name, old), self._shown(name, new)) for name in names),
            seconds=self.limits.seconds,
            form=policy.problem.shown(self.made[0].plan, self.made[1].plan, policy.outcome_names_).form,
        )

    def _shown(self, name: str, values: Mapping[str, Any]) -> str:
        schema = self.policy.schema_
        return value(values[name], schema.kinds()[name], schema.unit(name))

    # ---- contributions ---------------------------------------------------------------------------------

    def _shares(self, turn: float) -> Floats | None:
        """Return the Shapley value of every feature that differs."""
        if not self.names:
            return np.zeros(0)
        shares = self._shares_of_trees()
        scale = max(float(np.abs(costs).max(initial=0.0)) for costs in self.costs)
        if shares is not None and abs(float(shares.sum()) - turn) <= 1e-9 * max(scale, 1e-300):
            return shares
        if self.table is not None:
            return shapley_of_table(self.table)
        late = len(self.names) <= MOST
        self.notes.append(
            f"The contributions were not computed within {duration(self.limits.seconds)}."
            if late
            else f"Contributions need every combination of old and new values, unless the cost is an expected one by a "
            f"forest: at most {MOST} features may differ. Here {len(self.names)} do."
        )
        return None

    def _shares_of_trees(self) -> Floats | None:
        """Return the Shapley values by one walk through every tree, where the worth is a sum over trees."""
        risk, weights = self.policy.risk_, self.policy.weights_
        if risk.tail is not None or not isinstance(weights, TreeWeights):
            return None
        first, second = (risk.values(made.costs) for made in self.made)
        if first is None or second is None:
            return None
        worth = np.asarray(first, dtype=np.float64) - (0.0 if self.same else np.asarray(second, dtype=np.float64))
        members, mass = weights.members_, weights.members_.mass
        values = []
        for t in range(len(members.trees)):
            order, begin, size = members.order[t], members.first[t], members.size[t]
            parts = [worth[order], np.ones(order.size)] if mass is None else [(worth * mass)[order], mass[order]]
            sums = [np.concatenate(([0.0], np.cumsum(part))) for part in parts]
            total, counted = (upto[begin + size] - upto[begin] for upto in sums)
            values.append(total / np.where(counted > 0.0, counted, 1.0) / len(members.trees))
        return shapley_of_trees(members.trees, values, (self.inputs[0], self.inputs[1]), self.player)

    # ---- the smallest set of changes -------------------------------------------------------------------

    def _turning(self, at_first: float) -> tuple[tuple[str, ...] | None, bool]:
        """Return the smallest set of changes that turns the decision, and whether that is proved."""
        if at_first >= -self.tau:
            return (), True
        if self.table is not None:
            found = smallest_turning(self.table, self.tau)
            return (None, False) if found is None else (tuple(self.names[j] for j in found), True)
        try:
            return self._searched()
        except InputTypeError:
            self.notes.append("The smallest set of changes was not looked for: no search knows these weights.")
            return None, False

    def _searched(self) -> tuple[tuple[str, ...] | None, bool]:
        """Return the smallest set of changes by a search for the nearest of the contexts that mix both."""
        policy, risk = self.policy, self.policy.risk_
        first, second = (risk.values(made.costs) for made in self.made)
        if first is None or second is None:
            return None, False
        group = policy.schema_.space(self.rows[0]).group
        question = Question(
            space=either_or(self.points[0], self.points[1], group, self.feature),
            weights=policy.weights_,
            inputs=policy.input_map_,
            claim=PlanBeats(
                alternative=np.asarray(second, dtype=np.float64),
                decision=np.asarray(first, dtype=np.float64),
                risk=risk.on_values(),
                tau=self.tau,
            ),
            limits=self.limits,
        )
        answer = engine_named(AUTO).answer(question)
        if answer.point is None:
            self.notes.append("The smallest set of changes was not found in time.")
            return None, False
        moved = self.policy.schema_.by_feature(np.abs(answer.point - self.points[0]))
        return tuple(name for name in self.names if name in moved), answer.status == "optimal"


class _ComparingForecasts(_Comparing):
    """The same where a context moves the outcomes, by its forecast, and all past observations count alike."""

    def _costs(self) -> tuple[Floats, Floats]:
        first, second = (sample_costs(self.policy.problem, made.plan, self.policy.Y_) for made in self.made)
        return first, second

    def paid(self, plan: int, at: int) -> float:
        policy = self.policy
        outcomes = policy.weights_.outcomes(self.inputs[at], policy.Y_)
        return float(
            policy.risk_.of(sample_costs(policy.problem, self.made[plan].plan, outcomes), self.made[at].weights)
        )

    def worths(self, rows: Floats) -> list[float]:
        policy, weights, same = self.policy, self.policy.weights_, self.made[0].weights
        assert isinstance(weights, ForecastWeights)
        plans, found = [made.plan for made in self.made[: 1 if self.same else 2]], []
        for forecast in weights.forecast(rows):
            outcomes = forecast + weights.residuals_
            paid = [float(policy.risk_.of(sample_costs(policy.problem, plan, outcomes), same)) for plan in plans]
            found.append(paid[0] - (0.0 if self.same else paid[1]))
        return found

    def _shares_of_trees(self) -> Floats | None:
        return None

    def _searched(self) -> tuple[tuple[str, ...] | None, bool]:
        self.notes.append(
            f"The smallest set of changes was not looked for: where a policy forecasts, at most {MOST} features may "
            "differ."
        )
        return None, False


def smallest_turning(worth: Floats, tau: float) -> tuple[int, ...] | None:
    """Return the players of a smallest coalition whose worth is at least ``-tau``, the most worthy one of that size.

    `worth` is in the order of :func:`whence.questions.comparison.coalitions`; None where there is no such coalition.

    Examples
    --------
    >>> smallest_turning(np.array([-3.0, -1.0, 2.0, 4.0]), 0.0)
    (1,)
    """
    turned = np.flatnonzero(worth >= -tau)
    if not turned.size:
        return None
    sizes = np.array([int(one).bit_count() for one in turned])
    least = turned[sizes == sizes.min()]
    chosen = int(least[np.argmax(worth[least])])
    return tuple(j for j in range(chosen.bit_length()) if chosen >> j & 1)


def either_or(old: Floats, new: Floats, group: NDArray[np.int64], feature: Sequence[str]) -> Space:
    """Return the contexts that have the old or the new value of every feature; their distance counts the new ones."""
    weight = np.ones(old.size)
    differs = old != new
    for name in dict.fromkeys(feature):
        own = np.array([other == name for other in feature])
        moved = float(np.abs(new - old)[own].sum())
        if moved > 0.0:
            weight[own] = 1.0 / moved
    levels = tuple(np.unique([a, b]) if moves else np.array([a]) for a, b, moves in zip(old, new, differs, strict=True))
    return Space(old, np.minimum(old, new), np.maximum(old, new), levels, weight, group)


def coalitions(players: int) -> NDArray[np.bool_]:
    """Return every coalition of this many players as a row: player j is in row i where bit j of i is set.

    Examples
    --------
    >>> coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    rows = np.arange(2**players)[:, None] >> np.arange(players)
    return (rows & 1).astype(np.bool_)


def shapley_of_table(worth: Floats) -> Floats:
    """Return Shapley values from the worth of every coalition, in the order of :func:`coalitions`.

    Examples
    --------
    >>> shapley_of_table(np.array([0.0, 1.0, 2.0, 5.0])).tolist()
    [2.0, 3.0]
    """
    players = int(worth.size).bit_length() - 1
    sizes = coalitions(players).sum(axis=1)
    numbers = np.arange(worth.size)
    values = np.empty(players)
    for j in range(players):
        without = numbers[(numbers >> j) & 1 == 0]
        share = np.array([1.0 / (players * comb(players - 1, int(size))) for size in range(players)])
        values[j] = share[sizes[without]] @ (worth[without | (1 << j)] - worth[without])
    return values


def shapley_of_trees(
    trees: Sequence[Any], leaf_values: Sequence[Floats], rows: tuple[Floats, Floats], player: NDArray[np.int64]
) -> Floats:
    """Return Shapley values of a sum over trees, by one walk through every tree.

    Notes
    -----
    A leaf is reached by a coalition if it holds all players A of which the way asks for the new value and none of
    those, B, of which it asks for the old one. Its worth gives each of A the share ``(a - 1)! b! / (a + b)!`` and takes
    from each of B ``a! (b - 1)! / (a + b)!``.
    """
    old, new = (np.asarray(row, dtype=np.float32) for row in rows)
    values = np.zeros(int(player.max(initial=-1)) + 1)
    for tree, worth in zip(trees, leaf_values, strict=True):
        feature, threshold = tree.feature, tree.threshold
        inner = tree.children_left >= 0
        at = np.where(inner, feature, 0)
        # Where either context goes at every node.
        ways = [np.where(row[at] <= threshold, tree.children_left, tree.children_right).tolist() for row in (old, new)]
        owner = np.where(inner, player[at], -1).tolist()
        _walk(ways[0], ways[1], owner, inner.tolist(), worth.tolist(), values)
    return values


def _walk(
    old: list[int], new: list[int], owner: list[int], inner: list[bool], worth: list[float], values: Floats
) -> None:
    """Add what one tree gives to every player."""
    waiting: list[tuple[int, frozenset[int], frozenset[int]]] = [(0, frozenset(), frozenset())]
    while waiting:
        node, for_new, for_old = waiting.pop()
        while inner[node] and (old[node] == new[node] or owner[node] in for_new or owner[node] in for_old):
            # All coalitions that come here go on alike.
            node = new[node] if owner[node] in for_new else old[node]
        if inner[node]:
            waiting.append((new[node], for_new | {owner[node]}, for_old))
            waiting.append((old[node], for_new, for_old | {owner[node]}))
            continue
        a, b = len(for_new), len(for_old)
        if a:
            gain = worth[node] * factorial(a - 1) * factorial(b) / factorial(a + b)
            for one in for_new:
                values[one] += gain
        if b:
            loss = worth[node] * factorial(a) * factorial(b - 1) / factorial(a + b)
            for one in for_old:
                values[one] -= loss
