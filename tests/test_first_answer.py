"""The very first question of a process: its time limit holds in the library, in the command and behind the page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from tests.web.live import finished, hard_scene, running

from whence.web.scenes import Scene

TOML = """
title = "Why not more?"
[data]
history = "history.csv"
[outcomes]
columns = ["a", "b", "c"]
[weights]
kind = "forest"
n_trees = 100
max_depth = 6
min_samples_leaf = 1
max_features = "sqrt"
random_state = 0
[problem]
kind = "newsvendor"
holding = [1.0, 2.0, 1.0]
backorder = [3.0, 2.0, 4.0]
"""

#: What a new process runs: fit, one question, and how long that question took by the clock and by the processor.
LIBRARY = """
import sys, time
from tests.web.live import hard_scene
scene, limit = hard_scene(), float(sys.argv[1])
began, worked = time.perf_counter(), time.process_time()
why = scene.policy.explain(scene.today, scene.alternative, time_limit=limit)
print(why.status, min(time.perf_counter() - began, time.process_time() - worked))
"""


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A question whose search has no end in sight."""
    return hard_scene()


def allowed(limit: float) -> float:
    """What a limit may come to."""
    return limit + max(0.1 * limit, 0.2)


@pytest.mark.parametrize("limit", [1.0, pytest.param(2.0, marks=pytest.mark.long)])
def test_the_limit_of_the_first_question_holds_in_the_library(limit: float) -> None:
    """Nothing is compiled or loaded in the middle of the first question of a new process."""
    command = [sys.executable, "-c", LIBRARY, str(limit)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert told[0] == "time_limit"
    assert float(told[1]) <= allowed(limit)


def test_the_limit_of_the_first_question_holds_in_the_command(scene: Scene, tmp_path: Path) -> None:
    """The command fits, asks and stops at the limit, with exit code 4."""
    history = pd.concat([scene.policy.X_, pd.DataFrame(scene.policy.Y_, columns=list("abc"))], axis=1)
    history.to_csv(tmp_path / "history.csv", index=False)
    (tmp_path / "whence.toml").write_text(TOML, "utf-8")
    context = ", ".join(f"{name}={value!r}" for name, value in scene.today.items())
    plan = ", ".join(f"{name}={value!r}" for name, value in zip("abc", scene.alternative.tolist(), strict=True))
    command = [sys.executable, "-m", "whence", "explain", str(tmp_path), "-c", context, "-i", plan, "--json"]
    told = subprocess.run([*command, "--time-limit", "1"], capture_output=True, text=True, check=False)
    assert told.returncode == 4, told.stderr
    seconds = json.loads(told.stdout)["seconds"]
    assert seconds <= 10.0, "far from the hours of the search, on a machine that is busy with other tests"


def test_the_limit_of_the_first_question_holds_behind_the_page(scene: Scene) -> None:
    """A worker process that has just started stops at the limit of its first question."""
    with running([scene], time_limit=60.0) as server:
        server.wait_for_workers()
        with server.client() as program:
            own = program.get("/api/scenes/hard").json()
            question = {"context": own["context"], "plan": own["alternative"], "time_limit": 1.0}
            told = finished(program, program.post("/api/scenes/hard/explanations", json=question).json()["job"])
    assert told["result"]["explanation"]["status"] == "time_limit"
    assert told["result"]["explanation"]["seconds"] <= 10.0, "as above"
