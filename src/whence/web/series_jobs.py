"""Other questions over HTTP: fewer changes, other ways, the facts that settle it, and why another plan than before."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request, Response

from whence.errors import InputError
from whence.explain.ask import OF_SEVERAL
from whence.explain.explanation import Explanation
from whence.forecasts.crossing import Crossing, CrossingRequest
from whence.forecasts.explainer import Ensemble, limits_of
from whence.questions.comparison import Comparison
from whence.questions.menu import Front, Menu
from whence.questions.prices import Prices
from whence.questions.reasons import Reasons
from whence.questions.result import Result
from whence.questions.rules import Rules
from whence.report.result_pages import certificate, shown_changes
from whence.report.words import changes_in_words
from whence.web import wire as models
from whence.web.jobs import (
    BUSY,
    IsJson,
    Wait,
    add_common,
    asked_of,
    common,
    find_job,
    find_scene,
    job_response,
    news_of,
    packed_json,
    packed_result,
    result_of,
    settings_of,
    submitted,
    time_limit_of,
)
from whence.web.messages import MEMORY, Answered, Asked
from whence.web.pool import Job
from whence.web.scenes import Scene
from whence.web.server_settings import ServerSettings

#: How a question is accepted.
ACCEPTED: dict[str, Any] = {
    "status_code": 202,
    "response_model": models.QuestionJob,
    "dependencies": [IsJson],
    "responses": BUSY,
}


api = APIRouter()


@api.post("/scenes/{scene}/fronts", **ACCEPTED)
async def front(scene: str, asked: models.QuestionRequest, request: Request) -> Response:
    """Ask for the nearest context with one change, with at most two, and so on."""
    return await _asked(request, scene, asked, "front")


@api.post("/scenes/{scene}/menus", **ACCEPTED)
async def menu(scene: str, asked: models.MenuRequest, request: Request) -> Response:
    """Ask what else would do: the nearest context for every smallest set of features that suffices."""
    return await _asked(request, scene, asked, "menu", {"up_to": asked.up_to, "apart": asked.apart})


@api.post("/scenes/{scene}/reasons", **ACCEPTED)
async def reasons(scene: str, asked: models.QuestionRequest, request: Request) -> Response:
    """Ask for a smallest set of facts under which the plan is never better, or never best."""
    return await _asked(request, scene, asked, "reasons")


@api.post("/scenes/{scene}/prices", **ACCEPTED)
async def prices(scene: str, asked: models.PricesRequest, request: Request) -> Response:
    """Ask at which prices, nearest to today's, the plan would be right in the context as it is."""
    more = {"fixed": asked.fixed, "common": asked.common}
    given = {"context": asked.context, "plan": asked.plan, "kind": asked.kind, "more": more}
    return await _put(request, scene, "prices", asked.time_limit, **given)


@api.post("/scenes/{scene}/rules", **ACCEPTED)
async def rules(scene: str, asked: models.RulesRequest, request: Request) -> Response:
    """Ask what the policy does in general: a few rules, what they cost more, and how far each can be off."""
    return await _put(request, scene, "rules", asked.time_limit, more={"up_to": asked.up_to})


@api.post("/scenes/{scene}/comparisons", **ACCEPTED)
async def compare(scene: str, asked: models.CompareRequest, request: Request) -> Response:
    """Ask why it is another plan in one context than in another, in contributions that add up."""
    more = {"before": asked.before}
    return await _put(request, scene, "compare", asked.time_limit, context=asked.after, more=more)


@api.post("/scenes/{scene}/forecasts", **ACCEPTED)
async def forecast(scene: str, asked: models.ForecastRequest, request: Request) -> Response:
    """Ask for the nearest context in which what is forecast is at most, at least, or between such values."""
    question = asked_forecast(find_scene(request, scene), asked, settings_of(request))
    return _accepted(request, await submitted(request, question))


@api.get("/answers/{job}", response_model=models.QuestionJob)
async def show(job: str, request: Request, wait: Wait = 0.0) -> Response:
    """How far such a question has come, and its answer; whoever goes away while waiting gives it up."""
    found = _find(request, job)
    await news_of(request, found, wait)
    return _shown(request, found)


