"""Random questions to policies that forecast, and their nearest answers by looking at all cells, or by linear programs.

Everything is computed from the models' own ``predict``, the formulas of the costs and scipy: nothing is shared with the
searches or with what was read of the models.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.predictors import (
    LIBRARIES,
    PredictorCase,
    _bounds,
    _codes,
    _schema,
    _start,
    brute_force,
    contexts,
    differing,
)

import whence as wh

#: Excesses that are nearer to the tolerance than this share of the costs are a matter of rounding.
CLEAR = 3e-6


@dataclass
class ForecastCase(PredictorCase):
    """A policy on forecasts of one model per outcome, and a question about it."""

    margin: Any = None
    within: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)

    def explained(self, **how: Any) -> Any:
        """The policy's own answer."""
        return super().explained(margin=self.margin, within=self.within, **self.options, **how)


def tree_case(library: str, seed: int) -> ForecastCase:
    """A question about small models of a library, one per outcome."""
    how = LIBRARIES[library]
    rng = np.random.default_rng([seed, 77, sum(map(ord, library))])
    X = contexts(rng, int(rng.integers(8, 30)), how)
    return _asked(rng, library, seed, X, lambda y: _regressor(rng, how, X, y), how)


def line_case(seed: int) -> ForecastCase:
    """A question about linear models, alone and behind a scaler."""
    rng = np.random.default_rng([seed, 78])
    X = contexts(rng, int(rng.integers(8, 30)), LIBRARIES["gradient"])

    def made(y: np.ndarray) -> Any:
        line = LinearRegression() if rng.random() < 0.5 else Ridge(0.1)
        return (make_pipeline(StandardScaler(), line) if rng.random() < 0.5 else line).fit(X, y)

    return _asked(rng, "line", seed, X, made, LIBRARIES["gradient"])


def _regressor(rng: np.random.Generator, how: Any, X: pd.DataFrame, y: np.ndarray) -> Any:
    for _ in range(50):
        model = how.make(rng, X, y)
        if not hasattr(model, "predict_proba"):
            return model
    raise AssertionError("no regressor")


def _asked(rng: np.random.Generator, library: str, seed: int, X: pd.DataFrame, made: Any, how: Any) -> ForecastCase:
    numeric = np.column_stack([_codes(X[name]) for name in X.columns])
    spread = np.nan_to_num((numeric - np.nanmean(numeric, axis=0)) / (np.nanstd(numeric, axis=0) + 1e-12))
    kind = str(rng.choice(["one", "orders", "linear"]))
    if library == "line" and kind == "orders":
        kind = "one"
    outcomes = {"one": 1, "orders": 2, "linear": int(rng.integers(2, 4))}[kind]
    money = float(rng.choice([1.0, 1.0, 1.0, 1e-6, 1e6]))
    Y = spread @ rng.normal(size=(spread.shape[1], outcomes)) + 0.4 * rng.normal(size=(len(X), outcomes)) + 6.0
    Y = (Y.round(int(rng.integers(1, 4))) if rng.random() < 0.7 else Y) * money
    models = [made(column) for column in Y.T]
    risk = wh.Expectation() if kind == "orders" or rng.random() < 0.6 else wh.CVaR(float(rng.choice([0.3, 0.5, 0.8])))
    holding, backorder = rng.integers(1, 5, outcomes), rng.integers(1, 9, outcomes)
    budget = None if rng.random() < 0.7 else float(outcomes * 6.0 * money)
    if kind == "linear":
        problem: Any = wh.LinearProblem(A_eq=np.ones((1, outcomes)), b_eq=[1.0], bounds=(0, 1))
    else:
        problem = wh.Newsvendor(holding, backorder, budget=budget)
    weights = wh.ForecastWeights.of(models, residuals="in-sample")
    policy = wh.Policy(problem, weights, risk, _schema(rng, X)).fit(X, Y)
    context = _start_of(rng, X, how, policy, library, models)
    decision = policy.decide(context)
    if kind == "linear":
        instead: Any = np.eye(outcomes)[int(rng.integers(outcomes))]
    else:
        instead = np.maximum(0.0, decision + rng.normal(size=outcomes) * 0.8 * money)
        if budget is not None:
            instead *= min(1.0, budget / max(instead.sum(), 1e-12))
    asked = "absolute" if rng.random() < 0.4 else "relative"
    margin = None
    if asked == "relative" and risk.tail is None and rng.random() < 0.3:
        # A share of a cost that may be negative is one of their mean size: what orders cost never is, but a forecast
        # may lie below all that was seen.
        margin = 0.05 if rng.random() < 0.5 and kind != "linear" else (0.05 * money, "cost")
    plain = asked == "absolute" and budget is None and risk.tail is None
    within = 0.05 if plain and kind != "linear" and rng.random() < 0.3 else 0.0
    gone = [name for name in X.columns if name[0] in "crz" and pd.isna(context[name])]
    return ForecastCase(
        library,
        seed,
        models,
        policy,
        context,
        decision,
        instead,
        asked,
        tuple(name for name in X.columns if rng.random() < 0.05),
        _bounds(rng, X),
        tuple(gone) if rng.random() < 0.5 else (),
        margin=margin,
        within=within,
    )


