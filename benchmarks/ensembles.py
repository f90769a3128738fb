"""Forecasts of boosted trees beside treecf and HiGHS: the same models, questions and distances, each asked for a proof.

Three data sets that scikit-learn ships, models of XGBoost and LightGBM, and the nearest context in which the forecast
falls to the lower quarter of the past ones. Distances are sums of changes by the range of each feature, within the
range of the history. treecf (``pip install treecf``) is asked for its exact backend, HiGHS for the integer program with
a 0/1 variable for every threshold and a leaf of every tree. Times are processor times.
"""

from __future__ import annotations

import argparse
import math
import signal
import statistics
import time
import warnings
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import treecf  # type: ignore[import-not-found]
import xgboost
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import whence as wh
from _common import machine, shown
from whence.models.tree_arrays import FittedTrees
from whence.util.linear_program import LinearProgram, run

LOADED = {"diabetes": load_diabetes, "wine": load_wine, "breast cancer": load_breast_cancer}


def models(trees: int, depth: int) -> dict[str, Any]:
    """Return unfitted regressors of both libraries."""
    return {
        "XGBoost": xgboost.XGBRegressor(n_estimators=trees, max_depth=depth, random_state=0, n_jobs=1),
        "LightGBM": lightgbm.LGBMRegressor(
            n_estimators=trees, max_depth=depth, num_leaves=2**depth, random_state=0, n_jobs=1, verbose=-1
        ),
    }


def ours(ensemble: wh.Ensemble, row: pd.Series, limit: float, seconds: float) -> tuple[bool, float, float]:
    """Return whether it was proved, the distance and the processor seconds."""
    began = time.process_time()
    found = ensemble.explain(row, at_most=limit, on_progress=lambda _: time.process_time() - began < seconds)
    return found.status == "optimal", found.distance, time.process_time() - began


def theirs(explainer: Any, row: pd.Series, limit: float, seconds: float) -> tuple[bool, float, float]:
    """Return the same of treecf."""
    began, found = time.process_time(), None
    # Its own limit is one of the clock, which says little on a busy machine.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    with warnings.catch_warnings(), suppress(TimeoutError):
        warnings.simplefilter("ignore")
        target = treecf.Target.raw(range=(-1e9, limit))
        found = explainer.explain(
            row.to_numpy(dtype=float), target, backend="exact", time_budget_s=math.inf, node_budget=10**12, seed=0
        )
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    proof, distance = getattr(found, "proof", ""), float(getattr(found, "distance", np.inf))
    return proof == "optimal", distance, time.process_time() - began


def integer_program(read: FittedTrees, row: np.ndarray, X: pd.DataFrame, limit: float) -> LinearProgram:
    """Return what HiGHS is given: which thresholds the context lies above, and the leaf of every tree."""
    low, high, forecast = X.min().to_numpy(float), X.max().to_numpy(float), read.forecast()
    trees = [read.trees[t] for t in forecast.trees]
    splits = [pair for one in trees for pair in zip(one.feature.tolist(), one.threshold.tolist(), strict=True)]
    pairs = sorted({(j, at) for j, at in splits if j >= 0})
    place, cost, offset = {pair: k for k, pair in enumerate(pairs)}, np.zeros(len(pairs)), 0.0
    lower, upper, rows = np.zeros(len(pairs)), np.ones(len(pairs)), list[tuple[dict[int, float], float, float]]()
    for k, (j, at) in enumerate(pairs):
        lower[k], upper[k] = float(at < low[j]), float(at < high[j])
        before = pairs[k - 1][1] if k and pairs[k - 1][0] == j else -math.inf
        after = pairs[k + 1][1] if k + 1 < len(pairs) and pairs[k + 1][0] == j else math.inf
        if at >= row[j]:
            cost[k] = (at - max(before, row[j])) / (high[j] - low[j])
        else:
            cost[k] = -(min(after, row[j]) - at) / (high[j] - low[j])
            offset -= cost[k]
        if before > -math.inf:
            rows.append(({k - 1: 1.0, k: -1.0}, 0.0, math.inf))
    total: dict[int, float] = {}
    for one, values in zip(trees, forecast.values, strict=True):
        first, leaves = len(cost), one.leaves.tolist()
        number = {leaf: first + i for i, leaf in enumerate(leaves)}
        total |= {number[leaf]: float(values[leaf]) for leaf in leaves}
        cost = np.append(cost, np.zeros(len(leaves)))
        rows.append((dict.fromkeys(number.values(), 1.0), 1.0, 1.0))
        below = {leaf: [number[leaf]] for leaf in leaves}
        # Children stand behind their parents.
        for node in reversed(np.flatnonzero(one.feature >= 0).tolist()):
            sides = below[int(one.left[node])], below[int(one.right[node])]
            k = place[int(one.feature[node]), float(one.threshold[node])]
            rows.append(({**dict.fromkeys(sides[0], 1.0), k: 1.0}, -math.inf, 1.0))
            rows.append(({**dict.fromkeys(sides[1], 1.0), k: -1.0}, -math.inf, 0.0))
            below[node] = sides[0] + sides[1]
    rows.append((total, -math.inf, limit - forecast.offset))
    ends = np.cumsum([0, *(len(entries) for entries, _, _ in rows)])
    columns = np.array([k for entries, _, _ in rows for k in entries])
    data = np.array([value for entries, _, _ in rows for value in entries.values()])
    more = len(cost) - len(pairs)
    return LinearProgram(
        cost, np.append(lower, np.zeros(more)), np.append(upper, np.ones(more)),
        csr_array((data, columns, ends), shape=(len(rows), len(cost))),
        np.array([low for _, low, _ in rows]), np.array([high for _, _, high in rows]),
        integer=np.arange(len(cost)) < len(pairs), offset=offset,
    )  # fmt: skip


