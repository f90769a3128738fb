"""How far explanations hold when the forest is fitted again, what that costs, and how wide the rules are.

    python benchmarks/holds.py [--section NAME]... [--instances N] [--start SEED] [--quick]

Every class of questions is a section of its own, which may run beside others; what it saw is kept in ``.benchmarks``,
from which the section "tables" makes ``docs/benchmarks/tables/holds.md`` and ``docs/images/holds.png`` (with
``--quick``, in ``.benchmarks``).

Validity is counted on refits 40 to 59, which ``holds`` has never seen: it uses the first ones itself.
The restaurant's data are found as in ``absolute.py``.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import whence as wh
from _common import ROOT, Report, Settings, machine, main, milliseconds, shown
from absolute import history, more_of_one
from paper import study
from paper.forests import paper_forest
from whence.examples import bakery, city
from whence.explain.robust import Refitted

#: The share of refits asked for.
WANTED = 0.9
#: Refits that no explanation was chosen or judged by.
HELD_OUT = range(40, 60)
#: Standard errors at which validity is drawn.
KAPPAS_SHOWN = (0.0, 1.2, 2.3, 4.0)
#: Questions that are asked about one history.
SHARED = 6
#: Seconds after which a question is given up; with data drawn anew, what is asked for may not be there.
LIMIT, LIMIT_BOOTSTRAP = 120.0, 30.0
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
                asked = study(problem, n, start + number // SHARED, predictor=paper_forest(**FOREST), **sizes)
            one = asked.question(number % SHARED)
            yield Asked(one.policy, one.context, one.alternative)

    return questions


def of_restaurant(count: int, start: int) -> Iterator[Asked]:
    """A restaurant's day, and the decision with a fifth more of one dish."""
    contexts, demands, _ = history()
    problem = wh.Newsvendor(np.full(7, 1.0), np.full(7, 4.0))
    policy = wh.Policy(problem, paper_forest(**FOREST, random_state=0)).fit(contexts, demands)
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
    """What was seen of one class under one way of asking; times are those of the processor."""

    seed: list[float] = field(default_factory=list)
    bootstrap: list[float] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    regions: list[float] = field(default_factory=list)
    told: int = 0
    proved: int = 0
    reached: int = 0
    asked: int = 0

    def count(self, why: wh.Explanation, nearest: wh.Explanation) -> None:
        """Add one answer: how often it holds in refits that are new to it, and how far away it is."""
        assert why.source is not None
        for kind, shares in (("seed", self.seed), ("bootstrap", self.bootstrap)):
            held = Refitted(why.source, kind).held(why, HELD_OUT)  # type: ignore[arg-type]
            assert held is not None
            shares.append(held.share)
        self.ratio.append(why.distance / nearest.distance)

    def timed(self, asked: Asked, **options: Any) -> wh.Explanation:
        """Ask, and time the whole call; what a policy keeps between questions is there already."""
        limit = LIMIT_BOOTSTRAP if options.get("refits") == "bootstrap" else LIMIT
        began = time.process_time()
        why = asked.policy.explain(asked.context, instead=asked.instead, time_limit=limit, **options)
        self.seconds.append(time.process_time() - began)
        self.asked += 1
        self.proved += why.status not in ("time_limit", "interrupted")
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


