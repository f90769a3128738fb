"""One shipment decision at the paper's size, against the extensive linear program handed to HiGHS.

Run ``python benchmarks/decide_shipment.py``: both sides solve the same weighted problems in one run, and the table
gives the median over contexts of the time of one decision after the first, each the best of three. For HiGHS that is
passing the model and solving it; assembling the matrices in Python is not counted, and samples of no weight are left
out.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import highspy
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor

from whence.problems.shipment import Shipment
from whence.risk import CVaR, Expectation

Floats = NDArray[np.float64]

SAMPLES, CONTEXTS, REPEATS = 200, 20, 3


def history(length: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Contexts of the ARMA(2,2) process of Bertsimas and Kallus (2020, EC.6) and the demands at twelve locations."""
    root = np.linalg.cholesky([[1.0, 0.5, 0.0], [0.5, 1.2, 0.5], [0.0, 0.5, 0.8]])
    phi = np.array([[[0.5, -0.9, 0], [1.1, -0.7, 0], [0, 0, 0.5]], [[0, -0.5, 0], [-0.5, 0, 0], [0, 0, 0]]])
    theta = np.array([[[0.4, 0.8, 0], [-1.1, -0.3, 0], [0, 0, 0]], [[0, 0.8, 0], [-1.1, 0, 0], [0, 0, 0]]])
    innovations = rng.standard_normal((length + 2, 3)) @ root.T
    innovations[:2] = 0.0
    X = np.zeros((length + 2, 3))
    for t in range(2, length + 2):
        X[t] = phi[0] @ X[t - 1] + phi[1] @ X[t - 2] + innovations[t]
        X[t] += theta[0] @ innovations[t - 1] + theta[1] @ innovations[t - 2]
    X = X[2:]
    level = 2.5 * np.tile([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], (4, 1))
    swing = 7.5 * np.array(
        [
            [0, -1, -1], [-1, 0, -1], [-1, -1, 0], [0, -1, 1], [-1, 0, 1], [-1, 1, 0],
            [0, 1, -1], [1, 0, -1], [1, -1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0],
        ]
    )  # fmt: skip
    delta, epsilon = rng.standard_normal((2, length, 12))
    demand = X @ level.T + level.sum(axis=1) * delta / 4 + (X @ swing.T) * epsilon
    return X, np.maximum(0.0, demand)


def forest_weights(X: Floats, Y: Floats, contexts: Floats) -> Floats:
    """Weights of a forest of 100 trees of depth 4, one row per context."""
    forest = RandomForestRegressor(n_estimators=100, max_depth=4, max_features="sqrt", random_state=0).fit(X, Y)
    leaves = forest.apply(X)
    same = forest.apply(contexts)[:, None, :] == leaves[None]
    return np.asarray((same / same.sum(axis=1, keepdims=True)).mean(axis=2))


def neighbour_weights(X: Floats, contexts: Floats, k: int) -> Floats:
    """Equal weights of the `k` nearest samples in L1, contexts scaled to [0, 1], one row per context."""
    scale = X.max(axis=0) - X.min(axis=0)
    distance = np.abs((contexts[:, None] - X[None]) / scale).sum(axis=2)
    weights = np.zeros(distance.shape)
    np.put_along_axis(weights, np.argsort(distance, axis=1, kind="stable")[:, :k], 1.0 / k, axis=1)
    return weights


def textbook(Y: Floats, weights: Floats, alpha: float | None) -> tuple[float, float]:
    """Optimal value and milliseconds of the program with last-minute production and shipments per sample."""
    support = np.flatnonzero(weights)
    Y, weights = Y[support], weights[support]
    n, k = Y.shape
    angles = 2j * np.pi * np.arange(12) / 12
    ship = 10.0 * np.abs(0.85 * np.exp(angles[::3])[:, None] - np.exp(angles)[None])
    m = len(ship)
    eye = sparse.eye_array
    met = sparse.hstack([sparse.csr_array((k, m)), sparse.kron(np.ones((1, m)), eye(k))])
    left = sparse.hstack([eye(m), -sparse.kron(eye(m), np.ones((1, k)))])
    beforehand = sparse.vstack([sparse.csr_array((k, m)), eye(m)])
    sample = np.concatenate([np.full(m, 100.0), ship.ravel()])
    blocks: list[list[Any]] = [
        [sparse.kron(np.ones((n, 1)), beforehand), sparse.kron(eye(n), sparse.vstack([met, left]))]
    ]
    limits = np.hstack([Y, np.zeros((n, m))]).ravel()
    cost = np.concatenate([np.full(m, 5.0), np.kron(weights, sample)])
    lower = np.zeros(cost.size)
    if alpha is not None:
        blocks[0].append(None)
        blocks.append([None, -sparse.kron(eye(n), sample[None]), sparse.hstack([np.ones((n, 1)), eye(n)])])
        limits = np.concatenate([limits, np.zeros(n)])
        cost = np.concatenate([np.full(m, 5.0), np.zeros(n * sample.size), [1.0], weights / (1.0 - alpha)])
        lower = np.concatenate([lower, [-np.inf], np.zeros(n)])
    return _highs(cost, lower, sparse.block_array(blocks, format="csr"), limits)


def _highs(cost: Floats, lower: Floats, rows: Any, limits: Floats) -> tuple[float, float]:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    start, index = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
    upper, row_upper = np.full(cost.size, np.inf), np.full(limits.size, np.inf)
    kinds = np.zeros(cost.size, dtype=np.int32)
    began = time.perf_counter()
    highs.passModel(
        cost.size, limits.size, rows.nnz, 2, 1, 0.0, cost, lower, upper, limits, row_upper, start, index,
        rows.data.astype(np.float64), kinds,
    )  # fmt: skip
    highs.run()
    took = 1e3 * (time.perf_counter() - began)
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"HiGHS ended with {highs.getModelStatus()}.")
    return float(highs.getInfo().objective_function_value), took


def measure(name: str, Y: Floats, all_weights: Floats, alpha: float | None) -> dict[str, Any]:
    """Median milliseconds of both sides over all weights, and whether all optima agree to 1e-6."""
    problem = Shipment()
    risk = Expectation() if alpha is None else CVaR(alpha)
    problem.solve(Y, all_weights[0], risk)
    ours, highs, same = [], [], True
    for weights in all_weights[1:]:
        fastest = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            plan = problem.solve(Y, weights, risk)
            fastest.append(1e3 * (time.perf_counter() - began))
        ours.append(min(fastest))
        value = textbook(Y, weights, alpha)[0]
        highs.append(min(textbook(Y, weights, alpha)[1] for _ in range(REPEATS)))
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
    """One row a kind of weights and risk."""
    X, Y = history(SAMPLES + CONTEXTS, np.random.default_rng(0))
    past, future = X[:SAMPLES], X[SAMPLES:]
    demand = Y[:SAMPLES]
    forest = forest_weights(past, demand, future)
    neighbours = neighbour_weights(past, future, 10)
    return [
        measure("shipment, forest, expected cost", demand, forest, None),
        measure("shipment, forest, CVaR 0.8", demand, forest, 0.8),
        measure("shipment, 10 neighbours, expected cost", demand, neighbours, None),
    ]


if __name__ == "__main__":
    print(pd.DataFrame(run()).to_string(index=False, float_format="{:.3f}".format))
