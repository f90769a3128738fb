"""The paper's integer programs on open solvers beside our search: share proved, time and gap, on the same instances.

Run ``python benchmarks/milp_baseline.py`` for small sizes, where the solvers finish; ``--paper`` for the paper's sizes
with a cap of 60 s a solve; ``--choices`` for what each choice of formulation costs. The tables are written to
``docs/benchmarks/tables`` as ``milp.md``, ``milp-paper.md`` and ``milp-choices.md``; with ``--quick``, a few cells go
to ``.benchmarks`` instead. Every time is the whole call of ``policy.explain``: tables, model, solve, verification.
HiGHS solves once here (``confirm=False``), as a user of the bare model would have it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from _common import ROOT, Report, Settings, shown
from paper.forests import paper_forest
from whence.errors import SolverError
from whence.policy import Policy
from whence.problems.newsvendor import Newsvendor
from whence.problems.shortest_path import ShortestPath
from whence.risk import CVaR, Expectation
from whence.weights import KNNWeights

Floats = NDArray[np.float64]

SOLVERS = ("search", "highs", "scip", "gurobi")


@dataclass(frozen=True)
class Cell:
    """One class of instances, as in the paper's tables."""

    problem: str
    weights: str
    n: int
    kind: str
    trees: int = 100
    depth: int = 4
    k: int = 10

    @property
    def name(self) -> str:
        """For the table."""
        size = f"T={self.trees} depth={self.depth}" if self.weights == "forest" else f"k={self.k}"
        return f"{self.problem}, {self.weights} {size}, n={self.n}, {self.kind}"


@dataclass(frozen=True)
class Instance:
    """A fitted policy, a context, and the plan that belongs to another context."""

    policy: Policy
    context: Floats
    instead: Any


def newsvendor(rng: np.random.Generator, n: int) -> tuple[Any, Floats, Floats]:
    """Twenty products, two features (paper, appendix C.1)."""
    X = rng.normal(size=(n + 2, 2))
    spread = np.exp(np.repeat(X, 10, axis=1))
    Y = stats.truncnorm.rvs(-3.0 / spread, np.inf, loc=3.0, scale=spread, random_state=rng)
    holding = np.arange(1.0, 21.0)
    return Newsvendor(holding, 10.0 * holding, budget=100.0), X, Y


def paths(rng: np.random.Generator, n: int, width: int) -> tuple[Any, Floats, Floats]:
    """Routes on a grid, four features (paper, appendix C.3)."""
    problem = ShortestPath.grid(width)
    edges = 2 * width * (width - 1)
    X = rng.uniform(0.5, 1.5, (n + 2, 4))
    return problem, X, X @ rng.integers(0, 2, (4, edges)) / 4 + rng.uniform(0, 1, (n + 2, edges))


def instance(cell: Cell, seed: int) -> Instance:
    """A question whose plan is not the one decided."""
    for attempt in range(50):
        rng = np.random.default_rng([seed, attempt])
        tail = cell.problem == "CVaR path"
        problem, X, Y = (
            newsvendor(rng, cell.n) if cell.problem == "newsvendor" else paths(rng, cell.n, 4 if tail else 8)
        )
        weights = (
            paper_forest(cell.trees, cell.depth, random_state=seed) if cell.weights == "forest" else KNNWeights(cell.k)
        )
        policy = Policy(problem, weights, CVaR(0.8) if tail else Expectation()).fit(X[:-2], Y[:-2])
        plan, instead = policy.decide(X[-2]), policy.decide(X[-1])
        if not np.allclose(problem.vector(plan), problem.vector(instead)):
            return Instance(policy, X[-2], instead)
    raise RuntimeError(f"no two contexts with different plans in {cell.name}")


def solve(case: Instance, cell: Cell, solver: str, cap: float, **options: Any) -> dict[str, Any] | None:
    """One explanation: whether it was proved, seconds, gap, distance; None where the solver takes no such size."""
    engine = {"engine": "search"} if solver == "search" else {"engine": "milp", "solver": solver, **options}
    if solver == "highs":
        engine.setdefault("confirm", False)
    began = time.perf_counter()
    try:
        why = case.policy.explain(case.context, case.instead, kind=cell.kind, time_limit=cap, **engine)
    except SolverError:
        return None
    return {
        "proved": why.status in ("optimal", "already", "none"),
        "seconds": time.perf_counter() - began,
        "gap": why.gap,
        "distance": why.distance,
        "none": why.status == "none",
    }


