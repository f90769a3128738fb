"""Questions on their way over HTTP: put into the queue, waited for, cancelled, and their answers taken away."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import Callable, Collection, Coroutine
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from whence.explain.ask import Request as Question
from whence.explain.build_question import asked_set
from whence.explain.explanation import Explanation
from whence.explain.robust import check_judge
from whence.report.html import page
from whence.web import wire as models
from whence.web.clients import CLIENT, CROWD, NOBODY, Client, Crowd, TooMany
from whence.web.messages import Answered, Asked
from whence.web.pool import Job, Pool
from whence.web.problem_details import described
from whence.web.scenes import Scene
from whence.web.security import REPORT_POLICY
from whence.web.server_settings import ServerSettings

#: Longest that an answer is held back for news, in seconds.
LONGEST_WAIT = 30.0

Wait = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="Answer at the next news, after this many seconds at the latest.")
]
#: What a question may be refused with that comes at a bad time.
BUSY = described(
    {
        429: "Too much of yours is waiting; try again later",
        503: "Not now: it took too long, or the server is about to end",
    }
)


def pool_of(request: Request) -> Pool:
    """The questions on their way."""
    pool: Pool = request.app.state.pool
    return pool


def settings_of(request: Request) -> ServerSettings:
    """What the server allows."""
    settings: ServerSettings = request.app.state.settings
    return settings


def find_job(request: Request, id: str, questions: Collection[str]) -> Job:
    """The job of this id, if it is one of these questions, or 404."""
    job = pool_of(request).find(id)
    known = job is not None and settings_of(request).may_ask(client_of(request), job.asked.scene)
    if job is None or not known or job.asked.question not in questions:
        raise HTTPException(404, "There is no such question, or not any more.")
    return job


async def submitted(request: Request, asked: Asked) -> Job:
    """A question in the queue, unless it is wrong, the queue is full or nobody waits for the answer."""
    remarks: list[str] = [] if asked.question == "rules" else json.loads(await quickly(request, asked, "remarks"))
    if await request.is_disconnected():
        raise HTTPException(400, "The request ended half-way.")
    pool = pool_of(request)
    if pool.draining:
        raise HTTPException(503, "The server is about to end and takes no more questions.", {"retry-after": "5"})
    try:
        return pool.submit(asked, remarks, client_of(request))
    except TooMany:
        raise HTTPException(
            429, "As many of your searches as may wait are waiting already; try again later.", {"retry-after": "5"}
        ) from None


def client_of(request: Request) -> Client:
    """Who sent a request, as the guard has found out."""
    found: Client = request.scope.get(CLIENT, NOBODY)
    return found


async def quickly(request: Request, asked: Asked, name: str) -> bytes:
    """What is soon told, as JSON from a worker; an error where it is refused, takes too long, or nobody waits."""
    quick = replace(asked, quick=name, time_limit=settings_of(request).decision_limit)
    try:
        told = await pool_of(request).quickly(quick, client_of(request), _disconnected(request))
    except TooMany:
        raise HTTPException(
            429, "As many of your requests as may wait are waiting already; try again later.", {"retry-after": "2"}
        ) from None
    if isinstance(told, Answered):
        return told.result
    raise HTTPException(422 if told.refused else 503, told.reason)


async def quick_response(request: Request, scene: str, name: str, **asked: Any) -> Response:
    """Answer a request with what is soon told of a scene."""
    question = Asked(find_scene(request, scene).id, **asked)
    return Response(await quickly(request, question, name), media_type="application/json")


async def news_of(request: Request, job: Job, wait: float) -> None:
    """Wait for news of a job, unless it is finished; whoever goes away while waiting gives it up."""
    pool = pool_of(request)
    pool.visited(job)
    if wait > 0 and not job.finished:
        crowd: Crowd = request.scope[CROWD]
        with crowd.waiting(client_of(request).key) as enough:
            await pool.follow(job, client_of(request), _while_there(request, job.news(wait), enough))


async def _while_there(request: Request, waiting: Coroutine[Any, Any, None], enough: asyncio.Event) -> bool:
    """Wait, but not for somebody who is gone, nor where others need the room: whether they are still there."""
    waited, gone = asyncio.create_task(waiting), asyncio.create_task(_disconnected(request))
    crowded = asyncio.create_task(enough.wait())
    try:
        await asyncio.wait({waited, gone, crowded}, return_when=asyncio.FIRST_COMPLETED)
        return not gone.done()
    finally:
        for task in (waited, gone, crowded):
            task.cancel()


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


async def _check_type(request: Request) -> None:
    given = request.headers.get("content-type")
    kind = (given or "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        told = "nothing" if given is None else repr(given[:100])
        raise HTTPException(415, f"The 'Content-Type' of this request must be application/json. Got {told} instead.")


#: Refuses what is not sent as JSON with 415: also what a form on another site could send.
IsJson = Depends(_check_type)


def find_scene(request: Request, name: str) -> Scene:
    """The scene of this name, or 404, also for who may not ask about it."""
    scene: Scene | None = request.app.state.scenes.get(name)
    if scene is None or not settings_of(request).may_ask(client_of(request), name):
        raise HTTPException(404, "There is no such scene.")
    return scene


def scenes_of(request: Request) -> list[Scene]:
    """The scenes that whoever sent a request may ask about."""
    settings = settings_of(request)
    client, scenes = client_of(request), request.app.state.scenes.values()
    return [scene for scene in scenes if settings.may_ask(client, scene.id)]


def written(scene: Scene, asked: Asked) -> bytes:
    """The report of an explanation."""
    why = Explanation.from_dict(json.loads(asked.more["data"]))
    return page(why, policy=scene.policy, title=scene.title, question=scene.question).encode()


Brief = Annotated[bool, Query(description="Until it is finished, leave out the nearest answer, which is known.")]


api = APIRouter()


@api.post(
    "/scenes/{scene}/explanations",
    status_code=202,
    response_model=models.Job,
    dependencies=[IsJson],
    responses=BUSY,
)
async def explain(scene: str, asked: models.ExplainRequest, request: Request) -> Response:
    """Ask for the nearest context in which a plan would have been better; the answer is fetched by its id.

    Without a plan, it is asked what would change today's plan, or when a plan of a set would have been better.
    """
    found = find_scene(request, scene)
    job = await submitted(request, _question(found, asked, settings_of(request)))
    return _shown(request, job, 202, {"location": f"../../explanations/{job.id}"})


@api.get("/explanations/{job}", response_model=models.Job)
async def show(job: str, request: Request, wait: Wait = 0.0, brief: Brief = False) -> Response:
    """How far a question has come, and its answer; whoever goes away while waiting gives it up."""
    found = _find(request, job)
    await news_of(request, found, wait)
    return _shown(request, found, brief=brief and not found.finished)


def add_common(
    api: APIRouter,
    what: str,
    model: type[BaseModel],
    find: Callable[[Request, str], Job],
    shown: Callable[[Request, Job, int], Response],
) -> None:
    """Add what every question on its way has in common: it can be stopped, and its answer taken away."""
    there = f"/{what}s/{{job}}"

    @api.delete(there, status_code=202, response_model=model)
    async def cancel(job: str, request: Request) -> Response:
        """Stop searching; what was found so far stays."""
        found = _own(request, find(request, job))
        pool_of(request).cancel(found)
        return shown(request, found, 202)

    @api.post(f"{there}/cancel", status_code=204, response_class=Response)
    async def give_up(job: str, request: Request) -> Response:
        """Stop searching, said in passing: what a page can still send while it is closed (`navigator.sendBeacon`)."""
        pool_of(request).cancel(_own(request, find(request, job)))
        return Response(status_code=204)

    written: dict[int | str, dict[str, Any]] = {200: {"content": {"text/html": {}}}}
    told = f"The {what} as a page that needs nothing else."

    @api.get(f"{there}/report.html", response_class=Response, responses=written, description=told)
    async def report(job: str, request: Request) -> Response:
        found = find(request, job)
        scene, question = find_scene(request, found.asked.scene), found.asked.question
        asked = Asked(scene.id, question=question, more={"data": data_of(found)})
        return taken_away(found, await quickly(request, asked, "report"), "html")

    @api.get(f"{there}/{what}.json", response_model=None, description=f"The whole {what} as data.")
    async def data(job: str, request: Request) -> Response:
        found = find(request, job)
        return taken_away(found, data_of(found), "json")


def _own(request: Request, job: Job) -> Job:
    """A job that whoever sent a request has asked for; 403 where it is somebody else's, who would lose the answer."""
    if job.client.key != client_of(request).key:
        raise HTTPException(403, "A search is stopped by whoever asked for it.")
    return job


