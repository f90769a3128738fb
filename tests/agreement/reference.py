"""The answers to drawn questions by looking at every context, written from the definitions alone.

In the user's units: every value of every feature at which a forest turns, a relation turns or a range ends is tried, in
all combinations, the nearest first. Nothing is shared with schema, search or program; only the weights in a context are
those of the fitted policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from tests.agreement.generator import LEVELS, OFF, Asked, Row

import whence as wh
from whence.weights.plausibility import usual_in

#: More combinations than this take too long.
MOST = 40_000
#: Contexts that are weighed at once.
BATCH = 128
#: Distances of the k-th and the next past context that differ by less are not told apart.
SEPARATION = 1e-6


class TooMany(Exception):
    """There are too many contexts to look at."""


def disagreement(asked: Asked, **how: Any) -> str:
    """In what an answer differs from brute force; empty where it does not."""
    wanted = truth(asked)
    why = asked.explain(**how)
    if why.status not in ("optimal", "already", "none"):
        return f"status {why.status}"
    gap = asked.policy.weights_.capabilities.proof_gap
    weight = max(1.0, float(asked.policy.schema_.space(why.initial).weight.max()))
    hair = 2e-6 * weight * (1 + min(wanted, 1e6))
    same = why.distance == wanted or wanted - hair <= why.distance <= (wanted + hair) / (1.0 - gap)
    if not same:
        where = None if why.context is None else dict(why.context)
        return f"{why.status} at {why.distance!r} ({where}), brute force {wanted!r}"
    if not why.bound <= wanted + hair:
        return f"bound {why.bound!r}, brute force {wanted!r}"
    return faults(asked, why)


def faults(asked: Asked, why: wh.Explanation) -> str:
    """What is wrong with a context that was suggested: what it breaks, or how far it is away."""
    if why.context is None or why.status == "already":
        return ""
    row = dict(why.context)
    if not exists(asked, row):
        return f"{row} cannot exist"
    for name in ("low", "high"):
        if not _same(row[name], asked.context[name]) and not may_be(asked, name, float(row[name])):
            return f"{name} = {row[name]!r} is not allowed"
    again = sum(distance(asked, name, value) for name, value in row.items())
    return "" if abs(again - why.distance) <= 1e-6 * (1 + again) else f"{row} is {again!r} away, not {why.distance!r}"


# A question is answered in several ways, and looked at once.
@lru_cache(maxsize=8)
def truth(asked: Asked) -> float:
    """The least distance of any context that can exist and satisfies the claim, infinite for none."""
    today = asked.policy._inputs(pd.DataFrame([asked.context]))
    holds, may = claim_of(asked, today), space_of(asked)
    # Where only usual contexts count, an unusual one is no answer, although the claim holds there already.
    if holds(today)[0] and usual_of(asked)(pd.DataFrame([asked.context]))[0]:
        return 0.0
    waiting = ((far, row) for far, row in contexts(asked) if far > 0.0 and exists(asked, row))
    while some := list(islice(waiting, BATCH)):
        rows = pd.DataFrame([row for _, row in some])
        inputs = asked.policy._inputs(rows)
        at = np.flatnonzero(may(rows, inputs))
        found = at[holds(inputs[at])] if at.size else at
        if found.size:
            return some[int(found[0])][0]
    return math.inf


def contexts(asked: Asked) -> Iterator[tuple[float, Row]]:
    """Yield every context that could be the nearest one, with its distance, the nearest first."""
    names = list(asked.context)
    choices = {name: values_of(asked, name) for name in names}
    for relation in asked.relations:
        for name, turns in relation.turns.items():
            choices[name] |= {v for turn in turns for v in _beside(turn) if may_be(asked, name, v)}
    for _ in range(2):
        for relation in asked.relations:
            if relation.tie is not None:
                a, b, by = relation.tie
                choices[b] |= {v + by for v in choices[a] if may_be(asked, b, v + by)}
                choices[a] |= {v - by for v in choices[b] if may_be(asked, a, v - by)}
    listed = [list(choices[name]) for name in names]
    sizes = [len(values) for values in listed]
    if np.prod(sizes, dtype=float) > MOST:
        raise TooMany
    total, changes = np.zeros(sizes), np.zeros(sizes, dtype=int)
    for axis, (name, values) in enumerate(zip(names, listed, strict=True)):
        shape = [-1 if i == axis else 1 for i in range(len(names))]
        total = total + np.array([distance(asked, name, value) for value in values]).reshape(shape)
        if not isinstance(asked.policy.schema_.features[name], wh.Derived):
            moved = [not _same(value, asked.context[name]) for value in values]
            changes = changes + np.array(moved, dtype=int).reshape(shape)
    most = asked.given.get("max_changes", len(names))
    for place in np.argsort(total, axis=None, kind="stable"):
        if changes.flat[place] <= most:
            at = np.unravel_index(place, sizes)
            yield float(total.flat[place]), {n: v[i] for n, v, i in zip(names, listed, at, strict=True)}


def exists(asked: Asked, row: Row) -> bool:
    """Whether a context keeps all relations, and what follows from others follows."""
    follows = isinstance(asked.policy.schema_.features.get("weekend"), wh.Derived)
    if follows and bool(row["weekend"]) != (row["day"] in OFF):
        return False
    return all(relation.holds(row) for relation in asked.relations)


# ---- the claim -------------------------------------------------------------------------------------------------------


def claim_of(asked: Asked, today: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that says of contexts, as the estimator sees them, whether the claim holds there."""
    policy, given, Y = asked.policy, asked.given, asked.policy.Y_
    before = policy.weights_.weights(today)[0]
    # The tolerance is a share of what the plan costs that is the best of the set today.
    cheapest = min(asked.among, key=lambda j: policy.risk_.of(Y[:, j], before))
    tau = 1e-6 * float(np.abs(Y[:, cheapest]).max())
    margin = given.get("margin", 0.0)
    share, amount = (0.0, margin[0]) if isinstance(margin, tuple) else (margin, 0.0)
    kappa, within = given.get("confidence", 0.0), given.get("within", 0.0)

    def rival_at(weights: np.ndarray) -> np.ndarray:
        if not asked.absolute:
            return np.asarray((1.0 - share) * Y[:, asked.decision] - amount)
        best = min(range(Y.shape[1]), key=lambda j: policy.risk_.of(Y[:, j], weights))
        return np.asarray((1.0 + within) * Y[:, best])

    def over(j: int, rival: np.ndarray, seen: np.ndarray, weights: np.ndarray) -> float:
        doubt = kappa * _standard_error(policy, seen, weights, Y[:, j] - rival) if kappa else 0.0
        return policy.risk_.of(Y[:, j], weights) - policy.risk_.of(rival, weights) + doubt

    def holds_at(seen: np.ndarray, weights: np.ndarray) -> bool:
        rival = rival_at(weights)
        return any(over(j, rival, seen, weights) <= tau for j in asked.among)

    def holds(inputs: np.ndarray) -> np.ndarray:
        return np.array([holds_at(seen, at) for seen, at in zip(inputs, policy.weights_.weights(inputs), strict=True)])

    return holds


