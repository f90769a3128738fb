"""Some plan costs no more than a rival: as rows, for one plan or some plan of a set, the expected cost and CVaR.

Where plans are listed, each has a binary; under CVaR, each pair of a plan and a level does, since the CVaR of a plan is
the least, over levels, of the level plus the mean excess over it divided by the tail. A route is a flow of binaries,
and quantities are chosen one by one among their breakpoints. Of any other set it is only said that its best plan costs
at least as much as the best plans of the leaves, or neighbours, each by itself: what that lets through is judged by the
set's own `solve`, and cut off where it fails.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from whence.errors import InputError
from whence.milp.model import Columns, Linear, Model, Row, scaled
from whence.milp.weighting import Parts, Weighting, w_max
from whence.problems.base import Stock
from whence.question import Question
from whence.util.aliases import Floats
from whence.util.linear_program import check_time, until


class Criterion(ABC):
    """What an integer program asks of the alternative; under CVaR each rival needs a flow of its own."""

    flows: Flows | None = None

    def reserve(self, sets: int) -> None:
        """Add the variables that `sets` further rivals will need."""
        if self.flows is not None:
            self.flows.spare += [self.flows.made() for _ in range(sets)]

    def spare(self) -> bool:
        """Return whether the next rival's rows need no new variables."""
        return self.flows is None or bool(self.flows.spare)

    @abstractmethod
    def against(self, rival: Floats) -> list[Row]:
        """The rows that say: the plan costs at most tau more than one with the sample costs `rival`."""


class Flows:
    """Flows that fill the tail, each at most the weights: it costs at most the CVaR of the rival that it stands for."""

    def __init__(self, model: Model, weighting: Weighting, tail: float, ceilings: Floats) -> None:
        self.model, self.weights, self.tail, self.ceilings = model, weighting.columns, tail, ceilings
        self.spare: list[Columns] = []

    def taken(self) -> Columns:
        """Return the variables of one flow: of those reserved, or new ones."""
        return self.spare.pop() if self.spare else self.made()

    def made(self) -> Columns:
        """Return the variables of one more flow."""
        n = self.weights.size
        flow = self.model.variables(n, 0.0, self.ceilings)
        self.model.row(Linear(flow, np.ones(n)), self.tail, self.tail)
        self.model.pairs(flow, self.weights)
        return flow


class PricedFlows(Flows):
    """Flows, each with a last variable that holds what it costs."""

    def made(self) -> Columns:
        """Return the variables of one more flow, and that of its cost."""
        flow = super().made()
        return np.append(flow, self.model.variables(1, -1.0, 1.0))

    def limit(self, rival: Floats) -> tuple[Linear, Row]:
        """Return what a rival with these sample costs is held to cost, and the row that sees to it."""
        columns = self.taken()
        flow, cost = columns[:-1], columns[-1:]
        largest = max(float(np.abs(rival).max()), 1e-300)
        # In units of its largest cost, so that no number of the row is large.
        held = Linear(cost, np.full(1, -self.tail)) + Linear(flow, rival / largest)
        return Linear(cost, np.full(1, largest)), Row(held, 0.0, 0.0)


def criterion_of(model: Model, weighting: Weighting, question: Question, how: str) -> Criterion:
    """Return the criterion that belongs to the question's risk measure; `how` the weights are bounded (see `w_max`)."""
    tail = question.claim.risk.tail
    if tail is None:
        return ExpectedCost(weighting, question)
    return TailCost(model, weighting, question, tail, w_max(question.weights, how))


class ExpectedCost(Criterion):
    """Expected cost: the weighted mean of the cost differences, without any variables of its own."""

    def __init__(self, weighting: Weighting, question: Question) -> None:
        self.weighting, self.question = weighting, question

    def against(self, rival: Floats) -> list[Row]:
        return [self.weighting.at_most(self.question.claim.alternative - rival, self.question.claim.tau)]


