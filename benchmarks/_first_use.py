"""First use in a new process: import, compilation into an empty cache, and the next process from that cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from _common import Report, shown

#: Run in a process of its own; the last line that it prints holds what it measured.
PROGRAM = """
import json, os, sys, time
from pathlib import Path
problem, predictor = sys.argv[1], sys.argv[2]
cache = Path(os.environ["NUMBA_CACHE_DIR"])

def kept():
    return sorted({file.name.split(".")[0] for file in cache.rglob("*.nbi")})

began = time.perf_counter()
import whence
imported = time.perf_counter() - began
at_import = len(kept())
from whence.experiments import instance

def decision(asked):
    policy, weights = asked.policy, asked.policy.weights_at(asked.context)
    plans = (asked.alternative, policy.decide(asked.context))
    return [policy.risk_.of(policy.problem.costs(plan, policy.Y_), weights) for plan in plans]

weights = whence.ForestWeights(20, 3) if predictor == "forest" else whence.KNNWeights(5)
for seed in range(100):
    asked = instance(problem, 40, seed, predictor=weights)
    other, best = decision(asked)
    if other > best * (1 + 1e-3):
        break
seconds = []
for _ in range(2):
    began = time.perf_counter()
    why = asked.policy.explain(asked.context, instead=asked.alternative, kind="absolute")
    seconds.append(time.perf_counter() - began)
modules = kept()
from whence.search import forest
from whence.search.warming import compile_stages
print("HARD", file=sys.stderr, flush=True)
stages = forest.STAGES if predictor == "forest" else {}
began = time.perf_counter()
compile_stages({name: stage for name, stage in stages.items() if name.endswith("CVaR") == problem.startswith("cvar")})
print(json.dumps({"import": imported, "at_import": at_import, "first": seconds[0], "second": seconds[1],
                  "more": time.perf_counter() - began, "modules": modules}))
"""


def measured(problem: str, predictor: str, cache: str) -> tuple[dict[str, Any], str]:
    """What one new process measured, and what it said on stderr."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, problem, predictor], env=environment, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found, done.stderr.strip()


def first_use(report: Report, predictor: str) -> None:
    """A row a risk: an empty cache, then the cache that the first process has left."""
    for problem, risk in (("newsvendor", "expected cost"), ("cvar_shortest_path", "CVaR")):
        with tempfile.TemporaryDirectory() as cache:
            new, said = measured(problem, predictor, cache)
            again, silent = measured(problem, predictor, cache)
        announced = [line for line in said.split("HARD")[0].splitlines() if "compiling" in line]
        report.row(
            engine=f"{predictor}, {risk}",
            import_s=shown(again["import"]),
            kernels_compiled_at_import=new["at_import"],
            first_explanation_s=shown(new["first"]),
            more_when_a_hard_question_needs_it_s=shown(new["more"]),
            from_the_cache_s=shown(again["first"]),
            then_ms=shown(1e3 * again["second"]),
            announced=f"{len(announced)} line" + ("" if len(announced) == 1 else "s"),
            announced_from_the_cache="no" if "compiling" not in silent else "YES",
            compiled_files=", ".join(new["modules"]),
        )
