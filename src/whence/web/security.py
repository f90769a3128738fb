"""Who may talk to the server, and what a browser may do with its answers.

A page on another site can make a browser send requests here: by a name that it points at this machine (DNS rebinding),
or across sites. Both are refused by what the browser itself says of the request: Host, Origin and Sec-Fetch-Site. Where
a trusted proxy stands in front, the origin is that of the address that the browser knows.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import suppress
from dataclasses import replace

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whence.web.clients import CLIENT, CROWD, RECORD, Client, Crowd, TooMany
from whence.web.problem_details import problem_response
from whence.web.server_settings import Public, ServerSettings, host_name, is_loopback, is_origin, public_address
from whence.web.tokens import REMEMBERED, Tokens

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
#: What anybody may ask who can reach the server at all.
PROBES = ("/healthz", "/readyz")
#: What is answered even where there is no room for anything else.
URGENT = (*PROBES, "/health", "/decide")


class Guard:
    """ASGI middleware: lets requests through that come from the page itself or from a program, within limits."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, tokens: Tokens | None = None) -> None:
        self._app, self._settings = app, settings
        self._tokens = tokens or settings.known_tokens()
        self._crowd = Crowd(max(2, settings.connections // 4), settings.connections)
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
        peer = (scope["client"] or ("",))[0]
        public = public_address(headers, peer, self._settings.trusted_proxies)
        send = _with_headers(send, public)
        try:
            if "content-length" in headers and "transfer-encoding" in headers:
                raise HTTPException(400, "A request must have a Content-Length or a Transfer-Encoding, not both.")
            if scope["path"] not in PROBES:
                self._check_host(headers, public)
            scope = self._placed(scope, public)
            self._check_origin(scope, headers, public)
            user, groups = self._settings.person(headers, peer)
            client = Client(public.client or peer, user=user, groups=groups)
            # Whom a proxy has named, it has let in.
            if self._tokens.needed and not user and not self._is_probe(scope):
                name = self._opened(scope)
                if name is not None:
                    await self._remembering(scope, public, name)(scope, receive, send)
                    return
                client = replace(client, token=self._let_in(headers, client.address))
            if scope["path"] == scope["root_path"] and scope["root_path"]:
                # Without its last slash, the addresses in the page would lead beside the sub-path.
                await Response(status_code=308, headers={"location": f"{scope['root_path']}/"})(scope, receive, send)
                return
            scope = {**scope, CLIENT: client, CROWD: self._crowd}
            scope.get(RECORD, {})["client"] = client.key
            if self._is_probe(scope):
                # Answered at once, however many others are: nothing of it is waited for.
                await self._app(scope, _replay(b"", receive), send)
                return
            with self._crowd.present(client.key, str(scope["path"]).endswith(URGENT)):
                body = await self._body(headers, receive)
                await self._app(scope, _replay(body, receive), send)
        except TooMany:
            told = "Too many requests of yours, or of all together, are being answered; try again later."
            extra = {"connection": "close", "retry-after": "2"}
            await problem_response(429, told, extra)(scope, receive, send)
        except HTTPException as refused:
            # What has not been read of the request is not read: the connection is of no further use.
            extra = {"connection": "close", **(refused.headers or {})}
            await problem_response(refused.status_code, refused.detail, extra)(scope, receive, send)

    def _is_probe(self, scope: Scope) -> bool:
        return scope["path"] in [f"{scope['root_path']}{path}" for path in PROBES]

    def _check_host(self, headers: Headers, public: Public) -> None:
        # Both: a page that somebody else points at this machine can make up what a proxy would say, but not its Host.
        given = [*headers.getlist("host"), public.host]
        names = [host_name(host) for host in given] if len(given) == 2 else [None]
        if not all(name is not None and self._own_name(name) for name in names):
            raise HTTPException(
                400, "The 'Host' of a request must be a name of this server; others are allowed with --allowed-host."
            )

    def _own_name(self, name: str) -> bool:
        with suppress(ValueError):
            # An address is not a name that somebody could point elsewhere.
            if ipaddress.ip_address(name).is_loopback or not is_loopback(self._settings.host):
                return True
        return name in self._names

    def _placed(self, scope: Scope, public: Public) -> Scope:
        """The request as the client has addressed it: under the sub-path, whether or not a proxy has cut that off."""
        root, path = self._settings.root_path, str(scope["path"])
        inside = path == root or path.startswith(f"{root}/")
        placed = {**scope, "root_path": root if inside or public.forwarded else ""}
        if public.forwarded and not inside:
            placed["path"] = root + path
        return placed

    def _check_origin(self, scope: Scope, headers: Headers, public: Public) -> None:
        site = headers.get("sec-fetch-site")
        navigation = headers.get("sec-fetch-mode") == "navigate"
        origin = None if scope["method"] in SAFE_METHODS else headers.get("origin")
        foreign = site in ("cross-site", "same-site") and not (navigation and _is_page(scope))
        if foreign or (origin is not None and not is_origin(origin, public)):
            raise HTTPException(403, "A request from another site is not answered.")

    def _let_in(self, headers: Headers, address: str) -> str:
        """The name of the token that a request brings; 401 where it is none, 429 where there were too many wrong."""
        self._tokens.refresh()
        # Taken apart by hand: Python's own reader gives up at the first cookie of somebody else that it does not like.
        pairs = (pair.strip().partition("=") for pair in ";".join(headers.getlist("cookie")).split(";"))
        for value in [value for name, _, value in pairs if name == self._cookie]:
            found = self._tokens.name_of_session(value)
            if found is not None:
                return found
        scheme, _, given = (headers.get("authorization") or "").partition(" ")
        if scheme:
            seconds = self._tokens.patience(address)
            if seconds:
                told = "Too many wrong tokens came from this address; try again later."
                raise HTTPException(429, told, {"retry-after": f"{seconds:.0f}"})
            found = self._tokens.name_of(given.strip()) if scheme.lower() == "bearer" else None
            if found is not None:
                return found
            self._tokens.was_wrong(address)
        raise HTTPException(
            401,
            "This server needs a token, or a link that was not used before; whoever runs it has them.",
            {"www-authenticate": "Bearer"},
        )

    def _opened(self, scope: Scope) -> str | None:
        """The name of the token that a link to the page stands for."""
        codes = QueryParams(scope["query_string"]).getlist("link") if _is_page(scope) else []
        return next(filter(None, map(self._tokens.opened, codes)), None)

    def _remembering(self, scope: Scope, public: Public, name: str) -> Response:
        """Begin a session in a cookie, for this page's own addresses only, and clear the address of the link."""
        there = f"{scope['root_path']}/"
        # Lax, not Strict: a link in a mail or a chat must lead to the page. Nothing else is answered to another site.
        session = self._tokens.session(name)
        cookie = f"{self._cookie}={session}; Path={there}; Max-Age={REMEMBERED}; HttpOnly; SameSite=Lax"
        secure = "; Secure" if public.scheme == "https" else ""
        return Response(status_code=303, headers={"location": there, "set-cookie": cookie + secure})

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """The whole body of a request; it is refused as soon as it is known to be too large."""
        most = self._settings.body
        too_large = HTTPException(413, f"A request must not be larger than {most} bytes.")
        announced = headers.get("content-length")
        if announced is not None and (not announced.isdigit() or int(announced) > most):
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self._settings.arrival):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise HTTPException(400, "The request ended half-way.")
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_large
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise HTTPException(408, "The request took too long to arrive.") from None


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


def _with_headers(send: Send, public: Public) -> Send:
    """Add the security headers that an answer does not set itself."""
    # Browsers ignore one of them with a complaint where they see plain http.
    plain = public.scheme != "https" and not is_loopback(host_name(public.host) or "")
    added = {name: text for name, text in HEADERS.items() if not (plain and name == "cross-origin-opener-policy")}

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, text in added.items():
                headers.setdefault(name, text)
        await send(message)

    return sending
