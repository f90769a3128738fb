"""An explanation computed again from a policy: everything but the search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.errors import InputError, InternalError
from whence.explain.ask import Request
from whence.explain.changes import changes_between, rounding_limits
from whence.explain.explanation import Costs, Explanation
from whence.explain.forecast_policy import after_of
from whence.explain.missing import filled_question
from whence.explain.pipeline import explain
from whence.explain.recheck import confirmed
from whence.explain.robust import CHOOSING, JUDGING, Held, Refitted, Rung, expected_share
from whence.explain.rule import fault_of
from whence.explain.set_questions import read_set, taking_over
from whence.features.kinds import Categorical
from whence.question import Answer, Question
from whence.report.document import scalar
from whence.util.json import number_from_plain, to_plain

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["recomputed", "request_of"]

#: The parts of a question that say only how hard to try, and whom to tell.
EFFORT = (
    "engine", "time_limit", "node_limit", "memory_limit", "threads", "options", "on_progress", "on_nearest", "rule",
)  # fmt: skip


def recomputed(said: Explanation, policy: Policy) -> tuple[Explanation, list[str]]:
    """`said` computed again, with status, bound and counts as stated, and what in it is wrong.

    An InputError where its context or its plans mean nothing to this policy.
    """
    asked: list[Question] = []

    def remember(question: Question) -> Answer:
        asked.append(question)
        return Answer("time_limit", None, math.inf, 0.0)

    request = request_of(said, policy)
    try:
        draft = explain(policy, request, search=remember)
    except InputError:
        # Some questions are for one engine only.
        if said.asked.get("engine", "auto") == "auto":
            raise
        request = replace(request, engine=str(said.asked["engine"]))
        draft = explain(policy, request, search=remember)
    draft = _as_told(draft, said, said.asked)
    # By how many standard errors it holds at the start, and how usual that is, is computed again below.
    to_search = bool(asked) and not (asked[0].claim.confidence or asked[0].space.plausibility)
    faults = _faults_of_status(said, draft, to_search) if to_search or not asked else []
    faults += _faults_of_numbers(said, policy)
    if said.asked.get("decision") == "policy":
        faults += _faults_of_decision(draft, policy)
    fresh = _completed(said, policy, draft, asked[0], faults) if asked else draft
    if asked and said.unrestricted is not None:
        free = asked[0].in_space(request.space(policy.schema_, policy.X_, draft.initial, restricted=False))
        inner = _as_told(replace(draft, restricted=request.relates), said.unrestricted, said.asked)
        inner = _completed(said.unrestricted, policy, inner, free, faults)
        faults += _faults_of_numbers(said.unrestricted, policy)
        blocking = [] if said.asked else said.blocking
        if said.asked and inner.context is not None:
            point = policy.schema_.encode_row(inner.context)
            blocking = policy.schema_.restrictions_in_the_way(inner.initial, point, request.fixed, request.bounds)
        fresh = replace(fresh, unrestricted=inner, blocking=blocking)
    if said.reliance is not None:
        refitted = Refitted.of(policy, said.reliance.refits)
        # Where the time was short, fewer refits were made.
        counted = CHOOSING[: said.reliance.chosen.refits], JUDGING[: said.reliance.judged.refits]
        chosen, judged = (refitted.held(fresh, numbers) for numbers in counted)
        if chosen is not None and judged is not None:
            found = replace(said.reliance, chosen=chosen, judged=judged, confidence=said.confidence)
            wanted = said.asked.get("holds", found.wanted)
            fresh = replace(fresh, reliance=replace(found, wanted=wanted), agreed=chosen.with_others(judged))
    if said.nearest is not None and asked:
        plain = explain(policy, replace(request, confidence=0.0), search=remember)
        assert plain.question is not None
        near = _as_told(replace(plain, asked={}), said.nearest, said.asked)
        near = _completed(said.nearest, policy, near, plain.question, faults)
        faults += _faults_of_numbers(said.nearest, policy)
        if said.reliance is not None and said.nearest.agreed is not None:
            numbers = (*CHOOSING, *JUDGING)[: said.nearest.agreed.refits]
            near = replace(near, agreed=Refitted.of(policy, said.reliance.refits).held(near, numbers))
        fresh = replace(fresh, nearest=_ruled(said.nearest, replace(near, asked=said.nearest.asked), faults))
    if fresh.reliance is not None:
        ladder = _ladder(said, fresh, Refitted.of(policy, fresh.reliance.refits))
        fresh = replace(fresh, reliance=replace(fresh.reliance, ladder=ladder))
    return replace(_ruled(said, fresh, faults), **_of_the_search(said)), faults


def _as_told(fresh: Explanation, said: Explanation, question: Mapping[str, Any]) -> Explanation:
    """`fresh`, restricted as it is told where that cannot be known.

    Documents without their question do not say what was fixed or bounded, and some from before do not say that contexts
    were ruled out.
    """
    return replace(fresh, restricted=said.restricted and (fresh.restricted or not question))


def _ruled(said: Explanation, fresh: Explanation, faults: list[str]) -> Explanation:
    """`fresh` with its rule, where the document tells one.

    A rule that was found before its time was up is found again. Another one is as large as there was time for, and must
    be true as it is.
    """
    if said.rule is None:
        return fresh
    if said.rule.maximal and fresh.question is not None:
        return fresh.with_rule(None)
    fault = fault_of(fresh, said.rule)
    faults.extend([fault] if fault else [])
    return replace(fresh, rule=said.rule)


def _ladder(said: Explanation, fresh: Explanation, refitted: Refitted) -> tuple[Rung, ...]:
    """The ladder, with the rungs of the nearest explanation and of the one that was chosen computed again."""
    assert fresh.reliance is not None
    known = {fresh.reliance.confidence: fresh}
    if fresh.nearest is not None:
        known[0.0] = fresh.nearest
    rungs = []
    for rung in fresh.reliance.ladder:
        again = known.get(rung.confidence)
        if again is not None:
            of_search = said if again is fresh else said.nearest
            assert of_search is not None
            over = None if rung.held is None else refitted.excesses(again, CHOOSING[: rung.held.refits])
            held = None if over is None else Held.of(over, again.tolerance)
            # Documents from before it was told lack what is expected.
            expected = None if over is None or rung.expected is None else expected_share(over, again.tolerance)
            rung = Rung(rung.confidence, of_search.status, again.distance, of_search.bound, held, expected)
        rungs.append(rung)
    return tuple(rungs)


def request_of(said: Explanation, policy: Policy) -> Request:
    """The question of an explanation, to be asked once more, without its limits and by the usual engine."""
    record = said.asked
    plans = [_plan(said, plan, policy) for plan in (said.alternative, said.decision)]
    instead = plans[0] if "instead" not in record else read_set(policy, record["instead"])
    tolerance = record.get("tolerance")
    if tolerance is None:
        # Documents without a question name the tolerance in the unit of the costs.
        costs = np.abs(np.asarray(policy.problem.costs(plans[0], policy.Y_), dtype=np.float64))
        tolerance = said.tolerance / float(costs.max()) if costs.max() > 0 else 0.0
    known = set(Request.__dataclass_fields__).difference(EFFORT)
    if record.get("holds") is not None:
        # What the ladder ended with is what is checked.
        record = {**record, "holds": None, "confidence": said.confidence}
    return Request(
        **{name: value for name, value in record.items() if name in known}
        | {
            "context": row_of(policy, said.initial),
            "instead": instead,
            "decision": plans[1],
            "kind": said.kind,
            "fixed": tuple(record.get("fixed", ())),
            "bounds": _bounds(policy, record.get("bounds")),
            "tolerance": tolerance,
            "separation": record.get("separation", 1e-6 if said.separation is None else said.separation),
        }
    )


def row_of(policy: Policy, written: pd.Series) -> pd.Series:
    """A context as the policy's history holds it; JSON knows categories only by their texts."""
    schema = policy.schema_
    row = schema.row({str(name): value for name, value in written.items()})
    values = [_level(policy, name, value) for name, value in row.items()]
    made = pd.Series(values, index=row.index, dtype=object)
    schema.encode_row(made)
    return made


