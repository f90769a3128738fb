"""Random small questions, drawn by three knobs: what predicts, what is claimed, and what else is asked for.

`draw(seed, predictor, claim, options)` always gives the same question. Data have few digits, units from 1e-3 to 1e6,
ties and duplicates; initial contexts lie in the history, beside it or beside a grid by a rounding error. Predictors
other than forests get numbers that go in steps, so that all contexts can be listed (`tests/agreement/reference.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
from tests.cases import OneOf
from tests.forests import paper_forest

import whence as wh

Row = dict[str, Any]

#: What predicts.
PREDICTORS = ("forest", "decision", "neighbours", "euclidean", "distance", "kernel")
#: Those that are made of trees: their numbers need no steps, since a forest turns at few values.
TREES = ("forest", "decision")
#: What is claimed: one plan, or some plan of several, beats the decision or is the best of all.
CLAIMS = ("relative", "absolute", "set", "best set")
#: What else is asked for, a letter each.
OPTIONS = {
    "s": "numbers in steps",
    "u": "units of change",
    "l": "least changes",
    "d": "a feature that follows from another",
    "r": "linear relations",
    "t": "tables and implications",
    "c": "numbers that go round",
    "o": "ordered levels",
    "y": "dates",
    "m": "missing numbers",
    "f": "few changes",
    "g": "a margin, or a share of the best",
    "k": "standard errors",
    "p": "usual contexts only",
}
DAYS = ("Thu", "Fri", "Sat", "Sun")
OFF = ("Sat", "Sun")
LEVELS = ("low", "mid", "high", "top")
PARTS = ("weekday", "month", "day of year", "holiday", "year", "quarter", "week", "day")
#: The number that may be missing: not one that relations are about.
LACKING = "wind"
#: Of what goes round, neighbours in the plain metric only know numbers.
STRAIGHT_PARTS = ("weekday", "holiday", "year", "day")


@dataclass(frozen=True)
class Relation:
    """A relation as it is written, as a test of a context, and where it turns; (a, b, c) stands for a + c <= b."""

    text: str
    holds: Callable[[Row], bool]
    tie: tuple[str, str, float] | None = None
    turns: dict[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Asked:
    """A fitted policy and a question about it."""

    policy: wh.Policy
    context: Row
    decision: int
    among: tuple[int, ...]
    claim: str
    relations: tuple[Relation, ...] = ()
    holidays: frozenset[date] = frozenset()
    given: Row = field(default_factory=dict)

    @property
    def absolute(self) -> bool:
        """Whether the plan has to be the best of all."""
        return self.claim in ("absolute", "best set")

    def explain(self, **how: Any) -> wh.Explanation:
        """The answer of the policy."""
        instead: Any = self.policy.problem.only(list(self.among)) if "set" in self.claim else self.among[0]
        kind = "absolute" if self.absolute else "relative"
        return self.policy.explain(self.context, instead, kind=kind, **{**self.given, **how})  # type: ignore[arg-type]


def draw(seed: int, predictor: str = "forest", claim: str = "relative", options: str = "") -> Asked:
    """The question of a seed."""
    rng = np.random.default_rng([seed, PREDICTORS.index(predictor), CLAIMS.index(claim), *map(ord, sorted(options))])
    listed = predictor not in TREES or "p" in options
    n = int(rng.integers(6, 15))
    X, unit = _table(rng, n, options, listed)
    features = _features(rng, X, unit, options, predictor, listed)
    relations = _relations(rng, X, options)
    plans = int(rng.integers(2, 5))
    Y = _costs(rng, X, plans, positive="g" in options)
    if "m" in options:
        kept = int(rng.integers(n))
        X.loc[(rng.random(n) < 0.3) & (np.arange(n) != kept) | (np.arange(n) == (kept + 1) % n), LACKING] = np.nan
    risk = wh.CVaR(0.5) if rng.random() < 0.25 and "k" not in options else wh.Expectation()
    schema = wh.Schema(features, [relation.text for relation in relations])
    policy = wh.Policy(OneOf(), _weights(rng, predictor, n, options), risk, schema).fit(X, Y)
    context = _start(rng, X, options, listed)
    decision = int(policy.decide(context))
    others = [j for j in range(plans) if j != decision]
    liked = [j for j in others if j in Y.argmin(axis=1)] or others
    size = int(rng.integers(1, len(others) + 1)) if "set" in claim else 1
    among = tuple(sorted({int(rng.choice(liked)), *map(int, rng.choice(others, size - 1, replace=False))}))
    holidays = frozenset(getattr(features.get("date"), "holidays", None) or ())
    given = _given(rng, X, context, options, claim)
    return Asked(policy, context, decision, among, claim, relations, holidays, given)


def _table(rng: np.random.Generator, n: int, options: str, listed: bool) -> tuple[pd.DataFrame, float]:
    """Two numbers, one mostly below the other, an hour, and what the options are about; and the unit of the numbers."""
    unit = float(rng.choice([1.0, 1.0, 1e-3, 1e4]))
    high = np.round(rng.normal(15, 8, n), int(rng.integers(0, 3)))
    low = high - np.round(np.abs(rng.normal(0, 4, n)), int(rng.integers(0, 3)))
    if listed:
        high, low = np.round(high / 3), np.round(low / 3)
    columns: Row = {"low": low * unit, "high": high * unit, "hour": rng.integers(6, 10, n)}
    if "c" in options:
        period = int(rng.choice([6, 24, 360]))
        turn = period * rng.random(n) * float(rng.choice([0.3, 0.7, 1.0]))
        columns["hour"] = np.floor(turn).astype(int) if listed or rng.random() < 0.4 else np.round(turn, 2)
        columns["period"] = period  # told to _features, and dropped there
    if set("dt") & set(options) or not set("coy") & set(options):
        day = rng.integers(0, 4, n)
        columns |= {"day": np.array(DAYS, dtype=object)[day], "weekend": day >= 2}
    if "m" in options:
        columns[LACKING] = (high * unit + rng.normal(0, 3, n) * unit).round(4)
    if "o" in options:
        columns["level"] = np.array(LEVELS, dtype=object)[rng.integers(0, 4, n)]
    if "y" in options:
        first = date(int(rng.choice([2019, 2023, 2024])), int(rng.integers(1, 13)), 1)
        span = int(rng.choice([20, 90, 400]))
        columns["date"] = pd.to_datetime([first + timedelta(int(k)) for k in rng.integers(0, span, n)])
    if rng.random() < 0.2:
        columns = {name: np.resize(np.asarray(values)[: n // 2 + 1], n) if np.ndim(values) else values
                   for name, values in columns.items()}  # fmt: skip
    return pd.DataFrame(columns), unit


def _features(
    rng: np.random.Generator, X: pd.DataFrame, unit: float, options: str, predictor: str, listed: bool
) -> dict[str, wh.Feature]:
    """What may change, and how far apart values are."""
    made: dict[str, wh.Feature] = {}
    for name in ("low", "high"):
        spread = float(X[name].max() - X[name].min()) or 1.0
        how: Row = {}
        if listed or ("s" in options and rng.random() < 0.7):
            # As people type it: 0.5, 20, 0.1.
            how["step"] = float(f"{spread / float(rng.choice([3, 5])):.0e}") * float(rng.choice([1.0, 0.5]))
        if "u" in options:
            how["scale"] = [2.5 * unit, 0.1 * spread, "iqr", "range"][int(rng.integers(4))]
            if how["scale"] == "iqr" and np.subtract(*np.quantile(X[name], [0.75, 0.25])) <= 0:
                how["scale"] = "range"
        if "l" in options and rng.random() < 0.7:
            how["least_change"] = float(f"{spread * rng.choice([0.05, 0.2, 0.5]):.1e}")
        if rng.random() < 0.2:
            how["weight"] = float(rng.choice([0.5, 3.0]))
        if rng.random() < 0.1:
            how["change"] = str(rng.choice(["increase", "decrease"]))
        made[name] = wh.Continuous(**how)
    hour: Row = {"scale": 2.0} if "u" in options and rng.random() < 0.5 else {}
    if "c" in options:
        period = int(X.pop("period").iloc[0])
        whole = X["hour"].dtype.kind == "i"
        step = {"step": period / 6} if not whole and "s" in options else {}
        made["hour"] = wh.Cyclic(period, 0, **hour, **step)
    else:
        least = {"least_change": 2.0} if "l" in options and rng.random() < 0.3 else {}
        made["hour"] = wh.Discrete(range(6, 10), **hour, **least)
    if "day" in X:
        made["day"] = wh.Categorical(DAYS)
        follows = {day: day in OFF for day in DAYS}
        derived = wh.Derived("day", follows if rng.random() < 0.5 else follows.__getitem__)
        made["weekend"] = derived if "d" in options else wh.Binary()
    if LACKING in X:
        made[LACKING] = wh.Continuous(step=float(f"{5 * unit:.0e}") if listed else None)
    if "level" in X:
        change = str(rng.choice(["free"] * 8 + ["increase", "decrease"]))
        made["level"] = wh.Ordered(LEVELS, change=change)  # type: ignore[arg-type]
    if "date" in X:
        made["date"] = _date(rng, X["date"], STRAIGHT_PARTS if predictor not in TREES else PARTS)
    return made


def _date(rng: np.random.Generator, days: pd.Series, known: Sequence[str]) -> wh.Date:
    parts = [str(part) for part in rng.choice(known, int(rng.integers(1, 4)), replace=False)]
    how: Row = {"weight": float(rng.choice([1.0, 2.0])), "change": str(rng.choice(["free"] * 5 + ["increase"]))}
    first, last = days.min().date(), days.max().date()
    if rng.random() < 0.5:
        how |= {"low": first, "high": (last + timedelta(10)).isoformat()}
    if "holiday" in parts:
        how["holidays"] = [first, first + timedelta(3), first + (last - first) // 2]
    return wh.Date("date", parts, **how)


def _relations(rng: np.random.Generator, X: pd.DataFrame, options: str) -> tuple[Relation, ...]:
    """Some relations: r for linear rows, t for tables and implications."""
    spread = float(X["high"].max() - X["low"].min()) or 1.0
    hair = 1e-9 * spread
    found: list[Relation] = []
    if "r" in options:
        by = 0.0 if rng.random() < 0.6 else float(f"{0.1 * spread:.1e}")
        text = "low <= high" if by == 0.0 else f"low + {by!r} <= high"
        found.append(Relation(text, lambda row: row["low"] + by <= row["high"] + hair, ("low", "high", by)))
        if rng.random() < 0.4:
            wide = float(f"{0.4 * spread:.1e}")
            text = f"high - low <= {wide!r}"
            found.append(Relation(text, lambda row: row["high"] - row["low"] <= wide + hair, ("high", "low", -wide)))
    if "t" in options:
        cut, hour = float(np.round(X["high"].median(), 2)), int(X["hour"].median())
        choices = [
            Relation("day in (Sat, Sun) <=> weekend", lambda row: (row["day"] in OFF) == bool(row["weekend"])),
            Relation("not weekend or day is not Thu", lambda row: not row["weekend"] or row["day"] != "Thu"),
            Relation(
                f"day is Sun => high >= {cut!r}",
                lambda row: row["day"] != "Sun" or row["high"] >= cut,
                turns={"high": (cut,)},
            ),
            Relation(
                f"hour <= {hour} => high < {cut!r} and not weekend",
                lambda row: row["hour"] > hour or (row["high"] < cut and not row["weekend"]),
                turns={"high": (cut,), "hour": (float(hour),)},
            ),
            observed(X, ["day"], "high"),
            observed(X, ["weekend"], "day"),
            observed(X, ["weekend", "day"], "low"),
        ]
        if "d" in options:
            choices = choices[2:]
        found += [choices[int(i)] for i in rng.choice(len(choices), int(rng.integers(1, 3)), replace=False)]
    return tuple(found)


def observed(X: pd.DataFrame, by: list[str], of: str) -> Relation:
    """What the history shows."""
    seen: dict[Any, list[Any]] = {}
    for value, other in zip(X[by].itertuples(index=False, name=None), X[of].tolist(), strict=True):
        seen.setdefault(value, []).append(other)

    def told(row: Row) -> list[Any]:
        return seen.get(tuple(row[name] for name in by), [row[of]])

    text = f"observed({', '.join([*by, of])})"
    if of == "day":
        return Relation(text, lambda row: row[of] in told(row))
    # A context is written with few digits where that changes nothing: the last one of the history may go.
    hair = 1e-9 * (float(X[of].max() - X[of].min()) or 1.0)
    turns = tuple(float(end) for values in seen.values() for end in (min(values), max(values)))
    return Relation(text, lambda row: min(told(row)) - hair <= row[of] <= max(told(row)) + hair, turns={of: turns})


def _costs(rng: np.random.Generator, X: pd.DataFrame, plans: int, positive: bool) -> np.ndarray:
    """Costs of some plans that depend on the context; often rounded, so that plans tie."""
    columns = []
    for name in X:
        values = X[name]
        if name == "date":
            columns += [values.dt.day_of_week, values.dt.month, values.dt.day_of_year]
        elif isinstance(values.iloc[0], str):
            columns.append(values.map({one: i for i, one in enumerate((*DAYS, *LEVELS))}))
        else:
            columns.append(values)
    points = np.column_stack(columns).astype(float)
    points = (points - points.mean(axis=0)) / np.maximum(points.std(axis=0), 1e-9)
    Y = 10 + 3 * points @ rng.normal(size=(points.shape[1], plans)) + rng.normal(size=(len(X), plans))
    Y = Y.round(int(rng.choice([0, 3])))
    return np.asarray(Y - min(0.0, Y.min()) + 1.0 if positive else Y)


def _weights(rng: np.random.Generator, predictor: str, n: int, options: str) -> Any:
    seed, k = int(rng.integers(2**31)), int(rng.integers(1, 5))
    trees, depth = int(rng.choice([2, 3] if "k" in options else [1, 2, 3])), int(rng.choice([2, 3]))
    missing = {"missing": True} if "m" in options else {}
    if predictor == "forest":
        return paper_forest(trees, depth, random_state=seed, **missing)
    if predictor == "decision":
        leaf, honest = int(rng.integers(1, 3)), "k" not in options and bool(rng.random() < 0.3)
        return wh.DecisionForest(
            n_trees=trees, max_depth=depth, random_state=seed, min_samples_leaf=leaf, honest=honest,
            **missing,
        )  # fmt: skip
    if predictor == "kernel":
        return wh.KernelWeights(float(rng.choice([0.2, 0.5, 1.0])))
    if predictor == "distance":
        return wh.KNNWeights(k, weights="distance")
    return wh.KNNWeights(k, "euclidean") if predictor == "euclidean" else wh.KNNWeights(k)


def _start(rng: np.random.Generator, X: pd.DataFrame, options: str, listed: bool) -> Row:
    """A past context, or one beside the history; now and then a number is missing."""
    context: Row = X.iloc[int(rng.integers(len(X)))].to_dict()
    low, high = X["high"].min(), X["high"].max()
    if rng.random() < 0.3 and not listed:
        context["high"] = float(low + rng.uniform(-0.1, 1.2) * (high - low))
    if "m" in options and rng.random() < 0.4:
        context[LACKING] = np.nan
    if "date" in X and rng.random() < 0.3:
        context["date"] = X["date"].max() + pd.Timedelta(days=int(rng.integers(1, 500)))
    return context


def _given(rng: np.random.Generator, X: pd.DataFrame, context: Row, options: str, claim: str) -> Row:
    """What the call asks for besides."""
    given: Row = {"fixed": ("hour",) if rng.random() < 0.15 else ()}
    if rng.random() < 0.15:
        given["bounds"] = {"low": tuple(float(v) for v in np.sort(rng.choice(X["low"], 2)))}
    if "m" in options and pd.isna(context[LACKING]) and rng.random() < 0.6:
        given["fill"] = (LACKING,)
    if "f" in options:
        given["max_changes"] = int(rng.integers(1, 3))
    if "g" in options and claim in ("absolute", "best set"):
        given["within"] = float(rng.choice([0.02, 0.1, 0.3]))
    elif "g" in options:
        given["margin"] = [0.02, 0.2, (0.5, "cost")][int(rng.integers(3))]
    if "k" in options:
        given["confidence"] = float(rng.choice([0.5, 1.0, 2.0]))
    if "p" in options:
        given["plausible"] = float(rng.choice([0.1, 0.3, 0.6]))
    return given
