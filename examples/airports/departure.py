"""A travel desk books a flight out of New York: from which airport, and with how much time to spare?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import whence as wh

Floats = NDArray[np.float64]

AIRPORTS = ("EWR", "JFK", "LGA")
#: Minutes to get to each of them from the office.
WAY = {"EWR": 55.0, "JFK": 60.0, "LGA": 40.0}
#: The times to spare that are booked.
SPARE = tuple(range(0, 181, 5))
PLANS = [(airport, spare) for airport in AIRPORTS for spare in SPARE]


class Departure(wh.DecisionProblem):
    """An airport and the minutes to spare for a late departure; the outcomes are the delays at all three.

    A minute on the way or to spare costs one minute; a minute late beyond that costs `late`, as a connection is missed.
    A plan is a pair such as ``("JFK", 20)``.

    Parameters
    ----------
    late : float
        What a minute costs by which the delay is longer than what was spared for it.
    """

    cost_unit = "min"

    def __init__(self, late: float = 5.0) -> None:
        self.late = late

    def costs(self, decision: Any, Y: Floats) -> Floats:
        """Minutes lost, under every row of delays."""
        airport, spare = decision
        beyond = np.maximum(Y[:, AIRPORTS.index(airport)] - spare, 0.0)
        lost: Floats = WAY[airport] + spare + self.late * beyond
        return lost

    def solve(self, Y: Floats, weights: Floats, risk: Any) -> tuple[str, int]:
        """The best pair of them all: there are few enough to try each."""
        speaking = np.flatnonzero(weights)
        seen, weight = Y[speaking], weights[speaking]
        return min(PLANS, key=lambda plan: risk.of(self.costs(plan, seen), weight))

    def plans(self, limit: int) -> list[tuple[str, int]] | None:
        """All pairs: with them, questions about some of the plans are answered much faster."""
        return PLANS if len(PLANS) <= limit else None

    def outcome_columns(self) -> int:
        """One column of delays per airport."""
        return len(AIRPORTS)

    def check(self, decision: Any) -> str | None:
        """Why a pair cannot be booked."""
        try:
            airport, spare = decision
        except (TypeError, ValueError):
            return "A plan must be an airport and the minutes to spare."
        if airport not in AIRPORTS:
            return f"The airport must be one of {', '.join(AIRPORTS)}, but it is {airport!r}."
        if spare not in SPARE:
            return f"The minutes to spare must be a multiple of 5 up to 180, but they are {spare!r}."
        return None

    def describe(self, decision: Any, outcomes: Sequence[str] = ()) -> str:
        """Such as "from JFK with 20 min to spare"."""
        airport, spare = decision
        return f"from {airport} with {spare} min to spare"
