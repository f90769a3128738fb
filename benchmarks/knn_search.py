"""Nearest explanations of nearest-neighbour policies: time and proof.

    python benchmarks/knn_search.py [--section NAME]... [--instances N] [--highs K] [--start SEED] [--quick]

Tables go to ``docs/benchmarks/tables``, a plot to ``docs/images``; with ``--quick`` both go to ``.benchmarks``.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import _growth
import _paper
from _common import KINDS, Report, Settings, against_highs, collect, main, shown, warm_up
from _first_use import first_use
from paper import Instance, instance
from whence import KNNWeights


def paper(settings: Settings) -> None:
    """Every nearest-neighbour cell of the paper's tables."""
    report = Report("knn-paper", settings, settings.counted())
    predictors = [_paper.Predictor({"k": k}, KNNWeights(k)) for k in (10, 30)]

    def goal(problem: str, n: int, kind: str) -> int:
        if (problem, kind) == ("shipment", "absolute"):
            return 20
        return 30 if n == 50 else 100

    _paper.cells(settings, report, predictors, (100,) if settings.quick else (50, 100, 200), goal)
    report.write()


def large(settings: Settings) -> None:
    """Shortest path in four dimensions with long histories."""
    report = Report("knn-large", settings, settings.counted())
    for n in (1000,) if settings.quick else (1000, 5000):
        for k in (10, 30):
            make = partial(_path, "shortest_path", n, k, 4)
            measured = collect(make, settings.instances, settings.start)
            for kind in KINDS:
                cell = measured[kind]
                report.row(
                    n=n,
                    k=k,
                    kind=kind,
                    mean_s=shown(cell.mean),
                    median_s=shown(cell.median),
                    slowest_s=shown(max((run.seconds for run in cell.proved), default=float("nan"))),
                    proved=cell.share,
                    not_counted=cell.others,
                )
    report.write()


def dimensions(settings: Settings) -> None:
    """Shortest path at n = 200, k = 10 in more and more dimensions, 30 seconds each."""
    report = Report("knn-dimensions", settings, settings.counted())
    limit = 5.0 if settings.quick else 30.0
    for d in (6, 10) if settings.quick else (4, 6, 8, 10, 12):
        make = partial(_path, "shortest_path", 200, 10, d)
        cell = collect(make, settings.instances, settings.start, ("relative",), time_limit=limit)["relative"]
        rival = against_highs(make, cell, "relative", settings.highs, limit) if settings.highs else None
        gaps = [run.distance - run.bound for run in cell.open]
        shares = [run.bound / run.distance for run in cell.open if run.distance < float("inf")]
        report.row(
            d=d,
            proved=cell.share,
            mean_s=shown(cell.mean),
            median_s=shown(cell.median),
            median_gap_of_the_rest=shown(statistics.median(gaps)) if gaps else "-",
            bound_reached_of_the_rest=f"{100 * statistics.median(shares):.0f} %" if shares else "-",
            without_an_answer=sum(run.distance == float("inf") for run in cell.open),
            not_counted=cell.others,
            HiGHS="-" if rival is None else rival.text,
        )
    report.write()


def growth(settings: Settings) -> None:
    """Time against n, k and d."""
    report = Report("knn-growth", settings, settings.counted())
    axes: dict[str, tuple[int, ...]] = {
        "n": (50, 100, 200, 500, 1000, 2000, 5000, 10_000),
        "k": (1, 3, 10, 30, 100),
        "d": (1, 2, 3, 4, 5, 6, 8),
    }
    if settings.quick:
        axes = {"n": (50, 200), "k": (3, 10), "d": (2, 4)}
    _growth.curves(settings, report, _sized, {"n": 200, "k": 10, "d": 4}, axes, "knn")
    report.write()


def start(settings: Settings) -> None:
    """First use in a new process."""
    report = Report("knn-start", settings)
    first_use(report, "knn")
    report.write()


def _path(problem: str, n: int, k: int, features: int, seed: int) -> Instance:
    return instance(problem, n, seed, predictor=KNNWeights(k), features=features)


def _sized(problem: str, sizes: Mapping[str, int], seed: int) -> Instance:
    return _path(problem, sizes["n"], sizes["k"], sizes["d"], seed)


SECTIONS: dict[str, Any] = {
    "paper": paper,
    "large": large,
    "dimensions": dimensions,
    "growth": growth,
    "start": start,
}

if __name__ == "__main__":
    main("Nearest explanations of neighbour policies.", SECTIONS, partial(warm_up, KNNWeights(10)), sys.argv[1:])
