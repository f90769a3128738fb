"""Ctrl-C while a solver runs: its code is not Python's, and no exception may pass through it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupts"]


class Interrupts:
    """What Ctrl-C raises while a solver runs, kept until the solver has ended."""

    def __init__(self) -> None:
        self.stopped = False
        #: Whatever else than the wish to stop the handler of the signal raised.
        self.failure: BaseException | None = None

    def keep(self, raised: BaseException) -> None:
        """Remember what was raised where a solver's code lies between here and the caller."""
        if isinstance(raised, KeyboardInterrupt):
            self.stopped = True
        else:
            self.failure = raised

    @property
    def wanted(self) -> bool:
        """Whether the solver has to end."""
        return self.stopped or self.failure is not None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Let the handler of Ctrl-C run as before, but keep what it raises; only the main thread has signals."""
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return
        handler = before

        def handle(signum: int, frame: FrameType | None) -> None:
            # Python calls this on its way into a solver's callback, where no "except" of ours is around it.
            try:
                handler(signum, frame)
            except BaseException as raised:
                self.keep(raised)

        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