def _find(request: Request, id: str) -> Job:
    return find_job(request, id, ("explain",))


def _question(scene: Scene, asked: models.ExplainRequest, settings: ServerSettings) -> Asked:
    return replace(
        asked_of(scene, asked, settings),
        conditions=scene.conditions(**asked.conditions()),
        rule=asked.rule,
    )


def asked_of(scene: Scene, asked: models.QuestionRequest, settings: ServerSettings) -> Asked:
    """What all questions about a plan, or a set of plans, have in common."""
    return Asked(
        scene.id,
        context=asked.context,
        plan=asked.plan,
        kind=asked.kind,
        fixed=[*scene.defaults["fixed"], *asked.fixed],
        bounds=asked.bounds,
        time_limit=time_limit_of(scene, asked.time_limit, settings),
        within=scene.defaults.within(asked.kind, scene.policy) if asked.within is None else asked.within,
        threads=scene.defaults["threads"] or settings.threads,
        instead=asked.instead,
        known=asked.known,
    )


def time_limit_of(scene: Scene, asked: float | None, settings: ServerSettings) -> float:
    """Seconds for a question: as asked, or the scene's own, and never more than the server allows."""
    return min(asked or scene.defaults["time_limit"] or settings.time_limit, settings.time_limit)


def check(scene: Scene, asked: Asked) -> list[str]:
    """Refuse at once what the engine would refuse, an InputError saying why; what to know about the context."""
    question = Question(
        asked.context, asked.plan, kind=asked.kind, within=asked.within, rule=asked.rule, **asked.conditions
    )
    if question.holds is not None:
        check_judge(scene.policy, question.refits)
    row = scene.row_of(asked.context)
    if asked.known is not None:
        scene.row_of(asked.known)
    asked_set(scene.policy, replace(question, instead=scene.instead_of(asked.plan, asked.instead)))
    scene.policy.schema_.space(row, asked.fixed, scene.bounds_of(asked.bounds))
    return scene.remarks(row)


