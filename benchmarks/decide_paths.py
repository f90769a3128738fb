"""One route decision at the paper's sizes, against the textbook program handed to HiGHS.

Run ``python benchmarks/decide_paths.py``: both sides solve the same weighted problems in one run, and the table gives
the median time of one decision. For HiGHS that is passing the model and solving it; assembling the matrices in Python
is not counted, and samples of no weight are left out.

The Los Angeles row needs the folder with ``edges.csv``, ``travel_times.csv`` and ``contexts.csv`` in the environment
variable WHENCE_UBER_DATA, or at ``../shared/uber`` beside the repository.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import Any

import highspy
import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor

from whence.problems.shortest_path import ShortestPath
from whence.risk import CVaR, Expectation

Floats = NDArray[np.float64]


def forest_weights(X: Floats, Y: Floats, contexts: Floats) -> Floats:
    """Weights of a forest of 100 trees of depth 4, one row per context."""
    forest = RandomForestRegressor(n_estimators=100, max_depth=4, max_features="sqrt", random_state=0).fit(X, Y)
    leaves = forest.apply(X)
    same = forest.apply(contexts)[:, None, :] == leaves[None]
    return np.asarray((same / same.sum(axis=1, keepdims=True)).mean(axis=2))


def grid_case(width: int, samples: int, contexts: int) -> tuple[ShortestPath, Floats, Floats]:
    """The paper's grid: contexts Uniform(0.5, 1.5) in four dimensions, edges driven by half of them, and noise."""
    rng = np.random.default_rng(0)
    problem = ShortestPath.grid(width)
    edges = len(problem.parts())
    X = rng.uniform(0.5, 1.5, (samples, 4))
    Y = X @ rng.integers(0, 2, (4, edges)) / 4 + rng.uniform(0, 1, (samples, edges))
    return problem, Y, forest_weights(X, Y, rng.uniform(0.5, 1.5, (contexts, 4)))


def los_angeles_folder() -> Path | None:
    """Where the travel times are, if they are anywhere."""
    named = os.environ.get("WHENCE_UBER_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "uber"
    return folder if (folder / "travel_times.csv").is_file() else None


def los_angeles_case(folder: Path, samples: int, contexts: int) -> tuple[ShortestPath, Floats, Floats]:
    """Downtown Los Angeles from node 1221 to node 1256, with contexts of other days than the samples."""
    listed = pd.read_csv(folder / "edges.csv")
    edges = list(zip(listed["tail"], listed["head"], strict=True))
    problem = ShortestPath(nx.DiGraph(edges), 1221, 1256)
    columns = [edges.index(edge) for edge in problem.graph.edges]
    X = pd.get_dummies(pd.read_csv(folder / "contexts.csv")).to_numpy(dtype=float)
    Y = pd.read_csv(folder / "travel_times.csv").to_numpy(dtype=float)[:, columns]
    rows = np.random.default_rng(0).permutation(len(X))[: samples + contexts]
    past, future = rows[:samples], rows[samples:]
    return problem, Y[past], forest_weights(X[past], Y[past], X[future])


def textbook(problem: ShortestPath, Y: Floats, weights: Floats, alpha: float | None) -> tuple[float, float]:
    """Optimal value and milliseconds of the flow program; with CVaR, edges are integer and samples have an excess."""
    support = np.flatnonzero(weights)
    Y, weights = Y[support], weights[support]
    n, edges = Y.shape
    balance = -nx.incidence_matrix(problem.graph, oriented=True).tocsr()
    nodes = list(problem.graph.nodes)
    supply = np.zeros(len(nodes))
    supply[nodes.index(problem.source)], supply[nodes.index(problem.target)] = 1.0, -1.0
    if alpha is None:
        return _highs(weights @ Y, np.zeros(edges), np.ones(edges), balance, supply, supply, 0)
    rows = sparse.block_array([[balance, None], [-Y, sparse.hstack([np.ones((n, 1)), sparse.eye_array(n)])]])
    return _highs(
        np.concatenate([np.zeros(edges), [1.0], weights / (1.0 - alpha)]),
        np.concatenate([np.zeros(edges), [-np.inf], np.zeros(n)]),
        np.concatenate([np.ones(edges), np.full(1 + n, np.inf)]),
        rows.tocsr(),
        np.concatenate([supply, np.zeros(n)]),
        np.concatenate([supply, np.full(n, np.inf)]),
        edges,
    )


def _highs(
    cost: Floats, lower: Floats, upper: Floats, rows: Any, row_lower: Floats, row_upper: Floats, integers: int
) -> tuple[float, float]:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 0.0)
    kinds = (np.arange(cost.size) < integers).astype(np.int32)
    start, index = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
    began = time.perf_counter()
    highs.passModel(
        cost.size, rows.shape[0], rows.nnz, 2, 1, 0.0, cost, lower, upper, row_lower, row_upper, start, index,
        rows.data.astype(np.float64), kinds,
    )  # fmt: skip
    highs.run()
    took = 1e3 * (time.perf_counter() - began)
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"HiGHS ended with {highs.getModelStatus()}.")
    return float(highs.getInfo().objective_function_value), took


def measure(name: str, case: tuple[ShortestPath, Floats, Floats], alpha: float | None, repeats: int) -> dict[str, Any]:
    """Median milliseconds of both sides over the contexts of `case`, and whether all optima agree to 1e-6."""
    problem, Y, all_weights = case
    risk = Expectation() if alpha is None else CVaR(alpha)
    problem.solve(Y, all_weights[0], risk)
    ours, highs, same = [], [], True
    for weights in all_weights:
        began = time.perf_counter()
        for _ in range(repeats):
            plan = problem.solve(Y, weights, risk)
        ours.append(1e3 * (time.perf_counter() - began) / repeats)
        value, took = textbook(problem, Y, weights, alpha)
        highs.append(took)
        same &= abs(risk.of(problem.costs(plan, Y), weights) - value) <= 1e-6 * max(1.0, abs(value))
    fast, slow = statistics.median(ours), statistics.median(highs)
    return {
        "problem": name,
        "n": len(Y),
        "ours_ms": fast,
        "highs_ms": slow,
        "ratio": slow / fast,
        "same_optimum": bool(same),
    }


def run() -> list[dict[str, Any]]:
    """One row a problem; the Los Angeles row only where its data is."""
    rows = [
        measure("path 8x8, expected cost", grid_case(8, 200, 20), None, 10),
        measure("path 4x4, CVaR 0.8", grid_case(4, 200, 20), 0.8, 10),
    ]
    folder = los_angeles_folder()
    if folder is not None:
        rows.append(measure("path Los Angeles, CVaR 0.7", los_angeles_case(folder, 1000, 5), 0.7, 10))
    return rows


if __name__ == "__main__":
    print(pd.DataFrame(run()).to_string(index=False, float_format="{:.3f}".format))
    if los_angeles_folder() is None:
        print("SKIPPED: Los Angeles; set WHENCE_UBER_DATA to the folder with its travel times.")
