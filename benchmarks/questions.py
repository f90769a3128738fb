"""What would change the plan: stability radii of decisions, beside what one would do without an exact search.

    python benchmarks/questions.py [--section NAME]... [--instances N] [--start SEED] [--quick]

A question is ``policy.explain(context, margin=...)``: the nearest context in which today's plan is more than so much
above the best. Beside it: the best plan solved at every past context, random contexts, and differential evolution, each
with its distance over the exact one and its time over that of the search. Times are processor times of the whole call.
Tables go to ``docs/benchmarks/tables`` (with ``--quick``, to ``.benchmarks``).
"""

from __future__ import annotations

import copy
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import differential_evolution

import whence as wh
from _common import Report, Settings, main, milliseconds, shown
from paper import study
from paper.forests import paper_forest
from whence.engines import ENGINES
from whence.question import Answer, Question
from whence.search.search_engine import Search

#: Seconds after which a question is given up, and contexts that random search and differential evolution may try.
LIMIT, TRIED = 20.0, 300
#: Seconds within which most of the hard questions should be proved.
WANTED = 10.0
#: Questions that are asked about one history, and questions of a row that the other methods get, too.
SHARED, COMPARED = 5, 1
MARGINS = (0.01, 0.05)


@dataclass(frozen=True)
class Class:
    """A class of questions: an experiment of the paper, its sizes, and the forest."""

    problem: str
    n: int
    depth: int | None = 4
    sizes: dict[str, int] | None = None


SECTIONS: dict[str, list[Class]] = {
    "5x5": [Class("shortest_path", n, sizes={"width": 5, "features": d}) for n in (200, 1000) for d in (2, 4, 10, 25)],
    "8x8": [Class("shortest_path", n, sizes={"width": 8, "features": d}) for n in (200, 1000) for d in (2, 4, 10, 25)],
    "20x20": [Class("shortest_path", 200, sizes={"width": 20, "features": 4})],
    "newsvendor": [Class("newsvendor", n) for n in (200, 1000)],
    "cvar": [Class("cvar_shortest_path", 200, sizes={"width": w, "features": 4}) for w in (4, 5)],
    "deep": [Class("shortest_path", 1000, None, {"width": 5, "features": 7})],
}


class Oracle:
    """Whether a context, in coordinates, is one in which today's plan is beaten by the margin; counts its looks."""

    def __init__(self, policy: wh.Policy, context: Any, margin: float) -> None:
        self.policy, self.margin = policy, margin
        self.space = policy.schema_.space(policy.schema_.row(context))
        self.costs = policy.decision(context).costs

    def short_by(self, point: np.ndarray) -> float:
        """By how much of its cost today's plan is too good at a point; at most 0 where the plan changes."""
        policy = self.policy
        weights = policy.weights_.at(policy.input_map_.row(point))
        plan = policy.problem.solve(policy.Y_, weights, policy.risk_)
        best = policy.risk_.of(policy.problem.costs(plan, policy.Y_), weights)
        today = policy.risk_.of(self.costs, weights)
        return (best * (1.0 + self.margin) - today) / max(abs(today), 1e-12)


def past(oracle: Oracle, rng: np.random.Generator) -> float:
    """The nearest past context in which the plan changes."""
    points = oracle.policy.schema_.encode(oracle.policy.X_)
    distance = np.abs(points - oracle.space.start) @ oracle.space.weight
    for i in np.argsort(distance):
        if oracle.short_by(points[i]) <= 0.0:
            return float(distance[i])
    return np.inf


def at_random(oracle: Oracle, rng: np.random.Generator) -> float:
    """The nearest of random contexts, drawn ever nearer to the start once one is found."""
    space, best, reach = oracle.space, np.inf, 1.0
    for _ in range(TRIED):
        point = space.start + reach * (rng.uniform(space.lower, space.upper) - space.start)
        moved = rng.random(point.size) < 0.5
        point = np.where(moved, point, space.start)
        distance = space.distance(point)
        if distance < best and oracle.short_by(point) <= 0.0:
            best, reach = distance, min(1.0, 1.2 * float(np.abs(point - space.start).max()))
    return best


