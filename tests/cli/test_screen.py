"""What the command shows during a search, and what Ctrl-C does to it."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.support import ENVIRONMENT
from tests.forests import PAPER_KEYS
from tests.processes import usual_signals

from whence.cli import screen


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
        preexec_fn=usual_signals,
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
    assert re.search(r"[0-9] box(es)?, ", shown + more)
    assert "Stopping with the best found so far" in more


def refitted_project(folder: Path) -> Path:
    """A project whose question is answered at once."""
    rng = np.random.default_rng(2)
    warmth = rng.uniform(0, 30, 120).round(1)
    ice = (20 + 2 * warmth + rng.normal(0, 4, 120)).round(1)
    pd.DataFrame({"warmth": warmth, "ice": ice}).to_csv(folder / "days.csv", index=False)
    path = folder / "whence.toml"
    path.write_text(
        '[data]\nhistory = "days.csv"\n[outcomes]\ncolumns = ["ice"]\n[weights]\nkind = "forest"\nn_trees = 20\n'
        + PAPER_KEYS
        + '[problem]\nkind = "newsvendor"\nholding = 1\nbackorder = 2\n',
        "utf-8",
    )
    return path


#: The command, with refits that take their time.
SLOW_REFITS = """
import time
from whence.cli import main
from whence.weights.refits import Refits
original = Refits._made
def slow(self, number):
    time.sleep(0.4)
    return original(self, number)
Refits._made = slow
main()
"""


def in_a_terminal(arguments: list[str], interrupts: int) -> tuple[int, str, bool]:
    """Run the slow command in a terminal of its own, where Ctrl-C is typed as soon as an answer is there.

    Its exit code, all that it wrote, and whether it left the terminal's settings as they were.
    """
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)

    def take_the_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with subprocess.Popen(
        [sys.executable, "-c", SLOW_REFITS, "explain", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**ENVIRONMENT, "TERM": "xterm"},
        start_new_session=True,
        preexec_fn=take_the_terminal,
    ) as running:
        written, typed, deadline = "", 0, time.monotonic() + 120
        os.set_blocking(master, False)
        while time.monotonic() < deadline:
            ended = running.poll() is not None
            try:
                written += os.read(master, 65536).decode(errors="replace")
            except (BlockingIOError, OSError):
                if ended:
                    break
                time.sleep(0.02)
            # The nearest answer is printed, and the line that tells of refits is there.
            if typed < interrupts and re.search(r"Proved nearest.*Fitting again", written, re.DOTALL):
                time.sleep(0.6 if typed == 0 else 0.05)
                os.write(master, b"\x03")
                typed += 1
        code = running.wait(10)
        after = termios.tcgetattr(slave)
    os.close(master)
    os.close(slave)
    return code, written, before == after


def left_clean(written: str) -> str:
    """What stands on the terminal in the end, where the cursor is shown and at the beginning of a line."""
    assert "Traceback" not in written
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l") >= 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    assert plain.endswith("\n")
    return plain


def test_ctrl_c_among_the_refits(tmp_path: Path) -> None:
    """Ctrl-C while refits are made: the nearest answer stays, the refits are counted, and the terminal is clean."""
    asked = [str(refitted_project(tmp_path)), "-c", "warmth=8", "-i", "60", "--refits", "seed"]
    code, written, same = in_a_terminal(asked, 1)
    plain = left_clean(written)
    assert code == 130, plain
    assert same
    assert plain.count("Proved nearest") == 1
    found = re.search(
        r"How far you may rely on it is not known: there was time for (\d+) refits", " ".join(plain.split())
    )
    assert found, plain
    assert 0 < int(found[1]) < 20
    assert "Stopping with the best found so far" in plain


def test_second_ctrl_c_ends_at_once(tmp_path: Path) -> None:
    """The second Ctrl-C does not wait for the refit under way, and leaves the terminal clean as well."""
    asked = [str(refitted_project(tmp_path)), "-c", "warmth=8", "-i", "60", "--refits", "seed"]
    code, written, same = in_a_terminal(asked, 2)
    plain = left_clean(written)
    assert code == 130, plain
    assert same
    assert plain.rstrip().endswith("whence: stopped.")
    assert "How far you may rely on it" not in plain


@pytest.mark.parametrize("counted", [False, True])
def test_lines_of_progress_where_output_is_redirected(monkeypatch: pytest.MonkeyPatch, counted: bool) -> None:
    """Without a terminal, whoever waits is told from time to time how far it has come, and what remains."""
    monkeypatch.setattr(screen, "LINES", 0.001)
    said: list[str] = []
    enough = threading.Event()

    def note(text: str) -> None:
        said.append(text)
        if "second" in text or "3 of 4" in text:
            enough.set()

    monkeypatch.setattr(screen, "note", note)
    with screen.counting("Asking", 4, 1) if counted else screen.waiting("first") as show:
        show(3) if counted else show("second")
        assert enough.wait(60)
    assert re.fullmatch(r"Asking: 3 of 4, about \d+ s left \(\d+ s\)" if counted else r"second \(\d+ s\)", said[-1])
