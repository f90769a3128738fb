"""From a planner's question to a confirmed explanation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.aliases import Floats
from whence.errors import InputError, InternalError
from whence.explain.explanation import Costs, Explanation
from whence.explain.filling import nearest_filled, weights_for
from whence.explain.forecasting import after_of, before_of, check_asked, forecast_question
from whence.explain.ladder import explained_reliably
from whence.explain.plan_sets import (
    asked_set,
    best_plan,
    question_about,
    row_found,
    said_of,
    taking_over,
    with_margin,
)  # fmt: skip
from whence.explain.plans import in_order, sample_costs
from whence.explain.reliance import Refitted
from whence.explain.request import Request
from whence.explain.source import Source
from whence.explain.usual import usual_in
from whence.explain.verification import confirmed
from whence.problems.base import cost_unit_of
from whence.question import Answer, Few, Isolation, Limits, Nearby, Question
from whence.risk import Risk

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["changes_between", "explain", "rounding_limits"]

#: The table of an explanation in which nothing changes; making one takes as long as many a search.
NO_CHANGES = pd.DataFrame([], columns=["feature", "from", "to", "distance"])


def explain(
    policy: Policy,
    request: Request,
    search: Callable[[Question], Answer] | None = None,
    *,
    barred: Sequence[Collection[str]] = (),
    relax: bool = True,
    shared: dict[str, Any] | None = None,
) -> Explanation:
    """The nearest context in which ``request.instead`` is better than, or as good as, any plan.

    `search` answers in the place of the engine that the request names. None of the `barred` sets of features may change
    as a whole. Without `relax` it is not tried what would do without restrictions. What an engine may keep for the same
    question with other restrictions goes to `shared`.
    """
    plans = asked_set(policy, request)
    forecasts = policy.weights_.forecasts
    if forecasts:
        check_asked(policy, request, plans is not None)
    if plans is None:
        request = replace(request, instead=_named(policy, request.instead))
    else:
        request = with_margin(request, plans)
    request = replace(request, decision=_named(policy, request.decision))
    engine = request.answerer
    search = search or engine.answer
    limits = Limits(request.time_limit, request.node_limit, request.on_progress)
    initial = policy.schema_.row(request.context)
    decided = policy.decision_in(initial)
    plan = decided.plan if request.decision is None else request.decision
    if plans is None:
        _check_feasible(policy, "instead", request.instead)
    else:
        # As long as no other context is known, the set is spoken for by its best plan in this one.
        request = replace(request, instead=best_plan(policy, plans, decided.weights))
    if request.decision is not None:
        _check_feasible(policy, "decision", plan)
    outcomes = policy.outcomes_in(initial)
    costs = {
        "instead": sample_costs(policy.problem, request.instead, outcomes, "instead"),
        "decision": decided.costs if request.decision is None else sample_costs(policy.problem, plan, outcomes),
    }
    # What a report would stumble over later is refused before the search.
    cost_unit_of(policy.problem)
    if forecasts:
        question: Question = forecast_question(
            policy, request, initial, limits, plan, _plausible(policy, request, initial)
        )
    else:
        question = _question(policy, request, initial, limits, costs)
    # What the criterion is judged by in the initial context: the weights, or the forecast.
    here = question.weights.at(policy.inputs_of(initial)) if forecasts else decided.weights
    if plans is not None:
        question = question_about(question, policy, request, plans)
    question = replace(question, few=_few(policy, request, question, barred))
    question = question if shared is None else replace(question, memo=shared)
    # The rungs of a ladder ask for confidence, too, where there are trees.
    climbs = request.holds is not None and policy.weights_.per_tree_known
    confidence = 1.0 if climbs else float(request.confidence)
    engine.check(replace(question, confidence=confidence) if confidence else question)
    label = engine.label(policy.weights_, request.options)
    draft = _draft(policy, request, question, initial, here, plan, label)
    # Whatever the risk counts an observation for, a report shows what it costs.
    draft = replace(draft, costs_decision=costs["decision"], costs_alternative=costs["instead"])
    if plans is not None:
        asked_for = {**draft.asked, "instead": said_of(plans)}
        draft = replace(draft, among=plans.words, plans=plans, margin=request.margin_parts, asked=asked_for)

    best = question.best or question.better

    pending: dict[float, tuple[Question, Answer]] = {}

    def found(confidence: float) -> Explanation:
        asked = replace(question, confidence=confidence, better=best) if confidence else question
        if confidence:
            engine.check(asked)
        answer = _without_search(asked, here, decided.cost)
        if answer is None:
            names = policy.schema_.feature_of_coordinate()
            policy.weights_.check_start(asked.space.start, asked.separation, names)
            asked, answer = nearest_filled(policy, request, initial, asked, search)
        explanation = _found(policy, asked, answer, replace(draft, confidence=confidence, question=asked))
        if explanation.status == "optimal" and explanation.distance == 0.0:
            explanation = replace(explanation, status="already")
        _check_accepted(policy, request, asked, explanation)
        pending[confidence] = asked, answer
        return explanation

    def finished(explanation: Explanation) -> Explanation:
        asked, answer = pending[explanation.confidence]
        explanation = _with_changes(policy, asked, answer, explanation)
        if answer.status == "none" and relax:
            explanation = _without_restrictions(policy, request, asked, search, explanation)
        return explanation

    if request.holds is None:
        explanation = finished(found(float(request.confidence)))
    else:
        refitted = Refitted.of(policy, request.refits)
        explanation = explained_reliably(found, finished, refitted, float(request.holds), limits, request.on_nearest)
    # Tables that one step of a ladder leaves to the next are large, and an explanation keeps its question.
    if shared is None:
        question.memo.clear()
    elif explanation.question is not None:
        explanation = replace(explanation, question=replace(explanation.question, memo={}))
    explanation = replace(explanation, seconds=limits.seconds)
    return explanation.with_rule() if request.rule else explanation


def _check_accepted(policy: Policy, request: Request, question: Question, explanation: Explanation) -> None:
    """Let the engine judge once more whether the context found keeps what its own options ask for."""
    if explanation.context is None or explanation.status == "already":
        return
    if not request.answerer.accepts(question, policy.schema_.encode_row(explanation.context)):
        found = explanation.context.to_dict()
        raise InternalError(f"The context found is not one that {request.answerer.words} accepts: {found}.")


def _question(
    policy: Policy, request: Request, initial: pd.Series, limits: Limits, costs: Mapping[str, Floats]
) -> Question:
    """What an engine is asked, in coordinates and in what the policy's risk counts each observation for."""
    risk, problem = policy.risk_, policy.problem
    alternative, decision = _values(risk, costs["instead"]), _values(risk, costs["decision"])
    for name in ("within", "margin"):
        if getattr(request, name) and (name == "within" or request.margin_parts[0]):
            _check_not_negative(np.append(alternative, decision), name)
    tau = float(request.tolerance) * float(np.abs(alternative).max())
    mean = risk.on_values()

    def best(weights: Floats) -> Floats:
        rival = _values(risk, sample_costs(problem, problem.solve(policy.Y_, weights, risk), policy.Y_))
        if request.within:
            _check_not_negative(rival, "within")
            rival = (1.0 + request.within) * rival
        return rival

    def better(weights: Floats) -> Floats | None:
        rival = best(weights)
        return rival if mean.of(alternative, weights) - mean.of(rival, weights) > tau else None

    def linear() -> tuple[Any, Floats, Floats] | None:
        # Costs are linear in the plan; what another risk makes of them is not.
        polytope = problem.polytope() if mean is risk else None
        if polytope is None:
            return None
        return polytope, problem.cost_rows(policy.Y_), problem.vector(request.instead)

    return Question(
        space=policy.schema_.space(
            initial, request.fixed, request.bounds, relations=policy.schema_.related(request.relations, policy.X_)
        ),
        weights=weights_for(policy, initial),
        inputs=policy.input_map_,
        alternative=alternative,
        decision=decision,
        risk=mean,
        kind=request.kind,
        tau=tau,
        separation=float(request.separation),
        better=better,
        best=best,
        limits=limits,
        options=dict(request.options),
        within=float(request.within),
        margin=request.margin_parts,
        plausible=_plausible(policy, request, initial),
        threads=None if request.threads is None else int(request.threads),
        linear=linear,
    )


