"""A small tree over contexts with one plan a leaf, grown for what its plans cost under the policy's own weights."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.features.kinds import Binary, Categorical, Continuous, Discrete
from whence.util.aliases import Floats

if TYPE_CHECKING:
    from whence.policy import Policy

Rows = NDArray[np.intp]
#: A split must save at least this share of the cost.
WORTH = 1e-9
#: Past contexts, and different plans of the policy there, that a tree is grown on, at most.
CONTEXTS, PLANS = 1_000, 60
#: Outcomes that a plan is made for where every context has its own forecast.
SCENARIOS = 2_000


@dataclass(frozen=True)
class Condition:
    """What must hold of one feature: above `low` and up to `high`, or one of some categories."""

    feature: str
    low: float = -math.inf
    high: float = math.inf
    among: tuple[Any, ...] | None = None

    def holds(self, value: Any) -> bool:
        """Whether a value keeps it."""
        return value in self.among if self.among is not None else self.low < float(value) <= self.high

    def narrowed(self, other: Condition) -> Condition:
        """Both conditions on the same feature as one."""
        if self.among is not None and other.among is not None:
            return Condition(self.feature, among=tuple(one for one in self.among if one in other.among))
        return Condition(self.feature, max(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True)
class Leaf:
    """Contexts that share conditions, and the plan for them."""

    conditions: Mapping[str, Condition]
    rows: Rows
    #: Which of the known plans, and what it costs on these rows in all.
    plan: int
    cost: float


@dataclass(frozen=True)
class Axis:
    """A feature that a tree may ask for: numbers, or the numbers of its categories."""

    name: str
    values: Floats
    levels: tuple[Any, ...] | None


def axes_of(policy: Policy, X: pd.DataFrame) -> list[Axis]:
    """The features that a tree may ask for: numbers and categories without gaps."""
    found = []
    for name in policy.schema_.names:
        if name not in X.columns or policy.X_[name].isna().any():
            continue
        kind = policy.schema_.kind(name)
        if isinstance(kind, Categorical | Binary):
            # Categories that were declared and never seen keep a rule, too: that of those that are left over.
            levels = tuple(dict.fromkeys([*policy.X_[name].tolist(), *policy.schema_.categories(name)]))
            number = {level: float(i) for i, level in enumerate(levels)}
            values = np.array([number.get(value, -1.0) for value in X[name].tolist()])
            found.append(Axis(name, values, levels))
        elif isinstance(kind, Continuous | Discrete):
            found.append(Axis(name, X[name].to_numpy(dtype=np.float64), None))
    return found


class PlanCosts:
    """What plans cost in past contexts under the policy's own weights, and what its own decisions cost there."""

    def __init__(self, policy: Policy, most: int, deadline: float) -> None:
        began = time.perf_counter()
        self.policy = policy
        n = len(policy.X_)
        wanted = np.unique(np.linspace(0, n - 1, min(most, n)).astype(int))
        # Far apart first, so that a time limit leaves contexts from all over the history.
        order = np.random.default_rng(0).permutation(wanted.size)
        best: list[float] = []
        plans: list[Any] = []
        kept: list[int] = []
        self.inputs: list[Floats] = []
        for i in wanted[order].tolist():
            row = policy.schema_.row(policy.X_.iloc[i])
            made = policy.decision_in(row)
            self.inputs.append(policy.inputs_of(row, policy.unknown))
            kept.append(i)
            best.append(made.cost)
            plans.append(made.plan)
            # The other half of the time is for what plans cost.
            if time.perf_counter() - began > 0.5 * (deadline - began) and len(kept) >= 2:
                break
        self.rows = np.array(kept, dtype=np.intp)
        self.least: Floats = np.array(best)
        self.contexts = policy.X_.iloc[self.rows]
        self.weights = policy.weights_in(self.contexts)
        self.plans: list[Any] = []
        #: What every plan costs under every past outcome; none where every context has its own forecast.
        self.samples: list[Floats] = []
        self._keys: dict[bytes, int] = {}
        self.matrix: Floats = np.empty((self.rows.size, 0))
        known: dict[bytes, Any] = {self._key(plan): plan for plan in plans}
        every = list(known.values())
        self.add(self.own(np.arange(self.rows.size)))
        for i in np.random.default_rng(0).permutation(len(every))[:PLANS]:
            if time.perf_counter() > deadline:
                break
            self.add(every[int(i)])

    def _key(self, plan: Any) -> bytes:
        try:
            return self.policy.problem.vector(plan).tobytes()
        except (TypeError, ValueError, OverflowError):
            return repr(plan).encode()

    def add(self, plan: Any) -> int:
        """The number of a plan, with what it costs in every context."""
        key = self._key(plan)
        if key not in self._keys:
            self._keys[key] = len(self.plans)
            self.plans.append(plan)
            self.matrix = np.column_stack([self.matrix, self.column(plan)])
        return self._keys[key]

    def column(self, plan: Any) -> Floats:
        """What a plan costs in every context."""
        policy, risk = self.policy, self.policy.risk_
        if policy.weights_.capabilities.forecasts:
            found = []
            for i in range(self.rows.size):
                costs = policy.problem.costs(plan, policy.weights_.outcomes(self.inputs[i], policy.Y_))
                found.append(risk.of(costs, np.full(costs.size, 1.0 / costs.size)))
            return np.array(found)
        costs = np.asarray(policy.problem.costs(plan, policy.Y_), dtype=np.float64)
        self.samples.append(costs)
        values = risk.values(costs)
        if risk.tail is None and values is not None:
            return np.asarray(self.weights @ values)
        return np.array(risk.of_each(costs, self.weights.toarray()))

    def others(self, plan: int, rows: Rows) -> Iterator[int]:
        """Those of some past contexts that were not looked at: of many at a time first where a plan seems worst."""
        found = np.random.default_rng(0).permutation(np.setdiff1d(rows, self.rows))
        for begins in range(0, found.size, CONTEXTS):
            part = found[begins : begins + CONTEXTS]
            if self.samples:
                mean = np.asarray(self.policy.weights_in(self.policy.X_.iloc[part]) @ np.column_stack(self.samples))
                least = mean.min(axis=1)
                part = part[np.argsort((least - mean[:, plan]) / np.maximum(np.abs(least), 1e-300), kind="stable")]
            yield from part.tolist()

    def own(self, rows: Rows) -> Any:
        """The plan that is best for the mean weights of some contexts, or for some of what forecasts say of each."""
        policy = self.policy
        outcomes, weights = policy.Y_, np.asarray(self.weights[rows].mean(axis=0)).ravel()
        if policy.weights_.capabilities.forecasts:
            rng, size = np.random.default_rng(0), min(len(outcomes), max(1, SCENARIOS // rows.size))
            drawn = [
                policy.weights_.outcomes(self.inputs[i], policy.Y_)[rng.choice(len(policy.Y_), size, replace=False)]
                for i in rows
            ]
            outcomes, weights = np.concatenate(drawn), np.ones(rows.size * size)
        return policy.problem.solve(outcomes, weights / weights.sum(), policy.risk_)


@dataclass
class Grown:
    """Trees with one leaf, two leaves and so on, each the one before it with a leaf that is split."""

    trees: list[list[Leaf]] = field(default_factory=list)

    def with_leaves(self, count: int) -> list[Leaf]:
        """The tree with this many leaves, or the largest one."""
        return self.trees[min(count, len(self.trees)) - 1]


def grow(costs: PlanCosts, axes: Sequence[Axis], up_to: int, min_share: float, deadline: float) -> Grown:
    """The best leaf to split is split where that saves most, until there are `up_to` leaves or nothing is saved."""
    least = max(1, math.ceil(min_share * costs.rows.size))
    every = np.arange(costs.rows.size)
    leaves = [_leaf(costs, {}, every)]
    splits: dict[int, tuple[float, Condition, Condition] | None] = {}
    grown = Grown([list(leaves)])
    while len(leaves) < up_to and time.perf_counter() < deadline:
        for leaf in leaves:
            if id(leaf) not in splits:
                splits[id(leaf)] = _best_split(costs.matrix, axes, leaf, least)
        open_ = [(found[0], i) for i, leaf in enumerate(leaves) if (found := splits[id(leaf)]) is not None]
        if not open_:
            break
        gain, i = max(open_)
        if gain <= WORTH * max(1e-300, abs(leaves[i].cost)):
            break
        split = splits[id(leaves[i])]
        assert split is not None
        parent = leaves[i]
        halves = [_with(parent, condition, axes) for condition in split[1:]]
        made = [_leaf(costs, conditions, rows, parent.plan) for conditions, rows in halves]
        # Kept where they were, so that rules read as the tree does: left before right.
        leaves = [*leaves[:i], *made, *leaves[i + 1 :]]
        grown.trees.append(list(leaves))
    return grown


def _leaf(costs: PlanCosts, conditions: Mapping[str, Condition], rows: Rows, parent: int | None = None) -> Leaf:
    """A leaf with the best of the known plans, its parent's and its own optimum."""
    costs.add(costs.own(rows))
    totals = costs.matrix[rows].sum(axis=0)
    plan = int(totals.argmin())
    if parent is not None and totals[parent] <= totals[plan]:
        plan = parent
    return Leaf(conditions, rows, plan, float(totals[plan]))


def _with(leaf: Leaf, condition: Condition, axes: Sequence[Axis]) -> tuple[dict[str, Condition], Rows]:
    axis = next(one for one in axes if one.name == condition.feature)
    known = leaf.conditions.get(condition.feature)
    joined = condition if known is None else known.narrowed(condition)
    return {**leaf.conditions, condition.feature: joined}, leaf.rows[_inside(axis, condition, leaf.rows)]


def _inside(axis: Axis, condition: Condition, rows: Rows) -> NDArray[np.bool_]:
    values = axis.values[rows]
    if condition.among is not None and axis.levels is not None:
        return np.isin(values, [float(axis.levels.index(one)) for one in condition.among])
    return (values > condition.low) & (values <= condition.high)


def _best_split(
    matrix: Floats, axes: Sequence[Axis], leaf: Leaf, least: int
) -> tuple[float, Condition, Condition] | None:
    """What a split of a leaf saves, and both of its conditions; None where every split leaves too few rows."""
    best: tuple[float, Condition, Condition] | None = None
    for axis in axes:
        tried = _category_splits if axis.levels is not None else _number_splits
        for cost, left, right in tried(matrix[leaf.rows], axis, leaf, least):
            gain = leaf.cost - cost
            if best is None or gain > best[0]:
                best = gain, left, right
    return best


def _number_splits(costs: Floats, axis: Axis, leaf: Leaf, least: int) -> Iterator[tuple[float, Condition, Condition]]:
    values = axis.values[leaf.rows]
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    upto = np.cumsum(costs[order], axis=0)
    count = np.arange(1, ordered.size + 1)
    cut = np.flatnonzero((ordered[:-1] < ordered[1:]) & (count[:-1] >= least) & (ordered.size - count[:-1] >= least))
    if not cut.size:
        return
    both = upto[cut].min(axis=1) + (upto[-1] - upto[cut]).min(axis=1)
    at = int(both.argmin())
    threshold = round_between(float(ordered[cut[at]]), float(ordered[cut[at] + 1]))
    yield float(both[at]), Condition(axis.name, high=threshold), Condition(axis.name, low=threshold)


def _category_splits(costs: Floats, axis: Axis, leaf: Leaf, least: int) -> Iterator[tuple[float, Condition, Condition]]:
    """One category against the rest, and as many more with it as save something further."""
    values = axis.values[leaf.rows]
    levels = [int(level) for level in np.unique(values) if level >= 0]
    if len(levels) < 2 or axis.levels is None:
        return
    sums = {level: costs[values == level].sum(axis=0) for level in levels}
    counts = {level: int((values == level).sum()) for level in levels}
    total, size = costs.sum(axis=0), leaf.rows.size

    def cost(chosen: Sequence[int]) -> float:
        inside = np.sum([sums[level] for level in chosen], axis=0)
        return float(inside.min() + (total - inside).min())

    chosen: list[int] = []
    best: tuple[float, list[int]] | None = None
    while len(chosen) < len(levels) - 1:
        added = min((level for level in levels if level not in chosen), key=lambda level: cost([*chosen, level]))
        chosen = [*chosen, added]
        inside = sum(counts[level] for level in chosen)
        if inside >= least and size - inside >= least and (best is None or cost(chosen) < best[0]):
            best = cost(chosen), chosen
    if best is not None:
        # All levels that the schema knows are on one side or the other, also those that no row of the leaf has.
        left = tuple(axis.levels[level] for level in sorted(best[1]))
        right = tuple(one for one in axis.levels if one not in left)
        yield best[0], Condition(axis.name, among=left), Condition(axis.name, among=right)


def round_between(low: float, high: float) -> float:
    """Return the number with fewest digits that is at least `low` and below `high`, near their middle if there are two.

    Examples
    --------
    >>> round_between(17.83, 18.21), round_between(3.0, 4.0), round_between(0.12, 0.13)
    (18.0, 3.0, 0.12)
    """
    middle = 0.5 * (low + high)
    for digits in range(-8, 16):
        for found in (round(middle, digits), round(low, digits)):
            if low <= found < high:
                return float(found)
    return low


def holds_in(conditions: Mapping[str, Condition], context: Any) -> bool:
    """Whether a context keeps all conditions."""
    return all(one.holds(context[name]) for name, one in conditions.items())