def _standard_error(policy: wh.Policy, seen: np.ndarray, weights: np.ndarray, apart: np.ndarray) -> float:
    """Of a mean difference of costs: over trees, or over neighbours."""
    if not hasattr(policy.weights_, "trees"):
        said = apart[weights > 0.0]
    else:
        here, past = seen[None, :].astype(np.float32), policy.weights_.inputs_
        leaves = [(tree.apply(past) == tree.apply(here)[0]) for tree in policy.weights_.trees]
        said = np.array([apart[leaf].mean() for leaf in leaves])
    return float(said.std(ddof=1) / math.sqrt(said.size)) if said.size > 1 else 0.0


# ---- the space -------------------------------------------------------------------------------------------------------


def space_of(asked: Asked) -> Callable[[pd.DataFrame, np.ndarray], np.ndarray]:
    """Return a function that says which contexts may be suggested at all, beside ranges and relations."""
    policy, weights = asked.policy, asked.policy.weights_
    past, usual = policy._inputs(policy.X_), usual_of(asked)

    def may(rows: pd.DataFrame, inputs: np.ndarray) -> np.ndarray:
        kept = np.ones(len(rows), dtype=bool)
        if isinstance(weights, wh.KNNWeights):
            gaps, k = np.abs(inputs[:, None, :] - past), int(weights.k)
            if isinstance(policy.schema_.features["hour"], wh.Cyclic):
                at = policy.schema_.coordinate_names.index("hour")
                period = policy.schema_.features["hour"].period / policy.schema_.affine()[1][at]
                gaps[:, :, at] = np.minimum(gaps[:, :, at], period - gaps[:, :, at])
            far = np.sort((gaps**2).sum(axis=2) if weights.metric == "euclidean" else gaps.sum(axis=2), axis=1)
            kept &= far[:, k] - far[:, k - 1] >= SEPARATION
        return kept & usual(rows)

    return may


