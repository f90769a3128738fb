"""Explanations over HTTP: ask, wait, cancel, take away."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import Coroutine
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse

from whence.explain.explanation import Explanation
from whence.explain.plan_sets import asked_set
from whence.explain.reliance import Refitted
from whence.explain.request import Request as Question
from whence.project.margins import read_margin
from whence.report.html import page
from whence.web import models
from whence.web.lookup import IsJson, find_scene, in_thread
from whence.web.messages import Asked
from whence.web.pool import Job, Pool, QueueFull
from whence.web.scenes import Scene
from whence.web.security import REPORT_POLICY
from whence.web.settings import ServerSettings

#: Longest that an answer is held back for news, in seconds.
LONGEST_WAIT = 30.0

Wait = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="Answer at the next news, at the latest after so many seconds.")
]
Brief = Annotated[bool, Query(description="Until it is finished, leave out the nearest answer, which is known.")]


def router() -> APIRouter:
    """The part of the interface that explains."""
    api = APIRouter()

    @api.post(
        "/scenes/{scene}/explanations",
        status_code=202,
        response_model=models.Job,
        dependencies=[IsJson],
        responses={429: {"model": models.Problem, "description": "Too many searches are waiting; try again later"}},
    )
    async def explain(scene: str, asked: models.ExplainRequest, request: Request) -> Response:
        """Ask for the nearest context in which a plan would have been better; the answer is fetched by its id.

        Without a plan, it is asked what would change today's plan, or when a plan of a set would have been better.
        """
        found = find_scene(request, scene)
        settings: ServerSettings = request.app.state.settings
        question = _question(found, asked, settings)
        remarks = await in_thread(request, lambda: _check(found, question))
        if await request.is_disconnected():
            raise HTTPException(400, "The request ended half-way.")
        try:
            job = _pool(request).submit(question, remarks)
        except QueueFull:
            raise HTTPException(
                429, f"{settings.queue} searches are waiting already; try again later.", {"retry-after": "5"}
            ) from None
        return _shown(request, job, 202, {"location": f"../../explanations/{job.id}"})

    @api.get("/explanations/{job}", response_model=models.Job)
    async def show(job: str, request: Request, wait: Wait = 0.0, brief: Brief = False) -> Response:
        """How far a question has come, and its answer; whoever goes away while waiting gives it up."""
        found = _find(request, job)
        _pool(request).visited(found)
        if wait > 0 and not found.finished:
            await _pool(request).follow(found, _while_there(request, found.news(wait)))
        return _shown(request, found, brief=brief and not found.finished)

    @api.delete("/explanations/{job}", status_code=202, response_model=models.Job)
    async def cancel(job: str, request: Request) -> Response:
        """Stop searching; what was found so far stays."""
        found = _find(request, job)
        _pool(request).cancel(found)
        return _shown(request, found, 202)

    @api.post("/explanations/{job}/cancel", status_code=204, response_class=Response)
    async def give_up(job: str, request: Request) -> Response:
        """Stop searching, said in passing: what a page can still send while it is closed (`navigator.sendBeacon`)."""
        _pool(request).cancel(_find(request, job))
        return Response(status_code=204)

    @api.get(
        "/explanations/{job}/report.html", response_class=Response, responses={200: {"content": {"text/html": {}}}}
    )
    async def report(job: str, request: Request) -> Response:
        """The explanation as a page that needs nothing else."""
        found = _find(request, job)
        data, scene = _data(found), find_scene(request, found.asked.scene)
        text = await in_thread(
            request, lambda: page(Explanation.from_dict(json.loads(data)), title=scene.title, question=scene.question)
        )
        headers = {**_download(found, "html"), "content-security-policy": REPORT_POLICY}
        return HTMLResponse(text, headers=headers)

    @api.get("/explanations/{job}/explanation.json", response_model=None)
    async def data(job: str, request: Request) -> Response:
        """The whole explanation as data."""
        found = _find(request, job)
        return Response(_data(found), media_type="application/json", headers=_download(found, "json"))

    return api


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


def _pool(request: Request) -> Pool:
    pool: Pool = request.app.state.pool
    return pool


def _find(request: Request, id: str) -> Job:
    job = _pool(request).find(id)
    if job is None:
        raise HTTPException(404, "There is no such explanation, or not any more.")
    return job


def _question(scene: Scene, asked: models.ExplainRequest, settings: ServerSettings) -> Asked:
    conditions = scene.conditions if asked.plan is not None else scene.conditions_of_sets
    return Asked(
        number=0,
        scene=scene.id,
        context=asked.context,
        plan=asked.plan,
        kind=asked.kind,
        fixed=[*scene.fixed, *asked.fixed],
        bounds=asked.bounds,
        time_limit=min(asked.time_limit or scene.time_limit or settings.time_limit, settings.time_limit),
        within=asked.within,
        threads=scene.threads or settings.threads,
        conditions=conditions(
            margin=None if asked.margin is None else read_margin(asked.margin),
            holds=asked.holds,
            refits=asked.refits,
            confidence=asked.confidence,
            plausible=asked.plausible,
            max_changes=asked.max_changes,
        ),
        rule=asked.rule,
        instead=asked.instead,
    )


def _check(scene: Scene, asked: Asked) -> list[str]:
    """Refuse at once what the engine would refuse, an InputError saying why; what to know about the context."""
    question = Question(
        asked.context, asked.plan, kind=asked.kind, within=asked.within, rule=asked.rule, **asked.conditions
    )
    if asked.plan is not None and question.holds is not None:
        Refitted.of(scene.policy, question.refits)
    row = scene.row_of(asked.context)
    asked_set(scene.policy, replace(question, instead=scene.instead_of(asked.plan, asked.instead)))
    scene.policy.schema_.space(row, asked.fixed, scene.bounds_of(asked.bounds))
    return scene.remarks(row)


def _shown(
    request: Request, job: Job, status: int = 200, headers: dict[str, str] | None = None, brief: bool = False
) -> Response:
    told = models.Job(
        job=job.id,
        scene=job.asked.scene,
        kind=job.asked.kind,
        state=job.state,
        ahead=_pool(request).ahead(job),
        time_limit=job.asked.time_limit,
        progress=None if job.progress is None else models.JobProgress(**vars(job.progress)),
        error=job.error,
        remarks=job.remarks,
    )
    # A proxy must pass it on as it comes.
    headers = {"x-accel-buffering": "no", **(headers or {})}
    # Answers are kept as the text that goes out.
    result = None if job.answer is None else job.answer.result
    kept = {"nearest": None if brief else job.nearest, "result": result}
    texts = {name: zlib.decompress(text) for name, text in kept.items() if text is not None}
    body = told.model_dump_json(exclude=set(texts)).encode()
    for name, text in texts.items():
        body = body.removesuffix(b"}") + f',"{name}":'.encode() + text + b"}"
    return Response(body, status, headers, "application/json")


def _data(job: Job) -> bytes:
    if job.answer is None:
        raise HTTPException(404, "There is no answer to take away." if job.finished else "There is no answer yet.")
    return zlib.decompress(job.answer.data)


def _download(job: Job, ending: str) -> dict[str, str]:
    """Offer an answer as a file, under a name that no scene's id can break out of."""
    scene = re.sub(r"[^A-Za-z0-9-]", "", job.asked.scene)
    return {"content-disposition": f'attachment; filename="whence-{scene}-{job.asked.kind}.{ending}"'}
