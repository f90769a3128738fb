"""Explanations of models of other libraries: how long they take, and what share is proved in ten seconds.

    python benchmarks/predictors.py --questions 5
    python benchmarks/predictors.py --questions 20 --seconds 10 --json predictors.json

300 boosted trees of depth 6 (XGBoost) with 12 and with 50 features, and a quantile forest without a depth limit, on
1,000 past observations. Two questions each: in what context would a larger order have been better (leaf weights), and
in what context would the forecast reach the 80 % quantile of those in the history (the forecast itself). Times are of
the processor, for one question; the first question, which builds the grid, is measured apart.

``--section neighbours`` asks the first question of Euclidean neighbours (k = 10 of 1,000 and of 5,000 observations)
and of kernels (1,000 observations, proved to 1 %), with 2, 4 and 6 features.
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


MODELS: dict[str, tuple[int, Callable[[], Any]]] = {
    "XGBoost 300 x depth 6, d = 12": (12, lambda: XGBRegressor(n_estimators=300, max_depth=6, n_jobs=1)),
    "XGBoost 300 x depth 6, d = 50": (50, lambda: XGBRegressor(n_estimators=300, max_depth=6, n_jobs=1)),
    "quantile forest 100, no depth limit, d = 12": (
        12,
        lambda: RandomForestQuantileRegressor(n_estimators=100, random_state=0),
    ),
}


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


#: Neighbours and kernels: past observations, and the weights.
SIMILAR: dict[str, tuple[int, Any]] = {
    "Euclidean neighbours, k = 10, n = 1,000": (1000, wh.KNNWeights(10, "euclidean")),
    "Euclidean neighbours, k = 10, n = 5,000": (5000, wh.KNNWeights(10, "euclidean")),
    "Gaussian kernel 0.1, n = 1,000": (1000, wh.KernelWeights(0.1)),
    "tricube kernel 0.3, n = 1,000": (1000, wh.KernelWeights(0.3, "tricube")),
}


def similar(questions: int, seconds: float) -> list[dict[str, Any]]:
    """What neighbours and kernels take, with more and more features."""
    rows = []
    for name, (samples, weights) in SIMILAR.items():
        for features in (2, 4, 6):
            rng = np.random.default_rng(1)
            X = rng.random((samples, features))
            demand = 50 + 30 * X[:, 0] - 20 * X[:, 1] + 10 * np.sin(6 * X[:, -1]) + 3 * rng.normal(size=samples)
            policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), weights).fit(X, demand[:, None])

            def ask(i: int, policy: Any = policy, X: Any = X) -> Any:
                return policy.explain(X[i], instead=policy.decide(X[i]) * 1.2, time_limit=seconds)

            rows.append({"model": f"{name}, d = {features}", "question": "weights", **measured(ask, questions)})
            show(rows[-1])
    return rows


def show(row: dict[str, Any]) -> None:
    """Print what was measured."""
    print(
        f"{row['model']:45s} {row['question']:13s} proved {row['proved']:4.0%}  median {row['median']:7.3f} s  "
        f"largest {row['largest']:7.3f} s  first {row['first']:6.2f} s",
        flush=True,
    )


def main() -> None:
    """Measure, print a table, and write it where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5, help="questions per model and kind")
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of one question")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--section", choices=("trees", "neighbours"), help="measure one part alone")
    given = parser.parse_args()
    rows = similar(given.questions, given.seconds) if given.section in (None, "neighbours") else []
    for name, (features, make) in MODELS.items() if given.section in (None, "trees") else ():
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
            show(rows[-1])
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