class TailCost(Criterion):
    """CVaR: flows that fill the tail with the largest costs.

    The alternative's flow must be the right one (ordered binaries see to that). A rival's flow may be any that
    fills the tail: every such flow costs at most the rival's CVaR, so that none of them accepts too much.
    """

    flows: Flows

    def __init__(self, model: Model, weighting: Weighting, question: Question, tail: float, ceilings: Floats) -> None:
        self.model, self.question = model, question
        self.flows = Flows(model, weighting, tail, ceilings)
        # Both flows have the same mass: a constant in all costs cancels, and small numbers are safer.
        self.base = float(question.claim.alternative.min())
        self.alternative = self._ordered_tail()

    def against(self, rival: Floats) -> list[Row]:
        limit = Linear(self.flows.taken(), rival - self.base)
        return [scaled(self.alternative - limit, self.question.claim.tau * self.flows.tail)]

    def _ordered_tail(self) -> Linear:
        """Return the cost of the alternative's tail: its flow follows the order of the costs, the last sample split."""
        costs = self.question.claim.alternative
        order = np.argsort(-costs, kind="stable")
        n = order.size
        flow = self.flows.made()[order]
        weights, most = self.flows.weights[order], self.flows.ceilings[order]
        full = self.model.variables(n, integer=True)
        self.model.pairs(full[1:], full[:-1])
        # full[i]: sample i lies wholly in the tail. Whoever follows one that does not carries nothing.
        self.model.pairs(flow[1:], full[:-1], -most[1:])
        at = np.tile(np.arange(n), 3)
        columns = np.concatenate((weights, flow, full))
        self.model.rows(at, columns, np.concatenate((np.ones(n), -np.ones(n), most)), -np.inf, most, n)
        return Linear(flow, costs[order] - self.base)


def add_dual(model: Model, weighting: Weighting, question: Question, linear: Any) -> None:
    """Add rows that hold exactly where the alternative is optimal, within tau and the share that the question allows.

    For plans in ``{z : A_ub z <= b_ub, A_eq z = b_eq, lower <= z <= upper}`` and the weighted cost vector d, the
    multipliers mu <= 0, nu, low >= 0 and high <= 0 with ``A_ub' mu + A_eq' nu + low + high = d`` prove that no plan
    costs less than ``b_ub' mu + b_eq' nu + lower' low + upper' high``; some of them prove the optimum. `linear` holds
    the :class:`~whence.problems.linear.Polytope`, the cost vectors of the past observations, and the alternative.
    """
    polytope, costs, plan = check_dual(question, linear)
    size = float(np.abs(costs).max(initial=0.0)) or 1.0
    low, high = np.isfinite(polytope.lower), np.isfinite(polytope.upper)
    multipliers = [
        (polytope.A_ub, polytope.b_ub, -np.inf, 0.0),
        (polytope.A_eq, polytope.b_eq, -np.inf, np.inf),
        (sparse.eye_array(low.size, format="csr")[np.flatnonzero(low)], polytope.lower[low], 0.0, np.inf),
        (sparse.eye_array(high.size, format="csr")[np.flatnonzero(high)], polytope.upper[high], -np.inf, 0.0),
    ]
    held, limits = [], []
    for rows, limit, least, most in multipliers:
        limits.append(np.asarray(limit, dtype=np.float64))
        held.append((sparse.csr_array(rows), model.variables(limits[-1].size, least, most)))
    columns = np.concatenate([at for _, at in held])
    together = sparse.csc_array(sparse.vstack([rows for rows, _ in held]))
    for j, price in enumerate(weighting.means(costs / size)):
        part = slice(together.indptr[j], together.indptr[j + 1])
        model.row(Linear(columns[together.indices[part]], together.data[part]) - price, 0.0, 0.0)
    proved = Linear(columns, np.concatenate(limits)) * (1.0 + question.claim.within)
    model.add(scaled(weighting.mean(costs @ plan / size) - proved, question.claim.tau / size))


def check_dual(question: Question, linear: Any) -> tuple[Any, Floats, Floats]:
    """Return the parts of `linear`, or one sentence on why no dual certifies the alternative."""
    risk = question.claim.risk
    if risk.tail is not None:
        raise InputError(f"method='dual' needs the expected cost as risk. Got {risk!r} instead: use 'iterative'.")
    if linear is None:
        raise InputError(
            "method='dual' needs a linear decision problem, such as LinearProblem or ShortestPath: use 'iterative'."
        )
    polytope, costs, plan = linear
    if np.asarray(polytope.integrality).any():
        raise InputError(
            "method='dual' needs plans without whole-number variables, whose optimality no dual can certify: "
            "use 'iterative'."
        )
    return polytope, np.asarray(costs, dtype=np.float64), np.asarray(plan, dtype=np.float64)


#: Plans of a set, at most, and pairs of a plan and a level: each of them has a row against every rival.
LISTED, PAIRS = 400, 2_000
#: Numbers in the rows of a set, at most; a larger one is bounded as if nothing were known but its `solve`.
NUMBERS = 4_000_000
#: By how much sums of weights may miss a tail by rounding.
ROUNDING = 1e-9


