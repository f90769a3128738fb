"""Processes that tests start, and what they must not inherit."""

from __future__ import annotations

import signal


def usual_signals() -> None:
    """Give a child, as its `preexec_fn`, signals as a terminal does.

    What is ignored here is ignored there too: SIGINT by a job in the background of a shell, SIGHUP under nohup.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
