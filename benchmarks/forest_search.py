"""Nearest explanations of forest policies: time, proof and memory.

    python benchmarks/forest_search.py [--section NAME]... [--instances N] [--highs K] [--start SEED] [--quick]

Tables go to ``docs/benchmarks/tables``, a plot to ``docs/images``; with ``--quick`` both go to ``.benchmarks``. The Los
Angeles section needs the environment variable WHENCE_UBER_DATA (see ``paper/los_angeles.py``).
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import _growth
import _paper
from _common import (
    KINDS,
    Cell,
    Report,
    Settings,
    against_highs,
    ask,
    collect,
    los_angeles_folder,
    main,
    milliseconds,
    shown,
    warm_up,
)
from _first_use import first_use
from _memory import peak_memory
from _tolls import far_instance
from paper import Instance, Study, instance, los_angeles, study
from paper.forests import paper_forest
from whence import ForestWeights

#: From this many numbers in X on, fitting takes longest, and several questions are asked of one history.
COSTLY = 50_000
SHARED = 10


def paper(settings: Settings) -> None:
    """Every forest cell of the paper's tables."""
    report = Report("forest-paper", settings, settings.counted())
    shapes = [(100, 4), (200, 4), (100, 3), (100, 5), (100, 6)]
    predictors = [
        _paper.Predictor({"trees": trees, "depth": depth}, paper_forest(trees, depth))
        for trees, depth in (shapes[:1] if settings.quick else shapes)
    ]

    def goal(problem: str, n: int, kind: str) -> int:
        return 20 if (problem, kind) == ("shipment", "absolute") else 50

    _paper.cells(settings, report, predictors, (100,) if settings.quick else (50, 100, 200), goal)
    report.write()


def dimensions(settings: Settings) -> None:
    """Contexts of 5 to 500 dimensions, relative explanations of shortest paths, beside HiGHS."""
    _dimensions(settings, "forest-dimensions", "shortest_path", (100, 500, 1000, 5000), patient_to=5000)


def dimensions_cvar(settings: Settings) -> None:
    """The same for CVaR; beyond 100 observations HiGHS mostly runs into its limit, and gets one question a cell."""
    _dimensions(settings, "forest-dimensions-cvar", "cvar_shortest_path", (100, 500, 1000), patient_to=100)


def _dimensions(settings: Settings, name: str, problem: str, samples: tuple[int, ...], patient_to: int) -> None:
    shared = f"From n x d = {COSTLY:,} on, {SHARED} questions are asked of one history."
    report = Report(name, settings, f"{settings.counted()} {shared}")
    features = (5, 50) if settings.quick else (5, 10, 25, 50, 100, 500)
    for n in samples[:1] if settings.quick else samples:
        for d in features:
            make = partial(_one_of_many if n * d >= COSTLY else _path, problem, n, paper_forest(100, 4), d)
            cell = collect(make, settings.instances, settings.start, ("relative",))["relative"]
            rival = against_highs(make, cell, "relative", settings.highs if n <= patient_to else min(settings.highs, 1))
            report.row(
                n=n,
                d=d,
                mean_ms=milliseconds(cell.mean),
                median_ms=milliseconds(cell.median),
                proved=cell.share,
                not_counted=cell.others,
                same_questions_ms="-" if rival is None else milliseconds(rival.ours),
                HiGHS="-" if rival is None else rival.text,
                ratio="-" if rival is None else rival.ratio,
            )
    report.write()


