"""Verdict strips: along one feature after the other, the others as they are, which plan is best.

A forest's weights change at the thresholds that its trees reach from the context and nowhere else: every cell between
two of them is asked once, so that a strip is exact. Weights that change anywhere are asked at `SAMPLES` values.
Which of two plans is cheaper is a sum over the weights, taken for all cells at once. That another plan is better than
both is shown by any plan that is known to be; where none is, the problem is solved for the cell.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.errors import InputError
from whence.features import Binary, Categorical, Date
from whence.features.dates import as_in_calendar
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
AT_ONCE = 512
#: Plans that are tried in a cell before the problem is solved for it.
KEPT = 24
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
    sides = [_cells(policy, row, name) for name in names]
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


def _cells(policy: Policy, row: pd.Series, name: str) -> _Cells:
    """Return the cells of one feature, within what the history has of it and the context's own value."""
    schema = policy.schema_
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
        return _whole(policy, row, name, [*levels, *([] if np.isnan(now) else [now])], (low, high))
    return _between(policy, row, name, low, high)


def _days(day: Any) -> list[date]:
    """Return all days of the year of a day."""
    first = date(pd.Timestamp(day).year, 1, 1)
    return [first + timedelta(days=k) for k in range((date(first.year + 1, 1, 1) - first).days)]


def _whole(policy: Policy, row: pd.Series, name: str, levels: list[Any], ends: tuple[float, float]) -> _Cells:
    """Return a cell for every number that the feature may take; of too many, as for any number."""
    step = getattr(policy.schema_.kind(name), "step", None) or 1
    if len(levels) <= 1:
        if (ends[1] - ends[0]) / step > MOST_LISTED:
            return _between(policy, row, name, *ends)
        levels = [*levels, *np.arange(ends[0], ends[1] + step / 2, step)]
    at = np.unique(np.asarray(levels, dtype=np.float64))
    edges = np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])
    return _Cells(name, at.tolist(), edges, True, True, 0.0)


def _between(policy: Policy, row: pd.Series, name: str, low: float, high: float) -> _Cells:
    """Return the cells between the thresholds that a forest reaches; otherwise as many alike as are asked."""
    weights = policy.weights_
    if isinstance(weights, TreeWeights) and not weights.capabilities.forecasts:
        turns = _turns(policy, row, name)
        edges = np.concatenate([[low], turns[(turns > low) & (turns < high)], [high]])
        step = policy.schema_.step_of(name)
        # Of finer steps, where it turns is told as for any number.
        whole = None if step is None or step < 1 else step
        return _Cells(name, ((edges[1:] + edges[:-1]) / 2).tolist(), edges, True, True, whole)
    at = np.linspace(low, high, SAMPLES if high > low else 1)
    edges = np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])
    return _Cells(name, at.tolist(), edges, False, True)


def _turns(policy: Policy, row: pd.Series, name: str) -> Floats:
    """Return the thresholds of a feature, in its unit, that trees reach while all other features stay as they are."""
    inputs, weights = policy.input_map_, policy.weights_
    assert isinstance(weights, TreeWeights)
    coordinate = policy.schema_.feature_of_coordinate().index(name)
    [column] = np.flatnonzero(inputs.coordinate == coordinate).tolist()
    seen = policy.inputs_of(row, policy.unknown).astype(np.float32)
    reached = np.array(sorted({cut for tree in weights.trees for cut in _reached(tree, column, seen)}))
    if not reached.size:
        return reached
    offset, scale = (part[coordinate] for part in policy.schema_.affine())
    found: Floats = np.unique(offset + scale * (reached - inputs.offset[column]) / inputs.scale[column])
    return found


def _reached(tree: Any, column: int, seen: NDArray[np.float32]) -> Iterator[float]:
    """Yield the thresholds on a column that contexts reach which differ from `seen` in that column alone."""
    left, right, feature, threshold = tree.children_left, tree.children_right, tree.feature, tree.threshold
    waiting = [0]
    while waiting:
        node = waiting.pop()
        while left[node] >= 0:
            asked = feature[node]
            if asked == column or np.isnan(seen[asked]):
                if asked == column:
                    yield float(threshold[node])
                waiting.append(int(right[node]))
                node = left[node]
            else:
                node = left[node] if seen[asked] <= threshold[node] else right[node]


# ---- verdicts -------------------------------------------------------------------------------------------------------


class _Judge:
    """Says for contexts which of the decision, an alternative and all other plans is best."""

    def __init__(self, policy: Policy, row: pd.Series, plans: Sequence[Any], until: float) -> None:
        self.policy, self.row, self.plans = policy, row, plans
        self.moving = policy.weights_.capabilities.forecasts
        self.until = until  # by the processor time of this thread
        # What every plan costs in every past observation: the two that are compared, and others that came up.
        self.costs = [] if self.moving else [self._costs(plan, policy.Y_) for plan in plans]

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
        weights, place = _distinct(self.policy.weights_.weights(seen))
        two = len(self.plans)
        paid = np.array([self._risks(costs, weights) for costs in self.costs])
        least = paid[:two].min(axis=0)
        limit = least - NEAR * np.abs(least) - ROUNDING * np.abs(least)
        best = paid.min(axis=0)
        settled = best < limit
        for i in np.flatnonzero(~settled):
            if best[i] >= limit[i]:
                if time.thread_time() > self.until:
                    continue
                plan, best[i] = self._solved(weights[i], self.policy.Y_)
                settled[i] = True
                if best[i] < limit[i] and len(self.costs) < KEPT:
                    # The new plan may be the better one in other cells as well: these need not be solved.
                    self.costs.append(self._costs(plan, self.policy.Y_))
                    rest = np.flatnonzero((best >= limit) & ~settled)
                    best[rest] = np.minimum(best[rest], self._risks(self.costs[-1], weights[rest]))
            else:
                settled[i] = True
        return self._told(paid[:two], best < limit, settled)[:, place]

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

    def _risks(self, costs: Floats, weights: Floats) -> Floats:
        """Return the risk of the same costs under each row of weights."""
        risk = self.policy.risk_
        values = risk.values(costs)
        if risk.tail is None and values is not None:
            return np.asarray(weights @ values)
        return np.array(risk.of_each(costs, list(weights)))

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


def _distinct(rows: Floats) -> tuple[Floats, Ints]:
    """Return the rows without those that came before, and which of them each row is."""
    known: dict[bytes, int] = {}
    place = np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.int64)
    return rows[np.unique(place, return_index=True)[1]], place


def _entries(policy: Policy, name: str, value: Any) -> dict[str, Any]:
    """Return what the user's columns hold where a feature has a value."""
    feature = policy.schema_.kind(name)
    if isinstance(feature, Date):
        return {feature.column or name: pd.Timestamp(value)}
    if isinstance(feature, Categorical) and feature.columns is not None:
        levels = list(feature.categories or policy.schema_.levels(name))
        return {column: int(i == levels.index(value)) for i, column in enumerate(feature.columns)}
    return {name: value}
