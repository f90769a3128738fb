"""Workers end with the process that they work for, and with no other."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from whence.batch import end_with

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an orphan's parent is a matter of POSIX")

CHILD = """
import sys, time
from whence.batch import end_with
end_with(int(sys.argv[1]))
print("ready", flush=True)
time.sleep(60)
"""
PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, sys.argv[1], str(os.getpid())], stdout=subprocess.PIPE, text=True)
child.stdout.readline()
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_nothing_is_watched_where_nothing_is_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the calling process, and in a worker of somebody else, no thread is started."""
    before = threading.active_count()
    end_with(os.getpid())
    end_with(2**30)
    assert threading.active_count() == before


def test_an_orphan_ends(tmp_path: Path) -> None:
    """A child whose parent is killed ends within a second or so, whatever it is doing."""
    (tmp_path / "child.py").write_text(CHILD, "utf-8")
    (tmp_path / "parent.py").write_text(PARENT, "utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py"), str(tmp_path / "child.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    child = int(parent.stdout.readline())
    time.sleep(0.5)
    os.kill(child, 0)
    parent.kill()
    parent.wait(timeout=30)
    parent.stdout.close()
    parent.stdin.close()
    until = time.monotonic() + 60
    while running(child) and time.monotonic() < until:
        time.sleep(0.1)
    assert not running(child)


def running(process: int) -> bool:
    """Whether a process is there, and no zombie."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return bool(found.stdout.strip()) and not found.stdout.strip().startswith("Z")
