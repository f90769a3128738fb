"""What the command shows: consoles, safe text, progress on stderr, Ctrl-C during a search, and its exit codes."""

from __future__ import annotations

import math
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.status import Status as StatusLine
from rich.text import Text

from whence.cli import STOPPED
from whence.util.aliases import Status

if TYPE_CHECKING:
    from whence import question

#: Seconds between two updates of how far a search has come, and between two lines of it where no terminal shows one.
EVERY, LINES = 0.1, 10.0

#: What a terminal obeys rather than shows: control characters but for ends of lines and tabs, and those that turn the
#: direction of writing, by which a text can be shown as another one.
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def shown(text: str) -> str:
    """Return a text that may hold names of anybody, safe for a terminal: what it would obey is written out.

    Examples
    --------
    >>> print(shown("rye\\x1b[2J\\u202e bread, Käse, ライ麦\\n"), end="")
    rye\\u001b[2J\\u202e bread, Käse, ライ麦
    """
    # As JSON writes them, so that JSON stays what it is.
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class _SafeConsole(Console):
    """A console whose texts are shown, whoever wrote them; what rich itself says to the terminal is left alone."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(shown(segment.text), segment.style)


def console(stderr: bool = False) -> Console:
    """Return a console that keeps colours to terminals (NO_COLOR is heeded) and does not break lines in a pipe."""
    made = _SafeConsole(highlight=False, stderr=stderr)
    if not made.is_terminal:
        made.width, made.soft_wrap = 100_000, True
    return made


def print_text(text: str) -> None:
    """Print plain text on stdout; a terminal breaks its lines between words."""
    console().print(text, markup=False, highlight=False)


def print_json(document: str) -> None:
    """Print JSON on stdout at once."""
    print(shown(document), flush=True)


def note(text: str) -> None:
    """Say something on stderr that is not part of the result."""
    console(stderr=True).print(f"[bold]whence:[/bold] {escape(text)}")


@contextmanager
def waiting(text: str) -> Iterator[Callable[[str], None]]:
    """Show a line on stderr while the block runs, which changes it by calling what it is given."""
    with _status(text) as status:
        yield lambda text: status.update(Text(text))


class _Lines:
    """Say from time to time on stderr how far something has come, where no terminal shows a line that changes."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._say, daemon=True)

    def update(self, text: Text) -> None:
        """Change what is said the next time."""
        self._text = text

    def start(self) -> None:
        """Do nothing: lines are said one below the other."""

    stop = start

    def __enter__(self) -> _Lines:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _say(self) -> None:
        while not self._ended.wait(LINES):
            note(f"{self._text.plain} ({time.monotonic() - self._began:.0f} s)")


def _status(text: str) -> StatusLine | _Lines:
    """Return what shows a line on stderr while a block runs."""
    screen = console(stderr=True)
    if not screen.is_terminal or screen.is_dumb_terminal:
        return _Lines(Text(text))
    return screen.status(Text(text))


@contextmanager
def counting(text: str, total: int | None, done: int) -> Iterator[Callable[..., None]]:
    """Show how many are done while the block runs, which calls what it is given with the number, and what remains.

    Where the number in all is not known before, it is given along with the number done.
    """
    screen = console(stderr=True)
    if not screen.is_terminal or screen.is_dumb_terminal:
        began = time.monotonic()
        with _Lines(Text(f"{text} ...")) as lines:
            yield lambda count, of=total: lines.update(Text(_counted(text, count, of, count - done, began)))
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(text, total=total, completed=done)
        yield lambda count, total=None: bar.update(task, completed=count, total=total)


def _counted(text: str, count: int, total: int | None, new: int, began: float) -> str:
    """Return how many are done, and an estimate of the seconds that remain."""
    if not total or not new:
        return f"{text}: {count}"
    return f"{text}: {count} of {total}, about {(time.monotonic() - began) / new * (total - count):.0f} s left"


