"""Small policies that see parts of dates; and brute force over every day that may be suggested."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
from tests.cases import OneOf
from tests.context_cases import _turns
from tests.forests import paper_forest

import whence as wh
from whence.policy import Policy

PARTS = ("weekday", "month", "day of year", "holiday", "year", "quarter", "week", "day")
Row = dict[str, Any]


@dataclass(frozen=True)
class DateCase:
    """A fitted policy, a question, and the days that an explanation may suggest."""

    policy: Policy
    context: Row
    decision: int
    instead: int
    kind: str
    days: list[date]
    holidays: set[date]
    options: Row

    def explain(self, **how: Any) -> Any:
        return self.policy.explain(self.context, self.instead, kind=self.kind, **self.options, **how)


def date_case(seed: int, neighbours: bool = False) -> DateCase:
    """The same case for the same seed; for neighbours without parts that go round."""
    rng = np.random.default_rng([seed, 182])
    n = int(rng.integers(8, 25))
    first = date(int(rng.choice([2019, 2023, 2024])), int(rng.integers(1, 13)), 1)
    span = int(rng.choice([20, 90, 400]))
    days = [first + timedelta(int(k)) for k in rng.integers(0, span, n)]
    known = ("weekday", "holiday", "year", "day") if neighbours else PARTS
    parts = [str(part) for part in rng.choice(known, int(rng.integers(1, 4)), replace=False)]
    holidays = {days[0], first + timedelta(3), first + timedelta(span // 2)}
    how: Row = {
        "weight": float(rng.choice([1.0, 2.0])),
        "change": str(rng.choice(["free"] * 4 + ["increase", "fixed"])),
    }
    allowed = date(min(days).year, 1, 1), date(max(days).year, 12, 31)
    if rng.random() < 0.5:
        allowed = first, first + timedelta(span + 10)
        how |= {"low": allowed[0], "high": allowed[1].isoformat()}
    if "holiday" in parts:
        how["holidays"] = list(holidays) if rng.random() < 0.5 else holidays.__contains__
    X = pd.DataFrame({"date": pd.to_datetime(days), "heat": np.round(rng.normal(10, 5, n), 0)})
    if neighbours:
        X["heat"] = X["heat"] // 4
    plans = int(rng.integers(2, 4))
    points = np.array([[d.weekday() / 3, d.month / 6, d.timetuple().tm_yday / 180, d in holidays] for d in days])
    Y = 10 + 2 * points @ rng.normal(size=(4, plans)) + 0.2 * X[["heat"]].to_numpy() + rng.normal(size=(n, plans))
    weights: Any = wh.KNNWeights(int(rng.integers(1, 4))) if neighbours else None
    weights = weights or paper_forest(int(rng.choice([1, 3])), int(rng.choice([2, 4])), random_state=seed)
    features: Row = {"date": wh.Date("date", parts, **how)}
    if neighbours:
        features["heat"] = wh.Discrete(step=1)
    policy = Policy(OneOf(), weights, schema=wh.Schema(features)).fit(X, Y.round(2))
    context: Row = X.iloc[int(rng.integers(n))].to_dict()
    if rng.random() < 0.3:
        # Next year, say.
        context["date"] = pd.Timestamp(max(days) + timedelta(int(rng.integers(1, 500))))
    decision = policy.decide(context)
    instead = int(rng.choice([j for j in range(plans) if j != decision]))
    options: Row = {}
    start = context["date"].date()
    if rng.random() < 0.2:
        bound = allowed[0] + timedelta(int(rng.integers(0, 20))), None
        options["bounds"] = {"date": (bound[0].isoformat(), None)}
        allowed = max(allowed[0], bound[0]), allowed[1]
    if how["change"] == "increase":
        allowed = max(allowed[0], start), allowed[1]
    every = [allowed[0] + timedelta(k) for k in range((allowed[1] - allowed[0]).days + 1)]
    if how["change"] == "fixed":
        every = []
    kind = "absolute" if rng.random() < 0.3 else "relative"
    return DateCase(policy, context, decision, instead, kind, [*every, start], holidays, options)


def distance(case: DateCase, day: date) -> float:
    """How far a day is from the initial one, part by part."""
    feature = case.policy.schema_.features["date"]
    start = case.context["date"].date()
    years = [stamp.year for stamp in case.policy.X_["date"]]
    years += [end.year for end in (feature.low, feature.high) if end is not None]
    total = 0.0
    for part in feature.parts:
        a, b = start, day
        if part in ("weekday", "holiday"):
            total += a.weekday() != b.weekday() if part == "weekday" else (a in case.holidays) != (b in case.holidays)
            continue
        number, period = {
            "month": (lambda d: d.month, 12),
            "day of year": (lambda d: d.timetuple().tm_yday, 366),
            "quarter": (lambda d: (d.month + 2) // 3, 4),
            "week": (lambda d: d.isocalendar()[1], 53),
            "day": (lambda d: d.day, None),
            "year": (lambda d: d.year, None),
        }[part]
        apart = abs(number(a) - number(b))
        if period is not None:
            total += min(apart, period - apart) / (period / 2)
        else:
            total += apart / (30 if part == "day" else max(1, max(years) - min(years)))
    return feature.weight * total


def truth(case: DateCase) -> float:
    """The least distance of any day and any heat that explain, infinite for none."""
    policy, column = case.policy, case.policy.X_["heat"]
    start = float(case.context["heat"])
    low, high = min(column.min(), start), max(column.max(), start)
    if isinstance(policy.weights_, wh.KNNWeights):
        heats = {float(k) for k in range(int(low), int(high) + 1)}
    else:
        heats = {v for turn in _turns(policy, "heat") for v in turn if low <= v <= high} | {low, high, start}
    spread = float(column.max() - column.min()) or 1.0
    # Of days that look alike to the model, one will do.
    alike = {tuple(map(tuple, _parts(case, day))): day for day in case.days}
    rows = [(d, h) for d in alike.values() for h in heats]
    far = np.array([distance(case, d) + abs(h - start) / spread for d, h in rows])
    order = np.argsort(far, kind="stable")
    for some in np.array_split(order, max(1, len(order) // 200)):
        table = pd.DataFrame({"date": pd.to_datetime([rows[i][0] for i in some]), "heat": [rows[i][1] for i in some]})
        inputs = policy._inputs(table)
        weights = policy.weights_.weights(inputs)
        for i, w, seen in zip(some, weights, inputs, strict=True):
            if (far[i] == 0.0 or _separate(policy, seen)) and _explains(case, w):
                return float(far[i])
    return np.inf


def _parts(case: DateCase, day: date) -> list[tuple[str, Any]]:
    feature = case.policy.schema_.features["date"]
    seen = {
        "weekday": day.weekday(),
        "month": day.month,
        "day of year": day.timetuple().tm_yday,
        "holiday": day in case.holidays,
        "year": day.year,
        "quarter": (day.month + 2) // 3,
        "week": day.isocalendar()[1],
        "day": day.day,
    }
    return [(part, seen[part]) for part in feature.parts]


def _separate(policy: Policy, seen: np.ndarray) -> bool:
    if not isinstance(policy.weights_, wh.KNNWeights):
        return True
    near = np.sort(np.abs(policy._inputs(policy.X_) - seen).sum(axis=1))
    k = int(policy.weights_.k)
    return bool(near[k] - near[k - 1] >= 1e-6)


def _explains(case: DateCase, weights: np.ndarray) -> bool:
    policy, risk = case.policy, case.policy.risk_
    costs = [risk.of(column, weights) for column in policy.Y_.T]
    tau = 1e-6 * float(np.abs(policy.Y_[:, case.instead]).max())
    rivals = costs if case.kind == "absolute" else [costs[case.decision]]
    return bool(costs[case.instead] <= min(rivals) + tau)


def disagreement(case: DateCase, **how: Any) -> str:
    """In what an answer differs from brute force; empty where it does not."""
    wanted, why = truth(case), case.explain(**how)
    if why.status not in ("optimal", "already", "none"):
        return f"status {why.status}"
    if not (why.distance == wanted or abs(why.distance - wanted) <= 4e-6 * (1 + min(wanted, 1e6))):
        return f"{why.status} at {why.distance!r} ({why.context}), brute force {wanted!r}"
    if why.context is not None and why.context["date"].date() not in case.days:
        return f"{why.context['date']} may not be suggested"
    return ""
