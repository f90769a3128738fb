"""Forecasts that are lines: the nearest context is the solution of an integer program, linear in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from whence.milp.axes import Axis, add_axes, add_few, line_axis
from whence.milp.isolation import Plausibility
from whence.milp.model import Linear, Model, Program, scaled
from whence.milp.relation_rows import add_relations
from whence.milp.solvers.base import Outcome, SolverSettings
from whence.milp.solvers.highs import Highs
from whence.question import Answer, Question
from whence.util.aliases import Floats, Status
from whence.util.linear_program import OutOfTime
from whence.weights.forecast_weights import ForecastLine
from whence.weights.plausibility import Isolation

__all__ = ["TIGHTER", "LineProgram", "within_band"]

#: By which share of the tolerance a criterion is tightened where the solver's own tolerance broke it.
TIGHTER = 1e-3
#: Share of the costs by which rounding may put one above another.
SLACK = 1e-10
NOTHING = Outcome("infeasible", None, np.inf, 0)


def within_band(question: Question, band: tuple[float, float]) -> Answer:
    """The nearest context in which a line, in the place of the weights, lies between two numbers."""
    return LineProgram(question, band).answer()


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
            return Answer("interrupted", None, np.inf, self.lower, self.nodes, self.cuts)
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
        """Whether a context with this forecast keeps all that is asked for so far."""
        if self.band is not None:
            return self.band[0] <= float(forecast[0]) <= self.band[1]
        return all(self._over(forecast, rival) <= 0.0 for rival in self.rivals)

    def _over(self, forecast: Floats, rival: Floats) -> float:
        """By how much the alternative costs more than a rival, beyond the tolerance and rounding."""
        question, risk = self.question, self.question.claim.risk
        over = risk.of(question.claim.alternative, forecast) - risk.of(rival, forecast)
        return over - question.claim.tau - SLACK * question.claim.size

    def _point(self, program: Program, axes: Sequence[Axis], values: Floats) -> Floats:
        """The context that the solver has found; what hardly moved has not moved."""
        point = np.array([axis.position(_settled(program, values)) for axis in axes])
        start = self.question.space.start
        return np.where(np.abs(point - start) <= 1e-12, start, point)

    def _outcome(self, program: Program) -> Outcome:
        limits = self.question.limits
        threads = self.question.settings.threads
        return Highs().solve(program, SolverSettings(limits.remaining, limits.node_limit, 0.0, threads))

    def _base(self) -> tuple[Model, list[Axis]]:
        """Contexts that are allowed at all, and their distance, which is to be as small as possible."""
        question, space, model = self.question, self.question.space, Model()
        isolation = question.space.plausibility if isinstance(question.space.plausibility, Isolation) else None
        usual = None if isolation is None else Plausibility(isolation.forest, isolation.score)
        splits = [] if usual is None else usual.splits()
        axes = [line_axis(space, j, [own for i, own in splits if i == j], np.empty(0)) for j in range(space.start.size)]
        add_axes(model, space, axes)
        if usual is not None:
            usual.add(model, axes)
        if question.space.few is not None:
            add_few(model, space, axes, question.space.few)
        if space.rules is not None:
            add_relations(model, axes, space.rules)
        return model, axes

    def _program(self, tighter: float) -> tuple[Program | None, list[Axis]]:
        """The nearest context that keeps all that is asked for so far; None where no context does."""
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
        """Coefficients of the forecasts and a constant, which together must not be above 0."""
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
        """A sum over forecasts as an expression of the steps of the axes."""
        line, inputs = cast(Any, self.view.forecaster), self.question.inputs
        slopes = coefficients @ line.coefficients
        constant = float(coefficients @ line.intercepts)
        terms = [Linear(np.empty(0, dtype=np.int64), np.empty(0), constant)]
        for column, j in enumerate(inputs.coordinate.tolist()):
            if slopes[column] != 0.0:
                shown = axes[j].points * inputs.scale[column] + inputs.offset[column]
                terms.append(axes[j].expression(shown) * float(slopes[column]))
        return Linear.sum(terms)


def _settled(program: Program, x: Floats) -> Floats:
    """`x` with whole binaries, and the rest as near as these allow."""
    whole = np.where(program.integer, np.round(x), x)
    lower = np.where(program.integer, whole, program.lower)
    upper = np.where(program.integer, whole, program.upper)
    outcome = Highs(confirm=False).solve(program.with_bounds(lower, upper, relaxed=True), SolverSettings())
    return whole if outcome.values is None else np.where(program.integer, whole, outcome.values)
