"""First use in a new process: import, the first explanation, and the same question again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from _common import ROOT, Report, shown

#: Run in a process of its own; the last line that it prints holds what it measured.
PROGRAM = """
import json, sys, time
problem, predictor = sys.argv[1], sys.argv[2]
began = time.perf_counter()
import whence
imported = time.perf_counter() - began
from paper import instance
from paper.forests import paper_forest

def decision(asked):
    policy, weights = asked.policy, asked.policy.weights_at(asked.context)
    plans = (asked.alternative, policy.decide(asked.context))
    return [policy.risk_.of(policy.problem.costs(plan, policy.Y_), weights) for plan in plans]

weights = paper_forest(100, 4) if predictor == "forest" else whence.KNNWeights(10)
for seed in range(100):
    asked = instance(problem, 200, seed, predictor=weights)
    other, best = decision(asked)
    if other > best * (1 + 1e-3):
        break
began = time.perf_counter()
import whence.search.forest_search, whence.search.neighbour_search
search = time.perf_counter() - began
seconds = []
for _ in range(2):
    began = time.perf_counter()
    why = asked.policy.explain(asked.context, instead=asked.alternative, kind="relative")
    seconds.append(time.perf_counter() - began)
print(json.dumps({"import": imported, "search": search, "first": seconds[0], "second": seconds[1]}))
"""


def measured(problem: str, predictor: str) -> dict[str, Any]:
    """What one new process measured, and how long it took in all."""
    began = time.perf_counter()
    command = [sys.executable, "-c", PROGRAM, problem, predictor]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "process": time.perf_counter() - began}


def first_use(report: Report, predictor: str) -> None:
    """A row a risk, 200 past observations: the second of two new processes, so that files are read from memory."""
    for problem, risk in (("newsvendor", "expected cost"), ("cvar_shortest_path", "CVaR")):
        _, again = measured(problem, predictor), measured(problem, predictor)
        report.row(
            engine=f"{predictor}, {risk}",
            import_s=shown(again["import"]),
            import_of_the_search_ms=shown(1e3 * again["search"]),
            first_explanation_ms=shown(1e3 * again["first"]),
            then_ms=shown(1e3 * again["second"]),
            whole_process_s=shown(again["process"]),
        )