def _start_of(rng: np.random.Generator, X: pd.DataFrame, how: Any, policy: Any, library: str, models: Any) -> pd.Series:
    if library != "line":
        # Some starts lie on thresholds, of the first model.
        policy.weights.frozen, kept = models[0], policy.weights.frozen
        try:
            return _start(rng, X, how, policy)
        finally:
            policy.weights.frozen = kept
    row = X.iloc[int(rng.integers(len(X)))].astype(object).copy()
    for name in X.columns:
        if name[0] in "crz" and rng.random() < 0.4:
            low, high = float(X[name].min()), float(X[name].max())
            row[name] = float(rng.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low)))
    return policy.schema_.row(row)


def disagreement(seed: int) -> str:
    """In what the answer to the question of a seed differs from brute force; empty where it does not, or is unclear."""
    libraries = [*LIBRARIES, "line"]
    library, number = libraries[seed % len(libraries)], seed // len(libraries)
    asked = line_case(number) if library == "line" else tree_case(library, number)
    try:
        wanted = nearest_on_lines(asked) if library == "line" else brute_force(asked, judged)
    except Unclear:
        return ""
    why = asked.explained()
    if wanted is None:
        return ""
    if library != "line":
        return differing(asked, wanted, why)
    near = why.distance == wanted or abs(why.distance - wanted) <= 2e-6
    return "" if near else f"{why.status} at {why.distance!r}, linear programs {wanted!r}"


# ---- by formulas -----------------------------------------------------------------------------------------------------


def forecasts(asked: ForecastCase, rows: pd.DataFrame) -> np.ndarray:
    """The models' own forecasts."""
    columns = []
    for model in asked.model:
        if asked.library == "quantile":
            columns.append(np.mean([one.predict(rows.to_numpy(dtype=np.float32)) for one in model.estimators_], axis=0))
        else:
            columns.append(np.ravel(model.predict(rows)))
    return np.column_stack(columns).astype(np.float64)


def _risk(asked: ForecastCase, costs: np.ndarray) -> float:
    tail = asked.policy.risk_.tail
    if tail is None:
        return float(costs.mean())
    # The mean of the worst share, the last of which may count in part.
    worst = np.sort(costs)[::-1]
    share = np.clip(tail * costs.size - np.arange(costs.size), 0.0, 1.0)
    return float(share @ worst / (tail * costs.size))


def cost(asked: ForecastCase, plan: np.ndarray, scenarios: np.ndarray) -> float:
    """What a plan costs, by the formulas of the problems."""
    problem = asked.policy.problem
    if isinstance(problem, wh.LinearProblem):
        return _risk(asked, scenarios @ plan)
    over = plan - scenarios
    holding, backorder = np.asarray(problem.holding, dtype=float), np.asarray(problem.backorder, dtype=float)
    return _risk(asked, (holding * np.maximum(over, 0.0) + backorder * np.maximum(-over, 0.0)).sum(axis=1))


def least(asked: ForecastCase, scenarios: np.ndarray) -> float:
    """What the best plan costs."""
    problem = asked.policy.problem
    if isinstance(problem, wh.LinearProblem) and asked.policy.risk_.tail is None:
        return min(cost(asked, plan, scenarios) for plan in np.eye(scenarios.shape[1]))
    if not isinstance(problem, wh.LinearProblem) and problem.budget is None and asked.policy.risk_.tail is None:
        corners = [np.maximum(0.0, column) for column in scenarios.T]
        rates = zip(np.asarray(problem.holding), np.asarray(problem.backorder), scenarios.T, corners, strict=True)
        total = 0.0
        for h, b, demand, orders in rates:
            over = orders[:, None] - demand[None, :]
            total += float((h * np.maximum(over, 0.0) + b * np.maximum(-over, 0.0)).mean(axis=1).min())
        return total
    same = np.full(len(scenarios), 1.0 / len(scenarios))
    return cost(asked, problem.solve(scenarios, same, asked.policy.risk_), scenarios)


class Unclear(Exception):
    """An excess is so near to the tolerance that rounding decides."""


