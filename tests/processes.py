"""Processes that tests start, and what they must not inherit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


def usual_signals() -> None:
    """Give a child, as its `preexec_fn`, signals as a terminal does.

    What is ignored here is ignored there too: SIGINT by a job in the background of a shell, SIGHUP under nohup.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A Dask scheduler and its workers, each a process as on a cluster; its address, and the scheduler's process."""
    folder.mkdir()
    known = folder / "scheduler.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    run = [sys.executable, "-m"]
    commands = [
        [*run, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
        *[[*run, "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard"]] * workers,
    ]
    with ExitStack() as stack:
        started = []
        for command in commands:
            one = stack.enter_context(
                subprocess.Popen([*command, "--scheduler-file", str(known)], cwd=folder, **quiet)  # type: ignore[call-overload]
            )
            # Nannies take their workers with them on SIGTERM.
            stack.callback(one.terminate)
            started.append(one)
        import distributed

        with distributed.Client(scheduler_file=str(known), timeout=120, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=120)
            address = client.scheduler.address
        yield address, started[0]