def check_set(question: Question) -> None:
    """Refuse what the integer program cannot express of a set of plans."""
    if question.claim.kind == "absolute" and question.settings.options.get("method") == "dual":
        raise InputError("'method' must be 'iterative' or 'lazy' for a set of plans. Got 'dual' instead.")


def about_set(question: Question) -> Question:
    """Return the question whose `better` is a plan that beats the whole set."""
    assert question.claim.plans is not None
    if question.claim.kind != "absolute":
        return question
    return question.refuted_by(question.claim.plans.beaten(question.claim.risk, question.claim.tau))


def set_criterion(model: Model, weighting: Weighting, question: Question, how: str) -> Criterion:
    """Return what the model asks of the set; `how` the weights are bounded (see `w_max`)."""
    plans, tail = question.claim.plans, question.claim.risk.tail
    assert plans is not None
    rows = plans.every(LISTED)
    if tail is None:
        if rows is not None:
            return SomePlan(model, weighting, question, rows)
        return Chosen(weighting, question, _chosen_cost(model, weighting, question))
    ceilings = w_max(question.weights, how)
    pairs = None if rows is None else _levels(rows, tail, ceilings)
    flows = PricedFlows(model, weighting, tail, ceilings)
    if pairs is None:
        return Chosen(weighting, question, _chosen_cost(model, weighting, question), flows)
    return SomeLevel(model, weighting, question, pairs, flows)


def _chosen_cost(model: Model, weighting: Weighting, question: Question) -> Linear:
    """Return the cost of a plan that the model chooses from a set that is not listed."""
    plans = question.claim.plans
    assert plans is not None
    # What is less by an amount is not linear in the plan.
    stock, given = plans.stock, None if question.claim.allowance else plans.linear
    linear = None if given is None else given()
    if question.claim.risk.tail is None and stock is not None and stock.demand.size * stock.demand.shape[0] <= NUMBERS:
        return _some_quantities(model, weighting, stock)
    if linear is not None:
        found = linear_cost(model, weighting, *linear, question.claim.risk.tail)
        if found is not None:
            return found
    return _solved_alone(weighting, question)


class SomePlan(Criterion):
    """Expected cost of some plan of a list: that which is chosen costs no more than any rival."""

    def __init__(self, model: Model, weighting: Weighting, question: Question, rows: Floats) -> None:
        self.rows, self.weighting, self.tau = rows, weighting, question.claim.tau
        self.chosen = model.variables(len(rows), integer=True)
        model.row(Linear(self.chosen, np.ones(len(rows))), 1.0, 1.0)

    def against(self, rival: Floats) -> list[Row]:
        found = []
        for z, row in enumerate(self.rows):
            difference = row - rival
            # Weights add up to 1: no mean is larger than the largest difference, so that others are free to be.
            most = float(difference.max())
            if most > self.tau:
                free = Linear(self.chosen[z : z + 1], np.array([most - self.tau]))
                found.append(scaled(self.weighting.mean(difference) + free, most))
        return found


class Chosen(Criterion):
    """Risk of the best plan of a set, as an expression that is at most that; without flows its expected cost."""

    flows: PricedFlows | None

    def __init__(
        self, weighting: Weighting, question: Question, cost: Linear, flows: PricedFlows | None = None
    ) -> None:
        self.weighting, self.tau, self.cost, self.flows = weighting, question.claim.tau, cost, flows

    def against(self, rival: Floats) -> list[Row]:
        if self.flows is None:
            return [scaled(self.cost - self.weighting.mean(rival), self.tau)]
        limit, row = self.flows.limit(rival)
        return [row, scaled(self.cost - limit, self.tau)]


class SomeLevel(Criterion):
    """CVaR of some plan of a list: the pair of a plan and a level that is chosen costs no more than any rival."""

    flows: PricedFlows

    def __init__(
        self, model: Model, weighting: Weighting, question: Question, pairs: Floats, flows: PricedFlows
    ) -> None:
        self.pairs, self.weighting, self.tau, self.flows = pairs, weighting, question.claim.tau, flows
        self.chosen = model.variables(len(pairs), integer=True)
        model.row(Linear(self.chosen, np.ones(len(pairs))), 1.0, 1.0)

    def against(self, rival: Floats) -> list[Row]:
        limit, row = self.flows.limit(rival)
        found, least = [row], float(rival.min())
        for z, pair in enumerate(self.pairs):
            # No mean is larger than the largest value, no flow cheaper than the smallest cost: others are free to be.
            most = float(pair.max()) - least
            if most > self.tau:
                free = Linear(self.chosen[z : z + 1], np.array([most - self.tau]))
                found.append(scaled(self.weighting.mean(pair) - limit + free, most))
        return found


