"""How far explanations hold when the forest is fitted again, what that costs, and how wide the rules are.

    python benchmarks/holds.py [--section NAME]... [--instances N] [--start SEED] [--quick]

The tables go to ``docs/benchmarks/tables``, the plot to ``docs/images``; with ``--quick`` both go to ``.benchmarks``.
Refits 0 to 19 are those that ``holds`` uses itself; validity is counted on refits 20 to 39, which it has never seen.
The restaurant's data are found as in ``absolute.py``.
"""

from __future__ import annotations

import copy
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import whence as wh
from _common import Report, Settings, main, milliseconds, shown
from absolute import history, more_of_one
from paper import study
from whence.examples import bakery, city
from whence.explain.reliance import KAPPAS, Refitted

#: The share of refits asked for.
WANTED = 0.9
#: Refits that no explanation was chosen or judged by.
HELD_OUT = range(20, 40)
#: Questions that are asked about one history, and seconds after which one of them is given up.
SHARED, LIMIT = 6, 30.0
FOREST = {"n_trees": 100, "max_depth": 4}


@dataclass(frozen=True)
class Asked:
    """A question: a fitted policy, a context, and the plan of the planner."""

    policy: wh.Policy
    context: Any
    instead: Any


Questions = Callable[[int, int], Iterator[Asked]]


