"""What the command shows during a search, and what Ctrl-C does to it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from tests.cli.support import ENVIRONMENT


def hard_project(folder: Path) -> Path:
    """A project with a question that takes minutes."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 12))
    Y = np.abs(10 + 20 * X[:, :3] + 5 * np.sin(9 * X[:, 3:6]) + rng.normal(0, 3, (600, 3)))
    names = [f"x{j}" for j in range(12)] + ["a", "b", "c"]
    pd.DataFrame(np.round(np.hstack([X, Y]), 3), columns=names).to_csv(folder / "days.csv", index=False)
    path = folder / "whence.toml"
    path.write_text(
        '[data]\nhistory = "days.csv"\n[outcomes]\ncolumns = ["a", "b", "c"]\n[weights]\nkind = "knn"\nk = 30\n'
        '[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 3\n[explain]\nkind = "absolute"\n',
        "utf-8",
    )
    return path


#: The command, with a word on stderr as soon as its search is under way.
UNDER_WAY = """
import sys
from whence.cli import main, screen
original = screen._Search.__call__
def told(self, progress):
    print("under way", file=sys.stderr, flush=True)
    return original(self, progress)
screen._Search.__call__ = told
main()
"""


def test_ctrl_c_gives_the_best_found_so_far(tmp_path: Path) -> None:
    """A real interrupt during a search ends it with what is proved by then: valid JSON on stdout, exit code 130.

    The progress that is shown meanwhile, here as on a terminal, does not get in the way.
    """
    project = hard_project(tmp_path)
    running = subprocess.Popen(
        [sys.executable, "-c", UNDER_WAY, "explain", str(project), "-c", "3", "-i", "row:300", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**ENVIRONMENT, "FORCE_COLOR": "1", "TERM": "xterm"},
        # Tests that run in the background inherit that Ctrl-C is ignored; the command must not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert running.stderr is not None
    shown = ""
    while shown.count("under way") < 5:
        line = running.stderr.readline()
        assert line, shown
        shown += line
    running.send_signal(signal.SIGINT)
    told, more = running.communicate(timeout=120)
    assert running.returncode == 130, shown + more
    answer = json.loads(told)
    assert answer["status"] == "interrupted"
    assert answer["bound"] >= 0
    assert "boxes, " in shown + more
    assert "Stopping with the best found so far" in more
