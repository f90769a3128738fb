"""Explanations of models of other libraries: how long they take, and what share is proved in ten seconds.

    python benchmarks/predictors.py --questions 5
    python benchmarks/predictors.py --questions 20 --seconds 10 --json predictors.json

300 boosted trees of depth 6 (XGBoost) with 12 and with 50 features, and a quantile forest without a depth limit, on
1,000 past observations. Two questions each: in what context would a larger order have been better (leaf weights), and
in what context would the forecast reach the 80 % quantile of those in the history (the forecast itself). Then policies
that forecast and add the residuals of the past: a larger order of one product and of three, and another of three
suppliers, whose prices are forecast. Times are of the processor, for one question; the first question, which builds the
grid, is measured apart.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from quantile_forest import RandomForestQuantileRegressor
from sklearn.linear_model import LinearRegression
from xgboost import XGBRegressor

import whence as wh

SAMPLES = 1000


def history(features: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Contexts in which a few features matter, some of them together, and a demand."""
    rng = np.random.default_rng(seed)
    X = rng.random((SAMPLES, features))
    demand = 50 + 30 * X[:, 0] - 20 * X[:, 1] + 25 * X[:, 2] * X[:, 3] + 10 * np.sin(6 * X[:, 4])
    demand += 5 * X[:, 5:].mean(axis=1) + 3 * rng.normal(size=SAMPLES)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(features)]), pd.DataFrame({"demand": demand})


def prices(features: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same contexts, and three outcomes that depend on them in ways of their own."""
    X, Y = history(features, seed)
    rng = np.random.default_rng([seed, 3])
    for name in ("second", "third"):
        Y[name] = 60 + X.to_numpy()[:, :6] @ rng.normal(0, 15, 6) + 3 * rng.normal(size=SAMPLES)
    return X, Y


MODELS: dict[str, tuple[int, Callable[[], Any]]] = {
    "XGBoost 300 x depth 6, d = 12": (12, lambda: XGBRegressor(n_estimators=300, max_depth=6, n_jobs=1)),
    "XGBoost 300 x depth 6, d = 50": (50, lambda: XGBRegressor(n_estimators=300, max_depth=6, n_jobs=1)),
    "quantile forest 100, no depth limit, d = 12": (
        12,
        lambda: RandomForestQuantileRegressor(n_estimators=100, random_state=0),
    ),
}


def boosted() -> Any:
    """XGBoost, 100 trees of depth 4: three of them for three outcomes."""
    return XGBRegressor(n_estimators=100, max_depth=4, n_jobs=1)


RESIDUALS: dict[str, tuple[int, Callable[[], Any], str]] = {
    "XGBoost 300 x depth 6, d = 12, one product": (12, MODELS["XGBoost 300 x depth 6, d = 12"][1], "one"),
    "XGBoost 100 x depth 4 each, d = 12, three products": (12, boosted, "several"),
    "XGBoost 100 x depth 4 each, d = 12, three suppliers": (12, boosted, "suppliers"),
    "line, d = 12, one product": (12, LinearRegression, "one"),
    "line, d = 50, three suppliers": (50, LinearRegression, "suppliers"),
}


def with_residuals(features: int, make: Callable[[], Any], kind: str, seconds: float) -> Callable[[int], Any]:
    """Questions to a policy that forecasts: order a fifth more, or buy from the second supplier."""
    X, Y = history(features, seed=1) if kind == "one" else prices(features, seed=1)
    if kind == "suppliers":
        problem: Any = wh.LinearProblem(A_eq=np.ones((1, 3)), b_eq=[1.0], bounds=(0, 1))
    else:
        problem = wh.Newsvendor(holding=1, backorder=3)
    policy = wh.Policy(problem, wh.ForecastWeights(make(), residuals="cross")).fit(X, Y)
    rows = [i for i in range(200) if kind != "suppliers" or policy.decide(X.iloc[i])[1] < 0.5]

    def ask(i: int) -> Any:
        today = X.iloc[rows[i]]
        instead = [0.0, 1.0, 0.0] if kind == "suppliers" else policy.decide(today) * 1.2
        return policy.explain(today, instead=instead, time_limit=seconds)

    return ask


def measured(ask: Callable[[int], Any], questions: int) -> dict[str, Any]:
    """Ask `questions` questions; the first one once before, so that the grid is there."""
    began = time.process_time()
    ask(0)
    first = time.process_time() - began
    spent, proved = [], 0
    for i in range(questions):
        began = time.process_time()
        proved += ask(i).status in ("optimal", "none", "already")
        spent.append(time.process_time() - began)
    return {
        "first": first,
        "median": float(np.median(spent)),
        "largest": float(max(spent)),
        "proved": proved / questions,
        "questions": questions,
    }


def main() -> None:
    """Measure, print a table, and write it where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5, help="questions per model and kind")
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of one question")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    given = parser.parse_args()
    rows = []
    for name, (features, make) in MODELS.items():
        X, Y = history(features, seed=1)
        model = make().fit(X, Y["demand"])
        policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.ForestWeights.of(model)).fit(X, Y)
        ensemble = wh.Ensemble(model).fit(X)
        forecast = ensemble.predict(X)
        goal = float(np.quantile(forecast, 0.8))
        low = X[forecast < np.quantile(forecast, 0.5)].reset_index(drop=True)

        def weights(i: int, policy: Any = policy, low: Any = low) -> Any:
            return policy.explain(low.iloc[i], instead=policy.decide(low.iloc[i]) * 1.2, time_limit=given.seconds)

        def itself(i: int, ensemble: Any = ensemble, low: Any = low, goal: float = goal) -> Any:
            return ensemble.explain(low.iloc[i], at_least=goal, time_limit=given.seconds)

        for kind, ask in (("leaf weights", weights), ("forecast", itself)):
            rows.append({"model": name, "question": kind, **measured(ask, given.questions)})
            last = rows[-1]
            print(
                f"{name:45s} {kind:13s} proved {last['proved']:4.0%}  median {last['median']:7.3f} s  "
                f"largest {last['largest']:7.3f} s  first {last['first']:6.2f} s",
                flush=True,
            )
    for name, (features, make, kind) in RESIDUALS.items():
        ask = with_residuals(features, make, kind, given.seconds)
        rows.append({"model": name, "question": "residuals", **measured(ask, given.questions)})
        last = rows[-1]
        print(
            f"{name:52s} residuals proved {last['proved']:4.0%}  median {last['median']:7.3f} s  "
            f"largest {last['largest']:7.3f} s  first {last['first']:6.2f} s",
            flush=True,
        )
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