def usual_of(asked: Asked) -> Callable[[pd.DataFrame], np.ndarray]:
    """Return a function that says which contexts are usual enough."""
    policy, share = asked.policy, asked.given.get("plausible")
    if share is None:
        return lambda rows: np.ones(len(rows), dtype=bool)
    measure = usual_in(policy.weights_, policy.schema_, policy.X_)
    return lambda rows: np.array([measure.share(point) >= share - 1e-12 for point in policy.schema_.encode(rows)])


def distance(asked: Asked, name: str, value: Any) -> float:
    """What a feature adds to the distance, by its definition."""
    feature, before = asked.policy.schema_.features[name], asked.context[name]
    if isinstance(feature, wh.Date):
        return date_distance(asked, pd.Timestamp(value).date())
    if _same(value, before) or isinstance(feature, wh.Derived):
        return 0.0
    if before != before:
        return float(feature.weight)
    if isinstance(feature, wh.Ordered):
        return float(feature.weight) * abs(LEVELS.index(value) - LEVELS.index(before)) / (len(LEVELS) - 1)
    if isinstance(feature, wh.Categorical | wh.Binary):
        return float(feature.weight)
    apart = abs(float(value) - float(before))
    if isinstance(feature, wh.Cyclic):
        short = min(apart, feature.period - apart)
        return float(feature.weight) * short / (feature.period / 2 if feature.scale is None else feature.scale)
    past = np.asarray(asked.policy.X_[name], dtype=float)
    past = past[~np.isnan(past)]
    unit: Any = getattr(feature, "scale", "range")
    if unit == "range" or unit is None:
        unit = float(past.max() - past.min()) or 1.0
    elif unit == "iqr":
        unit = float(np.subtract(*np.quantile(past, [0.75, 0.25])))
    return float(feature.weight) * apart / float(unit)


