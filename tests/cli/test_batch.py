"""`whence batch`: many questions, also when it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.cli.support import ENVIRONMENT, refused, run
from tests.processes import dask_cluster, usual_signals

from whence.project import batches


def test_batch(bakery: Path, tmp_path: Path) -> None:
    """The sample's questions are answered row by row; the bad one has its error, and exit code 2 says so."""
    answers = tmp_path / "answered.csv"
    told = run("batch", bakery, bakery.with_name("asked.csv"), answers)
    assert told.exit_code == 2
    assert f"Wrote {answers}: 4 rows, 3 optimal, 1 error." in told.stdout
    table = pd.read_csv(answers)
    assert table["id"].tolist() == ["a", "b", "c", "d"]
    assert table["changes"].tolist()[0] == "weekday: Thursday -> Saturday"
    assert "more than the budget" in table["error"].tolist()[3]
    assert "must not be INPUT.csv itself" in refused(run("batch", bakery, answers, answers, "--overwrite"))
    questions = tmp_path / "more.csv"
    questions.write_text("context\n4\n12\n", "utf-8")
    assert "already exists; use --overwrite" in refused(run("batch", bakery, questions, answers))
    forced = run("batch", bakery, questions, answers, "--overwrite", "-i", "row:13")
    assert forced.exit_code == 0, forced.output
    assert len(pd.read_csv(answers)) == 2


def test_batch_of_what_holds(bakery: Path, tmp_path: Path) -> None:
    """With `--holds` of refits and `--rule` the output says how many agree, how usual a row is, and its rule."""
    questions, answers = tmp_path / "asked.csv", tmp_path / "answered.csv"
    questions.write_text(
        'context,instead\n4,row:13\n4,"rolls=262, rye bread=79, croissants=77, fruit cake=31"\n', "utf-8"
    )
    plain = run("batch", bakery, questions, answers)
    assert plain.exit_code == 0, plain.output
    table = pd.read_csv(answers)
    assert table[["held", "refits", "rule"]].isna().all(axis=None)
    assert (table["usual"] > 0).all()
    told = run("batch", bakery, questions, answers, "--overwrite", "--holds", "0.9", "--refits", "seed", "--rule")
    assert told.exit_code == 0, told.output
    table = pd.read_csv(answers)
    assert (table["held"].tolist(), table["refits"].tolist()) == ([20, 20], [20, 20])
    assert table["confidence"].tolist() == [0.0, 1.2]
    assert table["rule"].str.startswith("Your plan is better whenever").all()


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a process alone are a matter of POSIX")
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SIGTERM", 143),
        ("SIGKILL", -9),
        pytest.param("SIGHUP", 129, marks=pytest.mark.long),
        pytest.param("SIGINT", 130, marks=pytest.mark.long),
    ],
)
def test_batch_leaves_nobody_behind(small: Path, tmp_path: Path, name: str, code: int) -> None:
    """A batch on two workers that is ended by a signal to it alone leaves no process, and goes on where it was."""
    asked, answers = tmp_path / "asked.csv", tmp_path / "answered.csv"
    rows = "".join(f"{1 + i % 40},{20 + i % 30},{10 + i % 20}\n" for i in range(2000))
    asked.write_text(f"context,rolls,cakes\n{rows}", "utf-8")
    command = [sys.executable, "-m", "whence", "batch", str(small), str(asked), str(answers), "--jobs", "2"]
    running = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
        preexec_fn=usual_signals,
    )
    notes = tmp_path / "answered.csv.partial"
    until = time.monotonic() + 120
    while not (notes.exists() and notes.stat().st_size > 1000) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(alive(running.pid)) >= 3
    running.send_signal(getattr(signal, name))
    assert running.wait(timeout=60) == code
    until = time.monotonic() + 60
    while alive(running.pid) and time.monotonic() < until:
        time.sleep(0.1)
    left = alive(running.pid)
    if left:
        os.killpg(running.pid, signal.SIGKILL)
    assert left == []
    assert running.stderr is not None
    said = running.stderr.read()
    running.stderr.close()
    assert "Traceback" not in said
    if name != "SIGKILL":
        assert "run the same command again to continue" in said
    assert not answers.exists()


def alive(group: int) -> list[int]:
    """Processes of a group that are still running, zombies apart."""
    listing = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return [int(pid) for pid, of, state in rows if int(of) == group and not state.startswith("Z")]


