"""How long prices take at n = 1,000, and the rules of the three real cases: ``python benchmarks/prices_rules.py``."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import whence as wh
from whence.project import Project

ROOT = Path(__file__).resolve().parents[1]
#: The real cases.
CASES = ("restaurant", "bike-share", "airports")


def policies(n: int) -> dict[str, tuple[wh.Policy, np.ndarray]]:
    """Policies of default forests: 20 products within a budget, and an 8x8 grid."""
    rng = np.random.default_rng(0)
    X = rng.random((n, 5))
    demand = 10 + 20 * X[:, :1] + 10 * rng.random((n, 20))
    news = wh.Newsvendor(np.ones(20), np.full(20, 3.0), budget=550.0)
    grid = wh.ShortestPath.grid(8)
    times = rng.uniform(1, 3, (n, 112)) + X[:, :1] * rng.random(112)
    return {
        f"{name}, {risk.name}": (wh.Policy(problem, wh.ForestWeights(random_state=0), risk).fit(X, Y), X)
        for name, problem, Y in (("20 products", news, demand), ("8x8 grid", grid, times))
        for risk in (wh.Expectation(), wh.CVaR(0.8))
    }


def prices(n: int, asked: int, limit: float) -> None:
    """Print the processor time of prices, and how many were proved."""
    print("| case | kind | one factor for all | median ms | largest ms | proved |\n|---|---|---|---|---|---|")
    for name, (policy, X) in policies(n).items():
        for kind in ("relative", "absolute"):
            for common in (True, False):
                seconds, proved = [], 0
                for i in range(asked):
                    plan = policy.decide(X[(7 * i + 3) % n])
                    began = time.process_time()
                    found = policy.prices(X[i], plan, kind=kind, common=common, time_limit=limit)  # type: ignore[arg-type]
                    seconds.append(1000.0 * (time.process_time() - began))
                    proved += found.status in ("optimal", "already", "none")
                shown = f"{statistics.median(seconds):.0f} | {max(seconds):.0f} | {proved} of {asked}"
                print(f"| {name} | {kind} | {'yes' if common else 'no'} | {shown} |", flush=True)


def case_policy(case: str) -> wh.Policy:
    """Return the fitted policy of a real case: a project of its own, or a program as in its notebook."""
    folder = ROOT / "examples" / case
    if (folder / "whence.toml").exists():
        return Project.load(folder / "whence.toml").fitted()
    sys.path.insert(0, str(folder))
    from departure import AIRPORTS, Departure

    days = pd.read_csv(folder / "history.csv", index_col="date")
    X, Y = days.drop(columns=list(AIRPORTS)), days[list(AIRPORTS)]
    units = {"temperature": "°C", "wind": "km/h", "rain": "mm", "visibility": "km", "pressure": "hPa"}
    schema = wh.Schema({name: wh.Continuous(unit=unit) for name, unit in units.items()})
    return wh.Policy(Departure(), wh.ForestWeights(n_trees=50, random_state=0), wh.CVaR(0.8), schema).fit(X, Y)


def rules(limit: float, pictures: Path | None, cases: Sequence[str]) -> None:
    """Print the rules of the real cases, and draw what simplicity costs."""
    for case in cases:
        policy = case_policy(case)
        found = policy.rules(time_limit=limit)
        print(f"\n{case}, {found.seconds:.1f} s\n\n{found.text}\n\n{found.curve.to_string()}", flush=True)
        if pictures is not None:
            found.plot().figure.savefig(pictures / f"rules-{case}.svg", bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1_000)
    parser.add_argument("--asked", type=int, default=5)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for a question about prices")
    parser.add_argument("--rules", type=float, default=60.0, help="seconds for the rules of a case; 0 for none")
    parser.add_argument("--case", action="append", choices=CASES, help="of the rules; may be repeated; default: all")
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args()
    if given.asked:
        prices(given.n, given.asked, given.limit)
    if given.rules:
        rules(given.rules, given.pictures, given.case or CASES)


if __name__ == "__main__":
    main()
