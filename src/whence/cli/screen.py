"""What the command shows: consoles, progress on stderr, and what Ctrl-C does during a search."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.status import Status
from rich.text import Text

from whence import question

__all__ = ["Waiting", "console", "counting", "ending_well", "note", "print_text", "searching", "waiting"]

#: Seconds between two updates of what is shown.
EVERY = 0.1


def console(stderr: bool = False) -> Console:
    """A console that keeps colours to terminals (NO_COLOR is heeded) and does not break lines in a pipe."""
    made = Console(highlight=False, stderr=stderr)
    if not made.is_terminal:
        made = Console(highlight=False, stderr=stderr, width=100_000, soft_wrap=True)
    return made


def print_text(text: str) -> None:
    """Print plain text on stdout; a terminal breaks its lines between words."""
    console().print(text, markup=False, highlight=False)


def note(text: str) -> None:
    """Say something on stderr that is no part of the result."""
    console(stderr=True).print(f"[bold]whence:[/bold] {escape(text)}")


class Waiting:
    """A line on stderr that says what is going on, on terminals only; it goes away when the work is done."""

    def __init__(self, status: Status | None) -> None:
        self._status = status
        self._said = 0.0

    def say(self, text: str, at_once: bool = True) -> None:
        """Change the line; not more often than can be read unless `at_once`."""
        now = time.monotonic()
        if self._status is not None and (at_once or now - self._said >= EVERY):
            self._status.update(Text(text))
            self._said = now

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the line away while the block prints: what goes to stdout must not pass through stderr."""
        if self._status is None:
            yield
            return
        self._status.stop()
        try:
            yield
        finally:
            self._status.start()


@contextmanager
def waiting(text: str) -> Iterator[Waiting]:
    """Show that something is going on while the block runs."""
    screen = console(stderr=True)
    if not screen.is_terminal or screen.is_dumb_terminal:
        yield Waiting(None)
        return
    with screen.status(Text(text)) as status:
        yield Waiting(status)


@contextmanager
def counting(text: str, total: int, done: int) -> Iterator[Callable[[int], None]]:
    """Show a bar while the block runs, which calls what it is given with the number done; on terminals only."""
    screen = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown = screen.is_terminal and not screen.is_dumb_terminal
    with Progress(*columns, console=screen, transient=True, disable=not shown) as bar:
        task = bar.add_task(text, total=total, completed=done)
        yield lambda count: bar.update(task, completed=count)


class _Search:
    """Shows how far a search has come, and stops it when the user asks."""

    def __init__(self, shown: Waiting, time_limit: float | None) -> None:
        self.shown = shown
        self.time_limit = time_limit
        self.stopping = False

    def __call__(self, progress: question.Progress) -> bool:
        """What `Policy.explain` calls as `on_progress`."""
        if not self.stopping:
            self.shown.say(progress_line(progress, self.time_limit), at_once=False)
        return not self.stopping

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        """The first Ctrl-C lets the search end with the best found so far; the second one ends the command."""
        if self.stopping:
            raise KeyboardInterrupt
        self.stopping = True
        self.shown.say("Stopping with the best found so far (Ctrl-C again to stop at once) ...")


@contextmanager
def searching(time_limit: float | None) -> Iterator[_Search]:
    """Show a search, and let the first Ctrl-C end it with the best found so far."""
    with waiting("Searching ...") as shown:
        search = _Search(shown, time_limit)
        if threading.current_thread() is not threading.main_thread():
            yield search
            return
        before: Any = signal.signal(signal.SIGINT, search.interrupt)
        try:
            yield search
        finally:
            signal.signal(signal.SIGINT, before)


@contextmanager
def ending_well() -> Iterator[list[int]]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, so that it leaves no process behind; gives which one came.

    A signal that is ignored, as under nohup, stays ignored.
    """
    came: list[int] = []

    def stop(signum: int, frame: FrameType | None) -> None:
        came.append(signum)
        raise KeyboardInterrupt

    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            signum = getattr(signal, name, None)
            if signum is not None and signal.getsignal(signum) == signal.SIG_DFL:
                before[signum] = signal.signal(signum, stop)
    try:
        yield came
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def progress_line(progress: question.Progress, time_limit: float | None) -> str:
    """How far a search has come, in a line.

    Examples
    --------
    >>> from whence import Progress
    >>> progress_line(Progress(nodes=12345, distance=0.31, bound=0.12, seconds=6.2), time_limit=10)
    'Searching: 12,345 boxes, nearest 0.31, none nearer than 0.12, 4 s left'
    >>> progress_line(Progress(nodes=7, distance=float("inf"), bound=0.0, seconds=0.4), time_limit=None)
    'Searching: 7 boxes, nothing found yet, none nearer than 0, 0 s'
    """
    found = f"nearest {progress.distance:.3g}" if math.isfinite(progress.distance) else "nothing found yet"
    bound = f"none nearer than {progress.bound:.3g}" if math.isfinite(progress.bound) else "none"
    if time_limit is None:
        clock = f"{progress.seconds:.0f} s"
    else:
        clock = f"{max(0.0, time_limit - progress.seconds):.0f} s left"
    return f"Searching: {progress.nodes:,} boxes, {found}, {bound}, {clock}"
