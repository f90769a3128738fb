"""Claims about forecasts, and what plans cost in a context that is told by its forecast: the forecast plus residuals.

A claim about orders that follow a forecast has a `Pricing` in the place of its risk. Where other claims hold what a
plan costs under each past observation, this one holds the plan's *figures*; where others are judged by weights, it is
judged by the forecast of every outcome.
``pricing.of(figures, forecast)`` is what the plan costs there, as a policy's risk counts it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from whence.claims.plans import PlanBeats, PlanIsBest, taken_over
from whence.risk import Expectation, Risk
from whence.util.aliases import Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class OrderBeats(PlanBeats):
    """The alternative costs no more than the decision, by the forecast of the context.

    Costs are figures of plans, which a `Pricing` in the place of the risk makes costs of: see
    :mod:`whence.claims.forecast_costs`.
    """

    #: The largest cost of either plan in the past, by which rounding is judged.
    largest: float = 1.0
    #: Whether the best plan of all is known for every forecast, so that no rivals need be looked for.
    best_known: bool = False

    @property
    def pricing(self) -> Pricing:
        """What prices the plans."""
        return cast(Pricing, self.risk)

    @cached_property
    def rival_decision(self) -> Floats:
        """The figures of what the alternative must not cost more than."""
        return self.pricing.changed(self.decision, *self.of_decision)

    @property
    def size(self) -> float:
        """How large costs are."""
        return self.largest

    @property
    def hopeless(self) -> bool:
        """No observation has a cost of its own by which that could be told."""
        return False

    def relative(self) -> PlanBeats:
        """Return the claim against the decision, or, where it is known for every forecast, against the best plan."""
        return taken_over(OrderBeats, self)

    def bands(self) -> list[tuple[float, float]]:
        """Of one product: between which forecasts the alternative is good enough."""
        pricing = cast(BandPricing, self.pricing)
        if self.best_known:
            found = pricing.best_bands(self.alternative, 1.0 + self.within, self.tau)
        else:
            found = pricing.bands(self.alternative, self.rival_decision, self.tau)
        assert found is not None
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class OrderIsBest(OrderBeats, PlanIsBest):
    """The alternative costs no more than any plan there is, by the forecast of the context."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ForecastBetween(PlanBeats):
    """A sum over trees, or a line, lies between two numbers, either of which may be infinite.

    There are no plans: what searches compare is a sum of leaves with a limit, in the place of two costs.
    """

    #: The limits of the sum.
    low: float
    high: float
    alternative: Floats = field(default_factory=lambda: np.zeros(1))
    decision: Floats = field(default_factory=lambda: np.zeros(1))
    risk: Risk = field(default_factory=Expectation)

    @property
    def is_possible(self) -> bool:
        """Whether any number lies between the limits."""
        return self.low != np.inf and self.high != -np.inf

    def excess(self, at: Floats) -> float:
        """Return by how much the sum, which is `at`, lies beyond the nearer limit."""
        total = float(at)
        return max(self.low - total, total - self.high)

    def is_satisfied(self, at: Floats) -> bool:
        """Whether the sum lies between the limits, up to tau."""
        return self.low - self.tau <= float(at) <= self.high + self.tau


#: Halvings until the end of a band is known to the last digit, and doublings on the way to it.
HALVINGS, DOUBLINGS = 200, 200


class Pricing(Risk, ABC):
    """What figures of plans cost by the forecast of every outcome."""

    @abstractmethod
    def of(self, costs: ArrayLike, weights: ArrayLike) -> float:
        """What a plan with the figures `costs` costs where the forecast is `weights`."""

    @abstractmethod
    def figures(self, plan: Any) -> Floats:
        """The figures of a plan."""

    @abstractmethod
    def changed(self, figures: Floats, factor: float, amount: float) -> Floats:
        """The figures of what costs `factor` times as much, less an amount."""


@dataclass(frozen=True, eq=False)
class LinearPricing(Pricing):
    """Costs that are linear in the outcomes: a coefficient of every forecast, and a constant with the residuals."""

    #: From a plan to these.
    lines: Callable[[Any], tuple[Floats, float]]

    def of(self, costs: ArrayLike, weights: ArrayLike) -> float:
        own = np.asarray(costs, dtype=np.float64)
        return float(own[:-1] @ np.asarray(weights, dtype=np.float64) + own[-1])

    def figures(self, plan: Any) -> Floats:
        coefficients, constant = self.lines(plan)
        return np.append(coefficients, constant)

    def changed(self, figures: Floats, factor: float, amount: float) -> Floats:
        made: Floats = factor * figures
        made[-1] -= amount
        return made