def _few(policy: Policy, request: Request, question: Question, barred: Sequence[Collection[str]]) -> Few | None:
    """How many features may change, and which never together; None where that rules out nothing."""
    feature = question.space.feature
    number = dict(zip(policy.schema_.feature_of_coordinate(), feature.tolist(), strict=True))
    most = len(number) if request.max_changes is None else min(int(request.max_changes), len(number))
    sets = tuple(tuple(sorted(number[name] for name in one)) for one in barred)
    return Few(most, sets) if most < len(number) or sets else None


def _plausible(policy: Policy, request: Request, initial: pd.Series) -> Isolation | Nearby | None:
    share, schema = request.plausible, policy.schema_
    if share is not None and (schema.lacks(policy.X_) or schema.lacks(initial.to_frame().T)):
        raise InputError(
            "'plausible' needs a context and a history without missing numbers. Got some that are.",
            parameter="plausible",
        )
    return None if share is None else usual_in(policy.weights_, policy.schema_, policy.X_).at_least(float(share))


def _values(risk: Risk, costs: Floats) -> Floats:
    """What the risk counts each observation for; a risk of which that cannot be said is refused."""
    values = risk.values(costs)
    if values is None:
        raise InputError(
            "'risk' must be a weighted mean to be explained, of the costs or of what its 'values' makes of them: no "
            f"engine can search under any other. Got {risk!r} instead.",
            parameter="risk",
        )
    return np.asarray(values, dtype=np.float64)