def measure(name: str, settings: Settings) -> None:
    """All questions of one class; what was seen is kept in a file until the tables are written."""
    found: dict[str, Measured] = defaultdict(Measured)
    known: set[int] = set()
    for asked, nearest in nearest_of(CLASSES[name], settings):
        reliable = found["seed"]
        if id(asked.policy) not in known:
            known.add(id(asked.policy))
            began = time.process_time()
            asked.policy.explain(asked.context, instead=asked.instead, holds=WANTED, refits="seed", time_limit=LIMIT)
            reliable.first.append(time.process_time() - began)
            asked.policy.explain(
                asked.context, instead=asked.instead, holds=WANTED, refits="bootstrap", time_limit=LIMIT
            )
        for kind in ("seed", "bootstrap"):
            measured = found[kind]
            why = measured.timed(asked, holds=WANTED, refits=kind)
            if why.context is None or why.reliance is None:
                continue
            measured.reached += why.reliance.reached
            measured.count(why, nearest)
            if kind == "seed":
                began = time.process_time()
                region = why.region()
                measured.regions.append(time.process_time() - began)
                measured.told += region.short
        for kappa in KAPPAS_SHOWN:
            measured = found[f"{kappa:g}"]
            why = measured.timed(asked, confidence=kappa)
            if why.context is not None:
                measured.count(why, nearest)
        path = kept(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        seen = {"machine": machine(), "histories": len(known), "found": {k: asdict(v) for k, v in found.items()}}
        path.write_text(json.dumps(seen), "utf-8")
        print(f"{name}: {reliable.asked} of {settings.instances}", flush=True)


def kept(name: str) -> Path:
    """Where the measurements of a class are kept."""
    return ROOT / ".benchmarks" / "holds" / f"{name.replace(' ', '-').replace('=', '')}.json"


def tables(settings: Settings) -> None:
    """Both tables and the plot, of the classes that were measured."""
    report = Report("holds", settings)
    seen: dict[str, dict[str, Measured]] = {}
    for name in CLASSES:
        if not kept(name).is_file():
            print(f"SKIPPED: {name} was not measured.", flush=True)
            continue
        read = json.loads(kept(name).read_text("utf-8"))
        seen[name] = {key: Measured(**one) for key, one in read["found"].items()}
        for key, words in (("0", "nearest"), ("seed", "holds=0.9"), ("bootstrap", 'holds=0.9, refits="bootstrap"')):
            row(report, f"{name} (histories: {read['histories']})", words, seen[name][key])
    report.text("By the number of standard errors asked for, without a ladder:")
    for name, found in seen.items():
        for kappa in KAPPAS_SHOWN:
            measured = found[f"{kappa:g}"]
            if not measured.ratio:
                continue
            report.row(
                problem=name,
                kappa=f"{kappa:g}",
                found=f"{len(measured.ratio)} of {measured.asked}",
                holds_seed=shown(statistics.fmean(measured.seed)),
                holds_bootstrap=shown(statistics.fmean(measured.bootstrap)),
                distance_ratio=shown(statistics.median(measured.ratio)),
                proved=f"{measured.proved} of {measured.asked}",
                median_cpu_ms=milliseconds(statistics.median(measured.seconds)),
            )
    report.write()
    draw(settings, seen)


def row(report: Report, name: str, words: str, measured: Measured) -> None:
    """One row of the first table."""
    report.row(
        problem=name,
        asked=words,
        holds_seed=shown(statistics.fmean(measured.seed)),
        holds_bootstrap=shown(statistics.fmean(measured.bootstrap)),
        goal_reached="-" if words == "nearest" else f"{measured.reached} of {measured.asked}",
        distance_ratio=shown(statistics.median(measured.ratio)),
        proved=f"{measured.proved} of {measured.asked}",
        median_cpu_ms=milliseconds(statistics.median(measured.seconds)),
        first_call_cpu_s=shown(statistics.median(measured.first)) if measured.first else "-",
        region_cpu_ms=milliseconds(statistics.median(measured.regions)) if measured.regions else "-",
        short_rules=f"{measured.told} of {len(measured.regions)}" if measured.regions else "-",
    )


def draw(settings: Settings, seen: dict[str, dict[str, Measured]]) -> None:
    """Validity against the number of standard errors."""
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), sharey=True, layout="constrained")
    for panel, kind, title in zip(
        panels, ("seed", "bootstrap"), ("other random numbers, same data", "data drawn anew"), strict=True
    ):
        for name, found in seen.items():
            rungs = [(kappa, found[f"{kappa:g}"]) for kappa in KAPPAS_SHOWN]
            points = [(kappa, 100 * statistics.fmean(getattr(one, kind))) for kappa, one in rungs if one.ratio]
            panel.plot(*zip(*points, strict=True), marker="o", markersize=3, linewidth=1.2, label=name)
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


def warm() -> None:
    """Load the search."""
    asked = next(of_example(bakery.load)(1, 0))
    asked.policy.explain(asked.context, instead=asked.instead, confidence=1.0)


if __name__ == "__main__":
    sections = {**{name: partial(measure, name) for name in CLASSES}, "tables": tables}
    main("How far explanations hold.", sections, warm, sys.argv[1:])
