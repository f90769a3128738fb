"""A bakery decides in the evening what to bake for tomorrow."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.base import clone

from whence.examples.example import Example
from whence.features import Binary, Categorical, Continuous, Schema
from whence.policy import Policy
from whence.problems.newsvendor import Newsvendor
from whence.weights import ForestWeights

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PRODUCTS = ("rolls", "rye bread", "croissants", "fruit cake")

# Mean demand on a mild, dry working day without a promotion.
USUAL = np.array([240.0, 70.0, 60.0, 24.0])
# Saturday brings the weekly shopping, Sunday breakfast and coffee: no rye bread, much else.
SATURDAY = np.array([1.45, 1.40, 1.50, 1.60])
SUNDAY = np.array([1.25, 0.55, 1.90, 2.00])
FRIDAY = np.array([1.10, 1.20, 1.05, 1.15])
# Per degree above 15: cake and croissants suffer in the heat.
HEAT = np.array([-0.002, -0.004, -0.012, -0.022])
RAIN = np.array([0.94, 0.97, 0.90, 0.85])
PROMOTION = np.array([1.05, 1.00, 1.45, 1.30])

LEFT_OVER = (0.15, 0.70, 0.45, 1.60)
SOLD_OUT = (0.45, 1.90, 1.10, 3.40)
OVEN = 560


def load(n: int = 500, seed: int = 0) -> Example:
    """The bakery's last `n` days, and its question for tomorrow; the same seed gives the same data.

    Examples
    --------
    >>> example = load(n=200)
    >>> list(example.Y.columns)
    ['rolls', 'rye bread', 'croissants', 'fruit cake']
    """
    X, Y = _history(n, seed)
    schema = Schema(
        {
            "weekday": Categorical(DAYS),
            "temperature": Continuous(unit="°C"),
            "rain": Binary(),
            "promotion": Binary(),
        }
    )
    problem = Newsvendor(list(LEFT_OVER), list(SOLD_OUT), budget=OVEN, names=list(PRODUCTS), cost_unit="€")
    weights = ForestWeights(n_trees=100, max_depth=4, max_features="sqrt", min_samples_leaf=1, random_state=seed)
    policy = Policy(problem, weights=weights, schema=schema)
    today = pd.Series(
        {"weekday": "Thursday", "temperature": 7.0, "rain": False, "promotion": False}, name="tomorrow", dtype=object
    )
    # What the baker knows by heart is what was baked on the warm Saturdays of last summer.
    saturday = {**today.to_dict(), "weekday": "Saturday", "temperature": 20.0}
    alternative = clone(policy).fit(X, Y).decide(saturday)
    return Example(
        name="bakery",
        title="Why not bake as on a warm Saturday?",
        question=(
            "Tomorrow is a dry Thursday at 7 °C without a promotion. The baker would bake as on a warm Saturday, the "
            f"policy less. Costs are what is lost on pieces left over or sold out; the oven holds {OVEN} pieces."
        ),
        X=X,
        Y=Y,
        problem=problem,
        policy=policy,
        today=today,
        alternative=alternative,
    )


def _history(n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    day = np.arange(n)
    weekday = day % 7
    # Seasons, and weather that stays a while.
    drift = np.zeros(n)
    shock = rng.normal(0.0, 2.0, n)
    for t in range(1, n):
        drift[t] = 0.75 * drift[t - 1] + shock[t]
    temperature = np.round(12.0 + 9.0 * np.sin(2 * np.pi * (day - 100) / 365) + drift, 1)
    rain = rng.random(n) < 0.35
    promotion = rng.random(n) < 0.22
    busy = np.ones((n, len(PRODUCTS)))
    for index, factor in ((4, FRIDAY), (5, SATURDAY), (6, SUNDAY)):
        busy[weekday == index] = factor
    busy *= 1.0 + HEAT * (temperature - 15.0)[:, None]
    busy[rain] *= RAIN
    busy[promotion] *= PROMOTION
    mood = rng.normal(1.0, 0.07, (n, 1))
    demand = rng.poisson(np.clip(USUAL * busy * mood, 1.0, None))
    X = pd.DataFrame(
        {
            "weekday": pd.Categorical([DAYS[i] for i in weekday], categories=list(DAYS)),
            "temperature": temperature,
            "rain": rain,
            "promotion": promotion,
        },
        index=pd.date_range("2024-01-01", periods=n, freq="D").strftime("%Y-%m-%d"),
    )
    return X, pd.DataFrame(demand, columns=list(PRODUCTS), index=X.index)
