"""Sets of plans as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from whence.errors import InputError
from whence.problems.base import DecisionProblem
from whence.problems.plan_sets import AnyPlan, PlanSet
from whence.util.json import quoted

__all__ = ["SETS", "is_set", "read_plan_set"]


#: What a set of plans may be, in words.
SETS = (
    "any, through:PLACE, using:PLACE, avoiding:PLACE, at-least:PART=NUMBER, at-most:PART=NUMBER or "
    "between:PART=LOW:HIGH"
)

#: The methods of problems that make one.
METHODS = ("through", "using", "avoiding", "at_least", "at_most", "between")

_MARK = re.compile(r"(through|using|avoiding|at[-_]least|at[-_]most|between)\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)


def is_set(text: str) -> bool:
    """Whether a text stands for a set of plans.

    Examples
    --------
    >>> is_set("any"), is_set("at-least:rye=80"), is_set("A > B")
    (True, True, False)
    """
    return text.strip().casefold() == "any" or _MARK.fullmatch(text.strip()) is not None


def read_plan_set(
    problem: DecisionProblem, text: str, outcomes: Sequence[str], number: Callable[[str], float]
) -> PlanSet:
    """The set of plans that `text` stands for; several conditions have semicolons between them.

    Examples
    --------
    >>> import whence as wh
    >>> bakery = wh.Newsvendor(1, [2, 3], names=["rolls", "rye"])
    >>> read_plan_set(bakery, "at-least:rye=80; at-most:rolls=100", [], float).words
    'a plan with at least 80 rye and at most 100 rolls'
    """
    if text.strip().casefold() == "any":
        return AnyPlan(problem)
    found: Any = problem
    for condition in text.split(";"):
        mark = _MARK.fullmatch(condition.strip())
        if mark is None:
            raise InputError(f"A set of plans must be {SETS}. Got {quoted(condition.strip())} instead.")
        name, rest = mark[1].lower().replace("-", "_"), mark[2].strip()
        method = getattr(found, name, None)
        if method is None:
            known = [one.replace("_", "-") for one in METHODS if hasattr(problem, one)]
            raise InputError(
                f"{mark[1]!r} is not for the plans of {type(problem).__name__}: use {', '.join([*known, 'any'])}.",
                parameter="instead",
            )
        found = method(*_arguments(name, rest, number))
        if isinstance(found, PlanSet):
            found = found.named(outcomes)
    assert isinstance(found, PlanSet)
    return found


def _arguments(name: str, rest: str, number: Callable[[str], float]) -> tuple[Any, ...]:
    if name in ("through", "using", "avoiding"):
        if not rest:
            raise InputError(f"{name!r} must name a node, an edge or a street. Got nothing.", parameter="instead")
        return (rest,)
    part, equals, limit = rest.rpartition("=")
    if not equals or not part.strip():
        given = quoted(f"{name.replace('_', '-')}:{rest}")
        raise InputError(f"A set of plans must be {SETS}. Got {given} instead.", parameter="instead")
    if name != "between":
        return part.strip(), number(limit.strip())
    low, colon, high = limit.partition(":")
    if not colon:
        raise InputError(
            f"'between' must have two numbers, low:high. Got {quoted(limit)} instead.", parameter="instead"
        )
    return part.strip(), number(low.strip()), number(high.strip())
