"""Verdict strips: along one feature after the other, the others as they are, which plan is best.

A forest's weights change at the thresholds that its trees reach from the context and nowhere else: every cell between
two of them is asked once, so that a strip is exact. Weights that change anywhere are asked at `SAMPLES` values.
Which of two plans is cheaper is a sum over the weights, taken for all cells at once. That another plan is better than
both is shown by any plan that is known to be; that none is, by a bound (`whence.search.least_means`). Where neither
tells, the problem is solved for the cell.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError
from whence.features import Binary, Categorical, Date
from whence.features.dates import as_in_calendar
from whence.problems.base import Routes, Stock
from whence.risk import CVaR, Expectation, Risk
from whence.search.least_means import Rows, least_means, least_tails, own_costs, worst_tails
from whence.util.aliases import Floats
from whence.weights.trees import TreeWeights

if TYPE_CHECKING:
    from whence.policy import Policy

Ints = NDArray[np.int64]
Verdict = Literal["decision", "alternative", "another"]
VERDICTS: tuple[Verdict, ...] = ("decision", "alternative", "another")

#: Another plan counts as better than both from this share of the cost on: what "near the best" means elsewhere too.
NEAR = 0.01
#: Values of a number at which weights are asked that may change anywhere.
SAMPLES = 65
#: Whole numbers up to this many are asked one by one.
MOST_LISTED = 400
#: Contexts whose weights are held at one time.
AT_ONCE = 2048
#: Plans that are tried in a cell before the problem is solved for it.
KEPT = 24
#: As many plans are tried in any case; further ones as long as the last one was better somewhere.
WORTH = 6
#: Times that plans and weights answer each other before a problem is solved.
TURNS = 10
#: Of up to so many plans, all that a bound leaves are compared.
LISTED = 256
#: Weights that are looked at at one time for that.
MOST_ENTRIES = 1_000_000
#: Costs that differ by a smaller share are the same number, summed in another order.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Stretch:
    """Neighbouring values of a feature with one verdict."""

    #: Numbers between which it lies; of categories, switches and dates the first and the last value.
    begin: Any
    end: Any
    #: The plan that is best there: another one only where it is better than both by the share `NEAR`.
    verdict: Verdict
    #: Which of decision and alternative is cheaper there, whatever others are; with as much, the alternative.
    ahead: Verdict
    #: Whether that is so in all of it; otherwise the time was up before it was known that no other plan is better.
    settled: bool
    #: Of a feature that takes some numbers only, such as whole ones, the smallest and the largest that lie in it.
    first: float | None = None
    last: float | None = None


@dataclass(frozen=True)
class Strip:
    """The verdicts along one feature, in the order of its values."""

    feature: str
    #: Whether its values are numbers or days, so that stretches lie side by side; otherwise there is one per value.
    ordered: bool
    #: Whether the verdict was found out everywhere; otherwise at some values, and it may differ in between.
    exact: bool
    stretches: tuple[Stretch, ...]

    @property
    def turns(self) -> list[Any]:
        """Where one verdict ends and the next begins."""
        return [one.begin for one in self.stretches[1:]] if self.ordered else []

    def spans(self) -> list[tuple[float, float]]:
        """Return from where to where each stretch is drawn, as shares of the width."""
        if not self.ordered:
            return [(i / len(self.stretches), (i + 1) / len(self.stretches)) for i in range(len(self.stretches))]
        ends = [_number(one.begin) for one in self.stretches] + [_number(self.stretches[-1].end)]
        low, across = ends[0], ends[-1] - ends[0]
        return [((a - low) / across, (b - low) / across) for a, b in pairwise(ends)] if across > 0 else [(0.0, 1.0)]

    def place(self, value: Any) -> float | None:
        """Return where a value of the feature is drawn; None where it has no place."""
        if not self.ordered:
            found = [span for span, one in zip(self.spans(), self.stretches, strict=True) if one.begin == value]
            return sum(found[0]) / 2 if found else None
        if value is None or pd.isna(value):
            return None
        low, high, at = _number(self.stretches[0].begin), _number(self.stretches[-1].end), _number(value)
        return (at - low) / (high - low) if high > low else 0.5

    def numbers(self, apart: float) -> list[tuple[float, Any]]:
        """Return what is written below it: both ends and, at least `apart` from others, where it turns.

        That is a number or a day, or the two numbers between which it turns where the feature takes none in between.
        """
        if not self.ordered:
            return []
        written: list[tuple[float, Any]] = [(0.0, self.stretches[0].begin), (1.0, self.stretches[-1].end)]
        for (left, _), before, one in zip(self.spans()[1:], self.stretches, self.stretches[1:], strict=False):
            if all(abs(left - other) > apart for other, _ in written):
                known = before.last is not None and one.first is not None
                written.append((left, (before.last, one.first) if known else one.begin))
        return written


def _number(entry: Any) -> float:
    """Return a number or a day as a number."""
    return float(entry) if isinstance(entry, Real) else float(pd.Timestamp(entry).toordinal())


@dataclass(frozen=True)
class _Cells:
    """The cells of one feature: a value of each, and for numbers where they begin and end."""

    name: str
    values: list[Any]
    edges: Floats | None
    exact: bool
    ordered: bool
    step: float | None = None  # of a number that takes only whole multiples of it; 0 where it takes `values` only

    def taken(self, first: int, last: int) -> tuple[float | None, float | None]:
        """Return the smallest and the largest number from cell `first` to `last` that the feature takes."""
        if self.step is None or self.edges is None:
            return None, None
        if not self.step:
            return self.values[first], self.values[last]
        low, high = self.edges[first], self.edges[last + 1]
        # A threshold belongs to the cell below it.
        begin = np.floor(low / self.step) + 1.0 if first else np.ceil(low / self.step)
        found = float(begin * self.step), float(np.floor(high / self.step) * self.step)
        return found if found[0] <= found[1] else (None, None)


def strips(
    policy: Policy,
    row: pd.Series,
    alternative: Any = None,
    *,
    decision: Any = None,
    features: Sequence[str] | None = None,
    seconds: float | None = None,
) -> list[Strip]:
    """Return which plan is best along every feature, or along `features`, the others as in a context.

    That is `row`, as ``policy.schema_.row`` gives it. The policy's own plan there, or `decision`, is compared with the
    `alternative` and others. After so many processor `seconds`, the problem is no longer solved for cells in which no
    better plan is known yet.

    >>> import numpy as np, whence as wh
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> forest = wh.ForestWeights(n_trees=1, max_depth=1, random_state=0)
    >>> policy = wh.Policy(wh.Newsvendor(1, 1), forest).fit(X, np.where(X < 0.5, 10.0, 20.0))
    >>> [strip] = strips(policy, policy.schema_.row([0.2]), np.array([20.0]))
    >>> [one.verdict for one in strip.stretches], [round(float(turn), 1) for turn in strip.turns]
    (['decision', 'alternative'], [0.5])
    """
    until = np.inf if seconds is None else time.thread_time() + seconds
    names = policy.schema_.names if features is None else list(features)
    unknown = [name for name in names if name not in policy.schema_.names]
    if unknown:
        known = ", ".join(map(repr, policy.schema_.names))
        raise InputError(f"'features' must be among {known}. Got {unknown[0]!r} instead.")
    turns = _Turns(policy, row)
    sides = [_cells(turns, name) for name in names]
    own = policy.decision_in(row).plan if decision is None else decision
    judge = _Judge(policy, row, [own, *([] if alternative is None else [alternative])], until)
    verdicts = judge.verdicts(sides)
    found, first = [], 0
    for side in sides:
        found.append(_strip(side, verdicts[:, first : first + len(side.values)]))
        first += len(side.values)
    return found


def _strip(side: _Cells, verdicts: Ints) -> Strip:
    """Return neighbouring cells of one verdict taken together."""
    stretches = []
    best, ahead, settled = verdicts
    starts = np.flatnonzero(np.diff(3 * best + ahead, prepend=-1)) if side.ordered else np.arange(best.size)
    for first, last in zip(starts, [*(starts[1:] - 1), best.size - 1], strict=True):
        begin, end = side.values[first], side.values[last]
        if side.edges is not None:
            begin, end = float(side.edges[first]), float(side.edges[last + 1])
        sure = bool(settled[first : last + 1].all())
        known = side.taken(first, last)
        stretches.append(Stretch(begin, end, VERDICTS[best[first]], VERDICTS[ahead[first]], sure, *known))
    return Strip(side.name, side.ordered, side.exact, tuple(stretches))


# ---- cells ----------------------------------------------------------------------------------------------------------


def _cells(turns: _Turns, name: str) -> _Cells:
    """Return the cells of one feature, within what the history has of it and the context's own value."""
    schema, row = turns.policy.schema_, turns.row
    feature, levels = schema.kind(name), schema.levels(name)
    if isinstance(feature, Date):
        return _Cells(name, _days(row[feature.column or name]), None, True, True)
    if schema.kinds()[name] == "categorical":
        return _Cells(name, as_in_calendar(schema.categories(name) or levels), None, True, False)
    if isinstance(feature, Binary):
        return _Cells(name, [0, 1], None, True, False)
    now = float(row[name])
    ends = np.array([*schema.training_range(name), *([] if np.isnan(now) else [now])])
    low, high = float(ends.min()), float(ends.max())
    if schema.kinds()[name] == "discrete":
        return _whole(turns, name, [*levels, *([] if np.isnan(now) else [now])], (low, high))
    return _between(turns, name, low, high)


