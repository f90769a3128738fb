"""How kernels are declared: compiled apart by risk, kept on disk, announced once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

#: Two risks, one kernel: which way it takes is decided by the type of `tail`.
MODULE = """
from typing import NamedTuple
from whence.explain.question import Limits
from whence.search.compiling import by_risk, inner, kernel
from whence.search.warming import compile_once

class Tables(NamedTuple):
    tail: float | None
    mean: float

class Field(NamedTuple):
    tables: Tables

@inner
def cannot_be_compiled_for_means(tail):
    return tail * 2.0

def of_mean(held, more):
    return more

def of_tail(held, more):
    return more + cannot_be_compiled_for_means(held.tail)

def held_by_field(field, more):
    return more + field.tables.mean

def tail_of_field(field, more):
    return more + field.tables.tail

of_tables = by_risk(of_mean, of_tail)
of_field = by_risk(held_by_field, tail_of_field)

@kernel
def both(field):
    return of_tables(field.tables, 1.0), of_field(field, 100.0)

mean, tail = Field(Tables(None, 7.0)), Field(Tables(0.25, 7.0))

def use(*risks):
    for name, field, expected in (("mean", mean, (1.0, 107.0)), ("tail", tail, (1.5, 100.25))):
        if name in risks:
            compile_once(name, (both,), lambda: both(field), Limits())
            compile_once(name, (both,), lambda: both(field), Limits())
            assert both(field) == expected, both(field)
"""


def _said(folder: Path, *risks: str) -> list[str]:
    """What a new process says on stderr when it uses the kernel for these risks."""
    module = folder / "two_risks.py"
    if not module.exists():
        module.write_text(MODULE)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", f"import two_risks; two_risks.use(*{risks})"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_each_risk_is_compiled_when_it_is_needed_and_announced_once(tmp_path: Path) -> None:
    """What is on disk for one risk keeps nobody from hearing that the other one is compiled."""
    assert _said(tmp_path, "mean") == ["whence: compiling the mean search, once"]
    assert _said(tmp_path, "mean", "tail") == ["whence: compiling the tail search, once"]
    assert _said(tmp_path, "mean", "tail") == []


def test_unreadable_machine_code_is_cleared_away(tmp_path: Path) -> None:
    """What an older version left behind is compiled anew instead of failing."""
    assert len(_said(tmp_path, "mean")) == 1
    (index,) = (tmp_path / "cache").rglob("*.nbi")
    index.write_bytes(b"not a pickle")
    assert _said(tmp_path, "mean") == ["whence: compiling the mean search, once"]
    assert _said(tmp_path, "mean") == []
