"""A planner's request as a question to an engine: in coordinates, and in what the risk counts observations for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
import pandas as pd
from msgspec import structs

from whence.checks import collected, refused
from whence.claims.plans import PlanBeats, PlanIsBest
from whence.claims.sets import APART, Others, Plans, about_set, rivals_there, worst_rival
from whence.errors import InputError, SolverError, WhenceError
from whence.explain.ask import Request, SearchRequest
from whence.explain.recheck import context_found
from whence.features import Schema
from whence.features.space import ChangeLimit, Space
from whence.problems.base import DecisionProblem, Routes, Stock, sample_costs
from whence.problems.plan_sets import AnyPlan, PlanSet, set_from_plain
from whence.question import Answer, Question, nearest_at_fees
from whence.risk import CVaR, Expectation, Risk
from whence.settings import SearchSettings
from whence.util.aliases import Floats
from whence.util.frames import as_pandas
from whence.util.json import to_plain
from whence.util.linear_program import check_time
from whence.weights.plausibility import Isolation, Nearby

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation
    from whence.policy import Policy


class Subject(Protocol):
    """What is asked: a fitted policy, or a fitted model itself."""

    schema_: Schema
    X_: pd.DataFrame

    def predictor_for(self, row: pd.Series) -> Any:
        """Return what engines see of it where a context lacks what this one lacks."""

    def at_least_usual(self, share: float) -> Isolation | Nearby:
        """Return the contexts that are at least as usual as this share of the history."""


def claim_of(policy: Policy, request: Request, costs: Mapping[str, Floats]) -> PlanBeats:
    """Return what must hold of two plans, in what the policy's risk counts each observation for."""
    risk, problem = policy.risk_, policy.problem
    alternative, decision = values_of(risk, costs["instead"], costs["decision"])
    within, allowance = request.within_parts
    tau = float(request.tolerance) * float(np.abs(alternative).max())
    mean = risk.on_values()

    def best(weights: Floats) -> Floats:
        (rival,) = values_of(risk, sample_costs(problem, problem.solve(policy.Y_, weights, risk), policy.Y_))
        if within:
            _check_not_negative(rival)
            rival = (1.0 + within) * rival
        return rival

    def better(weights: Floats) -> Floats | None:
        rival = best(weights)
        return rival if mean.of(alternative, weights) - allowance - mean.of(rival, weights) > tau else None

    def linear() -> tuple[Any, Floats, Floats] | None:
        # Costs are linear in the plan; what another risk makes of them is not.
        polytope = None
        if mean is risk and mean.tail is None:
            polytope = problem.polytope()
        elif mean is risk and problem.continuous:
            # The CVaR of a mixture of plans may be lower than that of any of them: it has to be a plan itself.
            polytope = problem.polytope_of_plans()
        if polytope is None:
            return None
        return polytope, problem.cost_rows(policy.Y_), problem.vector(request.instead)

    about: dict[str, Any] = {
        # Without an allowance it stays as it lies in memory, which decides how sums are rounded.
        "alternative": alternative - allowance if allowance else alternative,
        "decision": decision,
        "risk": mean,
        "tau": tau,
        "margin": request.margin_parts,
        "within": within,
        "allowance": allowance,
    }
    if request.kind == "absolute":
        return PlanIsBest(**about, better=better, best=best, linear=linear)
    return PlanBeats(**about)


def known_points(policy: Policy, known: Any) -> tuple[Floats, ...]:
    """Return contexts that are handed over, one or several, in coordinates."""
    if known is None:
        return ()
    known = as_pandas(known)
    if isinstance(known, pd.DataFrame):
        given: list[Any] = [row for _, row in known.iterrows()]
    elif isinstance(known, pd.Series | Mapping):
        given = [known]
    else:
        values = collected(known)
        if not values:
            raise refused("known", "a context, or several of them", known)
        given = [known] if np.ndim(values[0]) == 0 and not isinstance(values[0], Mapping) else list(values)
    try:
        return tuple(policy.schema_.encode_row(policy.schema_.row(one)) for one in given)
    except WhenceError as error:
        raise InputError(f"'known' must be a context, or several of them. {error}") from error


