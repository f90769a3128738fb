"""Do decision-aware forests decide better than plain ones, and how long do they take to grow?

    python benchmarks/decision_forests.py [--quick]

The tables go to ``docs/benchmarks/tables/decision-forests.md`` and ``decision-forests-time.md``; with ``--quick``, to
``.benchmarks``. Both forests have the same number of trees and the same limits, and are judged on the same rows that
they have not seen.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import whence as wh
from _common import Report, Settings, main, shown
from defaults import Case, airports, project
from paper.histories import PROBLEMS

#: Rows that are held out in all, and trees of a forest.
ROWS, TREES = 200, 50
LIMITS: dict[str, dict[str, Any]] = {
    "depth 4": {"max_depth": 4, "min_samples_leaf": 5, "max_features": "sqrt"},
    "any depth": {"max_depth": None, "min_samples_leaf": 10, "max_features": 0.5},
}


def paper(name: str, n: int, **sizes: int) -> Case:
    """One of the paper's experiments."""
    history = PROBLEMS[name](n, np.random.default_rng([0, 0]), **sizes)
    return history.problem, history.risk, pd.DataFrame(history.X).add_prefix("x"), pd.DataFrame(history.Y), None


def uneven(n: int) -> Case:
    """Products whose demands vary the more, the less they cost, each driven by a feature of its own."""
    rng = np.random.default_rng(11)
    X = rng.random((n, 10))
    dear = np.array([1.0, 3.0, 10.0, 30.0])
    Y = 100 + (60 * X[:, :4] + 20 * rng.random((n, 4))) / dear**1.2
    problem = wh.Newsvendor(holding=dear, backorder=9 * dear)
    return problem, None, pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y), None


def spread(n: int) -> Case:
    """One product whose mean demand is always the same: only its spread depends on the context."""
    rng = np.random.default_rng(12)
    X = rng.random((n, 10))
    Y = 100 + 30 * X[:, :1] ** 2 * rng.normal(size=(n, 1))
    return wh.Newsvendor(holding=1, backorder=9), None, pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y), None


def portfolio(n: int) -> Case:
    """Shares of three assets under CVaR: the losses of Kallus and Mao's experiment, eight features say nothing."""
    rng = np.random.default_rng(13)
    X = rng.normal(size=(n, 10))
    sides = [(-3, -1), (-1, 1), (1, 3)]
    scale = [1 - 0.5 * ((low <= X[:, 1]) & (X[:, 1] <= high)) for low, high in sides]
    means = [1 + 0.2 * np.exp(X[:, 0]), 1 - 0.2 * X[:, 0], 1 + 0.2 * np.abs(X[:, 0])]
    returns = np.column_stack([mean - rng.lognormal(0.0, one) for mean, one in zip(means, scale, strict=True)])
    problem = wh.LinearProblem(A_eq=[[1, 1, 1]], b_eq=[1])
    return problem, wh.CVaR(0.8), pd.DataFrame(X).add_prefix("x"), pd.DataFrame(-returns), None


CASES: dict[str, Callable[[], Case]] = {
    "newsvendor, uneven costs": lambda: uneven(1000),
    "newsvendor, only the spread changes": lambda: spread(1000),
    "portfolio (CVaR)": lambda: portfolio(400),
    "paper: newsvendor": lambda: paper("newsvendor", 400),
    "paper: shipment": lambda: paper("shipment", 400),
    "paper: shortest path": lambda: paper("shortest_path", 400),
    "paper: shortest path, d = 10": lambda: paper("shortest_path", 1000, features=10, width=5),
    "paper: shortest path (CVaR)": lambda: paper("cvar_shortest_path", 400),
    "restaurant": lambda: project("restaurant"),
    "bike share": lambda: project("bike-share"),
    "airports (CVaR)": airports,
}


@cache
def case(name: str) -> Case:
    """The data, read once."""
    return CASES[name]()