@dataclass(frozen=True, eq=False)
class _OrderPricing(Pricing):
    """Costs of orders. Figures are the quantities, a factor of their cost, and an amount that is taken off."""

    def figures(self, plan: Any) -> Floats:
        return np.append(np.asarray(plan, dtype=np.float64).ravel(), [1.0, 0.0])

    def changed(self, figures: Floats, factor: float, amount: float) -> Floats:
        made = figures.copy()
        made[-2] *= factor
        made[-1] = factor * made[-1] + amount
        return made

    def of(self, costs: ArrayLike, weights: ArrayLike) -> float:
        own = np.asarray(costs, dtype=np.float64)
        return float(own[-2]) * self.cost(own[:-2], np.asarray(weights, dtype=np.float64)) - float(own[-1])

    @abstractmethod
    def cost(self, order: Floats, forecast: Floats) -> float:
        """Of an order."""


@dataclass(frozen=True, eq=False)
class BandPricing(_OrderPricing):
    """One product: an order is good enough against another where the forecast lies in a band, or in some bands."""

    #: From an order and a forecast to what the policy's risk makes of the costs.
    paid: Callable[[float, float], float]
    #: The mean cost of an order; None where the risk looks at a tail.
    shortfall: Shortfall | None
    #: How far the best order lies above the forecast.
    best: float
    #: The smallest and the largest residual.
    residuals: tuple[float, float]
    #: The largest order.
    budget: float = np.inf

    def cost(self, order: Floats, forecast: Floats) -> float:
        return self.paid(float(order[0]), float(forecast[0]))

    def bands(self, alternative: Floats, rival: Floats, tau: float) -> list[tuple[float, float]] | None:
        """Between which forecasts an order costs at most tau more than a rival; None where that cannot be told."""
        order, other, factor, amount = float(alternative[0]), float(rival[0]), float(rival[-2]), float(rival[-1])
        if self.shortfall is not None:
            return self.shortfall.against(order, other, factor).at_most(tau - amount)
        if factor != 1.0:
            return None
        if order == other:
            return [(-np.inf, np.inf)] if amount <= tau else []

        def over(forecast: float) -> float:
            return self.paid(order, forecast) - self.paid(other, forecast) - (tau - amount)

        # The larger order does the better, the higher the forecast, as costs are convex in how far an order lies above
        # it. Beyond these forecasts both orders are short, or left over, whatever comes: nothing changes any more.
        least, most = min(order, other) - self.residuals[1], max(order, other) - self.residuals[0]
        good, bad = (most, least) if order > other else (least, most)
        if over(good) > 0.0:
            return []
        end = _between(over, good, bad) if over(bad) > 0.0 else np.inf if bad > good else -np.inf
        return [(end, np.inf)] if order > other else [(-np.inf, end)]

    def best_bands(self, alternative: Floats, factor: float, tau: float) -> list[tuple[float, float]] | None:
        """Between which forecasts an order costs at most tau more than `factor` times the best one; None as above."""
        order = float(alternative[0])
        if self.shortfall is not None and not np.isfinite(self.budget):
            return self.shortfall.regret(order, factor).at_most(tau)
        if factor != 1.0:
            return None

        def over(forecast: float) -> float:
            least = float(np.clip(forecast + self.best, 0.0, self.budget))
            return self.paid(order, forecast) - self.paid(least, forecast) - tau

        # The farther the forecast from where the order is best, the more it costs beyond the best one.
        middle = order - self.best
        return [(_end(over, middle, -1.0), _end(over, middle, 1.0))]


@dataclass(frozen=True, eq=False)
class CurvePricing(_OrderPricing):
    """Several products, each with a curve of its own; under expected cost they add up."""

    #: The mean cost of every product.
    shortfalls: Sequence[Shortfall]

    def cost(self, order: Floats, forecast: Floats) -> float:
        over = order - forecast
        return float(sum(own(over[j : j + 1])[0] for j, own in enumerate(self.shortfalls)))

    def curves(self, alternative: Floats, rival: Floats) -> tuple[list[Broken], float]:
        """By how much the alternative costs more than a rival: a curve for every product, and what is added to them."""
        factor = float(rival[-2])
        own = [s.against(float(alternative[j]), float(rival[j]), factor) for j, s in enumerate(self.shortfalls)]
        return own, float(rival[-1])

    def regrets(self, alternative: Floats, factor: float) -> list[Broken]:
        """The same against the best plan, of which no budget takes anything."""
        return [s.regret(float(alternative[j]), factor) for j, s in enumerate(self.shortfalls)]


def _end(over: Callable[[float], float], good: float, way: float) -> float:
    """Where a function that never falls on its way comes to be above 0."""
    step, bad = max(1.0, abs(good)) * 1e-3, good
    for _ in range(DOUBLINGS):
        bad, step = bad + way * step, 2.0 * step
        if over(bad) > 0.0:
            return _between(over, good, bad)
    return way * np.inf


def _between(over: Callable[[float], float], good: float, bad: float) -> float:
    """The last number on the way from one where a function is at most 0 to one where it is above."""
    for _ in range(HALVINGS):
        middle = 0.5 * (good + bad)
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if over(middle) <= 0.0 else (good, middle)
    return good


