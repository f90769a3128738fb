"""The built-in problems as functions of their prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from whence.problems.base import DecisionProblem
from whence.problems.linear import LinearProblem, read_cost_map
from whence.problems.newsvendor import Newsvendor
from whence.problems.pricing import Conditions, Limit, Moved, Parameter, Priced, Terms, declared, usual_price
from whence.problems.shipment import Shipment
from whence.problems.shortest_path import ShortestPath
from whence.risk import CVaR, Expectation, Risk, known_tail, tail_flow
from whence.util.aliases import Floats

#: Quantities, limits and demands that differ by less than this share are the same.
SAME = 1e-9
#: Of a price: by how much it is raised to see how a cost follows it.
STEP = 3e-7
#: Rounds in which a cheaper plan is looked for, and how far each goes.
ROUNDS = 6
STEPS = (0.5, 0.2, 0.05)


class PricedNewsvendor(Priced):
    """Holding and backorder costs: a price of each product, or one factor for all; and the budget."""

    problem: Newsvendor

    def __init__(self, problem: Newsvendor, Y: Floats, weights: Floats, names: Sequence[str], common: bool) -> None:
        holding, backorder, self.budget = problem.rates(Y.shape[1])
        products = problem.parts(names) or [f"product {j + 1}" for j in range(Y.shape[1])]
        usual = usual_price(np.concatenate((holding, backorder)))
        found: list[Parameter] = []
        maps = []
        for group, rates, words in (("holding", holding, "left over"), ("backorder", backorder, "short")):
            if common:
                parameter, column = _in_common(group, rates, words, products, usual)
                found.append(parameter)
                maps.append(column[:, None])
            else:
                for name, rate in zip(products, rates.tolist(), strict=True):
                    about = f"a unit of {name} {words}"
                    found.append(Parameter.of(f"{group} of {name}", group, rate, usual, about))
                maps.append(np.eye(len(products)))
        width = maps[0].shape[1]
        none = np.zeros((len(products), width))
        self._holding, self._backorder = np.hstack([maps[0], none]), np.hstack([none, maps[1]])
        super().__init__(problem, Y, weights, found, products)

    def at(self, values: Floats, moved: Moved | None = None) -> tuple[DecisionProblem, Floats]:
        """Return the newsvendor with these prices, and with the budget that is moved."""
        budget = self.problem.budget if moved is None or not moved.limits else moved.limits[0].to
        holding, backorder = np.maximum(self._holding @ values, 0.0), np.maximum(self._backorder @ values, 0.0)
        return Newsvendor(holding, backorder, budget, self.problem.names, self.problem.cost_unit), self.Y

    def lines(self, plan: Any) -> Terms:
        """Return units left over and units short, by observation."""
        over = np.asarray(plan, dtype=np.float64) - self.Y
        slopes = np.maximum(over, 0.0) @ self._holding + np.maximum(-over, 0.0) @ self._backorder
        return Terms(np.zeros(len(self.Y)), np.zeros(slopes.shape[1]), slopes)

    def cheaper(self, plan: Any, values: Floats, tail: float, moved: Moved) -> Any:
        """Return quantities on the way to the best ones for the plan's own worst outcomes, where these cost less."""
        problem, demands = self.at(values, moved)
        here = np.asarray(plan, dtype=np.float64)
        costs = problem.costs(here, demands)
        for _ in range(ROUNDS):
            order = np.argsort(-costs, kind="stable")
            worst = np.zeros(costs.size)
            worst[order] = tail_flow(self.weights[order], tail) / tail
            risk = float(worst @ costs)
            toward = problem.solve(demands, worst, Expectation()) - here
            for step in STEPS:
                there = here + step * toward
                costs = problem.costs(there, demands)
                if CVaR(1.0 - tail).of(costs, self.weights) < risk - SAME * abs(risk):
                    here = there
                    break
            else:
                break
        return None if here is plan else here

    def toward(self, plan: Any, other: Any, share: float) -> Floats:
        """Return quantities a share of the way to others."""
        here = np.asarray(plan, dtype=np.float64)
        return here + share * (np.asarray(other, dtype=np.float64) - here)

    def limits(self, plan: Any) -> list[Limit]:
        """Return the budget, at what the plan orders in total."""
        total = float(np.sum(plan))
        if not np.isfinite(self.budget) or abs(total - self.budget) <= SAME * max(1.0, self.budget):
            return []
        scale = self.budget or max(total, 1.0)
        return [Limit("budget", "budget", self.budget, scale, "the budget", total, total > self.budget)]

    def unlimited(self) -> Newsvendor:
        """Return the newsvendor without a budget."""
        given = self.problem
        return Newsvendor(given.holding, given.backorder, None, given.names, given.cost_unit)

    def conditions(self, plan: Any, risk: Risk, moved: Moved) -> Conditions | None:
        """Under expected cost: of every product, its critical ratio lies between the shares below and up to the plan.

        A budget that the plan uses up lowers what a unit gains by the same amount for all products.
        """
        if known_tail(risk, "Newsvendor") is not None:
            return None
        below, upto = (self._share(holds) for holds in self.marks(plan))
        return self.between(plan, below, upto, moved)

    def marks(self, plan: Any) -> tuple[Floats, Floats]:
        """Return, by observation and product, whether demand lies below the quantity, and whether not above it."""
        z = np.asarray(plan, dtype=np.float64)
        hair = SAME * max(float(np.abs(self.Y).max()), float(z.max(initial=0.0)))
        return (z - hair > self.Y).astype(np.float64), (z + hair >= self.Y).astype(np.float64)

    def between(self, plan: Any, below: Floats, upto: Floats, moved: Moved) -> Conditions:
        """Return what prices must keep to where no less than these shares lie below a plan, and no more up to it."""
        z = np.asarray(plan, dtype=np.float64)
        hair = SAME * max(float(np.abs(self.Y).max()), float(z.max(initial=0.0)))
        below, upto = below[:, None], upto[:, None]
        used = bool(moved.limits) or float(z.sum()) >= self.budget - SAME * max(1.0, self.budget)
        multiplier = np.ones((z.size, 1)) if used else np.zeros((z.size, 0))
        # A further unit gains nothing, and the last one did not lose: that is not asked of quantities that are 0.
        further = np.hstack([(1.0 - upto) * self._backorder - upto * self._holding, -multiplier])
        last = np.hstack([below * self._holding - (1.0 - below) * self._backorder, multiplier])[z > hair]
        matrix = np.vstack([further, last])
        rows, free = len(matrix), multiplier.shape[1]
        return Conditions(matrix, np.full(rows, -np.inf), np.zeros(rows), np.zeros(free), np.full(free, np.inf))

    def _share(self, holds: Floats) -> Floats:
        """Return the weight of the observations where something holds, by product; all of them is 1 sharp."""
        found = self.weights @ holds
        return np.where(found > 1.0 - SAME, 1.0, found)


