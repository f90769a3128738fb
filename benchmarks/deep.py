"""Default forests, trees of any depth with leaves of 5: what is proved in 10 processor seconds, and how soon.

Four made-up problems at several sizes, and the three real cases. Plans that are asked about are those that the policy
decides in other contexts. `--quick` takes the smallest cells and few questions; `--cells 2000x10` some of them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import whence as wh
from _common import ROOT, machine, shown
from whence.project import Project

#: Sizes of the made-up histories: rows and features.
SIZES = [(n, d) for n in (500, 2000, 10_000) for d in (5, 10, 20)]
KINDS = ("relative", "within 1 %", "no plan", "set")
#: Wall-clock seconds after which a question ends on a busy machine, per processor second.
PATIENCE = 12.0


@dataclass
class Cell:
    """The questions of one kind about one policy."""

    seconds: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    proved: int = 0
    asked: int = 0
    half: int = 0
    open: int = 0
    without: int = 0

    def add(self, other: Cell) -> None:
        """Count the questions of another cell as well."""
        self.seconds += other.seconds
        self.first += other.first
        for name in ("proved", "asked", "half", "open", "without"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def row(self) -> str:
        """The cells of a table."""
        median = shown(statistics.median(self.seconds)) if self.seconds else "-"
        found = shown(max(self.first)) if self.first else "-"
        half = f"{self.half} of {self.open}" if self.open else "-"
        return f"{self.proved} of {self.asked} | {median} | {found} | {half} | {self.without}"


def drawn(n: int, d: int, outcomes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Contexts, and outcomes whose means bend along some features."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    slopes = rng.normal(0, 1, (d, outcomes)) * (rng.random((d, outcomes)) < 0.5)
    bends = np.sin(4.0 * X @ rng.normal(0, 1, (d, outcomes)) / np.sqrt(d))
    return X, X @ slopes + bends + 0.5 * rng.standard_normal((n, outcomes))


def newsvendor(products: int) -> Callable[[int, int, int], wh.Policy]:
    """Return a newsvendor of so many products, with a budget for several."""

    def made(n: int, d: int, seed: int) -> wh.Policy:
        X, Y = drawn(n, d, products, seed)
        budget = None if products == 1 else 18.0 * products
        problem = wh.Newsvendor([1.0] * products, [4.0] * products, budget=budget)
        return wh.Policy(problem, wh.ForestWeights(random_state=seed)).fit(X, np.maximum(0.0, 20.0 + 5.0 * Y))

    return made


def path(n: int, d: int, seed: int) -> wh.Policy:
    """Routes through a grid of 5 by 5."""
    X, Y = drawn(n, d, 40, seed)
    return wh.Policy(wh.ShortestPath.grid(5), wh.ForestWeights(random_state=seed)).fit(X, np.maximum(0.1, 5.0 + Y))


def portfolio(n: int, d: int, seed: int) -> wh.Policy:
    """Shares of six papers, none above a half, by CVaR 0.9 of what they lose."""
    X, Y = drawn(n, d, 6, seed)
    problem = wh.LinearProblem(A_eq=np.ones((1, 6)), b_eq=[1.0], bounds=(0, 0.5))
    return wh.Policy(problem, wh.ForestWeights(random_state=seed), risk=wh.CVaR(0.9)).fit(X, -0.2 - Y)


def real(name: str) -> Callable[[int, int, int], wh.Policy]:
    """Return one of the real cases with the default forest."""

    def made(n: int, d: int, seed: int) -> wh.Policy:
        folder = ROOT / "examples" / name
        forest = wh.ForestWeights(random_state=seed)
        if name != "airports":
            project = Project.load(folder)
            return project.policy.set_params(weights=forest).fit(project.X, project.Y)
        sys.path.append(str(folder))
        from departure import AIRPORTS, Departure  # type: ignore[import-not-found]

        table = pd.read_csv(folder / "history.csv")
        delays = [one for one in table.columns if any(airport in one for airport in AIRPORTS)]
        return wh.Policy(Departure(), forest).fit(table.drop(columns=delays).select_dtypes("number"), table[delays])

    return made


MADE: dict[str, Callable[[int, int, int], wh.Policy]] = {
    "routes 5x5": path,
    "newsvendor, 1 product": newsvendor(1),
    "newsvendor, 5 products": newsvendor(5),
    "portfolio, CVaR 0.9": portfolio,
}
REAL = ("restaurant", "bike-share", "airports")


def set_around(policy: wh.Policy, plan: Any, rng: np.random.Generator) -> Any:
    """Return a set of plans that holds the plan; None where the problem has no such sets."""
    problem = policy.problem
    if isinstance(problem, wh.ShortestPath):
        return problem.through(plan[int(rng.integers(1, len(plan) - 1))])
    if isinstance(problem, wh.Newsvendor | wh.LinearProblem):
        vector = np.asarray(problem.vector(plan), dtype=float)
        j = int(np.argmax(vector))
        return problem.at_least(j, float(vector[j]))
    return problem.only([plan])


def ask(policy: wh.Policy, context: Any, seconds: float, cell: Cell, known: bool, **asked: Any) -> None:
    """Ask for so many processor seconds, and count how it ended."""
    began = time.process_time()
    found: list[float] = []

    def on_progress(told: wh.Progress) -> bool:
        spent = time.process_time() - began
        if np.isfinite(told.distance) and not found:
            found.append(spent)
        return spent < seconds

    why = policy.explain(context, **asked, on_progress=on_progress, time_limit=PATIENCE * seconds)
    if why.status in ("already", "none"):
        return
    cell.asked += 1
    cell.seconds.append(time.process_time() - began)
    cell.proved += why.status == "optimal"
    if why.context is not None:
        cell.first.append(found[0] if found else cell.seconds[-1])
    if why.status != "optimal":
        cell.open += 1
        cell.half += why.bound >= 0.5 * why.distance
        cell.without += why.context is None and known


def measured(policy: wh.Policy, count: int, seconds: float, seed: int) -> dict[str, Cell]:
    """Ask every kind of question until `count` of it needed an answer, about plans of other past contexts."""
    rng, cells, X = np.random.default_rng(seed), {kind: Cell() for kind in KINDS}, policy.X_
    for _ in range(4 * count):
        today, there = X.iloc[int(rng.integers(len(X)))], X.iloc[int(rng.integers(len(X)))]
        plan = policy.decide(there)
        around = set_around(policy, plan, rng)
        questions: dict[str, dict[str, Any]] = {
            "relative": {"instead": plan},
            "within 1 %": {"instead": plan, "kind": "absolute", "within": 0.01},
            "no plan": {},
            "set": {"instead": around, "kind": "absolute"},
        }
        for kind, asked in questions.items():
            if cells[kind].asked < count:
                ask(policy, today, seconds, cells[kind], known=kind != "no plan", **asked)
        if all(cell.asked >= count for cell in cells.values()):
            break
    return cells


def main() -> None:
    """Print a table of every cell, and one of all of them together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=20, help="questions a cell and kind")
    parser.add_argument("--seconds", type=float, default=10.0, help="processor seconds a question")
    parser.add_argument("--cells", nargs="*", default=[f"{n}x{d}" for n, d in SIZES], help="such as 2000x10")
    parser.add_argument("--cases", nargs="*", default=[*MADE, *REAL], help="some of the problems")
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="500x5 and the restaurant, 3 questions of 2 s")
    given = parser.parse_args()
    if given.quick:
        given.questions, given.seconds, given.cells, given.cases = 3, 2.0, ["500x5"], [*MADE, "restaurant"]
    print(machine(), end="\n\n")
    heads = ("case", "rows x features", "question", "proved", "median CPU s", "first answer, worst CPU s")
    print(f"| {' | '.join(heads)} | bound >= half | no context |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    total = {kind: Cell() for kind in KINDS}
    for case in given.cases:
        for size in given.cells if case in MADE else [""]:
            n, d = (int(one) for one in size.split("x")) if size else (0, 0)
            policy = (MADE[case] if case in MADE else real(case))(n, d, given.seed)
            rows = size or f"{len(policy.X_)}x{policy.X_.shape[1]}"
            for kind, cell in measured(policy, given.questions, given.seconds, given.seed).items():
                print(f"| {case} | {rows} | {kind} | {cell.row} |", flush=True)
                total[kind].add(cell)
    for kind, cell in total.items():
        print(f"| **all** | | {kind} | {cell.row} |")


if __name__ == "__main__":
    main()
