"""Some plan of a set costs no more than a rival plan: binaries choose the plan.

Where plans are listed, each has a binary; under CVaR, each pair of a plan and a level does, since the CVaR of a plan is
the least, over levels, of the level plus the mean excess over it divided by the tail. A route is a flow of binaries,
and quantities are chosen one by one among their breakpoints. Of any other set it is only said that its best plan costs
at least as much as the best plans of the leaves, or neighbours, each by itself: what that lets through is judged by the
set's own `solve`, and cut off where it fails.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whence.aliases import Floats
from whence.errors import InputError
from whence.milp.ceilings import w_max
from whence.milp.criteria import Criterion
from whence.milp.linear_sets import linear_cost
from whence.milp.model import Columns, Linear, Model, Row, scaled
from whence.milp.weighting import Weighting
from whence.problems._deadline import check_time, until
from whence.question import Question
from whence.question.plans import Stock

__all__ = ["about_set", "check_set", "set_criterion"]

#: Plans of a set, at most, and pairs of a plan and a level: each of them has a row against every rival.
LISTED, PAIRS = 400, 2_000
#: Numbers in the rows of a set, at most; a larger one is bounded as if nothing were known but its `solve`.
NUMBERS = 4_000_000
#: By how much sums of weights may miss a tail by rounding.
ROUNDING = 1e-9


def check_set(question: Question) -> None:
    """Refuse what the integer program cannot express of a set of plans."""
    if question.kind == "absolute" and question.options.get("method") == "dual":
        raise InputError(
            "'method' must be 'iterative' or 'lazy' for a set of plans. Got 'dual' instead.", parameter="method"
        )


def about_set(question: Question) -> Question:
    """The question whose `better` is a plan that beats the whole set."""
    assert question.plans is not None
    if question.kind != "absolute":
        return question
    return replace(question, better=question.plans.beaten(question.risk, question.tau))


def set_criterion(model: Model, weighting: Weighting, question: Question, how: str) -> Criterion:
    """What the model asks of the set; `how` the weights are bounded (see `w_max`)."""
    plans, tail = question.plans, question.risk.tail
    assert plans is not None
    rows = plans.every(LISTED)
    if tail is None:
        if rows is not None:
            return SomePlan(model, weighting, question, rows)
        return Chosen(weighting, question, _chosen_cost(model, weighting, question))
    ceilings = w_max(question.weights, how)
    pairs = None if rows is None else _levels(rows, tail, ceilings)
    flows = Flows(model, weighting, tail, ceilings)
    if pairs is None:
        return ChosenTail(question, _chosen_cost(model, weighting, question), flows)
    return SomeLevel(model, weighting, question, pairs, flows)


def _chosen_cost(model: Model, weighting: Weighting, question: Question) -> Linear:
    """The cost of a plan that the model chooses from a set that is not listed."""
    plans = question.plans
    assert plans is not None
    stock, linear = plans.stock, None if plans.linear is None else plans.linear()
    if question.risk.tail is None and stock is not None and stock.demand.size * stock.demand.shape[0] <= NUMBERS:
        return _some_quantities(model, weighting, stock)
    if linear is not None:
        found = linear_cost(model, weighting, *linear, question.risk.tail)
        if found is not None:
            return found
    return _solved_alone(weighting, question)


class NoVariables:
    """Part of a criterion whose rivals need no variables of their own."""

    def reserve(self, sets: int) -> None:
        """No rival needs variables of its own."""

    def spare(self) -> bool:
        """Whether the next rival's rows need no new variables."""
        return True


class SomePlan(NoVariables):
    """Expected cost of some plan of a list: that which is chosen costs no more than any rival."""

    def __init__(self, model: Model, weighting: Weighting, question: Question, rows: Floats) -> None:
        self.rows, self.weighting, self.tau = rows, weighting, question.tau
        self.chosen = model.variables(len(rows), integer=True)
        model.row(Linear(self.chosen, np.ones(len(rows))), 1.0, 1.0)

    def against(self, rival: Floats) -> list[Row]:
        """The rows that say: the plan that is chosen costs at most tau more than one with the sample costs `rival`."""
        found = []
        for z, row in enumerate(self.rows):
            difference = row - rival
            # Weights add up to 1: no mean is larger than the largest difference, so that others are free to be.
            most = float(difference.max())
            if most > self.tau:
                free = Linear(self.chosen[z : z + 1], np.array([most - self.tau]))
                found.append(scaled(self.weighting.mean(difference) + free, most))
        return found


