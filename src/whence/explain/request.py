"""What a user asks for, checked argument by argument."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from whence.aliases import Kind
from whence.engines import ENGINES, Engine, engine_named
from whence.errors import InputError
from whence.features.relations import relation_texts
from whence.plain_values import to_plain
from whence.question import Progress
from whence.spelling import nearest
from whence.weights.refits import RefitKind

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """The arguments of ``Policy.explain``; an engine gets a :class:`~whence.question.Question` made from them."""

    context: Any
    #: A plan, a set of plans, or None for any other plan.
    instead: Any = None
    kind: Kind = "relative"
    within: float = 0.0
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
        if self.kind not in ("relative", "absolute"):
            raise _refused("kind", "'relative' or 'absolute'", self.kind)
        if not _is_number(self.within) or not 0 <= float(self.within) < np.inf:
            raise _refused("within", "a number >= 0, such as 0.02 for 2 %", self.within)
        if self.within and self.kind != "absolute":
            raise InputError(
                "'within' is a share of the best plan's cost: use it with kind='absolute'.", parameter="within"
            )
        self._check_reliance()
        relation_texts(self.relations)
        for name in ("tolerance", "separation"):
            value = getattr(self, name)
            if not isinstance(value, int | float | np.number) or not 0 <= float(value) < np.inf:
                raise _refused(name, "a number >= 0", value)
        for name in ("time_limit", "node_limit"):
            value = getattr(self, name)
            if value is not None and (not _is_number(value) or not value > 0):
                raise _refused(name, "a positive number or None", value)
        if self.threads is not None and not (_is_int(self.threads) and 0 < self.threads <= 256):
            raise _refused("threads", "an int from 1 to 256, or None", self.threads)
        for name in ("on_progress", "on_nearest"):
            told = getattr(self, name)
            if told is not None and not callable(told):
                raise _refused(name, "a function or None", told)
        if self.max_changes is not None and not (_is_int(self.max_changes) and self.max_changes > 0):
            raise _refused("max_changes", "an int >= 1, or None", self.max_changes)
        self._check_options()

    def _check_reliance(self) -> None:
        """Refuse an impossible margin, confidence or share of refits."""
        _ = self.margin_parts
        if not _is_number(self.confidence) or not 0 <= float(self.confidence) < np.inf:
            raise _refused("confidence", "a number of standard errors >= 0", self.confidence)
        if self.holds is not None and (not _is_number(self.holds) or not 0 < float(self.holds) <= 1):
            raise _refused("holds", "a share of the refits in (0, 1], such as 0.9, or None", self.holds)
        if self.plausible is not None and (not _is_number(self.plausible) or not 0 < float(self.plausible) < 1):
            raise _refused("plausible", "a share of the history in (0, 1), such as 0.1, or None", self.plausible)
        if not isinstance(self.rule, bool | np.bool_):
            raise _refused("rule", "True or False", self.rule)
        if self.refits not in (None, "seed", "bootstrap"):
            raise _refused("refits", "'seed' or 'bootstrap'", self.refits)
        if self.holds is not None and self.confidence:
            raise InputError(
                "'holds' looks for the 'confidence' by itself: give one of the two.", parameter="confidence"
            )

    @property
    def margin_parts(self) -> tuple[float, float]:
        """The margin as a share of the decision's cost and as an amount; one of them is 0."""
        margin = self.margin
        if margin is None:
            return 0.0, 0.0
        if _is_number(margin) and 0 <= float(margin) < 1:  # type: ignore[arg-type]
            return float(margin), 0.0  # type: ignore[arg-type]
        pair = isinstance(margin, tuple | list) and len(margin) == 2 and margin[1] == "cost"
        if pair and _is_number(margin[0]) and 0 <= float(margin[0]) < np.inf:  # type: ignore[index]
            return 0.0, float(margin[0])  # type: ignore[index]
        raise _refused("margin", "a share of the decision's cost in [0, 1), or an amount such as (10, 'cost')", margin)

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
        if self.max_changes is None:
            # Documents of questions that do not limit the changes stay as they were.
            del said["max_changes"]
        said["relations"] = list(relation_texts(self.relations))
        if not said["relations"]:
            del said["relations"]
        said["decision"] = "policy" if self.decision is None else "given"
        said["fixed"] = sorted([self.fixed] if isinstance(self.fixed, str) else map(str, self.fixed))
        if len(self.fill):
            said["fill"] = sorted([self.fill] if isinstance(self.fill, str) else map(str, self.fill))
        else:
            del said["fill"]
        more = said.pop("options")
        return {name: to_plain(value) for name, value in {**said, **more}.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _is_int(value: object) -> bool:
    return _is_number(value) and isinstance(value, int | np.integer)


def _refused(name: str, wanted: str, value: object) -> InputError:
    return InputError(f"{name!r} must be {wanted}. Got {value!r} instead.", parameter=name)
