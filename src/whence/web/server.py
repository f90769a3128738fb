"""Starting the server: scenes, address, browser, and a clean end."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import os
import signal
import socket
import struct
import sys
import threading
import time
import webbrowser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from whence.errors import InputError
from whence.project import Project
from whence.web.app import create_app
from whence.web.pool import Pool
from whence.web.problem_details import MEDIA_TYPE, problem
from whence.web.records import set_up_logs
from whence.web.scenes import Scene, built_in, project_scene
from whence.web.served_projects import Projects
from whence.web.server_settings import ServerSettings, settings_for
from whence.web.tokens import Tokens

#: Seconds that running requests get to finish when the server is told to stop.
FAREWELL = 2


def serve(
    project: str | os.PathLike[str] | Project | Sequence[str | os.PathLike[str]] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    open_browser: bool = True,
    scenes: Sequence[Scene] = (),
    busy: Callable[[str], AbstractContextManager[Any]] = nullcontext,
    **allowed: Any,
) -> None:
    """Serve the what-if page until Ctrl-C.

    Parameters
    ----------
    project : path, paths or Project, optional
        Projects of your own, or folders of them; without any, the built-in examples are offered. Those that were
        given by path are read again when their files change.
    host, port : str, int
        Where to listen; port 0 takes any that is free.
    open_browser : bool
        Whether to open the page in a browser.
    scenes : sequence of Scene
        Further scenes to offer.
    busy : callable
        Given what is going on, returns a context to do it in, which may show it.
    **allowed
        ``allow_remote`` (False): let other machines in, with a token. ``token``: which one; a random one by default.
        ``workers``: searches at once. ``time_limit`` (60): most seconds per search. Behind a reverse proxy,
        ``root_path``: the sub-path it shows the page under; ``allowed_hosts``: the names it is reached by;
        ``trusted_proxies``: the addresses whose forwarded headers count.

    Examples
    --------
    >>> serve(host="0.0.0.0")
    Traceback (most recent call last):
    whence.errors.InputError: 'host' must be this machine's own (127.0.0.1, ::1 or localhost). Got '0.0.0.0'; to let...
    """
    settings = settings_for(host, port, **allowed)
    with _not_hung_up(), listening(settings) as listener:
        settings = replace(settings, port=int(listener.getsockname()[1]))
        with busy("Reading the data and fitting ..."):
            projects = _projects(project)
            own = _scenes(project) if projects is None else projects.load()
            app = create_app([*own, *scenes], settings, projects)
        server = _Announcing(app, settings, open_browser)
        set_up_logs(settings.log_format, settings.access_log)
        # Ctrl-C is how a server is meant to end.
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


def configuration(app: FastAPI, settings: ServerSettings) -> uvicorn.Config:
    """How uvicorn is to run: quiet, and with connections that do not wait for ever."""
    return uvicorn.Config(
        app,
        http=type("Connection", (Connection,), {"settings": settings}),
        ws="none",
        # The addresses would hold the token.
        access_log=False,
        # Not a line for everything that some stranger sends.
        log_level="error",
        server_header=False,
        date_header=False,
        # What proxies say is judged by the guard, for those that are trusted.
        proxy_headers=False,
        timeout_graceful_shutdown=FAREWELL,
        timeout_keep_alive=settings.idle,  # type: ignore[arg-type]
    )


class _Announcing(uvicorn.Server):
    """Says where the page is once it can be opened."""

    def __init__(self, app: FastAPI, settings: ServerSettings, open_browser: bool) -> None:
        super().__init__(configuration(app, settings))
        self._app, self._settings, self._open_browser = app, settings, open_browser
        self._drained_at = math.inf

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End: at once at Ctrl-C, after what is running at SIGTERM, unless that is said twice."""
        pool: Pool | None = getattr(self._app.state, "pool", None)
        if sig != signal.SIGTERM or pool is None or pool.draining:
            super().handle_exit(sig, frame)
            return
        pool.draining = True
        self._drained_at = time.monotonic() + self._settings.drain

    async def on_tick(self, counter: int) -> bool:
        """Whether it is time to end."""
        pool: Pool = self._app.state.pool
        over = pool.draining and (pool.idle or time.monotonic() > self._drained_at)
        return await super().on_tick(counter) or over

    def _hear(self) -> None:
        """Read tokens and projects again at SIGHUP, where there is such a signal, and print a link that is new."""
        loop = asyncio.get_running_loop()
        tasks: set[asyncio.Task[None]] = set()

        def reload() -> None:
            state = self._app.state
            try:
                state.tokens.reload()
            except InputError as error:
                logging.getLogger("whence.web").error("The tokens stay as they were: %s", error)
            if state.projects is not None:
                tasks.add(task := loop.create_task(state.projects.reload(state.swap, every=True)))
                task.add_done_callback(tasks.discard)
            self._announce()

        if hasattr(signal, "SIGHUP"):
            loop.add_signal_handler(signal.SIGHUP, reload)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.should_exit:
            return
        self._hear()
        address = self._announce()
        if self._open_browser:
            # A browser on a terminal would block.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    def _announce(self) -> str:
        """Say where the page is: the address that opens it."""
        settings = self._settings
        host = settings.host.strip("[]")
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        tokens: Tokens = self._app.state.tokens
        query = f"?link={tokens.link()}" if tokens.needed else ""
        address = f"http://{f'[{host}]' if ':' in host else host}:{settings.port}/{query}"
        for name in settings.allowed_hosts:
            # Only the proxy knows its scheme and port.
            further = f"?link={tokens.link()}" if tokens.needed else ""
            print(f"Through the proxy, it is at {name}{settings.root_path}/{further}", file=sys.stderr)
        once = " once" if query else ""
        print(f"whence is at {address}{once} (Ctrl-C ends it)", file=sys.stderr, flush=True)
        return address

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Requests that wait for news of a search are told that there will be none.
        await self._app.state.pool.stop()
        await super().shutdown(sockets)