def settings_of(request: Request) -> SearchSettings:
    """Return how the request wants to be searched for."""
    threads = None if request.threads is None else int(request.threads)
    return SearchSettings(float(request.separation), threads, dict(request.options))


def space_of(subject: Subject, request: SearchRequest, initial: pd.Series) -> Space:
    """Where the request allows contexts to lie, apart from how many features may change."""
    space = request.space(subject.schema_, subject.X_, initial)
    return space if request.plausible is None else replace(space, plausibility=_usual(subject, request, initial))


def change_limit(
    schema: Schema, request: SearchRequest, space: Space, barred: Sequence[Collection[str]] = ()
) -> ChangeLimit | None:
    """Return how many features may change, and which never together; None where that rules out nothing."""
    if request.max_changes is None and not barred:
        return None
    number = dict(zip(schema.feature_of_coordinate(), space.feature.tolist(), strict=True))
    # What follows from another feature changes with it: that is one change.
    free = frozenset(number[name] for name in schema.derived if name in number)
    count = len(number) - len(free)
    most = count if request.max_changes is None else min(int(request.max_changes), count)
    sets = tuple(tuple(sorted(number[name] for name in one)) for one in barred)
    return ChangeLimit(most, sets, free) if most < count or sets else None


def _usual(subject: Subject, request: SearchRequest, initial: pd.Series) -> Isolation | Nearby:
    """Return which contexts are usual enough for the request."""
    assert request.plausible is not None
    if subject.schema_.lacks(subject.X_) or subject.schema_.lacks(initial.to_frame().T):
        raise InputError("'plausible' needs a context and a history without missing numbers. Got some that are.")
    return subject.at_least_usual(float(request.plausible))


def values_of(risk: Risk, *costs: Floats) -> list[Floats]:
    """Return what the risk counts each observation for, plan by plan; refuse a risk of which that is unknown."""
    values = [risk.values(one) for one in costs]
    if any(one is None for one in values):
        raise InputError(
            "'risk' must be a weighted mean to be explained, of the costs or of what its 'values' makes of them: no "
            f"engine can search under any other. Got {risk!r} instead."
        )
    return [np.asarray(one, dtype=np.float64) for one in values]


def in_order(problem: DecisionProblem, plan: Any, outcomes: Sequence[str]) -> Any:
    """Return a Series, a one-row DataFrame or a mapping with the names of the parts as the problem's plan.

    Any other plan, and every plan of a problem whose parts have no names, is left as it is.

    >>> import whence as wh
    >>> in_order(wh.Newsvendor(1, 2), pd.Series({"rye": 55.0, "rolls": 100.0}), ["rolls", "rye"])
    array([100.,  55.])
    """
    if plan is None or isinstance(plan, np.ndarray | list):
        return plan
    plan = as_pandas(plan)
    if isinstance(plan, pd.DataFrame) and len(plan) == 1:
        plan = plan.iloc[0]
    if isinstance(plan, pd.Series):
        named = {name: value for name, value in plan.items() if isinstance(name, str)}
        if len(named) < len(plan):
            return plan.to_numpy()
    elif isinstance(plan, Mapping):
        named = dict(plan)
    else:
        return plan
    return plan if problem.parts(outcomes) is None else problem.from_plain(named, outcomes)


def check_feasible(policy: Policy, name: str, plan: Any) -> None:
    try:
        reason = policy.problem.check(plan)
    except (ValueError, TypeError) as error:
        reason = str(error)
    if reason:
        raise InputError(f"The plan given as {name!r} is not feasible: {reason}", parameter=name)


def _check_not_negative(costs: Floats) -> None:
    """A share of the best plan's cost is something to compare with only where it is not negative."""
    if costs.min() < 0.0:
        raise InputError(
            "'within' is a share of the best plan's cost, so no cost may be negative: give an amount instead, such as "
            f"within=(10, 'cost'). Got a cost of {costs.min():g}.",
            parameter="within",
        )


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
    """Return the set of plans that is asked about, None for a single plan; refuse what sets cannot be asked."""
    given = request.instead
    if given is not None and not isinstance(given, PlanSet):
        return None
    plans = AnyPlan(policy.problem) if given is None else given.named(policy.outcome_names_)
    if plans.problem is not policy.problem and _state(plans.problem) != _state(policy.problem):
        raise InputError("'instead' must be a set of plans of the policy's own problem. Got a set of another one.")
    if isinstance(plans, AnyPlan) and request.kind == "absolute":
        raise InputError(
            "'kind' must be 'relative' where no plan is given as 'instead': the best of all plans is always optimal."
        )
    return plans


