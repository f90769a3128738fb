"""Questions about a set of plans: which set, what an engine is told of it, and which of its plans takes over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from whence.claims.sets import APART, Others, Plans, about_set, rivals_there, worst_rival
from whence.errors import InputError, SolverError
from whence.explain.ask import Request
from whence.explain.plan_costs import sample_costs, share_below
from whence.explain.recheck import context_found
from whence.problems.base import DecisionProblem, Routes, Stock
from whence.problems.plan_sets import AnyPlan, PlanSet, set_from_plain
from whence.question import Answer, Question
from whence.risk import CVaR, Expectation, Risk
from whence.util.aliases import Floats
from whence.util.json import to_plain
from whence.util.linear_program import check_time

if TYPE_CHECKING:
    import pandas as pd

    from whence.explain.explanation import Explanation
    from whence.policy import Policy

__all__ = [
    "any_plan",
    "asked_set",
    "best_plan",
    "question_about",
    "read_set",
    "row_found",
    "said_of",
    "taking_over",
    "with_margin",
]

T = TypeVar("T")

#: How far today's plan must be from the best where nobody says otherwise: at 0 a plan of quantities changes at once.
MARGIN = 0.01
#: The least by which a plan must be better to be called so, as a share of the largest cost.
STRICTLY = 1e-9
#: Past contexts, at most, whose decisions are the plans that are known where plans cannot be listed.
PAST = 200
#: What `asked` holds for a set that no file can hold.
UNWRITABLE = "set"


def asked_set(policy: Policy, request: Request) -> PlanSet | None:
    """The set of plans that is asked about, None where it is a single plan; what sets cannot be asked is refused."""
    given = request.instead
    if given is not None and not isinstance(given, PlanSet):
        return None
    plans = AnyPlan(policy.problem) if given is None else given.named(policy.outcome_names_)
    if plans.problem is not policy.problem and _state(plans.problem) != _state(policy.problem):
        raise InputError(
            "'instead' must be a set of plans of the policy's own problem. Got a set of another one.",
            parameter="instead",
        )
    if isinstance(plans, AnyPlan) and request.kind == "absolute":
        raise InputError(
            "'kind' must be 'relative' where no plan is given as 'instead': the best of all plans is always optimal.",
            parameter="kind",
        )
    return plans


def with_margin(request: Request, plans: PlanSet) -> Request:
    """The request with the margin that is meant where none is given."""
    return replace(request, margin=MARGIN) if isinstance(plans, AnyPlan) and request.margin is None else request


def best_plan(policy: Policy, plans: PlanSet, weights: Floats) -> Any:
    """The best plan of the set under these weights, one that the set itself accepts."""
    try:
        plan = plans.solve(policy.Y_, weights, policy.risk_)
    except SolverError as error:
        raise InputError(
            f"'instead' must hold at least one plan. Got {plans.words}: {error}", parameter="instead"
        ) from error
    reason = plans.check(plan)
    if reason:
        raise InputError(f"The plan that 'solve' found for 'instead' is not in the set: {reason}", parameter="instead")
    return plan


def question_about(question: Question, policy: Policy, request: Request, plans: PlanSet) -> Question:
    """`question`, which is about the best plan of the set in the initial context, about the set itself."""
    share, amount = request.margin_parts
    if isinstance(plans, AnyPlan):
        strictly = max(2.0 * question.claim.tau, STRICTLY * float(np.abs(question.claim.decision).max()))
        share, amount = share_below(plans, share), amount + strictly
    claim = about_set(question.claim, _plans(policy, request, plans), (share, amount))
    return replace(question, claim=claim)


def _plans(policy: Policy, request: Request, plans: PlanSet) -> Plans:
    outcomes, risk, problem = policy.Y_, policy.risk_, policy.problem
    everything, (share, allowance) = AnyPlan(problem), request.within_parts
    factor = 1.0 + share

    def values(costs: Floats) -> Floats:
        return np.asarray(risk.values(costs), dtype=np.float64)

    def best_of(among: DecisionProblem, times: float, less: float = 0.0) -> Callable[[Floats], Floats]:
        def best(weights: Floats) -> Floats:
            return times * values(sample_costs(problem, among.solve(outcomes, weights, risk), outcomes)) - less

        return best

    def every_of(among: PlanSet, times: float, less: float = 0.0) -> Callable[[int], Floats | None]:
        def every(limit: int) -> Floats | None:
            listed = among.plans(limit)
            if listed is None:
                return None
            return np.array([times * values(sample_costs(problem, plan, outcomes)) - less for plan in listed])

        return every

    absolute = request.kind == "absolute"
    others = None
    if absolute:
        others = _others(policy, request, plans, lambda plan: factor * values(sample_costs(problem, plan, outcomes)))
    # What is less by an amount is no cost of quantities, routes or a polytope.
    simple = isinstance(risk, Expectation) and not allowance
    own = plans.structure(outcomes) if simple else None
    every = everything.structure(outcomes) if simple and absolute else None
    own, every = (None if own is None else own.costing(1.0)), (None if every is None else every.costing(factor))
    return Plans(
        best=best_of(plans, 1.0, allowance),
        every=every_of(plans, 1.0, allowance),
        rival=best_of(problem, factor) if absolute else None,
        rivals=every_of(everything, factor) if absolute else None,
        stock=own if isinstance(own, Stock) else None,
        all_stock=every if isinstance(every, Stock) else None,
        routes=own if isinstance(own, Routes) else None,
        all_routes=every if isinstance(every, Routes) else None,
        others=others,
        linear=lambda: None if allowance else _linear(problem, plans, outcomes, risk),
    )


def _linear(problem: DecisionProblem, plans: PlanSet, outcomes: Floats, risk: Risk) -> tuple[Any, Floats] | None:
    """A polytope that holds the set, and the cost vectors; None where another risk makes something else of costs."""
    if risk.on_values() is not risk and not isinstance(risk, Expectation | CVaR):
        return None
    try:
        polytope = plans.polytope()
    except InputError:
        return None  # a network with cycles, or a problem that does not tell the number of its variables
    return None if polytope is None else (polytope, np.asarray(problem.cost_rows(outcomes), dtype=np.float64))


class _Once(Generic[T]):
    """What a function without arguments returns, found when it is first asked for.

    Unlike `functools.cache` of a function within a function, it travels between processes.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._known: list[T] = []

    def __call__(self) -> T:
        if not self._known:
            self._known.append(self._make())
        return self._known[0]


