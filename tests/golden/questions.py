"""Ask some 400 questions over all predictors, problems, claims and options, through the public names only.

Each question has a name such as ``forest/stock/absolute/margin`` and always the same answer: `answers.json` holds what
was answered when the file was last written (see `test_golden.py`). What a combination refuses is kept as well, with
its sentence.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression

import whence as wh

N = 60
NUMBERS = ["temp", "price", "load"]


class OneOf(wh.DecisionProblem):
    """Choose one of several plans: column j of Y is the cost of plan j."""

    def costs(self, decision: Any, Y: Any) -> Any:
        return np.asarray(Y)[:, int(decision)]

    def solve(self, Y: Any, weights: Any, risk: Any) -> int:
        return int(np.argmin([risk.of(column, weights) for column in np.asarray(Y).T]))


# History ----------------------------------------------------------------------------------------------------------


@cache
def history(features: str, problem: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return past contexts with the features of a kind of table, and outcomes for a problem."""
    rng = np.random.default_rng([len(features), sum(map(ord, features)), 3])
    X = pd.DataFrame(
        {
            "temp": (15 + 8 * rng.normal(size=N)).round(1),
            "price": (2 + rng.integers(0, 9, N) / 4).round(2),
            "load": 5 * rng.integers(0, 9, N),
        }
    )
    X["weekend"] = rng.random(N) < 0.3
    X["season"] = np.array(["spring", "summer", "winter"], dtype=object)[rng.integers(0, 3, N)]
    if features == "numbers":
        X = X[NUMBERS].astype(float)
    if features == "missing":
        X = X[NUMBERS].astype(float)
        X.loc[rng.random(N) < 0.2, "temp"] = np.nan
    if features == "calendar":
        X = X[["temp", "weekend"]]
        X["hour"] = rng.integers(0, 24, N)
        X["date"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 360, N), unit="D")
    if features == "levels":
        X["size"] = pd.Categorical(
            np.array(["S", "M", "L", "XL"])[rng.integers(0, 4, N)], ["S", "M", "L", "XL"], ordered=True
        )
        X["warm"] = X["season"] == "summer"
    warm = X["temp"].fillna(15.0).to_numpy()
    drive = np.column_stack([warm, np.cos(np.arange(N)), X.iloc[:, 1].astype(float).to_numpy() * 3])
    columns = {"stock": 2, "single": 1, "route": 12, "one of": 4, "program": 3, "shipment": 3, "gain": 3}[problem]
    slopes = rng.normal(size=(drive.shape[1], columns))
    Y = 40 + (drive - drive.mean(axis=0)) @ slopes + 2 * rng.normal(size=(N, columns))
    if problem != "gain":
        Y = np.abs(Y) + 1
    names = {"stock": ["rolls", "cakes"], "single": ["rolls"]}.get(problem, [f"y{j}" for j in range(columns)])
    return X, pd.DataFrame(Y.round(1), columns=names)


def schema_of(features: str) -> wh.Schema:
    """Return what is declared about the features of a kind of table: any number, not the steps of its records."""
    X, _ = history(features, "single")
    any_number: dict[str, Any] = {name: wh.Continuous() for name in X.columns if X[name].dtype == np.float64}
    if features == "calendar":
        return wh.Schema({**any_number, "hour": wh.Cyclic(24), "date": wh.Date(parts=("weekday", "month"))})
    if features == "levels":
        return wh.Schema(
            {
                "temp": wh.Continuous(step=0.5, unit="°C", low=0, least_change=2),
                "price": wh.Continuous(weight=2.0, scale="iqr"),
                "load": wh.Discrete(step=5, change="increase"),
                "season": wh.Categorical(["spring", "summer", "winter"], weight=0.5),
                "warm": wh.Derived("season"),
            },
            relations=["load <= 2 * temp + 30", "season is winter => temp <= 20"],
        )
    if features == "fixed":
        temp = wh.Continuous(change="fixed")
        return wh.Schema({**any_number, "temp": temp, "weekend": wh.Binary(change="increase")})
    return wh.Schema(any_number)