def _days(day: Any) -> list[date]:
    """Return all days of the year of a day."""
    first = date(pd.Timestamp(day).year, 1, 1)
    return [first + timedelta(days=k) for k in range((date(first.year + 1, 1, 1) - first).days)]


def _whole(turns: _Turns, name: str, levels: list[Any], ends: tuple[float, float]) -> _Cells:
    """Return a cell for every number that the feature may take; of too many, as for any number."""
    step = getattr(turns.policy.schema_.kind(name), "step", None) or 1
    if len(levels) <= 1:
        if (ends[1] - ends[0]) / step > MOST_LISTED:
            return _between(turns, name, *ends)
        levels = [*levels, *np.arange(ends[0], ends[1] + step / 2, step)]
    at = np.unique(np.asarray(levels, dtype=np.float64))
    edges = np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])
    return _Cells(name, at.tolist(), edges, True, True, 0.0)


def _between(turns: _Turns, name: str, low: float, high: float) -> _Cells:
    """Return the cells between the thresholds that a forest reaches; otherwise as many alike as are asked."""
    weights = turns.policy.weights_
    if isinstance(weights, TreeWeights) and not weights.capabilities.forecasts:
        reached = turns.along(name)
        edges = np.concatenate([[low], reached[(reached > low) & (reached < high)], [high]])
        step = turns.policy.schema_.step_of(name)
        # Of finer steps, where it turns is told as for any number.
        whole = None if step is None or step < 1 else step
        return _Cells(name, ((edges[1:] + edges[:-1]) / 2).tolist(), edges, True, True, whole)
    at = np.linspace(low, high, SAMPLES if high > low else 1)
    edges = np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])
    return _Cells(name, at.tolist(), edges, False, True)