def test_batch_goes_on_after_ctrl_c(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that Ctrl-C ends keeps its rows, and the same command does only the others."""
    questions, answers = tmp_path / "asked.csv", tmp_path / "answered.csv"
    questions.write_text("context,instead\n" + "".join(f'{row},"20,30"\n' for row in range(1, 7)), "utf-8")
    explained: list[int] = []
    original = batches.explain_many

    def counting(*asked: Any) -> Any:
        explained.append(1)
        if len(explained) == 4:
            raise KeyboardInterrupt
        return original(*asked)

    monkeypatch.setattr(batches, "explain_many", counting)
    stopped = run("batch", small, questions, answers)
    assert stopped.exit_code == 130
    assert "stopped after 3 of 6 rows; run the same command again to continue." in stopped.stderr
    assert not answers.exists()
    done = run("batch", small, questions, answers)
    assert "3 of 6 rows were done before." in done.stderr
    assert len(explained) == 4 + 3
    assert pd.read_csv(answers)["row"].tolist() == [1, 2, 3, 4, 5, 6]


@pytest.fixture
def long_batch(small: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A batch that runs, has done some rows and is far from its end; and its output."""
    asked, answers = tmp_path / "asked.csv", tmp_path / "answered.csv"
    rows = "".join(f"{1 + i % 40},{20 + i % 30},{10 + i % 20}\n" for i in range(20_000))
    asked.write_text(f"context,rolls,cakes\n{rows}", "utf-8")
    command = [sys.executable, "-m", "whence", "batch", str(small), str(asked), str(answers)]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        preexec_fn=usual_signals,
    )
    notes = answers.with_name("answered.csv.partial")
    while not (notes.exists() and notes.stat().st_size > 1000) and running.poll() is None:
        time.sleep(0.05)
    yield running, answers
    running.kill()
    running.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a process alone are a matter of POSIX")
@pytest.mark.parametrize("name", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.long)])
def test_one_batch_at_a_time_writes_an_output(
    long_batch: tuple[subprocess.Popen[str], Path], small: Path, name: str
) -> None:
    """A second batch to the same output is refused while the first runs, and not after it has ended, killed or not."""
    running, answers = long_batch
    other = answers.with_name("other.csv")
    other.write_text('context,instead\n1,"20,30"\n', "utf-8")
    lock = answers.with_name("answered.csv.lock")
    assert lock.exists()
    said = refused(run("batch", small, other, answers, "--restart", "--overwrite"))
    assert said == f"whence: '{answers}' is being written by another run (process {running.pid}): wait until it ends.\n"
    assert running.poll() is None
    running.send_signal(getattr(signal, name))
    running.communicate(timeout=60)
    # Killed without a word it leaves the file behind, which is nobody's then.
    assert lock.exists() == (name == "SIGKILL")
    done = run("batch", small, other, answers, "--restart")
    assert done.exit_code == 0, done.output
    assert len(pd.read_csv(answers)) == 1
    assert not lock.exists()


# tests/test_batch.py loses a scheduler in every run.
@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="a scheduler is killed by a signal")
def test_batch_goes_on_after_a_lost_cluster(small: Path, tmp_path: Path) -> None:
    """Rows go to a Dask cluster; where its scheduler is killed, what is done stays and the same command goes on."""
    asked, answers = tmp_path / "asked.csv", tmp_path / "answered.csv"
    rows = "".join(f"{1 + i % 40},{20 + i % 30},{10 + i % 20}\n" for i in range(400))
    asked.write_text(f"context,rolls,cakes\n{rows}", "utf-8")
    command = ("batch", str(small), str(asked), str(answers))
    notes = answers.with_name("answered.csv.partial")
    with dask_cluster(tmp_path / "dask") as (address, scheduler):
        running = subprocess.Popen(
            [sys.executable, "-m", "whence", *command, "--dask", address],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        while not (notes.exists() and notes.stat().st_size > 1000) and running.poll() is None:
            time.sleep(0.01)
        scheduler.kill()
        told, said = running.communicate(timeout=120)
    done = len(notes.read_text("utf-8").splitlines()) - 1
    assert 0 < done < 400
    assert (running.returncode, told) == (2, "")
    last = f"whence: The cluster was lost after {done} of 400 rows; run the same command again to continue.\n"
    assert said.endswith(last)
    assert not answers.with_name("answered.csv.lock").exists()
    gone = run(*command, "--dask", address)
    assert "'--dask' must be the address of a Dask scheduler that runs" in gone.stderr
    again = run(*command)
    assert again.exit_code == 0, again.output
    assert f"{done} of 400 rows were done before." in again.stderr
    alone = run("batch", small, asked, tmp_path / "alone.csv")
    assert alone.exit_code == 0
    assert answers.read_text("utf-8") == (tmp_path / "alone.csv").read_text("utf-8")