def of_paper(problem: str, n: int, **sizes: int) -> Questions:
    """Questions about histories of the paper's experiments, some about each."""

    def questions(count: int, start: int) -> Iterator[Asked]:
        for number in range(count):
            if number % SHARED == 0:
                asked = study(problem, n, start + number // SHARED, predictor=wh.ForestWeights(**FOREST), **sizes)
            one = asked.question(number % SHARED)
            yield Asked(one.policy, one.context, one.alternative)

    return questions


def of_restaurant(count: int, start: int) -> Iterator[Asked]:
    """A restaurant's day, and the decision with a fifth more of one dish."""
    contexts, demands, _ = history()
    problem = wh.Newsvendor(np.full(7, 1.0), np.full(7, 4.0))
    policy = wh.Policy(problem, wh.ForestWeights(**FOREST, random_state=0)).fit(contexts, demands)
    rng = np.random.default_rng(start)
    for _ in range(count):
        today = contexts.iloc[int(rng.integers(len(contexts)))]
        yield Asked(policy, today, more_of_one(policy, today, int(rng.integers(7)), None))


def of_example(load: Callable[[], Any]) -> Questions:
    """A past day of a built-in example, and the plan of another one."""

    def questions(count: int, start: int) -> Iterator[Asked]:
        example = load()
        policy = example.policy.fit(example.X, example.Y)
        rng = np.random.default_rng(start)
        for _ in range(count):
            today, other = (policy.X_.iloc[int(i)] for i in rng.integers(len(policy.X_), size=2))
            yield Asked(policy, today, policy.decide(other))

    return questions


CLASSES: dict[str, Questions] = {
    "newsvendor n=200 d=2": of_paper("newsvendor", 200),
    "path n=200 d=4": of_paper("shortest_path", 200, features=4),
    "path n=1000 d=10": of_paper("shortest_path", 1000, features=10),
    "CVaR path n=200 d=4": of_paper("cvar_shortest_path", 200, features=4),
    "restaurant": of_restaurant,
    "bakery": of_example(bakery.load),
    "city": of_example(city.load),
}


@dataclass
class Measured:
    """What was seen of one class under one kind of asking."""

    validity: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ratio: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    regions: list[float] = field(default_factory=list)
    told: int = 0
    proved: int = 0
    reached: int = 0
    asked: int = 0


def count(measured: Measured, why: wh.Explanation, nearest: wh.Explanation, kinds: tuple[str, ...]) -> None:
    """Add one answer: how often it holds in refits that are new to it, and how far away it is."""
    for kind in kinds:
        held = Refitted(why.source, kind).held(why, HELD_OUT)  # type: ignore[arg-type]
        assert held is not None
        measured.validity[kind].append(held.share)
    measured.ratio.append(why.distance / nearest.distance)


def timed(asked: Asked, measured: Measured, **options: Any) -> wh.Explanation:
    """Ask, and time the whole call; a copy of the policy shares its refits and nothing else."""
    policy = copy.copy(asked.policy)
    policy.weights_ = copy.copy(asked.policy.weights_)
    began = time.perf_counter()
    why = policy.explain(asked.context, instead=asked.instead, time_limit=LIMIT, **options)
    measured.seconds.append(time.perf_counter() - began)
    measured.asked += 1
    measured.proved += why.status not in ("time_limit", "interrupted")
    return why


def nearest_of(questions: Questions, settings: Settings) -> Iterator[tuple[Asked, wh.Explanation]]:
    """The first questions that have an explanation at a distance above 0, with the nearest one."""
    left = settings.instances
    for asked in questions(8 * settings.instances, settings.start):
        why = asked.policy.explain(asked.context, instead=asked.instead, time_limit=LIMIT)
        if why.context is not None and why.distance > 0.0:
            yield asked, why
            left -= 1
        if left == 0:
            return


def holds(settings: Settings) -> None:
    """`holds=0.9` beside the nearest explanation: validity, distance, time and proof."""
    report = Report("holds", settings, f"{settings.instances} questions per class, of seed {settings.start} on.")
    for name, questions in CLASSES.items():
        plain, seed, boot = Measured(), Measured(), Measured()
        known: set[int] = set()
        for asked, nearest in nearest_of(questions, settings):
            timed(asked, plain)
            count(plain, nearest, nearest, ("seed", "bootstrap"))
            for measured, kind in ((seed, "seed"), (boot, "bootstrap")):
                if kind == "seed" and id(asked.policy) not in known:
                    known.add(id(asked.policy))
                    began = time.perf_counter()
                    asked.policy.explain(
                        asked.context, instead=asked.instead, holds=WANTED, refits="seed", time_limit=LIMIT
                    )
                    seed.first.append(time.perf_counter() - began)
                why = timed(asked, measured, holds=WANTED, refits=kind)
                if why.context is None or why.reliance is None:
                    continue
                measured.reached += why.reliance.reached
                count(measured, why, nearest, ("seed", "bootstrap"))
                if kind == "seed":
                    began = time.perf_counter()
                    region = why.region()
                    measured.regions.append(time.perf_counter() - began)
                    measured.told += region.short
        rows = (("nearest", plain), ("holds=0.9, seed", seed), ("holds=0.9, bootstrap", boot))
        for words, measured in rows:
            row(report, name, words, measured)
    report.write()


def row(report: Report, name: str, words: str, measured: Measured) -> None:
    """One row of the table."""
    report.row(
        questions=name,
        asked=words,
        holds_seed=shown(statistics.fmean(measured.validity["seed"])),
        holds_bootstrap=shown(statistics.fmean(measured.validity["bootstrap"])),
        goal_reached="-" if words == "nearest" else f"{measured.reached} of {measured.asked}",
        distance_ratio=shown(statistics.median(measured.ratio)),
        proved=f"{measured.proved} of {measured.asked}",
        median_ms=milliseconds(statistics.median(measured.seconds)),
        first_call_s=shown(statistics.median(measured.first)) if measured.first else "-",
        region_ms=milliseconds(statistics.median(measured.regions)) if measured.regions else "-",
        short_rules=f"{measured.told} of {len(measured.regions)}" if measured.regions else "-",
    )


def confidence(settings: Settings) -> None:
    """Validity against the number of standard errors, and the plot of it."""
    report = Report("holds-confidence", settings, f"{settings.instances} questions per class.")
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), sharey=True, layout="constrained")
    for name, questions in CLASSES.items():
        found: dict[float, Measured] = {kappa: Measured() for kappa in KAPPAS}
        for asked, nearest in nearest_of(questions, settings):
            for kappa, measured in found.items():
                why = timed(asked, measured, confidence=kappa)
                if why.context is not None:
                    count(measured, why, nearest, ("seed", "bootstrap"))
        for kappa, measured in found.items():
            if not measured.ratio:
                continue
            report.row(
                questions=name,
                kappa=f"{kappa:g}",
                found=f"{len(measured.ratio)} of {measured.asked}",
                holds_seed=shown(statistics.fmean(measured.validity["seed"])),
                holds_bootstrap=shown(statistics.fmean(measured.validity["bootstrap"])),
                distance_ratio=shown(statistics.median(measured.ratio)),
                proved=f"{measured.proved} of {measured.asked}",
                median_ms=milliseconds(statistics.median(measured.seconds)),
            )
        for panel, kind in zip(panels, ("seed", "bootstrap"), strict=True):
            points = [(kappa, 100 * statistics.fmean(one.validity[kind])) for kappa, one in found.items() if one.ratio]
            panel.plot(*zip(*points, strict=True), marker="o", markersize=3, linewidth=1.2, label=name)
    for panel, title in zip(panels, ("other random numbers, same data", "data drawn anew"), strict=True):
        panel.axhline(100 * WANTED, color="grey", linewidth=0.8, linestyle=":")
        panel.set(xlabel="standard errors asked for (kappa)", title=title, ylim=(0, 102))
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("holds in so many refits [%]")
    panels[1].legend(fontsize=7, frameon=False, loc="lower right")
    settings.images.mkdir(parents=True, exist_ok=True)
    path = settings.images / "holds.png"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"written: {path}", flush=True)
    report.write()


def warm() -> None:
    """Load the search."""
    asked = next(of_example(bakery.load)(1, 0))
    asked.policy.explain(asked.context, instead=asked.instead, confidence=1.0)


if __name__ == "__main__":
    main("How far explanations hold.", {"holds": holds, "confidence": confidence}, warm, sys.argv[1:])
