"""Production at several warehouses before demand is known, and shipment afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from whence._core import best_recourse, cutting_planes
from whence.checks import at_least
from whence.errors import InputError, argument_error, parameter_error
from whence.problems.base import DecisionProblem, check_outcomes, check_samples, cost_unit_of, plan_numbers
from whence.problems.plan_text import QuantityLimits
from whence.problems.quantity_sets import Quantities
from whence.risk import Risk, known_tail
from whence.util.aliases import Floats
from whence.util.linear_program import LinearProgram, minimise, with_tail

# The kernels look at every set of warehouses; beyond this many the linear program is written out instead.
MOST_WAREHOUSES = 8
MOST_CUTS = 5_000
# Quantities may be this far below zero, as solvers return them.
NEGATIVE = 1e-9


class Shipment(BaseEstimator, DecisionProblem, Quantities):  # type: ignore[misc]
    """Two-stage shipment planning: produce at warehouses now, ship to locations when demand is known.

    A plan is the array of quantities produced beforehand, one per warehouse. When demand y is known, warehouses produce
    ``t_i >= 0`` more at the spot cost and ship ``s_ij >= 0`` so that every location gets ``sum_i s_ij >= y_j`` and no
    warehouse ships more than it has, ``sum_j s_ij <= z_i + t_i``. The cost of a sample is production beforehand plus
    the cheapest such recourse. A negative demand asks for nothing: it counts as 0, which is what the rows above say.

    Both risks are minimised exactly. Up to eight warehouses a plan takes milliseconds, and of equally good plans it is
    the one that produces least (then the one that produces more at earlier warehouses). With more warehouses, or where
    rounding defeats the faster method, the whole linear program is handed to HiGHS.

    Parameters
    ----------
    production_cost : float
        Cost of a unit produced beforehand.
    spot_cost : float
        Cost of a unit produced at the last minute.
    shipping_cost : float
        Cost of shipping a unit over a unit of distance.
    distances : array-like of shape (warehouses, locations), optional
        Distances; columns of Y are its locations. By default those of Bertsimas and Kallus (2020, EC.6): four
        warehouses on the circle of radius 0.85 at angles 0, 90, 180 and 270 degrees, twelve locations on the unit
        circle at angles 0, 30, ..., 330 degrees.
    cost_unit : str
        Unit of the costs, such as "€", as texts and charts show it; "" for none.

    Examples
    --------
    >>> from whence.risk import Expectation
    >>> problem = Shipment(production_cost=5, spot_cost=100, shipping_cost=10, distances=[[0.0, 1.0], [1.0, 0.0]])
    >>> demand = np.array([[3.0, 0.0], [1.0, 2.0]])
    >>> plan = problem.solve(demand, np.array([0.5, 0.5]), Expectation())
    >>> print(problem.describe(plan))
    warehouse 1 3
    >>> problem.costs(plan, demand)
    array([15., 35.])
    >>> problem.check([3.0])
    'The plan must hold 2 quantities, one per warehouse, but its shape is (1,).'
    """

    def __init__(
        self,
        production_cost: float = 5,
        spot_cost: float = 100,
        shipping_cost: float = 10,
        distances: Any = None,
        cost_unit: str = "",
    ) -> None:
        self.production_cost = production_cost
        self.spot_cost = spot_cost
        self.shipping_cost = shipping_cost
        self.distances = distances
        self.cost_unit = cost_unit
        cost_unit_of(self)
        self._rates()

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> Floats:
        """Production beforehand that minimises `risk` of the costs when row i of `Y` has weight ``weights[i]``."""
        ship, production, spot = self._rates()
        y, w, tail = self._sampled(Y, weights, risk)
        plan = _cut_to_plan(ship, spot, production, y, w, tail) if ship.shape[0] <= MOST_WAREHOUSES else None
        if plan is None:
            plan = np.maximum(first_stage(ship, spot, production, y, w, tail), 0.0)
        return plan

    def _sampled(self, Y: Floats, weights: Floats, risk: Risk) -> tuple[Floats, Floats, float]:
        """Return the demands that count, their weights, and the share of them that the risk looks at."""
        y, w = check_samples(Y, weights, self.outcome_columns(), "Shipment.solve")
        tail = known_tail(risk, "Shipment.solve") or 1.0
        support = np.flatnonzero(w)
        return np.ascontiguousarray(y[support]), w[support] / w[support].sum(), tail

    def quantities(self, columns: int) -> int:
        """Return how many quantities a plan holds: one per warehouse."""
        return int(self._shipping().shape[0])

    def solve_between(self, Y: Floats, weights: Floats, risk: Risk, lower: Floats, upper: Floats) -> Floats:
        """Return the production beforehand between `lower` and `upper` that minimises `risk` of the costs."""
        free = self.solve(Y, weights, risk)
        low = np.maximum(lower, 0.0)
        if (free >= low).all() and (free <= upper).all():
            return free
        ship, production, spot = self._rates()
        y, w, tail = self._sampled(Y, weights, risk)
        money = max(spot, production, float(ship.max())) or 1.0
        units = float(np.maximum(y, 0.0).max()) or 1.0
        rates = ship / money, spot / money, production / money
        plan = first_stage(*rates, y / units, w, tail, (low / units, upper / units)) * units
        return np.clip(plan, low, upper)

    @property
    def continuous(self) -> bool:
        return True

    def outcome_columns(self) -> int:
        return int(self._shipping().shape[1])

    def costs(self, decision: Any, Y: Floats) -> Floats:
        """Cost of producing `decision` beforehand under every row of `Y`, with the cheapest recourse of each."""
        ship, production, spot = self._rates()
        z = self.vector(decision)
        y = np.ascontiguousarray(check_outcomes(Y, ship.shape[1], "Shipment.costs"))
        if not np.isfinite(y).all():
            raise argument_error("Shipment.costs", "Y", "be finite", "NaN or infinity")
        recourse = np.empty(y.shape[0])
        if ship.shape[0] > MOST_WAREHOUSES:
            recourse[:] = recourse_costs(ship, spot, z, y)
        else:
            best_recourse(ship, spot, z, y, recourse)
        recourse += production * float(z.sum())
        return recourse

    def check(self, decision: Any) -> str | None:
        names = [f"The production at {name}" for name in self.parts()]
        z = plan_numbers(decision, len(names), "quantities, one per warehouse", names.__getitem__)
        if isinstance(z, str):
            return z
        for name, quantity in zip(names, z.tolist(), strict=True):
            if quantity < -NEGATIVE:
                return f"{name} must not be negative, but it is {quantity:g}."
        return None

    def vector(self, decision: Any) -> Floats:
        sentence = self.check(decision)
        if sentence is not None:
            raise InputError(f"The 'decision' argument of Shipment must be a shipment plan. {sentence}")
        return np.maximum(np.asarray(decision, dtype=np.float64), 0.0)

    def parts(self, outcomes: Sequence[str] = ()) -> list[str]:
        return [f"warehouse {i + 1}" for i in range(self._shipping().shape[0])]

    def quantity_limits(self, Y: Floats) -> QuantityLimits:
        return QuantityLimits(lower=0.0)

    def _rates(self) -> tuple[Floats, float, float]:
        """Return costs of a unit shipped, produced beforehand and produced at the last minute."""
        return self._shipping(), self._cost("production_cost"), self._cost("spot_cost")

    def _cost(self, name: str) -> float:
        return float(at_least(0, "a float of at least 0").check(name, getattr(self, name), "Shipment"))

    def _shipping(self) -> Floats:
        """Return the cost of shipping a unit, warehouses by locations."""
        cost = self._cost("shipping_cost")
        if self.distances is None:
            return cost * _circles()
        try:
            distances = np.asarray(self.distances, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            distances = np.empty(0)
        if distances.ndim != 2 or not distances.size:
            wanted = "be a 2-D array of numbers, warehouses by locations"
            raise parameter_error("Shipment", "distances", wanted, repr(self.distances))
        if not np.isfinite(distances).all() or distances.min() < 0.0:
            least = f"{distances.min():g} as the smallest"
            raise parameter_error("Shipment", "distances", "hold finite numbers of at least 0", least)
        return np.ascontiguousarray(cost * distances)


@cache
def _circles() -> Floats:
    """Return distances between four warehouses and twelve locations on concentric circles, both starting at angle 0."""
    warehouses = 0.85 * np.exp(2j * np.pi * np.arange(4) / 4)
    locations = np.exp(2j * np.pi * np.arange(12) / 12)
    distances: Floats = np.abs(warehouses[:, None] - locations[None, :])
    distances.setflags(write=False)
    return distances


def _cut_to_plan(ship: Floats, spot: float, production: float, y: Floats, w: Floats, tail: float) -> Floats | None:
    """The optimal plan by cutting planes, in units that make costs and quantities of order one; None where it fails."""
    money = max(spot, production, float(ship.max())) or 1.0
    quantity = float(np.maximum(y, 0.0).sum(axis=1).max()) or 1.0
    # Half as much again as the mean demand of the locations that a warehouse is nearest to.
    mean = w @ np.maximum(y, 0.0) / quantity
    plan = np.asarray(1.5 * np.bincount(ship.argmin(axis=0), mean, minlength=ship.shape[0]), dtype=np.float64)
    cuts = cutting_planes(ship / money, spot / money, production / money, y / quantity, w, tail, MOST_CUTS, plan)
    return None if cuts is None else plan * quantity


def first_stage(
    ship: Floats,
    spot: float,
    production: float,
    Y: Floats,
    weights: Floats,
    tail: float,
    limits: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Production beforehand, between `limits`, that minimises the mean of the worst `tail` share of the costs."""
    warehouses, samples = ship.shape[0], Y.shape[0]
    program = _supply_and_demand(ship, Y)
    if limits is not None:
        program.lower[:warehouses], program.upper[:warehouses] = limits
    # Over z, and per sample over t and s: the cheapest recourse of one sample is its row of these.
    recourse = sparse.hstack(
        [sparse.csr_array((samples, warehouses)), sparse.kron(sparse.eye_array(samples), _recourse_rates(ship, spot))]
    )
    program.cost[:warehouses] = production
    if tail >= 1.0:
        program = replace(program, cost=program.cost + weights @ recourse)
    else:
        program = with_tail(program, recourse, weights / tail)
    return minimise(program, "Shipment.solve")[:warehouses]


