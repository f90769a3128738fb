"""Who may talk to the server, and what a browser may do with its answers.

A page on another site can make a browser send requests here: by a name that it points at this machine (DNS rebinding),
or across sites. Both are refused by what the browser itself says of the request: Host, Origin and Sec-Fetch-Site. Where
a trusted proxy stands in front, the origin is that of the address that the browser knows.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whence.web.proxies import Public, host_name, is_origin, public_address
from whence.web.settings import ServerSettings, is_loopback

__all__ = ["CONTENT_POLICY", "REPORT_POLICY", "Guard"]

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
    settings : ServerSettings
        Where the server listens, the token, and the most bytes of a request.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app, self._settings = app, settings
        self._cookie = f"whence-{settings.port}"
        self._names = {"localhost", *settings.allowed_hosts}
        if not is_loopback(settings.host):
            self._names |= {name.lower() for name in (settings.host, socket.gethostname(), socket.getfqdn())}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        public = public_address(headers, (scope["client"] or (None,))[0], self._settings.trusted_proxies)
        send = _with_headers(send, _headers_for(public))
        try:
            self._check_host(headers, public)
            scope = self._placed(scope, public)
            self._check_origin(scope, headers, public)
            if self._settings.token is not None:
                if _is_page(scope) and self._brings_token(scope):
                    await self._remembering(scope, public)(scope, receive, send)
                    return
                if not self._knows_token(headers):
                    raise Refused(401, "This server needs the token that it printed when it was started.")
            if scope["path"] == scope["root_path"] and scope["root_path"]:
                # Without its last slash, the addresses in the page would lead beside the sub-path.
                await Response(status_code=308, headers={"location": f"{scope['root_path']}/"})(scope, receive, send)
                return
            body = await self._body(headers, receive)
        except Refused as refused:
            # What has not been read of the request is not read: the connection is of no further use.
            extra = {"connection": "close"} | ({"www-authenticate": "Bearer"} if refused.status == 401 else {})
            await JSONResponse({"detail": str(refused)}, refused.status, extra)(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    # ---- who asks --------------------------------------------------------------------------------------

    def _check_host(self, headers: Headers, public: Public) -> None:
        # Both: a page that somebody else points at this machine can make up what a proxy would say, but not its Host.
        given = [*headers.getlist("host"), public.host]
        names = [host_name(host) for host in given] if len(given) == 2 else [None]
        if not all(name is not None and self._own_name(name) for name in names):
            raise Refused(
                400, "The 'Host' of a request must be a name of this server; others are allowed with --allowed-host."
            )

    def _own_name(self, name: str) -> bool:
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # An address is not a name that somebody could point elsewhere.
        return address.is_loopback or not is_loopback(self._settings.host)

    def _placed(self, scope: Scope, public: Public) -> Scope:
        """The request as the client has addressed it: under the sub-path, whether or not a proxy has cut that off."""
        root, path = self._settings.root_path, str(scope["path"])
        inside = path == root or path.startswith(f"{root}/")
        placed = {**scope, "root_path": root if inside or public.forwarded else ""}
        if public.forwarded and not inside:
            placed["path"] = root + path
        if public.scheme is not None:
            placed["scheme"] = public.scheme
        if public.client is not None:
            placed["client"] = (public.client, 0)
        return placed

    def _check_origin(self, scope: Scope, headers: Headers, public: Public) -> None:
        site = headers.get("sec-fetch-site")
        navigation = headers.get("sec-fetch-mode") == "navigate"
        if site in ("cross-site", "same-site") and not (navigation and _is_page(scope)):
            raise Refused(403, "A request from another site is not answered.")
        origin = headers.get("origin")
        if origin is None or scope["method"] in SAFE_METHODS:
            return
        if not is_origin(origin, public):
            raise Refused(403, "A request from another site is not answered.")

    def _knows_token(self, headers: Headers) -> bool:
        scheme, _, given = (headers.get("authorization") or "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return True
        # Taken apart by hand: Python's own reader gives up at the first cookie of somebody else that it does not like.
        pairs = (pair.strip().partition("=") for pair in ";".join(headers.getlist("cookie")).split(";"))
        return any(name == self._cookie and self._is_token(value) for name, _, value in pairs)

    def _brings_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return any(self._is_token(text) for text in given)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), str(self._settings.token).encode())

    def _remembering(self, scope: Scope, public: Public) -> Response:
        """Put the token into a cookie, for this page's own addresses only, and out of the address."""
        there = f"{scope['root_path']}/"
        # Lax, not Strict: a link in a mail or a chat must lead to the page. Nothing else is answered to another site.
        cookie = f"{self._cookie}={self._settings.token}; Path={there}; Max-Age={REMEMBERED}; HttpOnly; SameSite=Lax"
        secure = "; Secure" if public.scheme == "https" else ""
        return Response(status_code=303, headers={"location": there, "set-cookie": cookie + secure})

    # ---- how much --------------------------------------------------------------------------------------

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """The whole body of a request; it is refused as soon as it is known to be too large."""
        most = self._settings.body
        too_large = Refused(413, f"A request must not be larger than {most} bytes.")
        announced = headers.get("content-length")
        if announced is not None and (not announced.isdigit() or int(announced) > most):
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self._settings.arrival):
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


def _is_page(scope: Scope) -> bool:
    """Whether the page itself is asked for, which is the only thing that a link may lead to."""
    return scope["method"] == "GET" and scope["path"] in (scope["root_path"], scope["root_path"] + "/")


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


def _headers_for(public: Public) -> dict[str, str]:
    """The security headers, without the one that browsers ignore with a complaint where they see plain http."""
    if public.scheme == "https" or is_loopback(host_name(public.host) or ""):
        return HEADERS
    return {name: value for name, value in HEADERS.items() if name != "cross-origin-opener-policy"}


def _with_headers(send: Send, headers: dict[str, str]) -> Send:
    """Add the security headers that an answer does not set itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message.get("headers", [])}
            added = [(k.encode(), v.encode()) for k, v in headers.items() if k.encode() not in given]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return sending