def _level(policy: Policy, name: Any, value: Any) -> Any:
    column = policy.X_[name]
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return value
    feature = policy.schema_.kind(name) if name in policy.schema_.names else None
    levels = feature.categories if isinstance(feature, Categorical) else None
    return next((level for level in levels or () if value in (level, scalar(level), to_plain(level))), value)


def _bounds(policy: Policy, written: Any) -> dict[str, Any] | None:
    if not isinstance(written, Mapping):
        return None
    bounds = dict(written)
    for name, limit in written.items():
        if name in policy.schema_.names and isinstance(policy.schema_.kind(name), Categorical):
            several = limit if isinstance(limit, list) else [limit]
            bounds[name] = [_level(policy, name, one) if name in policy.X_.columns else one for one in several]
        elif isinstance(limit, list) and name in policy.schema_.dated:
            bounds[name] = tuple(limit)
        elif isinstance(limit, list):
            bounds[name] = tuple(number_from_plain(end) if isinstance(end, str) else end for end in limit)
    return bounds


def _plan(said: Explanation, plan: Any, policy: Policy) -> Any:
    """A plan in its natural form."""
    form = "other" if said.source or said.written is None else said.written.plans.form
    if form == "other":
        return plan
    if form == "route":
        return policy.problem.from_plain(to_plain(plan), policy.outcome_names_)
    found = np.asarray(plan, dtype=np.float64)
    if found.size == 1:
        # Problems of one's own may decide a bare number, such as which of some plans; documents hold lists.
        decided = policy.decide(row_of(policy, said.initial))
        if isinstance(decided, int | np.integer):
            return int(found.item())
        return float(found.item()) if isinstance(decided, float | np.floating) else found
    return found


# ---- the context that was found ------------------------------------------------------------------------------------


