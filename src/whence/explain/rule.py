"""An explanation as a rule: the largest box of contexts around it in which it stays true, in the user's units."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whence.engines import part_of
from whence.explain.build_question import any_plan
from whence.features import Ordered, Schema
from whence.features.space import Space
from whence.question import Question
from whence.report.document import RegionCondition, RegionEntry, scalar
from whence.report.numbers import plain, share, with_unit
from whence.report.question_words import rule_claim
from whence.search.regions import Region as Box
from whence.search.regions import within_box
from whence.util.text import listed

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

#: Most conditions of a rule that is short enough to be told.
SHORT = 4
#: By which share of a feature's range an end that the explanation touches may be rounded past it.
NEAR = 0.01
#: Numbers of levels that differ by less are the same.
EQUAL = 1e-9
#: Digits up to which an end is said such that the explanation stays inside.
FEW = 5
#: By how much the coordinate of a number may be off, and by how much an end that is the explanation's own value.
SAME, NEARLY = 1e-12, 1e-9


def region_of(explanation: Explanation, time_limit: float | None) -> RegionEntry:
    """Return the region of an explanation that has a context and still knows its question."""
    source, question = explanation.source, explanation.question
    assert source is not None and question is not None and explanation.context is not None  # noqa: PT018
    after = explanation.weights_after
    claim = question.claim
    if claim.plans is not None and claim.kappa and after is not None and claim.rival(after) is not None:
        # A plan of a set that is surely better than those outside it need not be the best of the set.
        return RegionEntry.none("another plan of the set is better in the context found")
    box = _grown(explanation, question.with_time(time_limit))
    if box is None:
        return RegionEntry.none("the time was up before the forest was laid out")
    conditions = _conditions(explanation, box)
    inside = float(_inside(explanation, box).mean())
    return RegionEntry(
        sentence=_sentence(explanation, conditions, inside, box),
        conditions=conditions,
        share=inside,
        maximal=box.maximal,
        proved=box.proved,
        # Worth telling are few conditions, and some past context inside.
        short=box.proved and inside > 0.0 and len(conditions) <= SHORT,
    )


def _grown(explanation: Explanation, question: Question) -> Box | None:
    """Return the box around the explanation within what `question` allows, by the engine of its weights."""
    source = explanation.source
    assert source is not None and explanation.context is not None  # noqa: PT018
    absolute = question.claim.kind == "absolute"
    box: Box | None = part_of(source.weights, "region", question.claim)(
        question,
        source.schema.encode_row(explanation.context),
        anything=any_plan(source.problem, source.Y, source.risk) if absolute else None,
    )
    return box


def fault_of(explanation: Explanation, rule: RegionEntry) -> str:
    """Return what is wrong with a rule that was found before its time was up; empty where it is true.

    The box is grown once more, within the rule: it must fill it.
    """
    question = explanation.question
    if question is None or explanation.context is None or not rule.proved:
        return ""  # nothing is claimed
    space = _space_of(explanation, rule)
    if space is None:
        return "The explanation does not lie in the region of its own rule."
    box = _grown(explanation, question.in_space(space).with_time(None))
    # Of a category, all that may be on must be.
    number = space.group < 0
    filled = box is not None and box.full[number].all() and (box.categories | (space.upper <= 0.0))[~number].all()
    return "" if filled and box is not None and box.proved else "The rule is not true everywhere in its region."


def _space_of(explanation: Explanation, rule: RegionEntry) -> Space | None:
    """Return the allowed contexts of a rule, seen from the explanation; None where that is not one of them."""
    source, question = explanation.source, explanation.question
    assert source is not None and question is not None and explanation.context is not None  # noqa: PT018
    schema = source.schema
    point, space = schema.encode_row(explanation.context), question.space
    lower, upper = np.minimum(space.lower, point), np.maximum(space.upper, point)
    offset, scale = schema.affine()
    names = schema.feature_of_coordinate()
    for one in rule.conditions:
        at = [j for j, owner in enumerate(names) if owner == one.feature]
        if one.known is not None and len(at) > 1:
            # A document knows categories by their texts.
            said = {scalar(value) for value in one.values or ()}
            allowed = [scalar(level) in said for level in schema.categories(one.feature)]
            lower[at], upper[at] = 0.0, np.where(allowed, 0.5, 0.0)
        elif one.values is not None:
            lower[at] = upper[at] = point[at]
        else:
            j = at[0]
            # The coordinate of an end may be off by a last digit: it must neither leave out a level nor reach a cell
            # beyond the one of the explanation, which often lies on the edge.
            inwards = SAME if space.levels[j] is None else -SAME
            lower[j] = lower[j] if one.low is None else (one.low - offset[j]) / scale[j] + inwards
            upper[j] = upper[j] if one.high is None else (one.high - offset[j]) / scale[j] - inwards
    if ((point < lower - NEARLY) | (point > upper + NEARLY)).any():
        return None
    return within_box(space, point, np.minimum(lower, point), np.maximum(upper, point))


def _inside(explanation: Explanation, box: Box) -> Any:
    """Return which past contexts lie in the box: categories as they are, numbers between its ends."""
    source = explanation.source
    assert source is not None
    inside = box.contains(source.schema.encode(source.X))
    if source.schema.takes_missing and explanation.context is not None:
        # A rule speaks of contexts in which the same numbers are missing.
        inside = inside & (source.X.isna() == explanation.context.isna()).all(axis=1).to_numpy()
    return inside


def _conditions(explanation: Explanation, box: Box) -> list[RegionCondition]:
    source, question = explanation.source, explanation.question
    assert source is not None and question is not None and explanation.context is not None  # noqa: PT018
    schema, space = source.schema, question.space
    offset, scale = schema.affine()
    found = []
    names = schema.feature_of_coordinate()
    values, before = (schema.feature_values(row) for row in (explanation.context, explanation.initial))
    for name in schema.names:
        at = [j for j, owner in enumerate(names) if owner == name]
        if pd.api.types.is_scalar(values[name]) and pd.isna(values[name]):
            found.append(RegionCondition(feature=name, values=[None], text=f"{name} is missing"))
            continue
        if box.full[at].all():
            continue
        unit, kind = schema.unit(name), schema.kinds()[name]
        if kind == "date":
            found += date_conditions(schema, name, box, before[name], values[name])
            continue
        both: dict[str, Any] = {"feature": name, "was": scalar(before[name]), "found": scalar(values[name])}
        if len(at) > 1 or kind == "categorical":
            known = tuple(schema.categories(name))
            if isinstance(schema.kind(name), Ordered):
                held = _inside_ends(schema, at[0], range(len(known)), box)
            else:
                held = box.categories[at]
            levels = [level for level, inside in zip(known, held.tolist(), strict=True) if inside]
            text = f"{name} is {listed(list(map(str, levels)), 'or')}"
            found.append(_among(levels, known, text, **both))
            continue
        j = at[0]
        if kind == "binary":
            text = f"{name} is {_switch(values[name])}"
            found.append(_among([values[name]], [False, True], text, **both))
            continue
        slack = 0.0 if space.levels[j] is not None else 1e-9 * max(scale[j], abs(offset[j]))
        # The explanation itself often lies on the edge, and belongs to the region to the last digit.
        here = float(values[name])
        low = high = None
        # A start beyond the bounds of the question may be kept, so that a region within them says so.
        if box.lower[j] > min(space.lower[j], space.start[j]):
            low = min(here, float(offset[j] + scale[j] * box.lower[j] + slack))
        if box.upper[j] < max(space.upper[j], space.start[j]):
            high = max(here, float(offset[j] + scale[j] * box.upper[j] - slack))
        ends = min(space.lower[j], space.start[j]), max(space.upper[j], space.start[j])
        room = [float(offset[j] + scale[j] * end) for end in ends]
        step = getattr(schema.kind(name), "step", None) if kind == "continuous" else None
        text = f"{name} is {_between(low, high, here, scale[j], unit, step)}"
        found.append(RegionCondition(low=low, high=high, text=text, room=room, **both))
    return found


def _among(values: Iterable[Any], known: Iterable[Any], text: str, **both: Any) -> RegionCondition:
    """Return the condition that allows for some of the values that are known."""
    return RegionCondition(values=[*map(scalar, values)], known=[*map(scalar, known)], text=text, **both)


def _between(
    low: float | None, high: float | None, here: float, scale: float, unit: str, step: float | None = None
) -> str:
    if low is not None and low == high:
        return with_unit(plain(low, 15), unit)
    room = math.inf if low is None or high is None else 0.5 * (high - low)
    past = min(NEAR * scale, room)
    if high is None:
        assert low is not None
        return f"at least {with_unit(_rounded(low, here, low + past, math.ceil, step), unit)}"
    most = with_unit(_rounded(high, here, high - past, math.floor, step), unit)
    return (
        f"at most {most}" if low is None else f"between {_rounded(low, here, low + past, math.ceil, step)} and {most}"
    )


def _rounded(end: float, here: float, past: float, towards: Any, recorded: float | None = None) -> str:
    """Return an end of an interval with few digits, rounded inwards: to the step in which values are `recorded`.

    It keeps the explanation inside where a few digits can say that. An explanation that touches the end is passed, but
    no farther than `past`.
    """
    if recorded:
        value = float(f"{towards(end / recorded) * recorded:.12g}")
        if min(end, here) <= value <= max(end, here):
            return plain(value, 15)
    size = math.floor(math.log10(abs(end))) if end else 0
    nearer = past if abs(past - end) < abs(here - end) else here
    for limit, most in ((nearer, FEW), (past, 15)):
        for digits in range(3, most + 1):
            step = 10.0 ** (size + 1 - digits)
            value = float(f"{towards(end / step) * step:.15g}")
            if min(end, limit) <= value <= max(end, limit):
                return plain(value, 15)
    return plain(end, 15)


def _switch(value: Any) -> str:
    return "on" if value in (True, 1, 1.0) else "off"


def _same_costs(explanation: Explanation) -> bool:
    """Return whether both plans cost the same under every past observation, such as where they are one plan."""
    one, other = explanation.costs_decision, explanation.costs_alternative
    return one is not None and other is not None and np.array_equal(one, other)


def _sentence(explanation: Explanation, conditions: list[RegionCondition], inside: float, box: Box) -> str:
    better = rule_claim(explanation)
    if explanation.kind == "relative" and not any(explanation.saving) and _same_costs(explanation):
        better = "both plans cost the same"
    if not box.proved:
        return "No rule: there were too many contexts around the explanation to look at all of them."
    if len(conditions) > SHORT:
        return f"No short rule: it would take {len(conditions)} conditions to say where {better}."
    if inside == 0.0:
        return f"No rule worth telling: {better} around the explanation, but no past context lies there."
    told = f"{better} whenever {' and '.join(one.text for one in conditions)}" if conditions else f"{better} everywhere"
    if explanation.restricted:
        # Conditions say nothing of what the question itself rules out.
        told += ", within your restrictions"
    return f"{told[:1].upper()}{told[1:]}: {share(inside)} of past contexts."


#: Values of a part that are told one by one; of more, the first and the last.
FEW_PARTS = 4


def date_conditions(schema: Schema, name: str, box: Box, before: Any, after: Any) -> list[RegionCondition]:
    """Return a condition for every part of the date `name` that a box does not leave free.

    `before` and `after` are the days of the initial context and of the one found.
    """
    found = []
    was, now = (schema.parts_of(name, day) for day in (before, after))
    for part, at, known in schema.date_parts(name):
        if box.full[at].all():
            continue
        held = _held(schema, at, known, box)
        levels = [level for level, inside in zip(known, held.tolist(), strict=True) if inside]
        text = f"{name} {_words(part, levels)}"
        both = {"was": scalar(was[part]), "found": scalar(now[part])}
        found.append(_among(levels, known, text, feature=f"{name}: {part}", **both))
    return found


def _held(schema: Schema, at: slice, known: list[Any], box: Box) -> Any:
    """Return which values of a part a box holds."""
    if at.stop - at.start > 1:
        return box.categories[at]
    return _inside_ends(
        schema, at.start, [level if isinstance(level, int) else i for i, level in enumerate(known)], box
    )


def _inside_ends(schema: Schema, j: int, numbers: Iterable[int], box: Box) -> Any:
    """Return which of the numbers of levels lie between the ends of a box."""
    offset, scale = schema.affine()
    place = (np.array([*numbers], dtype=np.float64) - offset[j]) / scale[j]
    return (place >= box.lower[j] - EQUAL) & (place <= box.upper[j] + EQUAL)


def _words(part: str, levels: list[Any]) -> str:
    """Return a condition on one part in words: what follows the name of the date."""
    if part == "holiday":
        return "is a holiday" if levels == [True] else "is no holiday"
    texts = [str(level) for level in levels]
    several = len(texts) > FEW_PARTS and part != "weekday"
    said = f"{texts[0]} to {texts[-1]}" if several else listed(texts, "or")
    if part == "weekday":
        return f"is a {said}"
    return f"is in {said}" if part in ("month", "quarter", "year") else f"has {part} {said}"