def _shown(
    request: Request, job: Job, status: int = 200, headers: dict[str, str] | None = None, brief: bool = False
) -> Response:
    told = models.Job(**common(request, job), kind=job.asked.kind)
    result = None if job.answer is None else job.answer.result
    kept = {"nearest": None if brief else job.nearest, "result": result}
    return job_response(told, kept, status, headers)


#: What of the past observations the page draws.
DRAWN = ("gaining", "losing")
#: Reports inside a report.
INSIDE = ("unrestricted", "nearest")


def packed_json(text: str | bytes) -> bytes:
    """JSON, compressed, as it is kept until it goes out: quickly, since that is soon for most answers."""
    return zlib.compress(text.encode() if isinstance(text, str) else text, 1)


def packed_result(result: BaseModel) -> bytes:
    """A result as JSON, compressed."""
    return packed_json(result.model_dump_json())


def result_of(scene: Scene, explanation: Explanation, document: dict[str, Any] | None = None) -> models.Result:
    """An explanation, whose `document` may be known, and what the page shows in the context that it has found."""
    report = document or explanation.to_dict()
    return models.Result(explanation=_short(report), sentence=report["text"], then=_then(scene, explanation))


def _short(report: dict[str, Any]) -> dict[str, Any]:
    """A report without its numbers for every past observation, and those inside it as well."""
    inner = {name: None if report.get(name) is None else _short(report[name]) for name in INSIDE}
    short = {**report, "observations": {name: report["observations"][name] for name in DRAWN}, **inner}
    if "forecast" in short:
        short["forecast"] = {name: short["forecast"].get(name) for name in ("before", "after")}
    return short


def _then(scene: Scene, explanation: Explanation) -> models.Then | None:
    if explanation.context is None or explanation.weights_after is None:
        return None
    told, after = explanation.forecast, explanation.weights_after
    return models.Then(
        **dict(scene.decided(explanation.context)),
        context=scene.context_of(explanation.context),
        decision=scene.judged(explanation.decision, after, None if told is None else told.decision_after),
        alternative=scene.judged(explanation.alternative, after, None if told is None else told.alternative_after),
    )


add_common(api, "explanation", models.Job, _find, _shown)