def with_margin(request: Request, plans: PlanSet) -> Request:
    """Return the request with the margin that is meant where none is given."""
    return replace(request, margin=MARGIN) if isinstance(plans, AnyPlan) and request.margin is None else request


def best_plan(policy: Policy, plans: PlanSet, weights: Floats) -> Any:
    """Return the best plan of the set under these weights, one that the set itself accepts."""
    try:
        plan = plans.solve(policy.Y_, weights, policy.risk_)
    except SolverError as error:
        raise InputError(f"'instead' must hold at least one plan. Got {plans.words}: {error}") from error
    reason = plans.check(plan)
    if reason:
        raise InputError(f"The plan that 'solve' found for 'instead' is not in the set: {reason}", parameter="instead")
    return plan


def question_about(question: Question, policy: Policy, request: Request, plans: PlanSet) -> Question:
    """Return `question`, which is about the best plan of the set in the initial context, about the set itself."""
    share, amount = request.margin_parts
    if isinstance(plans, AnyPlan):
        strictly = max(2.0 * question.claim.tau, STRICTLY * float(np.abs(question.claim.decision).max()))
        share, amount = plans.share_below(share), amount + strictly
    others = _others(policy, request, plans) if request.kind == "absolute" else None
    seen = plans_seen(plans, policy.problem, policy.Y_, policy.risk_, request.within_parts, others)
    return replace(question, claim=about_set(question.claim.cheaper_by(share, amount), seen))


def plans_seen(
    plans: PlanSet,
    problem: DecisionProblem,
    outcomes: Floats,
    risk: Risk,
    within: tuple[float, float] = (0.0, 0.0),
    others: Others | None = None,
) -> Plans:
    """Return a set of plans as an engine sees it; of an absolute question, beside the `others` that it has to beat."""
    everything, factor, allowance = AnyPlan(problem), 1.0 + within[0], within[1]

    def values(costs: Floats) -> Floats:
        return np.asarray(risk.values(costs), dtype=np.float64)

    def best_of(among: DecisionProblem, times: float, less: float = 0.0) -> Callable[[Floats], Floats]:
        def best(weights: Floats) -> Floats:
            return times * values(sample_costs(problem, among.solve(outcomes, weights, risk), outcomes)) - less

        return best

    def many(weights: Floats) -> Floats | None:
        found = plans.solve_many(outcomes, weights, risk)
        if found is None:
            return None
        return np.array([values(sample_costs(problem, plan, outcomes)) - allowance for plan in found])

    def every_of(among: PlanSet, times: float, less: float = 0.0) -> Callable[[int], Floats | None]:
        def every(limit: int) -> Floats | None:
            listed = among.plans(limit)
            if listed is None:
                return None
            return np.array([times * values(sample_costs(problem, plan, outcomes)) - less for plan in listed])

        return every

    absolute = others is not None
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
        linear=lambda: _linear(problem, plans, outcomes, risk),
        many=many if _solves_many(plans) else None,
    )


def _solves_many(plans: PlanSet) -> bool:
    """Return whether the problem says how many plans are found at once."""
    asked: DecisionProblem = plans.problem if isinstance(plans, AnyPlan) else plans
    return type(asked).solve_many is not DecisionProblem.solve_many


def _linear(problem: DecisionProblem, plans: PlanSet, outcomes: Floats, risk: Risk) -> tuple[Any, Floats] | None:
    """Return a polytope that holds the set, and the cost vectors; None where the risk is not linear in them."""
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


def _others(policy: Policy, request: Request, plans: PlanSet) -> Others:
    """Return the plans outside the set, whose costs are taken times what the set may cost more than the best."""
    problem, outcomes, risk = policy.problem, policy.Y_, policy.risk_
    factor = 1.0 + request.within_parts[0]

    def costs(plan: Any) -> Floats:
        return factor * np.asarray(risk.values(sample_costs(problem, plan, outcomes)), dtype=np.float64)

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
    """Return all plans of a problem, as an engine sees them."""
    return plans_seen(AnyPlan(problem), problem, outcomes, risk)