def recourse_costs(ship: Floats, spot: float, z: Floats, Y: Floats) -> Floats:
    """Return the cheapest recourse cost at plan `z` of every row of `Y`."""
    program, rates = _supply_and_demand(ship, Y), _recourse_rates(ship, spot)
    program.cost[z.size :] = np.tile(rates, Y.shape[0])
    program.lower[: z.size] = program.upper[: z.size] = z
    recourse = minimise(program, "Shipment.costs")[z.size :].reshape(Y.shape[0], -1)
    return recourse @ rates


def _recourse_rates(ship: Floats, spot: float) -> Floats:
    return np.concatenate([np.full(ship.shape[0], spot), ship.ravel()])


def _supply_and_demand(ship: Floats, Y: Floats) -> LinearProgram:
    """Over (z, then for every sample t and s), without costs: demand is met, and only what was produced is shipped."""
    warehouses, locations = ship.shape
    samples = Y.shape[0]
    met = sparse.kron(np.ones((1, warehouses)), sparse.eye_array(locations))
    shipped = sparse.kron(sparse.eye_array(warehouses), np.ones((1, locations)))
    afterwards = sparse.block_array([[None, met], [sparse.eye_array(warehouses), -shipped]])
    beforehand = sparse.vstack([sparse.csr_array((locations, warehouses)), sparse.eye_array(warehouses)])
    every = sparse.kron(np.ones((samples, 1)), beforehand), sparse.kron(sparse.eye_array(samples), afterwards)
    rows = sparse.hstack(every, format="csr")
    needed = np.hstack([Y, np.zeros((samples, warehouses))]).ravel()
    lower, upper = np.zeros(rows.shape[1]), np.full(rows.shape[1], np.inf)
    return LinearProgram(lower.copy(), lower, upper, rows, needed, np.full(needed.size, np.inf))
