"""Forecasts in integer programs: lines, and orders by curves of the forecast; a sum over trees adds its leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from typing import Any, cast

import numpy as np

from whence.claims.forecast_costs import BandPricing, Broken, CurvePricing, ForecastBetween, LinearPricing, OrderBeats
from whence.errors import InputError
from whence.milp.axes import Axis, Splits, add_axes, counted_axis
from whence.milp.model import Columns, Linear, Model, Program, scaled
from whence.milp.solvers.base import Outcome, SolverSettings
from whence.milp.solvers.highs import Highs, settled
from whence.milp.tree_program import ForestWeighting, Plausibility, add_limits
from whence.models.lines import Line
from whence.question import Answer, Question, nearest_of
from whence.util.aliases import Floats, Status
from whence.util.linear_program import OutOfTime
from whence.weights.forecast_weights import ForecastLine, ForecastTrees

#: By which share of the tolerance a criterion is tightened where the solver's own tolerance broke it.
TIGHTER = 1e-3
#: Share of the costs by which rounding may put one above another.
SLACK = 1e-10
NOTHING = Outcome("infeasible", None, np.inf, 0)


def crossing(question: Question) -> Answer:
    """Answer where a line, in the place of the weights, lies between the two numbers of a claim."""
    claim, line = cast(ForecastBetween, question.claim), cast(Line, cast(Any, question.weights))
    low, high, rounding = claim.low, claim.high, line.precision()
    found = LineProgram(question, (low - rounding, high + rounding)).answer()
    # A line always stops at its limit: what misses that by the tolerance counts where nothing else does.
    if found.status == "none" and claim.tau > rounding:
        found = LineProgram(question, (low - claim.tau, high + claim.tau)).answer()
    one_sided = np.isinf(low) or np.isinf(high)
    return replace(found, cell=_beyond(question, found.point)) if one_sided and found.point is not None else found


def _beyond(question: Question, point: Floats) -> tuple[Floats, Floats] | None:
    """Return the box to which what has moved may move on where a line keeps a single limit; None elsewhere."""
    space = question.space
    if space.rules is not None or question.space.plausibility is not None or space.circles:
        return None
    low, high = point.copy(), point.copy()
    for j in np.flatnonzero(point != space.start).tolist():
        for first, last in space.pieces(j) if space.levels[j] is None else ():
            if first <= point[j] <= last:
                low[j], high[j] = (point[j], last) if point[j] > space.start[j] else (first, point[j])
    return low, high


class LineProgram:
    """One question on its way through the solver."""

    def __init__(self, question: Question, band: tuple[float, float] | None = None) -> None:
        self.question, self.band = question, band
        self.view = cast(ForecastLine, question.weights)
        self.nodes = self.cuts = 0
        self.lower = 0.0
        self.rivals: list[Floats] = [] if band is not None else [question.claim.rival_decision]

    def answer(self) -> Answer:
        """Solve until a context passes the test, none is left, or a limit is reached."""
        try:
            return self._solved()
        except KeyboardInterrupt:
            return self._stopped("interrupted")
        except OutOfTime:
            return self._stopped("time_limit")

    def _stopped(self, status: Status) -> Answer:
        return Answer(status, None, np.inf, self.lower, self.nodes, self.cuts)

    def _solved(self) -> Answer:
        question, tighter = self.question, 0.0
        while True:
            limits = question.limits
            stop = limits.reached(self.nodes, np.inf, self.lower)
            if stop is not None:
                return self._stopped(stop)
            program, axes = self._program(tighter)
            outcome = NOTHING if program is None else self._outcome(program)
            self.nodes += outcome.nodes
            if program is None or outcome.status == "infeasible":
                return Answer("none", None, np.inf, np.inf, self.nodes, self.cuts)
            if tighter == 0.0:
                self.lower = max(self.lower, outcome.bound)
            if outcome.values is None or outcome.status != "optimal":
                return self._stopped("interrupted" if outcome.status == "interrupted" else "time_limit")
            point = self._point(program, axes, outcome.values)
            forecast = self.view.at(question.inputs.row(point))
            if not self._stands(forecast):
                # Only feasible within the solver's tolerance.
                if tighter >= 0.5:
                    return self._stopped("time_limit")
                tighter = TIGHTER if tighter == 0.0 else 10.0 * tighter
                continue
            rival = question.rival(forecast) if question.claim.kind == "absolute" else None
            if rival is None or self._over(forecast, rival) <= 0.0:
                # Better than a plan by no more than rounding is as good as that plan.
                distance = question.space.distance(point)
                return Answer("optimal", point, distance, distance, self.nodes, self.cuts)
            self.rivals.append(rival)
            self.cuts += 1

    def _stands(self, forecast: Floats) -> bool:
        """Return whether a context with this forecast keeps all that is asked for so far."""
        if self.band is not None:
            return self.band[0] <= float(forecast[0]) <= self.band[1]
        return all(self._over(forecast, rival) <= 0.0 for rival in self.rivals)

    def _over(self, forecast: Floats, rival: Floats) -> float:
        """Return by how much the alternative costs more than a rival, beyond the tolerance and rounding."""
        question, risk = self.question, self.question.claim.risk
        over = risk.of(question.claim.alternative, forecast) - risk.of(rival, forecast)
        return over - question.claim.tau - SLACK * question.claim.size

    def _point(self, program: Program, axes: Sequence[Axis], values: Floats) -> Floats:
        """Return the context that the solver has found; what hardly moved has not moved."""
        values = settled(program, values)
        point = np.array([axis.position(values) for axis in axes])
        start = self.question.space.start
        return np.where(np.abs(point - start) <= 1e-12, start, point)

    def _outcome(self, program: Program) -> Outcome:
        limits = self.question.limits
        threads = self.question.settings.threads
        return Highs().solve(program, SolverSettings(limits.remaining, limits.node_limit, 0.0, threads))

    def _base(self) -> tuple[Model, list[Axis]]:
        """Return contexts that are allowed at all, and their distance, which is to be as small as possible."""
        space, model = self.question.space, Model()
        usual = Plausibility.within(space)
        splits = [] if usual is None else usual.splits()
        axes = [counted_axis(space, j, [own for i, own in splits if i == j]) for j in range(space.start.size)]
        add_axes(model, space, axes)
        add_limits(model, space, axes, usual)
        return model, axes

    def _program(self, tighter: float) -> tuple[Program | None, list[Axis]]:
        """Return the nearest context that keeps all that is asked for so far; None where no context does."""
        model, axes = self._base()
        for coefficients, constant in self._rows(tighter):
            expression = self._expression(axes, coefficients)
            if not np.any(expression.coefficients):
                # Nothing that may change has a part in it: the solver's tolerance is no judge of numbers of any size.
                if expression.constant + constant > SLACK * self.question.claim.size:
                    return None, axes
                continue
            model.add(scaled(expression, -constant))
        return model.program(), axes

    def _rows(self, tighter: float) -> Iterator[tuple[Floats, float]]:
        """Yield coefficients of the forecasts and a constant, which together must not be above 0."""
        question = self.question
        if self.band is not None:
            low, high = self.band
            forecasts = self.view.forecaster.forecast(self.view.forecaster.inputs)
            room = min(0.5 * (high - low), 1e-6 * tighter * float(np.ptp(forecasts) + np.abs(forecasts).max()))
            if high < np.inf:
                yield np.ones(1), -(high - room)
            if low > -np.inf:
                yield -np.ones(1), low + room
            return
        for rival in self.rivals:
            over = question.claim.alternative - rival
            yield over[:-1], float(over[-1]) - question.claim.tau * (1.0 - tighter)

    def _expression(self, axes: Sequence[Axis], coefficients: Floats) -> Linear:
        """Return a sum over forecasts as an expression of the steps of the axes."""
        line, inputs = cast(Any, self.view.forecaster), self.question.inputs
        slopes = coefficients @ line.coefficients
        constant = float(coefficients @ line.intercepts)
        terms = [Linear(np.empty(0, dtype=np.int64), np.empty(0), constant)]
        for column, j in enumerate(inputs.coordinate.tolist()):
            if slopes[column] != 0.0:
                shown = axes[j].points * inputs.scale[column] + inputs.offset[column]
                terms.append(axes[j].expression(shown) * float(slopes[column]))
        return Linear.sum(terms)


#: Most lines of a hull: with fewer it lies lower, and ranges are split more often.
MOST_LINES = 24
#: Shares of the largest cost that are a matter of rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Rival:
    """What the alternative must not cost more than: a curve for every product, and what is added to them."""

    curves: Sequence[Broken]
    amount: float

    def over(self, forecast: Floats) -> float:
        """Return by how much the alternative costs more."""
        return self.amount + float(sum(own(forecast[j : j + 1])[0] for j, own in enumerate(self.curves)))


@dataclass(frozen=True, eq=False)
class Range:
    """Between which forecasts a context lies, and the nearest one by the hulls of this many rivals."""

    low: Floats
    high: Floats
    point: Floats
    forecast: Floats
    rivals: int
    tighter: float = 0.0


class CurvedProgram(LineProgram):
    """One question about orders of several products on its way through the solver."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.claim = cast(OrderBeats, question.claim)
        self.pricing = cast(CurvePricing, self.claim.pricing)
        self.rivals: list[Rival] = [self._first()]  # type: ignore[assignment]
        self._waiting: list[tuple[float, int, Range]] = []
        self._numbers = count()
        self._best: Answer | None = None

    def _first(self) -> Rival:
        claim = self.claim
        if claim.best_known:
            return Rival(self.pricing.regrets(claim.alternative, 1.0 + claim.within), 0.0)
        return self._against(claim.rival_decision)

    def _against(self, figures: Floats) -> Rival:
        return Rival(*self.pricing.curves(self.claim.alternative, figures))

    def _stopped(self, status: Status) -> Answer:
        best = self._best
        if best is None:
            return Answer(status, None, np.inf, self.lower, self.nodes, self.cuts)
        return Answer(status, best.point, best.distance, min(self.lower, best.distance), self.nodes, self.cuts)

    def _solved(self) -> Answer:
        """Look at ranges until a context passes the test, none is left, or a limit is reached."""
        low, high = self._reach()
        stop = self._look(low, high)
        while stop is None and self._waiting:
            bound, _, at = heappop(self._waiting)
            self.lower = max(self.lower, bound)
            if self._best is not None and self._best.distance <= bound:
                break
            over = [rival.over(at.forecast) - self._allowed for rival in self.rivals]
            if max(over) <= 0.0:
                rival = None if self._settled_by_rivals else self.question.rival(at.forecast)
                if rival is None or self._against(rival).over(at.forecast) <= self._allowed:
                    return Answer("optimal", at.point, bound, bound, self.nodes, self.cuts)
                self.rivals.append(self._against(rival))
                self.cuts += 1
                stop = self._look(at.low, at.high)
            elif at.rivals < len(self.rivals):
                stop = self._look(at.low, at.high)
            else:
                stop = self._split(at, int(np.argmax(over)))
        if stop is not None:
            return self._stopped(stop)
        if self._best is None:
            return Answer("none", None, np.inf, np.inf, self.nodes, self.cuts)
        found = self._best
        return Answer("optimal", found.point, found.distance, found.distance, self.nodes, self.cuts)

    @property
    def _settled_by_rivals(self) -> bool:
        """Whether a context that keeps all rivals is an answer, without asking for the best plan there."""
        return self.claim.best_known or self.claim.kind == "relative"

    @property
    def _allowed(self) -> float:
        return self.claim.tau + 1e-10 * self.claim.size

    # ---- ranges --------------------------------------------------------------------------------------------

    def _reach(self) -> tuple[Floats, Floats]:
        """Return between which values each forecast lies, whatever context is allowed."""
        axes, ends = self._base()[1], []
        for j in range(len(self.pricing.shortfalls)):
            expression = self._expression(axes, np.eye(len(self.pricing.shortfalls))[j])
            steps = expression.coefficients
            room = ROUNDING * (np.abs(steps).sum() + abs(expression.constant))
            low = expression.constant + np.minimum(steps, 0.0).sum() - room
            ends.append((low, expression.constant + np.maximum(steps, 0.0).sum() + room))
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    def _look(self, low: Floats, high: Floats, tighter: float = 0.0) -> Status | None:
        """Find the nearest context of a range by the hulls; what there is to stop for, if there is."""
        nearest = np.inf if self._best is None else self._best.distance
        stop = self.question.limits.reached(self.nodes, nearest, self.lower)
        if stop is not None:
            # The range is part of the nearest one: the bound stays as it is.
            return stop
        program, axes = self._within(low, high, tighter)
        if program is None:
            return None
        outcome = self._outcome(program)
        self.nodes += max(1, outcome.nodes)
        if outcome.status == "infeasible":
            return None
        if outcome.values is None or outcome.status != "optimal":
            return "interrupted" if outcome.status == "interrupted" else "time_limit"
        point = self._point(program, axes, outcome.values)
        forecast = self.view.at(self.question.inputs.row(point))
        distance = self.question.space.distance(point)
        at = Range(low, high, point, forecast, len(self.rivals), tighter)
        heappush(self._waiting, (distance, next(self._numbers), at))
        known = self._settled_by_rivals and max(rival.over(forecast) for rival in self.rivals) <= self._allowed
        if known and (self._best is None or distance < self._best.distance):
            self._best = Answer("optimal", point, distance, distance)
        return None

    def _split(self, at: Range, worst: int) -> Status | None:
        """Look at both parts of a range, split where the hull of the worst rival is farthest below its curve."""
        curves, size = self.rivals[worst].curves, self._size(self.rivals[worst])
        gaps = []
        for j, curve in enumerate(curves):
            here = at.forecast[j : j + 1]
            gaps.append(float(curve(here)[0] - _hulled(curve, at.low[j], at.high[j])(here)[0]))
        j = int(np.argmax(gaps))
        where = None if gaps[j] <= ROUNDING * size else _corner(curves[j], at.low[j], at.high[j], float(at.forecast[j]))
        if where is None:
            # Only feasible within the solver's tolerance.
            if at.tighter >= 0.5:
                return "time_limit"
            return self._look(at.low, at.high, TIGHTER if at.tighter == 0.0 else 10.0 * at.tighter)
        left, right = at.high.copy(), at.low.copy()
        left[j] = right[j] = where
        return self._look(at.low, left) or self._look(right, at.high)

    # ---- programs ------------------------------------------------------------------------------------------

    @staticmethod
    def _size(rival: Rival) -> float:
        return max(float(np.abs(curve.value).max()) for curve in rival.curves) or 1.0

    def _within(self, low: Floats, high: Floats, tighter: float) -> tuple[Program | None, list[Axis]]:
        """Return the nearest context whose forecasts lie in a range and whose hulls keep every rival; None for none."""
        model, axes = self._base()
        products = len(low)
        lines = [self._expression(axes, np.eye(products)[j]) for j in range(products)]
        for j, line in enumerate(lines):
            if not np.any(line.coefficients):
                room = ROUNDING * max(abs(line.constant), 1e-300)
                if not low[j] - room <= line.constant <= high[j] + room:
                    return None, axes
                continue
            model.add(scaled(line, float(high[j])))
            model.add(scaled(line * -1.0, -float(low[j])))
        for rival in self.rivals:
            if not self._add_rival(model, rival, lines, low, high, tighter):
                return None, axes
        return model.program(), axes

    def _add_rival(
        self, model: Model, rival: Rival, lines: Sequence[Linear], low: Floats, high: Floats, tighter: float
    ) -> bool:
        """Ask that the hulls of a rival add up to no more than the tolerance; False where they never do."""
        size = self._size(rival)
        allowed = self.claim.tau * (1.0 - tighter) - rival.amount
        least = 0.0
        parts = []
        for j, curve in enumerate(rival.curves):
            own = list(hull(curve, float(low[j]), float(high[j])))
            values = _inside(curve, float(low[j]), float(high[j]))[1]
            least += float(values.min())
            height = model.variables(1, values.min() / size, values.max() / size)
            parts.append(Linear(height, np.ones(1)))
            for slope, constant in own:
                above = lines[j] * slope + Linear(height[:0], np.empty(0), constant)
                model.row(above * (1.0 / size) - parts[j], upper=0.0)
        if least > allowed + ROUNDING * size:
            return False
        model.row(Linear.sum(parts), upper=allowed / size)
        return True


