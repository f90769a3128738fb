"""Claims about forecasts: one plan beats another where a forecast says what may come, or a forecast crosses a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np

from whence.claims.forecast_costs import BandPricing, Pricing
from whence.claims.plans import PlanBeats, PlanIsBest, taken_over
from whence.risk import Expectation, Risk
from whence.util.aliases import Floats

__all__ = ["ForecastBetween", "OrderBeats", "OrderIsBest"]


@dataclass(frozen=True, eq=False, kw_only=True)
class OrderBeats(PlanBeats):
    """The alternative costs no more than the decision, by the forecast of the context.

    Costs are figures of plans, which a `Pricing` in the place of the risk makes costs of: see
    :mod:`whence.claims.forecast_costs`.

    Attributes
    ----------
    largest : float
        The largest cost of either plan in the past, by which rounding is judged.
    best_known : bool
        Whether the best plan of all is known for every forecast, so that no rivals need be looked for.
    """

    largest: float = 1.0
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

    Attributes
    ----------
    low, high : float
        The limits of the sum.
    """

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