PROBLEMS: dict[str, Callable[[], Any]] = {
    "stock": lambda: wh.Newsvendor(1.0, [3.0, 4.0], budget=110),
    "single": lambda: wh.Newsvendor(1.0, 4.0, cost_unit="€"),
    "route": lambda: wh.ShortestPath.grid(3),
    "one of": OneOf,
    "program": lambda: wh.LinearProblem(A_ub=[[-1, -1, -1]], b_ub=[-2], bounds=(0, 1.5)),
    "gain": OneOf,
    "shipment": lambda: wh.Shipment(distances=[[0, 1, 2], [1, 0, 1]]),
}
RISKS = {"mean": wh.Expectation(), "tail": wh.CVaR(0.7)}


# Predictors -------------------------------------------------------------------------------------------------------


def _of(make: Callable[[], Any]) -> Callable[[str], Any]:
    """Return how to take over a model of another library that was fitted to the same history."""

    def made(problem: str) -> Any:
        X, Y = history("numbers", problem)
        return wh.ForestWeights.of(make().fit(X.to_numpy(), Y.iloc[:, 0].to_numpy()))

    return made


def _xgboost() -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(n_estimators=5, max_depth=3, random_state=0, n_jobs=1)


def _lightgbm() -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=5, max_depth=3, min_child_samples=5, random_state=0, n_jobs=1, verbose=-1)


def _catboost() -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        iterations=4, depth=2, random_seed=0, thread_count=1, verbose=False, allow_writing_files=False
    )


PREDICTORS: dict[str, Callable[[str], Any]] = {
    "forest": lambda problem: wh.ForestWeights(n_trees=8, random_state=1),
    "shallow": lambda problem: wh.ForestWeights(
        n_trees=6, max_depth=3, max_features="sqrt", min_samples_leaf=1, random_state=2
    ),
    "small": lambda problem: wh.ForestWeights(n_trees=3, max_depth=2, min_samples_leaf=1, random_state=2),
    "decision forest": lambda problem: wh.DecisionForest(n_trees=6, max_depth=3, random_state=3),
    "neighbours": lambda problem: wh.KNNWeights(7),
    "euclidean": lambda problem: wh.KNNWeights(5, metric="euclidean"),
    "nearness": lambda problem: wh.KNNWeights(4, weights="distance"),
    "kernel": lambda problem: wh.KernelWeights(0.5),
    "random forest": _of(lambda: RandomForestRegressor(6, max_depth=4, random_state=0)),
    "extra trees": _of(lambda: ExtraTreesRegressor(5, min_samples_leaf=2, random_state=0)),
    "histogram": _of(
        lambda: HistGradientBoostingRegressor(max_iter=6, max_depth=3, min_samples_leaf=5, random_state=0)
    ),
    "xgboost": _of(_xgboost),
    "lightgbm": _of(_lightgbm),
    "catboost": _of(_catboost),
    "forecast": lambda problem: wh.ForecastWeights(RandomForestRegressor(20, max_depth=3, random_state=0)),
    "line": lambda problem: wh.ForecastWeights(LinearRegression()),
    "missing forest": lambda problem: wh.ForestWeights(n_trees=6, random_state=4, missing=True),
}
FROZEN = ("random forest", "extra trees", "histogram", "xgboost", "lightgbm", "catboost")


@cache
def policy(predictor: str, problem: str, features: str, risk: str) -> wh.Policy:
    """Return a fitted policy; no question changes it."""
    X, Y = history(features, problem)
    return wh.Policy(PROBLEMS[problem](), PREDICTORS[predictor](problem), RISKS[risk], schema_of(features)).fit(X, Y)


def fingerprint(predictor: str, problem: str, features: str, risk: str) -> str:
    """Return a digest of what a policy predicts for its own history: other libraries may fit other models."""
    fitted = policy(predictor, problem, features, risk)
    X, _ = history(features, problem)
    seen = [np.asarray(fitted.predict(X.iloc[:20]), dtype=float)]
    if predictor not in ("forecast", "line"):
        seen.append(np.asarray([fitted.weights_at(X.iloc[i]) for i in range(0, N, 7)]))
    return hashlib.sha256("".join(f"{value:.7g}" for part in seen for value in part.ravel()).encode()).hexdigest()[:12]