def by_highs(ensemble: wh.Ensemble, row: pd.Series, X: pd.DataFrame, limit: float, seconds: float) -> Any:
    """Return the same of HiGHS."""
    began = time.process_time()
    program = integer_program(ensemble._read, row.to_numpy(dtype=float), X, limit)
    options: dict[str, Any] = {"parallel": "off", "threads": 1, "mip_rel_gap": 0.0}
    found = run(program, program.integer, options, on_progress=lambda *_: time.process_time() - began < seconds)
    return found.status == "optimal", found.value, time.process_time() - began


def main() -> None:
    """Print a row for every model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=4)
    given = parser.parse_args()

    def over(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, over)
    versions = f"xgboost {xgboost.__version__}, lightgbm {lightgbm.__version__}, highspy {version('highspy')}"
    print(f"{machine()} treecf {version('treecf')}, {versions}.\n")
    solved = " | ".join(f"{name}: proved | median CPU s" for name in ("whence", "treecf", "HiGHS"))
    print(f"| data | features | model | {solved} | same distance |")
    print(f"|{' --- |' * 10}")
    for name, load in LOADED.items():
        data = load(as_frame=True)
        # LightGBM takes no spaces in names.
        X, y = data.data.rename(columns=lambda one: one.replace(" ", "_")), data.target.astype(float)
        width = (X.max() - X.min()).to_numpy()
        for library, model in models(given.trees, given.depth).items():
            model.fit(X, y)
            past = np.asarray(model.predict(X), dtype=float)
            limit = float(np.quantile(past, 0.25))
            # Whoever asks treecf asks for any number, not for those in the step of the data.
            schema = wh.Schema({column: wh.Continuous() for column in X.columns})
            ensemble = wh.Ensemble(model, schema=schema).fit(X)
            ranges = [treecf.Range(c, float(X[c].min()), float(X[c].max())) for c in X.columns]
            other = treecf.Explainer(model, normalizers=width, constraints=ranges)
            rows = np.flatnonzero(past > np.quantile(past, 0.6))
            chosen = np.random.default_rng(0).choice(rows, given.questions, replace=False)
            ours(ensemble, X.iloc[int(chosen[0])], limit, 1.0)
            pairs = [
                (
                    ours(ensemble, X.iloc[i], limit, given.seconds),
                    theirs(other, X.iloc[i], limit, given.seconds),
                    by_highs(ensemble, X.iloc[i], X, limit, given.seconds),
                )
                for i in chosen.tolist()
            ]
            both = [(runs[0][1], one[1]) for runs in pairs for one in runs[1:] if runs[0][0] and one[0]]
            same = sum(abs(a - b) <= 1e-3 * max(a, 1e-3) for a, b in both)
            cells = (
                f"{sum(one[0] for one in runs)} of {len(runs)} | {shown(statistics.median(one[2] for one in runs))}"
                for runs in zip(*pairs, strict=True)
            )
            print(f"| {name} | {X.shape[1]} | {library} | {' | '.join(cells)} | {same} of {len(both)} |", flush=True)


if __name__ == "__main__":
    main()
