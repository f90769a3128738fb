"""Why is it another plan than before: what every changed feature contributes, and which changes turn the decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import comb, factorial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from whence.checks import FUNCTION, POSITIVE, at_least
from whence.claims.plans import PlanBeats
from whence.engines import AUTO, engine_named
from whence.errors import InputTypeError
from whence.explain.plan_costs import sample_costs
from whence.features.space import Space
from whence.problems.base import cost_unit_of
from whence.question import Limits, Progress, Question
from whence.questions.comparison import Comparison
from whence.report.numbers import duration, value
from whence.util.aliases import Floats
from whence.weights import TreeWeights
from whence.weights.forecast_weights import ForecastWeights

if TYPE_CHECKING:
    from whence.policy import Decision, Policy

__all__ = ["MOST", "coalitions", "compare", "either_or", "shapley_of_table", "shapley_of_trees", "smallest_turning"]


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
    """What `policy` decides in two contexts, and what turned the one plan into the other."""
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
        """What either plan costs in either context."""
        return float(self.policy.risk_.of(self.costs[plan], self.made[at].weights))

    def worths(self, rows: Floats) -> list[float]:
        """What the plan before costs more than the plan after, or where they are the same what it costs."""
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
        """For rows of chosen players, which columns have the new value."""
        # Columns that do not differ belong to nobody, who is never chosen.
        nobody = np.zeros((len(chosen), 1), dtype=np.bool_)
        return np.hstack([chosen, nobody])[:, self.player]

    def told(self) -> Comparison:
        """Everything there is to say."""
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
        """The Shapley value of every feature that differs."""
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
        """The same from one walk through every tree, where the worth is a sum over trees."""
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
        """The smallest set of changes that turns the decision, and whether that is proved."""
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
        """The same where there are too many combinations: the nearest of the contexts that mix both."""
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
    """The players of a smallest coalition whose worth is at least ``-tau``, the most worthy one of that size.

    `worth` is in the order of :func:`whence.questions.compare.coalitions`; None where there is no such coalition.

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
    """The contexts that have the old or the new value of every feature; their distance counts the new ones.

    Parameters
    ----------
    old, new : ndarray
        Both contexts in coordinates.
    group : ndarray of int
        Coordinates with the same number >= 0 are the levels of one category.
    feature : sequence of str
        Name of the feature of every coordinate.
    """
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
    """Every coalition of this many players as a row: player j is in row i where bit j of i is set.

    Examples
    --------
    >>> coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    rows = np.arange(2**players)[:, None] >> np.arange(players)
    return (rows & 1).astype(np.bool_)


def shapley_of_table(worth: Floats) -> Floats:
    """Shapley values from the worth of every coalition, in the order of :func:`coalitions`.

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
    """Shapley values of a sum over trees, by one walk through every tree.

    Parameters
    ----------
    trees : sequence of Tree
        As scikit-learn lays them out.
    leaf_values : sequence of ndarray
        For every tree what each of its nodes is worth, of which only leaves count.
    rows : pair of ndarray
        The old and the new context as the trees see them.
    player : ndarray of int
        The player that each column belongs to, -1 for columns that do not differ.

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
