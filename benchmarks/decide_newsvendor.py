"""One newsvendor decision at the paper's size, against the textbook linear program handed to HiGHS.

Run ``python benchmarks/decide_newsvendor.py``: both sides solve the same weighted problems in one run, and the table
gives the median time of one decision each.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from whence.problems.newsvendor import Newsvendor
from whence.risk import CVaR, Expectation

Floats = NDArray[np.float64]

PRODUCTS, SAMPLES, TREES, LEAF = 20, 200, 100, 12


def history(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Contexts and demands as in the paper: TruncNormal(3, exp(x)) from 0 upwards, half the products a feature."""
    contexts = rng.normal(size=(SAMPLES, 2))
    spread = np.exp(np.repeat(contexts, PRODUCTS // 2, axis=1))
    demands = stats.truncnorm.rvs(-3.0 / spread, np.inf, loc=3.0, scale=spread, random_state=rng)
    return contexts, demands


def forest_like_weights(contexts: Floats, rng: np.random.Generator) -> Floats:
    """Sparse weights at a random context: trees that each see one random projection spread theirs over a leaf."""
    here = rng.normal(size=2)
    weights = np.zeros(SAMPLES)
    for _ in range(TREES):
        direction = rng.dirichlet(np.ones(2))
        size = int(rng.integers(LEAF // 2, 2 * LEAF))
        leaf = np.argsort(np.abs(contexts - here) @ direction)[:size]
        weights[leaf] += 1.0 / (TREES * size)
    return weights


def textbook(Y: Floats, w: Floats, problem: Newsvendor, alpha: float | None) -> float:
    """Optimal value by the LP with an overage and an underage per sample and product, built and solved by HiGHS.

    Samples of no weight are left out, as anyone would.
    """
    present = np.flatnonzero(w)
    Y, w = Y[present], w[present]
    n, p = Y.shape
    cells = n * p
    eye = sparse.eye_array(cells, format="csr")
    pick = sparse.csr_array((np.ones(cells), np.tile(np.arange(p), n), np.arange(cells + 1)))
    holding, backorder = np.asarray(problem.holding), np.asarray(problem.backorder)
    budget = sparse.csr_array(np.ones((1, p)))
    blocks: list[list[Any]] = [[pick, -eye, eye], [budget, None, None]]
    lower, upper = np.append(Y.ravel(), -np.inf), np.append(Y.ravel(), float(problem.budget or 0.0))
    cost = np.concatenate((np.zeros(p), np.outer(w, holding).ravel(), np.outer(w, backorder).ravel()))
    floor = np.zeros(cost.size)
    if alpha is not None:
        rates = [sparse.kron(sparse.eye_array(n), rate[None], format="csr") for rate in (holding, backorder)]
        blocks = [[*blocks[0], None], [*blocks[1], None]]
        blocks.append([None, *rates, sparse.hstack([-np.ones((n, 1)), -sparse.eye_array(n)])])
        lower, upper = np.append(lower, np.full(n, -np.inf)), np.append(upper, np.zeros(n))
        cost = np.concatenate((np.zeros(cost.size), [1.0], w / (1.0 - alpha)))
        floor = np.concatenate((floor, [-np.inf], np.zeros(n)))
    return _highs(cost, floor, sparse.block_array(blocks, format="csr"), lower, upper)


def _highs(cost: Floats, floor: Floats, rows: Any, lower: Floats, upper: Floats) -> float:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    size, index = cost.size, np.int32
    start, column = rows.indptr[:-1].astype(index), rows.indices.astype(index)
    ceiling, kinds = np.full(size, np.inf), np.zeros(size, dtype=index)
    shape = (size, rows.shape[0], rows.nnz, 2, 1, 0.0)
    highs.passModel(*shape, cost, floor, ceiling, lower, upper, start, column, rows.data, kinds)
    highs.run()
    return float(highs.getInfo().objective_function_value)


def timed(call: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """Result of `call` and the shortest of its times in milliseconds."""
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - begin)
    return result, 1e3 * best


def run(weights: int = 20, seed: int = 0) -> list[dict[str, Any]]:
    """One row a risk: median times over `weights` random weights, their ratio, and whether every optimum agreed."""
    rng = np.random.default_rng(seed)
    contexts, Y = history(rng)
    holding = np.arange(1.0, PRODUCTS + 1.0)
    problem = Newsvendor(holding, 10.0 * holding, budget=5.0 * PRODUCTS)
    cases = [forest_like_weights(contexts, rng) for _ in range(weights)]
    rows = []
    for risk in (Expectation(), CVaR(0.8)):
        alpha = risk.alpha if isinstance(risk, CVaR) else None
        ours, highs, same = [], [], True
        for w in cases:
            plan, mine = timed(partial(problem.solve, Y, w, risk), repeats=3)
            value, theirs = timed(partial(textbook, Y, w, problem, alpha), repeats=3)
            ours.append(mine)
            highs.append(theirs)
            reached = risk.of(problem.costs(plan, Y), w)
            same = same and problem.check(plan) is None and abs(reached - value) <= 1e-6 * max(1.0, abs(value))
        rows.append(
            {
                "problem": f"newsvendor, {PRODUCTS} products, {risk.name}",
                "n": SAMPLES,
                "ours_ms": statistics.median(ours),
                "highs_ms": statistics.median(highs),
                "ratio": statistics.median(highs) / statistics.median(ours),
                "same_optimum": same,
            }
        )
    return rows


def main() -> None:
    """Print the table."""
    print(f"{'problem':44} {'n':>5} {'ours ms':>9} {'HiGHS ms':>9} {'ratio':>7}  same optimum")
    for row in run():
        print(
            f"{row['problem']:44} {row['n']:5d} {row['ours_ms']:9.3f} {row['highs_ms']:9.2f} {row['ratio']:6.0f}x  "
            f"{'yes' if row['same_optimum'] else 'NO'}"
        )


if __name__ == "__main__":
    main()
