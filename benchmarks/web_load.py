"""The server under load: people who open the page, decide and ask about bike-share, and what they wait for.

    python benchmarks/web_load.py [--people 200] [--seconds 600] [--table docs/benchmarks/tables/web.md]

Everybody goes round in a closed loop: open the page's scene, set a context of the past and see its decision, check the
project's own plan, ask why it was not taken, and think for five seconds (half of them at least) after each. They come
through a trusted proxy that names them, as in a company, so that the limits of one client do not count for all. 200
people for an hour are ``--seconds 3600``; memory is looked at throughout. The table is printed, and written to the file
that ``--table`` names; without one, to ``.benchmarks``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from _common import ROOT, Report, Settings, milliseconds

#: Seconds that people think between two requests, on average.
THINK = 5.0
CALLS = ("open", "decide", "check", "explain")
PROJECT = ROOT / "examples" / "bike-share" / "whence.toml"
#: What is promised: 95 of 100 decisions and first answers are there within so many seconds.
PROMISED = {"decide": 0.3, "explain": 5.0}


class Load:
    """What people have seen: seconds by kind of call, and what went wrong."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seconds: dict[str, list[float]] = defaultdict(list)
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
        scene = await self._timed("open", client.get(path))
        await _think(chance)
        row = 1 + chance.randrange(scene["observations"])
        seen = (await client.get(f"{path}/observations/{row}")).raise_for_status().json()
        decided = await self._timed("decide", client.post(f"{path}/decide", json={"context": seen["context"]}))
        await _think(chance)
        other = (await client.post(f"{path}/decide", json={"context": scene["context"]})).raise_for_status().json()
        asked = {"context": seen["context"], "plan": other["plan"]}
        if other["plan"] == decided["plan"]:
            return
        await self._timed("check", client.post(f"{path}/check", json=asked))
        await _think(chance)
        began = time.perf_counter()
        job = (await client.post(f"{path}/explanations", json=asked)).raise_for_status().json()
        while job["state"] in ("queued", "running"):
            news = await client.get(f"/api/v1/explanations/{job['job']}", params={"wait": 20})
            job = news.raise_for_status().json()
        if job["state"] != "done":
            raise RuntimeError(f"{job['state']}: {job['error']}")
        self.seconds["explain"].append(time.perf_counter() - began)
        await _think(chance)

    async def _timed(self, call: str, request: Any) -> Any:
        began = time.perf_counter()
        answer = (await request).raise_for_status().json()
        self.seconds[call].append(time.perf_counter() - began)
        return answer


async def _think(chance: random.Random) -> None:
    await asyncio.sleep(THINK * chance.uniform(0.5, 1.5))


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


async def _watched(load: Load, people: int, seconds: float, server: psutil.Process) -> list[float]:
    """Run the load, and look at the memory ten times meanwhile."""
    seen: list[float] = []

    async def look() -> None:
        for _ in range(10):
            await asyncio.sleep(seconds / 10)
            seen.append(megabytes(server))

    await asyncio.gather(load.run(people, seconds), look())
    return seen


def load(people: int, seconds: float, table: Path) -> None:
    """Waiting times, what was lost, and memory."""
    report = Report(table.stem, Settings(tables=table.parent))
    with served() as (url, server):
        run = Load(url)
        memory = asyncio.run(_watched(run, people, seconds, server))
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
            lost=len(run.errors),
        )
    report.text(
        f"{people} people for {seconds:g} s, who think {THINK:g} s between two requests. Memory of the server and its "
        f"workers: {memory[0]:.0f} MB after a tenth of the time, {max(memory):.0f} MB at most, "
        f"{memory[-1]:.0f} MB at the end."
    )
    for error in run.errors[:3]:
        print(error)
    report.write()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--table", type=Path, default=ROOT / ".benchmarks" / "web.md")
    given = parser.parse_args()
    load(given.people, given.seconds, given.table)
