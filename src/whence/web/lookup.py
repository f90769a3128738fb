"""What every part of the interface needs: the scene that a request is about, and threads to work in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from fastapi import HTTPException, Request

from whence.web.scenes import Scene

__all__ = ["find_scene", "in_thread"]

T = TypeVar("T")


def find_scene(request: Request, name: str) -> Scene:
    """The scene of this name, or 404."""
    scene: Scene | None = request.app.state.scenes.get(name)
    if scene is None:
        raise HTTPException(404, "There is no such scene.")
    return scene


async def in_thread(request: Request, work: Callable[[], T]) -> T:
    """The result of `work`, without keeping other requests waiting."""
    return await anyio.to_thread.run_sync(work, limiter=request.app.state.threads)