def measure(cell: Cell, solver: str, repeats: int, cap: float, label: str = "", **options: Any) -> dict[str, Any]:
    """One row: a cell on a solver over `repeats` instances."""
    found = [solve(instance(cell, seed), cell, solver, cap, **options) for seed in range(repeats)]
    runs = [run for run in found if run is not None]
    row: dict[str, Any] = {"cell": cell.name, "solver": solver + label}
    if not runs:
        return {**row, "proved": "too large", "median_s": np.nan, "max_s": np.nan, "worst_gap": np.nan, "distances": []}
    return {
        **row,
        "proved": f"{sum(run['proved'] for run in runs)} of {len(runs)}",
        "median_s": statistics.median(run["seconds"] for run in runs),
        "max_s": max(run["seconds"] for run in runs),
        "worst_gap": max(run["gap"] for run in runs),
        "distances": [run["distance"] if run["proved"] else None for run in runs],
    }


def compare(cells: list[Cell], report: Report, repeats: int, cap: float) -> None:
    """One row a cell and solver, and whether all who proved an optimum have found the same as the search."""
    for cell in cells:
        # Whatever is loaded once must not be counted.
        measure(replace(cell, n=20, trees=5, k=3), "search", 1, cap)
    for cell in cells:
        reference: list[float | None] = []
        for solver in SOLVERS:
            row = measure(cell, solver, repeats, cap)
            reference = reference or row["distances"]
            both = zip(row["distances"], reference, strict=False)
            pairs = [(a, b) for a, b in both if a is not None and b is not None]
            same = all(a == b or abs(a - b) <= 1e-6 for a, b in pairs)
            _show(report, row, same_optimum="-" if not pairs else "yes" if same else "NO")


def choices(report: Report, repeats: int, cap: float) -> None:
    """What a formulation costs: W_max, confirmation, the valid inequality, the methods for absolute explanations."""
    tail = Cell("CVaR path", "forest", 50, "relative", trees=20)
    for how in ("sample", "path", "mean", "unit"):
        _show(report, measure(tail, "highs", repeats, cap, f", w_max={how}", w_max=how))
    _show(report, measure(tail, "highs", repeats, cap, ", confirm=True", confirm=True))
    routes = Cell("path", "forest", 50, "absolute", trees=20)
    for on in (True, False):
        _show(report, measure(routes, "highs", repeats, cap, f", valid inequality {on}", valid_inequality=on))
    for solver, method in (("scip", "iterative"), ("scip", "lazy"), ("highs", "dual"), ("scip", "dual")):
        _show(report, measure(routes, solver, repeats, cap, f", {method}", method=method))


SMALL = [
    Cell("newsvendor", "forest", 50, "relative", trees=20),
    Cell("path", "forest", 50, "relative", trees=20),
    Cell("path", "forest", 50, "absolute", trees=20),
    Cell("CVaR path", "forest", 30, "relative", trees=20, depth=3),
    Cell("newsvendor", "neighbours", 20, "relative", k=5),
    Cell("path", "neighbours", 15, "relative", k=5),
    Cell("path", "neighbours", 15, "absolute", k=5),
]

PAPER = [
    Cell(problem, weights, 200, kind)
    for problem in ("newsvendor", "path", "CVaR path")
    for weights in ("forest", "neighbours")
    for kind in ("relative", "absolute")
]


def _show(report: Report, row: dict[str, Any], **more: str) -> None:
    report.row(
        question=row["cell"],
        engine=row["solver"],
        proved=row["proved"],
        median_s=shown(row["median_s"]),
        longest_s=shown(row["max_s"]),
        widest_gap=shown(row["worst_gap"]),
        **more,
    )


def main() -> None:
    """Measure what the command line names, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--paper", action="store_true", help="the paper's sizes, 60 s a solve")
    what.add_argument("--choices", action="store_true", help="what each choice of formulation costs")
    parser.add_argument("--repeats", type=int, default=3, help="questions a cell (default 3)")
    parser.add_argument("--cap", type=float, default=None, help="seconds a solve (default 20, paper 60)")
    parser.add_argument("--quick", action="store_true", help="two cells only; written to .benchmarks instead of docs")
    given = parser.parse_args()
    folder = (ROOT / ".benchmarks" if given.quick else ROOT / "docs") / "benchmarks" / "tables"
    settings = Settings(given.repeats, given.repeats, 0, given.quick, folder, folder)
    cap = given.cap or (60.0 if given.paper else 20.0)
    name = "milp-paper" if given.paper else "milp-choices" if given.choices else "milp"
    report = Report(name, settings, f"Questions a cell: {given.repeats}, at most {cap:g} s each.")
    if given.choices:
        choices(report, given.repeats, cap)
    else:
        cells = PAPER if given.paper else SMALL
        compare(cells[:2] if given.quick else cells, report, given.repeats, cap)
    report.write()


if __name__ == "__main__":
    main()