# Questions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """Name one question: what is fitted, which context, what is claimed, and with which option."""

    predictor: str
    problem: str
    claim: str
    option: str = "plain"
    features: str = "mixed"
    risk: str = "mean"
    start: int = 0

    @property
    def name(self) -> str:
        parts = [self.predictor, self.problem, self.claim, self.option, self.features, self.risk, str(self.start)]
        return "/".join(parts)

    @property
    def fitted(self) -> tuple[str, str, str, str]:
        return self.predictor, self.problem, self.features, self.risk


def _some_set(problem: Any) -> Any:
    if isinstance(problem, wh.ShortestPath):
        return problem.through((0, 2)).avoiding((1, 1))
    if isinstance(problem, wh.Newsvendor):
        return problem.at_least(0, 45)
    if isinstance(problem, wh.LinearProblem | wh.Shipment):
        return problem.at_least(0, 0.5)
    return problem.only([1, 2])


CLAIMS = ("relative", "absolute", "within", "any plan", "set", "best of set")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "margin": {"margin": 0.05},
    "amount": {"margin": (1.5, "cost")},
    "confident": {"confidence": 1.5},
    "holds": {"holds": 0.8, "refits": "seed"},
    "bootstrap": {"holds": 0.7, "refits": "bootstrap"},
    "usual": {"plausible": 0.2},
    "few": {"max_changes": 1},
    "fixed": {"fixed": ["temp"]},
    "bounds": {"bounds": {"temp": (8, 20)}},
    "related": {"relations": ["temp <= load + 5"]},
    "program": {"engine": "milp"},
    "threads": {"threads": 2},
    "stopped": {"node_limit": 3},
    "rule": {"rule": True},
    "confident, usual, few": {"confidence": 1.0, "plausible": 0.1, "max_changes": 2},
    "margin, related": {"margin": 0.03, "relations": ["temp <= load + 5"], "fixed": ["price"]},
    "program, usual": {"engine": "milp", "plausible": 0.2, "margin": 0.02},
}
#: What is done with an explanation, or asked in the place of one.
SERIES = ("front", "menu", "reasons", "compare", "region", "held", "verify")


def _long(question: Asked) -> bool:
    """Whether a question takes many seconds: some of the integer program's, and some about neighbours."""
    predictor, claim, option = question.predictor, question.claim, question.option
    if predictor == "neighbours":
        program = option.startswith("program") and claim != "set"
        # How far a rule of neighbours goes in its time depends on how fast the machine is.
        slow = option == "rule" or (claim, option) == ("within", "holds")
        return program or slow or (claim, question.features) == ("any plan", "calendar")
    if predictor == "small":
        return option == "program, usual"
    return (predictor, claim) == ("euclidean", "any plan") or (predictor, option) == ("lightgbm", "program")


def asked() -> Iterator[Asked]:
    """Yield every question of the golden file, in a fixed order."""
    return (question for question in _every() if not _long(question))


