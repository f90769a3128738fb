"""Forecast first, then optimise: a courier's route by forecasts of travel times, and what would bring another one."""

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import whence as wh

#: In the order of the graph's edges, which is that of the outcomes.
STREETS = [("Depot", "Bridge"), ("Depot", "Ring"), ("Bridge", "Hospital"), ("Bridge", "Ring"), ("Ring", "Hospital")]


def history(days: int = 400) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Time of day, rain and roadworks, and the minutes on every street."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "hour": rng.integers(6, 20, days),
            "rain": rng.exponential(1.5, days).round(1),
            "roadworks": rng.random(days) < 0.2,
        }
    )
    busy = np.exp(-((X["hour"] - 8) ** 2) / 4) + np.exp(-((X["hour"] - 17) ** 2) / 4)
    base = np.array([9.0, 12.0, 10.0, 4.0, 11.0])
    slow = np.outer(busy, [9, 3, 7, 1, 2]) + np.outer(X["rain"], [0.6, 0.2, 0.5, 0.3, 0.2])
    slow += np.outer(X["roadworks"], [5, 0, 0, 2, 0])
    Y = base + slow + rng.normal(0, 1.0, slow.shape)
    return X, pd.DataFrame(Y.round(1), columns=[f"{a} -> {b}" for a, b in STREETS])


def main() -> None:
    """The same question to a forest and to a line."""
    X, Y = history()
    problem = wh.ShortestPath(nx.DiGraph(STREETS), "Depot", "Hospital", cost_unit="min")
    schema = wh.Schema({"hour": wh.Discrete(range(6, 20), unit="h"), "rain": wh.Continuous(unit="mm", low=0)})
    today = {"hour": 12, "rain": 0.5, "roadworks": False}
    for model in (RandomForestRegressor(60, min_samples_leaf=5, random_state=0), LinearRegression()):
        policy = wh.Policy(problem, wh.ForecastWeights(model), schema=schema).fit(X, Y)
        print(policy.explain(today, instead=["Depot", "Ring", "Hospital"], kind="absolute"), "\n")


if __name__ == "__main__":
    main()