def taking_over(
    policy: Policy, question: Question, draft: Explanation, plans: PlanSet, weights: Floats, row: Floats
) -> tuple[Question, Explanation]:
    """Return question and explanation about the plan of the set that is best under `weights`.

    Where it has to be better by some standard errors, it is the one that is best by as many: `row` is the context as
    the estimator of the weights sees it.
    """
    sure = question.claim.kappa > 0.0
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
    draft = structs.replace(
        draft,
        alternative=plan,
        costs_alternative=costs,
        cost_before=draft.cost_before.with_alternative(before),
    )
    asked = values - question.claim.allowance if question.claim.allowance else values
    return question.claiming(alternative=asked).refuted_by(better), draft


def _surest(policy: Policy, question: Question, plans: PlanSet, weights: Floats, row: Floats) -> Any:
    """Return the best plan of the set among those that beat their rivals by this many standard errors.

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
    """Return the context that an engine found, as the estimator sees it."""
    return policy.inputs_of(context_found(question, answer, policy.schema_, initial))


def said_of(plans: PlanSet) -> Any:
    """Return what the record of a question says of its set."""
    plain = plans.as_plain()
    return UNWRITABLE if plain is None else to_plain(plain)


def read_set(policy: Policy, said: Any) -> PlanSet:
    """Return the set of plans that the record of a question names."""
    if said == UNWRITABLE:
        raise InputError("A set of plans that follows a rule cannot be read back from a file.", parameter="instead")
    return set_from_plain(policy.problem, said, policy.outcome_names_)


def _state(problem: DecisionProblem) -> Any:
    from whence.report.fingerprint import problem_digest

    return problem_digest(problem)[0]


#: Missing numbers that may be filled in at once: there is a question for each of their sets.
MOST = 6


def sets_to_fill(schema: Schema, initial: pd.Series, fill: Collection[str], fixed: Collection[str]) -> list[list[str]]:
    """Return every set of missing numbers that may be filled in, from none at all to all of them."""
    names = schema.fillable(initial, fill, fixed) if len(fill) else []
    if len(names) > MOST:
        raise InputError(f"'fill' must name at most {MOST} features that are missing at once. Got {len(names)}.")
    return [list(chosen) for size in range(len(names) + 1) for chosen in combinations(names, size)]


def filled_question(
    subject: Subject,
    request: SearchRequest,
    initial: pd.Series,
    question: Question,
    filled: Collection[str],
    restricted: bool,
) -> Question:
    """Return the question where some missing numbers are filled in, each of which counts as a change."""
    if not filled:
        return question
    space = request.space(subject.schema_, subject.X_, initial, restricted, filled)
    few = question.space.few
    if few is not None:
        few = few.filling(_numbers(subject.schema_, question, filled)) or few
    # What an engine keeps of one question is of no use to another.
    space = replace(space, few=few, plausibility=question.space.plausibility)
    row = initial.copy()
    for name in filled:
        row[name] = subject.schema_.training_range(name)[0]
    return replace(question, space=space, weights=subject.predictor_for(row), memo={})


def _numbers(schema: Schema, question: Question, names: Collection[str]) -> set[int]:
    """Return the numbers of these features in the question's space."""
    owners = zip(schema.feature_of_coordinate(), question.space.feature.tolist(), strict=True)
    return {number for name, number in owners if name in names}


def nearest_filled(
    subject: Subject,
    request: SearchRequest,
    initial: pd.Series,
    question: Question,
    search: Callable[[Question], Answer],
    restricted: bool = True,
) -> tuple[Question, Answer]:
    """Return the nearest answer, whatever is filled in for it, and the question that it answers."""
    fixed = request.fixed if restricted else ()
    sets = sets_to_fill(subject.schema_, initial, request.fill, fixed)
    if len(sets) == 1:
        return question, search(question)

    def asked() -> Iterator[Question]:
        for filled in sets:
            few = question.space.few
            if few is None or few.filling(_numbers(subject.schema_, question, filled)) is not None:
                yield filled_question(subject, request, initial, question, filled, restricted)

    return nearest_at_fees(asked(), search)