def _every() -> Iterator[Asked]:
    for claim in CLAIMS:
        for start in (0, 1, 2):
            yield Asked("forest", "stock", claim, start=start)
        for option in list(OPTIONS)[1:]:
            trees = "small" if option.startswith("program") else "forest"
            yield Asked(trees, "single" if claim in ("absolute", "within") else "stock", claim, option, start=3)
            yield Asked("neighbours", "one of", claim, option, start=4)
        for problem in ("single", "route", "one of", "program", "shipment"):
            for risk in RISKS:
                yield Asked("shallow", problem, claim, risk=risk, start=5)
        for predictor in ("decision forest", "neighbours", "euclidean", "nearness", "kernel", "forecast", "line"):
            table = "numbers" if predictor in ("nearness", "kernel") else "mixed"
            for problem in ("single", "program" if predictor in ("forecast", "line") else "one of"):
                yield Asked(predictor, problem, claim, features=table, start=6)
        for predictor in FROZEN:
            yield Asked(predictor, "one of", claim, features="numbers", start=7)
        for features in ("calendar", "levels", "fixed"):
            yield Asked("forest", "one of", claim, features=features, start=8)
            yield Asked("neighbours", "one of", claim, features=features, start=9)
        yield Asked("missing forest", "one of", claim, features="missing", start=10)
    for option in ("margin", "confident", "usual", "few", "related", "program"):
        for predictor in ("forecast", "kernel", "nearness"):
            yield Asked(predictor, "single", "relative", option, features="numbers", start=11)
        yield Asked("shallow", "route", "set", option, risk="tail", start=12)
        yield Asked("shallow", "route", "absolute", option, risk="tail", start=12)
        yield Asked("lightgbm", "one of", "relative", option, features="numbers", start=13)
    for series in SERIES:
        for predictor, claim in (("forest", "relative"), ("forest", "any plan"), ("neighbours", "relative")):
            yield Asked(predictor, "one of", f"{series}: {claim}", start=14)
        yield Asked("shallow", "route", f"{series}: absolute", start=15)
        yield Asked("forecast", "single", f"{series}: relative", start=15)
    for model in ("histogram", "random forest", "line", "classifier", "chances"):
        for option in ("at least", "at most", "between", "few", "fixed"):
            yield Asked(model, "forecast", option, features="numbers")


def _context(fitted: wh.Policy, X: pd.DataFrame, start: int) -> Any:
    """Return a past context, or every third time one between two of them."""
    row = X.iloc[(7 * start + 3) % N].copy()
    if start % 3 == 2 and "temp" in row and "load" in row:
        other = X.iloc[(11 * start + 5) % N]
        row["temp"] = round((row["temp"] + other["temp"]) / 2, 2)
    return row


def _other_plan(fitted: wh.Policy, context: Any, X: pd.DataFrame, question: Asked) -> Any:
    """Return a plan of some past contexts that costs more than the decision today, but not much more."""
    if question.predictor in ("forecast", "line"):
        return fitted.decide(X.iloc[(question.start + 13) % N])
    weights = fitted.weights_at(context)

    def cost(plan: Any) -> float:
        return float(fitted.risk_.of(fitted.problem.costs(plan, fitted.Y_), weights))

    plans = [fitted.decide(X.iloc[(question.start + 7 * j) % N]) for j in range(1, 9)]
    worse = [plan for plan in plans if cost(plan) > 1.01 * cost(fitted.decide(context))]
    return min(worse or plans, key=cost)


def _ask(question: Asked) -> Any:
    """Return what the public names answer: an explanation, or another result."""
    if question.problem == "forecast":
        return _ask_forecast(question)
    fitted = policy(*question.fitted)
    X, _ = history(question.features, question.problem)
    context = _context(fitted, X, question.start)
    series, _, claim = question.claim.rpartition(": ")
    options = dict(OPTIONS[question.option])
    if question.option == "holds" and question.predictor == "neighbours":
        # They have no random numbers to draw anew.
        options["refits"] = "bootstrap"
    if question.features == "missing" and question.start % 2 == 0:
        options["fill"] = ["temp"]
    instead: Any = None
    if claim in ("set", "best of set"):
        instead = _some_set(fitted.problem)
    elif claim != "any plan":
        instead = _other_plan(fitted, context, X, question)
    if claim in ("absolute", "within", "best of set"):
        options["kind"] = "absolute"
    if claim == "within":
        options["within"] = 0.03
    if series in ("front", "menu", "reasons"):
        return getattr(fitted, series)(context, instead, **options)
    if series == "compare":
        return fitted.compare(X.iloc[(question.start + 20) % N], context)
    why = fitted.explain(context, instead, **options)
    if series == "region":
        return why.region(time_limit=None)
    if series == "held":
        return why.held(refits=5)
    if series == "verify":
        return why.verify(fitted)
    return why


