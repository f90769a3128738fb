"""By how much a plan is above the best one anywhere in a part of the contexts: at least so much, and at most so much.

The question "where is this plan more than so much above the best?" has a proved answer: a context, which raises what is
known from below, or none, which lowers what is known from above. Both close in on each other until the time is up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.errors import InputError, WhenceError
from whence.explain.ask import Request
from whence.explain.pipeline import explain
from whence.features.kinds import Binary
from whence.question import Progress
from whence.questions.rule_tree import Condition, holds_in
from whence.util.linear_program import OutOfTime

if TYPE_CHECKING:
    from whence.policy import Policy

#: Shares closer than this, or by this share of themselves, are not told apart.
CLOSE, CLOSE_SHARE = 0.002, 0.02
#: A share that nobody would call close to the best any more: where even this is not proved, nothing is.
FAR = 64.0


class _Above(Request):
    """A question about a plan that may cost more than twice as much as the best one."""

    @property
    def margin_parts(self) -> tuple[float, float]:
        """The share as it is; an amount where costs may be negative."""
        return (float(self.margin), 0.0) if isinstance(self.margin, float) else super().margin_parts


@dataclass(frozen=True)
class Worst:
    """The largest share by which a plan is above the best: between `at_least`, shown by `context`, and `at_most`."""

    at_least: float
    at_most: float
    context: Mapping[str, Any] | None
    note: str = ""


def over_best(policy: Policy, plan: Any, row: pd.Series) -> float:
    """By which share a plan costs more than what the policy decides in a context."""
    made = policy.decision_in(row)
    cost = policy.risk_.of(policy.problem.costs(plan, policy.outcomes_in(row)), made.weights)
    return share_over(float(cost), made.cost)


def share_over(cost: float, best: float) -> float:
    """By which share a cost is above the best one; infinite above a best one of 0."""
    over = cost - best
    if over <= 1e-12 * max(abs(cost), abs(best)):
        return 0.0
    return over / abs(best) if best else math.inf


def box_of(policy: Policy, conditions: Mapping[str, Condition]) -> dict[str, Any]:
    """Conditions as bounds of a question, within the ranges of the history."""
    bounds: dict[str, Any] = {}
    for name, one in conditions.items():
        if one.among is not None:
            on_or_off = isinstance(policy.schema_.kind(name), Binary)
            ends = [float(level) for level in one.among] if on_or_off else []
            bounds[name] = (min(ends), max(ends)) if on_or_off else list(one.among)
            continue
        low, high = policy.schema_.training_range(name)
        above = low if math.isinf(one.low) else max(low, float(np.nextafter(one.low, math.inf)))
        bounds[name] = (above, min(high, one.high))
    return bounds


def worst_case(
    policy: Policy,
    plan: Any,
    conditions: Mapping[str, Condition],
    known: tuple[float, pd.Series],
    deadline: float,
    goes_on: Callable[[], bool] = lambda: True,
) -> Worst:
    """The largest share by which `plan` is above the best where conditions hold, as far as the time allows.

    `known` is a share that a context shows, and that context, from which the search begins. Where `goes_on` says no, it
    ends with what is known.
    """
    at_least, witness = known
    at_most, note = math.inf, ""
    bounds = box_of(policy, conditions)
    # Where nothing worse is known to come, close to what is shown: a proof there is the last one that is needed.
    near = True
    level = _next(at_least, at_most, near)
    while time.perf_counter() < deadline and level is not None and goes_on():
        left = deadline - time.perf_counter()
        # Half of what is left for one question: the others may be easier.
        found = _ask(policy, plan, bounds, witness, level, max(0.5 * left, min(left, 0.5)), goes_on)
        if isinstance(found, str):
            note = found
            break
        status, context = found
        if context is not None:
            shown = over_best(policy, plan, context)
            near = not near
            if shown > at_least and holds_in(conditions, context):
                at_least, witness = shown, context
            else:
                # Within rounding of the level, or of a condition: nothing is proved, and more is to be asked for.
                level = max(1.5 * level, level + CLOSE)
                if level >= min(at_most, FAR):
                    break
                continue
        elif status == "none":
            at_most, near = min(at_most, level), True
        elif math.isinf(at_most) and level < FAR:
            level = 4.0 * level + 0.05
            continue
        else:
            break
        level = _next(at_least, at_most, near)
    return Worst(at_least, max(at_most, at_least), {str(k): v for k, v in witness.items()}, note)


def _next(at_least: float, at_most: float, near: bool) -> float | None:
    """The next share to ask for; None where both are close."""
    step = max(CLOSE, CLOSE_SHARE * at_least)
    if math.isinf(at_least) or at_most - at_least <= 1.001 * step:
        return None
    if near:
        return at_least + step
    return 1.5 * at_least + 0.01 if math.isinf(at_most) else 0.5 * (at_least + at_most)


def _ask(
    policy: Policy,
    plan: Any,
    bounds: Mapping[str, Any],
    start: pd.Series,
    level: float,
    seconds: float,
    goes_on: Callable[[], bool],
) -> tuple[str, pd.Series | None] | str:
    """How the question ended, and a context in which the plan is more than `level` above the best; or why not asked."""

    def stop(progress: Progress) -> bool:
        return not math.isfinite(progress.distance) and goes_on()

    asked = {"decision": plan, "margin": float(level), "bounds": dict(bounds), "on_progress": stop}
    request = _Above.of(start, None, {**asked, "time_limit": None if math.isinf(seconds) else seconds})
    try:
        why = explain(policy, request, relax=False)
    except OutOfTime:
        return "time_limit", None
    except InputError:
        kinds = type(policy.problem).__name__, type(policy.weights_).__name__
        return f"no search looks at all plans of {kinds[0]} with {kinds[1]} under {policy.risk_.name}."
    except WhenceError as error:
        return str(error)
    return str(why.status), why.context
