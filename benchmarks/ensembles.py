"""Forecasts of boosted trees beside treecf: the same models, questions and distances, each asked for a proof.

Three data sets that scikit-learn ships, models of XGBoost and LightGBM, and the nearest context in which the forecast
falls to the lower quarter of the past ones. Distances are sums of changes by the range of each feature, within the
range of the history. treecf (``pip install treecf``) is asked for its exact backend. Times are processor times.
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
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import whence as wh
from _common import machine, shown

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
    print(f"{machine()} treecf {version('treecf')}, xgboost {xgboost.__version__}, lightgbm {lightgbm.__version__}.\n")
    print("| data | features | model | whence: proved | median CPU s | treecf: proved | median CPU s | same distance |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
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
                (ours(ensemble, X.iloc[i], limit, given.seconds), theirs(other, X.iloc[i], limit, given.seconds))
                for i in chosen.tolist()
            ]
            both = [(a[1], b[1]) for a, b in pairs if a[0] and b[0]]
            same = sum(abs(a - b) <= 1e-3 * max(a, 1e-3) for a, b in both)
            cells = (
                f"{sum(one[0] for one in runs)} of {len(runs)} | {shown(statistics.median(one[2] for one in runs))}"
                for runs in zip(*pairs, strict=True)
            )
            print(f"| {name} | {X.shape[1]} | {library} | {' | '.join(cells)} | {same} of {len(both)} |", flush=True)


if __name__ == "__main__":
    main()
