"""Small policies whose contexts have hours that go round and ordered levels; and brute force over all contexts.

The reference is written from the definitions alone, in the user's units: every value at which a forest turns, a
relation turns or a range ends is tried, in all combinations. It shares nothing with schema, search or program.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from tests.cases import OneOf
from tests.context_cases import MOST, TooMany, _turns
from tests.forests import paper_forest

import whence as wh
from whence.errors import InputError
from whence.policy import Policy

LEVELS = ("low", "mid", "high", "top")
DAYS = ("Fri", "Sat", "Sun")
OFF = ("Sat", "Sun")
#: Cyclic, ordered; with linear rows, tables, steps, missing numbers, few changes: each alone, and in pairs.
KINDS = ("c", "o", *("".join(pair) for pair in combinations("cortsmf", 2) if set(pair) & {"c", "o"}))
#: Missing numbers that may be filled in (alone and with the others), and a feature that follows from another (d).
MISSING_KINDS = ("m", "ms", "mr", "mt", "md", "cd", "od")
Row = dict[str, Any]


@dataclass(frozen=True)
class CalendarCase:
    """A fitted policy and a question."""

    policy: Policy
    context: Row
    decision: int
    instead: int
    kind: str
    shift: float | None  # "turn - heat <= shift", where there is that relation
    table: bool  # "level in (low, top) => turn ..."
    cut: float
    options: dict[str, Any]

    def explain(self, **how: Any) -> Any:
        return self.policy.explain(self.context, self.instead, kind=self.kind, **self.options, **how)


def calendar_case(seed: int, kinds: str, decision_aware: bool = False) -> CalendarCase:
    """The same case for the same seed and kinds; the forest may be one that is grown for the decision."""
    rng = np.random.default_rng([seed, 181, *map(ord, kinds)])
    n = int(rng.integers(6, 15))
    unit = float(rng.choice([1.0, 1.0, 1e-3, 1e6]))
    period = float(rng.choice([6, 24, 360]))
    low = float(rng.choice([0.0, 1.0, -period / 2]))
    turn = low + period * rng.random(n) * float(rng.choice([0.3, 0.7, 1.0, 1.0]))
    form = int(rng.integers(3))  # any number, whole ones, in steps
    turn = np.floor(turn) if form == 1 or "s" in kinds else np.round(turn, 2)
    turn = np.clip(turn, low, np.nextafter(low + period, low))
    level, day = rng.integers(0, 4, n), rng.integers(0, 3, n)
    heat = np.round(rng.normal(10, 5, n), 1)
    X = pd.DataFrame({"turn": turn * (1 if form == 1 else unit), "level": np.array(LEVELS, dtype=object)[level]})
    if form == 1:
        X["turn"], unit = X["turn"].astype(int), 1.0
    X["heat"], X["day"] = heat * unit, np.array(DAYS, dtype=object)[day]
    how: Row = {"period": period * unit, "low": low * unit}
    if form == 2 or "s" in kinds:
        how["step"] = float(f"{period * unit / float(rng.choice([6, 12])):.3g}")
    if rng.random() < 0.3:
        how["scale"] = float(rng.choice([1.0, 5.0])) * unit
    if rng.random() < 0.2:
        how["weight"] = float(rng.choice([0.5, 3.0]))
    features: dict[str, Any] = {
        "turn": wh.Cyclic(**how) if "c" in kinds else wh.Continuous(step=how.get("step")),
        "level": wh.Ordered(LEVELS, change=str(rng.choice(["free"] * 8 + ["increase", "decrease"])))  # type: ignore[arg-type]
        if "o" in kinds
        else wh.Categorical(LEVELS),
        "heat": wh.Continuous(step=2 * unit if "s" in kinds else None),
    }
    cut, shift = float(np.round(X["turn"].median(), 9)), None
    relations = []
    if "r" in kinds:
        shift = float(f"{float((X['turn'] - X['heat']).median()):.6g}")
        relations.append(f"turn - heat <= {shift!r}")
    if "t" in kinds:
        relations.append(f"level in (low, top) => turn <= {cut!r}")
    plans = int(rng.integers(2, 5))
    angle = 2 * np.pi * (turn - low) / period
    points = np.column_stack([np.sin(angle), np.cos(angle), level / 3, heat / 5, day])
    Y = (10 + 3 * points @ rng.normal(size=(5, plans)) + rng.normal(size=(n, plans))).round(int(rng.choice([0, 3])))
    if kinds in MISSING_KINDS:
        lacks, more = _more_columns(seed, kinds, X, unit)
        features |= more
    elif "m" in kinds:
        lacks = "heat"
        X.loc[rng.random(n) < 0.3, "heat"] = np.nan
    trees, depth, lacking = int(rng.choice([1, 2, 3])), int(rng.choice([2, 3])), "m" in kinds
    weights: Any = paper_forest(trees, depth, random_state=seed, missing=lacking)
    if decision_aware:
        half = {"min_samples_leaf": 1 + seed % 2, "honest": seed % 4 == 0}
        weights = wh.DecisionForest(n_trees=trees, max_depth=depth, random_state=seed, missing=lacking, **half)
    risk = wh.CVaR(0.5) if rng.random() < 0.2 else wh.Expectation()
    policy = Policy(OneOf(), weights, risk, wh.Schema(features, relations)).fit(X, Y)
    context: Row = X.iloc[int(rng.integers(n))].to_dict()
    if rng.random() < 0.3 and form != 1:
        context["turn"] = low * unit + rng.random() * period * unit
    decision = policy.decide(context)
    instead = int(rng.choice([j for j in range(plans) if j != decision]))
    options: Row = {"fixed": ("day",) if rng.random() < 0.2 else ()}
    if rng.random() < 0.2:
        ends = np.sort(rng.choice(X["turn"], 2)).tolist()
        options["bounds"] = {"turn": tuple(ends)}
    elif rng.random() < 0.2:
        options["bounds"] = {"level": [str(one) for one in rng.choice(LEVELS, 2, replace=False)]}
    if kinds in MISSING_KINDS and "m" in kinds and seed % 3:
        context[lacks], options["fill"] = np.nan, (lacks,) if seed % 3 == 1 else ()
        decision = policy.decide(context)
        instead = int(rng.choice([j for j in range(plans) if j != decision]))
    if "f" in kinds:
        options["max_changes"] = int(rng.choice([1, 2]))
    kind = "absolute" if rng.random() < 0.4 else "relative"
    return CalendarCase(policy, context, decision, instead, kind, shift, "t" in kinds, cut, options)


def _more_columns(seed: int, kinds: str, X: pd.DataFrame, unit: float) -> tuple[str, dict[str, Any]]:
    """Add what is missing here and there, beside a number that relations are about, and what follows from the day."""
    rng = np.random.default_rng([seed, 182, *map(ord, kinds)])
    features: dict[str, Any] = {}
    if "d" in kinds:
        X["off"] = X["day"].isin(OFF)
        features["off"] = wh.Derived("day", {day: day in OFF for day in DAYS})
    if "m" not in kinds:
        return "", features
    if "s" in kinds:
        X.loc[rng.random(len(X)) < 0.3, "heat"] = np.nan
        return "heat", features
    X["wind"] = (X["heat"] + unit * rng.normal(0, 3, len(X))).round(9)
    X.loc[rng.random(len(X)) < 0.3, "wind"] = np.nan
    return "wind", features


# ---- brute force ----------------------------------------------------------------------------------------------------


def truth(case: CalendarCase) -> float:
    """The least distance of any context that can exist and explains, infinite for none."""
    names = list(case.context)
    choices = {name: _values(case, name) for name in names}
    if case.table:
        around = [case.cut, float(np.nextafter(case.cut, np.inf))]
        choices["turn"] |= {v for v in around if _may_turn(case, "turn", v)}
    if case.shift is not None:
        for _ in range(2):
            choices["turn"] |= {v for h in choices["heat"] if _may_turn(case, "turn", v := h + case.shift)}
            choices["heat"] |= {v for t in choices["turn"] if _may_turn(case, "heat", v := t - case.shift)}
    listed = [list(choices[name]) for name in names]
    if np.prod([len(found) for found in listed], dtype=float) > MOST:
        raise TooMany
    places = np.indices([len(found) for found in listed]).reshape(len(names), -1)
    rows = pd.DataFrame({n: [v[i] for i in at] for n, v, at in zip(names, listed, places.tolist(), strict=True)})
    far = np.zeros(len(rows))
    changes = np.zeros(len(rows), dtype=int)
    for name, values, at in zip(names, listed, places, strict=True):
        far += np.array([distance(case, name, value) for value in values])[at]
        changes += np.array([not _same(value, case.context[name]) for value in values])[at]
    kept = (changes == 0) | _exists(case, rows)
    kept &= changes <= case.options.get("max_changes", len(names))
    order = np.argsort(far, kind="stable")
    order = order[kept[order]]
    policy = case.policy
    for some in np.array_split(order, max(1, len(order) // 256)):
        if not some.size:
            continue
        weights = policy.weights_.weights(policy._inputs(rows.iloc[some]))
        found = [far[i] for i, w in zip(some, weights, strict=True) if _explains(case, w)]
        if found:
            return float(found[0])
    return np.inf


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


def _explains(case: CalendarCase, weights: np.ndarray) -> bool:
    policy, risk = case.policy, case.policy.risk_
    costs = [risk.of(column, weights) for column in policy.Y_.T]
    tau = 1e-6 * float(np.abs(policy.Y_[:, case.instead]).max())
    rivals = costs if case.kind == "absolute" else [costs[case.decision]]
    return bool(costs[case.instead] <= min(rivals) + tau)


def _exists(case: CalendarCase, rows: pd.DataFrame) -> np.ndarray:
    kept = np.ones(len(rows), dtype=bool)
    if case.shift is not None:
        slack = 1e-9 * float(case.policy.X_["turn"].max() - case.policy.X_["turn"].min() + 1e-12)
        kept &= (rows["turn"] - rows["heat"] <= case.shift + slack).to_numpy()
    if case.table:
        kept &= (~rows["level"].isin(["low", "top"]) | (rows["turn"] <= case.cut)).to_numpy()
    if "off" in case.context:
        kept &= (rows["off"] == rows["day"].isin(OFF)).to_numpy()
    return kept


def distance(case: CalendarCase, name: str, value: Any) -> float:
    """What a feature adds to the distance, by its definition."""
    feature, before = case.policy.schema_.features[name], case.context[name]
    if _same(value, before):
        return 0.0
    if isinstance(feature, wh.Derived):
        return 0.0
    if before != before:
        return float(feature.weight)
    if isinstance(feature, wh.Ordered):
        return feature.weight * abs(LEVELS.index(value) - LEVELS.index(before)) / (len(LEVELS) - 1)
    if isinstance(feature, wh.Categorical):
        return feature.weight
    apart = abs(float(value) - float(before))
    if isinstance(feature, wh.Cyclic):
        short = min(apart, feature.period - apart)
        return feature.weight * short / (feature.period / 2 if feature.scale is None else feature.scale)
    spread = float(case.policy.X_[name].max() - case.policy.X_[name].min()) or 1.0
    return apart / spread


def _may_turn(case: CalendarCase, name: str, value: float) -> bool:
    """Whether a number may have a value."""
    start, column = float(case.context[name]), case.policy.X_[name]
    if value == start:
        return True
    low, high = min(column.min(), start), max(column.max(), start)
    bounds = case.options.get("bounds", {}).get(name)
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    step = getattr(case.policy.schema_.features[name], "step", None)
    if step is None and name == "turn" and column.dtype == int and "Cyclic" in repr(case.policy.schema_.kind(name)):
        step = 1
    return bool(low <= value <= high and (step is None or value == _multiple(step, round(value / step))))


def _multiple(step: float, times: int) -> float:
    return float(pd.to_numeric(f"{step!r}")) * times if step >= 1 else float(f"{step * times:.12g}")


def _values(case: CalendarCase, name: str) -> set[Any]:
    """Every value of a feature that could be part of a nearest context, without regard to relations."""
    policy, start = case.policy, case.context[name]
    feature, column = policy.schema_.features[name], policy.X_[name]
    if name in case.options["fixed"] or (start != start and name not in case.options.get("fill", ())):
        return {start}
    if name == "off":
        return {False, True}
    if name == "day":
        return {*column, start}
    if name == "level":
        wanted = case.options.get("bounds", {}).get(name, LEVELS)
        if not isinstance(feature, wh.Ordered):
            return {one for one in column if one in wanted} | {start}
        places = [LEVELS.index(one) for one in (*column, start)]
        at, found = LEVELS.index(start), range(min(places), max(places) + 1)
        return {
            LEVELS[i]
            for i in found
            if (LEVELS[i] in wanted or i == at)
            and (feature.change != "increase" or i >= at)
            and (feature.change != "decrease" or i <= at)
        }
    low, high = float(min(column.min(), start)), float(max(column.max(), start))
    found = {low, high, *(v for turn in _turns(policy, name) for v in turn)}
    bounds = case.options.get("bounds", {}).get(name)
    if bounds is not None:
        found |= {float(end) for end in bounds}
    step = getattr(feature, "step", None) or (1 if column.dtype == int else None)
    if step is not None:
        found |= {_multiple(step, k) for k in range(int(low // step) - 1, int(high // step) + 2)}
    return {v for v in found if _may_turn(case, name, v)} | {start}


def disagreement(case: CalendarCase, **how: Any) -> str:
    """In what an answer differs from brute force; empty where it does not."""
    wanted = truth(case)
    try:
        why = case.explain(**how)
    except InputError as error:
        # Refused is what no value can be filled in for, and nothing else.
        without = [name for name in case.options.get("fill", ()) if all(pd.isna(v) for v in _values(case, name))]
        return "" if error.parameter == "fill" and without else f"{type(error).__name__}: {error}"
    if why.status not in ("optimal", "already", "none"):
        return f"status {why.status}"
    weight = max(1.0, float(case.policy.schema_.space(why.initial).weight.max()))
    if not (why.distance == wanted or abs(why.distance - wanted) <= 2e-6 * weight * (1 + min(wanted, 1e6))):
        return f"{why.status} at {why.distance!r} ({why.context}), brute force {wanted!r}"
    if why.context is None:
        return ""
    again = sum(distance(case, name, why.context[name]) for name in case.context)
    return "" if abs(again - why.distance) <= 1e-6 * weight else f"{why.context} is {again!r} away"