@dataclass(frozen=True, eq=False)
class Broken:
    """A curve made of lines: its corners in ascending order, its values there, and the slopes before and after all.

    >>> hat = Broken(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 0.0]), 2.0, -1.0)
    >>> hat(np.array([-1.0, 2.0, 4.0]))
    array([-2.,  1., -1.])
    >>> hat.at_most(1.0)
    [(-inf, 0.5), (2.0, inf)]
    """

    at: Floats
    value: Floats
    before: float
    after: float

    def __call__(self, x: Floats) -> Floats:
        """Values at `x`."""
        x = np.asarray(x, dtype=np.float64)
        inside = np.interp(x, self.at, self.value)
        low, high = np.minimum(x - self.at[0], 0.0), np.maximum(x - self.at[-1], 0.0)
        found: Floats = inside + self.before * low + self.after * high
        return found

    def at_most(self, limit: float) -> list[tuple[float, float]]:
        """The intervals in which the curve is at most `limit`; ends may be infinite."""
        over = self.value - limit
        found: list[tuple[float, float]] = []
        begin: float | None = None
        if over[0] <= 0.0:
            # To the left of its first corner the curve rises, or falls, towards it.
            begin = -np.inf if self.before >= 0.0 else float(self.at[0] - over[0] / self.before)
        elif self.before > 0.0:
            found.append((-np.inf, float(self.at[0] - over[0] / self.before)))
        for i in range(1, self.at.size):
            if (over[i - 1] <= 0.0) == (over[i] <= 0.0):
                continue
            share = over[i - 1] / (over[i - 1] - over[i])
            crossing = float(self.at[i - 1] + share * (self.at[i] - self.at[i - 1]))
            if over[i] <= 0.0:
                begin = crossing
            else:
                assert begin is not None
                found.append((begin, crossing))
                begin = None
        if begin is not None:
            end = np.inf if self.after <= 0.0 else float(self.at[-1] - over[-1] / self.after)
            found.append((begin, end))
        elif over[-1] > 0.0 and self.after < 0.0:
            found.append((float(self.at[-1] - over[-1] / self.after), np.inf))
        return found


class Shortfall:
    """Mean cost of one product by how far the order lies above the forecast; `residuals` are what those past missed.

    >>> cost = Shortfall(np.array([-1.0, 1.0]), holding=1.0, backorder=3.0)
    >>> cost(np.array([0.0, 1.0, 2.0])), cost.best
    (array([2., 1., 2.]), 1.0)
    """

    def __init__(self, residuals: Floats, holding: float, backorder: float) -> None:
        self.holding, self.backorder = float(holding), float(backorder)
        corners, counts = np.unique(residuals, return_counts=True)
        over = corners[:, None] - corners[None, :] if corners.size <= 256 else None
        if over is not None:
            value = np.maximum(holding * over, -backorder * over) @ counts / residuals.size
        else:
            value = self._by_sums(corners, counts.astype(np.float64))
        self.curve = Broken(corners, value, -self.backorder, self.holding)
        share = np.cumsum(counts) / residuals.size
        least = backorder / (holding + backorder)
        #: How far the best order lies above the forecast: the smallest, where there are several.
        self.best = float(corners[min(int(np.searchsorted(share, least - 1e-12)), corners.size - 1)])

    def _by_sums(self, corners: Floats, counts: Floats) -> Floats:
        """The values at the corners, from sums over those before and after."""
        middle = float(corners.mean())
        moved = corners - middle
        count, total = np.cumsum(counts), np.cumsum(counts * moved)
        n, whole = float(count[-1]), float(total[-1])
        left = count * moved - total
        right = (whole - total) - (n - count) * moved
        return (self.holding * left + self.backorder * right) / n

    def __call__(self, over: Floats) -> Floats:
        """Mean cost where the order lies so far above the forecast."""
        return self.curve(over)

    def corners(self, order: float) -> Floats:
        """Forecasts at which the cost of an order has a corner."""
        return order - self.curve.at

    def against(self, order: float, rival: float, factor: float) -> Broken:
        """By how much an order costs more than `factor` times what another one costs, by the forecast."""
        at = np.unique(np.concatenate([self.corners(order), self.corners(rival)]))
        value = self(order - at) - factor * self(rival - at)
        left = 1.0 - factor
        return Broken(at, value, -self.holding * left, self.backorder * left)

    def regret(self, order: float, factor: float) -> Broken:
        """By how much an order costs more than `factor` times what the best one, which is not negative, costs."""
        # Below this forecast the best order is none at all.
        turn = -self.best
        none = self.corners(0.0)
        at = np.unique(np.concatenate([self.corners(order), none[none < turn], [turn]]))
        least = self(np.maximum(0.0, at + self.best) - at)
        value = self(order - at) - factor * least
        return Broken(at, value, -self.holding * (1.0 - factor), self.backorder)