class Chosen(NoVariables):
    """Expected cost of the best plan of a set, as an expression that is at most that and can be as little."""

    def __init__(self, weighting: Weighting, question: Question, cost: Linear) -> None:
        self.weighting, self.tau, self.cost = weighting, question.tau, cost

    def against(self, rival: Floats) -> list[Row]:
        """The row that says: the plan that is chosen costs at most tau more than one with the sample costs `rival`."""
        return [scaled(self.cost - self.weighting.mean(rival), self.tau)]


class Flows:
    """What rivals cost under CVaR: any flow that fills the tail costs at most that."""

    def __init__(self, model: Model, weighting: Weighting, tail: float, ceilings: Floats) -> None:
        self.model, self.weights, self.tail, self.ceilings = model, weighting.columns, tail, ceilings
        self.spare: list[tuple[Columns, Columns]] = []

    def reserve(self, sets: int) -> None:
        """Add the variables of so many further rivals."""
        self.spare += [self._variables() for _ in range(sets)]

    def limit(self, rival: Floats) -> tuple[Linear, Row]:
        """What a rival with these sample costs is held to cost, and the row that sees to it."""
        flow, cost = self.spare.pop() if self.spare else self._variables()
        largest = max(float(np.abs(rival).max()), 1e-300)
        # In units of its largest cost, so that no number of the row is large.
        held = Linear(cost, np.full(1, -self.tail)) + Linear(flow, rival / largest)
        return Linear(cost, np.full(1, largest)), Row(held, 0.0, 0.0)

    def _variables(self) -> tuple[Columns, Columns]:
        n = self.weights.size
        flow, cost = self.model.variables(n, 0.0, self.ceilings), self.model.variables(1, -1.0, 1.0)
        self.model.row(Linear(flow, np.ones(n)), self.tail, self.tail)
        self.model.pairs(flow, self.weights)
        return flow, cost


class ByFlows:
    """Part of a criterion whose rivals each need a flow."""

    flows: Flows

    def reserve(self, sets: int) -> None:
        """Add the variables that `sets` further rivals will need."""
        self.flows.reserve(sets)

    def spare(self) -> bool:
        """Whether the next rival's rows need no new variables."""
        return bool(self.flows.spare)


class ChosenTail(ByFlows):
    """CVaR of the best plan of a set, as an expression that is at most that."""

    def __init__(self, question: Question, cost: Linear, flows: Flows) -> None:
        self.tau, self.cost, self.flows = question.tau, cost, flows

    def against(self, rival: Floats) -> list[Row]:
        """The rows that say: the plan that is chosen costs at most tau more than one with the sample costs `rival`."""
        limit, row = self.flows.limit(rival)
        return [row, scaled(self.cost - limit, self.tau)]


class SomeLevel(ByFlows):
    """CVaR of some plan of a list: the pair of a plan and a level that is chosen costs no more than any rival."""

    def __init__(self, model: Model, weighting: Weighting, question: Question, pairs: Floats, flows: Flows) -> None:
        self.pairs, self.weighting, self.tau, self.flows = pairs, weighting, question.tau, flows
        self.chosen = model.variables(len(pairs), integer=True)
        model.row(Linear(self.chosen, np.ones(len(pairs))), 1.0, 1.0)

    def against(self, rival: Floats) -> list[Row]:
        """The rows that say: the plan that is chosen costs at most tau more than one with the sample costs `rival`."""
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
    plans, risk = question.plans, question.risk
    assert plans is not None

    def least(weights: Floats) -> float:
        check_time()
        return risk.of(plans.best(weights), weights)

    with until(question.limits.started + question.limits.seconds + question.limits.remaining):
        return weighting.by_parts(least)