def _in_common(
    group: str, rates: Floats, words: str, products: Sequence[str], usual: float
) -> tuple[Parameter, Floats]:
    """Return one price, or one factor, for all products, and what each product's price is of it."""
    value = float(rates[0])
    if (rates == value).all():
        about = f"a unit of {products[0]} {words}" if len(products) == 1 else f"a unit {words}"
        return Parameter.of(group, group, value, usual, about), np.ones(rates.size)
    members = tuple((f"{group} of {name}", rate) for name, rate in zip(products, rates.tolist(), strict=True))
    return Parameter.of(group, group, 1.0, 1.0, f"every unit {words}", members=members), np.array(rates)


class PricedRoutes(Priced):
    """What every edge, or every named street, costs in the mean: a toll, or a discount, beside what comes."""

    problem: ShortestPath

    def __init__(self, problem: ShortestPath, Y: Floats, weights: Floats, names: Sequence[str], common: bool) -> None:
        edges, mean = problem.parts(), weights @ Y / weights.sum()
        streets = [
            str(data["name"]) if common and data.get("name") else edge
            for edge, (*_, data) in zip(edges, problem.graph.edges(data=True), strict=True)
        ]
        number = {name: j for j, name in enumerate(dict.fromkeys(streets))}
        self.street = np.array([number[name] for name in streets])
        size = np.bincount(self.street, minlength=len(number)).astype(np.float64)
        values = np.asarray(np.bincount(self.street, mean, minlength=len(number)), dtype=np.float64)
        usual = usual_price(values)
        #: Of the price of a street, what every edge of it carries.
        whole = values[self.street]
        self.part = np.where(np.abs(whole) > 0.0, mean / np.where(whole == 0.0, 1.0, whole), 1.0 / size[self.street])
        found = [
            Parameter.of(name, name, value, usual, name) for name, value in zip(number, values.tolist(), strict=True)
        ]
        super().__init__(problem, Y, weights, found, names)

    def at(self, values: Floats, moved: Moved | None = None) -> tuple[DecisionProblem, Floats]:
        """Return the same network, with the tolls among the outcomes."""
        return self.problem, self.Y + ((values - self.values)[self.street] * self.part)[None, :]

    def lines(self, plan: Any) -> Terms:
        """Return the terms of a toll, which is paid whatever comes."""
        used = self.problem.vector(plan) * self.part
        shift = np.asarray(np.bincount(self.street, used, minlength=len(self.parameters)), dtype=np.float64)
        return Terms(self.problem.costs(plan, self.Y) - float(shift @ self.values), shift)

    def conditions(self, plan: Any, risk: Risk, moved: Moved) -> Conditions | None:
        """Under expected cost: potentials of the nodes that no edge undercuts and that the route's edges keep to."""
        if known_tail(risk, "ShortestPath") is not None:
            return None
        network = self.problem._network()
        used = self.problem.vector(plan) > 0.5
        arcs = np.array([(u, e, v) for u, leaving in enumerate(network.successors) for e, v in leaving])
        tail, edge, head = arcs.T
        rows, nodes = np.arange(len(arcs)), len(network.nodes)
        # potential[head] - potential[tail] - part * (price - today's) <= mean
        matrix = sparse.hstack(
            [
                sparse.csr_array(
                    (-self.part[edge], (rows, self.street[edge])), shape=(len(arcs), len(self.parameters))
                ),
                sparse.csr_array((np.ones(len(arcs)), (rows, head)), shape=(len(arcs), nodes))
                - sparse.csr_array((np.ones(len(arcs)), (rows, tail)), shape=(len(arcs), nodes)),
            ],
            format="csr",
        )
        mean = self.weights @ self.Y
        upper = mean[edge] - (self.part * self.values[self.street])[edge]
        lower = np.where(used[edge], upper, -np.inf)
        free = np.full(nodes, np.inf)
        free[network.source] = 0.0
        return Conditions(matrix, lower, upper, -free, free)


