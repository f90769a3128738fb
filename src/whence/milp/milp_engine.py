"""The paper's integer programs as an engine: build, solve, check, cut, again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from whence.checks import FLAG, at_least, one_of, whole
from whence.claims.plans import PlanIsBest
from whence.engines import Engine, part_of, refuse
from whence.errors import InputError
from whence.milp.criterion_rows import about_set, add_dual, check_dual, check_set, criterion_of, set_criterion
from whence.milp.model import Linear, Model, Program, Row
from whence.milp.solvers import SOLVERS, solver_named
from whence.milp.solvers.base import Interrupts, Outcome, Solver, SolverSettings
from whence.milp.solvers.highs import settled
from whence.milp.tree_program import Plausibility, add_limits
from whence.milp.weighting import WAYS, Weighting
from whence.question import Answer, Limits, Progress, Question
from whence.util.aliases import Floats, Status
from whence.util.linear_program import OutOfTime
from whence.weights import Weights
from whence.weights.base import Box


@dataclass(frozen=True)
class Options:
    """Options of the integer programs."""

    solver: str = "highs"
    #: How an absolute explanation is found: by an outer loop of solves and cuts, by cuts within one solve ("lazy"), or
    #: by the dual of a linear decision problem.
    method: str = "iterative"
    #: Relative gap at which a solution counts as optimal; 0 for the exact optimum.
    mip_gap: float = 0.0
    threads: int | None = None
    log: bool = False
    #: Whether HiGHS must find the same optimum in two ways before it is believed; it is not always right.
    confirm: bool = True
    w_max: str = "sample"
    #: Whether a better plan met on the way also becomes a row of its own, besides the region that is cut off.
    valid_inequality: bool = True
    plausibility: Any = None
    #: For ``method="dual"``: the polytope of plans, the cost vectors (one per past observation), the alternative.
    linear: Any = None

    @classmethod
    def of(cls, question: Question) -> Options:
        """Return the options in ``question.settings.options``, checked."""
        given = {"threads": question.settings.threads, **question.settings.options}
        given = {name: value for name, value in given.items() if value is not None}
        unknown = [name for name in given if name not in cls.__dataclass_fields__]
        if unknown:
            known = ", ".join(map(repr, NAMES))
            raise InputError(
                f"An option of engine='milp' must be one of {known}. Got {unknown[0]!r} instead.", parameter=unknown[0]
            )
        usual = Plausibility.within(question.space)
        if usual is not None:
            given.setdefault("plausibility", usual)
        options = cls(**given)
        claim = question.claim
        # What is less by an amount is not linear in the plan.
        if isinstance(claim, PlanIsBest) and claim.linear is not None and not claim.allowance:
            options = replace(options, linear=claim.linear()) if options.method == "dual" else options
        options._check()
        return options

    def _check(self) -> None:
        rules = {
            "solver": one_of(*SOLVERS),
            "method": one_of("iterative", "lazy", "dual"),
            "w_max": one_of(*WAYS),
            **dict.fromkeys(("log", "confirm", "valid_inequality"), FLAG),
            "mip_gap": at_least(0, "a float >= 0"),
            "threads": whole(1).or_none(),
        }
        for name, rule in rules.items():
            if not rule.fits(getattr(self, name)):
                raise self._refused(name, rule.wanted)

    def _refused(self, name: str, wanted: str) -> InputError:
        text = f"The {name!r} parameter must be {wanted}. Got {getattr(self, name)!r} instead."
        return InputError(text, parameter=name)

    def check_ability(self, solver: Solver, question: Question) -> None:
        """Refuse what the solver cannot do."""
        if self.method == "lazy" and question.claim.kind == "absolute" and not solver.takes_rows:
            wanted = f"'iterative' or 'dual' with solver={solver.name!r}, which has no lazy constraints"
            raise self._refused("method", wanted)
        if self.threads not in (None, 1) and not solver.takes_threads:
            raise self._refused("threads", f"1 or None with solver={solver.name!r}")


#: The options that a user can give; the threads are those of the question.
NAMES = tuple(name for name in Options.__dataclass_fields__ if name not in ("linear", "threads"))


#: Seconds between two reports of progress from within a solver.
PACE = 0.05

#: Coordinates that differ by no more are written alike, where the weights are not constant on boxes.
ROUNDING = 1e-12

#: Sets of flow variables kept ready for the rivals that a lazy CVaR model meets.
RESERVED = 5


class IntegerProgram(Engine):
    """The integer programs of the paper, carried by any solver that is installed."""

    name: ClassVar[str] = "milp"
    words: ClassVar[str] = "the integer program"
    options: ClassVar[tuple[str, ...]] = NAMES

    def label(self, weights: Weights, options: Mapping[str, Any]) -> str:
        """Return which solver carries it."""
        return f"milp ({options.get('solver') or Options.solver})"

    def check(self, question: Question) -> None:
        """Refuse options that are unknown or do not fit together, and solvers that are not installed."""
        refuse(question, self.name)
        if question.claim.plans is not None:
            check_set(question)
        _prepared(question)

    def answer(self, question: Question) -> Answer:
        """Solve until a context passes the test.

        >>> import numpy as np
        >>> import whence as wh
        >>> X = np.linspace(0, 1, 20)[:, None]
        >>> policy = wh.Policy(wh.Newsvendor(1.0, 4.0), wh.ForestWeights(n_trees=5, random_state=0)).fit(X, 10 * X)
        >>> policy.explain(X[2], instead=policy.decide(X[15]), engine="milp").status
        'optimal'
        """
        prepared = _prepared(question)
        try:
            run = _Run(question, *prepared)
        except OutOfTime:
            # Some sets of plans are solved for every leaf before there is a model.
            return Answer("time_limit", None, np.inf, 0.0)
        return run.answer()

    def accepts(self, question: Question, point: Floats) -> bool:
        """Return whether the isolation forest, where one is given, takes the context for usual."""
        plausibility = Plausibility.of(question.settings.options.get("plausibility"), point.size)
        return plausibility is None or plausibility.accepts(point)


def _prepared(question: Question) -> tuple[Options, Solver]:
    """Return options and solver of `question`; refuse in one sentence what is missing or does not fit together."""
    options = Options.of(question)
    solver = solver_named(options.solver, options.confirm)
    options.check_ability(solver, question)
    if question.claim.kind == "absolute" and options.method == "dual":
        check_dual(question, options.linear)
    return options, solver


@dataclass
class _Run:
    """One question on its way through a solver."""

    question: Question
    options: Options
    solver: Solver
    model: Model = field(default_factory=Model)
    nodes: int = 0
    cuts: int = 0
    lower: float = 0.0
    interrupts: Interrupts = field(default_factory=Interrupts)

    def __post_init__(self) -> None:
        if self.question.claim.plans is not None:
            self.question = about_set(self.question)
        question, options = self.question, self.options
        self.plausibility = Plausibility.of(options.plausibility, question.space.start.size)
        more = [] if self.plausibility is None else self.plausibility.splits()
        self.weighting: Weighting = part_of(question.weights, IntegerProgram.name, question.claim)(
            self.model, question, more
        )
        self.changed = add_limits(self.model, question.space, self.weighting.axes, self.plausibility)
        criterion = criterion_of if question.claim.plans is None else set_criterion
        self.criterion = criterion(self.model, self.weighting, question, options.w_max)
        for row in self.criterion.against(question.claim.rival_decision):
            self.model.add(row)
        self.lazy = question.claim.kind == "absolute" and options.method == "lazy"
        if self.lazy:
            # No variables can be added while a solver runs.
            self.criterion.reserve(RESERVED)
        if question.claim.kind == "absolute" and options.method == "dual":
            add_dual(self.model, self.weighting, question, options.linear)
        self._refused: set[bytes] = set()

    def answer(self) -> Answer:
        """Solve until a context passes the test, none is left, or a limit is reached."""
        try:
            return self._solved()
        except KeyboardInterrupt:
            return self._result("interrupted", None, self.lower)
        except OutOfTime:
            return self._result("time_limit", None, self.lower)

    def _solved(self) -> Answer:
        while True:
            program = self.model.program()
            if self.question.limits.remaining <= 0:
                return self._result("time_limit", None, self.lower)
            outcome = self._outcome(program)
            self.nodes += outcome.nodes
            if outcome.status == "infeasible":
                return self._result("none", None, np.inf)
            self.lower = max(self.lower, outcome.bound)
            found = outcome.values
            context, refused = (None, []) if found is None else self._judge(program, found)
            if context is not None and outcome.status == "optimal":
                return self._result("optimal", context, np.inf if self.options.mip_gap == 0 else self.lower)
            for row in refused:
                self.model.add(row)
            stop = self.question.limits.reached(self.nodes, np.inf, self.lower) if context is None else None
            if outcome.status != "optimal" or stop is not None:
                status: Status = "interrupted" if "interrupted" in (outcome.status, stop) else "time_limit"
                return self._result(status, context, self.lower)

    def _outcome(self, program: Program) -> Outcome:
        """Return how the solver ended; where Ctrl-C was pressed on the way, interrupted."""
        with self.interrupts.kept():
            outcome = self.solver.solve(program, self._settings(), lazy=self._refusals if self.lazy else None)
        if self.interrupts.failure is not None:
            raise self.interrupts.failure
        if not self.interrupts.stopped:
            return outcome
        bound = outcome.bound if np.isfinite(outcome.bound) else self.lower
        return replace(outcome, status="interrupted", bound=bound)

    def _result(self, status: Status, context: Floats | None, bound: float) -> Answer:
        distance = np.inf if context is None else self.question.space.distance(context)
        cell = None if context is None else self._plausible_cell(context)
        return Answer(status, context, distance, min(bound, distance), self.nodes, self.cuts, cell)

    def _plausible_cell(self, point: Floats) -> Box | None:
        """Return the allowed part of the cell in which contexts are usual, where they must be."""
        if self.plausibility is None:
            return None
        weights, inputs, space = self.question.weights, self.question.inputs, self.question.space
        own = weights.cell(point, inputs.row(point), inputs) or (point - ROUNDING, point + ROUNDING)
        inner = self.plausibility.cell(point)
        low, high = np.maximum(own[0], inner[0]), np.minimum(own[1], inner[1])
        return np.maximum(low, np.minimum(space.lower, point)), np.minimum(high, np.maximum(space.upper, point))

    def _judge(self, program: Program, x: Floats) -> tuple[Floats | None, list[Row]]:
        """Return the context found at `x` where it is an explanation; otherwise the rows that rule it out."""
        # Where all costs are of whole variables, the rest need not be solved for again.
        loose = program.integer.any() and not program.integer[program.cost.nonzero()[0]].all()
        x = settled(program, x) if loose else np.where(program.integer, np.round(x), x)
        context = self._context(x)
        weights = self.weighting.confirmed(context)
        allowed = self.question.space.keeps_rules(context)
        allowed &= self.plausibility is None or self.plausibility.accepts(context)
        if not allowed or weights is None or not np.array_equal(weights, self.weighting.chosen(x)):
            # Only feasible within the solver's tolerance: these binaries lead nowhere.
            return None, [_other_binaries(program, x)]
        refused = self._test(x, weights)
        return (None, refused) if refused else (context, [])

    def _context(self, x: Floats) -> Floats:
        """Return the context at `x`; features that may not change are at the start to the last digit."""
        context, space = self.weighting.context(x), self.question.space
        if self.changed is None or self.question.space.few is None:
            return context
        stays = x[self.changed] < 0.5
        stays[list(self.question.space.few.free)] = False
        return np.where(stays[space.feature], space.start, context)

    def _refusals(self, x: Floats) -> list[Row]:
        """For the solver's callback: the rows that rule out the solution `x`, none where it may stand."""
        return self._test(x, self.weighting.chosen(x))

    def _test(self, x: Floats, weights: Floats) -> list[Row]:
        question = self.question
        if question.claim.kind == "relative":
            return [] if self._holds(weights) else [self.weighting.leave(x)]
        rows = [self.weighting.leave(x)]
        if weights.tobytes() in self._refused:
            return rows
        rival = question.rival(weights)
        if rival is None:
            return []
        self._refused.add(weights.tobytes())
        self.cuts += 1
        if self.options.valid_inequality and (self.criterion.spare() or not self.lazy):
            rows += self.criterion.against(rival)
        return rows

    def _holds(self, weights: Floats) -> bool:
        question = self.question
        if question.claim.plans is None:
            return question.claim.is_satisfied(weights)
        cost = question.claim.risk.of(question.claim.plans.best(weights), weights)
        return bool(cost <= question.claim.risk.of(question.claim.rival_decision, weights) + question.claim.tau)

    def _settings(self) -> SolverSettings:
        limits, options = self.question.limits, self.options
        node_limit = None if limits.node_limit is None else max(limits.node_limit - self.nodes, 0)
        return SolverSettings(
            limits.remaining, node_limit, options.mip_gap, options.threads, options.log, self._reporter(limits)
        )

    def _reporter(self, limits: Limits) -> Callable[[int, float, float], bool]:
        """Reports progress from within a solver, not too often; also lets Python take notice of Ctrl-C."""
        tell = limits.on_progress
        before, told = self.nodes, time.perf_counter()
        settled = self.question.claim.kind == "relative"

        def report(nodes: int, value: float, bound: float) -> bool:
            nonlocal told
            if self.interrupts.wanted:
                return False
            if tell is None or time.perf_counter() - told < PACE:
                return True
            told = time.perf_counter()
            best = value if settled and value < 1e20 else np.inf
            try:
                return tell(Progress(before + nodes, best, max(self.lower, bound), limits.seconds)) is not False
            except BaseException as failure:  # The solver's own code lies between here and the caller.
                self.interrupts.keep(failure)
                return False

        return report


def _other_binaries(program: Program, x: Floats) -> Row:
    """Return the row that says: at least one binary variable differs from its value in `x`."""
    binaries = np.flatnonzero(program.integer)
    sign = np.where(x[binaries] > 0.5, -1.0, 1.0)
    return Row(Linear(binaries, sign, float(np.count_nonzero(sign < 0))), 1.0, np.inf)