def _named(policy: Policy, plan: Any) -> Any:
    return in_order(policy.problem, plan, policy.outcome_names_)


def _check_feasible(policy: Policy, name: str, plan: Any) -> None:
    try:
        reason = policy.problem.check(plan)
    except (ValueError, TypeError) as error:
        reason = str(error)
    if reason:
        raise InputError(f"The plan given as {name!r} is not feasible: {reason}", parameter=name)


def _check_not_negative(costs: Floats, name: str) -> None:
    """A share of the costs is something to compare with only where none of them is negative."""
    if costs.min() < 0.0:
        whose = "the best plan" if name == "within" else "the decision"
        raise InputError(
            f"{name!r} is a share of {whose}'s cost, so no cost may be negative. Got a cost of {costs.min():g}.",
            parameter=name,
        )


def _without_search(question: Question, before: Floats, best: float) -> Answer | None:
    """The answers that need no search: the criterion holds already, or no observation speaks for the plan.

    Parameters
    ----------
    question : Question
        What is asked.
    before : ndarray
        The weights in the initial context.
    best : float
        The cost of what the policy decides there.
    """
    cost = question.risk.of(question.alternative, before)
    over = cost - question.risk.of(question.rival_decision, before)
    if question.kind == "absolute":
        best_over = cost - (1.0 + question.within) * best
        over = max(best_over, over) if any(question.margin) else best_over
    # Only the search can say by how many standard errors it holds, and how usual the context is.
    if over <= question.tau and not question.confidence and question.plausible is None:
        return Answer("already", question.space.start, 0.0, 0.0)
    if question.plans is None and question.hopeless:
        more = f"over {100 * question.within:.4g} % more" if question.within else "more"
        if any(question.margin):
            more = "too much"
        note = f"every past observation costs {more} with the alternative than with the decision"
        return Answer("none", None, np.inf, np.inf, note=note)
    return None


def _draft(
    policy: Policy, request: Request, question: Question, initial: pd.Series, before: Floats, decision: Any, engine: str
) -> Explanation:
    """The explanation with everything that is known before the answer."""
    risk = question.risk
    return Explanation(
        status="none",
        kind=request.kind,
        initial=initial,
        context=None,
        changes=NO_CHANGES,
        distance=np.inf,
        bound=np.inf,
        decision=decision,
        alternative=request.instead,
        cost_before=Costs(risk.of(question.decision, before), risk.of(question.alternative, before)),
        cost_after=None,
        weights_after=None,
        engine=engine,
        seconds=0.0,
        nodes=0,
        within=question.within,
        margin=question.margin,
        plausible=request.plausible,
        max_changes=None if request.max_changes is None else int(request.max_changes),
        tolerance=question.tau,
        separation=question.separation if policy.weights_.needs_separation else None,
        costs_decision=question.decision,
        costs_alternative=question.alternative,
        asked=request.as_plain(),
        source=Source.of(policy),
        **before_of(question, before, len(policy.X_)),
    )