def _levels(rows: Floats, tail: float, ceilings: Floats) -> Floats | None:
    """What each observation counts for, by plan and by level at which its tail can begin; None if they are too many."""
    found: list[Floats] = []
    for costs in rows:
        levels = np.unique(costs)
        beyond = np.array([float(ceilings[costs >= level].sum()) for level in levels])
        levels = levels[beyond >= tail - ROUNDING]
        found.extend(level + np.maximum(costs - level, 0.0) / tail for level in levels)
        if len(found) > PAIRS:
            return None
    return np.array(found)


def _some_quantities(model: Model, weighting: Weighting, stock: Stock) -> Linear:
    """Expected cost of quantities, each at one of its breakpoints; a budget is left to who judges the plan."""
    total = []
    for j, demand in enumerate(stock.demand.T):
        points = np.unique(np.clip(demand, stock.lower[j], stock.upper[j]))
        over = points[:, None] - demand[None, :]
        costs = np.maximum(stock.holding[j] * over, -stock.backorder[j] * over)
        largest = max(float(costs.max()), 1e-300)
        costs = costs / largest
        chosen = model.variables(points.size, integer=True)
        model.row(Linear(chosen, np.ones(points.size)), 1.0, 1.0)
        paid = model.variables(1)
        for k, mean in enumerate(weighting.means(costs.T)):
            most = float(costs[k].max())
            free = Linear(chosen[k : k + 1], np.array([most]))
            model.add(scaled(mean + free - Linear(paid, np.ones(1)), most))
        total.append(Linear(paid, np.full(1, largest)))
    return Linear.sum(total)


def _solved_alone(weighting: Weighting, question: Question) -> Linear:
    """What the best plans of the leaves, or the neighbours, cost, each solved by itself: never more than the best plan.

    The least cost over a set is concave and grows in proportion with the weights, so that the one for a sum of weights
    is at least the sum of those for its parts.
    """
    plans, risk = question.claim.plans, question.claim.risk
    assert plans is not None

    def least(weights: Floats) -> float:
        check_time()
        return risk.of(plans.best(weights), weights)

    with until(question.limits.ends):
        return weighting.by_parts(least)


#: Numbers in the copies of a plan, at most.
COPIED_NUMBERS = 400_000


def linear_cost(model: Model, weighting: Weighting, polytope: Any, costs: Floats, tail: float | None) -> Linear | None:
    """The cost of a plan of the polytope that the model chooses; None where plans have no bounds, or are too large.

    Of the past observations `costs` holds the cost vectors, a row each. Whole numbers other than 0 and 1 are not asked
    to be whole: that is for the judge.
    """
    bounds = _bounds(polytope)
    if bounds is None:
        return None
    lower, width = bounds[0], bounds[1] - bounds[0]
    binary = polytope.integrality & (lower == 0.0) & (width <= 1.0)
    largest = max(float(np.abs(costs).max()), 1e-300)
    if tail is None and binary.all():
        plan = _plan(model, polytope, lower, width, binary)
        return _edge_by_edge(model, weighting, plan, width, costs / largest) * largest
    parts = weighting.parts()
    if parts.columns.size * lower.size + (0 if tail is None else parts.shares.nnz) > COPIED_NUMBERS:
        return None
    plan = _plan(model, polytope, lower, width, binary)
    copies = _copies(model, parts, plan)
    base, slope = costs @ lower / largest, costs * width / largest
    if tail is None:
        constant, rows = parts.shares @ base, parts.shares @ slope
        return (Linear(parts.columns, constant) + Linear(copies.ravel(), np.asarray(rows).ravel())) * largest
    return _tail_cost(model, parts, copies, base, slope, tail) * largest