def _inside(curve: Broken, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the ends of a range and the corners between them, and the values of a curve there."""
    within = curve.at[(curve.at > low) & (curve.at < high)]
    at = np.concatenate([[low], within, [high]]) if high > low else np.array([low])
    return at, curve(at)


def _corners_of_hull(curve: Broken, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the corners of the largest convex function that lies nowhere above a curve."""
    at, value = _inside(curve, low, high)
    kept: list[int] = []
    for i in range(at.size):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            # The middle one lies on or above the line from its neighbour to the next.
            if (value[b] - value[a]) * (at[i] - at[a]) < (value[i] - value[a]) * (at[b] - at[a]):
                break
            kept.pop()
        kept.append(i)
    return at[kept], value[kept]


def hull(curve: Broken, low: float, high: float) -> Iterator[tuple[float, float]]:
    """Yield lines, slope and constant, whose maximum is a convex function that lies nowhere above a curve in a range.

    >>> hat = Broken(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 0.0]), 2.0, -1.0)
    >>> list(hull(hat, 0.0, 3.0)), list(hull(hat, 0.0, 0.5))
    ([(0.0, 0.0)], [(2.0, 0.0)])
    """
    at, value = _corners_of_hull(curve, low, high)
    if at.size == 1:
        yield 0.0, float(value[0])
        return
    slopes = np.diff(value) / np.diff(at)
    chosen: Any = range(slopes.size)
    if slopes.size > MOST_LINES:
        chosen = np.unique(np.linspace(0, slopes.size - 1, MOST_LINES).round().astype(int)).tolist()
    for k in chosen:
        yield float(slopes[k]), float(value[k] - slopes[k] * at[k])


def _hulled(curve: Broken, low: float, high: float) -> Any:
    """Return the function that such lines make."""
    lines = np.array(list(hull(curve, low, high)))
    return lambda x: (lines[:, 0] * x[:, None] + lines[:, 1]).max(axis=1)


def _corner(curve: Broken, low: float, high: float, near: float) -> float | None:
    """Return the corner of a curve inside a range that is nearest to a forecast."""
    within = curve.at[(curve.at > low) & (curve.at < high)]
    return None if not within.size else float(within[np.argmin(np.abs(within - near))])


class ForecastWeighting(ForestWeighting):
    """A forecast of trees: every leaf variable adds what its leaf adds to the forecast of each outcome."""

    def __init__(self, model: Model, question: Question, more: Sequence[tuple[int, Splits]] = ()) -> None:
        if not isinstance(question.claim.risk, LinearPricing):
            raise InputError(
                "'engine' must be 'search' for orders that follow a forecast: the integer program knows costs that are "
                "linear in the outcomes only."
            )
        super().__init__(model, question, more)
        self.view = cast(ForecastTrees, question.weights)

    @cached_property
    def _adds(self) -> Floats:
        """What each leaf variable adds to the forecasts."""
        found, first = [], 0
        for tree, leaves in zip(self.view.trees, self.leaves, strict=True):
            number = np.cumsum(tree.leaf >= 0) - 1
            found.append(self.view.leaf_values[first + number[leaves.nodes]])
            first += int((tree.leaf >= 0).sum())
        return np.concatenate(found)

    def mean(self, values: Floats) -> Linear:
        """Return what figures of a plan, or the difference of two, cost."""
        coefficients, constant = values[:-1], float(values[-1])
        return Linear(self._leaf_columns, self._adds @ coefficients, constant + float(self.view.offsets @ coefficients))

    def means(self, values: Floats) -> list[Linear]:
        """Return the same for several."""
        return [self.mean(column) for column in values.T]

    @cached_property
    def columns(self) -> Columns:
        """There are no weights."""
        raise InputError("method='dual' and tails need weights, which a forecast does not have.", parameter="method")

    @staticmethod
    def ceilings(weights: Any, how: str) -> Floats:
        """There are no weights."""
        return np.ones(1)


def explain(question: Question) -> Answer:
    """Answer a question about forecasts that are lines, by integer programs that HiGHS solves."""
    claim = cast(OrderBeats, question.claim)
    if claim.best_known:
        # Whatever holds against the best plan holds against all.
        question = question.relative()
    if isinstance(claim.pricing, BandPricing):
        return nearest_of(LineProgram(question, band).answer() for band in claim.bands())
    if isinstance(claim.pricing, CurvePricing):
        return CurvedProgram(question).answer()
    return LineProgram(question).answer()
