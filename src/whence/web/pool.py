"""Searches under way: a queue, the processes that work on it, and what became of every question."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import os
import pickle
import secrets
import sys
import time
from collections import deque
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from whence.question import Progress
from whence.web import wire as models
from whence.web.messages import Answered, Asked, Cancel, Failed, FoundNearest, Ready, header_size, length, packed
from whence.web.scenes import Scene
from whence.web.server_settings import ServerSettings

log = logging.getLogger("whence.web")

#: Seconds beyond its time limit after which a search counts as hung.
HUNG = 300.0
#: Seconds after which a search that was told to stop is ended with its process.
DEAF = 10.0
#: Seconds after which a search is given up that somebody was waiting for, unless it is asked for again: when their
#: connection was closed, and when they had their news and did not come back.
LEFT, SILENT = 2.0, 30.0
#: Longest pause before another attempt to start a process, in seconds.
PAUSE = 30.0

FINISHED = ("done", "cancelled", "failed")


class QueueFull(Exception):
    """No more searches may wait."""


@dataclass(eq=False)
class Job:
    """One question, from its arrival until it is forgotten."""

    id: str
    asked: Asked
    state: models.State = "queued"
    progress: Progress | None = None
    #: The nearest answer for the page, as long as it is not the answer itself.
    nearest: bytes | None = None
    answer: Answered | None = None
    error: str | None = None
    #: What to know about its context.
    remarks: list[str] = field(default_factory=list)
    #: Whether somebody wants it stopped.
    cancelled: bool = False
    finished_at: float = math.inf
    #: How many wait for news, and when it is given up because nobody does any more.
    followers: int = 0
    leaving: asyncio.TimerHandle | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def finished(self) -> bool:
        """Whether its state is its last."""
        return self.state in FINISHED

    def tell(self, **changes: Any) -> None:
        """Change the job and wake up everybody who waits for news of it."""
        for name, value in changes.items():
            setattr(self, name, value)
        if self.finished and self.finished_at == math.inf:
            self.finished_at = time.monotonic()
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def news(self, seconds: float) -> None:
        """Return at the next change, or after that many seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)


