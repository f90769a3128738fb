"""How often answers are true in the world, against the share that was asked for: where the true costs are known.

    python benchmarks/world.py [--class NAME]... [--policies N] [--questions N] [--start SEED] [--refits N] [--tables]
    python benchmarks/world.py --real [--policies N] [--questions N] [--start SEED] [--tables]
    python benchmarks/world.py --claims --class NAME... [--policies N] [--questions N] [--start SEED] [--tables]
    python benchmarks/world.py --within 0.05 --class NAME [--policies N] [--questions N] [--start SEED]

Every policy of a class is written to ``.benchmarks/world`` once it is done, so that classes may be run one at a time
and beside each other; ``--tables`` makes ``docs/benchmarks/tables/world.md`` and ``docs/images/world.png`` of them.
Seeds below 1000 were used while building; the published figures are of seeds from 1000 on. With ``--real`` the three
real cases are cut in two: fitted and asked on one half, and what both plans really cost near the context on the other.
With ``--within`` absolute questions are asked: is the plan so near to the best, and as near as it is said to be?
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import whence as wh
from _common import ROOT
from _worlds import CLASSES
from defaults import case

#: The shares that are asked for.
ASKED = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
#: Seconds after which a question is given up.
LIMIT = 60.0
#: Fewer answers than this make no point of a line.
LEAST = 15
#: The real cases, and rows of each that are cut in two.
REAL = ("restaurant", "bike share", "airports (CVaR)")
MOST_ROWS = 1_000
KEPT = ROOT / ".benchmarks" / "world"


def measured(name: str, seed: int, questions: int, refits: bool) -> dict[str, Any]:
    """Everything that is counted of one policy of a class."""
    n, make = CLASSES[name]
    rng = np.random.default_rng([seed, list(CLASSES).index(name)])
    world = make(rng)
    X, Y = world.history(n, rng)
    policy = wh.Policy(world.problem, world.weights(seed), world.risk).fit(X, Y)
    found: dict[str, Any] = {"class": name, "seed": seed, "answers": []}
    asked = 0
    for _ in range(4 * questions):
        if asked == questions:
            break
        here, there = world.contexts(rng, 2)
        instead, began = policy.decide(there), time.process_time()
        nearest = policy.explain(here, instead=instead, time_limit=LIMIT)
        spent = time.process_time() - began
        if nearest.status == "already" or nearest.context is None:
            continue
        asked += 1
        possible = world.has_true(nearest)
        found["answers"].append(counted(world, nearest, "nearest", 0.0, spent) | {"possible": possible})
        kinds = ["worlds", "seed", "bootstrap"] if refits else ["worlds"]
        if world.weights(0).get_params().get("random_state", "none") == "none" and "seed" in kinds:
            kinds.remove("seed")
        for kind in kinds:
            for share in ASKED if kind == "worlds" else (0.9,):
                began = time.process_time()
                why = policy.explain(
                    here,
                    instead=nearest.alternative,
                    holds=share,
                    refits=kind,
                    time_limit=LIMIT if kind != "worlds" else None,
                )
                spent = time.process_time() - began
                found["answers"].append(counted(world, why, kind, share, spent) | {"possible": possible})
                found.setdefault("first", {}).setdefault(kind, spent)
    kept = next(iter(policy.worlds_.curves.values())) if hasattr(policy, "worlds_") else None
    if kept is not None:
        found |= {
            "model": kept.model,
            "explained": kept.explained,
            "shares": list(map(float, kept.shares)),
            "kappas": list(kept.kappas),
            "answered": list(kept.answered),
        }
    return found


def counted(world: Any, why: Any, kind: str, share: float, spent: float) -> dict[str, Any]:
    """What is kept of one answer."""
    reliance = why.reliance
    return {
        "kind": kind,
        "asked": share,
        "found": why.context is not None,
        "reached": reliance is not None and bool(reliance.reached),
        "said": None if reliance is None else reliance.share,
        "confidence": why.confidence,
        "distance": None if why.context is None else why.distance,
        "true": None if why.context is None else bool(world.excess(why) <= 0.0),
        "seconds": spent,
        "status": why.status,
    }


def best(name: str, seed: int, questions: int, within: float) -> list[dict[str, Any]]:
    """Absolute answers of one policy asked for 0.9: how far the plan is above the true best, and what was said."""
    n, make = CLASSES[name]
    rng = np.random.default_rng([seed, list(CLASSES).index(name)])
    world = make(rng)
    policy = wh.Policy(world.problem, world.weights(seed), world.risk).fit(*world.history(n, rng))
    found: list[dict[str, Any]] = []
    for _ in range(4 * questions):
        if len(found) == questions:
            break
        here, there = world.contexts(rng, 2)
        asked = {"instead": policy.decide(there), "kind": "absolute", "within": within}
        if policy.explain(here, **asked, time_limit=LIMIT).status in ("already", "none"):
            continue
        began = time.process_time()
        why = policy.explain(here, **asked, holds=0.9)
        if why.context is not None and why.reliance is not None:
            told = {"reached": why.reliance.reached, "wider": why.reliance.wider, "share": why.reliance.share}
            found.append({"above": world.above_best(why), "seconds": time.process_time() - began, **told})
    return found


def print_best(options: argparse.Namespace) -> None:
    """Measure absolute answers and print how many are true as asked, and as it is said of them."""
    for name in options.classes or CLASSES:
        every = [
            best(name, seed, options.questions, options.within)
            for seed in range(options.start, options.start + options.policies)
        ]
        answers = [one for some in every for one in some]
        told = [one for one in answers if one["wider"] is not None]
        print(f"{name}: {len(answers)} answers, {sum(a['reached'] for a in answers)} reached 0.9;", end=" ")
        print(f"true as asked {np.mean([a['above'] <= options.within for a in answers]):.2f},", end=" ")
        print(f"said {np.mean([a['share'] for a in answers if a['share'] is not None]):.2f};", end=" ")
        near = [a["above"] <= a["wider"] * options.within for a in told]
        print(f"told how near {len(told)}: true {np.mean(near):.2f}" if told else "told how near 0", end="; ")
        print(f"within {sorted({round(a['wider'] * options.within, 3) for a in told})};", end=" ")
        print(f"first question {np.mean([some[0]['seconds'] for some in every if some]):.1f} CPU s", flush=True)


def claimed(name: str, seed: int, questions: int) -> dict[str, Any]:
    """Answers of one policy to other questions than whether a plan is better: near to the best, of a set, or any."""
    n, make = CLASSES[name]
    rng = np.random.default_rng([seed, list(CLASSES).index(name)])
    world = make(rng)
    policy = wh.Policy(world.problem, world.weights(seed), world.risk).fit(*world.history(n, rng))
    found: dict[str, Any] = {"class": name, "seed": seed, "answers": []}
    first = [float(policy.decide(there)[0]) for there in world.contexts(rng, 40)]
    many = world.problem.at_least(0, round(float(np.quantile(first, 0.75)), 1))
    for claim in CLAIMS:
        asked = 0
        for _ in range(4 * questions):
            if asked == questions:
                break
            here, there = world.contexts(rng, 2)
            options: dict[str, Any] = {"instead": policy.decide(there), "kind": "absolute", "within": 0.1}
            if claim != CLAIMS[0]:
                options = {"instead": many if claim == CLAIMS[1] else None}
            nearest = policy.explain(here, **options, time_limit=LIMIT)
            if nearest.status == "already" or nearest.context is None:
                continue
            asked += 1
            for share in (0.0, 0.7, 0.9):
                began = time.process_time()
                why = policy.explain(here, **options, holds=share) if share else nearest
                told = {"claim": claim, "asked": share, "true": world.truth(why), "distance": why.distance}
                reached = why.reliance is not None and bool(why.reliance.reached)
                found["answers"].append({**told, "reached": reached, "seconds": time.process_time() - began})
    return found


def claims_summary(found: list[dict[str, Any]]) -> list[list[str]]:
    """A row for every kind of claim and class: the share of true answers, and how many reach what was asked for."""
    rows = []
    for claim in CLAIMS:
        for name in [*CLASSES, "all"]:
            mine = [one for one in found if name in (one["class"], "all")]
            answers = [answer for one in mine for answer in one["answers"] if answer["claim"] == claim]
            if not answers:
                continue
            row = [claim, name, str(len(mine)), str(sum(a["asked"] == 0.9 for a in answers))]
            for share in (0.0, 0.7, 0.9):
                some = [a for a in answers if a["asked"] == share]
                told = [a["true"] for a in some if a["reached"] or not share]
                row.append(f"{np.mean(told):.2f} of {len(told)}" if told else "-")
            rows.append(row)
    return rows


CLAIMS = ("within 10 % of the best", "a set of plans", "no plan")
CLAIMS_HEAD = ["asked about", "class", "policies", "questions", "nearest", "0.7", "0.9"]


def other_claims(options: argparse.Namespace) -> None:
    """Measure other claims, or make their table."""
    for seed in range(options.start, options.start + options.policies) if not options.tables else ():
        for name in options.classes:
            path = KEPT / f"claims-{list(CLASSES).index(name):02d}-{seed}.json"
            if not path.exists():
                path.write_text(json.dumps(claimed(name, seed, options.questions)))
    rows = claims_summary(records(options.start, kind="claims"))
    table = "".join(f"| {' | '.join(row)} |\n" for row in [CLAIMS_HEAD, ["---"] * len(CLAIMS_HEAD), *rows])
    print(table)
    if options.tables:
        Path(ROOT / "docs" / "benchmarks" / "tables" / "world-claims.md").write_text(table)


def halved(name: str, seed: int, questions: int) -> dict[str, Any]:
    """Reliable answers of a policy that has seen one half of a real case, and what they are worth in the other half."""
    problem, risk, X, Y, schema = case(name)
    rows = np.random.default_rng([seed, 7]).permutation(len(X))[:MOST_ROWS]
    first, second = (np.sort(part) for part in np.array_split(rows, 2))
    policy, other = (
        wh.Policy(problem, wh.ForestWeights(random_state=seed), risk, schema).fit(X.iloc[part], Y.iloc[part])
        for part in (first, second)
    )
    found: dict[str, Any] = {"real": name, "seed": seed, "answers": []}
    answers: list[dict[str, Any]] = found["answers"]
    began = time.process_time()
    for i in range(3 * questions):
        if sum(a["asked"] == 0.9 for a in answers) == questions:
            break
        here, there = X.iloc[first[i]], X.iloc[first[-1 - i]]
        nearest = policy.explain(here, instead=policy.decide(there), time_limit=LIMIT)
        if nearest.status == "already" or nearest.context is None:
            continue
        for share in (0.0, 0.7, 0.9):
            why = nearest
            if share:
                why = policy.explain(here, instead=nearest.alternative, holds=share, time_limit=10 * LIMIT)
            weights = other.weights_at(why.context)
            mine, decided = (
                float(other.risk_.of(np.asarray(problem.costs(plan, other.Y_)), weights))
                for plan in (why.alternative, why.decision)
            )
            told = {"reliable": bool(why.reliable), "distance": why.distance, "mine": mine, "decided": decided}
            answers.append({"asked": share, **told})
    return {**found, "seconds": time.process_time() - began}


def real_summary(found: list[dict[str, Any]]) -> list[list[str]]:
    """A row for every real case: how often the plan was really cheaper on the other half, and by how much."""
    rows = []
    for name in [*REAL, "all"]:
        mine = [one for one in found if name in (one["real"], "all")]
        answers = [answer for one in mine for answer in one["answers"]]
        row = [name, str(len(mine)), str(sum(a["asked"] == 0.9 for a in answers))]
        for share in (0.0, 0.7, 0.9):
            some = [a for a in answers if a["asked"] == share and (a["reliable"] or not share)]
            cheaper, gain = ([f(a) for a in some] for f in (_is_cheaper, _gain))
            row += [f"{np.mean(cheaper):.2f} of {len(some)}", f"{100 * np.mean(gain):.1f} %"] if some else ["-", "-"]
        rows.append(row)
    return rows


def _is_cheaper(answer: dict[str, Any]) -> bool:
    return bool(answer["mine"] < answer["decided"])


def _gain(answer: dict[str, Any]) -> float:
    return float((answer["decided"] - answer["mine"]) / answer["decided"])


REAL_HEAD = [
    "case", "cuts", "questions", "nearest: cheaper in", "by", "reliable at 0.7: cheaper in", "by",
    "reliable at 0.9: cheaper in", "by",
]  # fmt: skip


def records(start: int = 0, end: int = 10**9, kind: str = "[0-9]") -> list[dict[str, Any]]:
    """What was measured of seeds from `start` on, below `end`."""
    every = [json.loads(path.read_text()) for path in sorted(KEPT.glob(f"{kind}*.json"))]
    return [one for one in every if start <= one["seed"] < end]


def summary(found: list[dict[str, Any]]) -> list[list[str]]:
    """A row for every class: the share of true answers by what was asked for."""
    rows = []
    for name in [*CLASSES, "all"]:
        mine = [one for one in found if name in (one["class"], "all")]
        if not mine:
            continue
        answers = [answer for one in mine for answer in one["answers"]]
        row = [name, str(len(mine)), str(sum(a["kind"] == "nearest" for a in answers))]
        for kind, shares in (("nearest", (0.0,)), ("seed", (0.9,)), ("bootstrap", (0.9,)), ("worlds", ASKED)):
            for share in shares:
                some = [a for a in answers if a["kind"] == kind and a["asked"] == share]
                told = [a for a in some if a["found"] and (kind != "worlds" or a["reached"])]
                row.append(f"{np.mean([a['true'] for a in told]):.2f}" if told else "-")
        nine = [a for a in answers if a["kind"] == "worlds" and a["asked"] == 0.9]
        for some in (nine, [a for a in nine if a.get("possible")]):
            row.append(f"{np.mean([a['reached'] for a in some]):.2f}" if some else "-")
        near = [a["distance"] for a in answers if a["kind"] == "nearest"]
        far = [a["distance"] for a in nine if a["reached"]]
        row += [f"{np.mean(near):.2f}", f"{np.mean(far):.2f}" if far else "-"]
        row.append(f"{np.mean([one['first']['worlds'] for one in mine if 'first' in one]):.1f}")
        row.append(f"{np.median([times for one in mine for times in searches(one)]):.1f}")
        rows.append(row)
    return rows


def searches(found: dict[str, Any]) -> list[float]:
    """How many times as long as the nearest answer those asked for 0.9 take, but for the first, which calibrates."""
    seconds, nearest = [], 0.0
    for answer in found["answers"]:
        if answer["kind"] == "nearest":
            nearest = answer["seconds"]
        elif answer["kind"] == "worlds" and answer["asked"] == 0.9:
            seconds.append(answer["seconds"] / nearest)
    return seconds


HEAD = [
    "class", "policies", "questions", "nearest", "seed .9", "bootstrap .9", *(f"worlds {s}" for s in ASKED),
    "answered at .9", "of those that can be true", "distance nearest", "distance at .9", "calibration, CPU s",
    "time at .9 (nearest: 1)",
]  # fmt: skip


def _truths(answers: list[dict[str, Any]], kind: str, share: float) -> list[bool]:
    """Which answers are true, of those that there are and, in worlds, that reached the share."""
    some = [a for a in answers if a["kind"] == kind and a["asked"] == share and a["found"]]
    return [a["true"] for a in some if kind != "worlds" or a["reached"]]


def draw(found: list[dict[str, Any]], path: Path) -> None:
    """Draw the share of true answers against the share asked for, a line for every class."""
    figure, axes = plt.subplots(figsize=(7.2, 4.6))
    axes.plot([0.45, 1], [0.45, 1], color="#999", linestyle=":", label="as asked for")
    for name in CLASSES:
        answers = [answer for one in found if one["class"] == name for answer in one["answers"]]
        told = {share: _truths(answers, "worlds", share) for share in ASKED}
        some = {share: float(np.mean(true)) for share, true in told.items() if len(true) >= LEAST}
        if some:
            axes.plot(list(some), list(some.values()), color="#2b6cb0", alpha=0.35, marker=".", linewidth=1)
    every = [answer for one in found for answer in one["answers"]]
    shares = [float(np.mean(_truths(every, "worlds", share))) for share in ASKED]
    axes.plot(ASKED, shares, color="#1a365d", marker="o", linewidth=2.5, label="simulated worlds, all classes")
    for kind, asked, at, color, label in (
        ("bootstrap", 0.9, 0.9, "#c05621", "refits, other data"),
        ("seed", 0.9, 0.9, "#9b2c2c", "refits, other random numbers"),
        ("nearest", 0.0, 0.48, "#666666", "nearest"),
    ):
        true = _truths(every, kind, asked)
        if true:
            axes.plot([at], [float(np.mean(true))], color=color, marker="D", linestyle="", label=label)
    axes.set(xlabel="share asked for", ylabel="share that is true in the world", ylim=(0, 1.03), xlim=(0.45, 1))
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def cut_in_two(options: argparse.Namespace) -> None:
    """Measure the real cases, or make their table."""
    for seed in range(options.start, options.start + options.policies) if not options.tables else ():
        for name in options.classes or REAL:
            path = KEPT / f"real-{REAL.index(name)}-{seed}.json"
            if not path.exists():
                path.write_text(json.dumps(halved(name, seed, options.questions)))
    rows = real_summary(records(options.start, kind="real"))
    table = "".join(f"| {' | '.join(row)} |\n" for row in [REAL_HEAD, ["---"] * len(REAL_HEAD), *rows])
    print(table)
    if options.tables:
        Path(ROOT / "docs" / "benchmarks" / "tables" / "world-real.md").write_text(table)


def main() -> None:
    """Measure, or make the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--class", dest="classes", action="append")
    parser.add_argument("--policies", type=int, default=5)
    parser.add_argument("--questions", type=int, default=8)
    parser.add_argument("--start", type=int, default=1000)
    parser.add_argument("--refits", type=int, default=0, help="of how many policies refits are asked as well")
    parser.add_argument("--real", action="store_true", help="the real cases, cut in two")
    parser.add_argument("--within", type=float, help="absolute questions: the share of the best plan's cost allowed")
    parser.add_argument(
        "--claims", action="store_true", help="near to the best, sets of plans, and no plan (newsvendors)"
    )
    parser.add_argument(
        "--tables", nargs="?", const="world", help="write them, under this name where it is another one"
    )
    options = parser.parse_args()
    # New contexts may lie a little outside a small history.
    warnings.simplefilter("ignore", UserWarning)
    KEPT.mkdir(parents=True, exist_ok=True)
    if options.within is not None:
        print_best(options)
        return
    if options.real or options.claims:
        (cut_in_two if options.real else other_claims)(options)
        return
    for seed in range(options.start, options.start + options.policies) if not options.tables else ():
        for name in options.classes or CLASSES:
            path = KEPT / f"{list(CLASSES).index(name):02d}-{seed}.json"
            if not path.exists():
                refits = seed < options.start + options.refits
                path.write_text(json.dumps(measured(name, seed, options.questions, refits)))
    rows = summary(records(options.start, options.start + (10**6 if options.tables else options.policies)))
    table = "".join(f"| {' | '.join(row)} |\n" for row in [HEAD, ["---"] * len(HEAD), *rows])
    print(table)
    if options.tables:
        Path(ROOT / "docs" / "benchmarks" / "tables" / f"{options.tables}.md").write_text(table)
        if options.tables == "world":
            draw(records(options.start), ROOT / "docs" / "images" / "world.png")


if __name__ == "__main__":
    main()
