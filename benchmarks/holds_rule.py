"""When the ladder of `holds` should stop: rules compared on every rung of the same questions.

    python benchmarks/holds_rule.py [--section NAME]... [--instances N] [--start SEED]

Every class of questions of ``holds.py`` is a section of its own. For each question all rungs are answered, and how far
refits keep the criterion there is kept in ``.benchmarks``: refits 0 to 9, which choose, and 40 to 63, which no rule has
seen. The section "tables" climbs the ladder by each rule and writes ``docs/benchmarks/tables/holds-rule.md``.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import holds
from _common import ROOT, Report, Settings, main, milliseconds, shown
from holds import CLASSES, WANTED, warm
from whence.explain.robust import CHOOSING, KAPPAS, LONGEST, MORE, Refitted, _missing, expected_share

HELD_OUT = range(40, 64)
#: Questions that are asked about one history, and seconds after which one is given up.
SHARED, LIMIT = 8, 100.0
#: A rung whose refits keep the criterion by this many of their standard deviations is the last one answered.
SURE = 2.2
#: An answer that holds in a smaller share of new refits has not kept what was promised of it.
LOW = 0.8

Rung = dict[str, Any]


def kept(name: str) -> Path:
    """Where the rungs of a class are kept."""
    return ROOT / ".benchmarks" / "holds_rule" / f"{name.replace(' ', '_')}.jsonl"


def measure(name: str, settings: Settings) -> None:
    """All rungs of the questions of one class that have an explanation at a distance above 0."""
    holds.SHARED = SHARED
    path = kept(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    left = settings.instances
    with path.open("w", encoding="utf-8") as file:
        for asked in CLASSES[name](8 * settings.instances, settings.start):
            rungs = answered(asked)
            if not rungs:
                continue
            file.write(json.dumps(rungs) + "\n")
            file.flush()
            left -= 1
            if left == 0:
                return


def answered(asked: holds.Asked) -> list[Rung]:
    """The answers with more and more standard errors; none where the nearest one is nowhere, or at the start."""
    rungs: list[Rung] = []
    for kappa in KAPPAS:
        began = time.process_time()
        why = asked.policy.explain(asked.context, instead=asked.instead, confidence=kappa, time_limit=LIMIT)
        spent = time.process_time() - began
        if why.context is None or not why.distance > 0.0:
            break
        assert why.source is not None
        refitted = Refitted(why.source, "seed")
        over, held = refitted.excesses(why, CHOOSING), refitted.excesses(why, HELD_OUT)
        assert over is not None and held is not None  # noqa: PT018
        error = refitted.standard_error(why)
        found = {"status": why.status, "distance": why.distance, "nodes": why.nodes, "tol": why.tolerance, "se": error}
        rungs.append({"kappa": kappa, "cpu": spent, "over": over.tolist(), "held": held.tolist(), **found})
        if why.status != "optimal" or over.mean() + SURE * over.std(ddof=1) <= why.tolerance:
            break
    return rungs


def agree(rung: Rung) -> float:
    """The share of the refits that choose in which a rung holds."""
    return float(np.mean(np.array(rung["over"][: len(CHOOSING)]) <= rung["tol"]))


def expected(rung: Rung) -> float:
    """The share of further refits in which it is expected to hold."""
    return expected_share(np.array(rung["over"][: len(CHOOSING)]), rung["tol"]) or 0.0


#: When to stop, by what is known of the refits that choose.
RULES: dict[str, Callable[[Rung], bool]] = {
    "nine of ten agree": lambda rung: agree(rung) >= WANTED - 1e-12,
    "ten of ten agree": lambda rung: agree(rung) == 1.0,
    "nine of ten agree, and 0.9 is expected": lambda rung: agree(rung) >= WANTED - 1e-12 and expected(rung) >= WANTED,
}


def climbed(rungs: list[Rung], enough: Callable[[Rung], bool]) -> list[Rung]:
    """The rungs that are tried, with the jumps that `holds` makes; the last one is chosen if it is enough."""
    tried = [rungs[0]]
    while not enough(tried[-1]) and tried[-1] is not rungs[-1]:
        now = tried[-1]
        over = np.array(now["over"][: len(CHOOSING)])
        needed = now["kappa"] + min(MORE * _missing(over, now["tol"], WANTED, now["se"]), LONGEST)
        left = [rung for rung in rungs if rung["kappa"] > now["kappa"]]
        tried.append(next((rung for rung in left if rung["kappa"] >= needed), left[-1]))
    return tried


def tables(settings: Settings) -> None:
    """Validity, distance and effort of each rule, by class."""
    report = Report("holds-rule", settings)
    for name in CLASSES:
        if not kept(name).is_file():
            print(f"SKIPPED: {name} was not measured.", flush=True)
            continue
        questions = [json.loads(line) for line in kept(name).read_text("utf-8").splitlines()]
        for words, enough in RULES.items():
            ways = [climbed(rungs, enough) for rungs in questions]
            chosen = [next((one for one in way if enough(one)), max(way, key=agree)) for way in ways]
            ratio = [one["distance"] / rungs[0]["distance"] for one, rungs in zip(chosen, questions, strict=True)]
            held = [float(np.mean(np.array(one["held"]) <= one["tol"])) for one in chosen]
            report.row(
                problem=name,
                questions=len(questions),
                stops_where=words,
                holds_in_others=shown(statistics.fmean(held)),
                below_four_fifths=sum(share < LOW for share in held),
                met=f"{sum(map(enough, chosen))} of {len(chosen)}",
                distance_ratio=shown(statistics.median(ratio)),
                mean_ratio=shown(statistics.geometric_mean(ratio)),
                rungs=shown(statistics.fmean(map(len, ways))),
                median_cpu_ms=milliseconds(statistics.median(sum(one["cpu"] for one in way) for way in ways)),
            )
    report.write()


if __name__ == "__main__":
    sections = {**{name: partial(measure, name) for name in CLASSES}, "tables": tables}
    main("When the ladder of holds should stop.", sections, warm, sys.argv[1:])
