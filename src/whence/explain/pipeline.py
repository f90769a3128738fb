"""From a planner's question to a confirmed explanation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from msgspec import structs

from whence.errors import InternalError
from whence.explain.ask import Request
from whence.explain.build_question import (
    asked_set,
    best_plan,
    check_feasible,
    few_of,
    named,
    nearest_filled,
    question_about,
    question_of,
    row_found,
    said_of,
    taking_over,
    values_of,
    weights_for,
    with_margin,
)  # fmt: skip
from whence.explain.explanation import ChangedFeature, Costs, Explanation
from whence.explain.forecast_policy import after_of, before_of, check_asked, forecast_question
from whence.explain.provenance import Source, sample_costs
from whence.explain.recheck import confirmed
from whence.explain.reliable import calibrated, explained_truly
from whence.explain.robust import Refitted, explained_reliably
from whence.problems.base import cost_unit_of
from whence.question import Answer, Limits, Question
from whence.util.aliases import Floats
from whence.weights.plausibility import Nearby

if TYPE_CHECKING:
    from whence.deciding import Decision
    from whence.policy import Policy
    from whence.problems.plan_sets import PlanSet

__all__ = ["changes_between", "explain", "rounding_limits", "with_changes"]

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
        curve = calibrated(policy, request, inquiry.draft.plans, _in_world, limits)
        explanation = explained_truly(inquiry.found, inquiry.finished, curve, request)
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
        inquiry = _posed(policy, request, Limits(None, limit), relax=False)
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


@dataclass
class _Inquiry:
    """One question that is asked once, or once for every rung of the ladder of confidence.

    Attributes
    ----------
    draft : Explanation
        All that is known before the answer.
    here : ndarray
        What the claim is judged by in the initial context: the weights, or the forecast.
    decided : float
        The cost of what the policy decides there.
    relax : bool
        Whether to try what would do without restrictions.
    """

    policy: Policy
    request: Request
    question: Question
    search: Callable[[Question], Answer]
    draft: Explanation
    here: Floats
    decided: float
    relax: bool
    pending: dict[float, tuple[Question, Answer]] = field(default_factory=dict)

    def found(self, confidence: float) -> Explanation:
        """Return the confirmed answer by so many standard errors."""
        policy, request, asked = self.policy, self.request, self.question
        if confidence:
            asked = replace(asked, claim=asked.claim.with_confidence(confidence))
            request.answerer.check(asked)
        answer = _without_search(asked, self.here, self.draft.cost_before, self.decided)
        if answer is None:
            names = policy.schema_.feature_of_coordinate()
            policy.weights_.check_start(asked.space.start, asked.settings.separation, names)
            asked, answer = nearest_filled(policy, request, self.draft.initial, asked, self.search)
        same = asked is self.question
        own = self.draft if same else structs.replace(self.draft, confidence=confidence, question=asked)
        explanation = _found(policy, asked, answer, own)
        if explanation.status == "optimal" and explanation.distance == 0.0:
            explanation = structs.replace(explanation, status="already")
        _check_accepted(policy, request, asked, explanation)
        self.pending[confidence] = asked, answer
        return explanation

    def finished(self, explanation: Explanation) -> Explanation:
        """Return what was found with all that is shown of it, which only the one that is chosen needs."""
        asked, answer = self.pending[explanation.confidence]
        explanation = with_changes(self.policy, asked, answer, explanation)
        if answer.status == "none" and self.relax:
            explanation = _without_restrictions(self.policy, self.request, asked, self.search, explanation)
        return explanation


def _checked(policy: Policy, request: Request) -> tuple[Request, PlanSet | None]:
    """Return the request with plans as the problem takes them, and the set that is asked about, if it is one."""
    plans = asked_set(policy, request)
    if policy.weights_.capabilities.forecasts:
        check_asked(policy, request, plans is not None)
    if plans is None:
        request = replace(request, instead=named(policy, request.instead), decision=named(policy, request.decision))
    else:
        request = replace(with_margin(request, plans), decision=named(policy, request.decision))
    return request, plans


def _question(
    policy: Policy,
    request: Request,
    initial: pd.Series,
    limits: Limits,
    compared: _Compared,
    barred: Sequence[Collection[str]],
) -> Question:
    """Return what the engine is asked: where contexts may lie, and what must hold there."""
    if policy.weights_.capabilities.forecasts:
        question = forecast_question(policy, request, initial, limits, compared.plan)
    else:
        question = question_of(policy, request, initial, limits, compared.costs)
    if compared.plans is not None:
        question = question_about(question, policy, request, compared.plans)
    few = few_of(policy, request, question, barred)
    return question if few is None else replace(question, space=replace(question.space, few=few))


def _check_engine(policy: Policy, request: Request, question: Question) -> None:
    """Refuse a question that the engine cannot answer, before any work."""
    # The rungs of a ladder ask for confidence, too, where there are trees.
    climbs = request.holds is not None and policy.weights_.capabilities.made_of_trees
    confidence = 1.0 if climbs else float(request.confidence)
    request.answerer.check(question.claiming(confidence=confidence) if confidence else question)


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
    here = question.weights.at(policy.inputs_of(initial)) if policy.weights_.capabilities.forecasts else decided.weights
    draft = _draft(policy, request, question, initial, here, compared)
    if compared.plans is not None:
        draft = _with_plans(draft, request, compared.plans)
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


def _with_plans(draft: Explanation, request: Request, plans: PlanSet) -> Explanation:
    """Return a draft with the set of plans that is asked about."""
    asked = {**draft.asked, "instead": said_of(plans)}
    return structs.replace(draft, among=plans.words, plans=plans, margin=request.margin_parts, asked=asked)


def _check_accepted(policy: Policy, request: Request, question: Question, explanation: Explanation) -> None:
    """Let the engine judge once more whether the context found keeps what its own options ask for."""
    if explanation.context is None or explanation.status == "already":
        return
    if not request.answerer.accepts(question, policy.schema_.encode_row(explanation.context)):
        found = explanation.context.to_dict()
        raise InternalError(f"The context found is not one that {request.answerer.words} accepts: {found}.")


def _without_search(question: Question, before: Floats, costs: Costs, best: float) -> Answer | None:
    """Return the answers that need no search: the criterion holds already, or no observation speaks for the plan.

    Parameters
    ----------
    question : Question
        What is asked.
    before : ndarray
        The weights in the initial context.
    costs : Costs
        What both plans cost there.
    best : float
        The cost of what the policy decides there.
    """
    # Only the search can say by how many standard errors it holds, and how usual the context is.
    searched = bool(question.claim.confidence) or question.space.plausibility is not None
    if not searched and _excess_before(question, before, costs, best) <= question.claim.tau:
        return Answer("already", question.space.start, 0.0, 0.0)
    if question.claim.plans is None and question.claim.hopeless:
        more = f"over {100 * question.claim.within:.4g} % more" if question.claim.within else "more"
        note = f"every past observation costs {more} with the alternative than with the decision"
        if any(question.claim.margin):
            note = "in every past observation the alternative saves less than that against the decision, or nothing"
        return Answer("none", None, np.inf, np.inf, note=note)
    return None


def _excess_before(question: Question, before: Floats, costs: Costs, best: float) -> float:
    """Return by how much the alternative costs more than it may in the initial context."""
    rival = question.claim.rival_decision
    alternative = costs.alternative - question.claim.allowance
    over = alternative - (costs.decision if rival is question.claim.decision else question.claim.risk.of(rival, before))
    if question.claim.kind == "absolute":
        best_over = alternative - (1.0 + question.claim.within) * best
        over = max(best_over, over) if any(question.claim.margin) else best_over
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
        separation=question.settings.separation if policy.weights_.capabilities.needs_separation else None,
        # Whatever the risk counts an observation for, a report shows what it costs.
        costs_decision=costs["decision"],
        costs_alternative=costs["instead"],
        restricted=_restricted(policy, request, question, initial),
        asked=request.as_plain(),
        source=Source.of(policy),
        question=question,
        **before_of(question, before, len(policy.X_)),
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
            **after_of(
                policy, question, draft, draft.weights_before if draft.forecast is None else draft.forecast.before
            ),
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
        **after_of(policy, question, draft, after),
    )


def _without_restrictions(
    policy: Policy,
    request: Request,
    question: Question,
    search: Callable[[Question], Answer],
    explanation: Explanation,
) -> Explanation:
    """Where restrictions may be what rules out an explanation: solve once more without them and say so."""
    schema = policy.schema_
    free = request.space(schema, policy.X_, explanation.initial, restricted=False)
    if free.same_as(question.space) or explanation.note or question.limits.remaining <= 0:
        return explanation
    left = question.limits.remaining
    limits = Limits(None if np.isinf(left) else left, request.node_limit, request.on_progress, request.memory_limit)
    limits.reserve = question.limits.reserve
    wider = question.in_space(free)
    wider = replace(wider, weights=weights_for(policy, explanation.initial), limits=limits)
    wider, answer = nearest_filled(policy, request, explanation.initial, wider, search, restricted=False)
    relaxed = _found(policy, wider, answer, structs.replace(explanation, status="none", note=""))
    relaxed = with_changes(policy, wider, answer, relaxed)
    _check_accepted(policy, request, wider, relaxed)
    blocking = (
        []
        if relaxed.context is None
        else schema.restrictions_in_the_way(
            explanation.initial, schema.encode_row(relaxed.context), request.fixed, request.bounds
        )
    )
    relaxed = structs.replace(relaxed, asked={}, restricted=request.relates)
    return structs.replace(explanation, unrestricted=relaxed, blocking=blocking)


def with_changes(policy: Policy, question: Question, answer: Answer, found: Explanation) -> Explanation:
    """Return what was found, with what changes and between which values it may be rounded."""
    if found.context is None or answer.status == "already":
        return found
    changed = changes_between(policy, question, found.initial, found.context)
    room = rounding_limits(policy, question, answer, found.context, changed)
    return structs.replace(found, changed=changed, room=room)


def rounding_limits(
    policy: Policy, question: Question, answer: Answer, context: pd.Series, changed: Sequence[ChangedFeature]
) -> dict[str, tuple[float, float]]:
    """Return between which values every continuous feature that changes may be rounded: the weights stay the same."""
    schema, space, among = policy.schema_, question.space, {name for name, *_ in changed}
    box = answer.cell
    if box is None:
        free = np.array([levels is None for levels in space.levels])
        point, row = schema.encode_row(context), policy.inputs_of(context)
        box = question.weights.rounding_box(space.start, point, row, question.inputs, free)
        if box is not None and isinstance(question.space.plausibility, Nearby):
            box = question.space.plausibility.kept(point, box)
    if box is None:
        return {}
    offset, scale = schema.affine()
    low = offset + scale * np.maximum(box[0], space.lower)
    high = offset + scale * np.minimum(box[1], space.upper)
    # What is typed in again goes through the scaling once more: keep clear of its last digits.
    margin = 1e-9 * np.maximum(scale, np.abs(offset))
    return {
        name: (float(low[j] + margin[j]), float(high[j] - margin[j]))
        for j, name in enumerate(schema.feature_of_coordinate())
        if name in among and space.levels[j] is None and low[j] + margin[j] < high[j] - margin[j]
    }


def changes_between(policy: Policy, question: Question, initial: pd.Series, context: pd.Series) -> list[ChangedFeature]:
    """Return the features that differ, their values in both contexts, and the distance of each."""
    schema = policy.schema_
    distances = schema.by_feature(question.space.moved(schema.encode_row(context)))
    before, after = (schema.feature_values(row, distances) for row in (initial, context))
    return [(name, before[name], after[name], distance) for name, distance in distances.items()]