def _found(policy: Policy, question: Question, answer: Answer, draft: Explanation) -> Explanation:
    """`draft` with the confirmed answer; what changes, and how far numbers may be rounded, is still to be said."""
    common: dict[str, Any] = {"status": answer.status, "nodes": answer.nodes, "cuts": answer.cuts, "note": answer.note}
    if answer.point is None:
        return replace(draft, **common, distance=answer.distance, bound=answer.bound)
    if answer.status == "already":
        return replace(
            draft,
            **common,
            distance=0.0,
            bound=0.0,
            context=draft.initial,
            cost_after=draft.cost_before,
            **after_of(
                policy, question, draft, draft.weights_before if draft.forecast is None else draft.forecast.before
            ),
        )
    if draft.plans is not None:
        row = row_found(policy, question, answer, draft.initial)
        question, draft = taking_over(policy, question, draft, draft.plans, question.weights.at(row), row)
        draft = replace(draft, question=question)
    context, after, distance = confirmed(question, answer, policy.schema_, draft.initial, policy.inputs_of)
    risk = question.risk
    proved = answer.status == "optimal" and answer.bound == answer.distance
    bound = distance if proved else min(answer.bound, distance)
    return replace(
        draft,
        **common,
        context=context,
        distance=distance,
        bound=bound,
        cost_after=Costs(risk.of(question.decision, after), risk.of(question.alternative, after)),
        **after_of(policy, question, draft, after),
    )


def _with_changes(policy: Policy, question: Question, answer: Answer, found: Explanation) -> Explanation:
    """What was found, with the table of changes and between which values they may be rounded."""
    if found.context is None or answer.status == "already":
        return replace(found, changes=NO_CHANGES.copy())
    changes = changes_between(policy, question, found.initial, found.context)
    room = rounding_limits(policy, question, answer, found.context, changes["feature"].tolist())
    return replace(found, changes=changes, room=room)


def rounding_limits(
    policy: Policy, question: Question, answer: Answer, context: pd.Series, changed: list[str]
) -> dict[str, tuple[float, float]]:
    """Between which values every continuous feature that changes may be rounded: the weights stay the same."""
    schema, space, among = policy.schema_, question.space, set(changed)
    box = answer.cell
    if box is None:
        free = np.array([levels is None for levels in space.levels])
        point, row = schema.encode_row(context), policy.inputs_of(context)
        box = question.weights.rounding_box(space.start, point, row, question.inputs, free)
        if box is not None and isinstance(question.plausible, Nearby):
            box = question.plausible.kept(point, box)
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


def changes_between(policy: Policy, question: Question, initial: pd.Series, context: pd.Series | None) -> pd.DataFrame:
    schema = policy.schema_
    rows = []
    if context is not None:
        moved = question.space.moved(schema.encode_row(context))
        distances = schema.by_feature(moved)
        before, after = (schema.feature_values(row, distances) for row in (initial, context))
        rows = [(name, before[name], after[name], distance) for name, distance in distances.items()]
    return pd.DataFrame(rows, columns=NO_CHANGES.columns)


def _without_restrictions(
    policy: Policy,
    request: Request,
    question: Question,
    search: Callable[[Question], Answer],
    explanation: Explanation,
) -> Explanation:
    """Where restrictions may be what rules out an explanation: solve once more without them and say so."""
    schema = policy.schema_
    further = schema.related(request.relations, policy.X_)
    free = schema.space(explanation.initial, restricted=False, relations=further)
    if free.same_as(question.space) or explanation.note or question.limits.remaining <= 0:
        return explanation
    left = question.limits.remaining
    limits = Limits(None if np.isinf(left) else left, request.node_limit, request.on_progress)
    limits.reserve = question.limits.reserve
    wider = replace(question, space=free, weights=weights_for(policy, explanation.initial), limits=limits)
    wider, answer = nearest_filled(policy, request, explanation.initial, wider, search, restricted=False)
    relaxed = _found(policy, wider, answer, replace(explanation, status="none", note=""))
    relaxed = _with_changes(policy, wider, answer, relaxed)
    _check_accepted(policy, request, wider, relaxed)
    blocking = (
        []
        if relaxed.context is None
        else schema.restrictions_in_the_way(
            explanation.initial, schema.encode_row(relaxed.context), request.fixed, request.bounds
        )
    )
    return replace(explanation, unrestricted=replace(relaxed, asked={}), blocking=blocking)
