"""Boosted trees that are already there: why this many cones, and what would bring the forecast to 100."""

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor

import whence as wh


def history(days: int = 600) -> tuple[pd.DataFrame, pd.Series]:
    """Weather, day of the week and cones sold; on some days nobody noted the rain."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(
        {
            "temperature": rng.uniform(5, 35, days).round(1),
            "rain": rng.exponential(2, days).round(1),
            "day": pd.Categorical(rng.choice(["weekday", "Saturday", "Sunday"], days, p=[5 / 7, 1 / 7, 1 / 7])),
        }
    )
    sold = 20 + 3 * X["temperature"] - 4 * X["rain"] + 30 * (X["day"] == "Sunday") + 10 * (X["day"] == "Saturday")
    sold = (sold + rng.normal(0, 8, days)).clip(lower=0).round()
    X.loc[rng.random(days) < 0.1, "rain"] = np.nan
    return X, sold.rename("cones")


def main() -> None:
    """Explain a decision and a forecast of the same model."""
    X, sold = history()
    model = LGBMRegressor(n_estimators=80, max_depth=4, verbose=-1, n_jobs=1, random_state=0).fit(X, sold)
    today = {"temperature": 17.0, "rain": np.nan, "day": "weekday"}

    policy = wh.Policy(wh.Newsvendor(holding=1, backorder=3), wh.ForestWeights.of(model)).fit(X, sold)
    plan = policy.decide(today)
    print(policy.explain(today, instead=plan + 20), "\n")

    print(wh.Ensemble(model, unit="cones").fit(X).explain(today, at_least=100))


if __name__ == "__main__":
    main()
