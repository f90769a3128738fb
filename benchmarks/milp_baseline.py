"""The paper's integer programs on open solvers beside our search: share proved, time and gap, on the same instances.

Run ``python benchmarks/milp_baseline.py`` for small sizes, where the solvers finish; ``--paper`` for the paper's sizes
with a cap of 60 s a solve; ``--choices`` for what each choice of formulation costs. Every time is the whole call of
``policy.explain``: tables, model, solve, verification. HiGHS solves once here (``confirm=False``), as a user of the
bare model would have it. ``run`` gives the rows to other benchmarks.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, stats

from whence.errors import SolverError
from whence.policy import Policy
from whence.problems.linear import Polytope
from whence.problems.newsvendor import Newsvendor
from whence.problems.shortest_path import ShortestPath
from whence.risk import CVaR, Expectation
from whence.weights import ForestWeights, KNNWeights

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
            ForestWeights(cell.trees, cell.depth, random_state=seed) if cell.weights == "forest" else KNNWeights(cell.k)
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
    if options.get("method") == "dual":
        problem = case.policy.problem
        engine["linear"] = (polytope(problem), case.policy.Y_, problem.vector(case.instead))
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


def compare(cells: list[Cell], repeats: int, cap: float, solvers: tuple[str, ...] = SOLVERS) -> list[dict[str, Any]]:
    """One row a cell and solver; all who proved an optimum must have found the same."""
    for cell in cells:
        # Whatever is compiled once must not be counted.
        measure(replace(cell, n=20, trees=5, k=3), "search", 1, cap)
    rows = []
    for cell in cells:
        of_cell = [measure(cell, solver, repeats, cap) for solver in solvers]
        reference = of_cell[0]["distances"]
        for row in of_cell:
            pairs = zip(row["distances"], reference, strict=False)
            row["same"] = all(a is None or b is None or a == b or abs(a - b) <= 1e-6 for a, b in pairs)
        rows += of_cell
        _show(of_cell)
    return rows


def polytope(problem: ShortestPath) -> Polytope:
    """Unit flows from source to target on an acyclic graph: its corners are the routes."""
    graph = problem.graph
    balance = -sparse.csr_array(nx.incidence_matrix(graph, oriented=True))
    supply = np.array([float(node == problem.source) - float(node == problem.target) for node in graph.nodes])
    edges = graph.number_of_edges()
    none = sparse.csr_array((0, edges))
    return Polytope(
        none, np.empty(0), balance, supply, np.zeros(edges), np.full(edges, np.inf), np.zeros(edges, dtype=bool)
    )


def choices(repeats: int, cap: float) -> list[dict[str, Any]]:
    """What a formulation costs: W_max, the valid inequality, and the three methods for absolute explanations."""
    rows = []
    tail = Cell("CVaR path", "forest", 50, "relative", trees=20)
    for how in ("sample", "path", "mean", "unit"):
        rows.append(measure(tail, "highs", repeats, cap, f", w_max={how}", w_max=how))
    routes = Cell("path", "forest", 50, "absolute", trees=20)
    for on in (True, False):
        rows.append(measure(routes, "highs", repeats, cap, f", valid inequality {on}", valid_inequality=on))
    rows.append(measure(routes, "scip", repeats, cap, ", iterative"))
    rows.append(measure(routes, "scip", repeats, cap, ", lazy", method="lazy"))
    for solver in ("highs", "scip"):
        rows.append(measure(routes, solver, repeats, cap, ", dual", method="dual"))
    for confirm in (True, False):
        rows.append(measure(tail, "highs", repeats, cap, f", confirm={confirm}", confirm=confirm))
    _show(rows)
    return rows


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


def _show(rows: list[dict[str, Any]]) -> None:
    table = pd.DataFrame(rows).drop(columns="distances")
    print(table.to_string(index=False, float_format="{:.3f}".format), flush=True)


def run(repeats: int = 3, cap: float = 20.0, paper: bool = False) -> list[dict[str, Any]]:
    """The rows of the comparison."""
    return compare(PAPER if paper else SMALL, repeats, cap)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paper", action="store_true", help="the paper's sizes, 60 s a solve")
    parser.add_argument("--choices", action="store_true", help="what each choice of formulation costs")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cap", type=float, default=None, help="seconds a solve")
    given = parser.parse_args()
    if given.choices:
        choices(given.repeats, given.cap or 20.0)
    else:
        run(given.repeats, given.cap or (60.0 if given.paper else 20.0), given.paper)