@cache
def ensemble(model: str) -> wh.Ensemble:
    """Return what explains the forecast of a model that was fitted to the history."""
    X, Y = history("numbers", "single")
    values = Y.iloc[:, 0]
    two = (values > values.median()).astype(int)
    made: Any = {
        "histogram": lambda: HistGradientBoostingRegressor(max_iter=8, max_depth=3, min_samples_leaf=5, random_state=0),
        "random forest": lambda: RandomForestRegressor(6, max_depth=4, random_state=0),
        "line": LinearRegression,
        "classifier": lambda: HistGradientBoostingClassifier(
            max_iter=8, max_depth=2, min_samples_leaf=5, random_state=0
        ),
        "chances": lambda: RandomForestClassifier(6, max_depth=3, random_state=0),
    }[model]()
    classes = model in ("classifier", "chances")
    options: dict[str, Any] = {"label": 1} if model == "chances" else {}
    return wh.Ensemble(made.fit(X, two if classes else values), schema=schema_of("numbers"), **options).fit(X)


def _ask_forecast(question: Asked) -> Any:
    asked = ensemble(question.predictor)
    X, _ = history("numbers", "single")
    context = X.iloc[5]
    now, ranged = float(asked.predict(X.iloc[[5]])[0]), asked.predict(X)
    low, high = float(np.quantile(ranged, 0.2)), float(np.quantile(ranged, 0.8))
    reach = {"at_least": round(high, 3)} if now < high else {"at_most": round(low, 3)}
    options: dict[str, Any] = {
        "at least": {"at_least": round(high, 3)},
        "at most": {"at_most": round(low, 3)},
        "between": {"between": (round(low - (high - low) / 9, 3), round(low, 3))},
        "few": {**reach, "max_changes": 1},
        "fixed": {**reach, "fixed": ["temp"]},
    }[question.claim]
    return asked.explain(context, **options)


# What is kept of an answer -----------------------------------------------------------------------------------------

#: What differs from run to run or from machine to machine, and what says how the search went rather than what it found.
LEFT_OUT = {
    "seconds",
    "time",
    "versions",
    "nodes",
    "boxes or nodes searched",
    "cuts",
    "rival plans met",
    "document",
    "model",
    "history",
}
LEFT_OUT |= {"fingerprint", "fingerprints"}


def plain(value: Any) -> Any:
    """Return a document with numbers to 9 digits and long lists as their length and sum."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items() if key not in LEFT_OUT}
    if isinstance(value, list | tuple):
        if len(value) > 6 and all(isinstance(one, int | float) for one in value):
            return f"{len(value)} numbers, sum {_digits(math.fsum(value))}"
        # The lines of a certificate are pairs of a name and what it says.
        pairs = all(isinstance(one, list | tuple) and len(one) == 2 and isinstance(one[0], str) for one in value)
        return [plain(one) for one in value if not (pairs and one[0] in LEFT_OUT)]
    if isinstance(value, float):
        return _digits(value)
    if not isinstance(value, str):
        return value
    # The last digits of a fit by least squares are those of the machine's linear algebra.
    value = re.sub(r"\d+\.\d{7,}", lambda found: f"{float(found[0]):.7g}", value)
    # A search that was stopped says after how many seconds.
    return re.sub(r"within [0-9.]+ (s|ms|min)\b", "within some time", value)


def _digits(value: float) -> float | str:
    return float(f"{value:.7g}") if math.isfinite(value) else str(value)


def answered(question: Asked) -> dict[str, Any]:
    """Return what is kept of the answer to a question, or the sentence with which it is refused."""
    try:
        result = _ask(question)
    except wh.WhenceError as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    kept: dict[str, Any] = {"text": plain(str(result))}
    for name in ("status", "distance", "bound"):
        if hasattr(result, name):
            kept[name] = plain(getattr(result, name))
    found = getattr(result, "context", None)
    if found is not None:
        kept["context"] = {str(key): plain(_simple(value)) for key, value in found.items()}
    if hasattr(result, "to_dict"):
        kept["document"] = digest(plain(json.loads(json.dumps(result.to_dict(), default=str))))
    return kept


def _simple(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, bool | int | float | str) else str(value)


def digest(document: Any) -> dict[str, str]:
    """Return a digest of every entry of a document, so that a difference names where it is."""
    return {
        key: hashlib.sha256(json.dumps(one, sort_keys=True).encode()).hexdigest()[:6]
        for key, one in document.items()
        if one not in (None, "", [], {})
    }
