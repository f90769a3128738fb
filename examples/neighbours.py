"""Neighbours that are already there, and a kernel on the same data: when would another route have been quicker?"""

import numpy as np
import pandas as pd
from sklearn.neighbors import KNeighborsRegressor

import whence as wh


def history(days: int = 400) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rain, traffic and the minutes that two routes took."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"rain": rng.exponential(2, days).round(1), "cars": rng.integers(200, 2000, days)})
    ring = 22 + 0.012 * X["cars"] + rng.normal(0, 3, days)
    tunnel = 30 + 0.002 * X["cars"] + 1.5 * X["rain"] + rng.normal(0, 3, days)
    return X, pd.DataFrame({"ring": ring.round(1), "tunnel": tunnel.round(1)})


def main() -> None:
    """Explain the same decision by Euclidean neighbours in their own units, and by a kernel."""
    X, minutes = history()
    problem = wh.LinearProblem(A_eq=[[1, 1]], b_eq=[1], integrality=[1, 1])
    model = KNeighborsRegressor(n_neighbors=15).fit(X, minutes)
    today = {"rain": 4.0, "cars": 900}

    for weights in (wh.KNNWeights.of(model), wh.KernelWeights(bandwidth=0.15)):
        policy = wh.Policy(problem, weights).fit(X, minutes)
        print(policy.explain(today, instead=1 - policy.decide(today)), "\n")


if __name__ == "__main__":
    main()
