"""The HTTP interface: what the page, and other programs, may ask.

``python -m whence.web.app > docs/openapi.json`` renews its description in the documentation.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path as File
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, HTTPException, Path, Query, Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.routing import Route

from whence import __version__
from whence.report.fingerprint import versions
from whence.web import wire as models
from whence.web.audit import api as audit
from whence.web.audit import shown_entry, store_of
from whence.web.jobs import (
    BUSY,
    IsJson,
    client_of,
    find_scene,
    pool_of,
    quick_response,
    quickly,
    scenes_of,
    settings_of,
)
from whence.web.jobs import api as explanations
from whence.web.messages import Asked
from whence.web.pool import Pool
from whence.web.problem_details import answer_problems, described, problem_response
from whence.web.records import Metrics, Recorder
from whence.web.scenes import Scene
from whence.web.security import HEADERS, Guard
from whence.web.series_jobs import api as questions
from whence.web.served_projects import Projects
from whence.web.server_settings import ServerSettings
from whence.web.store import Store
from whence.web.tokens import LINK, Tokens

#: Most past observations in one answer.
LISTED = 200

DESCRIPTION = (
    "Decisions in a context, and the nearest context in which another plan would have been the better one. "
    "Errors are problem details (RFC 9457); `detail` is one sentence."
)
#: What every request may be answered with.
REFUSALS = {
    400: "Not addressed to this server, or not readable",
    401: "Without the token, where one is needed",
    403: "From another site",
    404: "Not there, or not any more",
    413: "Too large",
    415: "Not sent as JSON",
    422: "One sentence that says what is wrong with the request",
}

Row = Annotated[int, Path(ge=1, description="Number of a past observation; the first is 1.")]

#: Where the interface is, and where it was before it had versions.
API, OLD_API = "/api/v1", "/api"

api = APIRouter()


@api.get("/scenes")
def list_scenes(request: Request) -> list[models.SceneEntry]:
    """What may be asked about."""
    return [scene.entry() for scene in scenes_of(request)]


@api.get("/scenes/{scene}", response_model=models.Scene, responses=BUSY)
async def show_scene(scene: str, request: Request) -> Response:
    """Features, today's context, the shape of a plan, and an alternative to begin with."""
    return await _once(request, scene, "shown")


@api.get("/scenes/{scene}/quality", response_model=models.Quality, responses=BUSY)
async def show_quality(scene: str, request: Request) -> Response:
    """How good the decisions are on past observations that the policy was not fitted to."""
    return await _once(request, scene, "quality")


async def _once(request: Request, scene: str, name: str) -> Response:
    """What is the same for everybody: told once for each version of the scenes."""
    known: dict[tuple[Scene, str], bytes] = request.app.state.known
    found = find_scene(request, scene)
    if (found, name) not in known:
        known[found, name] = await quickly(request, Asked(found.id), name)
    return Response(known[found, name], media_type="application/json")


@api.get("/scenes/{scene}/observations", response_model=list[models.Observation], responses=BUSY)
async def list_observations(
    scene: str,
    request: Request,
    start: Annotated[int, Query(ge=1, description="Number of the first one to list.")] = 1,
    count: Annotated[int, Query(ge=1, le=LISTED)] = 50,
) -> Response:
    """Some past observations."""
    rows = range(start - 1, min(start - 1 + count, find_scene(request, scene).observations))
    return await quick_response(request, scene, "observations", more={"rows": rows})


@api.get("/scenes/{scene}/observations/{row}", response_model=models.Observation, responses=BUSY)
async def show_observation(scene: str, row: Row, request: Request) -> Response:
    """One past observation."""
    found = find_scene(request, scene)
    if row > found.observations:
        raise HTTPException(404, f"There are {found.observations} observations, numbered from 1.")
    return await quick_response(request, scene, "observation", more={"row": row - 1})


@api.post("/scenes/{scene}/decide", dependencies=[IsJson], response_model=models.Decision, responses=BUSY)
async def decide(scene: str, asked: models.ContextRequest, request: Request) -> Response:
    """What the policy decides in a context."""
    return await quick_response(request, scene, "decided", context=asked.context)


@api.post("/scenes/{scene}/check", dependencies=[IsJson], response_model=models.Check, responses=BUSY)
async def check(scene: str, asked: models.PlanRequest, request: Request) -> Response:
    """Whether a plan of one's own can be carried out, and what it costs in a context."""
    return await quick_response(request, scene, "checked", context=asked.context, plan=asked.plan)


@api.post("/scenes/{scene}/strips", dependencies=[IsJson], response_model=models.Strips, responses=BUSY)
async def show_strips(scene: str, asked: models.StripsRequest, request: Request) -> Response:
    """Which plan is best along every feature, the others as they are."""
    return await quick_response(request, scene, "strips", more={"asked": asked})


@api.post("/links", status_code=201)
async def make_link(request: Request) -> models.Link:
    """A link that opens the page once, for somebody who is to be let in without knowing a token."""
    tokens: Tokens = request.app.state.tokens
    if not tokens.needed:
        raise HTTPException(404, "This server needs no token, and therefore no links.")
    return models.Link(path=f"?link={tokens.link(client_of(request).token)}", seconds=LINK)


@api.get("/health")
async def health(request: Request) -> models.Health:
    """How the server is."""
    pool, settings = pool_of(request), settings_of(request)
    return models.Health(
        version=__version__,
        workers=settings.workers,
        ready=len(pool.pids),
        queued=pool.queued,
        running=pool.running,
        time_limit=settings.time_limit,
    )


