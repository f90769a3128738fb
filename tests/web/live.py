"""A real server in a thread of its own, and the scenes that the tests ask about."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pandas as pd
import uvicorn
from fastapi import FastAPI
from tests.forests import paper_forest

import whence as wh
from whence.examples import bakery, city
from whence.web.app import create_app
from whence.web.scenes import Scene, example_scene
from whence.web.served_projects import Projects
from whence.web.server import configuration, listening
from whence.web.server_settings import ServerSettings

FINISHED = ("done", "cancelled", "failed")
STRANGE = "<script>alert(1)</script>"


@dataclass
class Live:
    """A running server."""

    url: str
    app: FastAPI

    def client(self, **options: Any) -> httpx.Client:
        """A program that talks to it."""
        return httpx.Client(base_url=self.url, timeout=60.0, **options)

    @property
    def workers(self) -> list[int]:
        """Its worker processes that are ready."""
        pids: list[int] = self.app.state.pool.pids
        return pids

    @property
    def deciders(self) -> list[int]:
        """Its processes for decisions that are ready."""
        return sorted(worker.pid for worker in self.app.state.pool._lanes["quick"].ready)

    def wait_for_workers(self, count: int = 1) -> None:
        """Return once so many workers are ready."""
        until(lambda: len(self.workers) >= count, 600.0)


@contextmanager
def running(scenes: list[Scene], projects: Projects | None = None, **settings: Any) -> Iterator[Live]:
    """A server for `scenes` while the block runs."""
    asked = ServerSettings(**{"port": 0, "workers": 1, **settings})
    with listening(asked) as listener:
        port = int(listener.getsockname()[1])
        app = create_app(scenes, ServerSettings(**{"workers": 1, "deciders": 1, **settings, "port": port}), projects)
        server = uvicorn.Server(configuration(app, app.state.settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started or not thread.is_alive(), 30.0)
            assert server.started
            yield Live(f"http://127.0.0.1:{port}", app)
        finally:
            server.should_exit = True
            thread.join(30.0)
            assert not thread.is_alive()


def until(condition: Callable[[], bool], seconds: float) -> None:
    """Return once `condition` holds; fail where it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.02)


def finished(client: httpx.Client, job: str, seconds: float = 600.0) -> dict[str, Any]:
    """The job once its state is its last."""
    deadline = time.monotonic() + seconds
    while True:
        told: dict[str, Any] = client.get(f"/api/explanations/{job}", params={"wait": 5}).raise_for_status().json()
        if told["state"] in FINISHED:
            return told
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {told}"


def small_scenes() -> list[Scene]:
    """The built-in examples with a short history, and a scene whose names are markup."""
    return [example_scene(bakery.load(n=200)), example_scene(city.load(n=200)), strange_scene()]


def strange_scene() -> Scene:
    """Neighbours, one-hot columns, discrete numbers, a grid, and names that a careless page would run."""
    rng = np.random.default_rng(5)
    n = 60
    kind = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            STRANGE: rng.random(n).round(3),
            "level": rng.integers(1, 4, n),
            "is_a": (kind == 0).astype(int),
            "is_b": (kind == 1).astype(int),
        }
    )
    problem = wh.ShortestPath.grid(3)
    Y = 1.0 + rng.random((n, len(problem.parts()))) + np.outer(X[STRANGE], np.arange(len(problem.parts())) % 3)
    schema = wh.Schema({"level": wh.Discrete([1, 2, 3]), "kind": wh.Categorical(["a", "b"], columns=["is_a", "is_b"])})
    policy = wh.Policy(problem, wh.KNNWeights(k=5), schema=schema).fit(X, Y)
    return Scene("strange", STRANGE, "Why?", policy, X.iloc[0], None)


def hard_scene() -> Scene:
    """A question whose search finds something soon and has no end in sight."""
    rng = np.random.default_rng(0)
    n, d = 400, 20
    X = pd.DataFrame(rng.random((n, d)), columns=[f"f{j}" for j in range(d)])
    Y = pd.DataFrame(20 * X.to_numpy() @ rng.random((d, 3)) + 5 * rng.random((n, 3)), columns=list("abc"))
    problem = wh.Newsvendor(holding=[1.0, 2.0, 1.0], backorder=[3.0, 2.0, 4.0])
    policy = wh.Policy(problem, paper_forest(n_trees=100, max_depth=6, random_state=0)).fit(X, Y)
    total = [float(policy.decide(X.iloc[i]).sum()) for i in range(40)]
    least, most = int(np.argmin(total)), int(np.argmax(total))
    return Scene("hard", "Why not more?", "", policy, X.iloc[least], policy.decide(X.iloc[most]))