def far(settings: Settings) -> None:
    """Alternatives that only one training context in a hundred supports."""
    wanted = settings.instances
    report = Report("forest-far", settings, settings.counted(wanted))
    for d in (10,) if settings.quick else (10, 25, 100):
        make = partial(far_instance, d, 1000)
        cell = collect(make, wanted, settings.start, ("relative",), time_limit=10.0)["relative"]
        distances = sorted(run.distance for run in cell.proved)
        report.row(
            d=d,
            n=1000,
            proved_in_10_s=cell.share,
            mean_s=shown(cell.mean),
            median_s=shown(cell.median),
            median_distance=shown(distances[len(distances) // 2]) if distances else "-",
            gaps_left=_gaps(cell),
            not_counted=cell.others,
        )
    report.write()


def deep(settings: Settings) -> None:
    """Forests as scikit-learn grows them by default: no depth limit, every feature at every split."""
    report = Report("forest-deep", settings, f"Consecutive seeds from {settings.start}.")
    forest = ForestWeights(n_trees=100, max_depth=None, max_features=1.0, min_samples_leaf=1)
    # The smaller grid keeps scikit-learn's own forest of 10,000 samples within a gigabyte.
    cases = [(1000, 7, 8, settings.instances), (10_000, 10, 4, min(settings.instances, 10))]
    limits = (5.0, 60.0)
    if settings.quick:
        cases, limits = cases[:1], (2.0, 5.0)
    for n, d, width, wanted in cases:
        proved = asked = 0
        for seed in range(settings.start, settings.start + 12 * wanted):
            if asked == wanted:
                break
            made = instance("shortest_path", n, seed, predictor=forest, features=d, width=width)
            with peak_memory() as peak:
                late = early = ask(seed, made, "relative", time_limit=limits[0])
                if early.unfinished:
                    late = ask(seed, made, "relative", time_limit=limits[1])
            if late.status in ("already", "none"):
                continue
            asked += 1
            proved += late.proved
            report.row(
                n=n,
                d=d,
                seed=seed,
                leaves=f"{sum(tree.n_leaves for tree in made.policy.weights_.trees):,}",
                early_s=shown(early.seconds),
                early_distance=shown(early.distance),
                early_bound=shown(early.bound),
                status=late.status,
                s=shown(late.seconds),
                distance=shown(late.distance),
                bound=shown(late.bound),
                boxes=f"{late.nodes:,}",
                peak_memory_MB=shown(peak.bytes / 1e6),
            )
        report.text(f"n = {n:,}, d = {d}: proved within {limits[1]:g} s {proved} of {asked} times.")
    report.write()


def los_angeles_routes(settings: Settings) -> None:
    """The paper's question on real travel times, with three alternatives that are routes of the network."""
    folder = los_angeles_folder()
    if folder is None:
        return
    report = Report("forest-los-angeles", settings, f"Samples of 1,000 observations with seeds from {settings.start}.")
    city = los_angeles.load(folder)
    policies = {seed: city.policy(1000, seed) for seed in range(settings.start, settings.start + settings.instances)}
    table = _paper.published()
    # The southern routes are better hardly anywhere: the whole space must be ruled out.
    routes = (
        ("afternoon peak", los_angeles.PEAK),
        ("south", los_angeles.SOUTH),
        ("published, mended", los_angeles.MENDED),
    )
    for name, route in routes:
        for kind in KINDS:
            paper_seconds = _paper.published_seconds(table, "los_angeles", 1000, kind, {"trees": 100})
            runs = []
            for seed, policy in policies.items():
                question = Instance(policy, city.context, list(route), city.context)  # type: ignore[arg-type]
                runs.append(ask(seed, question, kind, time_limit=20.0))
            settled = [run.seconds for run in runs if not run.unfinished]
            counts = Counter(run.status for run in runs)
            distances = [run.distance for run in runs if run.proved]
            report.row(
                alternative=name,
                kind=kind,
                paper_s=shown(paper_seconds),
                mean_s=shown(statistics.fmean(settled)) if settled else "-",
                median_s=shown(statistics.median(settled)) if settled else "-",
                slowest_s=shown(max(settled)) if settled else "-",
                ratio=f"{paper_seconds / statistics.fmean(settled):.0f}x" if settled else "-",
                settled=f"{len(settled)} of {len(runs)}",
                answers=", ".join(f"{count} {status}" for status, count in sorted(counts.items())),
                nearest=f"{shown(min(distances))} to {shown(max(distances))}" if distances else "-",
            )
    decided = sum(tuple(policy.decide(city.context)) == los_angeles.NORTH for policy in policies.values())
    report.text(f"The northern route is the decision in {decided} of {len(policies)} samples.")
    report.write()


def growth(settings: Settings) -> None:
    """Time against n, trees, depth and d."""
    report = Report("forest-growth", settings, settings.counted())
    axes: dict[str, tuple[int, ...]] = {
        "n": (50, 100, 200, 500, 1000, 2000, 5000),
        "trees": (10, 25, 50, 100, 200, 400),
        "depth": (2, 3, 4, 5, 6, 8, 10),
        "d": (2, 4, 8, 16, 32, 64, 128, 256),
    }
    if settings.quick:
        axes = {"n": (50, 200), "trees": (25, 100), "depth": (3, 5), "d": (4, 16)}
    _growth.curves(settings, report, _sized, {"n": 200, "trees": 100, "depth": 4, "d": 4}, axes, "forest")
    report.write()


def start(settings: Settings) -> None:
    """First use in a new process."""
    report = Report("forest-start", settings)
    first_use(report, "forest")
    report.write()


def _path(problem: str, n: int, weights: ForestWeights, features: int, seed: int) -> Instance:
    return instance(problem, n, seed, predictor=weights, features=features)


def _one_of_many(problem: str, n: int, weights: ForestWeights, features: int, seed: int) -> Instance:
    return _history(problem, n, weights.n_trees, weights.max_depth, features, seed // SHARED).question(seed % SHARED)


@lru_cache(maxsize=1)
def _history(problem: str, n: int, trees: int, depth: int, features: int, seed: int) -> Study:
    return study(problem, n, seed, predictor=paper_forest(trees, depth), features=features)


def _sized(problem: str, sizes: Mapping[str, int], seed: int) -> Instance:
    return _path(problem, sizes["n"], paper_forest(sizes["trees"], sizes["depth"]), sizes["d"], seed)


def _gaps(cell: Cell) -> str:
    """Distance found minus bound, for those that were cut off."""
    return ", ".join(shown(run.distance - run.bound) for run in cell.open) or "-"


SECTIONS: dict[str, Any] = {
    "paper": paper,
    "dimensions": dimensions,
    "dimensions-cvar": dimensions_cvar,
    "far": far,
    "deep": deep,
    "los-angeles": los_angeles_routes,
    "growth": growth,
    "start": start,
}

if __name__ == "__main__":
    main("Nearest explanations of forest policies.", SECTIONS, partial(warm_up, paper_forest(20, 4)), sys.argv[1:])
