"""The server under load: people who open the page, decide and ask about bike-share, and what they wait for.

    python benchmarks/web_load.py [--people 200] [--seconds 600] [--think 5] [--table docs/benchmarks/tables/web.md]

Everybody goes round in a closed loop: open the page's scene, set a context of the past and see its decision, check the
plan of another context, ask why it was not taken, and think for five seconds (half of them at least) after each. As on
the page, people go on once they have the first answer: how far it can be relied on follows when there is time for it,
and whoever asks something else before gives it up. They come through a trusted proxy that names them, as in a company,
so that the limits of one client do not count for all. 200 people for an hour are ``--seconds 3600``; memory is looked
at throughout, and ``--think 0`` asks as much as can be answered. The table is printed, and written to the file that
``--table`` names; without one, to ``.benchmarks``.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from _common import ROOT, Report, Settings, milliseconds

#: Seconds that people think between two requests, on average.
THINK = 5.0
CALLS = ("open", "decide", "check", "first answer", "how far to rely on it")
PROJECT = ROOT / "examples" / "bike-share" / "whence.toml"
#: What is promised: 95 of 100 decisions and first answers are there within so many seconds.
PROMISED = {"decide": 0.3, "first answer": 5.0}
ON_ITS_WAY = ("queued", "running")


class Load:
    """What people have seen: seconds by kind of call, and what went wrong."""

    def __init__(self, url: str, think: float) -> None:
        self.url, self.think = url, think
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.requests = 0
        self.errors: list[str] = []

    async def run(self, people: int, seconds: float) -> None:
        """So many people at once, for so long."""
        until = time.monotonic() + seconds
        await asyncio.gather(*(self._person(number, until) for number in range(people)))

    async def _person(self, number: int, until: float) -> None:
        chance = random.Random(number)
        headers = {"x-remote-user": f"person-{number}", "x-forwarded-host": "localhost"}
        async with httpx.AsyncClient(base_url=self.url, timeout=60.0, headers=headers) as client:
            # Nobody comes at the same moment as all others.
            await asyncio.sleep(chance.uniform(0, 2 * THINK))
            while time.monotonic() < until:
                try:
                    await self._round(client, chance)
                except (httpx.HTTPError, RuntimeError) as error:
                    self.errors.append(repr(error))

    async def _round(self, client: httpx.AsyncClient, chance: random.Random) -> None:
        path = "/api/v1/scenes/project"
        scene = await self._timed("open", client, "GET", path)
        await self._think(chance)
        row = 1 + chance.randrange(scene["observations"])
        seen = await self._send(client, "GET", f"{path}/observations/{row}")
        decided = await self._timed("decide", client, "POST", f"{path}/decide", json={"context": seen["context"]})
        await self._think(chance)
        other = await self._send(client, "POST", f"{path}/decide", json={"context": scene["context"]})
        asked = {"context": seen["context"], "plan": other["plan"]}
        if other["plan"] == decided["plan"]:
            return
        await self._timed("check", client, "POST", f"{path}/check", json=asked)
        await self._think(chance)
        began = time.perf_counter()
        job = await self._send(client, "POST", f"{path}/explanations", json=asked)
        job = await self._followed(client, job, lambda told: told["nearest"] is not None)
        self.seconds["first answer"].append(time.perf_counter() - began)
        enough = time.perf_counter() + self._pause(chance)
        job = await self._followed(client, job, lambda _: False, enough, brief=True)
        if job["state"] in ON_ITS_WAY:
            await self._send(client, "DELETE", f"/api/v1/explanations/{job['job']}")
            return
        self.seconds["how far to rely on it"].append(time.perf_counter() - began)
        await asyncio.sleep(max(0.0, enough - time.perf_counter()))

    async def _followed(
        self,
        client: httpx.AsyncClient,
        job: Any,
        enough: Callable[[Any], bool],
        until: float = math.inf,
        brief: bool = False,
    ) -> Any:
        """A question once it is answered, or as far as it is enough, or as it is at some time."""
        while job["state"] in ON_ITS_WAY and not enough(job) and (left := until - time.perf_counter()) > 0:
            news = {"wait": min(20.0, left), "brief": brief}
            job = await self._send(client, "GET", f"/api/v1/explanations/{job['job']}", params=news)
        if job["state"] not in (*ON_ITS_WAY, "done"):
            raise RuntimeError(f"{job['state']}: {job['error']}")
        return job

    async def _timed(self, call: str, *request: Any, **more: Any) -> Any:
        began = time.perf_counter()
        answer = await self._send(*request, **more)
        self.seconds[call].append(time.perf_counter() - began)
        return answer

    async def _send(self, client: httpx.AsyncClient, method: str, path: str, **more: Any) -> Any:
        self.requests += 1
        return (await client.request(method, path, **more)).raise_for_status().json()

    def _pause(self, chance: random.Random) -> float:
        return self.think * chance.uniform(0.5, 1.5)

    async def _think(self, chance: random.Random) -> None:
        await asyncio.sleep(self._pause(chance))


@contextmanager
def served() -> Iterator[tuple[str, psutil.Process]]:
    """A server of its own process that trusts this one to name people, once it is ready."""
    environment = {**os.environ, "WHENCE_USER_HEADER": "X-Remote-User", "WHENCE_TRUSTED_PROXIES": "127.0.0.1"}
    command = [sys.executable, "-m", "whence", "serve", str(PROJECT), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            url = next(line.split()[3] for line in process.stderr if "whence is at " in line)
            while httpx.get(f"{url}readyz").status_code != 200:
                time.sleep(0.5)
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()


def megabytes(server: psutil.Process) -> float:
    """Resident memory of the server and its workers."""
    return sum(process.memory_info().rss for process in [server, *server.children()]) / 1e6


def processor_seconds(*processes: psutil.Process) -> float:
    """Processor time of processes so far."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