class _Turns:
    """Where the trees of a policy turn along one feature while all others stay as they are."""

    def __init__(self, policy: Policy, row: pd.Series) -> None:
        self.policy, self.row = policy, row

    def along(self, name: str) -> Floats:
        """Return the thresholds of a feature that are reached, in its unit."""
        inputs, schema = self.policy.input_map_, self.policy.schema_
        coordinate = schema.feature_of_coordinate().index(name)
        [column] = np.flatnonzero(inputs.coordinate == coordinate).tolist()
        columns, thresholds = self._reached
        offset, scale = (part[coordinate] for part in schema.affine())
        reached = np.unique(thresholds[columns == column])
        return np.unique(offset + scale * (reached - inputs.offset[column]) / inputs.scale[column])

    @cached_property
    def _reached(self) -> tuple[Ints, Floats]:
        """Columns and thresholds of all nodes that a context may reach which differs in the column asked there alone.

        All trees are followed at once, level by level: besides the way of the context itself, from every node of it
        those of contexts that differ in the column asked there, which is then their `other` one.
        """
        weights = self.policy.weights_
        assert isinstance(weights, TreeWeights)
        seen = self.policy.inputs_of(self.row, self.policy.unknown).astype(np.float32)
        trees = [(t.children_left, t.children_right, t.feature, t.threshold) for t in weights.trees]
        nodes = np.cumsum([0] + [len(left) for left, *_ in trees])[:-1]
        left, right = (np.concatenate([t[k] + first for t, first in zip(trees, nodes, strict=True)]) for k in (0, 1))
        inner = np.concatenate([t[0] for t in trees]) >= 0
        feature, threshold = (np.concatenate([t[k] for t in trees]) for k in (2, 3))
        other, found = np.full(len(nodes), -1), []
        while nodes.size:
            nodes, other = nodes[inner[nodes]], other[inner[nodes]]
            asked, cut = feature[nodes], threshold[nodes]
            lost, below = np.isnan(seen[asked]), seen[asked] <= cut
            own, alone = other == asked, other < 0
            found.append((asked[own | alone], cut[own | alone]))
            to_left, to_right, leaves = own | lost | below, own | lost | ~below, alone & ~lost
            away = np.where(below, right[nodes], left[nodes])[leaves]
            nodes = np.concatenate([left[nodes[to_left]], right[nodes[to_right]], away])
            other = np.concatenate([other[to_left], other[to_right], asked[leaves]])
        return np.concatenate([columns for columns, _ in found]), np.concatenate([cuts for _, cuts in found])


