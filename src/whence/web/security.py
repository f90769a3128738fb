"""Who may talk to the server, and what a browser may do with its answers.

A page on another site can make a browser send requests here: by a name that it points at this machine (DNS rebinding),
or across sites. Both are refused by what the browser itself says of the request: Host, Origin and Sec-Fetch-Site.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from whence.web.settings import Settings, is_loopback

__all__ = ["CONTENT_POLICY", "REPORT_POLICY", "Guard"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: A report carries its style with it and needs nothing else.
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; sandbox"

HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
#: Seconds within which a request must have arrived.
ARRIVAL = 20.0
#: Seconds for which a browser remembers the token.
REMEMBERED = 7 * 24 * 3600


class Refused(Exception):
    """A request that is not answered, with the status to say so."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Guard:
    """ASGI middleware: lets requests through that come from the page itself or from a program, within limits.

    Parameters
    ----------
    app : ASGI application
        What answers the requests that are let through.
    settings : Settings
        Where the server listens, the token, and the most bytes of a request.
    """

    def __init__(self, app: App, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._cookie = f"whence-{settings.port}"
        self._names = {"localhost"}
        if not is_loopback(settings.host):
            self._names |= {name.lower() for name in (settings.host, socket.gethostname(), socket.getfqdn())}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _Headers(scope["headers"])
        try:
            self._check_host(headers)
            self._check_origin(scope, headers)
            if self._settings.token is not None and not self._knows_token(headers):
                if scope["path"] == "/" and scope["method"] == "GET" and self._brings_token(scope):
                    await self._remember(send)
                    return
                raise Refused(401, "This server needs the token that it printed when it was started.")
            body = await self._body(headers, receive)
        except Refused as refused:
            await _refuse(send, refused)
            return
        await self._app(scope, _replay(body, receive), _with_headers(send))

    # ---- who asks --------------------------------------------------------------------------------------

    def _check_host(self, headers: _Headers) -> None:
        given = headers.all("host")
        name = _host_name(given[0]) if len(given) == 1 else None
        if name is None or not self._own_name(name):
            raise Refused(400, "The 'Host' of a request must be the name of this server.")

    def _own_name(self, name: str) -> bool:
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # An address is not a name that somebody could point elsewhere.
        return address.is_loopback or not is_loopback(self._settings.host)

    def _check_origin(self, scope: Message, headers: _Headers) -> None:
        site = headers.one("sec-fetch-site")
        navigation = scope["method"] == "GET" and headers.one("sec-fetch-mode") == "navigate"
        if site in ("cross-site", "same-site") and not (navigation and scope["path"] == "/"):
            raise Refused(403, "A request from another site is not answered.")
        origin = headers.one("origin")
        if origin is None or scope["method"] in SAFE_METHODS:
            return
        if urlsplit(origin).netloc.lower() != str(headers.one("host")).lower():
            raise Refused(403, "A request from another site is not answered.")

    def _knows_token(self, headers: _Headers) -> bool:
        scheme, _, given = (headers.one("authorization") or "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return True
        try:
            cookies = SimpleCookie("; ".join(headers.all("cookie")))
        except CookieError:
            return False
        morsel = cookies.get(self._cookie)
        return morsel is not None and self._is_token(morsel.value)

    def _brings_token(self, scope: Message) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return any(self._is_token(text) for text in given)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), str(self._settings.token).encode())

    async def _remember(self, send: Send) -> None:
        """Put the token into a cookie and out of the address."""
        cookie = f"{self._cookie}={self._settings.token}; Path=/; Max-Age={REMEMBERED}; HttpOnly; SameSite=Strict"
        await _answer(send, 303, b"", {"location": "/", "set-cookie": cookie})

    # ---- how much --------------------------------------------------------------------------------------

    async def _body(self, headers: _Headers, receive: Receive) -> bytes:
        """The whole body of a request; it is refused as soon as it is known to be too large."""
        most = self._settings.body
        too_large = Refused(413, f"A request must not be larger than {most} bytes.")
        announced = headers.one("content-length")
        if announced is not None and (not announced.isdigit() or int(announced) > most):
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(ARRIVAL):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refused(400, "The request ended half-way.")
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_large
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise Refused(408, "The request took too long to arrive.") from None


class _Headers:
    """The headers of a request, by lower-case name."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]

    def all(self, name: str) -> list[str]:
        return [value for key, value in self._raw if key == name]

    def one(self, name: str) -> str | None:
        found = self.all(name)
        return found[0] if found else None


def _host_name(host: str) -> str | None:
    """The name in a Host header, without its port, or None where it is none."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    if parts.netloc != host or parts.username is not None or parts.path or parts.hostname is None:
        return None
    return parts.hostname.lower().rstrip(".")


def _replay(body: bytes, receive: Receive) -> Receive:
    """What the application receives: the body in one piece, then whatever happens to the connection."""
    pending = True

    async def replayed() -> Message:
        nonlocal pending
        if pending:
            pending = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replayed


def _with_headers(send: Send) -> Send:
    """Add the security headers that an answer does not set itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message.get("headers", [])}
            added = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in given]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return sending


async def _refuse(send: Send, refused: Refused) -> None:
    body = json.dumps({"detail": str(refused)}).encode()
    extra = {"www-authenticate": "Bearer"} if refused.status == 401 else {}
    # What has not been read of the request is not read: the connection is of no further use.
    await _answer(send, refused.status, body, {"content-type": "application/json", "connection": "close", **extra})


async def _answer(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    sending = _with_headers(send)
    listed = [(name.encode(), value.encode()) for name, value in headers.items()]
    listed.append((b"content-length", str(len(body)).encode()))
    await sending({"type": "http.response.start", "status": status, "headers": listed})
    await sending({"type": "http.response.body", "body": body})