def _bounds(polytope: Any) -> tuple[Floats, Floats] | None:
    """Return bounds on every variable of a plan; None where there are none."""
    lower, upper = polytope.lower.astype(float).copy(), polytope.upper.astype(float).copy()
    for at, sign in ((lower, 1.0), (upper, -1.0)):
        for j in np.flatnonzero(~np.isfinite(at)).tolist():
            goal = np.zeros(lower.size)
            goal[j] = sign
            found = linprog(
                goal,
                A_ub=polytope.A_ub if polytope.b_ub.size else None,
                b_ub=polytope.b_ub if polytope.b_ub.size else None,
                A_eq=polytope.A_eq if polytope.b_eq.size else None,
                b_eq=polytope.b_eq if polytope.b_eq.size else None,
                bounds=np.column_stack([polytope.lower, polytope.upper]),
            )
            if found.status != 0:
                return None
            # What a solver misses the bound by must not cut off a plan.
            at[j] = sign * (float(found.fun) - 1e-6 * max(1.0, abs(float(found.fun))))
    return lower, upper


def _plan(model: Model, polytope: Any, lower: Floats, width: Floats, binary: Any) -> Columns:
    """Return variables from 0 to 1, between the bounds of a plan, that keep the rows of the polytope."""
    plan = model.variables(lower.size, 0.0, np.where(width > 0.0, 1.0, 0.0), integer=binary)
    for rows, limit, least in ((polytope.A_ub, polytope.b_ub, -np.inf), (polytope.A_eq, polytope.b_eq, None)):
        given = sparse.csr_array(rows)
        for i, most in enumerate(np.asarray(limit, dtype=float).tolist()):
            part = slice(given.indptr[i], given.indptr[i + 1])
            at, numbers = given.indices[part], given.data[part]
            row = Linear(plan[at], numbers * width[at], float(numbers @ lower[at]) - most)
            size = max(float(np.abs(row.coefficients).max(initial=0.0)), 1e-300)
            model.row(row * (1.0 / size), 0.0 if least is None else least, 0.0)
    return plan


def _edge_by_edge(model: Model, weighting: Weighting, plan: Columns, width: Floats, costs: Floats) -> Linear:
    """Expected cost of a plan of 0 and 1: what is taken costs what it does in the context, and nothing else does."""
    some = np.flatnonzero(width > 0.0)
    low, high = costs[:, some].min(axis=0), costs[:, some].max(axis=0)
    paid = model.variables(some.size, np.minimum(low, 0.0), np.maximum(high, 0.0))
    for k, mean in enumerate(weighting.means(costs[:, some])):
        taken, cost = Linear(plan[some[k] : some[k] + 1], np.ones(1)), Linear(paid[k : k + 1], np.ones(1))
        model.add(scaled(mean + taken * float(high[k]) - cost, float(high[k])))
        model.add(scaled(taken * float(low[k]) - cost, 0.0))
    return Linear(paid, np.ones(some.size))


def _copies(model: Model, parts: Parts, numbers: Columns) -> Columns:
    """For every part a copy of these variables from 0 to 1 that is 0 where the part is not met; one row per part."""
    count, size = parts.columns.size, numbers.size
    copies = model.variables(count * size).reshape(count, size)
    met = np.repeat(parts.columns, size)
    model.pairs(copies.ravel(), met)
    model.pairs(copies.ravel(), np.tile(numbers, count))
    for group in parts.groups:
        for j, own in enumerate(copies[group].T):
            total = Linear(own, np.ones(own.size)) - Linear(numbers[j : j + 1], np.full(1, float(parts.met)))
            model.row(total, 0.0, 0.0)
    return copies


def _tail_cost(model: Model, parts: Parts, copies: Columns, base: Floats, slope: Floats, tail: float) -> Linear:
    """Return CVaR of a plan: a level, plus what the observations of the parts that are met cost beyond it."""
    low = float((base + np.minimum(slope, 0.0).sum(axis=1)).min())
    high = float((base + np.maximum(slope, 0.0).sum(axis=1)).max())
    spread = max(high - low, 1e-300)
    level = model.variables(1)
    levels = _copies(model, parts, level)
    given = parts.shares.tocoo()
    over = model.variables(given.nnz)
    for part, i, own in zip(given.row.tolist(), given.col.tolist(), over.tolist(), strict=True):
        # Beyond the level, in units of the spread; nothing where the part is not met.
        cost = Linear(copies[part], slope[i]) + Linear(parts.columns[part : part + 1], np.full(1, float(base[i] - low)))
        beyond = cost - Linear(levels[part], np.full(1, spread)) - Linear(np.array([own]), np.full(1, spread))
        model.add(scaled(beyond, 0.0))
    return Linear(level, np.full(1, spread), low) + Linear(over, spread * given.data / tail)
