"""Rows per second and memory of `whence batch`: in one process, and on a Dask cluster of two workers.

    python benchmarks/cluster.py [--rows 20000] [--rounds 1] [--table docs/benchmarks/tables/cluster.md]

Both answer the same questions about the bakery of `examples/bakery-project`: contexts drawn from its history with
temperatures moved a little, and the plan of another row. The table is printed, and written to the file that ``--table``
names; without one, to ``.benchmarks``. Memory is the most that was resident at a time, of the process that hands
out the rows and of the largest worker; processor time is that of all processes together.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from _common import ROOT, Report, Settings, shown

PROJECT = ROOT / "examples" / "bakery-project"
FULL = 20_000
WORKERS = 2


def questions(path: Path, rows: int) -> None:
    """Write contexts and plans, one question a row."""
    rng = np.random.default_rng(0)
    history = pd.read_csv(PROJECT / "history.csv")
    asked = history[["weekday", "temperature", "rain", "promotion"]].iloc[rng.integers(0, len(history), rows)]
    warmer = asked["temperature"] + rng.normal(0.0, 1.0, rows)
    asked = asked.assign(
        temperature=warmer.clip(history["temperature"].min(), history["temperature"].max()).round(1),
        instead=[f"row:{row}" for row in rng.integers(1, len(history) + 1, rows)],
    )
    asked.to_csv(path, index=False)


class Watch:
    """Peak memory and processor time of processes, looked at ten times a second while they live."""

    def __init__(self) -> None:
        self.peaks: dict[int, int] = {}
        self.seconds: dict[int, float] = {}

    def look(self, processes: list[psutil.Process]) -> None:
        """Look once."""
        for one in processes:
            try:
                times = one.cpu_times()
                self.peaks[one.pid] = max(self.peaks.get(one.pid, 0), one.memory_info().rss)
                self.seconds[one.pid] = times.user + times.system
            except psutil.Error:
                continue


@contextmanager
def nobody() -> Iterator[None]:
    """No cluster."""
    yield None


def measured(asked: Path, answers: Path, address: str | None) -> tuple[float, Watch, int]:
    """Run the command: its seconds, what was seen of all processes, and the number of the one that hands out rows."""
    command = [sys.executable, "-m", "whence", "batch", str(PROJECT), str(asked), str(answers), "--no-holds"]
    watch = Watch()
    before = {one.pid for one in psutil.Process().children(recursive=True)}
    workers = [psutil.Process(pid) for pid in before]
    start = Watch()
    start.look(workers)
    began = time.perf_counter()
    with subprocess.Popen([*command, *([] if address is None else ["--dask", address])], stderr=subprocess.PIPE) as run:
        main = psutil.Process(run.pid)
        while run.poll() is None:
            watch.look([main, *workers])
            time.sleep(0.1)
        assert run.returncode == 0, run.stderr.read() if run.stderr else ""
    seconds = time.perf_counter() - began
    for pid, spent in start.seconds.items():
        watch.seconds[pid] = watch.seconds.get(pid, spent) - spent
    return seconds, watch, main.pid


def cluster(rows: int, rounds: int, table: Path) -> None:
    """Write the table."""
    # Found by the root of the repository, which `_common` adds.
    from tests.processes import dask_cluster

    report = Report(table.stem, Settings(tables=table.parent))
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "asked.csv"
        questions(asked, rows)
        told: dict[str, str] = {}
        for number in range(rounds):
            for way in ("one process", f"Dask, {WORKERS} workers"):
                answers = Path(folder) / f"{way} {number}.csv"
                made = nobody() if way == "one process" else dask_cluster(Path(folder) / f"dask{number}", WORKERS)
                with made as found:
                    seconds, watch, main = measured(asked, answers, None if found is None else found[0])
                others = [peak for pid, peak in watch.peaks.items() if pid != main]
                answered = answers.read_text("utf-8")
                report.row(
                    way=way,
                    rows=f"{rows:,}",
                    seconds=shown(seconds),
                    rows_a_second=shown(rows / seconds),
                    processor_ms_a_row=shown(1e3 * sum(watch.seconds.values()) / rows),
                    peak_MB=f"{watch.peaks[main] / 1e6:.0f}",
                    peak_of_a_worker_MB=f"{max(others) / 1e6:.0f}" if others else "-",
                    same_answers="yes" if told.setdefault("answers", answered) == answered else "NO",
                )
    report.write()


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=FULL)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--table", type=Path, default=ROOT / ".benchmarks" / "cluster.md")
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    cluster(given.rows, given.rounds, given.table)