def values_of(asked: Asked, name: str) -> set[Any]:
    """Every value of a feature that could be part of a nearest context, without regard to relations."""
    feature, start, column = asked.policy.schema_.features[name], asked.context[name], asked.policy.X_[name]
    if name in asked.given.get("fixed", ()):
        return {start}
    if isinstance(feature, wh.Date):
        return days_of(asked, feature)
    if isinstance(feature, wh.Ordered):
        places, at = [LEVELS.index(one) for one in (*column, start)], LEVELS.index(start)
        down, up = feature.change != "increase", feature.change != "decrease"
        return {LEVELS[i] for i in range(min(places), max(places) + 1) if i == at or (down if i < at else up)}
    if isinstance(feature, wh.Categorical | wh.Binary):
        # What the history has not seen is not suggested: what was never on stays off.
        return {*column, start}
    if isinstance(feature, wh.Derived):
        return {False, True}
    if start != start and name not in asked.given.get("fill", ()):
        return {start}
    low, high = range_of(asked, name)
    if isinstance(feature, wh.Discrete):
        return {v for v in feature.values if may_be(asked, name, v)} | {start}
    step = _step(asked, name)
    if step is None:
        turns = {low, high, *_turns(asked.policy, name)}
        least = getattr(feature, "least_change", None)
        turns |= set() if least is None or start != start else {start - least, start + least}
        return {v for v in turns if may_be(asked, name, v)} | {start}
    first, last = int(Decimal(float(low)) // step) - 1, int(Decimal(float(high)) // step) + 1
    if last - first > 400:
        raise TooMany
    return {v for v in (float(i * step) for i in range(first, last + 1)) if may_be(asked, name, v)} | {start}


@lru_cache(maxsize=64)
def range_of(asked: Asked, name: str) -> tuple[float, float]:
    """Where a number may lie."""
    start, column = float(asked.context[name]), asked.policy.X_[name].astype(float)
    low, high = float(np.nanmin([column.min(), start])), float(np.nanmax([column.max(), start]))
    if name in asked.given.get("bounds", {}):
        first, last = asked.given["bounds"][name]
        low, high = max(low, first), min(high, last)
    change = asked.policy.schema_.features[name].change
    low = max(low, start) if change == "increase" and start == start else low
    return low, min(high, start) if change == "decrease" and start == start else high


def may_be(asked: Asked, name: str, value: float) -> bool:
    """Whether a number may have a value: in its range, far enough from today, and on its grid."""
    feature, start = asked.policy.schema_.features[name], float(asked.context[name])
    if value == start:
        return True
    low, high = range_of(asked, name)
    if name in asked.given.get("fixed", ()) or not low <= value <= high:
        return False
    if isinstance(feature, wh.Discrete) and value not in feature.values:
        return False
    least, step = getattr(feature, "least_change", None), _step(asked, name)
    if least is not None and abs(value - start) < least - 1e-9 * max(least, abs(start)):
        return False
    return step is None or float(step * round(Decimal(float(value)) / step)) == value


def _step(asked: Asked, name: str) -> Decimal | None:
    feature = asked.policy.schema_.features[name]
    if isinstance(feature, wh.Cyclic) and feature.step is None and asked.policy.X_[name].dtype.kind == "i":
        return Decimal(1)
    step = getattr(feature, "step", None)
    return None if step is None else Decimal(repr(step))


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


def _beside(value: float) -> tuple[float, float, float]:
    return value, float(np.nextafter(value, -np.inf)), float(np.nextafter(value, np.inf))


def _turns(policy: wh.Policy, name: str) -> Iterator[float]:
    """For every threshold of the forest on a number: the last value to its left and the first to its right."""
    column = policy.X_[name].astype(float)
    low, spread = float(column.min()), float(column.max() - column.min()) or 1.0
    coordinate = policy.schema_.coordinate_names.index(name)
    offset, scale = policy.schema_.affine()
    if isinstance(policy.schema_.features[name], wh.Cyclic):
        low, spread = float(offset[coordinate]), float(scale[coordinate])
    for tree in policy.weights_.trees:
        # A split between what is missing and all else has no threshold.
        for threshold in filter(np.isfinite, tree.threshold[tree.feature == coordinate]):

            def left(value: float, cut: float = float(threshold)) -> bool:
                return float(np.float32((value - low) / spread)) <= cut

            a, b = low + (threshold - 1e-5) * spread, low + (threshold + 1e-5) * spread
            while (middle := a + (b - a) / 2) not in (a, b):
                a, b = (middle, b) if left(middle) else (a, middle)
            yield float(a)
            yield float(b)


# ---- dates -----------------------------------------------------------------------------------------------------------


def days_of(asked: Asked, feature: wh.Date) -> set[Any]:
    """One of the days that look alike to the model, for all that may be suggested."""
    past, start = [stamp.date() for stamp in asked.policy.X_["date"]], asked.context["date"].date()
    first = _as_date(feature.low) or date(min(past).year, 1, 1)
    last = _as_date(feature.high) or date(max(past).year, 12, 31)
    first = max(first, start) if feature.change == "increase" else first
    days = [first + timedelta(k) for k in range((last - first).days + 1)]
    alike = {tuple(_parts(asked, day).values()): day for day in [*days, start]}
    return {pd.Timestamp(day) for day in alike.values() if day != start} | {asked.context["date"]}


def _as_date(given: Any) -> date | None:
    return None if given is None else pd.Timestamp(given).date()


def _parts(asked: Asked, day: date) -> dict[str, Any]:
    seen = {
        "weekday": day.weekday(),
        "month": day.month,
        "day of year": day.timetuple().tm_yday,
        "holiday": day in asked.holidays,
        "year": day.year,
        "quarter": (day.month + 2) // 3,
        "week": day.isocalendar()[1],
        "day": day.day,
    }
    return {part: seen[part] for part in asked.policy.schema_.features["date"].parts}


def date_distance(asked: Asked, day: date) -> float:
    """How far a day is from the initial one, part by part."""
    feature, total = asked.policy.schema_.features["date"], 0.0
    years = [stamp.year for stamp in asked.policy.X_["date"]]
    years += [end.year for end in map(_as_date, (feature.low, feature.high)) if end is not None]
    units = {"month": 6.0, "day of year": 183.0, "quarter": 2.0, "week": 26.5, "day": 30.0}
    units["year"] = float(max(1, max(years) - min(years)))
    before, after = _parts(asked, asked.context["date"].date()), _parts(asked, day)
    for part, value in before.items():
        if part in ("weekday", "holiday"):
            total += value != after[part]
            continue
        apart = float(abs(value - after[part]))
        if part not in ("day", "year"):
            apart = min(apart, 2 * units[part] - apart)
        total += apart / units[part]
    return float(feature.weight) * total