def decided(settings: Settings) -> None:
    """What the decisions cost on rows not seen."""
    report = Report("decision-forests", settings)
    trees, rows = (20, 60) if settings.quick else (TREES, ROWS)
    for name in CASES:
        problem, risk, X, Y, schema = case(name)
        for limit, given in LIMITS.items():
            same = {"n_trees": trees, "random_state": 0, **given}
            forests = {
                "plain": wh.ForestWeights(**same),
                "aware": wh.DecisionForest(**same),
                "honest": wh.DecisionForest(honest=True, **same),
            }
            policies = {label: wh.Policy(problem, one, risk, schema) for label, one in forests.items()}
            found = wh.evaluate(policies, X, Y, cv=5, against=[], most_rows=rows)
            placed = found.frame["prescriptiveness"]
            saved = 1.0 - found.totals["aware"] / found.totals["plain"]
            report.row(
                data=name,
                trees=limit,
                plain=f"{placed['plain']:.2f}",
                decision_aware=f"{placed['aware']:.2f}",
                honest=f"{placed['honest']:.2f}",
                saves=f"{100 * saved:.1f} %",
                verdict=found.compared("aware", "plain"),
            )
    report.write()


class Chosen(wh.DecisionProblem):
    """A problem of one's own: choose one of twenty plans, column by column of the costs."""

    def costs(self, decision: Any, Y: Any) -> Any:
        return Y[:, decision]

    def solve(self, Y: Any, weights: Any, risk: Any) -> Any:
        return int(np.argmin([risk.of(column, weights) for column in Y.T]))


def grown(settings: Settings) -> None:
    """How long 100 trees take on 1,000 rows of 10 features."""
    report = Report("decision-forests-time", settings)
    rng = np.random.default_rng(0)
    n = 200 if settings.quick else 1000
    X = rng.random((n, 10))
    demands, grid, fine = 50 + 30 * X[:, :1] + 9 * rng.random((n, 5)), wh.ShortestPath.grid(5), wh.ShortestPath.grid(20)
    rates = {"holding": np.arange(1.0, 6.0), "backorder": np.arange(5.0, 0.0, -1.0) + 5}
    simplex = wh.LinearProblem(A_eq=np.ones((1, 5)), b_eq=[1])
    problems: dict[str, tuple[Any, Any, Any]] = {
        "newsvendor, 5 products": (wh.Newsvendor(**rates), None, demands),
        "newsvendor, 5 products, budget": (wh.Newsvendor(**rates, budget=330), None, demands),
        "newsvendor, 5 products, CVaR": (wh.Newsvendor(**rates), wh.CVaR(0.8), demands),
        "shortest path, 5 x 5": (grid, None, X[:, :1] + rng.random((n, grid.outcome_columns()))),
        "shortest path, 5 x 5, CVaR": (grid, wh.CVaR(0.8), X[:, :1] + rng.random((n, grid.outcome_columns()))),
        "shortest path, 20 x 20": (fine, None, X[:, :1] + rng.random((n, fine.outcome_columns()))),
        "shipment": (wh.Shipment(), None, 10 * X[:, :1] + 5 * rng.random((n, 12))),
        "portfolio of 5 assets, CVaR": (simplex, wh.CVaR(0.8), rng.normal(size=(n, 5)) * X[:, :5]),
        "one of 20 plans (own problem)": (Chosen(), None, X[:, :1] * rng.random((n, 20))),
    }
    for name, (problem, risk, Y) in problems.items():
        spent = {}
        for limit, given in LIMITS.items():
            began = time.process_time()
            wh.DecisionForest(problem, risk, random_state=0, **given).fit(X, Y)
            spent[limit] = time.process_time() - began
        report.row(problem=name, **{f"{limit.replace(' ', '_')}_s": shown(seconds) for limit, seconds in spent.items()})
    report.write()


if __name__ == "__main__":
    main("Decision-aware forests.", {"decided": decided, "grown": grown}, lambda: None, sys.argv[1:])