def create_app(
    scenes: Sequence[Scene], settings: ServerSettings | None = None, projects: Projects | None = None
) -> FastAPI:
    """The application: page, interface and worker processes, which live as long as it runs."""
    settings = settings or ServerSettings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = app.state.store = None if settings.store is None else Store(File(settings.store), settings.store_days)
        pool = app.state.pool = Pool(scenes, settings, store, app.state.metrics)
        pool.resume()
        watching = None if projects is None else asyncio.create_task(projects.watch(app.state.swap, asyncio.sleep))
        try:
            yield
        finally:
            if watching is not None:
                watching.cancel()
            await pool.stop()
            if store is not None:
                store.close()

    app = FastAPI(
        title="whence",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
        # A redirect would hold an absolute address, which is wrong behind a proxy.
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.scenes = {scene.id: scene for scene in scenes}
    app.state.settings, app.state.projects = settings, projects
    app.state.swap = lambda scene: _swap(app, scene)
    app.state.known = {}
    app.state.tokens = settings.known_tokens()
    app.state.metrics = Metrics() if settings.metrics else None
    app.add_middleware(Guard, settings=settings, tokens=app.state.tokens)
    answer_problems(app, HEADERS)
    routers = (api, explanations, questions, audit)
    for router in routers:
        app.include_router(router, prefix=API, responses=described(REFUSALS))
        # The addresses that there were before the interface had versions.
        app.include_router(router, prefix=OLD_API, include_in_schema=False)
    app.include_router(pages := _pages())
    paths = [f"{prefix}{path}" for prefix in (API, OLD_API) for path in ("/openapi.json", *_paths(*routers))]
    counted = [*_paths(pages), *paths]
    app.add_middleware(Recorder, metrics=app.state.metrics, root_path=settings.root_path, routes=counted)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    [own] = [route for route in app.routes if getattr(route, "path", "") == app.openapi_url]
    app.add_route(f"{OLD_API}/openapi.json", own.endpoint, include_in_schema=False)  # type: ignore[attr-defined]
    return app


def _paths(*routers: APIRouter) -> list[str]:
    """Where the routes of routers are."""
    return [route.path for router in routers for route in router.routes if isinstance(route, Route)]


def _swap(app: FastAPI, scene: Scene) -> None:
    """Answer from a scene that was read again, in the place of the one that there was."""
    app.state.scenes = {**app.state.scenes, scene.id: scene}
    app.state.known = {(of, name): told for (of, name), told in app.state.known.items() if of.id != scene.id}
    app.state.pool.replace(list(app.state.scenes.values()))


def _described(app: FastAPI) -> dict[str, Any]:
    """The interface for programs: FastAPI's own description, and how a request is let in."""
    told = FastAPI.openapi(app)
    cookie = f"whence-{app.state.settings.port}"
    told["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "A token, where the server needs one."},
        "session": {"type": "apiKey", "in": "cookie", "name": cookie, "description": "What a browser is given."},
    }
    told["components"]["schemas"][models.Problem.__name__] = models.Problem.model_json_schema()
    # Each by itself will do; on this machine alone, none is needed.
    told["security"] = [{"token": []}, {"session": []}, {}]
    return told


_FOLDER = File(__file__).parent
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def _pages() -> APIRouter:
    """The page at ``/`` and its files under ``/static``."""
    pages = APIRouter(include_in_schema=False)
    files = {path.name: path for path in sorted((_FOLDER / "static").iterdir()) if path.suffix in _TYPES}
    templates = Environment(loader=FileSystemLoader(_FOLDER / "templates"), autoescape=True, undefined=StrictUndefined)
    version = versions()["whence"]

    @pages.get("/")
    def index(request: Request) -> Response:
        kept = request.app.state.store is not None
        text = templates.get_template("index.html").render(version=version, who=client_of(request).user, kept=kept)
        return _tagged(request, text.encode(), "text/html; charset=utf-8")

    @pages.get("/questions")
    def questions_asked(request: Request) -> Response:
        store = store_of(request)
        listed = [(scene, [shown_entry(one) for one in store.listed(scene.id)]) for scene in scenes_of(request)]
        text = templates.get_template("questions.html").render(version=version, listed=listed)
        return _tagged(request, text.encode(), "text/html; charset=utf-8")

    @pages.get("/static/{name}")
    def asset(name: str, request: Request) -> Response:
        # The name is only looked up: a path never leads anywhere.
        path = files.get(name)
        if path is None:
            raise HTTPException(404, "There is no such file.")
        return _tagged(request, path.read_bytes(), _TYPES[path.suffix])

    # These need no thread: all may be taken.
    @pages.get("/healthz")
    async def alive() -> Response:
        return Response("alive\n", media_type="text/plain")

    @pages.get("/readyz")
    async def ready(request: Request) -> Response:
        pool = pool_of(request)
        if pool.draining:
            return problem_response(503, "The server is about to end.")
        if not pool.answering:
            return problem_response(503, "No worker answers its probes at present.")
        return Response("ready\n", media_type="text/plain")

    @pages.get("/metrics")
    def metrics(request: Request) -> Response:
        counted: Metrics | None = request.app.state.metrics
        if counted is None:
            raise HTTPException(404, "This server counts nothing; the setting 'metrics' makes it.")
        return Response(counted.text(pool_of(request)), media_type="text/plain; version=0.0.4; charset=utf-8")

    @pages.get("/favicon.ico")
    def favicon(request: Request) -> Response:
        return asset("favicon.svg", request)

    return pages


def _tagged(request: Request, content: bytes, media_type: str) -> Response:
    """`content`, or 304 where the browser has it already."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


if __name__ == "__main__":
    print(json.dumps(create_app([]).openapi(), indent=2, ensure_ascii=False))
