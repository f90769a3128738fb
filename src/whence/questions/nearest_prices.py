"""The nearest prices at which a plan is the best, or better than another one, proved.

Under expected cost, and for prices that are paid whatever comes, the cost of every plan is linear in the prices: the
nearest ones solve a linear program, whose rows are the plan against others that the problem's own solve finds to be
better, or the problem's optimality conditions where these are linear themselves. Where the costs of a rival bend in the
prices (CVaR, recourse), lines above them bound every box of prices, and boxes are split until both meet.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, count, product
from typing import Any

import numpy as np
from scipy import sparse

from whence.errors import SolverError
from whence.problems.pricing import REACH, Limit, Moved, Priced, Terms
from whence.questions.possible_tails import PossibleTails, Row, Rows, straight_row
from whence.questions.price_segments import Segment
from whence.questions.price_tails import TailSearch
from whence.risk import Risk, known_tail, tail_flow
from whence.util import linear_program as highs
from whence.util.aliases import Floats
from whence.util.linear_program import LinearProgram, OutOfTime, until

#: Distances that differ by less are the same.
NEAR = 1e-6
#: Tries to find good prices near those at which a box is bounded.
TRIES = 4
#: Of the tolerance: by how much rows may be broken in a program, so that rounding rules nothing out.
SPARE = 0.05
#: A box is split where its bound rose by less than this share of the distance this many times in a row.
SLOW = 0.002
PATIENCE = 3


@dataclass(frozen=True)
class PricesQuestion:
    """A plan, a rival (None: all other plans), and where prices are looked for, in changes that count 1."""

    priced: Priced
    plan: Any
    rival: Any
    risk: Risk
    #: What a change of each parameter counts, and how far it may go either way.
    weight: Floats
    low: Floats
    high: Floats
    tau: float
    #: Limits that may be moved, and what moving each of them counts.
    limits: tuple[Limit, ...] = ()
    limit_weights: tuple[float, ...] = ()
    deadline: float = math.inf

    def counted(self, needed: bool = False) -> float:
        """What moving all limits counts, or those that the plan breaks."""
        pairs = zip(self.limits, self.limit_weights, strict=True)
        return sum(_moving(one, weight) for one, weight in pairs if one.needed or not needed)

    def choices(self, needed: Moved) -> Iterator[Moved]:
        """Every choice of limits with those that are needed, nearest first."""
        pairs = zip(self.limits, self.limit_weights, strict=True)
        further = sorted(((_moving(one, weight), one) for one, weight in pairs if not one.needed), key=lambda p: p[0])
        yield needed
        # By their sums: the next ones of a choice replace its last limit by the next, or take the next besides.
        queue: list[tuple[float, tuple[int, ...]]] = [(further[0][0], (0,))] if further else []
        while queue:
            total, chosen = heapq.heappop(queue)
            yield Moved((*needed.limits, *(further[i][1] for i in chosen)), needed.distance + total)
            following = chosen[-1] + 1
            if following < len(further):
                heapq.heappush(queue, (total + further[following][0], (*chosen, following)))
                swapped = total - further[chosen[-1]][0] + further[following][0]
                heapq.heappush(queue, (swapped, (*chosen[:-1], following)))

    def values(self, x: Floats) -> Floats:
        """The values of the parameters at changes `x`."""
        return self.priced.values + self.scale * x

    def toward(self, rival: Any, share: float) -> Any:
        """The plan a share of the way to a rival, where it is a rival itself; otherwise None."""
        return None if self.rival is not None else self.priced.toward(self.plan, rival, share)

    @property
    def scale(self) -> Floats:
        """By how much a parameter changes where it changes by 1."""
        return np.array([one.scale for one in self.priced.parameters])


@dataclass(frozen=True)
class FoundPrices:
    """How the search ended: "optimal", "none" or "time_limit", with the nearest prices found and the proved bound."""

    status: str
    x: Floats | None
    moved: Moved
    distance: float
    bound: float
    #: Plans that were better where the plan was tried.
    rivals: tuple[Any, ...] = ()
    solves: int = 0
    boxes: int = 0

    def with_limits(self) -> FoundPrices:
        """The same, with what moving limits counts."""
        return replace(self, distance=self.distance + self.moved.distance, bound=self.bound + self.moved.distance)


def _moving(limit: Limit, weight: float) -> float:
    return weight * abs(limit.to - limit.value) / limit.scale


def best_gap(question: PricesQuestion, x: Floats, moved: Moved) -> tuple[float, Any]:
    """By how much the plan costs more than its rival, or than the best plan, at changes `x`; and that plan."""
    priced, values = question.priced, question.values(x)
    rival = question.rival
    if rival is None:
        with until(question.deadline):
            rival = priced.solve(values, question.risk, moved)
    own, other = (question.risk.of(priced.costs(plan, values), priced.weights) for plan in (question.plan, rival))
    return own - other, rival


def quick_gap(question: PricesQuestion, x: Floats, moved: Moved) -> tuple[float, Any]:
    """Return the same against a plan that was found in no time, where that suffices to rule `x` out."""
    priced, tail = question.priced, known_tail(question.risk, "prices")
    if question.rival is None and tail is not None:
        values = question.values(x)
        rival = priced.cheaper(question.plan, values, tail, moved)
        if rival is not None:
            own, other = (question.risk.of(priced.costs(z, values), priced.weights) for z in (question.plan, rival))
            if own - other > 2.0 * question.tau:
                return own - other, rival
    return best_gap(question, x, moved)


def nearest_prices(question: PricesQuestion) -> FoundPrices:
    """The nearest prices, over all choices of limits to be moved."""
    needed = Moved(tuple(one for one in question.limits if one.needed), question.counted(needed=True))
    every = Moved(question.limits, question.counted())
    if len(needed.limits) == len(every.limits):
        return _Search(question, needed, math.inf).run().with_limits()
    # Limits that are moved can only help: with all of them moved, prices need not change more than with fewer.
    most = _Search(question, every, math.inf).run()
    if most.x is None:
        # With fewer limits moved it is no nearer than that, but what moving the others counts is saved.
        return replace(most.with_limits(), bound=most.bound + needed.distance)
    best, rivals, solves, boxes = most.with_limits(), list(most.rivals), most.solves, most.boxes
    proved = most.status == "optimal"
    bound = most.bound + needed.distance
    for moved in question.choices(needed):
        if moved.distance + most.bound >= best.distance - NEAR or not proved:
            break
        found = _Search(question, moved, best.distance - moved.distance).run()
        solves, boxes = solves + found.solves, boxes + found.boxes
        rivals += found.rivals
        proved = found.status != "time_limit"
        bound = most.bound + moved.distance
        if found.x is not None:
            best = found.with_limits()
    bound = best.distance if proved else min(bound, best.distance)
    status = "optimal" if proved else "time_limit"
    return replace(best, status=status, bound=bound, rivals=tuple(rivals), solves=solves, boxes=boxes)


#: By how much the plan costs more than another one at some changes, and that plan.
Judge = Callable[[PricesQuestion, Floats, Moved], tuple[float, Any]]


@dataclass
class _Box:
    low: Floats
    high: Floats
    #: Points from which planes above the costs of rivals are drawn, besides the one nearest to today's prices.
    anchors: list[Floats] = field(default_factory=list)
    #: Planes above the costs of every rival, by its number.
    planes: dict[int, PossibleTails] = field(default_factory=dict)

    def near(self, x: Floats) -> Floats:
        """The corner next to `x`, where today's price is one as well."""
        ends = np.array([self.low, np.clip(0.0, self.low, self.high), self.high])
        found: Floats = ends[np.abs(ends - x).argmin(axis=0), np.arange(x.size)]
        return found

    def within(self, reach: Floats) -> _Box:
        """The part of the box that is not farther away."""
        return _Box(np.maximum(self.low, -reach), np.minimum(self.high, reach))