@contextmanager
def _not_hung_up() -> Iterator[None]:
    """Let SIGHUP, which reads everything again once the server listens to it, not end the server before."""
    if not hasattr(signal, "SIGHUP") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _projects(project: Any) -> Projects | None:
    """The projects that were given by path, if any were."""
    if project is None or isinstance(project, Project):
        return None
    given = [project] if isinstance(project, str | os.PathLike) else list(project)
    return Projects([Path(path) for path in given]) if given else None


def _scenes(project: Any) -> list[Scene]:
    return [project_scene(project)] if isinstance(project, Project) else built_in()


def listening(settings: ServerSettings) -> socket.socket:
    """A socket at the address of the settings, or one sentence why there is none."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named: only then does asyncio send short answers at once, instead of 40 ms later.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host.strip("[]"), settings.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InputError(
            f"'port' must be free at {settings.host}. Got {settings.port}, which cannot be used: "
            f"{(error.strerror or str(error)).lower()}; try another one with --port."
        ) from None
    return listener


#: Connections beyond the limit, over which health and decisions are still answered.
SPARE = 16
#: Seconds between two looks at the clock.
PULSE = 0.25
#: Seconds for which the other end may read what it was sent before a connection is closed on both sides.
READING = 2.0
#: Turns of the loop until what came over a new connection is read.
TURNS = 2
#: What is said where there is no room for a connection.
CROWDED = "Too many connections are open; try again later."
#: Numbers of connections in the order in which they came.
NUMBERS = itertools.count()


class _Line:
    """A transport that closes its own side first: one closed with bytes unread would take the answer back."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        #: Whether nothing more is sent, and what comes is not looked at.
        self.leaving = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing more is sent."""
        return self.leaving or self._transport.is_closing()

    def close(self) -> None:
        """Send what is left, then say that there is no more, and go on reading until the other end closes too."""
        if self.is_closing():
            return
        self.leaving = True
        try:
            self._transport.write_eof()
            self._transport.resume_reading()
        except OSError:
            # The other end is gone already.
            self._transport.abort()

    def end(self) -> None:
        """Close both sides; what the system has taken to send, it sends."""
        self._transport.close()

    def write(self, data: bytes) -> None:
        """Send, unless there is to be no more."""
        if not self.is_closing():
            self._transport.write(data)


class Connection(H11Protocol):
    """One connection, closed where its other end keeps it waiting; a server's own kind has its settings."""

    settings = ServerSettings()
    _number = 0
    _since = 0.0
    _begun = False
    _unsent_since: float | None = None
    _left_at: float | None = None
    _patience = READING
    transport: Any
    _pulse: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, in the place of one that only waits where there are too many."""
        super().connection_made(_Line(transport))  # type: ignore[arg-type]
        self._since, self._number = self.loop.time(), next(NUMBERS)
        self.loop.call_soon(self._settle, TURNS)
        self._look()

    def _settle(self, turns: int) -> None:
        """Stay, where there is room; a connection whose request is still to be read is not one that only waits."""
        if turns:
            self.loop.call_soon(self._settle, turns - 1)
            return
        others = [other for other in self.connections if isinstance(other, Connection) and other is not self]
        leaving = [other for other in others if other.transport.is_closing()]
        most = self.settings.connections + self._spare
        # However many come and go, those that are on their way out are no more than those that stay.
        if len(leaving) > most:
            min(leaving, key=lambda other: other._since)._drop()
        before = sum(other._number < self._number for other in others if other not in leaving)
        if before >= most and not self.transport.is_closing() and not self._make_room(others):
            self._say(503, CROWDED)

    @property
    def _spare(self) -> int:
        return min(SPARE, self.settings.connections // 8)

    def data_received(self, data: bytes) -> None:
        """Take some bytes; the clock of a request starts with its first."""
        if self.waiting and not self._begun:
            self._begun, self._since = True, self.loop.time()
        if not self.transport.is_closing():
            super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._begun, self._since = False, self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop looking at the clock."""
        if self._pulse is not None:
            self._pulse.cancel()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP request, in the form that all errors have."""
        self._say(400, "What came is not a request that can be read.")

    def shutdown(self) -> None:
        """Close when the server does."""
        self._patience = 0.0
        if not self.transport.is_closing():
            super().shutdown()
        elif self._unsent_since is not None:
            self.transport.abort()

    @property
    def waiting(self) -> bool:
        """Whether no request has arrived that is still to be answered."""
        return self.cycle is None or self.cycle.response_complete

    def _look(self) -> None:
        """Close the connection where it is time to, otherwise look again soon."""
        now = self.loop.time()
        if not self.transport.get_write_buffer_size():
            self._unsent_since = None
        elif self._unsent_since is None:
            self._unsent_since = now
        if self._unsent_since is not None and now - self._unsent_since > self.settings.taking:
            # Whoever does not read would not read why either.
            self._drop()
            return
        if self.transport.is_closing() and self._unsent_since is None:
            self._left_at = self._left_at or now
            if now - self._left_at >= self._patience:
                self.transport.end()
                return
        between = self.cycle is not None and not self._begun
        patience = self.settings.idle if between else self.settings.arrival
        if self.waiting and not self.transport.is_closing() and now - self._since > patience:
            self._say(408, "The request took too long to arrive.")
        self._pulse = self.loop.call_later(PULSE, self._look)

    def _make_room(self, others: Sequence[Connection]) -> bool:
        """Give up the connection that has waited longest for a request, of those whose address has most of them.

        Where none is idle, one is given up whose request has not arrived to its end.
        """
        there = [other for other in others if not other.transport.is_closing()]
        idle = [other for other in there if other.waiting] or [other for other in there if other.cycle.more_body]
        if not idle:
            return False
        held = Counter(other.client and other.client[0] for other in others)
        first = max(idle, key=lambda other: (held[other.client and other.client[0]], -other._since))
        if first.waiting:
            first.transport.close()
        else:
            first._say(503, CROWDED)
        return True

    def _drop(self) -> None:
        """End the connection at once, in the system too, which would otherwise go on trying to send what is left."""
        with suppress(OSError):
            line = self.transport.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _say(self, status: int, sentence: str) -> None:
        """Send one sentence, and close."""
        body = problem(status, sentence)
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
        )
        # A client that has sent nothing, as a browser that opened a connection in advance, expects nothing either.
        if (self._begun or status != 408) and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(head.encode() + body)
        if not self.waiting:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.conn.send_failed()
        self.transport.close()
