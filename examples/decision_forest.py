"""A forest that is grown for the decision: dear products decide where it splits, not those that vary most."""

from typing import Any

import numpy as np
import pandas as pd

import whence as wh


def history(days: int = 600) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A kiosk: papers vary much and cost little, sushi varies little and costs much."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "passengers": rng.uniform(200, 900, days).round(),
            "temperature": rng.uniform(0, 35, days).round(1),
            "delay": rng.exponential(6, days).round(),
            "trains": rng.integers(20, 40, days),
        }
    )
    papers = 0.2 * X["passengers"] + rng.normal(0, 25, days)
    sushi = 24 - 0.4 * X["temperature"] + 0.3 * X["delay"] + rng.normal(0, 1.5, days)
    return X, pd.DataFrame({"papers": papers, "sushi": sushi}).clip(lower=0).round()


def main() -> None:
    """Compare both forests on rows that they have not seen, and explain a decision of the better one."""
    X, Y = history()
    problem = wh.Newsvendor(holding=[0.2, 6], backorder=[0.5, 9], names=["papers", "sushi"], cost_unit="€")
    same: dict[str, Any] = {"max_depth": 3, "min_samples_leaf": 5, "max_features": "sqrt", "random_state": 0}
    policies = {
        "plain": wh.Policy(problem, wh.ForestWeights(**same)),
        "decision-aware": wh.Policy(problem, wh.DecisionForest(**same)),
    }
    good = wh.evaluate(policies, X, Y, against=[])
    print(good.frame[["cost", "prescriptiveness"]].round(2), "\n")

    policy = policies["decision-aware"].fit(X, Y)
    today = {"passengers": 520, "temperature": 27.0, "delay": 3, "trains": 30}
    print(policy.explain(today, instead=[105, 24]))


if __name__ == "__main__":
    main()
