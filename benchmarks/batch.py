"""What many explanations cost: one core, two worker processes, and a Dask cluster of two workers on the same machine.

    python benchmarks/batch.py [--quick]

The tables go to ``docs/benchmarks/tables/batch.md``; with ``--quick``, to ``.benchmarks``. Every way of sharing out
the work explains the same rows of the built-in examples' histories: a first time, which includes the start of the
workers, and then some more, of which the fastest is shown. The results of all of them are compared.
"""

from __future__ import annotations

import pickle
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster
from sklearn.base import clone

import whence as wh
from _common import Report, Settings, main, shown
from whence.batch import ROWS_PER_BATCH, Explanations
from whence.examples import Example, bakery, city

REPEATS = 3
MEGABYTE = 1e6


def questions(quick: bool) -> Iterator[tuple[str, wh.Policy, pd.DataFrame, Any]]:
    """A name, a fitted policy, contexts, and the plan proposed instead."""
    rows = 60 if quick else 400
    for example, label, size in (
        (bakery.load(), "bakery: newsvendor, forest, expected cost", rows),
        (city.load(), "city: shortest path, forest, CVaR", rows // 2),
    ):
        yield label, example.policy.fit(example.X, example.Y), example.X.head(size), example.alternative
    yield from neighbours(bakery.load(), rows)


def neighbours(example: Example, rows: int) -> Iterator[tuple[str, wh.Policy, pd.DataFrame, Any]]:
    """The bakery with nearest neighbours instead of the forest."""
    policy = clone(example.policy).set_params(weights=wh.KNNWeights(k=10)).fit(example.X, example.Y)
    yield "bakery: newsvendor, 10 neighbours", policy, example.X.head(rows), example.alternative


def peak() -> float:
    """Most memory that this process ever had resident, in MB (Linux only)."""
    # Not getrusage: a process starts there with the peak of the one that started it.
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM:"))) / MEGABYTE


@contextmanager
def one_core() -> Iterator[Callable[[], list[float]]]:
    """Everything in this process."""
    with joblib.parallel_config(n_jobs=1):
        yield lambda: [peak()]


@contextmanager
def two_processes() -> Iterator[Callable[[], list[float]]]:
    """joblib's own worker processes."""
    with joblib.parallel_config(backend="loky", n_jobs=2):
        # With other settings than those of `explain_many` joblib would start new processes.
        yield lambda: joblib.Parallel(max_nbytes=None)(joblib.delayed(peak)() for _ in range(2))


@contextmanager
def dask_workers() -> Iterator[Callable[[], list[float]]]:
    """A Dask cluster on this machine."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        yield lambda: list(client.run(peak).values())


WAYS = {"one core": (one_core, 1), "joblib, 2 processes": (two_processes, 2), "Dask, 2 workers": (dask_workers, 2)}


def comparable(found: Explanations) -> pd.DataFrame:
    """Everything that must not depend on who did the work."""
    return found.frame.drop(columns="seconds")


def cost_of_one(report: Report, settings: Settings) -> list[dict[str, str]]:
    """Processor time, and the sizes of what travels and of what is kept; what follows for a million."""
    millions = []
    for label, policy, contexts, plan in questions(settings.quick):
        policy.explain_many(contexts.head(5), plan)  # imports what is not imported yet
        seconds = []
        found = []
        for i in range(len(contexts)):
            began = time.process_time()
            found.append(policy.explain(contexts.iloc[[i]], plan))
            seconds.append(time.process_time() - began)
        mean = statistics.fmean(seconds)
        shipped = len(cloudpickle.dumps(policy)) / MEGABYTE
        kept = statistics.fmean(_kilobytes(why) for why in found)
        caller = _received(found)
        line = Explanations(found).frame.memory_usage(deep=True).sum() / len(found) / 1e3
        report.row(
            policy=label,
            observations=len(policy.X_),
            explanations=len(found),
            mean_ms=shown(1e3 * mean),
            median_ms=shown(1e3 * statistics.median(seconds)),
            slowest_ms=shown(1e3 * max(seconds)),
            policy_pickled_MB=shown(shipped),
            explanation_kept_kB=shown(kept),
            row_of_the_table_kB=shown(line),
            caller_ms_per_row=shown(1e3 * caller),
        )
        millions.append(
            {
                "policy": label,
                "core_hours": shown(mean * 1e6 / 3600),
                "on_64_cores": f"{max(mean / 64, caller) * 1e6 / 60:.1f} min",
                "bounded_by": "the caller" if caller > mean / 64 else "the workers",
                "policy_sent,_in_all": f"{shipped * 1e6 / ROWS_PER_BATCH / 1e3:.1f} GB",
                "all_explanations_kept": f"{kept * 1e6 / 1e6:.1f} GB",
                "only_the_table_kept": f"{line * 1e6 / 1e6:.1f} GB",
            }
        )
    return millions


def _kilobytes(why: wh.Explanation) -> float:
    """Size of an explanation without what it only refers to."""
    arrays = (why.weights_before, why.weights_after, why.costs_decision, why.costs_alternative)
    tables = (why.initial, why.context, why.changes)
    held = sum(a.nbytes for a in arrays if a is not None)
    return (held + sum(int(np.sum(t.memory_usage(deep=True))) for t in tables if t is not None)) / 1e3


def _received(found: list[wh.Explanation]) -> float:
    """Processor time in which the calling process unpacks one explanation that a worker has sent."""
    sent = pickle.dumps([replace(why, source=None) for why in found])
    runs = []
    for _ in range(5):
        began = time.process_time()
        pickle.loads(sent)
        runs.append(time.process_time() - began)
    return min(runs) / len(found)


def scaling(report: Report, settings: Settings) -> None:
    """Rows per second in every way of sharing out the work."""
    for label, policy, contexts, plan in questions(settings.quick):
        base, expected = 0.0, None
        for way, (share, workers) in WAYS.items():
            with share() as memory:
                began = time.perf_counter()
                found = policy.explain_many(contexts, plan, n_jobs=None)
                first = time.perf_counter() - began
                runs = []
                for _ in range(1 if settings.quick else REPEATS):
                    began = time.perf_counter()
                    found = policy.explain_many(contexts, plan, n_jobs=None)
                    runs.append(time.perf_counter() - began)
                megabytes = max(memory())
            expected = comparable(found) if expected is None else expected
            rate = len(contexts) / min(runs)
            base = base or rate
            report.row(
                policy=label,
                rows=len(contexts),
                way=way,
                workers=workers,
                first_call_s=shown(first),
                then_s=shown(min(runs)),
                rows_a_second=shown(rate),
                times_one_core=f"{rate / base:.2f}x",
                peak_of_a_worker_MB=f"{megabytes:.0f}",
                same_results="yes" if comparable(found).equals(expected) else "NO",
            )


def batch(settings: Settings) -> None:
    """Both tables."""
    report = Report("batch", settings)
    report.text("One explanation: processor time of `policy.explain` on one core.")
    millions = cost_of_one(report, settings)
    report.text(
        f"A million of them, from these figures: batches of {ROWS_PER_BATCH} rows, no idle cores, and one process "
        "to hand out the work and take in the results."
    )
    for row in millions:
        report.row(**row)
    report.text(f"Many: wall-clock time of `policy.explain_many`, the fastest of {REPEATS} runs after a first one.")
    scaling(report, settings)
    report.write()


if __name__ == "__main__":
    main("Many explanations.", {"batch": batch}, lambda: None, sys.argv[1:])
