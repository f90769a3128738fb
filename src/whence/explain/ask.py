"""What a user asks for, checked argument by argument."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from whence.checks import (
    FLAG,
    FUNCTION,
    MAPPING,
    POSITIVE,
    THREADS,
    Rule,
    at_least,
    names_in,
    one_of,
    refused,
    share,
    whole,
)  # fmt: skip
from whence.engines import ENGINES, Engine, engine_named
from whence.errors import InputError
from whence.features.relations import relation_texts
from whence.question import Progress
from whence.util.aliases import Floats, Kind
from whence.util.json import to_plain
from whence.util.text import nearest
from whence.weights.refits import RefitKind

__all__ = ["LIMITS", "Request"]

#: What limits a search, and where it looks: the same for a plan and for a forecast.
LIMITS: Mapping[str, Rule] = {
    "bounds": Rule("a mapping from names of features to what they may be", MAPPING.fits).or_none(", or None"),
    "plausible": share("()", "a share of the history in (0, 1), such as 0.1").or_none(", or None"),
    "max_changes": whole(1).or_none(", or None"),
    "time_limit": POSITIVE.or_none(),
    "node_limit": POSITIVE.or_none(),
    "memory_limit": POSITIVE.or_none(),
    "tolerance": at_least(0),
    "threads": THREADS.or_none(", or None"),
    "on_progress": FUNCTION.or_none(),
}
RULES: Mapping[str, Rule] = {
    "kind": one_of("relative", "absolute"),
    "confidence": at_least(0, "a number of standard errors >= 0"),
    "holds": share("(]", "a share of the refits in (0, 1], such as 0.9").or_none(", or None"),
    "rule": FLAG,
    "refits": one_of("seed", "bootstrap").or_none(""),
    "separation": at_least(0),
    "on_nearest": FUNCTION.or_none(),
    **LIMITS,
}


@dataclass(frozen=True)
class Request:
    """The arguments of ``Policy.explain``; an engine gets a :class:`~whence.question.Question` made from them."""

    context: Any
    #: A plan, a set of plans, or None for any other plan.
    instead: Any = None
    kind: Kind = "relative"
    within: float | tuple[float, str] = 0.0
    margin: float | tuple[float, str] | None = None
    confidence: float = 0.0
    holds: float | None = None
    plausible: float | None = None
    max_changes: int | None = None
    refits: RefitKind | None = None
    decision: Any = None
    fixed: Collection[str] = ()
    bounds: Mapping[str, Any] | None = None
    #: Features that may be filled in where they are missing.
    fill: Collection[str] = ()
    relations: Any = ()
    engine: str = "auto"
    time_limit: float | None = None
    node_limit: int | None = None
    memory_limit: int | None = None
    tolerance: float = 1e-6
    separation: float = 1e-6
    threads: int | None = None
    on_progress: Callable[[Progress], Any] | None = None
    #: Called with the nearest explanation before the search for one that holds.
    on_nearest: Callable[[Any], Any] | None = None
    #: Whether to find out the rule as well.
    rule: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, rule in RULES.items():
            rule.check(name, getattr(self, name))
        for name in ("fixed", "fill"):
            object.__setattr__(self, name, names_in(name, getattr(self, name)))
        if any(self.within_parts) and self.kind != "absolute":
            raise InputError(
                "'within' is a share of the best plan's cost: use it with kind='absolute'.", parameter="within"
            )
        _ = self.margin_parts
        if self.holds is not None and self.confidence:
            raise InputError(
                "'holds' looks for the 'confidence' by itself: give one of the two.", parameter="confidence"
            )
        relation_texts(self.relations)
        self._check_options()

    @classmethod
    def of(cls, context: Any, instead: Any, options: Mapping[str, Any]) -> Request:
        """The request with the keyword arguments of ``Policy.explain``; those that it does not have are an engine's."""
        own = {one.name for one in fields(cls)} - {"context", "instead", "options"}
        known = {name: value for name, value in options.items() if name in own}
        return cls(context, instead, **known, options={n: value for n, value in options.items() if n not in own})

    @property
    def margin_parts(self) -> tuple[float, float]:
        """The margin as a share of the decision's cost and as an amount; one of them is 0."""
        margin = self.margin
        if margin is None:
            return 0.0, 0.0
        if not isinstance(margin, tuple | list):
            if share("[)").fits(margin):
                return float(margin), 0.0
        elif len(margin) == 2 and one_of("cost").fits(margin[1]) and at_least(0).fits(margin[0]):
            return 0.0, float(margin[0])
        raise refused("margin", "a share of the decision's cost in [0, 1), or an amount such as (10, 'cost')", margin)

    @property
    def within_parts(self) -> tuple[float, float]:
        """What the alternative may cost more than the best, as a share of the best's cost and as an amount."""
        within = self.within
        if at_least(0).fits(within):
            return float(within), 0.0  # type: ignore[arg-type]
        pair = isinstance(within, tuple | list) and len(within) == 2
        if pair and one_of("cost").fits(within[1]) and at_least(0).fits(within[0]):  # type: ignore[index]
            return 0.0, float(within[0])  # type: ignore[index]
        raise refused("within", "a number >= 0, such as 0.02 for 2 %, or an amount such as (10, 'cost')", within)

    def in_amounts(self, costs: Sequence[Floats]) -> Request:
        """The same request where some of these costs are negative: shares of a cost are amounts there.

        A share of a cost that may be negative is no measure. It is taken of the mean absolute cost of the decision over
        the history instead, once for the question; `costs` are those of the decision and of other plans.
        """
        if not any(float(one.min()) < 0.0 for one in costs):
            return self
        size = float(np.abs(costs[0]).mean())
        margin, within = self.margin_parts[0], self.within_parts[0]
        return replace(
            self,
            margin=(margin * size, "cost") if margin else self.margin,
            within=(within * size, "cost") if within else self.within,
        )

    def _check_options(self) -> None:
        """Refuse options that the engine does not know."""
        known = self.answerer.options
        unknown = next((name for name, value in self.options.items() if value is not None and name not in known), None)
        if unknown is None:
            return
        others = {name: engine_named(name) for name in ENGINES}
        owner = next((name for name, engine in others.items() if unknown in engine.options), None)
        if owner is not None:
            text = f"{unknown!r} is an option of engine={owner!r}; {self.answerer.words} does not know it."
        elif known:
            names = ", ".join(map(repr, known))
            text = f"An option of engine={self.answerer.name!r} must be one of {names}. Got {unknown!r} instead."
        else:
            every = [*self.__dataclass_fields__, *(name for engine in others.values() for name in engine.options)]
            text = f"'explain' has no parameter {unknown!r}.{nearest(unknown, every)}"
        raise InputError(text, parameter=unknown)

    @property
    def answerer(self) -> Engine:
        """The engine that is asked for."""
        return engine_named(self.engine)

    def as_plain(self) -> dict[str, Any]:
        """The question in plain values, for a certificate; context and plans, which stand beside it, are left out.

        Whatever is added to a request is in it without a change here.
        """
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        # Who is told, and what else is found out about the answer, is no part of the question.
        for name in ("context", "instead", "on_progress", "on_nearest", "rule"):
            del said[name]
        for name in ("max_changes", "memory_limit"):
            # Documents of questions that do not limit these stay as they were.
            if said[name] is None:
                del said[name]
        said["relations"] = list(relation_texts(self.relations))
        if not said["relations"]:
            del said["relations"]
        said["decision"] = "policy" if self.decision is None else "given"
        said["fixed"] = sorted(self.fixed)
        if self.fill:
            said["fill"] = sorted(self.fill)
        else:
            del said["fill"]
        more = said.pop("options")
        return {name: to_plain(value) for name, value in {**said, **more}.items()}
