"""From a planner's question to a confirmed explanation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.aliases import Floats, Kind
from whence.errors import InputError
from whence.explain.explanation import Costs, Explanation
from whence.explain.named_plans import in_order
from whence.explain.room import room_around
from whence.explain.sample_costs import sample_costs
from whence.explain.source import Source
from whence.explain.verification import confirmed
from whence.plain import to_plain
from whence.problems.linear import LinearPlans
from whence.question import Answer, Engine, Limits, Progress, Question
from whence.weights import ForestWeights, KNNWeights

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["Request", "engine_of", "explain"]


#: Distances are known to 16 digits: how far outside the history a context may lie, in ranges for a separation of 1, so
#: that the rounding of a distance stays a thousand times below the separation; and the least separation that counts.
FARTHEST, LEAST_SEPARATION = 1e12, 1e-9


@dataclass(frozen=True)
class Request:
    """What the user asked for, apart from the policy."""

    context: Any
    instead: Any
    kind: Kind = "relative"
    within: float = 0.0
    decision: Any = None
    fixed: Collection[str] = ()
    bounds: Mapping[str, Any] | None = None
    engine: str = "auto"
    time_limit: float | None = None
    node_limit: int | None = None
    tolerance: float = 1e-6
    separation: float = 1e-6
    threads: int | None = None
    on_progress: Callable[[Progress], Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in ("relative", "absolute"):
            raise InputError(f"'kind' must be 'relative' or 'absolute'. Got {self.kind!r} instead.")
        if not _is_number(self.within) or not 0 <= float(self.within) < np.inf:
            raise InputError(f"'within' must be a number >= 0, such as 0.02 for 2 %. Got {self.within!r} instead.")
        if self.within and self.kind != "absolute":
            raise InputError("'within' is a share of the best plan's cost: use it with kind='absolute'.")
        if self.engine not in ("auto", "search", "milp"):
            raise InputError(f"'engine' must be 'auto', 'search' or 'milp'. Got {self.engine!r} instead.")
        for name in ("tolerance", "separation"):
            value = getattr(self, name)
            if not isinstance(value, int | float | np.number) or not 0 <= float(value) < np.inf:
                raise InputError(f"{name!r} must be a number >= 0. Got {value!r} instead.")
        for name in ("time_limit", "node_limit"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value > 0
            ):
                raise InputError(f"{name!r} must be a positive number or None. Got {value!r} instead.")
        if self.threads is not None and (
            isinstance(self.threads, bool)
            or not isinstance(self.threads, int | np.integer)
            or not 0 < self.threads <= 256
        ):
            raise InputError(f"'threads' must be an int from 1 to 256, or None. Got {self.threads!r} instead.")

    def told(self) -> dict[str, Any]:
        """The question in plain values, for a certificate; context and plans, which stand beside it, are left out.

        Whatever is added to a question is in it without a word here.
        """
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("context", "instead", "on_progress"):
            del said[name]
        said["decision"] = "policy" if self.decision is None else "given"
        said["fixed"] = sorted([self.fixed] if isinstance(self.fixed, str) else map(str, self.fixed))
        more = said.pop("options")
        return {name: to_plain(value) for name, value in {**said, **more}.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def explain(policy: Policy, request: Request, search: Engine | None = None) -> Explanation:
    """The nearest context in which ``request.instead`` is better than, or as good as, any plan.

    `search` answers in the place of the engine that the request names.
    """
    request = replace(request, instead=_named(policy, request.instead), decision=_named(policy, request.decision))
    engine, engine_name = engine_of(policy, request)
    engine = search or engine
    limits = Limits(request.time_limit, request.node_limit, request.on_progress)
    initial = policy.schema_.row(request.context)
    before = policy.weights_.at(policy.inputs_of(initial))
    prescribed = policy.problem.solve(policy.Y_, before, policy.risk_)
    decision = prescribed if request.decision is None else request.decision
    _feasible(policy, "instead", request.instead)
    if request.decision is not None:
        _feasible(policy, "decision", decision)
    alternative_costs = _costs(policy, request.instead, "instead")
    decision_costs = _costs(policy, decision, "decision")
    if request.within:
        _not_negative(np.append(alternative_costs, decision_costs))
    tau = float(request.tolerance) * float(np.abs(alternative_costs).max())

    def better(weights: Floats) -> Floats | None:
        rival = policy.problem.solve(policy.Y_, weights, policy.risk_)
        costs = _costs(policy, rival, "decision")
        if request.within:
            costs = (1.0 + request.within) * _not_negative(costs)
        regret = policy.risk_.of(alternative_costs, weights) - policy.risk_.of(costs, weights)
        return costs if regret > tau else None

    question = Question(
        space=policy.schema_.space(initial, request.fixed, request.bounds),
        weights=policy.weights_,
        inputs=policy.input_map_,
        alternative=alternative_costs,
        decision=decision_costs,
        risk=policy.risk_,
        kind=request.kind,
        tau=tau,
        separation=float(request.separation),
        better=better,
        limits=limits,
        options=_options(policy, request),
        within=float(request.within),
        threads=int(request.threads or 1),
    )
    if request.engine == "milp":
        from whence import milp

        milp.check(question)
    prescribed_costs = decision_costs if request.decision is None else _costs(policy, prescribed, "decision")
    answer = _without_search(question, before, prescribed_costs)
    if answer is None:
        _near_enough(policy, question)
        answer = engine(question)
    draft = _draft(policy, request, question, initial, before, decision, engine_name)
    explanation = _completed(policy, question, answer, draft)
    if answer.status == "none":
        explanation = _freed(policy, request, question, engine, explanation)
    return replace(explanation, seconds=limits.seconds)


def engine_of(policy: Policy, request: Request) -> tuple[Engine, str]:
    """The engine to use and its name; refuses options that it does not know."""
    forest = isinstance(policy.weights_, ForestWeights)
    if request.engine == "milp":
        from whence import milp

        return milp.explain, f"milp ({request.options.get('solver', 'highs')})"
    unknown = [name for name in request.options if request.options[name] is not None]
    if "plausibility" in unknown:
        raise InputError("'plausibility' is a constraint of the integer program: use it with engine='milp'.")
    if unknown:
        from whence.milp.options import Options

        if unknown[0] in Options.__dataclass_fields__:
            raise InputError(f"{unknown[0]!r} is an option of engine='milp'; the search does not know it.")
        near = get_close_matches(unknown[0], [*Request.__dataclass_fields__, *Options.__dataclass_fields__], 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"'explain' has no parameter {unknown[0]!r}.{hint}")
    if forest:
        from whence.search import forest as engine

        return engine.explain, "search (forest)"
    from whence.search import knn

    return knn.explain, "search (nearest neighbours)"


def _options(policy: Policy, request: Request) -> dict[str, Any]:
    """The options of the engine; with them the problem as a linear program, where its dual is asked for."""
    options, problem = dict(request.options), policy.problem
    if request.engine == "milp":
        options["threads"] = request.threads
    dual = request.engine == "milp" and request.kind == "absolute" and options.get("method") == "dual"
    if dual and isinstance(problem, LinearPlans):
        options["linear"] = (problem.polytope(), problem.cost_rows(policy.Y_), problem.vector(request.instead))
    return options


def _named(policy: Policy, plan: Any) -> Any:
    return in_order(policy.problem, plan, policy.outcome_names_)


def _feasible(policy: Policy, name: str, plan: Any) -> None:
    try:
        reason = policy.problem.check(plan)
    except (ValueError, TypeError) as error:
        reason = str(error)
    if reason:
        raise InputError(f"The plan given as {name!r} is not feasible: {reason}")


def _costs(policy: Policy, plan: Any, name: str) -> Floats:
    return sample_costs(policy.problem, plan, policy.Y_, name)


def _not_negative(costs: Floats) -> Floats:
    """`costs`, where a share of them is something to compare with."""
    if costs.min() < 0.0:
        raise InputError(
            "'within' is a share of the best plan's cost, so that no cost may be negative. "
            f"Got a cost of {costs.min():g}."
        )
    return costs


def _without_search(question: Question, before: Floats, prescribed: Floats) -> Answer | None:
    """The answers that need no search: the criterion holds already, or no observation speaks for the plan."""
    reference = question.decision if question.kind == "relative" else (1.0 + question.within) * prescribed
    gap = question.risk.of(question.alternative, before) - question.risk.of(reference, before)
    if gap <= question.tau:
        return Answer("already", question.space.start, 0.0, 0.0)
    if (question.alternative - question.rival_decision > question.tau).all():
        more = f"over {100 * question.within:.4g} % more" if question.within else "more"
        note = f"every past observation costs {more} with the alternative than with the decision"
        return Answer("none", None, np.inf, np.inf, note=note)
    return None


def _near_enough(policy: Policy, question: Question) -> None:
    """Refuse a context from which distances to the neighbours would differ by rounding alone."""
    if not isinstance(question.weights, KNNWeights):
        return
    points, start = question.weights.points_, question.space.start
    away = np.maximum(points.min(axis=0) - start, start - points.max(axis=0))
    j = int(np.argmax(away))
    most = FARTHEST * max(question.separation, LEAST_SEPARATION)
    if away[j] > most:
        name = policy.schema_.feature_of_coordinate()[j]
        raise InputError(
            f"The context must lie near enough to the history to tell its neighbours apart: {name!r} lies "
            f"{away[j]:.3g} times its range outside. At most {most:.3g} times is possible with "
            f"separation={question.separation:g}."
        )


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
        changes=_changes(policy, question, initial, None),
        distance=np.inf,
        bound=np.inf,
        decision=decision,
        alternative=request.instead,
        cost_before=Costs(risk.of(question.decision, before), risk.of(question.alternative, before)),
        cost_after=None,
        weights_before=before,
        weights_after=None,
        engine=engine,
        seconds=0.0,
        nodes=0,
        within=question.within,
        tolerance=question.tau,
        separation=None if isinstance(policy.weights_, ForestWeights) else question.separation,
        costs_decision=question.decision,
        costs_alternative=question.alternative,
        asked=request.told(),
        source=Source.of(policy),
    )


def _completed(policy: Policy, question: Question, answer: Answer, draft: Explanation) -> Explanation:
    """`draft` with the confirmed answer."""
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
            weights_after=draft.weights_before,
        )
    context, after, distance = confirmed(question, answer, policy.schema_, draft.initial, policy.inputs_of)
    risk = question.risk
    proved = answer.status == "optimal" and answer.bound == answer.distance
    bound = distance if proved else min(answer.bound, distance)
    changes = _changes(policy, question, draft.initial, context)
    return replace(
        draft,
        **common,
        context=context,
        changes=changes,
        room=_room(policy, question, answer, context, changes["feature"].tolist()),
        distance=distance,
        bound=bound,
        cost_after=Costs(risk.of(question.decision, after), risk.of(question.alternative, after)),
        weights_after=after,
    )


def _room(
    policy: Policy, question: Question, answer: Answer, context: pd.Series, changed: list[str]
) -> dict[str, tuple[float, float]]:
    """Between which values every continuous feature that changes may be rounded: the weights stay the same."""
    schema, space, among = policy.schema_, question.space, set(changed)
    box = answer.room or room_around(question, schema.encode_row(context), policy.inputs_of(context))
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


def _changes(policy: Policy, question: Question, initial: pd.Series, context: pd.Series | None) -> pd.DataFrame:
    schema = policy.schema_
    rows = []
    if context is not None:
        moved = np.abs(schema.encode_row(context) - question.space.start) * question.space.weight
        distances = schema.by_feature(moved)
        before, after = (schema.feature_values(row, distances) for row in (initial, context))
        rows = [(name, before[name], after[name], distance) for name, distance in distances.items()]
    return pd.DataFrame(rows, columns=["feature", "from", "to", "distance"])


def _freed(
    policy: Policy, request: Request, question: Question, engine: Engine, explanation: Explanation
) -> Explanation:
    """Where restrictions may be what rules out an explanation: solve once more without them and say so."""
    schema = policy.schema_
    free = schema.space(explanation.initial, restricted=False)
    same = all(
        np.array_equal(a, b) for a, b in ((free.lower, question.space.lower), (free.upper, question.space.upper))
    ) and all(
        (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))
        for a, b in zip(free.levels, question.space.levels, strict=True)
    )
    if same or explanation.note or question.limits.remaining <= 0:
        return explanation
    left = question.limits.remaining
    limits = Limits(None if np.isinf(left) else left, request.node_limit, request.on_progress)
    limits.reserve = question.limits.reserve
    wider = replace(question, space=free, limits=limits)
    answer = engine(wider)
    relaxed = _completed(policy, wider, answer, replace(explanation, status="none", note=""))
    blocking = (
        []
        if relaxed.context is None
        else schema.restrictions_in_the_way(
            explanation.initial, schema.encode_row(relaxed.context), request.fixed, request.bounds
        )
    )
    return replace(explanation, unrestricted=replace(relaxed, asked={}), blocking=blocking)
