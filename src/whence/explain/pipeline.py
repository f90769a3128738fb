"""From a planner's question to a confirmed explanation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from msgspec import structs

from whence.claims.sets import excess
from whence.errors import InternalError
from whence.explain.ask import Request, SearchRequest
from whence.explain.build_question import (
    Subject,
    asked_set,
    best_plan,
    change_limit,
    check_feasible,
    claim_of,
    in_order,
    known_points,
    nearest_filled,
    question_about,
    row_found,
    said_of,
    settings_of,
    space_of,
    taking_over,
    values_of,
    with_margin,
)  # fmt: skip
from whence.explain.explanation import ChangedFeature, Costs, Explanation
from whence.explain.forecast_policy import after_of, before_of, check_asked, forecast_claim
from whence.explain.recheck import Source, confirmed
from whence.explain.robust import Refitted, asked_itself, calibrated, explained_reliably, explained_truly
from whence.problems.base import cost_unit_of, sample_costs
from whence.question import Answer, Known, Limits, Question
from whence.util.aliases import Floats
from whence.weights.plausibility import Nearby

if TYPE_CHECKING:
    from whence.deciding import Decision
    from whence.policy import Policy
    from whence.problems.plan_sets import PlanSet

#: How many times as many boxes a search in a simulated world may open that has found nothing yet.
LONGER = 16


def explain(
    policy: Policy,
    request: Request,
    search: Callable[[Question], Answer] | None = None,
    *,
    barred: Sequence[Collection[str]] = (),
    relax: bool = True,
    shared: dict[str, Any] | None = None,
) -> Explanation:
    """Return the nearest context in which ``request.instead`` is better than, or as good as, any plan.

    `search` answers in the place of the engine that the request names. None of the `barred` sets of features may change
    as a whole. Without `relax` it is not tried what would do without restrictions. What an engine may keep for the same
    question with other restrictions goes to `shared`.
    """
    limits = Limits(request.time_limit, request.node_limit, request.on_progress, request.memory_limit)
    inquiry = _posed(policy, request, limits, search, barred=barred, relax=relax, shared=shared)
    request, question = inquiry.request, inquiry.question
    if request.holds is None:
        explanation = inquiry.finished(inquiry.found(float(request.confidence)))
    elif request.refits in ("seed", "bootstrap"):
        explanation = explained_reliably(
            inquiry.found,
            inquiry.finished,
            Refitted.of(policy, request.refits),
            float(request.holds),
            limits,
            request.on_nearest,
        )
    else:
        about = policy, request, inquiry.draft.plans, _in_world, limits
        itself = asked_itself(*about) if request.own_worlds else lambda found: found
        explanation = explained_truly(inquiry.found, inquiry.finished, calibrated(*about), request, itself)
    explanation = structs.replace(_without_memo(explanation, question, shared), seconds=limits.seconds)
    return explanation.with_rule() if request.rule else explanation


def _posed(
    policy: Policy,
    request: Request,
    limits: Limits,
    search: Callable[[Question], Answer] | None = None,
    *,
    barred: Sequence[Collection[str]] = (),
    relax: bool = True,
    shared: dict[str, Any] | None = None,
) -> _Inquiry:
    """Return the question that a request asks, checked and with everything that is known before the answer."""
    request, plans = _checked(policy, request)
    initial = policy.schema_.row(request.context)
    request, compared = _compared(policy, request, plans, initial)
    question = _question(policy, request, initial, limits, compared, barred)
    question = question if shared is None else replace(question, memo=shared)
    _check_engine(policy, request, question)
    return _inquiry(policy, request, question, initial, compared, search, relax)


def _in_world(policy: Policy, request: Request) -> Callable[[float], Explanation] | None:
    """Return the answers to a request in a simulated world by standard errors; None where it holds already."""
    request = replace(request, known=None)
    assert request.node_limit is not None
    for limit in (request.node_limit, LONGER * request.node_limit):
        inquiry = _posed(policy, request, Limits(None, limit, request.on_progress), relax=False)
        # What is learnt is about nearest answers, and does not depend on the clock.
        settings = replace(inquiry.question.settings, recall_seconds=0.0)
        inquiry.question = replace(inquiry.question, settings=settings)
        nearest = inquiry.found(0.0)
        if nearest.context is not None or nearest.status == "none":
            break
    if nearest.status == "already":
        return None
    return lambda kappa: inquiry.found(kappa) if kappa else nearest


class _Compared(NamedTuple):
    """The plans that are compared: the set that is asked about, if any, what is decided, and what two plans cost."""

    plans: PlanSet | None
    decided: Decision
    #: The plan that the alternative is compared with.
    plan: Any
    costs: dict[str, Floats]


#: What is found: an Explanation, or a Crossing.
R = TypeVar("R", bound=Any)


@dataclass
class Inquiry(ABC, Generic[R]):
    """One question about a policy, or a model: its claim, where it may hold, and what is known before the answer."""

    subject: Subject
    request: SearchRequest
    question: Question
    search: Callable[[Question], Answer]
    draft: R

    @abstractmethod
    def known(self, question: Question) -> Answer | None:
        """Return the answer where it needs no search."""

    @abstractmethod
    def completed(self, question: Question, answer: Answer, draft: R) -> R:
        """Return a draft with an answer, confirmed by the fitted estimator, and with what changes."""

    def answered(self, question: Question, restricted: bool = True) -> tuple[Question, Answer]:
        """Return the nearest answer, and the question that it answers: some missing numbers may be filled in."""
        answer = self.known(question)
        if answer is not None:
            return question, answer
        return nearest_filled(self.subject, self.request, self.draft.initial, question, self.search, restricted)

    def without_restrictions(self, question: Question, found: R, draft: R) -> R:
        """Return what was found; where restrictions may be what rules out any, with what would do without them."""
        schema, request, limits = self.subject.schema_, self.request, question.limits
        free = request.space(schema, self.subject.X_, found.initial, restricted=False)
        left = limits.remaining
        if free.same_as(question.space) or left <= 0:
            return found
        wider = replace(
            question.in_space(free),
            weights=self.subject.predictor_for(found.initial),
            limits=Limits(
                None if np.isinf(left) else left,
                limits.node_limit,
                limits.on_progress,
                limits.memory_limit,
                reserve=limits.reserve,
            ),
        )
        inner = self.completed(*self.answered(wider, restricted=False), draft)
        blocking = []
        if inner.context is not None:
            point = schema.encode_row(inner.context)
            blocking = schema.restrictions_in_the_way(found.initial, point, request.fixed, request.bounds)
        return structs.replace(found, unrestricted=inner, blocking=blocking)


@dataclass
class _Inquiry(Inquiry[Explanation]):
    """A question about plans that is asked once, or once for every rung of the ladder."""

    subject: Policy
    request: Request
    here: Floats
    decided: float
    relax: bool
    pending: dict[float, tuple[Question, Answer]] = field(default_factory=dict)

    def known(self, question: Question) -> Answer | None:
        """Return the answer where it needs no search, and refuse a context to start from that has no sure weights."""
        answer = _without_search(question, self.here, self.draft.cost_before, self.decided)
        if answer is None and not self.subject.abilities_.made_of_trees:
            names = self.subject.schema_.feature_of_coordinate()
            self.subject.weights_.check_start(question.space.start, question.settings.separation, names)
        return answer

    def completed(self, question: Question, answer: Answer, draft: Explanation) -> Explanation:
        """Return a draft with the confirmed answer, and with what changes."""
        found = with_changes(self.subject, question, answer, _found(self.subject, question, answer, draft))
        _check_accepted(self.subject, self.request, question, found)
        return found

    def found(self, confidence: float) -> Explanation:
        """Return the confirmed answer by this many standard errors."""
        asked = self.question
        if confidence:
            asked = replace(asked, claim=asked.claim.with_confidence(confidence))
            self.request.answerer.check(asked)
        asked, answer = self.answered(asked)
        same = asked is self.question
        own = self.draft if same else structs.replace(self.draft, confidence=confidence, question=asked)
        explanation = _found(self.subject, asked, answer, own)
        if explanation.status == "optimal" and explanation.distance == 0.0:
            explanation = structs.replace(explanation, status="already")
        _check_accepted(self.subject, self.request, asked, explanation)
        self.pending[confidence] = asked, answer
        return explanation

    def finished(self, explanation: Explanation) -> Explanation:
        """Return what was found with all that is shown of it, which only the one that is chosen needs."""
        asked, answer = self.pending[explanation.confidence]
        explanation = with_changes(self.subject, asked, answer, explanation)
        if answer.status != "none" or not self.relax or explanation.note:
            return explanation
        draft = structs.replace(explanation, asked={}, restricted=self.request.relates)
        return self.without_restrictions(asked, explanation, draft)


def _checked(policy: Policy, request: Request) -> tuple[Request, PlanSet | None]:
    """Return the request with plans as the problem takes them, and the set that is asked about, if it is one."""
    plans = asked_set(policy, request)
    if policy.abilities_.forecasts:
        check_asked(policy, request, plans is not None)
    problem, names = policy.problem, policy.outcome_names_
    decision = in_order(problem, request.decision, names)
    if plans is None:
        return replace(request, instead=in_order(problem, request.instead, names), decision=decision), None
    return replace(with_margin(request, plans), decision=decision), plans


def _question(
    policy: Policy,
    request: Request,
    initial: pd.Series,
    limits: Limits,
    compared: _Compared,
    barred: Sequence[Collection[str]],
) -> Question:
    """Return what the engine is asked: where contexts may lie, and what must hold there."""
    forecasts = policy.abilities_.forecasts
    claim = forecast_claim(policy, request, compared.plan) if forecasts else claim_of(policy, request, compared.costs)
    question = Question(
        space=space_of(policy, request, initial),
        weights=policy.predictor_for(initial),
        inputs=policy.input_map_,
        claim=claim,
        limits=limits,
        settings=settings_of(request),
        # Contexts are judged by weights of the past, which a forecast does not have.
        known=Known(contexts=() if forecasts else known_points(policy, request.known)),
    )
    if compared.plans is not None:
        question = question_about(question, policy, request, compared.plans)
    few = change_limit(policy.schema_, request, question.space, barred)
    return question if few is None else replace(question, space=replace(question.space, few=few))


def _check_engine(policy: Policy, request: Request, question: Question) -> None:
    """Refuse a question that the engine cannot answer, before any work."""
    # The rungs of a ladder ask for confidence, too, where there are trees.
    climbs = request.holds is not None and policy.abilities_.made_of_trees
    confidence = 1.0 if climbs else float(request.confidence)
    request.answerer.check(question.claiming(kappa=confidence) if confidence else question)


def _inquiry(
    policy: Policy,
    request: Request,
    question: Question,
    initial: pd.Series,
    compared: _Compared,
    search: Callable[[Question], Answer] | None,
    relax: bool,
) -> _Inquiry:
    """Return the inquiry with everything that is known before the answer."""
    decided = compared.decided
    here = question.weights.at(policy.inputs_of(initial)) if policy.abilities_.forecasts else decided.weights
    draft = _draft(policy, request, question, initial, here, compared)
    plans = compared.plans
    if plans is not None:
        asked = {**draft.asked, "instead": said_of(plans)}
        draft = structs.replace(draft, among=plans.words, plans=plans, margin=request.margin_parts, asked=asked)
    return _Inquiry(policy, request, question, search or request.answerer.answer, draft, here, decided.cost, relax)


def _without_memo(explanation: Explanation, question: Question, shared: dict[str, Any] | None) -> Explanation:
    """Return the explanation, which keeps its question, without the large tables that steps leave to each other."""
    if shared is None:
        question.memo.clear()
    elif explanation.question is not None:
        explanation = structs.replace(explanation, question=replace(explanation.question, memo={}))
    return explanation


def _compared(policy: Policy, request: Request, plans: PlanSet | None, initial: pd.Series) -> tuple[Request, _Compared]:
    """Return the request about a plan that can be carried out, and the plans that are compared."""
    decided = policy.decision_in(initial)
    plan = decided.plan if request.decision is None else request.decision
    if plans is None:
        check_feasible(policy, "instead", request.instead)
    else:
        # As long as no other context is known, the set is spoken for by its best plan in this one.
        request = replace(request, instead=best_plan(policy, plans, decided.weights))
    if request.decision is not None:
        check_feasible(policy, "decision", plan)
    outcomes = policy.outcomes_in(initial)
    costs = {
        "instead": sample_costs(policy.problem, request.instead, outcomes, "instead"),
        "decision": decided.costs if request.decision is None else sample_costs(policy.problem, plan, outcomes),
    }
    request = request.in_amounts(values_of(policy.risk_, costs["decision"], costs["instead"], decided.costs))
    # What a report would stumble over later is refused before the search.
    cost_unit_of(policy.problem)
    return request, _Compared(plans, decided, plan, costs)


def _check_accepted(policy: Policy, request: Request, question: Question, explanation: Explanation) -> None:
    """Let the engine judge once more whether the context found keeps what its own options ask for."""
    if explanation.context is None or explanation.status == "already" or not request.options:
        return
    if not request.answerer.accepts(question, policy.schema_.encode_row(explanation.context)):
        found = explanation.context.to_dict()
        raise InternalError(f"The context found is not one that {request.answerer.words} accepts: {found}.")


def _without_search(question: Question, before: Floats, costs: Costs, best: float) -> Answer | None:
    """Return the answers that need no search: the criterion holds already, or no observation speaks for the plan."""
    # Only the search can say by how many standard errors it holds, and how usual the context is.
    searched = question.claim.kappa > 0.0 or question.space.plausibility is not None
    holds = searched and _holds_among_neighbours(question)
    if holds or (not searched and _excess_before(question, before, costs, best) <= question.claim.tau):
        return Answer("already", question.space.start, 0.0, 0.0)
    if question.claim.plans is None and question.claim.hopeless:
        more = f"over {100 * question.claim.within:.4g} % more" if question.claim.within else "more"
        note = f"every past observation costs {more} with the alternative than with the decision"
        if question.claim.must_be_cheaper:
            note = "in every past observation the alternative saves less than that against the decision, or nothing"
        return Answer("none", None, np.inf, np.inf, note=note)
    return None


def _holds_among_neighbours(question: Question) -> bool:
    """Whether a plan beats the decision by standard errors today, also where the nearest past contexts are as near.

    A search only finds contexts in which it is clear who the neighbours are; today's are those of the estimator.
    """
    claim, weights = question.claim, question.weights
    alone = claim.plans is None and claim.kind == "relative" and question.space.plausibility is None
    if not alone or not weights.capabilities.needs_separation:
        return False
    trees = weights.per_tree(question.inputs.row(question.space.start))
    return trees is not None and excess(claim, claim.alternative, claim.rival_decision, trees) <= claim.tau


def _excess_before(question: Question, before: Floats, costs: Costs, best: float) -> float:
    """Return by how much the alternative costs more than it may in the initial context."""
    rival = question.claim.rival_decision
    alternative = costs.alternative - question.claim.allowance
    over = alternative - (costs.decision if rival is question.claim.decision else question.claim.risk.of(rival, before))
    if question.claim.kind == "absolute":
        best_over = alternative - (1.0 + question.claim.within) * best
        over = max(best_over, over) if question.claim.must_be_cheaper else best_over
    return over


def _draft(
    policy: Policy,
    request: Request,
    question: Question,
    initial: pd.Series,
    before: Floats,
    compared: _Compared,
) -> Explanation:
    """Return the explanation with everything that is known before the answer."""
    risk, costs = question.claim.risk, compared.costs
    return Explanation(
        status="none",
        kind=request.kind,
        initial=initial,
        distance=np.inf,
        bound=np.inf,
        decision=compared.plan,
        alternative=request.instead,
        cost_before=Costs(
            risk.of(question.claim.decision, before),
            risk.of(question.claim.alternative, before) + question.claim.allowance,
            compared.decided.cost,
        ),
        engine=request.answerer.label(policy.weights_, request.options),
        seconds=0.0,
        nodes=0,
        cuts=0,
        note="",
        blocking=[],
        within=question.claim.within,
        allowance=question.claim.allowance,
        margin=question.claim.margin,
        plausible=request.plausible,
        max_changes=None if request.max_changes is None else int(request.max_changes),
        tolerance=question.claim.tau,
        separation=question.settings.separation if policy.abilities_.needs_separation else None,
        # Whatever the risk counts an observation for, a report shows what it costs.
        costs_decision=costs["decision"],
        costs_alternative=costs["instead"],
        restricted=_restricted(policy, request, question, initial),
        asked=request.as_plain(),
        source=Source.of(policy),
        question=question,
        **(before_of(before, len(policy.X_)) if policy.abilities_.forecasts else {"weights_before": before}),
    )


def _restricted(policy: Policy, request: Request, question: Question, initial: pd.Series) -> bool:
    """Return whether the schema or the call rules out contexts within the range of the history."""
    schema = policy.schema_
    if schema.is_free and not (request.relates or request.bounds or len(request.fixed)):
        return False
    return request.relates or not question.space.same_as(schema.space(initial, restricted=False))


def _found(policy: Policy, question: Question, answer: Answer, draft: Explanation) -> Explanation:
    """Return `draft` with the confirmed answer, without what changes and how far numbers may be rounded."""
    common: dict[str, Any] = {"status": answer.status, "nodes": answer.nodes, "cuts": answer.cuts, "note": answer.note}
    if answer.point is None:
        return structs.replace(draft, **common, distance=answer.distance, bound=answer.bound)
    if answer.status == "already":
        return structs.replace(
            draft,
            **common,
            distance=0.0,
            bound=0.0,
            context=draft.initial,
            paid_after=draft.cost_before,
            **judged_after(policy, draft, draft.weights_before if draft.forecast is None else draft.forecast.before),
        )
    if draft.plans is not None:
        row = row_found(policy, question, answer, draft.initial)
        question, draft = taking_over(policy, question, draft, draft.plans, question.weights.at(row), row)
        draft = structs.replace(draft, question=question)
    context, after, distance, alternative, rival = confirmed(
        question, answer, policy.schema_, draft.initial, policy.inputs_of
    )
    same = question.claim.rival_decision is question.claim.decision
    decision = rival if same else question.claim.risk.of(question.claim.decision, after)
    proved = answer.status == "optimal" and answer.bound == answer.distance
    bound = distance if proved else min(answer.bound, distance)
    return structs.replace(
        draft,
        **common,
        context=context,
        distance=distance,
        bound=bound,
        paid_after=Costs(decision, alternative + question.claim.allowance),
        **judged_after(policy, draft, after),
    )


def judged_after(policy: Policy, draft: Explanation, after: Floats) -> dict[str, Any]:
    """Return what the claim is judged by in the context found."""
    return {"weights_after": after} if draft.forecast is None else after_of(policy, draft, after)


def with_changes(policy: Policy, question: Question, answer: Answer, found: Explanation) -> Explanation:
    """Return what was found, with what changes and between which values it may be rounded."""
    if found.context is None or answer.status == "already":
        return found
    changed = policy.schema_.changed(question.space, found.initial, found.context)
    room = rounding_limits(policy, question, answer, found.context, changed)
    return structs.replace(found, changed=changed, room=room)


def rounding_limits(
    policy: Policy, question: Question, answer: Answer, context: pd.Series, changed: Sequence[ChangedFeature]
) -> dict[str, tuple[float, float]]:
    """Return between which values every continuous feature that changes may be rounded: the weights stay the same."""
    schema, space = policy.schema_, question.space
    box = answer.cell
    if box is None:
        free = np.array([levels is None for levels in space.levels])
        point, row = schema.encode_row(context), policy.inputs_of(context)
        box = question.weights.rounding_box(space.start, point, row, question.inputs, free)
        if box is not None and isinstance(space.plausibility, Nearby):
            box = space.plausibility.kept(point, box)
    return {} if box is None else schema.values_inside(space, box, {name for name, *_ in changed})
