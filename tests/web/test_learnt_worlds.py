"""What one worker learns from simulated worlds is known to the others."""

from __future__ import annotations

import asyncio
import json
import pickle
import zlib
from typing import Any

from tests.web.live import finished, running, until
from tests.web.slow import slow_scene

from whence.question import Progress
from whence.web.messages import Answered, Asked, Failed, Learnt
from whence.web.worker_process import WorkerProcess


async def answered(worker: WorkerProcess, *messages: Any) -> list[Any]:
    """What a worker says to these messages, up to its answer."""
    for message in messages:
        worker.send(message)
    said: list[Any] = []
    while not said or not isinstance(said[-1], Answered):
        said.append(await worker.receive())
        assert not isinstance(said[-1], Failed)
    return said


def test_a_worker_that_is_told_simulates_no_worlds() -> None:
    """It gives the very answer of the one that has learnt, and has nothing new to tell."""
    scene = slow_scene()
    context = {name: scene.today[name] for name in scene.today.index}
    conditions = {"holds": 0.8}
    asked = Asked("slow", 1, context, scene.alternative, time_limit=600.0, conditions=conditions, late=True)

    async def both() -> tuple[list[Any], list[Any]]:
        workers = [await WorkerProcess.start(pickle.dumps([scene])) for _ in range(2)]
        try:
            first = await answered(workers[0], asked)
            learnt = next(message for message in first if isinstance(message, Learnt))
            return first, await answered(workers[1], learnt, asked)
        finally:
            for worker in workers:
                await worker.end()

    first, second = asyncio.run(both())
    simulated = [any(isinstance(one, Progress) and one.simulated for one in said) for said in (first, second)]
    assert simulated == [True, False]
    assert not any(isinstance(message, Learnt) for message in second)
    assert answer_of(first[-1]) == answer_of(second[-1])


def answer_of(told: Answered) -> Any:
    """What is the same of two answers to one question: everything but the time that it took."""
    document = json.loads(zlib.decompress(told.data))
    return document["reliance"], document["distance"]


def test_the_server_passes_on_what_was_learnt() -> None:
    """Whichever of two workers is asked next, it is told, and once."""
    with running([slow_scene()], workers=2) as live, live.client() as client:
        live.wait_for_workers(2)
        for warmth in (8.0, 9.0, 7.0):
            context = {"warmth": warmth, "day": "week"}
            job = client.post("/api/scenes/slow/explanations", json={"context": context, "plan": [70.0], "holds": 0.8})
            assert finished(client, job.json()["job"])["state"] == "done"
        pool = live.app.state.pool
        known = pool._learnt["slow"]
        assert len(known.curves) == 1
        assert all(curve.worlds == 12 for curve in known.curves.values())
        until(lambda: pool.idle, 60.0)
        assert any(worker.knows.get("slow") is known for worker in pool._lanes["search"].ready)
