"""Absolute questions about a human plan: today's decision with a fifth more of one product, on a restaurant's history.

    python benchmarks/absolute.py [--quick] [--instances 40]

The table goes to ``docs/benchmarks/tables/absolute.md``; with ``--quick``, to ``.benchmarks``. The data are those of
the package ``ddop`` (765 days of a restaurant in Stuttgart, seven products): they are taken from the folder that the
environment variable ``WHENCE_YAZ`` names (``yaz_data.csv`` and ``yaz_target.csv``), or from an installed ``ddop``;
where there is neither, a synthetic history of the same shape stands in, and the table says so.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import whence as wh
from _common import Report, Settings, main, shown
from paper.forests import paper_forest

PRODUCTS = ["calamari", "fish", "shrimp", "chicken", "koefte", "lamb", "steak"]
LIMIT = 10.0
#: Units that a day's order may have in the rows with a budget: less than the busiest days ask for.
BUDGET = 200.0
SETTLED = ("optimal", "none", "already")


def folder() -> Path | None:
    """Where the restaurant's tables are."""
    if named := os.environ.get("WHENCE_YAZ"):
        return Path(named)
    found = importlib.util.find_spec("ddop")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / "datasets" / "data"


def history() -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Contexts, demands, and where they come from."""
    where = folder()
    if where is None:
        return *synthetic(), "a synthetic stand-in of the same shape"
    contexts = pd.read_csv(where / "yaz_data.csv").drop(columns="date", errors="ignore")
    return contexts, pd.read_csv(where / "yaz_target.csv")[PRODUCTS], "ddop's yaz table"


def synthetic(days: int = 765) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Days of the same features, with demands that follow weekday, season and weather."""
    rng = np.random.default_rng(0)
    date = pd.date_range("2013-10-04", periods=days)
    season = np.cos(2 * np.pi * (date.dayofyear.to_numpy() - 200) / 365)
    weekend = (date.dayofweek >= 5).astype(int)
    contexts = pd.DataFrame(
        {
            "weekday": date.day_name().str[:3].str.upper(),
            "month": date.month_name().str[:3].str.upper(),
            "year": date.year,
            "is_holiday": (rng.random(days) < 0.04).astype(int),
            "is_closed": (rng.random(days) < 0.02).astype(int),
            "weekend": weekend,
            "wind": rng.gamma(3.0, 0.8, days).round(1),
            "clouds": rng.uniform(0, 8, days).round(1),
            "rain": (rng.exponential(4.0, days) * (rng.random(days) < 0.5)).round(1),
            "sunshine": rng.uniform(0, 700, days).round(),
            "temperature": (11 + 9 * season + rng.normal(0, 4, days)).round(1),
        }
    )
    level = 1.0 + 0.35 * weekend + 0.02 * contexts["temperature"] - 0.01 * contexts["rain"]
    level = level.to_numpy() * np.where(contexts["is_closed"] == 1, 0.1, 1.0)
    base = np.array([6.0, 6.0, 8.0, 40.0, 28.0, 40.0, 30.0])
    demands = rng.poisson(np.maximum(0.2, level[:, None] * base))
    return contexts, pd.DataFrame(demands, columns=PRODUCTS)


def more_of_one(policy: wh.Policy, today: Any, product: int, budget: float | None) -> np.ndarray:
    """The decision with a fifth more of one product; within the budget, at the expense of the others."""
    plan = np.array(policy.decide(today), dtype=float)
    plan[product] *= 1.2
    if budget is not None and plan.sum() > budget:
        others = np.arange(plan.size) != product
        plan[others] *= (budget - plan[product]) / plan[others].sum()
    return plan


def measure(report: Report, policy: wh.Policy, questions: list[tuple[Any, np.ndarray]], **labels: Any) -> None:
    """Two rows of the table: all questions within a share, and half of them without, which mostly take their time."""
    for within, part in ((0.02, 1), (0.0, 2)):
        ended: Counter[str] = Counter()
        worked, waited = [], []
        asked = questions[: len(questions) // part]
        for today, plan in asked:
            began, clock = time.process_time(), time.perf_counter()
            why = policy.explain(today, plan, kind="absolute", within=within, time_limit=LIMIT)
            worked.append(time.process_time() - began)
            waited.append(time.perf_counter() - clock)
            ended[why.status] += 1
        report.row(
            **labels,
            within=f"{100 * within:g} %",
            questions=len(asked),
            settled=sum(ended[status] for status in SETTLED),
            **{status: ended[status] for status in (*SETTLED, "time_limit")},
            median_cpu_s=shown(statistics.median(worked)),
            most_cpu_s=shown(max(worked)),
            longest_s=shown(max(waited)),
        )


def absolute(settings: Settings) -> None:
    """The table."""
    contexts, demands, source = history()
    count = 6 if settings.quick else settings.instances
    report = Report("absolute", settings)
    report.text(
        f"Data: {source}, {len(contexts)} days, {len(PRODUCTS)} products; 100 trees of depth 4, a limit of {LIMIT:g} s."
    )
    for risk, budget in ((wh.Expectation(), None), (wh.Expectation(), BUDGET), (wh.CVaR(0.8), None)):
        problem = wh.Newsvendor(np.full(7, 1.0), np.full(7, 4.0), budget=budget)
        forest = paper_forest(n_trees=100, max_depth=4, random_state=0)
        policy = wh.Policy(problem, forest, risk=risk).fit(contexts, demands)
        rng = np.random.default_rng(0)
        count = count if isinstance(risk, wh.Expectation) else count // 2
        picked = [(contexts.iloc[int(rng.integers(len(contexts)))], int(rng.integers(7))) for _ in range(count)]
        questions = [(today, more_of_one(policy, today, product, budget)) for today, product in picked]
        name = "expected cost" if isinstance(risk, wh.Expectation) else "CVaR(0.8)"
        measure(report, policy, questions, risk=name, budget="-" if budget is None else f"{budget:g}")
    report.write()


if __name__ == "__main__":
    main("Absolute questions about a human plan.", {"absolute": absolute}, lambda: None, sys.argv[1:])