@dataclass
class _Search:
    """The search for one choice of limits; distances do not count them."""

    question: PricesQuestion
    moved: Moved
    #: What is at least as far need not be found.
    reached: float
    rivals: list[Any] = field(default_factory=list)
    #: Lines above the costs of a rival, and tails of the plan, that rows are made of.
    lines: list[Terms] = field(default_factory=list)
    tails: list[Floats] = field(default_factory=list)
    #: Without a tail, the mean of each of these lines, which is the same in every box.
    straight: dict[int, Row] = field(default_factory=dict)
    best: Floats | None = None
    distance: float = math.inf
    solves: int = 0
    boxes: int = 0

    def run(self) -> FoundPrices:
        """Search until the nearest prices are proved, there are none, or the time is up."""
        self.distance = self.reached
        try:
            bound = self._direct() if self.question.rival is None else None
            if bound is None:
                bound = self._segments()
            if bound is None:
                bound = self._tails()
            if bound is None:
                bound = self._boxes()
            status = "optimal" if self.best is not None else "none"
        except OutOfTime:
            bound, status = self.open_bound, "time_limit"
        distance = self.distance if self.best is not None else math.inf
        return FoundPrices(status, self.best, self.moved, distance, bound, tuple(self.rivals), self.solves, self.boxes)

    #: What is proved of everything that was not looked at.
    open_bound: float = 0.0

    # ---- optimality conditions that are linear ------------------------------------------------------------------

    def _direct(self) -> float | None:
        """The bound where the problem knows linear conditions; None where it does not, or rounding spoils them."""
        asked = self.question
        conditions = asked.priced.conditions(asked.plan, asked.risk, self.moved)
        if conditions is None:
            return None
        rows = conditions.in_changes(asked.priced.values, asked.scale)
        found = self._program(self.whole, rows.matrix, rows.row_lower, rows.row_upper, (rows.lower, rows.upper))
        if found is None:
            return math.inf
        x, distance = found
        gap, rival = self._gap(x)
        if gap > asked.tau:
            self.rivals.append(rival)
            return None
        if distance < self.distance:
            self.best, self.distance = x, distance
        return distance

    # ---- a single price, or the ratio of two --------------------------------------------------------------------

    def _segments(self) -> float | None:
        """The bound where prices that may change lie on a line, or where only the ratio of two of them counts."""
        asked, free = self.question, np.flatnonzero(self.question.high > self.question.low)
        tail = self._tail
        if tail is None or not asked.priced.straight or free.size not in (1, 2):
            return None
        own = asked.priced.lines(asked.plan)
        if own.slopes is None:
            return None
        if free.size == 2:
            others = np.delete(asked.priced.values, free)
            if others.any() or own.base.any() or own.shift.any() or (asked.values(asked.low)[free] <= 0.0).any():
                return None
        ends = [asked.low, asked.high]
        if free.size == 2:
            ends = [np.where(np.arange(asked.low.size) == j, asked.low, asked.high) for j in free]
            ends = [np.where(np.isin(np.arange(asked.low.size), free), end, 0.0) for end in ends]
        for end in ends:
            segment = Segment(
                asked.priced.values,
                asked.values(end),
                own,
                asked.priced.weights,
                tail,
                asked.tau / (REACH if free.size == 2 else 1.0),
                lambda values: self.judged((values - asked.priced.values) / asked.scale),
                asked.priced.lines,
                asked.toward,
            )
            found = segment.first(self._check_time)
            if found is None:
                continue
            x = (segment.at(found) - asked.priced.values) / asked.scale
            for place in [x] if free.size == 1 else self._same_ratio(x, free):
                distance = float(asked.weight @ np.abs(place))
                if distance < self.distance - NEAR and self._gap(place)[0] <= asked.tau:
                    self.best, self.distance = place, distance
        return self.distance

    def _same_ratio(self, x: Floats, free: Any) -> Iterator[Floats]:
        """The nearest changes in which two prices have the ratio that they have at `x`: one of them is at an end."""
        asked = self.question
        there = asked.values(x)[free]
        for j in range(2):
            for stays in (0.0, asked.low[free[j]], asked.high[free[j]]):
                place = np.zeros(x.size)
                place[free[j]] = stays
                value = asked.values(place)[free[j]] * there[1 - j] / there[j]
                other = free[1 - j]
                place[other] = (value - asked.priced.values[other]) / asked.scale[other]
                slack = NEAR * np.maximum(1.0, asked.high[other] - asked.low[other])
                if asked.low[other] - slack <= place[other] <= asked.high[other] + slack:
                    yield np.clip(place, asked.low, asked.high)

    def _check_time(self) -> None:
        if time.perf_counter() > self.question.deadline:
            raise OutOfTime("The time limit passed before the nearest prices were proved.")

    def _tails(self) -> float | None:
        """The bound where the problem knows what makes a plan the best under a tail; None where it does not."""
        asked, tail = self.question, self._tail
        if tail is None or asked.rival is not None or (asked.values(asked.low) < 0.0).any():
            return None
        marks = asked.priced.marks(asked.plan)
        return None if marks is None else TailSearch(self, tail, marks).run()

    @property
    def whole(self) -> _Box:
        """All prices that are looked at."""
        return _Box(self.question.low, self.question.high)

    # ---- boxes of prices ----------------------------------------------------------------------------------------

    def _boxes(self) -> float:
        asked = self.question
        order = count()
        queue = [(0.0, next(order), _Box(asked.low.copy(), asked.high.copy()))]
        while queue:
            bound, _, box = queue[0]
            self.open_bound = min(bound, self.distance)
            if bound >= self.distance - NEAR:
                break
            self._check_time()
            heapq.heappop(queue)
            self.boxes += 1
            for bound, part in self._bounded(box):
                heapq.heappush(queue, (bound, next(order), part))
        return self.distance

    def _bounded(self, box: _Box) -> Iterator[tuple[float, _Box]]:
        """Settle a box, or split it where its bound is known and does not settle it."""
        asked = self.question
        with np.errstate(divide="ignore", invalid="ignore"):
            box = box.within(self.distance / asked.weight) if math.isfinite(self.distance) else box
        rows = self._rows(box)
        tried, slow, last = False, 0, -1.0
        while True:
            found = self._nearest(box, rows)
            if found is None or found[1] >= self.distance - NEAR:
                return
            x, distance = found
            slow = slow + 1 if distance - last < SLOW * min(self.distance, 1e9) else 0
            last = distance
            gap, rival = self._gap(x)
            if gap <= asked.tau:
                self.best, self.distance = x, distance
                return
            self._learn(x, rival)
            if not tried and (not asked.priced.straight or self._bends):
                self._try(x, box)
                tried = True
                if distance >= self.distance - NEAR:
                    return
            anchor = box.near(x)
            if not any(np.array_equal(anchor, one) for one in box.anchors):
                box.anchors.append(anchor)
            fresh = self._rows(box)
            # A program may let a price rise and fall at once: rows that it keeps, and `x` does not, come again.
            known = len(fresh.own) + len(fresh.over) == len(rows.own) + len(rows.over)
            if fresh.gap(x) <= 0.75 * asked.tau or known or (slow >= PATIENCE and asked.rival is not None):
                yield from ((distance, part) for part in self._split(box, x))
                return
            rows = fresh

    def _split(self, box: _Box, x: Floats) -> list[_Box]:
        """Two halves, by the price that keeps the planes above a rival's costs farthest away from these at `x`."""
        width = box.high - box.low
        away = np.abs(x - np.array([*box.anchors, np.clip(0.0, box.low, box.high)])).min(axis=0)
        loose = np.zeros(x.size)
        for terms in self.lines:
            tails = box.planes.get(id(terms))
            if tails is not None:
                loose = np.maximum(loose, tails.rise + tails.fall)
        if not loose.any():
            loose = self._spread()
        j = int((loose * np.minimum(away + 1e-3 * width, width)).argmax())
        at = float(np.clip(x[j], box.low[j] + 0.2 * width[j], box.high[j] - 0.2 * width[j]))
        lower, upper = _Box(box.low, box.high.copy()), _Box(box.low.copy(), box.high)
        lower.high[j] = upper.low[j] = at
        return [lower, upper]

    def _spread(self) -> Floats:
        """How much each price bends the costs of the last rival."""
        asked, terms = self.question, self.lines[-1]
        slopes = np.zeros((1, asked.low.size)) if terms.slopes is None else terms.slopes
        spread: Floats = asked.scale * (slopes.max(axis=0) - slopes.min(axis=0)) + 1e-12
        return spread

    # ---- rows ---------------------------------------------------------------------------------------------------

    @property
    def _tail(self) -> float | None:
        return known_tail(self.question.risk, "prices")

    @property
    def _bends(self) -> bool:
        """Whether what rivals cost is no line, as a tail of costs whose prices come with what happens."""
        return self._tail is not None and any(terms.slopes is not None for terms in self.lines)

    def _gap(self, x: Floats, judge: Judge = best_gap) -> tuple[float, Any]:
        self.solves += 1
        return judge(self.question, x, self.moved)

    def judged(self, x: Floats) -> tuple[float, Any]:
        """By how much the plan costs more than a plan that is found quickly, or than the best one."""
        return self._gap(x, quick_gap)

    def _learn(self, x: Floats, rival: Any) -> None:
        """Keep a rival that is better at `x`, and the tail of the plan there."""
        asked = self.question
        values = asked.values(x)
        terms = asked.priced.above(rival, values)
        if not any(_same(terms, known) for known in self.lines):
            self.rivals.append(rival)
            self.lines.append(terms)
        tail = self._worst(asked.priced.costs(asked.plan, values))
        if not any(np.array_equal(tail, known) for known in self.tails):
            self.tails.append(tail)

    def _worst(self, costs: Floats) -> Floats:
        """The distribution of the tail of these costs."""
        weights, tail = self.question.priced.weights, self._tail
        if tail is None:
            return weights
        order = np.argsort(-costs, kind="stable")
        found: Floats = np.empty_like(weights)
        found[order] = tail_flow(weights[order], tail) / tail
        return found

    def _line(self, terms: Terms, tail: Floats) -> Row:
        """The mean of lines under a distribution, as a function of changes."""
        asked = self.question
        slope = terms.shift if terms.slopes is None else terms.shift + tail @ terms.slopes
        constant = float(tail @ terms.base) + float(slope @ asked.priced.values)
        return straight_row(slope * asked.scale, constant)

    def _rows(self, box: _Box) -> Rows:
        """Every tail of the plan, and lines above every rival, in a box."""
        asked = self.question
        if not self.lines:
            return Rows()
        below = asked.priced.below(asked.plan, *sorted_box(asked.values(box.low), asked.values(box.high)))
        own = [self._line(below, tail) for tail in self.tails]
        return Rows(own, [over for terms in self.lines for over in self._above(terms, box)])

    def _above(self, terms: Terms, box: _Box) -> list[Row]:
        """Planes that are nowhere in a box below the risk of these lines."""
        tail = self._tail
        if tail is None:
            if id(terms) not in self.straight:
                self.straight[id(terms)] = self._line(terms, self.question.priced.weights)
            return [self.straight[id(terms)]]
        if terms.slopes is None:
            return [self._line(terms, self._worst(terms.base))]
        free = np.flatnonzero(box.high - box.low > 0.0)
        if free.size <= 2:
            return self._planes(terms, box, free)
        tails = box.planes.get(id(terms))
        if tails is None or tails.reach > self.distance + NEAR:
            tails = box.planes[id(terms)] = PossibleTails(terms, self.question, tail, box.low, box.high, self.distance)
        planes = [tails.plane(anchor) for anchor in [np.clip(0.0, box.low, box.high), *box.anchors]]
        return planes if tails.corner_plane is None else [*planes, tails.corner_plane]

    def _risk(self, terms: Terms, x: Floats) -> float:
        asked = self.question
        return asked.risk.of(terms.costs(asked.values(x)), asked.priced.weights)

    def _planes(self, terms: Terms, box: _Box, free: Any) -> list[Row]:
        """Planes through corners of a box of at most two sides, above all of its corners: convex costs lie below."""
        corners = []
        for ends in product((False, True), repeat=free.size):
            corner = box.low.copy()
            corner[free] = np.where(ends, box.high[free], box.low[free])
            corners.append(corner)
        costs = np.array([self._risk(terms, corner) for corner in corners])
        slack = 1e-12 * max(1e-300, float(np.abs(costs).max()))
        found = []
        for chosen in combinations(range(len(corners)), free.size + 1):
            places = np.array([np.append(corners[i][free], 1.0) for i in chosen])
            if abs(np.linalg.det(places / np.append(np.maximum(box.high - box.low, 1e-300)[free], 1.0))) < 1e-9:
                continue
            plane = np.linalg.solve(places, costs[list(chosen)])
            if all(plane @ np.append(c[free], 1.0) >= cost - slack for c, cost in zip(corners, costs, strict=True)):
                slope = np.zeros(box.low.size)
                slope[free] = plane[:-1]
                found.append(straight_row(slope, float(plane[-1])))
        return found

    # ---- linear programs ----------------------------------------------------------------------------------------

    def _nearest(self, box: _Box, rows: Rows) -> tuple[Floats, float] | None:
        """The nearest changes in a box that keep rows: a number lies above the plan's lines and below the rivals'."""
        both = [*rows.own, *rows.over]
        if not both:
            x = np.clip(0.0, box.low, box.high)
            return x, float(self.question.weight @ np.abs(x))
        sign = np.repeat([1.0, -1.0], [len(rows.own), len(rows.over)])
        slopes = sign[:, None] * np.array([np.concatenate((row.up, row.down)) for row in both])
        constant = sign * np.array([row.constant for row in both])
        level = float(np.mean(constant * sign))
        size = max(float(np.abs(slopes).max(initial=0.0)), 1e-300)
        # A part of the tolerance is left for the program's own.
        upper = sign * level - constant + np.where(sign < 0.0, SPARE * self.question.tau, 0.0)
        matrix = sparse.csr_array(np.hstack([slopes / size, -sign[:, None]]))
        free = (np.array([-np.inf]), np.array([np.inf]))
        return self._program(box, matrix, np.full(len(both), -np.inf), upper / size, free)

    def _program(
        self, box: _Box, matrix: Any, row_lower: Floats, row_upper: Floats, further: tuple[Floats, Floats]
    ) -> tuple[Floats, float] | None:
        """The nearest changes in a box that keep rows, and how far they are; None where there are none.

        Columns are how far every price rises, how far it falls, and further variables.
        """
        weight, free = self.question.weight, further[0].size
        size = box.low.size
        program = LinearProgram(
            cost=np.concatenate((weight, weight, np.zeros(free))),
            lower=np.concatenate((np.maximum(box.low, 0.0), np.maximum(-box.high, 0.0), further[0])),
            upper=np.concatenate((np.maximum(box.high, 0.0), np.maximum(-box.low, 0.0), further[1])),
            rows=sparse.csr_array(matrix),
            row_lower=row_lower,
            row_upper=row_upper,
        )
        options: dict[str, Any] = {"parallel": "off"}
        options |= dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-9)
        self._check_time()
        left = self.question.deadline - time.perf_counter()
        if math.isfinite(left):
            options["time_limit"] = left
        ended = highs.run(program, None, options)
        if ended.status in ("infeasible", "infeasible or unbounded"):
            return None
        if ended.status == "limit":
            raise OutOfTime("The time limit passed before the nearest prices were proved.")
        if ended.status != "optimal" or ended.values is None:
            raise SolverError(f"The nearest prices were not found: HiGHS ended with status {ended.status}.")
        x = np.clip(ended.values[:size] - ended.values[size : 2 * size], box.low, box.high)
        return x, float(weight @ np.abs(x))

    # ---- good prices near a bound -------------------------------------------------------------------------------

    def _try(self, x: Floats, box: _Box) -> None:
        """Look for good prices with rivals' costs replaced by lines below them, which meet them at `x`.

        What keeps such rows keeps the true ones: costs that are convex in the prices lie above their tangents.
        """
        asked = self.question
        if not asked.priced.straight:
            return
        for _ in range(TRIES):
            values = asked.values(x)
            own = asked.priced.lines(asked.plan)
            under = [self._line(terms, self._worst(terms.costs(values))) for terms in self.lines]
            rows = Rows([self._line(own, tail) for tail in self.tails], under)
            found = self._nearest(self.whole, rows)
            if found is None or found[1] >= self.distance - NEAR:
                return
            x, distance = found
            gap, rival = self._gap(x)
            if gap <= asked.tau:
                self.best, self.distance = x, distance
                return
            self._learn(x, rival)


def _same(first: Terms, second: Terms) -> bool:
    """Whether two plans have the same costs at all prices."""
    if (first.slopes is None) != (second.slopes is None):
        return False
    pairs = [(first.base, second.base), (first.shift, second.shift)]
    if first.slopes is not None and second.slopes is not None:
        pairs.append((first.slopes, second.slopes))
    return all(np.array_equal(a, b) for a, b in pairs)


def sorted_box(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Two opposite corners as the lower and the upper one."""
    return np.minimum(low, high), np.maximum(low, high)