def _others(policy: Policy, request: Request, plans: PlanSet, costs: Callable[[Any], Floats]) -> Others:
    """The plans outside the set, `costs` of one as an engine sees them."""
    problem, outcomes, risk = policy.problem, policy.Y_, policy.risk_

    def rows(among: Iterable[Any]) -> Floats:
        found = [costs(plan) for plan in among if plans.refusal(plan) is not None]
        return np.unique(np.array(found), axis=0) if found else np.empty((0, len(outcomes)))

    @_Once
    def every() -> Floats | None:
        listed = problem.plans(APART)
        return None if listed is None else rows(listed)

    @_Once
    def past() -> Floats:
        some = np.unique(np.linspace(0, len(policy.X_) - 1, min(PAST, len(policy.X_))).astype(int))

        def decisions() -> Iterator[Any]:
            for i in some.tolist():
                check_time()
                yield problem.solve(outcomes, policy.weights_at(policy.X_.iloc[i]), risk)

        return rows(decisions())

    def best(weights: Floats) -> Floats | None:
        plan = problem.solve(outcomes, weights, risk)
        return costs(plan) if plans.refusal(plan) is not None else None

    @_Once
    def decided() -> bool:
        plan = policy.decision(request.context).plan if request.decision is None else request.decision
        return any(request.margin_parts) or plans.refusal(plan) is not None

    return Others(every, past, best, decided)


def any_plan(problem: DecisionProblem, outcomes: Floats, risk: Risk) -> Plans:
    """All plans of a problem, as an engine sees them."""
    parts: Any = SimpleNamespace(problem=problem, Y_=outcomes, risk_=risk)
    relative: Any = SimpleNamespace(kind="relative", within_parts=(0.0, 0.0))
    return _plans(parts, relative, AnyPlan(problem))


def taking_over(
    policy: Policy, question: Question, draft: Explanation, plans: PlanSet, weights: Floats, row: Floats
) -> tuple[Question, Explanation]:
    """Question and explanation about the plan of the set that is best under `weights`.

    Where it has to be better by some standard errors, it is the one that is best by as many: `row` is the context as
    the estimator of the weights sees it.
    """
    sure = question.claim.confidence > 0.0
    plan = _surest(policy, question, plans, weights, row) if sure else best_plan(policy, plans, weights)
    costs = sample_costs(policy.problem, plan, policy.Y_, "instead")
    values = np.asarray(policy.risk_.values(costs), dtype=np.float64)
    rival = None if question.claim.plans is None else question.claim.plans.rival

    def better(weights: Floats) -> Floats | None:
        if rival is None:
            return None
        best = rival(weights)
        cost = question.claim.risk.of(values, weights) - question.claim.allowance
        return best if cost - question.claim.risk.of(best, weights) > question.claim.tau else None

    before = question.claim.risk.of(values, draft.weights_before)
    draft = replace(
        draft,
        alternative=plan,
        costs_alternative=costs,
        cost_before=draft.cost_before._replace(alternative=before),
    )
    asked = values - question.claim.allowance if question.claim.allowance else values
    return question.claiming(alternative=asked).refuted_by(better), draft


def _surest(policy: Policy, question: Question, plans: PlanSet, weights: Floats, row: Floats) -> Any:
    """The best plan of the set among those that beat their rivals by this many standard errors.

    Of a set that is not listed it is the best one; where rounding leaves none, the plan that misses least.
    """
    trees, listed = question.weights.per_tree(row), plans.plans(APART)
    assert trees is not None
    if listed is None:
        return best_plan(policy, plans, weights)
    rivals = rivals_there(question.claim, weights)

    def merit(plan: Any) -> tuple[float, float]:
        costs = np.asarray(policy.risk_.values(sample_costs(policy.problem, plan, policy.Y_)), dtype=np.float64)
        missed = max(
            worst_rival(question.claim, costs - question.claim.allowance, rivals, trees)[0] - question.claim.tau, 0.0
        )
        return missed, question.claim.risk.of(costs, weights)

    return min(listed, key=merit)


def row_found(policy: Policy, question: Question, answer: Answer, initial: pd.Series) -> Floats:
    """The context that an engine found, as the estimator sees it."""
    return policy.inputs_of(context_found(question, answer, policy.schema_, initial))


def said_of(plans: PlanSet) -> Any:
    """What the record of a question says of its set."""
    plain = plans.as_plain()
    return UNWRITABLE if plain is None else to_plain(plain)


def read_set(policy: Policy, said: Any) -> PlanSet:
    """The set of plans that the record of a question names."""
    if said == UNWRITABLE:
        raise InputError("A set of plans that follows a rule cannot be read back from a file.", parameter="instead")
    return set_from_plain(policy.problem, said, policy.outcome_names_)


def _state(problem: DecisionProblem) -> Any:
    from whence.report.fingerprint import problem_digest

    return problem_digest(problem)[0]
