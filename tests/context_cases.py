"""Small policies whose contexts have steps, scales, least changes and relations; and brute force over all of them.

The reference is written from the definitions alone, in the user's units: every value of every feature at which a forest
turns, a relation turns or a range ends is tried, in all combinations. It shares nothing with schema, search or program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from tests.cases import OneOf
from tests.forests import paper_forest

from whence.features import Binary, Categorical, Continuous, Derived, Discrete, Feature, Schema
from whence.policy import Policy
from whence.risk import CVaR, Expectation
from whence.weights import KNNWeights

DAYS = ("Thu", "Fri", "Sat", "Sun")
#: More combinations than this take too long.
MOST = 60_000
#: Contexts that are weighed at once.
BATCH = 64
Row = dict[str, Any]


@dataclass(frozen=True)
class Relation:
    """A relation as it is written, as a test of a context, and what it ties together: (a, b, c) for a + c <= b."""

    text: str
    holds: Callable[[Row], bool]
    tie: tuple[str, str, float] | None = None
    turns: dict[str, tuple[float, ...]] = field(default_factory=dict)
    #: The same without a hair of room for rounding: what contexts that are handed out must keep.
    strictly: Callable[[Row], bool] | None = None

    def kept(self, row: Row, typed: bool) -> bool:
        """Whether a context keeps it to the last digit; if `typed`, for the decimals that its numbers are typed as."""
        if self.strictly is not None:
            return self.strictly(row)
        if self.tie is None:
            return self.holds(row)
        if eval(self.text, {"__builtins__": {}}, row):  # as whoever has the context would check it
            return True
        a, b, by = self.tie
        return typed and Decimal(repr(row[a])) + Decimal(repr(by)) <= Decimal(repr(row[b]))


@dataclass(frozen=True)
class ContextCase:
    """A fitted policy, a question, and the relations that contexts keep."""

    policy: Policy
    context: Row
    decision: int
    instead: int
    kind: str
    relations: tuple[Relation, ...]
    derived: bool
    fixed: tuple[str, ...]
    bounds: dict[str, Any]
    #: Where some plan of several has to do: these, and whether they are listed or only solved for.
    among: tuple[int, ...] = ()
    listed: bool = True
    #: How many features may change.
    most: int | None = None

    def explain(self, **how: Any) -> Any:
        given = {"kind": self.kind, "fixed": self.fixed, "bounds": self.bounds, "max_changes": self.most, **how}
        return self.policy.explain(self.context, self._set() if self.among else self.instead, **given)

    def _set(self) -> Any:
        problem, among = self.policy.problem, self.among
        if self.listed:
            return problem.only(list(among))

        def solve(Y: np.ndarray, weights: np.ndarray, risk: Any) -> int:
            return among[int(np.argmin([risk.of(Y[:, j], weights) for j in among]))]

        return problem.only(lambda plan: plan in among, solve=solve)


def table(rng: np.random.Generator, n: int, lattice: bool) -> pd.DataFrame:
    """Dew point below temperature, an hour, a day and whether it is a weekend."""
    unit = float(rng.choice([1.0, 1.0, 1e-3, 1e4]))
    high = np.round(rng.normal(15, 8, n), int(rng.integers(0, 3)))
    low = high - np.round(np.abs(rng.normal(0, 4, n)), int(rng.integers(0, 3)))
    if lattice:
        high, low = np.round(high / 2), np.round(low / 2)
    day = rng.integers(0, 4, n)
    columns = {
        "low": low * unit,
        "high": high * unit,
        "hour": rng.integers(6, 10, n),
        "day": np.array(DAYS, dtype=object)[day],
        "weekend": day >= 2,
    }
    return pd.DataFrame(columns)


def features(rng: np.random.Generator, X: pd.DataFrame, kinds: str, lattice: bool) -> dict[str, Feature]:
    """Declared features; letters of `kinds`: s steps, u units of change, l least changes, d derived."""
    made: dict[str, Feature] = {}
    for name in ("low", "high"):
        spread = float(X[name].max() - X[name].min()) or 1.0
        how: dict[str, Any] = {}
        if lattice or ("s" in kinds and rng.random() < 0.7):
            # As people type it: 0.5, 20, 0.1.
            size = spread / float(rng.choice([4, 8, 13]))
            how["step"] = float(f"{size:.0e}") * float(rng.choice([1.0, 0.5]))
        if "u" in kinds:
            how["scale"] = [2.5, 0.1 * spread, "iqr", "range"][int(rng.integers(4))]
            if how["scale"] == "iqr" and np.subtract(*np.quantile(X[name], [0.75, 0.25])) <= 0:
                how["scale"] = "range"
        if "l" in kinds and rng.random() < 0.7:
            how["least_change"] = float(f"{spread * rng.choice([0.05, 0.2, 0.5]):.1e}")
        if rng.random() < 0.2:
            how["weight"] = float(rng.choice([0.5, 3.0]))
        if rng.random() < 0.1:
            how["change"] = str(rng.choice(["increase", "decrease"]))
        made[name] = Continuous(**how)
    hour: dict[str, Any] = {"least_change": 2.0} if "l" in kinds and rng.random() < 0.3 else {}
    if "u" in kinds and rng.random() < 0.5:
        hour["scale"] = 2.0
    made["hour"] = Discrete(range(6, 10), **hour)
    made["day"] = Categorical(DAYS)
    weekend = {day: day in ("Sat", "Sun") for day in DAYS}
    follows = Derived("day", weekend if rng.random() < 0.5 else weekend.__getitem__)
    made["weekend"] = follows if "d" in kinds else Binary()
    return made


def relations(rng: np.random.Generator, X: pd.DataFrame, kinds: str) -> tuple[Relation, ...]:
    """Some relations: r for linear rows, t for tables and implications."""
    spread = float(X["high"].max() - X["low"].min()) or 1.0
    found: list[Relation] = []
    if "r" in kinds:
        by = 0.0 if rng.random() < 0.6 else float(f"{0.1 * spread:.1e}")
        text = "low <= high" if by == 0.0 else f"low + {by!r} <= high"
        found.append(Relation(text, lambda row: row["low"] + by <= row["high"] + 1e-9 * spread, ("low", "high", by)))
        if rng.random() < 0.4:
            wide = float(f"{0.4 * spread:.1e}")
            found.append(
                Relation(
                    f"high - low <= {wide!r}",
                    lambda row: row["high"] - row["low"] <= wide + 1e-9 * spread,
                    ("high", "low", -wide),
                )
            )
    if "t" in kinds:
        cut = float(np.round(X["high"].median(), 2))
        hour = int(rng.integers(7, 9))
        choices = [
            Relation(
                "day in (Sat, Sun) <=> weekend", lambda row: (row["day"] in ("Sat", "Sun")) == bool(row["weekend"])
            ),
            Relation("not weekend or day is not Thu", lambda row: not row["weekend"] or row["day"] != "Thu"),
            Relation(
                f"day is Sun => high >= {cut!r}",
                lambda row: row["day"] != "Sun" or row["high"] >= cut,
                turns={"high": (cut,)},
            ),
            Relation(
                f"hour in (6, {hour}) => high < {cut!r} and not weekend",
                lambda row: row["hour"] not in (6, hour) or (row["high"] < cut and not row["weekend"]),
                turns={"high": (cut,)},
            ),
            observed_relation(X, ["day"], "high"),
            observed_relation(X, ["weekend"], "day"),
            observed_relation(X, ["hour"], "low"),
            observed_relation(X, ["weekend", "day"], "low"),
            observed_relation(X, ["hour", "weekend"], "day"),
        ]
        for i in rng.choice(len(choices), int(rng.integers(1, 4)), replace=False):
            found.append(choices[int(i)])
    return tuple(found)


def observed_relation(X: pd.DataFrame, by: list[str], of: str) -> Relation:
    """What the history shows, told anew."""
    seen: dict[Any, list[Any]] = {}
    for value, other in zip(X[by].itertuples(index=False, name=None), X[of].tolist(), strict=True):
        seen.setdefault(value, []).append(other)

    def told(row: Any) -> list[Any]:
        return seen.get(tuple(row[name] for name in by), [row[of]])

    text = f"observed({', '.join([*by, of])})"
    if of == "day":
        return Relation(text, lambda row: row[of] in told(row))
    # A context is written with few digits where that changes nothing: the last one of the history may go.
    hair = 1e-9 * (float(X[of].max() - X[of].min()) or 1.0)
    turns = tuple(float(end) for values in seen.values() for end in (min(values), max(values)))
    return Relation(
        text,
        lambda row: min(told(row)) - hair <= row[of] <= max(told(row)) + hair,
        turns={of: turns},
        strictly=lambda row: min(told(row)) <= row[of] <= max(told(row)),
    )


def context_case(seed: int, kinds: str, weights: str = "forest", lattice: bool = False) -> ContextCase:
    """The same case for the same seed; `kinds` are letters of :func:`features` and :func:`relations`."""
    rng = np.random.default_rng([seed, 180, *map(ord, kinds)])
    n = int(rng.integers(6, 16))
    X = table(rng, n, lattice)
    declared, related = features(rng, X, kinds, lattice), relations(rng, X, kinds)
    plans = int(rng.integers(2, 5))
    points = np.column_stack([X["low"], X["high"], X["hour"], X["day"].map(DAYS.index), X["weekend"]]).astype(float)
    points = (points - points.mean(axis=0)) / np.maximum(points.std(axis=0), 1e-9)
    Y = 10 + 3 * points @ rng.normal(size=(5, plans)) + rng.normal(size=(n, plans))
    Y = Y.round(int(rng.choice([0, 3])))
    schema = Schema(declared, [relation.text for relation in related])
    risk = CVaR(0.5) if rng.random() < 0.2 else Expectation()
    chosen: Any = KNNWeights(int(rng.integers(1, 5))) if weights == "knn" else None
    chosen = chosen or paper_forest(int(rng.choice([1, 2, 3])), int(rng.choice([2, 3])), random_state=seed)
    policy = Policy(OneOf(), chosen, risk, schema).fit(X, Y)
    context: Row = X.iloc[int(rng.integers(n))].to_dict()
    if rng.random() < 0.3 and not lattice:
        context["high"] = float(X["high"].min() + rng.uniform(-0.1, 1.2) * (X["high"].max() - X["high"].min()))
    decision = policy.decide(context)
    others = [j for j in range(plans) if j != decision]
    kind = "absolute" if rng.random() < 0.4 else "relative"
    fixed = ("hour",) if rng.random() < 0.15 else ()
    bounds: dict[str, Any] = {}
    if rng.random() < 0.15:
        bounds["low"] = tuple(float(v) for v in np.sort(rng.choice(X["low"], 2)))
    return ContextCase(policy, context, decision, int(rng.choice(others)), kind, related, "d" in kinds, fixed, bounds)


#: Steps, units of change, least changes, derived features, linear rows, tables: each alone, and in pairs.
LETTERS = "suldrt"
KINDS = (*LETTERS, *("".join(pair) for pair in combinations(LETTERS, 2)))


def soaked(seed: int) -> ContextCase:
    """Every kind in turn, about forests and about neighbours whose contexts can all be listed."""
    kinds, knn = KINDS[seed % len(KINDS)], seed // len(KINDS) % 2 == 1
    return context_case(seed, kinds, "knn" if knn else "forest", lattice=knn)


# ---- brute force ----------------------------------------------------------------------------------------------------


class TooMany(Exception):
    """There are too many contexts to look at."""


def truth(case: ContextCase) -> tuple[float, Row | None]:
    """The least distance of any context that can exist and explains, infinite for none; and the context."""
    explains = _criterion(case)
    if explains(case.policy.weights_at(case.context)):
        return 0.0, case.context
    separate = _separation(case)
    names = list(case.context)
    choices = {name: _values(case, name) for name in names}
    for relation in case.relations:
        for name, turns in relation.turns.items():
            choices[name] |= {v for turn in turns for v in _near(turn) if _allowed(case, name, v)}
    for _ in range(2):
        for relation in case.relations:
            if relation.tie is not None:
                a, b, by = relation.tie
                choices[b] |= {v + by for v in choices[a] if _allowed(case, b, v + by)}
                choices[a] |= {v - by for v in choices[b] if _allowed(case, a, v - by)}
    listed = [sorted(choices[name], key=str) for name in names]
    if np.prod([len(found) for found in listed], dtype=float) > MOST:
        raise TooMany
    total = np.zeros([len(found) for found in listed])
    for axis, (name, values) in enumerate(zip(names, listed, strict=True)):
        cost = np.array([distance(case, {**case.context, name: value}) for value in values])
        total += cost.reshape([-1 if i == axis else 1 for i in range(len(names))])
    waiting: list[tuple[float, Row]] = []
    for place in np.argsort(total, axis=None, kind="stable"):
        row = {n: v[i] for n, v, i in zip(names, listed, np.unravel_index(place, total.shape), strict=True)}
        if row != case.context and _few(case, row) and _exists(case, row, True) and separate(row):
            waiting.append((float(total.flat[place]), row))
        if len(waiting) == BATCH and (found := _first(case, waiting, explains)) is not None:
            return found
        if len(waiting) == BATCH:
            waiting = []
    return _first(case, waiting, explains) or (np.inf, None)


def _few(case: ContextCase, row: Row) -> bool:
    return case.most is None or sum(row[name] != value for name, value in case.context.items()) <= case.most


def _separation(case: ContextCase) -> Callable[[Row], bool]:
    """Whether the k-th and the next past context are told apart by their distance, each feature by its range."""
    policy = case.policy
    if not isinstance(policy.weights_, KNNWeights):
        return lambda row: True
    k, days = int(policy.weights_.k), policy.X_["day"].to_numpy()
    numbers = {name: policy.X_[name].to_numpy(dtype=float) for name in policy.X_ if name != "day"}
    spreads = {name: float(own.max() - own.min()) or 1.0 for name, own in numbers.items()} | {"weekend": 1.0}

    def separate(row: Row) -> bool:
        far = (days != row["day"]).astype(float)
        for name, own in numbers.items():
            far += np.abs(own - float(row[name])) / spreads[name]
        near = np.sort(far)
        return bool(near[k] - near[k - 1] >= 1e-6)

    return separate


def _first(
    case: ContextCase, rows: list[tuple[float, Row]], explains: Callable[[np.ndarray], bool]
) -> tuple[float, Row] | None:
    """The first of some contexts that explains."""
    if not rows:
        return None
    policy = case.policy
    weights = policy.weights_.weights(policy._inputs(pd.DataFrame([row for _, row in rows])))
    return next((row for row, at in zip(rows, weights, strict=True) if explains(at)), None)


def _criterion(case: ContextCase) -> Callable[[np.ndarray], bool]:
    """Whether the plan, or some plan of several, does under given weights."""
    policy, risk = case.policy, case.policy.risk_
    among = case.among or (case.instead,)
    before = policy.weights_at(case.context)
    # The tolerance is a share of what the plan costs that is the best of the set today.
    today = among[int(np.argmin([risk.of(policy.Y_[:, j], before) for j in among]))]
    tau = 1e-6 * float(np.abs(policy.Y_[:, today]).max())

    def explains(weights: np.ndarray) -> bool:
        costs = [risk.of(column, weights) for column in policy.Y_.T]
        rivals = costs if case.kind == "absolute" else [costs[case.decision]]
        return min(costs[j] for j in among) <= min(rivals) + tau

    return explains


def _exists(case: ContextCase, row: Row, exactly: bool = False) -> bool:
    if case.derived and bool(row["weekend"]) != (row["day"] in ("Sat", "Sun")):
        return False
    return all(((exactly and one.strictly) or one.holds)(row) for one in case.relations)


def distance(case: ContextCase, row: Row) -> float:
    """The distance by its definition."""
    X, total = case.policy.X_, 0.0
    for name, feature in case.policy.schema_.features.items():
        before, after = case.context[name], row[name]
        if isinstance(feature, Derived) or before == after:
            continue
        if isinstance(feature, Categorical | Binary):
            total += feature.weight
            continue
        values = np.asarray(X[name], dtype=float)
        spread = float(values.max() - values.min()) or 1.0
        how = getattr(feature, "scale", "range")
        q1, q3 = np.quantile(values, [0.25, 0.75])
        unit = {"range": spread, "iqr": q3 - q1}.get(how, how) if isinstance(how, str) else how
        total += feature.weight * abs(float(after) - float(before)) / float(unit)
    return total


def _limits(case: ContextCase, name: str) -> tuple[float, float]:
    values, start = np.asarray(case.policy.X_[name], dtype=float), float(case.context[name])
    low, high = min(values.min(), start), max(values.max(), start)
    if name in case.bounds:
        low, high = max(low, case.bounds[name][0]), min(high, case.bounds[name][1])
    change = case.policy.schema_.features[name].change
    if change == "increase":
        low = max(low, start)
    if change == "decrease":
        high = min(high, start)
    return low, high


def _allowed(case: ContextCase, name: str, value: float) -> bool:
    feature, start = case.policy.schema_.features[name], float(case.context[name])
    if value == start:
        return True
    if name in case.fixed:
        return False
    low, high = _limits(case, name)
    if not low <= value <= high:
        return False
    least = getattr(feature, "least_change", None)
    if least is not None and abs(value - start) < least - 1e-9 * max(least, abs(start)):
        return False
    step = getattr(feature, "step", None)
    if step is not None:
        multiple = Decimal(repr(step)) * round(Decimal(float(value)) / Decimal(repr(step)))
        return float(multiple) == value
    return True


def _near(value: float) -> list[float]:
    return [value, float(np.nextafter(value, -np.inf)), float(np.nextafter(value, np.inf))]


def _values(case: ContextCase, name: str) -> set[Any]:
    """Every value of a feature that could be part of a nearest context, without regard to relations."""
    policy, feature, start = case.policy, case.policy.schema_.features[name], case.context[name]
    if name in case.fixed:
        return {start}
    if isinstance(feature, Categorical):
        return set(policy.X_["day"]) | {start}
    if isinstance(feature, Binary | Derived):
        return {False, True}
    if isinstance(feature, Discrete):
        return {v for v in range(6, 10) if _allowed(case, name, v) and _seen_range(case, name, v)} | {start}
    low, high = _limits(case, name)
    step, least = feature.step, feature.least_change
    if step is not None:
        size = Decimal(repr(step))
        first, last = int(Decimal(float(low)) // size) - 1, int(Decimal(float(high)) // size) + 1
        if last - first > 5000:
            raise TooMany
        found = {float(k * size) for k in range(first, last + 1)}
    else:
        found = {low, high}
        if least is not None:
            found |= {start - least, start + least}
        found |= {v for turn in _turns(policy, name) for v in turn}
    return {v for v in found if _allowed(case, name, v)} | {start}


def _seen_range(case: ContextCase, name: str, value: float) -> bool:
    values = case.policy.X_[name]
    return bool(min(values.min(), case.context[name]) <= value <= max(values.max(), case.context[name]))


def _turns(policy: Policy, name: str) -> list[tuple[float, float]]:
    """For every threshold of the forest on a number: the last value to its left and the first to its right."""
    low, high = float(policy.X_[name].min()), float(policy.X_[name].max())
    spread = (high - low) or 1.0
    coordinate = policy.schema_.coordinate_names.index(name)
    found = []
    for tree in policy.weights_.trees:
        # A split between what is missing and all else has no threshold.
        for threshold in filter(np.isfinite, tree.threshold[tree.feature == coordinate]):

            def left(value: float, cut: float = float(threshold)) -> bool:
                return float(np.float32((value - low) / spread)) <= cut

            a, b = low + (threshold - 1e-5) * spread, low + (threshold + 1e-5) * spread
            while True:
                middle = a + (b - a) / 2
                if middle in (a, b):
                    break
                a, b = (middle, b) if left(middle) else (a, middle)
            found.append((a, b))
    return found


def disagreement(case: ContextCase, **how: Any) -> str:
    """In what an answer differs from brute force; empty where it does not."""
    wanted, where = truth(case)
    why = case.explain(**how)
    if why.status not in ("optimal", "already", "none"):
        return f"status {why.status}"
    weight = max(1.0, float(case.policy.schema_.space(why.initial).weight.max()))
    if not (why.distance == wanted or abs(why.distance - wanted) <= 2e-6 * weight * (1 + min(wanted, 1e6))):
        where_found = None if why.context is None else dict(why.context)
        return f"{why.status} at {why.distance!r} ({where_found}), brute force {wanted!r} ({where})"
    return faults(case, why.context)


def faults(case: ContextCase, context: Mapping[str, Any] | None) -> str:
    """What is wrong with a context that was suggested: a relation, a step or a least change that it breaks."""
    if context is None or dict(context) == case.context:
        return ""
    row = dict(context)
    if not _exists(case, row):
        return f"{row} cannot exist"
    for name in ("low", "high"):
        stepped = case.policy.schema_.features[name].step is not None
        if stepped and not _allowed(case, name, float(row[name])):
            return f"{name} = {row[name]!r} is off the grid"
    held = [row[name] == case.context[name] for name in ("low", "high")]
    steps = [case.policy.schema_.features[name].step is not None for name in ("low", "high")]
    typed = all(one or other for one, other in zip(held, steps, strict=True))
    for relation in case.relations:
        if not relation.kept(row, typed):
            return f"{row} breaks {relation.text} in the last digit"
    return ""