# ---- verdicts -------------------------------------------------------------------------------------------------------


class _Judge:
    """Says for contexts which of the decision, an alternative and all other plans is best."""

    def __init__(self, policy: Policy, row: pd.Series, plans: Sequence[Any], until: float) -> None:
        self.policy, self.row, self.plans = policy, row, plans
        self.moving = policy.weights_.capabilities.forecasts
        self.until = until  # by the processor time of this thread
        # What every plan costs in every past observation: the two that are compared, and others that came up.
        self.costs = [] if self.moving else [self._costs(plan, policy.Y_) for plan in plans]
        known = type(policy.risk_) in (Expectation, CVaR)
        self.structure = policy.problem.structure(policy.Y_) if known and not self.moving else None

    def verdicts(self, sides: Sequence[_Cells]) -> Ints:
        """Return of every cell what is best and which of two is ahead, places in `VERDICTS`, and if it is settled."""
        seen = self._inputs(sides)
        found = np.zeros((3, len(seen)), dtype=np.int64)
        # In an order that spreads over all strips: should the time be up, none is left out.
        order = np.argsort(np.modf(np.arange(len(seen)) * 0.6180339887498949)[0], kind="stable")
        for first in range(0, len(seen), AT_ONCE):
            some = order[first : first + AT_ONCE]
            found[:, some] = (self._by_forecast if self.moving else self._by_weights)(seen[some])
        return found

    def _by_weights(self, seen: Floats) -> Ints:
        """Return the verdicts where a context moves the weights."""
        matrix, place = self.policy.weights_.in_distinct(seen)
        rows = Rows.of(matrix)
        compared = [self._risks(costs, rows) for costs in self.costs[: len(self.plans)]]
        paid = np.array([risks for risks, _ in compared])
        least = paid.min(axis=0)
        contest = _Contest(self.structure, rows, least - (NEAR + ROUNDING) * np.abs(least))
        if self.policy.risk_.tail is None:
            contest.bound(contest.left, rows, exact=True)
        elif self.structure is not None:
            worst = np.choose(paid.argmin(axis=0)[rows.owner], [worst for _, worst in compared])
            contest.play(self._start(), worst, self.policy.risk_.tail)
            if contest.left.size and (plans := self.policy.problem.plans(LISTED)) is not None:
                every = np.stack([self._costs(plan, self.policy.Y_) for plan in plans], axis=1)
                contest.compare(every, worst, self.policy.risk_.tail)
        for costs in self.costs[len(self.plans) :]:
            self._heard(contest, costs)
        useful = True
        while (left := contest.left).size and time.thread_time() <= self.until:
            plan, value = self._solved(rows.whole(left[0], len(self.policy.Y_)), self.policy.Y_)
            contest.settle(left[:1], value)
            if useful and len(self.costs) < KEPT and left.size > 1:
                # Elsewhere the new plan may be better than both as well: no need to solve.
                self.costs.append(self._costs(plan, self.policy.Y_))
                useful = self._heard(contest, self.costs[-1]) > 0 or len(self.costs) < WORTH
        return self._told(paid, contest.another, contest.settled)[:, place]

    def _start(self) -> Floats:
        """Return the decision as quantities, where it keeps the budget; otherwise nothing of any."""
        plan, problem = self.plans[0], self.policy.problem
        vector = np.asarray(problem.vector(plan), dtype=np.float64)
        return np.maximum(vector, 0.0) if problem.check(plan) is None else np.zeros_like(vector)

    def _heard(self, contest: _Contest, costs: Floats) -> int:
        """Settle cells in which a plan of these costs is better than both; return how many."""
        left = contest.left
        if not left.size:
            return 0
        better = left[self._risks(costs, contest.rows.part(left))[0] < contest.limit[left]]
        contest.settle(better, -np.inf)
        return better.size

    def _by_forecast(self, seen: Floats) -> Ints:
        """Return the verdicts where a context moves the outcomes and not the weights."""
        paid, best = np.empty((len(self.plans), len(seen))), np.full(len(seen), np.inf)
        for i, inputs in enumerate(seen):
            outcomes = self.policy.weights_.outcomes(inputs, self.policy.Y_)
            weights = self.policy.weights_.at(inputs)
            paid[:, i] = [self.policy.risk_.of(self._costs(plan, outcomes), weights) for plan in self.plans]
            if time.thread_time() <= self.until:
                best[i] = self._solved(weights, outcomes)[1]
        least = paid.min(axis=0)
        better = best < least - (NEAR + ROUNDING) * np.abs(least)
        return self._told(paid, better, np.isfinite(best))

    def _told(self, paid: Floats, another: NDArray[np.bool_], settled: NDArray[np.bool_]) -> Ints:
        """Return the verdicts where the two plans cost so much: as much is good enough for the alternative."""
        ahead = paid[-1] <= paid[0] + ROUNDING * np.abs(paid[0]) if len(paid) > 1 else np.zeros_like(another)
        return np.array([np.where(another, 2, ahead), ahead, settled], dtype=np.int64)

    def _solved(self, weights: Floats, outcomes: Floats) -> tuple[Any, float]:
        """Return the best plan and what it costs."""
        plan, some = self.policy.problem.solve(outcomes, weights, self.policy.risk_), np.flatnonzero(weights)
        return plan, float(self.policy.risk_.of(self._costs(plan, outcomes[some]), weights[some]))

    def _risks(self, costs: Floats, rows: Rows) -> tuple[Floats, Floats]:
        """Return the risk of the same costs in each row, and the weights of which it is the mean, where it is one."""
        risk, size = self.policy.risk_, len(self.policy.Y_)
        values = risk.values(costs)
        if values is None or type(risk).of is not Risk.of:
            return np.array([risk.of(costs, rows.whole(i, size)) for i in range(len(rows))]), rows.weight
        if risk.tail is None:
            return rows.sums(rows.weight * values[rows.sample]), rows.weight
        return worst_tails(values[rows.sample], rows, risk.tail)

    def _costs(self, plan: Any, outcomes: Floats) -> Floats:
        return np.asarray(self.policy.problem.costs(plan, outcomes), dtype=np.float64)

    def _inputs(self, sides: Sequence[_Cells]) -> Floats:
        """Return all cells as the weights' estimator sees them."""
        size = sum(len(side.values) for side in sides)
        columns = {name: [value] * size for name, value in self.row.items()}
        first = 0
        for side in sides:
            for i, value in enumerate(side.values, first):
                for name, entry in _entries(self.policy, side.name, value).items():
                    columns[name][i] = entry
            first += len(side.values)
        return self.policy._inputs(pd.DataFrame(columns), self.policy.unknown)


