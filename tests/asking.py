"""Questions for tests, by the plain names of all that a question, its space, its claim and its settings hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from whence.claims.plans import PlanBeats, PlanIsBest
from whence.claims.sets import SetBeats, SetIsBest
from whence.engines import ENGINES
from whence.features.space import Space
from whence.question import Answer, Limits, Question
from whence.search.search_engine import Search
from whence.settings import SearchSettings
from whence.util.aliases import Floats, Kind
from whence.weights import InputMap, Weights

IN_SPACE = ("few", "plausibility")
IN_SETTINGS = tuple(one.name for one in fields(SearchSettings))
IN_CLAIM = ("kind", *(one.name for one in fields(SetIsBest)))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Relative(PlanBeats):
    """A relative claim that remembers what an absolute one needs, so that a case can be asked in both ways."""

    better: Any = None
    best: Any = None
    linear: Any = None


def asking(
    space: Space,
    weights: Weights,
    inputs: InputMap,
    alternative: Floats,
    decision: Floats,
    risk: Any,
    kind: Kind,
    tau: float,
    separation: float,
    better: Callable[[Floats], Floats | None],
    limits: Limits,
    options: dict[str, Any] | None = None,
    **more: Any,
) -> Question:
    """Return a question about a plan, or about a set where `plans` are given."""
    claim = _Relative(alternative=alternative, decision=decision, risk=risk, tau=tau, better=better)
    settings = SearchSettings(separation, options=options or {})
    return varied(Question(space, weights, inputs, claim, limits, settings), kind=kind, **more)


@contextmanager
def searching(**changes: Any) -> Iterator[None]:
    """Search with these settings wherever a policy is asked, in the place of those chosen by measuring."""

    class Tuned(Search):
        """The search, told otherwise."""

        def answer(self, question: Question) -> Answer:
            """Search with other settings."""
            return super().answer(varied(question, **changes))

    before = ENGINES["search"]
    ENGINES["search"] = Tuned
    try:
        yield
    finally:
        ENGINES["search"] = before


def varied(given: Any, **changes: Any) -> Any:
    """Return a question with some of its parts changed, wherever they belong; of other records, the same with them."""
    if not isinstance(given, Question):
        return dataclasses.replace(given, **changes)
    in_space, in_settings, in_claim = (
        {name: changes.pop(name) for name in names if name in changes} for names in (IN_SPACE, IN_SETTINGS, IN_CLAIM)
    )
    given = dataclasses.replace(given, **changes)
    if in_space:
        given = dataclasses.replace(given, space=dataclasses.replace(given.space, **in_space))
    if in_settings:
        given = dataclasses.replace(given, settings=dataclasses.replace(given.settings, **in_settings))
    return dataclasses.replace(given, claim=_claim(given.claim, in_claim)) if in_claim else given


def _claim(claim: PlanBeats, changes: dict[str, Any]) -> PlanBeats:
    """Return the claim with some of its parts changed, of another kind where that is asked for."""
    parts = {name: getattr(claim, name) for name in IN_CLAIM if hasattr(claim, name)} | changes
    absolute, plans = parts.pop("kind") == "absolute", parts.pop("plans", None)
    if plans is None:
        return PlanIsBest(**parts) if absolute else _Relative(**parts)
    if absolute:
        return SetIsBest(**parts, plans=plans)
    return SetBeats(**{one.name: parts[one.name] for one in fields(SetBeats) if one.name in parts}, plans=plans)