def evolved(oracle: Oracle, rng: np.random.Generator) -> float:
    """What differential evolution finds for the distance and a penalty."""
    space = oracle.space
    found = [np.inf]

    def price(point: np.ndarray) -> float:
        short, distance = oracle.short_by(point), space.distance(point)
        if short <= 0.0:
            found[0] = min(found[0], distance)
            return distance
        return 10.0 * space.start.size + 100.0 * short

    size = max(5, min(15, TRIED // (20 * space.start.size)))
    rounds = max(1, TRIED // (size * space.start.size) - 1)
    limits = list(zip(space.lower, space.upper, strict=True))
    differential_evolution(price, limits, popsize=size, maxiter=rounds, tol=0.0, polish=False, seed=rng)
    return found[0]


METHODS: dict[str, Callable[[Oracle, np.random.Generator], float]] = {
    "past contexts": past,
    "random": at_random,
    "evolution": evolved,
}


def asked(one: Class, settings: Settings, margin: float, count: int) -> dict[str, Any]:
    """A row of the table: so many questions of a class at one margin."""
    seconds, proved, soon, distances = [], 0, 0, []
    others: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
    statuses: dict[str, int] = {}
    for number in range(count):
        if number % SHARED == 0:
            made = study(
                one.problem, one.n, settings.start + number // SHARED,
                predictor=paper_forest(100, one.depth), **(one.sizes or {}),
            )  # fmt: skip
        question = made.question(number % SHARED)
        policy = copy.copy(question.policy)
        policy.weights_ = copy.copy(question.policy.weights_)
        began = time.process_time()
        why = policy.explain(question.context, margin=margin, time_limit=LIMIT)
        spent = time.process_time() - began
        statuses[why.status] = statuses.get(why.status, 0) + 1
        proved += why.status in ("optimal", "none")
        soon += why.status in ("optimal", "none") and spent <= WANTED
        seconds.append(spent)
        if why.status == "optimal" and len(distances) < COMPARED:
            distances.append(why.distance)
            oracle = Oracle(question.policy, question.context, margin)
            for name, method in METHODS.items():
                began = time.process_time()
                found = method(oracle, np.random.default_rng(number))
                others[name].append((found / why.distance, (time.process_time() - began) / spent))
    sizes = " ".join(f"{name}={value}" for name, value in (one.sizes or {}).items())
    row: dict[str, Any] = {
        "question": f"{one.problem} n={one.n} {sizes}" + ("" if one.depth else " no depth limit"),
        "margin": f"{100 * margin:g} %",
        "proved": f"{proved} of {count}",
        f"in_{WANTED:g}_s": soon,
        "none": statuses.get("none", 0),
        "median_ms": milliseconds(statistics.median(seconds)),
        "largest_ms": milliseconds(max(seconds)),
    }
    for name, pairs in others.items():
        ratios = [statistics.median(values) for values in zip(*pairs, strict=True)]
        row[name] = f"{shown(ratios[0])}x distance, {shown(ratios[1])}x time" if pairs else "-"
    return row


def section(name: str, settings: Settings) -> None:
    """All classes of one section."""
    count = settings.instances
    report = Report(f"questions-{name}", settings, f"{count} questions a row, {LIMIT:g} s each at most.")
    for one in SECTIONS[name]:
        for margin in MARGINS:
            report.row(**asked(one, settings, margin, count))
            report.write()


def another(policy: wh.Policy, context: Any, rng: np.random.Generator) -> Any:
    """The best plan of some past context, another one than today's."""
    today = policy.decide(context)
    for i in rng.permutation(len(policy.X_)):
        plan = policy.decide(policy.X_.iloc[i])
        if plan != today:
            return plan
    return None


def one_plan(settings: Settings) -> None:
    """Questions about one plan that is to be better by a margin, with and without potentials."""
    count = settings.instances
    report = Report("questions-one-plan", settings, f"{count} questions a row, {WANTED:g} s each at most.")
    for n, width, features in ((200, 8, 10), (1000, 8, 10), (200, 8, 25), (1000, 5, 25), (1000, 8, 25)):
        for margin in (0.02, 0.05):
            spent: dict[bool, list[float]] = {True: [], False: []}
            proved, none = {True: 0, False: 0}, 0
            for number in range(count):
                if number % SHARED == 0:
                    made = study(
                        "shortest_path", n, settings.start + number // SHARED,
                        predictor=paper_forest(100, 4), width=width, features=features,
                    )  # fmt: skip
                question = made.question(number % SHARED)
                plan = another(question.policy, question.context, np.random.default_rng(number))
                if plan is None:
                    continue
                # What is kept between questions about a policy is made before either of them is timed.
                question.policy.explain(question.context, plan, margin=margin, node_limit=1)
                for potentials in (True, False):
                    began = time.process_time()
                    with _without_potentials() if not potentials else nullcontext():
                        why = question.policy.explain(question.context, plan, margin=margin, time_limit=WANTED)
                    spent[potentials].append(time.process_time() - began)
                    proved[potentials] += why.status in ("optimal", "none")
                    none += potentials and why.status == "none"
            report.row(
                question=f"shortest_path n={n} width={width} features={features}",
                margin=f"{100 * margin:g} %",
                proved=f"{proved[True]} of {len(spent[True])}",
                none=none,
                mean_ms=milliseconds(statistics.mean(spent[True])),
                largest_ms=milliseconds(max(spent[True])),
                proved_without=f"{proved[False]} of {len(spent[False])}",
                mean_without_ms=milliseconds(statistics.mean(spent[False])),
                ratio=f"{shown(sum(spent[False]) / sum(spent[True]))}x",
            )
            report.write()


@contextmanager
def _without_potentials() -> Iterator[None]:
    """Questions are answered by the search that otherwise comes first alone."""
    before, ENGINES["search"] = ENGINES["search"], _Plain
    try:
        yield
    finally:
        ENGINES["search"] = before


class _Plain(Search):
    """The search, which never takes plans one by one."""

    def answer(self, question: Question) -> Answer:
        """Search without potentials."""
        return super().answer(replace(question, settings=replace(question.settings, potentials_after=10**9)))


def warm_up() -> None:
    """Load everything that the questions need."""
    made = study("shortest_path", 50, 0, predictor=paper_forest(10, 3), width=4, features=2).question()
    made.policy.explain(made.context)


if __name__ == "__main__":
    sections: dict[str, Callable[[Settings], None]] = {name: partial(section, name) for name in SECTIONS}
    sections["one-plan"] = one_plan
    main(__doc__ or "", sections, warm_up, sys.argv[1:])