class _Contest:
    """Cells in which a plan may be better than both, that is cheaper than a limit, until that is settled."""

    def __init__(self, structure: Stock | Routes | None, rows: Rows, limit: Floats) -> None:
        self.structure, self.rows, self.limit = structure, rows, limit
        self.another = np.zeros(limit.size, dtype=np.bool_)
        self.settled = np.zeros(limit.size, dtype=np.bool_)

    @property
    def left(self) -> NDArray[np.intp]:
        """The cells that are not settled."""
        return np.flatnonzero(~self.settled)

    def settle(self, cells: NDArray[np.intp], least: Floats | float) -> None:
        """Take note of what the best plan costs in some cells, or one that is better than both."""
        self.another[cells] = least < self.limit[cells]
        self.settled[cells] = True

    def bound(self, cells: NDArray[np.intp], rows: Rows, exact: bool = False) -> Floats | None:
        """Settle those of the cells in which no plan costs less in the mean, and return the plans that cost least.

        `rows` are weights of the risk envelope of these cells. Where the risk is `exact` just this mean, all are.
        """
        if self.structure is None:
            return None
        least, plans = least_means(self.structure, rows)
        known = (least >= self.limit[cells]) | exact
        self.settle(cells[known], least[known])
        return plans

    def compare(self, costs: Floats, worst: Floats, tail: float) -> None:
        """Settle all cells by the plans that there are, whose `costs` are by observation and plan.

        A plan is looked at where its mean cost under the weights `worst` of the envelope, by entry, is below the limit.
        """
        cells = self.left
        rows = self.rows.part(cells)
        below = rows.weighed(worst[self.rows.entries(cells)]).means(costs) < self.limit[cells][:, None]
        self.settle(cells[~below.any(axis=1)], np.inf)
        place, plan = np.nonzero(below)
        each = max(1, MOST_ENTRIES // int(rows.sizes.max(initial=1)))
        least = np.full(cells.size, np.inf)
        for first in range(0, place.size, each):
            some, chosen = place[first : first + each], plan[first : first + each]
            pairs = rows.part(some)
            risks, _ = worst_tails(costs[pairs.sample, np.repeat(chosen, pairs.sizes)], pairs, tail)
            np.minimum.at(least, some, risks)
        self.settle(cells, least)

    def play(self, plan: Floats, worst: Floats, tail: float) -> None:
        """Let quantities and weights of the envelope answer each other in every cell, until it is settled.

        All begin with the same feasible `plan`, and with the weights `worst`, by entry. Means of plans within a budget
        are within it.
        """
        stock, rows, cells = self.structure, self.rows, self.left
        if isinstance(stock, Stock) and stock.demand.shape[1] == 1:
            self.settle(cells, worst_tails(own_costs(stock, least_tails(stock, rows, tail), rows), rows, tail)[0])
            return
        plans = self.bound(cells, rows.weighed(worst))
        if not isinstance(stock, Stock) or plans is None:
            return
        mean = np.tile(plan, (cells.size, 1))
        for turn in range(TURNS):
            open_ = np.flatnonzero(~self.settled[cells])
            if not open_.size:
                return
            cells, mean, worst = cells[open_], mean[open_], worst[rows.entries(open_)]
            rows = rows.part(open_)
            mean += (plans[open_] - mean) / (turn + 2)
            risks, answer = worst_tails(own_costs(stock, mean, rows), rows, tail)
            worst += (answer - worst) * (2 / (turn + 3))
            better = risks < self.limit[cells]
            self.settle(cells[better], -np.inf)
            open_ = np.flatnonzero(~better)
            if not open_.size:
                return
            cells, mean, worst = cells[open_], mean[open_], worst[rows.entries(open_)]
            rows = rows.part(open_)
            plans = self.bound(cells, rows.weighed(worst))
            assert plans is not None


def _entries(policy: Policy, name: str, value: Any) -> dict[str, Any]:
    """Return what the user's columns hold where a feature has a value."""
    feature = policy.schema_.kind(name)
    if isinstance(feature, Date):
        return {feature.column or name: pd.Timestamp(value)}
    if isinstance(feature, Categorical) and feature.columns is not None:
        levels = list(feature.categories or policy.schema_.levels(name))
        return {column: int(i == levels.index(value)) for i, column in enumerate(feature.columns)}
    return {name: value}
