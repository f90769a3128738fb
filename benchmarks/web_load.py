"""The page's server under load: many clients at once on loopback, their waiting times, errors, and memory.

    python benchmarks/web_load.py [--quick]

Every client goes round without a pause: a past observation of an example, the decision there, whether the example's own
plan can be carried out, and a relative explanation, from the request until the answer has arrived. The tables go to
``docs/benchmarks/tables/web.md``; with ``--quick`` (5 clients for 5 s), to ``.benchmarks``.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import numpy as np
import psutil

from _common import Report, Settings, main, milliseconds, shown

#: Clients and seconds of every run; the first fills caches and queues and is not shown.
RUNS = ((50, 10.0, False), (1, 10.0, True), (10, 10.0, True), (50, 30.0, True))
QUICK = ((5, 3.0, False), (5, 5.0, True))
CALLS = ("observation", "decide", "check", "explain")


class Load:
    """What clients have seen: seconds by kind of call, and errors."""

    def __init__(self, url: str, scenes: dict[str, dict[str, Any]]) -> None:
        self.url, self.scenes = url, scenes
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []

    async def run(self, clients: int, seconds: float) -> None:
        """So many clients at once, for so long."""
        until = time.monotonic() + seconds
        await asyncio.gather(*(self._client(random.Random(number), until) for number in range(clients)))

    async def _client(self, chance: random.Random, until: float) -> None:
        async with httpx.AsyncClient(base_url=self.url, timeout=60.0) as client:
            while time.monotonic() < until:
                scene = self.scenes[chance.choice(list(self.scenes))]
                path = f"/api/scenes/{scene['id']}"
                row = 1 + chance.randrange(scene["observations"])
                try:
                    seen = await self._timed("observation", client.get(f"{path}/observations/{row}"))
                    asked = {"context": seen["context"], "plan": scene["alternative"]}
                    await self._timed("decide", client.post(f"{path}/decide", json={"context": seen["context"]}))
                    await self._timed("check", client.post(f"{path}/check", json=asked))
                    began = time.perf_counter()
                    job = (await client.post(f"{path}/explanations", json=asked)).raise_for_status().json()
                    while job["state"] in ("queued", "running"):
                        answer = await client.get(f"/api/explanations/{job['job']}", params={"wait": 20})
                        job = answer.raise_for_status().json()
                    if job["state"] != "done":
                        raise RuntimeError(f"{job['state']}: {job['error']}")
                    self.seconds["explain"].append(time.perf_counter() - began)
                except (httpx.HTTPError, RuntimeError) as error:
                    self.errors.append(repr(error))

    async def _timed(self, call: str, request: Any) -> Any:
        began = time.perf_counter()
        answer = (await request).raise_for_status().json()
        self.seconds[call].append(time.perf_counter() - began)
        return answer


@contextmanager
def served() -> Iterator[tuple[str, psutil.Process]]:
    """A server of its own process, with all its workers ready."""
    code = "from whence.web.server import serve; serve(port=0, open_browser=False)"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            url = next(line.split()[3] for line in process.stderr if "whence is at " in line)
            while True:
                health = httpx.get(f"{url}api/health").json()
                if health["ready"] == health["workers"]:
                    break
                time.sleep(0.5)
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()


def used(server: psutil.Process) -> dict[str, tuple[float, float]]:
    """Resident megabytes and seconds of processor time so far, of the server and of its workers together."""
    parts = {"server": [server], "workers": server.children()}
    return {
        part: (
            sum(process.memory_info().rss for process in processes) / 1e6,
            sum(sum(process.cpu_times()[:2]) for process in processes),
        )
        for part, processes in parts.items()
    }


def load(settings: Settings) -> None:
    """Waiting times and memory, run after run against one server."""
    report = Report("web", settings)
    with served() as (url, server):
        listed = httpx.get(f"{url}api/scenes").json()
        scenes = {entry["id"]: httpx.get(f"{url}api/scenes/{entry['id']}").json() for entry in listed}
        before = used(server)
        costs = [_cost("workers ready", before, before, 0)]
        for clients, seconds, counted in QUICK if settings.quick else RUNS:
            run = Load(url, scenes)
            asyncio.run(run.run(clients, seconds))
            after = used(server)
            who = f"after {clients} client{'s' if clients > 1 else ''} for {seconds:g} s"
            costs.append(_cost(who, before, after, len(run.seconds["explain"])))
            before = after
            for call in CALLS if counted else ():
                times = np.array(run.seconds[call])
                report.row(
                    clients=clients,
                    call=call,
                    a_second=f"{times.size / seconds:.1f}",
                    median_ms=milliseconds(float(np.median(times))),
                    p95_ms=milliseconds(float(np.quantile(times, 0.95))),
                    most_ms=milliseconds(float(times.max())),
                    errors=len(run.errors),
                )
            for error in run.errors[:3]:
                print(error)
    for cost in costs:
        report.row(**cost)
    report.write()


def _cost(when: str, before: dict[str, tuple[float, float]], after: dict[str, tuple[float, float]], rounds: int) -> Any:
    """One line of the table of memory and processor time."""
    line: dict[str, Any] = {"when": when}
    for part, (megabytes, seconds) in after.items():
        spent = 1e3 * (seconds - before[part][1]) / rounds if rounds else float("nan")
        line |= {f"{part}_MB": f"{megabytes:.0f}", f"{part}_CPU_ms_a_round": shown(spent)}
    return line


if __name__ == "__main__":
    main("The page's server under load.", {"web": load}, lambda: None, sys.argv[1:])