async def _asked(
    request: Request, scene: str, asked: models.QuestionRequest, name: str, more: dict[str, Any] | None = None
) -> Response:
    """Put a question about a plan, or a set of plans, into the queue."""
    found = find_scene(request, scene)
    conditions = found.conditions(OF_SEVERAL, **asked.conditions())
    question = replace(
        asked_of(found, asked, settings_of(request)), question=name, conditions=conditions, more=more or {}
    )
    return _accepted(request, await submitted(request, question))


async def _put(request: Request, scene: str, name: str, time_limit: float | None, **given: Any) -> Response:
    """Put a question about something else into the queue."""
    found = find_scene(request, scene)
    limit = time_limit_of(found, time_limit, settings_of(request))
    return _accepted(request, await submitted(request, Asked(found.id, question=name, time_limit=limit, **given)))


def written_series(scene: Scene, asked: Asked) -> bytes:
    """The report of an answer to another question than why not a plan."""
    answer = QUESTIONS[asked.question].from_dict(json.loads(asked.more["data"]))
    return str(answer.page(question=scene.question)).encode()


def compared(scene: Scene, asked: Asked) -> list[str]:
    """What to know about both contexts; an InputError says what is wrong with one of them."""
    rows = scene.row_of(asked.more["before"], "before"), scene.row_of(asked.context, "after")
    return list(dict.fromkeys(remark for row in rows for remark in scene.remarks(row)))


def priced(scene: Scene, asked: Asked) -> list[str]:
    """What to know about the context; an InputError says what is wrong with it or with the plan."""
    row = scene.row_of(asked.context)
    scene.instead_of(asked.plan, None)
    return scene.remarks(row)


def _find(request: Request, id: str) -> Job:
    return find_job(request, id, QUESTIONS)


def _accepted(request: Request, job: Job) -> Response:
    return _shown(request, job, 202, {"location": f"../../answers/{job.id}"})