def _completed(
    said: Explanation, policy: Policy, draft: Explanation, question: Question, faults: list[str]
) -> Explanation:
    """`draft` with the context that was said to do, its weights, costs and distance."""
    if said.context is None:
        return replace(draft, **_of_the_search(said), distance=math.inf)
    schema, context = policy.schema_, row_of(policy, said.context)
    filled = _filled(said, policy)
    if filled:
        question = filled_question(policy, request_of(said, policy), draft.initial, question, filled, True)
    if not said.asked:
        # What was fixed or bounded is not known: only that the context must be one of the schema's.
        question = question.in_space(schema.space(draft.initial, restricted=False, filled=filled))
    point = schema.encode_row(context)
    distance = question.space.distance(point)
    answer = Answer("time_limit", point, distance, said.bound)
    if draft.plans is not None:
        row = policy.inputs_of(context)
        question, draft = taking_over(policy, question, draft, draft.plans, policy.weights_.at(row), row)
    try:
        # For this schema the context is the one that is written, to the last digit.
        written: Any = SimpleNamespace(
            decode=lambda *point: context,
            encode_row=schema.encode_row,
            exactly_related=lambda context, *others: context,
        )
        after = confirmed(question, answer, written, draft.initial, policy.inputs_of).weights
    except InternalError as error:
        faults.append(str(error))
        after = question.weights.at(policy.inputs_of(context))
    changed = changes_between(policy, question, draft.initial, context)
    risk = question.claim.risk
    return replace(
        draft,
        **_of_the_search(said),
        # A rule is about the plan that takes over.
        question=question,
        context=context,
        changed=changed,
        room=_kept_room(said, rounding_limits(policy, question, answer, context, changed), faults),
        distance=distance,
        paid_after=Costs(
            risk.of(question.claim.decision, after),
            risk.of(question.claim.alternative, after) + question.claim.allowance,
        ),
        **after_of(policy, question, draft, after),
    )


def _filled(said: Explanation, policy: Policy) -> list[str]:
    """What the initial context lacks and the one that was found has."""
    assert said.context is not None
    before, after = row_of(policy, said.initial), row_of(policy, said.context)
    return [str(name) for name in before.index if pd.isna(before[name]) and not pd.isna(after[name])]


def _of_the_search(said: Explanation) -> dict[str, Any]:
    """What only the search could say."""
    return {name: getattr(said, name) for name in ("status", "bound", "nodes", "cuts", "seconds", "note")}


def _kept_room(said: Explanation, room: dict[str, tuple[float, float]], faults: list[str]) -> dict[str, Any]:
    """The room as it is said where it is not too wide: a search may know a smaller one."""
    for name, (low, high) in said.room.items():
        first, last = room.get(name, (math.inf, -math.inf))
        slack = 1e-6 * max(abs(first), abs(last))
        if low < first - slack or high > last + slack or low > high:
            faults.append(f"The room of {name!r} is said to be {low:.9g} to {high:.9g}, which is too wide.")
    return said.room


# ---- what cannot be so ---------------------------------------------------------------------------------------------


def _faults_of_status(said: Explanation, draft: Explanation, searched: bool) -> list[str]:
    """Whether the answers that need no search are those that were given."""
    if not searched and said.status != draft.status:
        where = "holds in the initial context already" if draft.status == "already" else "can hold nowhere"
        return [f"The criterion {where}, so that the status is {draft.status!r}. The explanation says {said.status!r}."]
    if searched and said.status == "already":
        costs = draft.cost_before
        return [
            "The criterion does not hold in the initial context, as the status 'already' says: the alternative costs "
            f"{costs.alternative:.6g} there, the decision {costs.decision:.6g}."
        ]
    return []


def _faults_of_numbers(said: Explanation, policy: Policy) -> list[str]:
    """Whether distance and bound go together, as the status says."""
    faults = []
    gap = said.asked.get("mip_gap") or policy.weights_.capabilities.proof_gap
    least = said.distance * (1.0 - float(gap)) - 1e-9 if isinstance(gap, int | float) else said.distance
    if said.status in ("optimal", "already") and said.bound < least:
        faults.append(f"The bound must be the distance where the status is {said.status!r}. Got {said.bound:.9g}.")
    if said.bound > said.distance + 1e-9:
        faults.append(f"The bound must not exceed the distance, {said.distance:.9g}. Got {said.bound:.9g}.")
    if said.status == "none" and not math.isinf(said.bound):
        faults.append(f"The bound must be infinite where the status is 'none'. Got {said.bound:.9g}.")
    return faults


def _faults_of_decision(draft: Explanation, policy: Policy) -> list[str]:
    """Whether the decision is one that the policy would take."""
    decided, cost = policy.decision(draft.initial), draft.cost_before.decision
    if math.isclose(cost, decided.cost, rel_tol=1e-9, abs_tol=1e-9 * float(np.abs(decided.costs).max())):
        return []
    return [f"The policy decides otherwise in the initial context: at cost {decided.cost:.9g}, not {cost:.9g}."]