async def _watched(load: Load, people: int, seconds: float, server: psutil.Process) -> list[float]:
    """Run the load, and look at the memory ten times meanwhile."""
    seen: list[float] = []

    async def look() -> None:
        for _ in range(10):
            await asyncio.sleep(seconds / 10)
            seen.append(megabytes(server))

    await asyncio.gather(load.run(people, seconds), look())
    return seen


def load(people: int, seconds: float, think: float, table: Path) -> None:
    """Waiting times, what was lost, memory, and where processor time went."""
    report = Report(table.stem, Settings(tables=table.parent))
    with served() as (url, server):
        run, own = Load(url, think), psutil.Process()
        before = [processor_seconds(server), processor_seconds(*server.children()), processor_seconds(own)]
        memory = asyncio.run(_watched(run, people, seconds, server))
        after = [processor_seconds(server), processor_seconds(*server.children()), processor_seconds(own)]
    for call in CALLS:
        times = np.array(run.seconds[call])
        if not times.size:
            continue
        report.row(
            people=people,
            call=call,
            answered=times.size,
            median_ms=milliseconds(float(np.median(times))),
            p95_ms=milliseconds(float(np.quantile(times, 0.95))),
            most_ms=milliseconds(float(times.max())),
            promised_ms=milliseconds(PROMISED[call]) if call in PROMISED else "-",
        )
    spent = [f"{1e3 * (late - soon) / max(1, run.requests):.1f}" for soon, late in zip(before, after, strict=True)]
    report.text(
        f"{people} people for {seconds:g} s, who think {think:g} s between two requests: {run.requests:,} requests, "
        f"{len(run.errors)} lost. Processor ms a request: the server {spent[0]}, its processes {spent[1]}, and what "
        f"asks {spent[2]}. Memory of the server and its processes after each tenth of the time, in MB: "
        f"{', '.join(f'{held:.0f}' for held in memory)}."
    )
    for error in run.errors[:3]:
        print(error)
    report.write()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--think", type=float, default=THINK)
    parser.add_argument("--table", type=Path, default=ROOT / ".benchmarks" / "web.md")
    given = parser.parse_args()
    load(given.people, given.seconds, given.think, given.table)
