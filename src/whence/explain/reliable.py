"""Explanations that are true in the world as often as was asked for: the nearest by standard errors that were learnt.

How many standard errors a share of truth needs is learnt once for a policy and a kind of question, in simulated worlds
(:mod:`whence.worlds`). An answer is then one search with that many, proved nearest for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs

from whence.errors import InputError
from whence.explain.ask import Judge, Request
from whence.explain.robust import Held, Refitted, Reliance, Rung
from whence.question import Limits
from whence.worlds import WORLDS, Calibration, Curve, Kind, Worlds, node_limit

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation
    from whence.policy import Policy
    from whence.problems.plan_sets import PlanSet

__all__ = ["asked_itself", "calibrated", "check_judge", "explained_truly", "why_not_judged", "worlds_of"]

#: Which share of the worlds of one question there must be time for, to tell anything of them.
LEAST_OWN = 0.5
#: From a world's policy and a request to its answers by standard errors; None where it holds already.
InWorld = Callable[["Policy", Request], "Callable[[float], Explanation] | None"]


def worlds_of(policy: Policy, world: Any = None) -> Worlds:
    """The simulated worlds of a fitted policy: those that it keeps, unless another model is asked for."""
    kept: Worlds | None = policy.__dict__.get("worlds_")
    if kept is None or (world is not None and world is not kept.world):
        kept = policy.__dict__["worlds_"] = Worlds(world)
    return kept


def check_judge(policy: Policy, refits: Judge | None) -> None:
    """Refuse what cannot be judged by simulated worlds, or by refits."""
    if refits in ("seed", "bootstrap"):
        Refitted.of(policy, refits)
    elif policy.weights_.capabilities.forecasts:
        raise InputError(
            "'holds' must be left out where the policy forecasts: forecasts are not asked in simulated worlds.",
            parameter="holds",
        )
    else:
        policy.weights_.check_outcomes(policy.Y_.shape[1])


def why_not_judged(policy: Policy, engine: str = "auto", refits: Judge | None = None) -> str:
    """Return why it cannot be found out how far to rely on an answer, in a sentence; empty where it can."""
    weights = policy.weights_
    if weights.capabilities.forecasts:
        return "How far you can rely on it is not known: forecasts with residuals are not asked in simulated worlds."
    by_refits = refits in ("seed", "bootstrap")
    if not (weights.capabilities.can_refit if by_refits else weights.takes_outcomes(policy.Y_.shape[1])):
        return (
            "How far you can rely on it is not known: the model was given fitted and cannot be fitted again; ask with "
            "a confidence to see how far its trees or neighbours agree."
        )
    if engine == "milp":
        return "How far you can rely on it was not searched for: the integer program cannot ask for confidence."
    return ""


def calibrated(
    policy: Policy, request: Request, plans: PlanSet | None, in_world: InWorld, limits: Limits
) -> Callable[[], Curve | None]:
    """What finds out how often answers to such questions are true, by standard errors; None where no time is left."""
    check_judge(policy, request.refits)
    kept = worlds_of(policy, request.world)
    about = Kind(
        request.kind, request.within_parts, request.margin_parts, "" if plans is None else f"{plans.words} {plans!r}"
    )
    asked = partial(
        Request,
        kind=request.kind,
        within=request.within,
        margin=request.margin,
        tolerance=request.tolerance,
        separation=request.separation,
        node_limit=node_limit(policy),
    )

    def ask(world: Any, context: Any, instead: Any) -> Callable[[float], Explanation] | None:
        return in_world(world, asked(context, instead))

    def curve() -> Curve | None:
        known = kept.curves.get(about)
        if known is None or (known.is_coarse and limits.remaining > 0.0):
            made = Calibration(policy, kept, ask, plans, single=plans is None, limits=limits).curve()
            if made is not None and (known is None or made.worlds > known.worlds):
                kept.curves[about] = known = made
        return known

    return curve


def asked_itself(
    policy: Policy, request: Request, plans: PlanSet | None, in_world: InWorld, limits: Limits
) -> Callable[[Reliance], Reliance]:
    """What asks this very question in worlds of its own and tells how many of its answers are true.

    They are other worlds than those of the curve. Where there is time for too few of them, nothing is told.
    """
    asked = replace(
        request,
        instead=request.instead if plans is None else plans,
        holds=None,
        time_limit=None,
        node_limit=node_limit(policy),
        on_progress=None,
        on_nearest=None,
        rule=False,
    )

    def ask(world: Any, context: Any, instead: Any) -> Callable[[float], Explanation] | None:
        return in_world(world, replace(asked, context=context, instead=instead))

    def told(found: Reliance) -> Reliance:
        own = request.context, asked.instead, found.confidence
        seen = Calibration(policy, worlds_of(policy, request.world), ask, plans, limits=limits, own=own).curve()
        if seen is None or seen.worlds < LEAST_OWN * WORLDS:
            return found
        return replace(found, own=Held(seen.true[0], seen.answered[0]))

    return told


def explained_truly(
    at: Callable[[float], Explanation],
    finished: Callable[[Explanation], Explanation],
    calibrate: Callable[[], Curve | None],
    request: Request,
    itself: Callable[[Reliance], Reliance] = lambda found: found,
) -> Explanation:
    """Return the nearest explanation by the standard errors that the share asked for needs.

    Where no context keeps them, or no number of them reaches the share, it is the one by the most that there are: its
    `reliance` says what share of such answers is true. `at` searches by so many; `finished` adds all that is shown of
    the one that is chosen, and `itself` how many answers to this very question are true.
    """
    assert request.holds is not None
    wanted = float(request.holds)
    nearest = finished(at(0.0))
    if request.on_nearest is not None:
        request.on_nearest(nearest)
    if nearest.context is None:
        return nearest
    curve = calibrate()
    if curve is None:
        return structs.replace(nearest, reliance=_reliance(wanted, nearest, None, [nearest], request))
    kappa = curve.kappa(wanted)
    tried = _tried(at, nearest, curve.best if kappa is None else kappa, curve.grain)
    explanation = max((one for one in tried if one.context is not None), key=lambda one: one.confidence)
    reliance = itself(_reliance(wanted, explanation, curve, tried, request))
    if explanation.confidence == 0.0:
        return structs.replace(explanation, reliance=reliance)
    # What is nearest by that many is told once where it is nearest at all.
    same = explanation.context is not None and explanation.context.equals(nearest.context)
    # The question was another one, with `holds`: that of the whole.
    turning = None if same else structs.replace(nearest, asked={})
    return structs.replace(finished(explanation), reliance=reliance, nearest=turning)


def _tried(at: Callable[[float], Explanation], nearest: Explanation, kappa: float, grain: float) -> list[Explanation]:
    """The explanation by so many standard errors, or by the most, in whole grains, by which there is a context."""
    tried = [nearest]
    low, high = 0, round(kappa / grain) if grain else 0
    step = high
    while low < high:
        found = at(step * grain)
        tried.append(found)
        if found.status in ("time_limit", "interrupted") or (found.context is not None and step == high):
            break
        # More standard errors are never nearer: by more than these there is nothing, either.
        low, high = (step, high) if found.context is not None else (low, step - 1)
        step = (low + high + 1) // 2
    return sorted(tried, key=lambda one: one.confidence)


def _reliance(
    wanted: float, explanation: Explanation, curve: Curve | None, tried: list[Explanation], request: Request
) -> Reliance:
    kappa = explanation.confidence
    ladder = tuple(Rung(one.confidence, one.status, one.distance, one.bound, None) for one in tried)
    return Reliance(
        wanted,
        "worlds",
        kappa,
        Held(0, 0),
        Held(0, 0),
        ladder,
        share=None if curve is None else curve.share(kappa),
        interval=None if curve is None else curve.interval(kappa),
        curve=curve,
        least_gain=float(request.least_gain),
        needed=None if curve is None else curve.kappa(wanted),
    )
