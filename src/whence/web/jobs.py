"""Questions on their way over HTTP: put into the queue, waited for, cancelled, and their answers taken away."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Callable, Collection, Coroutine
from typing import Annotated, Any, TypeVar

import anyio.to_thread
from fastapi import Depends, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse

from whence.web import wire as models
from whence.web.messages import Asked
from whence.web.pool import Job, Pool, QueueFull
from whence.web.scenes import Scene
from whence.web.security import REPORT_POLICY
from whence.web.server_settings import ServerSettings

#: Longest that an answer is held back for news, in seconds.
LONGEST_WAIT = 30.0

Wait = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="Answer at the next news, after this many seconds at the latest.")
]
#: What a question may be refused with that comes at a bad time.
BUSY: dict[int | str, dict[str, Any]] = {
    429: {"model": models.Problem, "description": "Too many searches are waiting; try again later"}
}


def pool_of(request: Request) -> Pool:
    """The questions on their way."""
    pool: Pool = request.app.state.pool
    return pool


def find_job(request: Request, id: str, questions: Collection[str]) -> Job:
    """The job of this id, if it is one of these questions, or 404."""
    job = pool_of(request).find(id)
    if job is None or job.asked.question not in questions:
        raise HTTPException(404, "There is no such question, or not any more.")
    return job


async def submitted(request: Request, asked: Asked, remarks: list[str]) -> Job:
    """A question in the queue, unless that is full or nobody waits for the answer."""
    if await request.is_disconnected():
        raise HTTPException(400, "The request ended half-way.")
    settings: ServerSettings = request.app.state.settings
    try:
        return pool_of(request).submit(asked, remarks)
    except QueueFull:
        raise HTTPException(
            429, f"{settings.queue} searches are waiting already; try again later.", {"retry-after": "5"}
        ) from None


async def news_of(request: Request, job: Job, wait: float) -> None:
    """Wait for news of a job, unless it is finished; whoever goes away while waiting gives it up."""
    pool = pool_of(request)
    pool.visited(job)
    if wait > 0 and not job.finished:
        await pool.follow(job, _while_there(request, job.news(wait)))


async def _while_there(request: Request, waiting: Coroutine[Any, Any, None]) -> bool:
    """Wait, but not for somebody who is gone: whether they are still there."""
    waited, gone = asyncio.create_task(waiting), asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({waited, gone}, return_when=asyncio.FIRST_COMPLETED)
        return not gone.done()
    finally:
        waited.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def common(request: Request, job: Job) -> dict[str, Any]:
    """What is said of every job."""
    return {
        "job": job.id,
        "scene": job.asked.scene,
        "state": job.state,
        "ahead": pool_of(request).ahead(job),
        "time_limit": job.asked.time_limit,
        "progress": None if job.progress is None else models.JobProgress.of(job.progress),
        "error": job.error,
        "remarks": job.remarks,
    }


def job_response(
    told: models.Job | models.QuestionJob, kept: dict[str, bytes | None], status: int, headers: dict[str, str] | None
) -> Response:
    """A job as it is sent; answers are kept as the text that goes out."""
    # A proxy must pass it on as it comes.
    headers = {"x-accel-buffering": "no", **(headers or {})}
    texts = {name: zlib.decompress(text) for name, text in kept.items() if text is not None}
    body = told.model_dump_json(exclude=set(texts)).encode()
    for name, text in texts.items():
        body = body.removesuffix(b"}") + f',"{name}":'.encode() + text + b"}"
    return Response(body, status, headers, "application/json")


def data_of(job: Job) -> bytes:
    """The whole answer as JSON, or 404."""
    if job.answer is None:
        raise HTTPException(404, "There is no answer to take away." if job.finished else "There is no answer yet.")
    return zlib.decompress(job.answer.data)


def taken_away(job: Job, content: bytes | str, ending: str) -> Response:
    """Offer an answer as a file, under a name that no scene's id can break out of."""
    scene = re.sub(r"[^A-Za-z0-9-]", "", job.asked.scene)
    kind = job.asked.kind if job.asked.question == "explain" else job.asked.question
    headers = {"content-disposition": f'attachment; filename="whence-{scene}-{kind}.{ending}"'}
    if ending == "html":
        return HTMLResponse(content, headers={**headers, "content-security-policy": REPORT_POLICY})
    return Response(content, media_type="application/json", headers=headers)


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