def judged(asked: ForecastCase, rows: pd.DataFrame) -> np.ndarray:
    """Whether each row is an explanation."""
    policy = asked.policy
    residuals = policy.Y_ - forecasts(asked, policy.X_)
    paid = [_each(asked, asked.instead, policy.Y_), _each(asked, asked.decision, policy.Y_)]
    tau, size = 1e-6 * float(np.abs(paid[0]).max()), max(float(np.abs(one).max()) for one in paid)
    share, amount = (asked.margin, 0.0) if isinstance(asked.margin, float) else (0.0, (asked.margin or (0.0,))[0])
    known: dict[bytes, bool] = {}
    found = np.zeros(len(rows), dtype=bool)
    for i, forecast in enumerate(forecasts(asked, rows)):
        key = forecast.tobytes()
        if key not in known:
            scenarios = forecast + residuals
            rival = cost(asked, asked.decision, scenarios) * (1.0 - share) - amount
            if asked.kind == "absolute":
                rival = least(asked, scenarios) * (1.0 + asked.within)
            over = cost(asked, asked.instead, scenarios) - rival - tau
            if abs(over) < CLEAR * size and abs(over + tau) > 1e-12 * size:
                raise Unclear
            known[key] = over <= 0.0
        found[i] = known[key]
    return found


def _each(asked: ForecastCase, plan: np.ndarray, Y: np.ndarray) -> np.ndarray:
    problem = asked.policy.problem
    if isinstance(problem, wh.LinearProblem):
        return Y @ plan
    over = plan - Y
    holding, backorder = np.asarray(problem.holding, dtype=float), np.asarray(problem.backorder, dtype=float)
    return (holding * np.maximum(over, 0.0) + backorder * np.maximum(-over, 0.0)).sum(axis=1)


# ---- lines: a linear program for every choice of what is not continuous ----------------------------------------------


#: A row of coefficients of the forecasts, and what they may add up to at most.
Row = tuple[np.ndarray, float]


def nearest_on_lines(asked: ForecastCase) -> float | None:
    """The nearest distance where forecasts are lines; None for questions that no few linear programs answer."""
    policy = asked.policy
    residuals = policy.Y_ - forecasts(asked, policy.X_)
    if judged_at(asked, asked.context):
        return 0.0
    if not isinstance(policy.problem, wh.LinearProblem):
        bands = _bands(asked, residuals)
        return None if bands is None else min((_nearest(asked, rows) for rows in bands), default=np.inf)
    tau = 1e-6 * float(np.abs(_each(asked, asked.instead, policy.Y_)).max())
    share, amount = (asked.margin, 0.0) if isinstance(asked.margin, float) else (0.0, (asked.margin or (0.0,))[0])
    if asked.kind == "absolute" and policy.risk_.tail is not None:
        return None
    rivals = [(asked.decision, 1.0 - share)]
    if asked.kind == "absolute":
        rivals = [(plan, 1.0) for plan in np.eye(residuals.shape[1])]
    rows = []
    for plan, factor in rivals:
        constant = _risk(asked, residuals @ asked.instead) - factor * _risk(asked, residuals @ plan)
        rows.append((asked.instead - factor * plan, tau - amount - constant))
    return _nearest(asked, rows)


def _bands(asked: ForecastCase, residuals: np.ndarray) -> list[list[Row]] | None:
    """Between which forecasts an order is an explanation: its excess is linear between the corners of all curves."""
    problem, r = asked.policy.problem, residuals[:, 0]
    if asked.policy.risk_.tail is not None:
        return None
    tau = 1e-6 * float(np.abs(_each(asked, asked.instead, asked.policy.Y_)).max())
    share, amount = (asked.margin, 0.0) if isinstance(asked.margin, float) else (0.0, (asked.margin or (0.0,))[0])
    orders = [float(asked.instead[0]), float(asked.decision[0]), 0.0]
    orders += [] if problem.budget is None else [float(problem.budget)]
    # The best order follows the forecast, at the distance of some residual, until it would be negative or too large.
    at = np.unique(np.concatenate([order - r for order in orders]))
    far = float(np.ptp(at)) + 1.0
    at = np.concatenate([[at[0] - far], at, [at[-1] + far]])

    def over(forecast: float) -> float:
        scenarios = forecast + residuals
        rival = cost(asked, asked.decision, scenarios) * (1.0 - share) - amount
        if asked.kind == "absolute":
            rival = least(asked, scenarios) * (1.0 + asked.within)
        return cost(asked, asked.instead, scenarios) - rival - tau

    value = np.array([over(f) for f in at])
    # Beyond the outermost corners the excess goes on as a line; where that turns elsewhere, the case is left out.
    if (value[0] > 0) != (value[1] > 0) or (value[-1] > 0) != (value[-2] > 0):
        return None
    bands: list[list[Row]] = []
    begin: float | None = -np.inf if value[0] <= 0 else None
    for i in range(1, at.size):
        if (value[i] <= 0) == (value[i - 1] <= 0):
            continue
        crossing = at[i - 1] + (at[i] - at[i - 1]) * value[i - 1] / (value[i - 1] - value[i])
        if begin is None:
            begin = crossing
        else:
            bands.append(_between(begin, crossing))
            begin = None
    return bands + ([] if begin is None else [_between(begin, np.inf)])


