"""What a user asks for: the table of the options of ``Policy.explain``, and a request that is checked by it.

An option is stated here once, with its default, its rule, its words and how files and commands write it. Requests,
documents, project files, commands, the page and the docs draw on `OPTIONS`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd

from whence.checks import (
    FLAG,
    FUNCTION,
    MAPPING,
    POSITIVE,
    THREADS,
    Rule,
    at_least,
    is_number,
    names_in,
    one_of,
    refused,
    share,
    whole,
)  # fmt: skip
from whence.engines import ENGINES, Engine, engine_named, engine_names
from whence.errors import InputError
from whence.features import Schema
from whence.features.relations import relation_texts
from whence.features.space import Space
from whence.question import Progress
from whence.util.aliases import Floats, Kind
from whence.util.json import to_plain
from whence.util.text import nearest
from whence.weights.refits import RefitKind

#: What an answer to rely on is judged by: simulated worlds, whose truth is known, or refits.
Judge: TypeAlias = Literal["worlds"] | RefitKind
JUDGES = ("worlds", *get_args(RefitKind))
#: What is no gain worth speaking of, as a share of the decision's cost, where nothing else is said.
LEAST_GAIN = 0.01
#: Options that say how sure an answer is to be; one of them may be given.
EITHER = ("holds", "confidence")


@dataclass(frozen=True)
class Option:
    """One option of ``Policy.explain``."""

    #: As in Python.
    name: str
    default: Any
    #: What it is for, in one sentence.
    words: str
    #: What it must be in Python; None where the request itself checks it.
    rule: Rule | None = None
    #: Whether a certificate records it: in every case, where it was given, or not at all.
    recorded: Literal["always", "given", "never"] = "always"
    #: What the key of that name may be in the section [explain] of a project file; None where there is no such key.
    in_file: Rule | None = None
    #: From what a file or a command holds to the value.
    read: Callable[[Any], Any] = field(default=lambda value: value)
    #: Name of the option of commands ("" where there is none), what its help calls the value, and its type there.
    flag: str = ""
    metavar: str = ""
    typed: Any = str
    #: Whether it is a condition that an answer has to bear besides, and whether several answers together may.
    bears: Literal["", "one", "several"] = ""


def option(default: Any, words: str, rule: Rule | None = None, **more: Any) -> Any:
    """Return the field of a request for an option; see `Option` for what else it may be given."""
    return field(default=default, metadata={"words": words, "rule": rule, **more})


#: What a margin may be in a file or at the command line, in words.
MARGINS = "a share of the decision's cost, such as 0.05 or '5 %', or an amount, such as '10 cost'"

_MARGIN = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*(%|cost)?\s*", re.ASCII | re.IGNORECASE)


def read_margin(value: Any) -> float | tuple[float, str]:
    """Return what `Policy.explain` takes as `margin`, from how people write it.

    >>> read_margin(0.05), read_margin("5 %"), read_margin("10cost")
    (0.05, 0.05, (10.0, 'cost'))
    """
    found = _MARGIN.fullmatch(value if isinstance(value, str) else repr(value))
    try:
        number = float(found[1]) if found else math.nan
    except ValueError:
        number = math.nan
    unit = (found[2] or "").lower() if found else ""
    if unit == "cost" and 0.0 <= number < math.inf:
        return number, "cost"
    part = number / 100.0 if unit == "%" else number
    if unit == "cost" or isinstance(value, bool) or not 0.0 <= part < 1.0:
        raise InputError(f"'margin' must be {MARGINS}. Got {value!r} instead.")
    return part


def read_seconds(value: Any) -> float:
    """Return a time limit from how people write it; infinite for "none".

    >>> read_seconds("1.5"), read_seconds(60), read_seconds("none")
    (1.5, 60.0, inf)
    """
    try:
        found = math.inf if value == "none" else float(value)
    except ValueError:
        found = math.nan
    # Which numbers will do is for the request to say.
    if math.isnan(found) or (math.isinf(found) and value != "none"):
        raise refused("time_limit", "a positive number, or 'none'", value)
    return found


def _is_margin(value: Any) -> bool:
    try:
        read_margin(value)
    except InputError:
        return False
    return True


#: What files may hold, where the words differ from those about an argument.
FINITE = Rule("a positive number", lambda value: is_number(value) and 0 < value < math.inf)
COUNT = whole(1, 2**32 - 1, "a whole number of at least 1")
SECONDS = Rule("a positive number of seconds, or 'none'", lambda value: value == "none" or FINITE.fits(value))
TEXTS = Rule(
    "a list of texts in quotes",
    lambda value: isinstance(value, list) and all(isinstance(entry, str) for entry in value),
)


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """Where a search looks, and when it stops: the same for a plan and for a forecast."""

    fixed: Collection[str] = option(
        (), "A feature that must stay as it is.", in_file=TEXTS, read=tuple,
        flag="fix", metavar="FEATURE", typed=list[str],
    )  # fmt: skip
    bounds: Mapping[str, Any] | None = option(
        None,
        "The values a feature may take: temp=0:20 or day=Saturday|Sunday.",
        Rule("a mapping from names of features to what they may be", MAPPING.fits).or_none(", or None"),
        flag="bound", metavar="BOUND", typed=list[str],
    )  # fmt: skip
    fill: Collection[str] = option((), "Features that may be filled in where they are missing.", recorded="given")
    relations: Any = option((), "What must hold between features besides the schema's relations.", recorded="given")
    plausible: float | None = option(
        None,
        "No context less usual than this share of the history, such as 0.1.",
        share("()", "a share of the history in (0, 1), such as 0.1").or_none(", or None"),
        in_file=share("()", "a share of the history between 0 and 1, such as 0.1"),
        flag="plausible", metavar="SHARE", typed=float, bears="several",
    )  # fmt: skip
    max_changes: int | None = option(
        None,
        "How many features may change at most; a category counts as one.",
        whole(1).or_none(", or None"),
        recorded="given", in_file=COUNT, flag="max_changes", metavar="COUNT", typed=int, bears="one",
    )  # fmt: skip
    time_limit: float | None = option(
        None, "Stop after this many seconds; none for no limit.", POSITIVE.or_none(),
        in_file=SECONDS, read=read_seconds, flag="time_limit", metavar="SECONDS",
    )  # fmt: skip
    node_limit: int | None = option(None, "Stop after this many boxes or nodes.", POSITIVE.or_none())
    memory_limit: int | None = option(
        None, "Stop where the search takes more bytes.", POSITIVE.or_none(),
        recorded="given", in_file=FINITE, read=int, flag="memory_limit", metavar="BYTES", typed=int,
    )  # fmt: skip
    tolerance: float = option(
        1e-6, "Costs count as equal within this share of the alternative's largest sample cost.", at_least(0)
    )
    threads: int | None = option(
        None, "Threads for one question.", THREADS.or_none(", or None"),
        in_file=whole(1, 256, "a whole number from 1 to 256"),
    )  # fmt: skip
    on_progress: Callable[[Progress], Any] | None = option(
        None, "Called with how far the search has come; returning False stops it.", FUNCTION.or_none(), recorded="never"
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            rule = one.metadata.get("rule")
            if rule is not None:
                rule.check(one.name, getattr(self, one.name))
            if isinstance(getattr(self, one.name), np.generic):
                # A number of numpy's is not to be compared with a list, nor told as one.
                object.__setattr__(self, one.name, getattr(self, one.name).item())
        for name in ("fixed", "fill"):
            object.__setattr__(self, name, names_in(name, getattr(self, name)))
        if type(self.relations) is not tuple or self.relations:
            object.__setattr__(self, "relations", relation_texts(self.relations))

    @property
    def relates(self) -> bool:
        """Return whether something must hold between features besides what the schema says."""
        return bool(self.relations)

    def space(
        self,
        schema: Schema,
        history: pd.DataFrame,
        initial: pd.Series,
        restricted: bool = True,
        filled: Collection[str] = (),
    ) -> Space:
        """Return where contexts may lie, whatever changes and however usual they are (see `Schema.space`)."""
        further = schema.related(self.relations, history)
        return schema.space(initial, self.fixed, self.bounds, restricted, further, filled)


@dataclass(frozen=True)
class Request(SearchRequest):
    """The arguments of ``Policy.explain``; an engine gets a :class:`~whence.question.Question` made from them."""

    context: Any
    #: A plan, a set of plans, or None for any other plan.
    instead: Any = None
    kind: Kind = option(
        "relative",
        "Better than the decision (relative), or the best of all plans (absolute).",
        one_of(*get_args(Kind)),
        in_file=one_of(*get_args(Kind)), flag="kind", metavar="|".join(get_args(Kind)),
    )  # fmt: skip
    within: float | tuple[float, str] = option(
        0.0,
        "With --kind absolute: how much more than the best plan yours may cost, such as 0.02 for 2 %.",
        in_file=at_least(0, "a number of at least 0, such as 0.02 for 2 %"),
        read=float, flag="within", metavar="SHARE", typed=float,
    )  # fmt: skip
    margin: float | tuple[float, str] | None = option(
        None,
        "Cheaper by at least this much: a share of the decision's cost (0.05 or 5%), or an amount (10cost).",
        in_file=Rule(MARGINS, _is_margin), read=read_margin, flag="margin", metavar="MARGIN", bears="several",
    )  # fmt: skip
    confidence: float = option(
        0.0,
        "Better by this many standard errors over the trees or neighbours, instead of --holds.",
        at_least(0, "a number of standard errors >= 0"),
        in_file=at_least(0, "a number of standard errors of at least 0"),
        read=float, flag="confidence", metavar="ERRORS", typed=float, bears="several",
    )  # fmt: skip
    holds: float | None = option(
        None,
        "The share of such answers that must be true in the world, such as 0.9.",
        share("(]", "a share of such answers in (0, 1], such as 0.9").or_none(", or None"),
        in_file=Rule(
            "a share of such answers in (0, 1], such as 0.9, or false",
            lambda value: value is False or share("(]").fits(value),
        ),
        flag="holds", metavar="SHARE", typed=float, bears="one",
    )  # fmt: skip
    refits: Judge | None = option(
        None,
        "What an answer to rely on is judged by: simulated worlds, or refits with other random numbers or other data.",
        one_of(*JUDGES).or_none(""),
        in_file=one_of(*JUDGES), flag="refits", metavar="|".join(JUDGES), bears="one",
    )  # fmt: skip
    least_gain: float = option(
        LEAST_GAIN,
        "The least gain for which an answer may be relied on, as a share of the decision's cost.",
        share("[)", "a share of the decision's cost in [0, 1), such as 0.01"),
        recorded="given",
    )
    world: Any = option(
        None,
        "A model of the outcomes that simulated worlds may be made with.",
        Rule("a model with 'fit' and 'predict'", lambda one: hasattr(one, "fit") and hasattr(one, "predict")).or_none(
            ", or None"
        ),
        recorded="never",
    )
    own_worlds: bool = option(
        False,
        "Whether to ask this very question, too, in simulated worlds of its own, as far as there is time.",
        FLAG, recorded="never",
    )  # fmt: skip
    decision: Any = option(None, "The plan to be explained where it is not what the policy decides.")
    engine: str = option(
        "auto", "The native search, or the integer program.",
        in_file=one_of(*engine_names()), flag="engine", metavar="|".join(engine_names()),
    )  # fmt: skip
    known: Any = option(
        None, "A context, or several, in which the plan is known to be good enough: what is nearer is searched for.",
        recorded="never",
    )  # fmt: skip
    separation: float = option(1e-6, "Neighbours only: least gap between the k-th and the next distance.", at_least(0))
    on_nearest: Callable[[Any], Any] | None = option(
        None, "With 'holds': called with the nearest explanation before one that holds is searched for.",
        FUNCTION.or_none(), recorded="never",
    )  # fmt: skip
    rule: bool = option(False, "Whether to find the rule as well.", FLAG, recorded="never")
    #: What only the engine knows.
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(self.within_parts) and self.kind != "absolute":
            raise InputError(
                "'within' is a share of the best plan's cost: use it with kind='absolute'.", parameter="within"
            )
        _ = self.margin_parts
        if self.holds is not None and self.confidence:
            raise InputError(
                "'holds' looks for the 'confidence' by itself: give one of the two.", parameter="confidence"
            )
        self._check_options()

    @classmethod
    def of(cls, context: Any, instead: Any, options: Mapping[str, Any]) -> Request:
        """Return the request for keyword arguments of ``Policy.explain``; unknown ones are those of an engine."""
        known = {name: value for name, value in options.items() if name in OPTIONS}
        return cls(context, instead, **known, options={n: v for n, v in options.items() if n not in OPTIONS})

    @property
    def margin_parts(self) -> tuple[float, float]:
        """The margin as a share of the decision's cost and as an amount; one of them is 0."""
        words = "a share of the decision's cost in [0, 1), or an amount such as (10, 'cost')"
        return (0.0, 0.0) if self.margin is None else _parts("margin", self.margin, share("[)"), words)

    @property
    def within_parts(self) -> tuple[float, float]:
        """What the alternative may cost more than the best, as a share of the best's cost and as an amount."""
        words = "a number >= 0, such as 0.02 for 2 %, or an amount such as (10, 'cost')"
        return _parts("within", self.within, at_least(0), words)

    def in_amounts(self, costs: Sequence[Floats]) -> Request:
        """Return the same request where some of these costs are negative: shares of a cost are amounts there.

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

    @cached_property
    def answerer(self) -> Engine:
        """The engine that is asked for."""
        return engine_named(self.engine)

    def as_plain(self) -> dict[str, Any]:
        """Return the question in plain values, for a certificate; context and plans, which stand beside it, not."""
        said = {**vars(self), "relations": list(relation_texts(self.relations)) if self.relates else []}
        said |= {name: sorted(said[name]) for name in ("fixed", "fill")}
        said["decision"] = "policy" if self.decision is None else "given"
        told = {
            one.name: said[one.name]
            for one in OPTIONS.values()
            if one.recorded == "always" or (one.recorded == "given" and said[one.name] not in (None, [], one.default))
        }
        asked = {**told, **self.options}
        return {name: value if _is_plain(value) else to_plain(value) for name, value in asked.items()}


def _parts(name: str, given: Any, part: Rule, words: str) -> tuple[float, float]:
    """Return a share of a cost, by its own rule, or an amount, as both; one of them is 0."""
    pair = isinstance(given, tuple | list)
    if not pair and part.fits(given):
        return float(given), 0.0
    if pair and len(given) == 2 and one_of("cost").fits(given[1]) and at_least(0).fits(given[0]):
        return 0.0, float(given[0])
    raise refused(name, words, given)


def _is_plain(value: Any) -> bool:
    """Return whether a value is what a certificate holds, as most options are."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    return value is None or kind in (str, bool, int) or (kind is list and not value)


#: The options of ``Policy.explain``, by name.
OPTIONS: Mapping[str, Option] = {
    one.name: Option(one.name, one.default, **one.metadata) for one in fields(Request) if one.metadata
}
#: Those that are about plans and their costs.
OF_PLANS = tuple(name for name in OPTIONS if name not in SearchRequest.__dataclass_fields__)
#: Those that an answer has to bear, and of these the ones that several answers together may.
CONDITIONS = tuple(name for name, one in OPTIONS.items() if one.bears)
OF_SEVERAL = tuple(name for name in CONDITIONS if OPTIONS[name].bears == "several")