class _Search:
    """Shows how far a search has come, and stops it when the user asks."""

    def __init__(self, status: StatusLine | _Lines, time_limit: float | None) -> None:
        self.status, self.time_limit = status, time_limit
        self.said = 0.0
        self.stopping = False

    def say(self, text: str) -> None:
        """Change the line."""
        self.status.update(Text(text))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the line away while the block prints: what goes to stdout must not pass through stderr."""
        self.status.stop()
        try:
            yield
        finally:
            self.status.start()

    def __call__(self, progress: question.Progress) -> bool:
        """Show how far a search has come, as `Policy.explain` tells it by `on_progress`; return whether to go on."""
        now = time.monotonic()
        if not self.stopping and now - self.said >= EVERY:
            self.say(progress_line(progress, self.time_limit))
            self.said = now
        return not self.stopping

    def interrupt(self, signum: int, frame: FrameType | None) -> None:
        """The first Ctrl-C lets the search end with the best found so far; the second one ends the command."""
        if self.stopping:
            raise KeyboardInterrupt
        self.stopping = True
        self.say("Stopping with the best found so far (Ctrl-C again to stop at once) ...")


@contextmanager
def searching(time_limit: float | None) -> Iterator[_Search]:
    """Show a search, and let the first Ctrl-C end it with the best found so far."""
    with _status("Searching ...") as status:
        search = _Search(status, time_limit)
        with _handling([signal.SIGINT], search.interrupt):
            yield search


@contextmanager
def ending_well() -> Iterator[list[int]]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, so that it leaves no process behind; gives which one came.

    A signal that is ignored, as under nohup, stays ignored.
    """
    came: list[int] = []

    def stop(signum: int, frame: FrameType | None) -> None:
        came.append(signum)
        raise KeyboardInterrupt

    # Windows has no SIGHUP.
    known = [signum for signum in signal.Signals if signum.name in ("SIGTERM", "SIGHUP")]
    with _handling([signum for signum in known if signal.getsignal(signum) == signal.SIG_DFL], stop):
        yield came


@contextmanager
def _handling(signals: list[signal.Signals], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = [(signum, signal.signal(signum, handler)) for signum in signals]
    try:
        yield
    finally:
        for signum, previous in before:
            signal.signal(signum, previous)


def progress_line(progress: question.Progress, time_limit: float | None) -> str:
    """Return how far a search has come, in a line.

    Examples
    --------
    >>> from whence import Progress
    >>> progress_line(Progress(nodes=12345, distance=0.31, bound=0.12, seconds=6.2), time_limit=10)
    'Searching: 12,345 boxes, nearest 0.31, none nearer than 0.12, 4 s left'
    >>> progress_line(Progress(nodes=7, distance=float("inf"), bound=0.0, seconds=0.4), time_limit=None)
    'Searching: 7 boxes, nothing found yet, none nearer than 0, 0 s'
    >>> progress_line(Progress(nodes=7, distance=0.4, bound=0.4, seconds=2.6, refit=7, refits=10), time_limit=10)
    'Fitting again: 7 of 10, nearest 0.4, 7 s left'
    >>> progress_line(Progress(0, 0.4, 0.4, seconds=2.6, refit=7, refits=12, simulated=True), time_limit=10)
    'How far can you rely on it? Simulated world 7 of 12, 7 s left'
    """
    found = f"nearest {progress.distance:.3g}" if math.isfinite(progress.distance) else "nothing found yet"
    bound = f"none nearer than {progress.bound:.3g}" if math.isfinite(progress.bound) else "none"
    left = None if time_limit is None else max(0.0, time_limit - progress.seconds)
    clock = f"{progress.seconds:.0f} s" if left is None else f"{left:.0f} s left"
    if progress.simulated:
        what = f"Simulated world {progress.refit} of {progress.refits}" if progress.refit else "Model of the outcomes"
        return f"How far can you rely on it? {what}, {clock}"
    if progress.refit is not None:
        return f"Fitting again: {progress.refit} of {progress.refits}, {found}, {clock}"
    boxes = f"{progress.nodes:,} box{'es' * (progress.nodes != 1)}"
    return f"Searching: {boxes}, {found}, {bound}, {clock}"


FOUND = 0
UNEXPECTED = 1
#: Of `whence verify`, as of `diff` and `cmp`.
DIFFERS = 1
BAD_INPUT = 2
NONE = 3
TIME_LIMIT = 4

#: For the help texts.
EXIT_CODES = """
[bold]Exit codes[/bold]

  0    done; for an explanation: found and proved
  1    an unexpected error, which is a bug in whence; for verify: something differs
  2    bad input, explained in one sentence on stderr
  3    proved: there is no such context
  4    the time limit was reached before the proof
  130  stopped by Ctrl-C
"""


def exit_code(status: Status) -> int:
    """Return the exit code for how an explanation ended."""
    return {"optimal": FOUND, "already": FOUND, "none": NONE, "time_limit": TIME_LIMIT, "interrupted": STOPPED}[status]


def interrupted(error: BaseException | None) -> bool:
    """Return whether Ctrl-C is behind an error: a library that is interrupted may raise an error of its own.

    Examples
    --------
    >>> error = RuntimeError("solving failed")
    >>> error.__context__ = KeyboardInterrupt()
    >>> interrupted(error), interrupted(RuntimeError())
    (True, False)
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
