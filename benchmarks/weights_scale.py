"""Forest weights at scale: memory beyond the fitted forest, and time for one context.

    python benchmarks/weights_scale.py [samples] [trees] [depth]

By default 100,000 samples, 500 trees of depth 12. Training takes some minutes, the weights themselves seconds.
"""

from __future__ import annotations

import sys
import time
import tracemalloc

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from whence import ForestWeights

FEATURES = 10
CONTEXTS = 50


def measure(samples: int, trees: int, depth: int) -> None:
    """Train, count the bytes that the weights add, and time contexts one by one and in a batch."""
    rng = np.random.default_rng(0)
    X = rng.random((samples, FEATURES))
    Y = np.column_stack([X[:, 0] + X[:, 1] * X[:, 2], np.sin(6 * X[:, 3])]) + 0.1 * rng.normal(size=(samples, 2))
    began = time.perf_counter()
    forest = RandomForestRegressor(trees, max_depth=depth, max_features="sqrt", random_state=0).fit(X, Y)
    print(f"{samples:,} samples, {trees} trees of depth {depth}, {sum(t.tree_.node_count for t in forest):,} nodes")
    print(f"scikit-learn's training       {time.perf_counter() - began:10.1f} s")

    tracemalloc.start()
    began = time.perf_counter()
    weights = ForestWeights.of(forest).fit(X, Y)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"which sample in which leaf    {time.perf_counter() - began:10.1f} s")
    print(f"memory beyond the forest      {kept / 1e9:10.2f} GB, {peak / 1e9:.2f} GB at most")

    contexts = rng.random((CONTEXTS, FEATURES))
    seconds, processor = [], []
    for row in contexts:
        began, used = time.perf_counter(), time.process_time()
        single = weights.at(row)
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    assert abs(single.sum() - 1.0) < 1e-9
    print(f"one context                   {1e3 * np.median(seconds):10.2f} ms, {1e3 * max(seconds):.2f} ms at most")
    print(f"    of which on the processor {1e3 * np.median(processor):10.2f} ms")
    began = time.perf_counter()
    batch = weights.weights(contexts, as_sparse=True)
    print(f"a batch of {CONTEXTS}, each          {1e3 * (time.perf_counter() - began) / CONTEXTS:10.2f} ms, sparse")
    print(f"samples that speak            {batch.nnz / CONTEXTS:10.0f} per context")


if __name__ == "__main__":
    sizes = [int(argument) for argument in sys.argv[1:]]
    measure(*(sizes + [100_000, 500, 12][len(sizes) :]))
