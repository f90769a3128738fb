"""What every part of the interface needs: the scene that a request is about, and threads to work in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from fastapi import Depends, HTTPException, Request

from whence.web.scenes import Scene

T = TypeVar("T")


async def _check_type(request: Request) -> None:
    given = request.headers.get("content-type")
    kind = (given or "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        told = "nothing" if given is None else repr(given[:100])
        raise HTTPException(415, f"The 'Content-Type' of this request must be application/json. Got {told} instead.")


#: Refuses what is not sent as JSON with 415: also what a form on another site could send.
IsJson = Depends(_check_type)


def find_scene(request: Request, name: str) -> Scene:
    """The scene of this name, or 404."""
    scene: Scene | None = request.app.state.scenes.get(name)
    if scene is None:
        raise HTTPException(404, "There is no such scene.")
    return scene


async def in_thread(request: Request, work: Callable[[], T]) -> T:
    """The result of `work`, without keeping other requests waiting."""
    return await anyio.to_thread.run_sync(work, limiter=request.app.state.threads)
