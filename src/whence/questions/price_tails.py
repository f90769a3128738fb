"""The nearest prices at which quantities are the best under CVaR, by which outcomes are in the tail of their costs.

Under a tail that is known, what makes a plan the best is linear in the prices, and so is that these outcomes cost the
most. So the outcomes of which it is open whether they are in the tail are decided one after the other: in, out, or just
where the tail begins. As long as some are open, the shares of the tail in which a quantity is too large, or too small,
lie in a range, which gives linear rows that no good prices break.

Prices that are nearer than the best known leave few outcomes open, as long as these are near; of many that are open,
there may be more cases than time.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.problems.pricing import Conditions
from whence.questions.possible_tails import PossibleTails
from whence.util.aliases import Floats

#: Distances that differ by less are the same.
NEAR = 1e-6
#: By how much scaled rows may be broken, so that rounding rules nothing out.
SLACK = 1e-9
#: Every so many cases, prices are looked for with the tail that a case suggests; and how often the tail is adapted.
EVERY, ADAPTED = 8, 6
#: Rounds in which outcomes that should not be in a tail, or should, are found out.
ROUNDS = 30


@dataclass(frozen=True)
class _Case:
    """Between what the part of every outcome in the tail lies, and which cost at least, or at most, what begins it."""

    low: Floats
    high: Floats
    above: NDArray[np.bool_]
    below: NDArray[np.bool_]

    def decided(self, i: int, low: float, high: float, most: float) -> _Case:
        """The same with another range for an outcome, of which `most` can be in the tail."""
        lower, upper, above, below = self.low.copy(), self.high.copy(), self.above.copy(), self.below.copy()
        lower[i], upper[i] = low, high
        above[i], below[i] = above[i] or low > 0.0 or high > low, below[i] or high < most or high > low
        return _Case(lower, upper, above, below)


class TailSearch:
    """The search for one choice of limits; what it finds and proves is written into `search`."""

    def __init__(self, search: Any, tail: float, marks: tuple[Floats, Floats]) -> None:
        asked = search.question
        self.search, self.asked, self.tail = search, asked, tail
        #: By outcome and product: whether the outcome lies below the quantity, and whether not above it.
        self.short, self.upto = marks
        self.own = asked.priced.lines(asked.plan)
        self.most: Floats = asked.priced.weights / tail
        today = self.own.costs(asked.priced.values)
        self.money = max(float(np.abs(today).max(initial=0.0)), 1e-300)
        self.today: Floats = today / self.money
        self.slopes: Floats = self.own.slopes * asked.scale / self.money

    def run(self) -> float | None:
        """The bound where the nearest prices are proved; None where rounding leaves a case that cannot be told apart.

        Out of time, the search knows the bound so far.
        """
        search = self.search
        self._adapt(self.search._worst(self.today))
        order, tried = count(), 0
        queue: list[tuple[float, int, _Case, Floats]] = []
        self._push(queue, order, self._root())
        while queue:
            bound, _, case, x = queue[0]
            search.open_bound = min(bound, search.distance)
            if bound >= search.distance - NEAR:
                break
            search._check_time()
            heapq.heappop(queue)
            search.boxes += 1
            gap, _ = search.judged(x)
            if gap <= self.asked.tau:
                search.best, search.distance = x, bound
                continue
            if tried % EVERY == 0:
                self._adapt(self.search._worst(self.today + self.slopes @ x))
                self._with_tail(self._inner(case))
            tried += 1
            parts = self._parts(case)
            if not parts:
                return None
            for part in parts:
                self._push(queue, order, part)
        return float(search.distance)

    def _push(self, queue: list[Any], order: Any, case: _Case | None) -> None:
        found = None if case is None else self._bounded(case)
        if found is not None and found[1] < self.search.distance - NEAR:
            heapq.heappush(queue, (found[1], next(order), case, found[0]))

    # ---- cases ----------------------------------------------------------------------------------------------------

    def _root(self) -> _Case:
        """What is certain of the tail at all prices that are near enough."""
        asked, none = self.asked, np.zeros(self.most.size, dtype=np.bool_)
        known = PossibleTails(self.own, asked, self.tail, asked.low, asked.high, self.search.distance)
        low = np.where(known.sure > 0.0, self.most, 0.0)
        high = low.copy()
        high[known.open] = self.most[known.open]
        return _Case(low, high, none, none)

    def _parts(self, case: _Case) -> list[_Case]:
        """The outcome that counts the most is decided; of those where the tail begins, how much of them counts."""
        room = case.high - case.low
        untied = np.flatnonzero((room > 0.0) & ~case.above)
        if untied.size:
            i = int(untied[self.most[untied].argmax()])
            most = float(self.most[i])
            return [case.decided(i, *ends, most) for ends in ((most, most), (0.0, 0.0), (0.0, most))]
        i = int(room.argmax())
        if room[i] <= SLACK * self.most[i]:
            return []
        middle = 0.5 * (case.low[i] + case.high[i])
        ends = ((float(case.low[i]), float(middle)), (float(middle), float(case.high[i])))
        return [case.decided(i, *pair, float(self.most[i])) for pair in ends]

    def _bounded(self, case: _Case) -> tuple[Floats, float] | None:
        """The nearest prices that no row of a case rules out, and how far they are."""
        ranges = self._shares(case)
        if ranges is None:
            return None
        best = self._optimal(*ranges)
        free, size = best.lower.size, len(best.matrix)
        matrix, upper = [np.hstack([best.matrix, np.zeros((size, 1))])], [best.row_upper]
        for which, sign in ((case.above, -1.0), (case.below, 1.0)):
            at = np.flatnonzero(which)
            slopes = sign * self.slopes[at]
            matrix.append(np.hstack([slopes, -slopes, np.zeros((at.size, free)), np.full((at.size, 1), -sign)]))
            upper.append(-sign * self.today[at])
        limits = np.concatenate(upper) + SLACK
        further = np.append(best.lower, -np.inf), np.append(best.upper, np.inf)
        search = self.search
        found: tuple[Floats, float] | None = search._program(
            search.whole, np.vstack(matrix), np.full(limits.size, -np.inf), limits, further
        )
        return found

    def _optimal(self, least: Floats, largest: Floats) -> Conditions:
        """What makes the plan the best where marks have these shares of the tail, as rows for changes."""
        asked, search = self.asked, self.search
        conditions = asked.priced.between(asked.plan, least, largest, search.moved)
        found: Conditions = conditions.in_changes(asked.priced.values, asked.scale)
        return found

    def _shares(self, case: _Case) -> tuple[Floats, Floats] | None:
        """The least part of the tail below each quantity, and the largest one up to it; None where no tail is left."""
        room = case.high - case.low
        left = 1.0 - float(case.low.sum())
        whole = float(room.sum())
        if left < -SLACK or whole < left - SLACK:
            return None
        left = min(max(left, 0.0), whole)
        least = case.low @ self.short + np.maximum(left - (whole - room @ self.short), 0.0)
        largest = case.low @ self.upto + np.minimum(room @ self.upto, left)
        return np.clip(least, 0.0, 1.0), np.clip(largest, 0.0, 1.0)

    def _inner(self, case: _Case) -> Floats:
        """A tail of a case: of every outcome that is open, the same part of what may be in it."""
        room = case.high - case.low
        found: Floats = case.low + room * ((1.0 - case.low.sum()) / max(float(room.sum()), 1e-300))
        return found

    # ---- good prices ----------------------------------------------------------------------------------------------

    def _adapt(self, tail: Floats) -> None:
        """Look for good prices with a tail, then with the one that the prices found have."""
        known: list[bytes] = []
        for _ in range(ADAPTED):
            if (key := tail.tobytes()) in known:
                return
            known.append(key)
            x = self._with_tail(tail)
            if x is None:
                return
            tail = self.search._worst(self.today + self.slopes @ x)

    def _with_tail(self, tail: Floats) -> Floats | None:
        """The nearest prices at which a plan is the best under a tail; they are kept where it is that of the plan."""
        asked, search = self.asked, self.search
        shares = np.clip(tail @ self.short, 0.0, 1.0), np.clip(tail @ self.upto, 0.0, 1.0)
        best, x = self._optimal(*shares), None
        rows, upper, further = best.matrix, best.row_upper, (best.lower, best.upper)
        for _ in range(ROUNDS):
            found = search._program(search.whole, rows, np.full(upper.size, -np.inf), upper, further)
            if found is None:
                break
            x, distance = found
            costs = self.today + self.slopes @ x
            worse = self.search._worst(costs) - tail
            if worse @ costs <= SLACK:
                if distance < search.distance - NEAR and search.judged(x)[0] <= asked.tau:
                    search.best, search.distance = x, distance
                break
            row = worse @ self.slopes
            rows = np.vstack([rows, np.concatenate((row, -row, np.zeros(further[0].size)))])
            upper = np.append(upper, -float(worse @ self.today))
        return x
