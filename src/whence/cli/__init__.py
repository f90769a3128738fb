"""The command `whence`."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["STOPPED", "main"]

#: The exit code after Ctrl-C, as shells have it: 128 and the number of the signal.
STOPPED = 130


def main() -> None:
    """Run the command; Ctrl-C ends it without a traceback, also while it still imports."""
    try:
        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, _stop)
        from whence.cli.root import app

        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = _stop_all_the_same
        for stream in (sys.stdout, sys.stderr):
            # A pipe may know fewer letters than the plans: better a question mark than no answer.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        app()
    except KeyboardInterrupt:
        print("whence: stopped.", file=sys.stderr)
        sys.exit(STOPPED)


def _stop(signum: int, frame: FrameType | None) -> None:
    """End at once: modules in C that are just being imported turn a KeyboardInterrupt into errors of their own."""
    os.write(2, b"whence: stopped.\n")
    os._exit(STOPPED)


def _stop_all_the_same(lost: UnraisableHookArgs) -> None:
    """Send Ctrl-C again where it came while Python tidied up: what is raised there is told and forgotten."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        # Not from here: it would be forgotten once more.
        again = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)