def _between(low: float, high: float) -> list[Row]:
    rows = [(np.ones(1), high), (-np.ones(1), -low)]
    return [row for row in rows if np.isfinite(row[1])]


def _nearest(asked: ForecastCase, asking: list[Row]) -> float:
    """The nearest distance of a context whose forecasts keep the rows: a linear program for each choice of steps."""
    names = list(asked.policy.X_.columns)
    moving = [name for name in names if name[0] in "crz" and name not in asked.fixed]
    steady = [name for name in names if name not in moving]
    start = {name: float(asked.context[name]) for name in names}
    ranges = {name: _range(asked, name) for name in names}
    best = np.inf
    for chosen in itertools.product(*(_values(asked, name) for name in steady)):
        row = {**start, **dict(zip(steady, (float(v) for v, _ in chosen), strict=True))}
        paid = sum(price for _, price in chosen)
        # x = start + up - down for every moving feature: minimise the weighted sum of both.
        slopes, level = _line(asked, row, moving)
        A = np.array([np.concatenate([slopes @ c, -(slopes @ c)]) for c, _ in asking]).reshape(len(asking), -1)
        limits = np.array([limit - level @ c for c, limit in asking])
        rooms = [max(0.0, ranges[name][1] - start[name]) for name in moving]
        rooms += [max(0.0, start[name] - ranges[name][0]) for name in moving]
        prices = np.array([_weight(asked, name) for name in moving] * 2)
        # A start outside of what is allowed may stay, or has to go to where that begins.
        if any(not low <= start[name] <= high for name in moving for low, high in [ranges[name]]):
            raise Unclear
        scale = np.array(rooms)
        size = np.maximum(np.abs(A * scale).max(axis=1, initial=0.0), 1e-300)
        if not (np.abs(A * scale) > 0.0).any():
            best = min(best, paid) if (limits >= 0.0).all() else best
            continue
        solved = linprog(
            prices * scale,
            A * scale / size[:, None],
            limits / size,
            bounds=(0.0, 1.0),
        )
        if solved.status == 0:
            best = min(best, paid + float(solved.fun))
    return best


def judged_at(asked: ForecastCase, row: pd.Series) -> bool:
    """Whether the initial context is an explanation."""
    X = asked.policy.X_
    rows = pd.DataFrame([list(row)], columns=X.columns)
    for name in X.columns:
        rows[name] = rows[name].astype(X[name].dtype)
    return bool(judged(asked, rows)[0])


def _line(asked: ForecastCase, row: dict[str, float], moving: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the forecasts along the moving features, and their level, by asking the models."""
    X = asked.policy.X_
    spans = {name: float(X[name].max() - X[name].min()) or 1.0 for name in moving}
    rows = [row, *({**row, name: row[name] + spans[name]} for name in moving)]
    table = pd.DataFrame(rows, columns=X.columns).astype(float)
    found = forecasts(asked, table)
    slopes = np.array([(found[i + 1] - found[0]) / spans[name] for i, name in enumerate(moving)])
    return slopes.reshape(len(moving), found.shape[1]), found[0]


def _weight(asked: ForecastCase, name: str) -> float:
    X = asked.policy.X_
    span = float(X[name].max() - X[name].min())
    return float(asked.policy.schema_.features[name].weight) / (span if span > 0 else 1.0)


def _range(asked: ForecastCase, name: str) -> tuple[float, float]:
    X, start = asked.policy.X_, float(asked.context[name])
    low, high = float(X[name].min()), float(X[name].max())
    if low == high and name not in asked.bounds:
        return min(low, start), max(high, start)
    low, high = min(low, start), max(high, start)
    given = asked.bounds.get(name, (low, high))
    low, high = max(low, given[0]), min(high, given[1])
    change = asked.policy.schema_.features[name].change
    return (max(low, start) if change == "increase" else low), (min(high, start) if change == "decrease" else high)


def _values(asked: ForecastCase, name: str) -> list[tuple[float, float]]:
    """The values of a feature that goes in steps, with what they cost."""
    start = float(asked.context[name])
    if name in asked.fixed:
        return [(start, 0.0)]
    feature = asked.policy.schema_.features[name]
    if name[0] == "b":
        other = [1.0 - start] if feature.change == "free" or bool(start) == (feature.change == "decrease") else []
        return [(start, 0.0)] + [(value, float(feature.weight)) for value in other]
    low, high = _range(asked, name)
    levels = sorted({float(v) for v in asked.policy.X_[name].unique()} | {start})
    weight = _weight(asked, name)
    return [(v, weight * abs(v - start)) for v in levels if v == start or low <= v <= high]
