"""Assistants over HTTP: the streamable transport, behind the guards and limits of the page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from whence.assistants.desk import Desk
from whence.assistants.mcp_server import mcp_server
from whence.assistants.searches import Searches
from whence.errors import InputError
from whence.web.records import Recorder, set_up_logs
from whence.web.security import PROBES, Guard
from whence.web.server import configuration, listening
from whence.web.server_settings import ServerSettings, settings_for

#: Where the protocol is spoken.
PATH = "/mcp"


def http_app(desk: Desk, settings: ServerSettings) -> Starlette:
    """Return the application: who may talk to it, how much and for how long is as for the page."""
    searches = Searches(
        settings.workers, deciding=settings.deciders, waiting=settings.queue, each=settings.running, shared=True
    )
    server = mcp_server(desk, searches, settings.may_ask)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=settings.body,
        max_sessions=settings.connections,
        # The guard knows the names of the server, and what a proxy says of them.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    for probe in PROBES:
        app.add_route(probe, _alive)
    app.add_middleware(Guard, settings=settings)
    app.add_middleware(Recorder, root_path=settings.root_path)
    return app


async def _alive(_: Request) -> Response:
    return Response("ready\n", media_type="text/plain")


def serve_http(
    open_desk: Callable[[float], Desk],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    busy: Callable[[str], AbstractContextManager[Any]] = nullcontext,
    **allowed: Any,
) -> None:
    """Serve assistants over HTTP until Ctrl-C, with the settings of :func:`whence.web.server.serve`."""
    settings = settings_for(host, port, **allowed)
    given = settings.token == allowed.get("token")
    if not given and not sys.stderr.isatty():
        raise InputError(
            "'token' must be given where no terminal shows a random one, which would stay in a log. Got none; "
            "set WHENCE_TOKEN."
        )
    with listening(settings) as listener:
        settings = replace(settings, port=int(listener.getsockname()[1]))
        with busy("Reading the data and fitting ..."):
            app = http_app(open_desk(settings.time_limit), settings)
        name = f"[{settings.host}]" if ":" in settings.host else settings.host
        print(f"Assistants can ask at http://{name}:{settings.port}{settings.root_path}{PATH}", file=sys.stderr)
        if not given:
            # Assistants have it in their settings, so that whoever sets them up has to see it: now, and never again.
            print(f"They need the header 'Authorization: Bearer {settings.token}'.", file=sys.stderr)
        set_up_logs(settings.log_format, settings.access_log)
        # Ctrl-C is how a server is meant to end.
        with suppress(KeyboardInterrupt):
            uvicorn.Server(configuration(app, settings)).run(sockets=[listener])  # type: ignore[arg-type]
