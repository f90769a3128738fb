"""Searches under way: a queue, the processes that work on it, and what became of every question."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import math
import pickle
import secrets
import sqlite3
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import msgspec

from whence.question import Progress
from whence.web import wire as models
from whence.web.clients import NOBODY, Client, FairQueue
from whence.web.messages import Answered, Asked, Cancel, Failed, FoundNearest, Learnt, Nearest, NewScenes
from whence.web.records import Metrics
from whence.web.scenes import Scene
from whence.web.server_settings import ServerSettings
from whence.web.store import Entry, Store, finished
from whence.web.worker_process import PROBE, SILENT_AFTER, STUCK_AFTER, WorkerProcess

log = logging.getLogger("whence.web")

#: Seconds beyond its time limit after which a search counts as hung.
HUNG = 300.0
#: Seconds after which a search that was told to stop is ended with its process.
DEAF = 10.0
#: The same for what is soon told, and nobody waits for any more.
ABANDONED = 5.0
#: What is soon told, but not at once: it runs where searches do, so that decisions do not wait for it.
PATIENT = ("quality",)
#: Seconds after which a search is given up that somebody was waiting for, unless it is asked for again: when their
#: connection was closed, and when they had their news and did not come back.
LEFT, SILENT = 2.0, 30.0
#: Longest pause before another attempt to start a process, in seconds.
PAUSE = 30.0

FINISHED = ("done", "cancelled", "failed")


@dataclass(eq=False)
class Job:
    """One question, from its arrival until it is forgotten."""

    id: str
    asked: Asked
    client: Client = NOBODY
    state: models.State = "queued"
    progress: Progress | None = None
    #: The nearest answer for the page, as long as it is not the answer itself.
    nearest: bytes | None = None
    answer: Answered | None = None
    #: What it comes to where it is stopped before its second turn.
    so_far: Answered | None = None
    error: str | None = None
    #: Whether the question itself was wrong.
    refused: bool = False
    #: What to know about its context.
    remarks: list[str] = field(default_factory=list)
    #: When it was asked, by the clock on the wall, and what is to be done once it is finished.
    asked_at: float = field(default_factory=time.time)
    on_finish: Callable[[Job], None] | None = None
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
            if self.on_finish is not None:
                self.on_finish(self)
        news, self._news = self._news, asyncio.Event()
        news.set()

    def news(self, seconds: float) -> Coroutine[Any, Any, None]:
        """Wait for the next change from this call on, whenever the waiting begins, or for that many seconds."""
        return _set_within(self._news, seconds)


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def entry_of(job: Job) -> Entry:
    """A question as it is stored."""
    who = job.client
    return Entry(
        id=job.id,
        scene=job.asked.scene,
        question=job.asked.question,
        asked=msgspec.json.encode(job.asked).decode(),
        who=who.user,
        groups=", ".join(who.groups),
        token=who.token,
        address=who.address,
        asked_at=job.asked_at,
        remarks=json.dumps(job.remarks),
    )


def job_of(entry: Entry) -> Job:
    """The question that was stored, as it stands."""
    asked = msgspec.json.decode(entry.asked, type=Asked)
    # JSON has no tuples.
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in asked.conditions.items()}
    asked = replace(asked, conditions=given)
    groups = tuple(filter(None, entry.groups.split(", ")))
    client = Client(entry.address, entry.token, entry.who, groups)
    job = Job(entry.id, asked, client, remarks=json.loads(entry.remarks), asked_at=entry.asked_at)
    if entry.finished_at is not None:
        job.state = cast(models.State, entry.state)
        job.nearest, job.error, job.finished_at = entry.nearest, entry.error, 0.0
        if entry.result is not None and entry.data is not None:
            job.answer = Answered(entry.state == "cancelled", entry.result, entry.data, entry.nearest)
    return job


@dataclass(eq=False)
class _Lane:
    """Questions of a kind, and the processes for them."""

    queue: FairQueue[Job]
    processes: int
    ready: set[WorkerProcess] = field(default_factory=set)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    running: int = 0

    def take(self) -> Job | None:
        """The next question in turn for a process that is free; the last of several such is kept for newcomers."""
        free = len(self.ready) - self.running
        job = self.queue.take(last=self.processes > 1 and free <= 1)
        self.running += job is not None
        return job

    def done(self, job: Job) -> None:
        """A question is no longer under way."""
        self.queue.done(job)
        self.running -= 1
        self.arrived.set()


class Pool:
    """A queue of questions and the processes that answer them."""

    def __init__(
        self,
        scenes: Sequence[Scene],
        settings: ServerSettings,
        store: Store | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._settings, self._store, self._metrics = settings, store, metrics
        self._jobs: dict[str, Job] = {}
        each, deciders = settings.queue, settings.deciders
        self._lanes = {
            "search": _Lane(FairQueue(each, settings.running), settings.workers),
            "quick": _Lane(FairQueue(2 * each, deciders), deciders),
        }
        self._running: dict[str, WorkerProcess] = {}
        self._numbers = itertools.count(1)
        #: Whether no more questions are taken, because the server is about to end.
        self.draining = False
        self.version = 0
        self.replace(scenes)
        # One after the other, so that the first one is ready soon; first of all, one that decides.
        self._starting = asyncio.Lock()
        counted = [(number, name) for name, lane in self._lanes.items() for number in range(lane.processes)]
        lanes = [self._lanes[name] for _, name in sorted(counted)]
        self._tasks = [asyncio.create_task(self._work(lane)) for lane in lanes]
        self._tasks.append(asyncio.create_task(self._watch()))

    def replace(self, scenes: Sequence[Scene]) -> None:
        """Answer from these scenes from now on; what is being answered keeps those that it began with."""
        # Fitted once and sent as they are: a forest without a seed would be another one in every process.
        self._scenes = pickle.dumps(list(scenes), pickle.HIGHEST_PROTOCOL)
        self._names = {scene.id for scene in scenes}
        self._learnt: dict[str, Learnt] = {}
        self.version += 1

    async def stop(self) -> None:
        """End the processes, and tell everybody who waits that there will be no answer."""
        tasks, self._tasks = self._tasks, []
        # What is not answered is asked again when the server is back.
        self._store = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for job in self._jobs.values():
            if not job.finished and job.so_far is not None:
                job.tell(state="cancelled", answer=job.so_far)
            elif not job.finished:
                job.tell(state="failed", error="The server was stopped.")

    # ---- what the server asks ------------------------------------------------------------------------

    @property
    def queued(self) -> int:
        """Questions that wait for a process."""
        return len(self._lanes["search"].queue)

    @property
    def running(self) -> int:
        """Questions that a process is working on."""
        return sum(not self._jobs[id].asked.quick for id in self._running)

    @property
    def pids(self) -> list[int]:
        """The processes that search and are ready, by their number."""
        return sorted(worker.pid for worker in self._lanes["search"].ready)

    @property
    def every_pid(self) -> list[int]:
        """All processes that are ready, by their number."""
        return sorted(worker.pid for lane in self._lanes.values() for worker in lane.ready)

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing is being worked on."""
        return not self._running and not any(len(lane.queue) for lane in self._lanes.values())

    @property
    def answering(self) -> bool:
        """Whether there is a process for decisions and one for searches, and both answer probes."""
        return all(any(worker.silent < SILENT_AFTER for worker in lane.ready) for lane in self._lanes.values())

    def submit(self, asked: Asked, remarks: Sequence[str] = (), client: Client = NOBODY) -> Job:
        """Put a question into the queue, under a number of the pool's own; TooMany where the client has enough."""
        self._forget()
        id = secrets.token_urlsafe(12)
        job = Job(id, replace(asked, number=next(self._numbers)), remarks=list(remarks), client=client)
        self._enter(job)
        if not asked.quick:
            job.on_finish = self._keep
            self._write(entry_of(job))
        return job

    def resume(self) -> None:
        """Go on with the questions that had no answer when the server was stopped."""
        for entry in [] if self._store is None else self._store.unfinished():
            job = job_of(entry)
            job.asked = replace(job.asked, number=next(self._numbers))
            job.on_finish = self._keep
            if job.asked.scene in self._names:
                self._enter(job, limited=False)
            else:
                job.tell(state="failed", error="What it was asked about is no longer served.")

    def _enter(self, job: Job, limited: bool = True) -> None:
        lane = self._lane(job)
        lane.queue.put(job, job.client.key, limited)
        self._jobs[job.id] = job
        lane.arrived.set()

    def _keep(self, job: Job) -> None:
        if self._metrics is not None:
            self._metrics.finished(job)
        found: dict[str, Any] = {}
        if job.answer is not None:
            found = {"result": job.answer.result, "data": job.answer.data}
        entry = replace(entry_of(job), nearest=job.nearest, error=job.error, **found)
        self._write(finished(entry, job.state))

    def _write(self, entry: Entry) -> None:
        """Write a question into the store; where that cannot be written, who asks is answered all the same."""
        if self._store is None:
            return
        try:
            self._store.put(entry)
        except sqlite3.Error as error:
            log.error("The question %s could not be stored: %s.", entry.id, error)

    async def quickly(self, asked: Asked, client: Client, gone: Awaitable[None]) -> Answered | Failed:
        """What is soon told, unless whoever asked is gone before; TooMany where the client has enough waiting."""
        job = self.submit(asked, client=client)
        left = asyncio.ensure_future(gone)
        try:
            async with asyncio.timeout(asked.time_limit):
                while not job.finished and not left.done():
                    news = asyncio.ensure_future(job.news(asked.time_limit))
                    await asyncio.wait({news, left}, return_when=asyncio.FIRST_COMPLETED)
                    news.cancel()
        except TimeoutError:
            pass
        finally:
            left.cancel()
            self.cancel(job)
            # What is still running is ended soon, and forgotten then.
            if job.id not in self._running:
                self._jobs.pop(job.id, None)
        if job.answer is not None:
            return job.answer
        return Failed(job.error or f"This took longer than {asked.time_limit:g} s and was stopped.", job.refused)

    def _lane(self, job: Job) -> _Lane:
        quick = job.asked.quick and job.asked.quick not in PATIENT
        return self._lanes["quick" if quick else "search"]

    def find(self, id: str) -> Job | None:
        """The question of this id, unless it has been forgotten."""
        self._forget()
        job = self._jobs.get(id)
        if job is None and self._store is not None:
            entry = self._store.find(id)
            return None if entry is None else job_of(entry)
        return job

    def ahead(self, job: Job) -> int:
        """How many questions come before this one."""
        return self._lane(job).queue.ahead(job)

    def cancel(self, job: Job) -> None:
        """Stop a question: at once where it waits, otherwise as soon as the search listens."""
        if job.finished or job.cancelled:
            return
        job.cancelled = True
        lane = self._lane(job)
        if job in lane.queue:
            lane.queue.remove(job)
            job.tell(state="cancelled", answer=job.so_far)
        elif job.id in self._running:
            worker = self._running[job.id]
            worker.send(Cancel(job.asked.number))
            self._end_later(ABANDONED if job.asked.quick else DEAF, job, worker)

    async def follow(self, job: Job, client: Client, waiting: Awaitable[bool]) -> None:
        """Let somebody wait for news of a job, until they are gone (False) or not (True).

        Once nobody waits any more, whoever asked is among those who did, and nobody asks again soon, the job is
        stopped.
        """
        stays = False
        job.followers += 1
        try:
            stays = await waiting
        finally:
            job.followers -= 1
            if client.key == job.client.key or job.leaving is not None:
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

    async def _work(self, lane: _Lane) -> None:
        """Keep one process going: start it, hand it questions, replace it when it dies."""
        pause = 0.0
        while True:
            await asyncio.sleep(pause)
            try:
                async with self._starting:
                    gently = lane is self._lanes["search"]
                    worker = await WorkerProcess.start(self._scenes, self.version, gently)
            except (EOFError, OSError) as error:
                pause = min(PAUSE, 2 * pause + 1)
                log.error("A worker could not be started (%s); the next attempt is in %g s.", error, pause)
                # Nobody is there to answer: say so rather than keep the questions waiting.
                for job in [] if lane.ready else list(lane.queue):
                    lane.queue.remove(job)
                    job.tell(state="failed", error="No process could be started to search for an answer.")
                continue
            pause = 0.0
            lane.ready.add(worker)
            try:
                while True:
                    await self._answer(worker, lane, await self._next(worker, lane))
            except EOFError:
                log.warning("Worker %d ended unexpectedly and is replaced.", worker.pid)
            finally:
                lane.ready.discard(worker)
                await worker.end()

    async def _watch(self) -> None:
        """Probe every process now and then, and end those that neither answer nor work: they are replaced."""
        while True:
            await asyncio.sleep(PROBE)
            for worker in [worker for lane in self._lanes.values() for worker in lane.ready]:
                worker.probe()
                if worker.silent >= STUCK_AFTER:
                    log.warning("Worker %d has not answered %d probes and is replaced.", worker.pid, STUCK_AFTER)
                    worker.kill()

    async def _next(self, worker: WorkerProcess, lane: _Lane) -> Job:
        """The next question in turn; an EOFError if the worker dies before there is one."""
        while worker.ended.done() or (job := lane.take()) is None:
            lane.arrived.clear()
            arrival = asyncio.create_task(lane.arrived.wait())
            await asyncio.wait({worker.ended, arrival}, return_when=asyncio.FIRST_COMPLETED)
            arrival.cancel()
            if worker.ended.done():
                # Another one may have missed what was there.
                lane.arrived.set()
                raise EOFError("The worker is gone.")
        return job

    async def _answer(self, worker: WorkerProcess, lane: _Lane, job: Job) -> None:
        self._running[job.id], later = worker, False
        limit = self._end_later(job.asked.time_limit + (0.0 if job.asked.quick else HUNG), job, worker)
        try:
            if worker.version != self.version:
                worker.send(NewScenes(self._scenes))
                worker.version, worker.knows = self.version, {}
            self._tell_learnt(worker, job)
            worker.send(replace(job.asked, late=job.so_far is not None))
            job.tell(state="running")
            while not job.finished:
                message = await worker.receive()
                if isinstance(message, Learnt):
                    self._note_learnt(worker, message)
                    continue
                self._take(job, message)
                if isinstance(message, Nearest) and not job.finished:
                    later = True
                    break
        except EOFError:
            error = "The process that searched for the answer ended unexpectedly; ask again."
            if asyncio.get_running_loop().time() >= limit.when():
                error = f"The search did not end by itself after {job.asked.time_limit:g} s and was stopped."
            job.tell(state="cancelled") if job.cancelled else job.tell(state="failed", error=error)
            raise
        finally:
            limit.cancel()
            self._running.pop(job.id, None)
            lane.done(job)
            if later:
                # First answers, of everybody, come before what makes them reliable.
                lane.queue.put(job, job.client.key, limited=False, late=True)
            if job.asked.quick:
                self._jobs.pop(job.id, None)

    def _tell_learnt(self, worker: WorkerProcess, job: Job) -> None:
        """Tell a worker what others have learnt about what it is asked about."""
        learnt = self._learnt.get(job.asked.scene)
        if learnt is not None and worker.knows.get(job.asked.scene) is not learnt and not job.asked.quick:
            worker.send(learnt)
            worker.knows[job.asked.scene] = learnt

    def _note_learnt(self, worker: WorkerProcess, learnt: Learnt) -> None:
        """Keep what a worker has learnt, unless it is about scenes that are no more."""
        if worker.version != self.version:
            return
        known = self._learnt.get(learnt.scene, Learnt(learnt.scene, {})).curves
        # Two may have learnt at the same time, one of them with less of it left.
        more = {
            kind: curve
            for kind, curve in learnt.curves.items()
            if kind not in known or curve.worlds > known[kind].worlds
        }
        self._learnt[learnt.scene] = Learnt(learnt.scene, {**known, **more})

    def _take(self, job: Job, message: Any) -> None:
        if isinstance(message, Progress):
            job.tell(progress=message)
        elif isinstance(message, FoundNearest):
            job.tell(nearest=message.result)
        elif isinstance(message, Nearest):
            job.tell(nearest=message.answer.result, so_far=message.answer)
            if job.cancelled:
                job.tell(state="cancelled", answer=message.answer)
        elif isinstance(message, Answered):
            state = "cancelled" if message.stopped else "done"
            job.tell(state=state, answer=message, nearest=message.nearest)
        elif isinstance(message, Failed):
            job.tell(state="failed", error=message.reason, refused=message.refused)

    def _end_later(self, seconds: float, job: Job, worker: WorkerProcess) -> asyncio.TimerHandle:
        """End a worker in a while if it still works on this question then."""

        def end() -> None:
            if self._running.get(job.id) is worker:
                worker.kill()

        return asyncio.get_running_loop().call_later(seconds, end)
