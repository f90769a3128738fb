"""Questions of assistants on their way: in threads, in turns between clients, told how far they are, and cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from whence.assistants.desk import OnProgress
from whence.errors import WhenceError
from whence.question import Progress
from whence.report.numbers import plain
from whence.web.clients import CLIENT, NOBODY, Client, FairQueue, TooMany

#: Seconds between two reports of progress.
PULSE = 0.5
#: Seconds after which a question that was told to stop, or is beyond its limit, is not waited for any more.
DEAF = 10.0

T = TypeVar("T")


def asking_client(context: Context[Any, Any]) -> Client:
    """Return who asks: as the guard has found out over HTTP, nobody in particular over standard input."""
    request = context.request_context.request
    found: Client = getattr(request, "scope", {}).get(CLIENT, NOBODY)
    return found


class Searches:
    """Runs questions in threads, some at once and some waiting, with the limits that the page has for each client.

    At most `at_once` searches run, `each` of them of one client, and `deciding` decisions beside them; `waiting`
    searches of a client may wait, and twice as many decisions. Where several clients share it, the last place that is
    free is kept for one that has nothing under way.
    """

    def __init__(
        self, at_once: int = 2, *, deciding: int = 2, waiting: int = 16, each: int = 2, shared: bool = False
    ) -> None:
        self._places = at_once + deciding
        self._searches = _Lane(FairQueue(waiting, each if shared else at_once), at_once, shared)
        self._decisions = _Lane(FairQueue(2 * waiting, deciding), deciding, shared)
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(
        self, context: Context[Any, Any], work: Callable[[OnProgress], T], seconds: float, *, quick: bool = False
    ) -> T:
        """Return what `work` returns, and tell its progress; a ToolError says in a sentence what is wrong with it."""
        # It belongs to the loop that runs, which is not there yet when the server is made.
        self._limiter = self._limiter or anyio.CapacityLimiter(self._places)
        lane, line = self._decisions if quick else self._searches, _Line()
        try:
            lane.enter(line, asking_client(context).key)
        except TooMany:
            raise ToolError("As many of your questions as may wait are waiting already; ask again later.") from None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_tell, context, line, lane, seconds)
                await line.turn.wait()
                found = await _answered(partial(_done, work, line), line, seconds, self._limiter)
                group.cancel_scope.cancel()
        finally:
            lane.leave(line)
        if found is None:
            raise ToolError(f"The question did not end by itself after {seconds:g} s and was given up.")
        if isinstance(found, WhenceError):
            raise ToolError(str(found))
        return found


class _Line:
    """Between a search in its thread and those who wait for it."""

    def __init__(self) -> None:
        self.turn = anyio.Event()
        self.stopped = threading.Event()
        self.latest: Progress | None = None
        self.began = time.monotonic()
        #: What its thread is waited for in.
        self.patience = anyio.CancelScope(shield=True)

    def __call__(self, progress: Progress) -> bool:
        self.latest = progress
        return not self.stopped.is_set()


class _Lane:
    """Questions of a kind: those that wait, and how many run."""

    def __init__(self, queue: FairQueue[_Line], places: int, shared: bool) -> None:
        self._queue, self._places, self._shared, self._running = queue, places, shared, 0

    def enter(self, line: _Line, client: str) -> None:
        """Let a question wait for its turn; TooMany where its client has too much waiting."""
        self._queue.put(line, client)
        self._hand_out()

    def ahead(self, line: _Line) -> int:
        """How many come before a question that waits."""
        return self._queue.ahead(line)

    def leave(self, line: _Line) -> None:
        """Give up the place of a question, or its place in the queue."""
        if line in self._queue:
            self._queue.remove(line)
        else:
            self._queue.done(line)
            self._running -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        while self._running < self._places:
            last = self._shared and self._places > 1 and self._running == self._places - 1
            line = self._queue.take(last)
            if line is None:
                return
            self._running += 1
            line.turn.set()


def _done(work: Callable[[OnProgress], T], line: _Line) -> T | WhenceError:
    try:
        return work(line)
    except WhenceError as error:
        return error


async def _answered(work: Callable[[], T], line: _Line, seconds: float, limiter: anyio.CapacityLimiter) -> T | None:
    """Return what `work` returns in a thread, which is waited for even where nobody waits; None where it is deaf."""
    line.patience.deadline = min(line.patience.deadline, anyio.current_time() + seconds + DEAF)
    with line.patience:
        return await anyio.to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=True)
    return None


async def _tell(context: Context[Any, Any], line: _Line, lane: _Lane, seconds: float) -> None:
    """Tell how far a search has come, until it is cancelled; then the search is, too."""
    try:
        while True:
            await anyio.sleep(PULSE)
            told = f"waiting; {lane.ahead(line)} before it" if not line.turn.is_set() else _in_words(line.latest)
            await context.report_progress(time.monotonic() - line.began, seconds, told)
    finally:
        line.stopped.set()
        line.patience.deadline = min(line.patience.deadline, anyio.current_time() + DEAF)


def _in_words(progress: Progress | None) -> str:
    """Say how far a search has come."""
    if progress is None:
        return "begun"
    if progress.refit is not None and progress.refits is not None:
        return f"part {progress.refit} of {progress.refits}"
    found = f"found at distance {plain(progress.distance, 3)}" if progress.distance < float("inf") else "nothing yet"
    proved = f"; none nearer than {plain(progress.bound, 3)}" if 0 < progress.bound < float("inf") else ""
    return f"{progress.nodes} steps: {found}{proved}"