class _Worker:
    """One worker process and the line to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._to, self._from = process, process.stdin, process.stdout
        self.pid = process.pid
        self.ended = asyncio.create_task(process.wait())

    @classmethod
    async def start(cls, scenes: bytes) -> _Worker:
        """A process that has loaded the scenes; an EOFError or OSError if it could not."""
        # It finds the modules that the server finds, and none that only happens to lie in the folder it is started in.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-P", "-m", "whence.web.worker")
        # In a session of its own: Ctrl-C in the server's terminal is the server's business.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, start_new_session=True, env=environment
        )
        worker = cls(process)
        try:
            worker.send(scenes)
            if not isinstance(await worker.receive(), Ready):
                raise EOFError("The worker did not start.")
        except BaseException:
            await worker.end()
            raise
        return worker

    def send(self, message: Any) -> None:
        self._to.write(packed(message))

    async def receive(self) -> Any:
        try:
            header = await self._from.readexactly(header_size)
            return pickle.loads(await self._from.readexactly(length(header)))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise EOFError("The worker is gone.") from error

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def end(self) -> None:
        self.kill()
        self._to.close()
        await self.ended


class Pool:
    """A queue of questions and the processes that answer them."""

    def __init__(self, scenes: Sequence[Scene], settings: ServerSettings) -> None:
        # Fitted once and sent as they are: a forest without a seed would be another one in every process.
        self._scenes = pickle.dumps(list(scenes), pickle.HIGHEST_PROTOCOL)
        self._settings = settings
        self._jobs: dict[str, Job] = {}
        self._waiting: deque[Job] = deque()
        self._arrived = asyncio.Event()
        self._running: dict[str, _Worker] = {}
        self._ready: set[int] = set()
        self._numbers = itertools.count(1)
        # One after the other, so that the first one is ready soon.
        self._starting = asyncio.Lock()
        self._tasks = [asyncio.create_task(self._work()) for _ in range(settings.workers)]

    async def stop(self) -> None:
        """End the processes, and tell everybody who waits that there will be no answer."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for job in self._jobs.values():
            if not job.finished:
                job.tell(state="failed", error="The server was stopped.")

    # ---- what the server asks ------------------------------------------------------------------------

    @property
    def queued(self) -> int:
        """Questions that wait for a process."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """Questions that a process is working on."""
        return len(self._running)

    @property
    def pids(self) -> list[int]:
        """The processes that are ready, by their number."""
        return sorted(self._ready)

    def submit(self, asked: Asked, remarks: Sequence[str] = ()) -> Job:
        """Put a question into the queue, under a number of the pool's own."""
        self._forget()
        if len(self._waiting) >= self._settings.queue:
            raise QueueFull
        job = Job(id=secrets.token_urlsafe(12), asked=replace(asked, number=next(self._numbers)), remarks=list(remarks))
        self._jobs[job.id] = job
        self._waiting.append(job)
        self._arrived.set()
        return job

    def find(self, id: str) -> Job | None:
        """The question of this id, unless it has been forgotten."""
        self._forget()
        return self._jobs.get(id)

    def ahead(self, job: Job) -> int:
        """How many questions come before this one."""
        return self._waiting.index(job) if job in self._waiting else 0

    def cancel(self, job: Job) -> None:
        """Stop a question: at once where it waits, otherwise as soon as the search listens."""
        if job.finished or job.cancelled:
            return
        job.cancelled = True
        if job in self._waiting:
            self._waiting.remove(job)
            job.tell(state="cancelled")
        elif job.id in self._running:
            worker = self._running[job.id]
            worker.send(Cancel(job.asked.number))
            self._end_later(DEAF, job, worker)

    async def follow(self, job: Job, waiting: Awaitable[bool]) -> None:
        """Let somebody wait for news of a job, until they are gone (False) or not (True).

        Once nobody waits any more, and nobody asks again soon, the job is stopped.
        """
        stays = False
        job.followers += 1
        try:
            stays = await waiting
        finally:
            job.followers -= 1
            self._stop_later(job, SILENT if stays else LEFT)

    def visited(self, job: Job) -> None:
        """Somebody has asked for a job: if it was about to be given up, it has time again."""
        if job.leaving is not None:
            self._stop_later(job, SILENT)

    def _stop_later(self, job: Job, seconds: float) -> None:
        def stop() -> None:
            if not job.followers:
                self.cancel(job)

        if job.leaving is not None:
            job.leaving.cancel()
        job.leaving = asyncio.get_running_loop().call_later(seconds, stop)

    def _forget(self) -> None:
        """Drop what finished long ago, and the oldest where there are too many."""
        finished = sorted((job for job in self._jobs.values() if job.finished), key=lambda job: job.finished_at)
        horizon = time.monotonic() - self._settings.kept_seconds
        for i, job in enumerate(finished):
            if i < len(finished) - self._settings.kept or job.finished_at < horizon:
                del self._jobs[job.id]

    # ---- the processes ---------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Keep one process going: start it, hand it questions, replace it when it dies."""
        pause = 0.0
        while True:
            await asyncio.sleep(pause)
            try:
                async with self._starting:
                    worker = await _Worker.start(self._scenes)
            except (EOFError, OSError) as error:
                pause = min(PAUSE, 2 * pause + 1)
                log.error("A worker could not be started (%s); the next attempt is in %g s.", error, pause)
                # Nobody is there to answer: say so rather than keep the questions waiting.
                while self._waiting and not self._ready:
                    failure = "No process could be started to search for an answer."
                    self._waiting.popleft().tell(state="failed", error=failure)
                continue
            pause = 0.0
            self._ready.add(worker.pid)
            try:
                while True:
                    await self._answer(worker, await self._next(worker))
            except EOFError:
                log.warning("Worker %d ended unexpectedly and is replaced.", worker.pid)
            finally:
                self._ready.discard(worker.pid)
                await worker.end()

    async def _next(self, worker: _Worker) -> Job:
        """The question that has waited longest; an EOFError if the worker dies before there is one."""
        while not self._waiting:
            self._arrived.clear()
            arrival = asyncio.create_task(self._arrived.wait())
            await asyncio.wait({worker.ended, arrival}, return_when=asyncio.FIRST_COMPLETED)
            arrival.cancel()
            if worker.ended.done():
                raise EOFError("The worker is gone.")
        return self._waiting.popleft()

    async def _answer(self, worker: _Worker, job: Job) -> None:
        self._running[job.id] = worker
        limit = self._end_later(job.asked.time_limit + HUNG, job, worker)
        try:
            worker.send(job.asked)
            job.tell(state="running")
            while not job.finished:
                self._take(job, await worker.receive())
        except EOFError:
            error = "The process that searched for the answer ended unexpectedly; ask again."
            if asyncio.get_running_loop().time() >= limit.when():
                error = f"The search did not end by itself after {job.asked.time_limit:g} s and was stopped."
            job.tell(state="cancelled") if job.cancelled else job.tell(state="failed", error=error)
            raise
        finally:
            limit.cancel()
            self._running.pop(job.id, None)

    def _take(self, job: Job, message: Any) -> None:
        if isinstance(message, Progress):
            job.tell(progress=message)
        elif isinstance(message, FoundNearest):
            job.tell(nearest=message.result)
        elif isinstance(message, Answered):
            state = "cancelled" if message.stopped else "done"
            job.tell(state=state, answer=message, nearest=message.nearest)
        elif isinstance(message, Failed):
            job.tell(state="failed", error=message.reason)

    def _end_later(self, seconds: float, job: Job, worker: _Worker) -> asyncio.TimerHandle:
        """End a worker in a while if it still works on this question then."""

        def end() -> None:
            if self._running.get(job.id) is worker:
                worker.kill()

        return asyncio.get_running_loop().call_later(seconds, end)
