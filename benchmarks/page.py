"""What a person waits for on the page: the first decision, the first answer, and the strips under the controls.

    python benchmarks/page.py [--times 5] [--project examples/bike-share] [--strips]

Starts ``whence serve`` with a project and opens its page in Chromium, each time in a new window: from opening to the
decision, and to the answer that comes by itself. Then, or with ``--strips`` alone, the strips of a forest of 100 trees
on 3,000 rows and ten features, for both risks: one product, five, five with a budget, and routes through a 5x5 grid;
with a plan of one's own, and without. Each is told by the clock (what people wait, on a machine that does nothing
else) and by processor time, which others do not change: that of the server and its workers, or of this process.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import Browser, expect
from tests.web.browser import Server, chromium

import whence as wh
from whence.search.verdict_strips import strips

ROOT = Path(__file__).resolve().parents[1]
#: What is waited for, where it stands on the page, and the seconds that are promised.
AWAITED = (("first decision", ".plan-card.d .cost b", 1.0), ("first answer", ".opening .verdict", 3.0))
ROWS, FEATURES, STRIPS = 3_000, 10, 0.2


def told(what: str, clock: list[float], processor: list[float], promised: float) -> None:
    """Print the medians, and the slowest, by both clocks."""
    by_clock, by_processor = statistics.median(clock), statistics.median(processor)
    slowest = max(processor)
    print(f"{what:52}{by_clock:8.3f}{max(clock):10.3f}{by_processor:12.3f}{slowest:10.3f}{promised:10g}", flush=True)


def opened(browser: Browser, server: Server) -> list[tuple[float, float]]:
    """Open the page once: seconds until each thing is there, by the clock and by the server's processor time."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    began, worked = time.perf_counter(), server.processor_seconds()
    page.goto(server.url)
    found = []
    for _, place, _ in AWAITED:
        expect(page.locator(place)).not_to_be_empty(timeout=120_000)
        found.append((time.perf_counter() - began, server.processor_seconds() - worked))
    page.context.close()
    return found


def products(count: int, budget: float | None = None) -> wh.DecisionProblem:
    """A newsvendor of so many products."""
    return wh.Newsvendor(np.full(count, 1.0), np.full(count, 3.0), budget)


#: What is decided, by its name: the problem, and how many outcomes it has.
PROBLEMS = {
    "1 product": (products(1), 1),
    "5 products": (products(5), 5),
    "5 products, budget": (products(5, 350.0), 5),
    "5x5 routes": (wh.ShortestPath.grid(5), 40),
}


def drawn(times: int, name: str, risk: wh.Risk, own: bool) -> tuple[list[float], list[float]]:
    """Work out the strips of as many contexts, each with a plan of one's `own`: that of another context; or without."""
    rng = np.random.default_rng(0)
    problem, outcomes = PROBLEMS[name]
    X = rng.random((ROWS, FEATURES))
    Y = np.maximum(50 + 40 * X[:, rng.integers(0, FEATURES, outcomes)] + rng.normal(0, 8, (ROWS, outcomes)), 0.0)
    policy = wh.Policy(problem, wh.ForestWeights(random_state=0), risk).fit(X, Y)
    clock, processor = [], []
    for i in range(times + 1):
        asked, plan = policy.schema_.row(X[i]), policy.decide(X[i + 100]) if own else None
        began, worked = time.perf_counter(), time.process_time()
        strips(policy, asked, plan)
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - worked)
    # The first one sets up what all share.
    return clock[1:], processor[1:]


def told_of_opening(project: Path, times: int) -> None:
    """Open the page of a project so many times, and print how long it took."""
    server = Server(str(project)).wait_for_workers()
    try:
        with chromium() as browser:
            each = [opened(browser, server) for _ in range(times)]
    finally:
        server.stop()
    for place, (what, _, promised) in enumerate(AWAITED):
        told(what, [one[place][0] for one in each], [one[place][1] for one in each], promised)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--strips", action="store_true", help="the strips only")
    parser.add_argument("--project", type=Path, default=ROOT / "examples" / "bike-share")
    given = parser.parse_args()
    print(f"{'seconds':52}{'clock':>8}{'slowest':>10}{'processor':>12}{'slowest':>10}{'promised':>10}")
    if not given.strips:
        told_of_opening(given.project, given.times)
    for name in PROBLEMS:
        for risk in (wh.Expectation(), wh.CVaR(0.8)):
            for own in (True, False):
                words = f"strips, {name}, {risk.name}{', your plan' if own else ''}"
                told(words, *drawn(given.times, name, risk, own), STRIPS)


if __name__ == "__main__":
    main()