def _shown(request: Request, job: Job, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    about = None if job.asked.question in ("compare", "forecast", "rules") else job.asked.kind
    told = models.QuestionJob(**common(request, job), question=job.asked.question, kind=about)  # type: ignore[arg-type]
    return job_response(told, {"result": None if job.answer is None else job.answer.result}, status, headers)


#: What the answer to each of these questions is.
QUESTIONS: Mapping[str, type[Result | Crossing]] = {
    "front": Front,
    "menu": Menu,
    "reasons": Reasons,
    "compare": Comparison,
    "forecast": Crossing,
    "prices": Prices,
    "rules": Rules,
}
#: Explanations that the page gets in full; the document has all of them.
SHOWN = 12
#: Entries of a document that hold explanations.
HELD = ("answers", "needed")


def answer_of(scene: Scene, asked: Asked, on_progress: Callable[..., bool]) -> Result | Crossing:
    """What the policy says to a question other than `explain`."""
    policy = scene.policy
    if asked.question == "forecast":
        return answer_of_forecast(scene, asked, on_progress)
    if asked.question == "compare":
        before, after = scene.row_of(asked.more["before"]), scene.row_of(asked.context)
        return policy.compare(before, after, time_limit=asked.time_limit, on_progress=on_progress)
    if asked.question == "prices":
        row, plan = scene.row_of(asked.context), scene.instead_of(asked.plan, None)
        found = policy.prices(row, plan, kind=asked.kind or "absolute", time_limit=asked.time_limit, **asked.more)
        if found.status == "none" and asked.kind is None:
            return policy.prices(row, plan, kind="relative", time_limit=asked.time_limit, **asked.more)
        return found
    if asked.question == "rules":
        return policy.rules(time_limit=asked.time_limit, on_progress=on_progress, **asked.more)
    answer: Result = put(getattr(policy, asked.question), scene, asked, on_progress=on_progress, **asked.more)
    return answer


def put(ask: Callable[..., Any], scene: Scene, asked: Asked, **more: Any) -> Any:
    """What the policy says to a question about a plan, or a set of plans, asked of one of its methods."""
    return ask(
        scene.row_of(asked.context),
        scene.instead_of(asked.plan, asked.instead),
        kind=asked.kind,
        within=asked.within,
        known=None if asked.known is None else scene.row_of(asked.known),
        fixed=asked.fixed,
        bounds=scene.bounds_of(asked.bounds),
        engine=scene.defaults["engine"],
        time_limit=asked.time_limit,
        memory_limit=MEMORY,
        threads=asked.threads,
        **asked.conditions,
        **more,
    )


def answered(scene: Scene, found: Result | Crossing, stopped: bool) -> Answered:
    """The answer for the page, and the whole of it as data."""
    result = shown_forecast(scene, found) if isinstance(found, Crossing) else _page_entry(scene, found)
    data = packed_json(str(found.to_json()))
    proved = str(getattr(found, "status", ""))
    return Answered(stopped=stopped, result=packed_result(result), data=data, proved=proved)


def _page_entry(scene: Scene, found: Result) -> models.Found:
    """An answer with the first of its explanations."""
    held = _held(found)
    return models.Found(
        sentence=found.text,
        answer={name: entry for name, entry in found.to_dict().items() if name not in HELD},
        explanations=[_listed(scene, name, why) for name, why in held[:SHOWN]],
        left_off=max(0, len(held) - SHOWN),
    )


def _held(found: Result) -> list[tuple[str, Explanation]]:
    """The explanations of an answer, each with what it is the answer for."""
    if isinstance(found, Reasons):
        return list(found.needed.items())
    if isinstance(found, Front):
        return [(str(allowed), why) for allowed, why in zip(found.allowed, found.answers, strict=True)]
    return [("", why) for why in found.answers] if isinstance(found, Menu) else []


def _listed(scene: Scene, name: str, why: Explanation) -> models.Listed:
    changes = changes_in_words(why.report) if why.context is not None else ""
    return models.Listed(**dict(result_of(scene, why)), name=name, changes=changes)


#: What a question says of the forecast.
LIMITS = ("at_most", "at_least", "between")
#: What the page need not know.
LEFT_OUT = ("kinds", "units", "room", "unrestricted")


def asked_forecast(scene: Scene, asked: models.ForecastRequest, settings: ServerSettings) -> Asked:
    """The question as it is put into the queue; what it does not say itself, the scene says."""
    conditions = scene.conditions(**asked.conditions())
    return Asked(
        scene.id,
        context=asked.context,
        fixed=[*scene.defaults["fixed"], *asked.fixed],
        bounds=asked.bounds,
        time_limit=time_limit_of(scene, asked.time_limit, settings),
        threads=scene.defaults["threads"] or settings.threads,
        conditions={name: conditions[name] for name in ("plausible", "max_changes")},
        question="forecast",
        more={"outcome": asked.outcome, **{name: getattr(asked, name) for name in LIMITS}},
    )


def check_forecast(scene: Scene, asked: Asked) -> list[str]:
    """Refuse at once what the search would refuse, an InputError saying why; what to know about the context."""
    _ensemble(scene, asked)
    row = scene.row_of(asked.context)
    limits = limits_of(*(asked.more[name] for name in LIMITS))
    CrossingRequest(row, limits, **asked.conditions)
    scene.policy.schema_.space(row, asked.fixed, scene.bounds_of(asked.bounds))
    return scene.remarks(row)


def answer_of_forecast(scene: Scene, asked: Asked, on_progress: Callable[..., bool]) -> Crossing:
    """The nearest context in which what is forecast crosses a value."""
    return _ensemble(scene, asked).explain(
        scene.row_of(asked.context),
        **{name: asked.more[name] for name in LIMITS},
        fixed=asked.fixed,
        bounds=scene.bounds_of(asked.bounds),
        time_limit=asked.time_limit,
        memory_limit=MEMORY,
        threads=asked.threads,
        on_progress=on_progress,
        **asked.conditions,
    )


def shown_forecast(scene: Scene, found: Crossing) -> models.Found:
    """The answer for the page: its document, how it is written, and the controls of the context found."""
    document = {name: entry for name, entry in found.to_dict().items() if name not in LEFT_OUT}
    changes = [{"feature": one.feature, "from": one.from_, "to": one.to} for one in shown_changes(found)]
    shown: dict[str, Any] = {"changes": changes, "certificate": certificate(found)}
    controls = None if found.context is None or found.status == "already" else scene.context_of(found.context)
    answer = {**document, "shown": shown, "controls": controls}
    return models.Found(sentence=found.text, answer=answer, explanations=[])


def _ensemble(scene: Scene, asked: Asked) -> Ensemble:
    policy = scene.policy
    if not policy.weights_.capabilities.forecasts:
        raise InputError("This scene has no forecast to ask about: its decisions are made from past observations.")
    return Ensemble.of(policy, asked.more["outcome"])


add_common(api, "answer", models.QuestionJob, _find, _shown)