class PricedLines(Priced):
    """What a unit of every variable costs in the mean, and the right-hand sides of the rows."""

    problem: LinearProblem

    def __init__(self, problem: LinearProblem, Y: Floats, weights: Floats, names: Sequence[str], common: bool) -> None:
        rows = problem.cost_rows(Y)
        values = weights @ rows / weights.sum()
        variables = problem.parts(names) or [f"variable {j}" for j in range(values.size)]
        usual = usual_price(values)
        found = []
        for name, value in zip(variables, values.tolist(), strict=True):
            own = Parameter.of(f"cost of {name}", "cost", value, usual, f"a unit of {name}")
            found.append(own if value else replace(own, low=-own.high))
        super().__init__(problem, Y, weights, found, variables)
        space = problem._constraints(values.size)
        assert space is not None
        self.space = space

    def at(self, values: Floats, moved: Moved | None = None) -> tuple[DecisionProblem, Floats]:
        """Return the problem with prices beside what comes, and with right-hand sides that are moved."""
        problem, more = self.problem, values - self.values
        if moved is not None and moved.limits:
            problem = self._with_limits({one.name: one.to for one in moved.limits})
        if problem.cost_map is None:
            return problem, self.Y + more[None, :]
        matrix, shift = read_cost_map(problem.cost_map)
        return self._changed(problem, cost_map=(matrix, shift + more)), self.Y

    def _changed(self, problem: LinearProblem, **given: Any) -> LinearProblem:
        return LinearProblem(**{**problem.get_params(), **given})

    def _with_limits(self, to: dict[str, float]) -> LinearProblem:
        given = {}
        for kind, right in (("ub", self.space.b_ub), ("eq", self.space.b_eq)):
            if right.size:
                given[f"b_{kind}"] = np.array([to.get(_row(kind, k), value) for k, value in enumerate(right.tolist())])
        return self._changed(self.problem, **given)

    def lines(self, plan: Any) -> Terms:
        """Return the terms of a price, which is paid whatever comes."""
        z = np.asarray(plan, dtype=np.float64)
        return Terms(self.problem.costs(z, self.Y) - float(z @ self.values), z)

    def unlimited(self) -> LinearProblem:
        """Return the program without rows."""
        lower, upper = self.space.lower, self.space.upper
        ends = [
            (a if np.isfinite(a) else None, b if np.isfinite(b) else None) for a, b in zip(lower, upper, strict=True)
        ]
        return self._changed(self.problem, A_ub=None, b_ub=None, A_eq=None, b_eq=None, bounds=ends)

    def limits(self, plan: Any) -> list[Limit]:
        """Return the right-hand sides, at what the plan makes of their rows.

        Of whole numbers only those that the plan breaks: others may help before they touch it.
        """
        z = np.asarray(plan, dtype=np.float64)
        found = []
        whole = bool(self.space.integrality.any())
        for kind, rows, right in (("ub", self.space.A_ub, self.space.b_ub), ("eq", self.space.A_eq, self.space.b_eq)):
            usual = usual_price(right[np.isfinite(right)])
            for k, (made, limit) in enumerate(zip((rows @ z).tolist(), right.tolist(), strict=True)):
                broken = made > limit if kind == "ub" else True
                if not np.isfinite(limit) or abs(made - limit) <= SAME * max(1.0, abs(limit)) or (whole and not broken):
                    continue
                name = _row(kind, k)
                found.append(Limit(name, "limit", limit, abs(limit) or usual, name, made, broken))
        return found

    def conditions(self, plan: Any, risk: Risk, moved: Moved) -> Conditions | None:
        """Reduced costs that suit the plan: multipliers of the rows that it touches, and a tail that is its worst."""
        if self.space.integrality.any():
            return None
        z = np.asarray(plan, dtype=np.float64)
        moves = {one.name for one in moved.limits}
        made = self.space.A_ub @ z
        touched = np.array(
            [
                _row("ub", k) in moves or made[k] >= limit - SAME * max(1.0, abs(limit))
                for k, limit in enumerate(self.space.b_ub.tolist())
            ],
            dtype=np.bool_,
        )
        size, tight = len(self.parameters), int(touched.sum())
        tail = known_tail(risk, "LinearProblem")
        constant, share, most, left = self._tail(z, tail)
        columns = [sparse.eye_array(size, format="csr"), self.space.A_ub[np.flatnonzero(touched)].T, self.space.A_eq.T]
        matrix = sparse.hstack([*columns, share], format="csr")
        slack = SAME * np.maximum(1.0, np.abs(z))
        at_lower, at_upper = z <= self.space.lower + slack, z >= self.space.upper - slack
        lower = np.where(at_upper, -np.inf, -constant)
        upper = np.where(at_lower, np.inf, -constant)
        equal = self.space.b_eq.size
        first = np.concatenate((np.zeros(tight), np.full(equal, -np.inf), np.zeros(most.size)))
        last = np.concatenate((np.full(tight + equal, np.inf), most))
        if most.size:
            whole = sparse.csr_array(np.concatenate((np.zeros(size + tight + equal), np.ones(most.size)))[None, :])
            matrix = sparse.vstack([matrix, whole], format="csr")
            lower, upper = np.append(lower, left), np.append(upper, left)
        return Conditions(matrix, lower, upper, first, last)

    def _tail(self, z: Floats, tail: float | None) -> tuple[Floats, Any, Floats, float]:
        """Return the mean costs of the tail of a plan less today's, and the observations that may fill the rest of it.

        These are columns: what one costs more than today's mean, how much of it may count, and how much is left.
        """
        size = len(self.parameters)
        if tail is None:
            return np.zeros(size), np.zeros((size, 0)), np.zeros(0), 0.0
        rows = self.problem.cost_rows(self.Y)
        costs = rows @ z
        share = self.weights / tail
        order = np.argsort(-costs, kind="stable")
        upto = np.cumsum(share[order])
        begins = costs[order[min(int(np.searchsorted(upto, 1.0 - SAME)), upto.size - 1)]]
        hair = SAME * max(1e-300, float(np.abs(costs).max()))
        sure, open_ = costs > begins + hair, np.abs(costs - begins) <= hair
        constant = share[sure] @ rows[sure] - self.values
        return constant, rows[open_].T, share[open_], 1.0 - float(share[sure].sum())


