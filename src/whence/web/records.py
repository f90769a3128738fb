"""What operators see: a line in the access log and a count for Prometheus for every request, each with its number."""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whence.errors import MissingDependencyError
from whence.web.clients import RECORD

if TYPE_CHECKING:
    from whence.web.pool import Job, Pool

access_log = logging.getLogger("whence.access")

#: What a name of one's own is put in place of, so that there are not as many counts as jobs.
NAMED = {"scenes": "{scene}", "explanations": "{job}", "answers": "{job}", "observations": "{row}", "static": "{file}"}
#: First parts of addresses that there are.
KNOWN = {"", "api", "static", "healthz", "readyz", "metrics", "questions", "favicon.ico", "mcp"}
#: Methods that are counted by name.
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
#: What is counted of a request whose address or method there is not: whoever makes them up makes up no more counts.
OTHER = "other"
#: Upper ends of the seconds that are counted together.
SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0)


def route_of(path: str) -> str:
    """The address of a request without the names in it.

    Examples
    --------
    >>> route_of("/api/v1/scenes/bread/decide"), route_of("/api/v1/explanations/9c_iop/report.html"), route_of("/x/y")
    ('/api/v1/scenes/{scene}/decide', '/api/v1/explanations/{job}/report.html', 'other')
    """
    parts = path.split("/")[1:8]
    if parts[:1] and parts[0] not in KNOWN:
        return OTHER
    named = [NAMED.get(before, part) for before, part in zip(["", *parts], parts, strict=False)]
    return "/" + "/".join(part if re.fullmatch(r"[\w.{}-]{0,40}", part) else "{}" for part in named)


class Recorder:
    """ASGI middleware, around all others: numbers requests, and notes how each was answered."""

    def __init__(
        self, app: ASGIApp, metrics: Metrics | None = None, root_path: str = "", routes: Iterable[str] = ()
    ) -> None:
        self._app, self._metrics, self._root = app, metrics, root_path
        self._routes = {route_of(path) for path in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and note it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        record: dict[str, str] = {}
        number = _number(Headers(scope=scope))

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = number
            await send(message)

        try:
            await self._app({**scope, RECORD: record}, receive, sending)
        finally:
            seconds = time.perf_counter() - began
            if self._metrics is not None:
                route, method = self._route(scope), scope["method"]
                self._metrics.requests.labels(method if method in METHODS else OTHER, route, str(status)).inc()
                self._metrics.seconds.labels(route).observe(seconds)
            # As it was sent, so that no line of the log can be made up, and without its query, which may hold a link.
            path = scope.get("raw_path", b"").decode("ascii", "backslashreplace")
            told = {"method": scope["method"], "path": path, "status": status, "seconds": round(seconds, 4)}
            fields = {"request": number, **told, **record}
            access_log.info("%(method)s %(path)s %(status)s", told, extra={"fields": fields})

    def _route(self, scope: Scope) -> str:
        """The route that a request was for, among those that there are."""
        found = route_of(str(scope["path"]).removeprefix(self._root))
        return found if found in self._routes else OTHER


def _number(headers: Headers) -> str:
    """The number that a request has already, where that is one, or a new one."""
    given = headers.get("x-request-id", "")
    return given if re.fullmatch(r"[A-Za-z0-9-]{8,64}", given) else secrets.token_hex(8)


class Metrics:
    """Counts for Prometheus: requests, queue, searches, proofs, seconds, memory."""

    def __init__(self) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Histogram
        except ImportError:
            raise MissingDependencyError("'metrics' needs prometheus_client: pip install 'whence[server]'.") from None
        self._registry = registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self.requests = Counter("whence_requests", "Requests that were answered.", labels, registry=registry)
        options: dict[str, Any] = {"buckets": SECONDS, "registry": registry}
        self.seconds = Histogram("whence_request_seconds", "Seconds until an answer was sent.", ["route"], **options)
        ended = ["question", "state"]
        self._answers = Counter("whence_answers", "Questions by how they ended.", ended, registry=registry)
        self._searches = Histogram("whence_answer_seconds", "Seconds from question to answer.", ["question"], **options)
        self._proofs = Counter("whence_proofs", "Answers by what is proved of them.", ["status"], registry=registry)

    def finished(self, job: Job) -> None:
        """Count a question that has ended."""
        question = job.asked.question
        self._answers.labels(question, job.state).inc()
        self._searches.labels(question).observe(time.time() - job.asked_at)
        if job.answer is not None:
            self._proofs.labels(job.answer.proved or "none").inc()

    def text(self, pool: Pool) -> bytes:
        """All of it in the form that Prometheus reads, with how things are at this moment."""
        from prometheus_client import generate_latest
        from prometheus_client.core import GaugeMetricFamily

        class Now:
            def collect(self) -> Iterator[GaugeMetricFamily]:
                for name, told, value in (
                    ("whence_queued", "Searches that wait.", pool.queued),
                    ("whence_running", "Searches that run.", pool.running),
                    ("whence_workers_ready", "Processes that search and are ready.", len(pool.pids)),
                    ("whence_resident_bytes", "Memory of the server and its workers.", _resident(pool.every_pid)),
                ):
                    yield GaugeMetricFamily(name, told, value=value)

        self._registry.register(now := Now())
        try:
            return bytes(generate_latest(self._registry))
        finally:
            self._registry.unregister(now)


def _resident(pids: list[int]) -> int:
    """Bytes of memory of this process and others; 0 where the system does not tell."""
    total = 0
    for pid in [os.getpid(), *pids]:
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            continue
    return total


class JsonLines(logging.Formatter):
    """A log of one JSON document a line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = {"at": when, "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps({**told, **getattr(record, "fields", {})}, ensure_ascii=False)


def set_up_logs(form: str, access: bool) -> None:
    """Write logs to standard error, as text or as JSON lines; requests only where asked for."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("whence.web", logging.WARNING), ("whence.access", logging.INFO if access else logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
