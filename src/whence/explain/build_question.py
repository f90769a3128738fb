"""A planner's request as a question to an engine: in coordinates, and in what the risk counts observations for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.claims.plans import PlanBeats, PlanIsBest
from whence.errors import InputError
from whence.explain.ask import Request
from whence.explain.missing import weights_for
from whence.explain.plan_costs import in_order, sample_costs
from whence.features.space import Few, Space
from whence.question import Limits, Question
from whence.risk import Risk
from whence.settings import SearchSettings
from whence.util.aliases import Floats
from whence.weights.plausibility import Isolation, Nearby, usual_in

if TYPE_CHECKING:
    from whence.policy import Policy

__all__ = ["check_feasible", "few_of", "named", "question_of", "settings_of", "space_of", "values_of"]


def question_of(
    policy: Policy, request: Request, initial: pd.Series, limits: Limits, costs: Mapping[str, Floats]
) -> Question:
    """What an engine is asked, in coordinates and in what the policy's risk counts each observation for."""
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
        # Costs are linear in the plan; what another risk makes of them is not, nor are they less an amount.
        polytope = problem.polytope() if mean is risk and not allowance else None
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
    claim = (
        PlanIsBest(**about, better=better, best=best, linear=linear)
        if request.kind == "absolute"
        else PlanBeats(**about)
    )
    return Question(
        space=space_of(policy, request, initial),
        weights=weights_for(policy, initial),
        inputs=policy.input_map_,
        claim=claim,
        limits=limits,
        settings=settings_of(request),
    )


def settings_of(request: Request) -> SearchSettings:
    """How the request wants to be searched for."""
    threads = None if request.threads is None else int(request.threads)
    return SearchSettings(float(request.separation), threads, dict(request.options))


def space_of(policy: Policy, request: Request, initial: pd.Series) -> Space:
    """Where the request allows contexts to lie, apart from how many features may change."""
    space = request.space(policy.schema_, policy.X_, initial)
    return replace(space, plausibility=_plausibility(policy, request, initial))


def few_of(policy: Policy, request: Request, question: Question, barred: Sequence[Collection[str]]) -> Few | None:
    """How many features may change, and which never together; None where that rules out nothing."""
    feature = question.space.feature
    number = dict(zip(policy.schema_.feature_of_coordinate(), feature.tolist(), strict=True))
    most = len(number) if request.max_changes is None else min(int(request.max_changes), len(number))
    sets = tuple(tuple(sorted(number[name] for name in one)) for one in barred)
    return Few(most, sets) if most < len(number) or sets else None


def _plausibility(policy: Policy, request: Request, initial: pd.Series) -> Isolation | Nearby | None:
    """Return which contexts are usual enough for the request."""
    share, schema = request.plausible, policy.schema_
    if share is not None and (schema.lacks(policy.X_) or schema.lacks(initial.to_frame().T)):
        raise InputError(
            "'plausible' needs a context and a history without missing numbers. Got some that are.",
            parameter="plausible",
        )
    return None if share is None else usual_in(policy.weights_, policy.schema_, policy.X_).at_least(float(share))


def values_of(risk: Risk, *costs: Floats) -> list[Floats]:
    """What the risk counts each observation for, plan by plan; a risk of which that cannot be said is refused."""
    values = [risk.values(one) for one in costs]
    if any(one is None for one in values):
        raise InputError(
            "'risk' must be a weighted mean to be explained, of the costs or of what its 'values' makes of them: no "
            f"engine can search under any other. Got {risk!r} instead.",
            parameter="risk",
        )
    return [np.asarray(one, dtype=np.float64) for one in values]


def named(policy: Policy, plan: Any) -> Any:
    return in_order(policy.problem, plan, policy.outcome_names_)


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