def _row(kind: str, k: int) -> str:
    return f"limit of row {k} of A_{kind}"


class PricedShipment(Priced):
    """Production, spot and shipping costs. What is shipped follows the prices, so that costs bend as prices rise."""

    problem: Shipment
    straight = False

    def __init__(self, problem: Shipment, Y: Floats, weights: Floats, names: Sequence[str], common: bool) -> None:
        values = [float(getattr(problem, name)) for name in ("production_cost", "spot_cost", "shipping_cost")]
        usual = usual_price(np.array(values))
        words = ("a unit produced beforehand", "a unit produced at the last minute", "shipping a unit")
        found = []
        for name, value, about in zip(("production_cost", "spot_cost", "shipping_cost"), values, words, strict=True):
            found.append(Parameter.of(name, name, value, usual, about))
        super().__init__(problem, Y, weights, found, names)
        self._least: tuple[bytes, Floats] | None = None

    def at(self, values: Floats, moved: Moved | None = None) -> tuple[DecisionProblem, Floats]:
        """Return the shipment with these prices."""
        production, spot, shipping = np.maximum(values, 0.0).tolist()
        return Shipment(production, spot, shipping, self.problem.distances, self.problem.cost_unit), self.Y

    def above(self, plan: Any, values: Floats) -> Terms:
        """Return the costs of what is best done with a plan at these values, done at all others too."""
        produced = float(np.sum(plan))
        _, spot, shipping = values.tolist()
        recourse = self.costs(plan, np.array([0.0, spot, shipping]))
        step = STEP * (spot or self.parameters[1].scale)
        units = (self.costs(plan, np.array([0.0, spot + step, shipping])) - recourse) / step
        if shipping > 0.0:
            miles = (recourse - spot * units) / shipping
        else:
            step = STEP * self.parameters[2].scale
            miles = (self.costs(plan, np.array([0.0, spot, step])) - recourse) / step
        slopes = np.column_stack([np.zeros(units.size), units, miles])
        return Terms(np.zeros(units.size), np.array([produced, 0.0, 0.0]), slopes)

    def below(self, plan: Any, low: Floats, high: Floats) -> Terms:
        """Costs at the lowest prices, and for what they rise, the least that can be bought and the least shipped."""
        key = np.asarray(plan, dtype=np.float64).tobytes()
        if self._least is None or self._least[0] != key:
            bought = self.costs(plan, np.array([0.0, 1.0, 0.0]))
            shipped = self.costs(plan, np.array([0.0, 0.0, 1.0]))
            self._least = key, np.column_stack([np.zeros(bought.size), bought, shipped])
        slopes = self._least[1]
        here = self.costs(plan, np.array([0.0, low[1], low[2]]))
        return Terms(here - slopes @ low, np.array([float(np.sum(plan)), 0.0, 0.0]), slopes)


#: The built-in problems, each with what it is as a function of its prices.
KINDS: dict[type[DecisionProblem], Any] = {
    LinearProblem: PricedLines,
    Newsvendor: PricedNewsvendor,
    Shipment: PricedShipment,
    ShortestPath: PricedRoutes,
}


def priced(problem: DecisionProblem, Y: Floats, weights: Floats, names: Sequence[str], common: bool) -> Priced:
    """Return a problem in one context as a function of its prices; `common`: one factor for prices of a kind."""
    made = next((made for kind, made in KINDS.items() if isinstance(problem, kind)), None)
    if made is None:
        return Priced(problem, Y, weights, declared(problem), names)
    found: Priced = made(problem, Y, weights, names, common)
    return found
